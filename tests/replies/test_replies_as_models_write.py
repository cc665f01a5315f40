"""Replies by hand, in the manner of current models: each has one right reading, or is to be refused."""

from typing import Any

import pytest
from lenient_kinds import KINDS

REFUSED = "refused"
THOUGHT = "<think>\nOkay, the user asks whether passage 2 answers it. Yes... wait, no. Hmm.\n</think>\n\n"

MEANT = {
    "12": ["Who won the 1998 World Cup?", "Who won the 2002 World Cup?"],
    "readings": [("Who won in 1998?", "France", "1"), ("Who won in 2002?", "Brazil", "3")],
}

# The kind, the reply, and its right reading: labels as text, readings as (question, answer, pid).
ROWS: list[tuple[str, str, Any]] = [
    ("yes or no", "Yes, the passage states that Nagano hosted the games in 1998.", "Yes"),
    ("yes or no", THOUGHT + "**No**", "No"),
    ("yes or no", "Based on the passages provided, the answer is **Yes**.", "Yes"),
    ("yes or no", "No, the passages do not say who hosted. While passage [2] mentions Japan, it gives no year.", "No"),
    ("yes or no", "[1] Yes\n[2] No\n\nSince passage [1] answers the question, the final answer is Yes.", "Yes"),
    ("yes or no", "Partially. Passage [1] gives the city but not the year.", REFUSED),
    ("yes or no", "The answer is not explicitly stated, but it can be inferred from passage [3]. Yes.", "Yes"),
    ("yes or no", "Yes, but only for the 1998 games.", "Yes"),
    ("yes or no", "Yes.\n\nExplanation: there is no doubt that Nagano hosted.", "Yes"),
    ("numbers", "Candidates 1 and 3 are covered.", [1, 3]),
    ("numbers", THOUGHT + "[2, 4]", [2, 4]),
    ("numbers", "The covered interpretations are:\n\n1. Who won in 1998?\n3. Who won in 2002?", [1, 3]),
    ("numbers", "Only candidate 2.", [2]),
    ("numbers", "None of the candidates are covered.", []),
    ("numbers", "1, 2, and possibly 4", REFUSED),
    ("numbers", "1-4", REFUSED),
    ("numbers", "All of them", REFUSED),
    ("numbers", "**Covered:** 1, 2\n\n**Not covered:** 3", REFUSED),
    ("types", "The ambiguity type is **AmbTime**.", ["AmbTime"]),
    ("types", "AmbSub, AmbTime\n\n(The title is shared, and no year is given.)", ["AmbSub", "AmbTime"]),
    ("types", THOUGHT + "['AmbLoc']", ["AmbLoc"]),
    ("types", "N/A - the question is unambiguous.", ["N/A"]),
    ("types", "1. AmbObj: \"World Cup\" may be men's or women's.\n2. AmbTime: no year.", ["AmbObj", "AmbTime"]),
    ("types", "I would classify this as AmbObj rather than AmbSub.", ["AmbObj"]),
    ("questions", "1. Who won the 1998 World Cup?\n2. Who won the 2002 World Cup?", "12"),
    (
        "questions",
        "Sure! Here are the questions:\n\n* **Who won the 1998 World Cup?**\n* Who won the 2002 World Cup?",
        "12",
    ),
    ("questions", "Who won the 1998 World Cup?\nWho won the 2002 World Cup?\n\nLet me know if you need more!", "12"),
    (
        "questions",
        "1) Who won the 1998 World Cup? (men's)\n2) Who won the 2002 World Cup?",
        ["Who won the 1998 World Cup? (men's)", MEANT["12"][1]],
    ),
    ("questions", '["Who won the 1998 World Cup?", "Who won the 2002 World Cup?"]', "12"),
    ("questions", THOUGHT + "- Who won the 1998 World Cup?\n- Who won the 2002 World Cup?", "12"),
    ("answers", "- France\n- Brazil", ["France", "Brazil"]),
    ("answers", "1. **France** (1998)\n2. **Brazil** (2002)", ["France (1998)", "Brazil (2002)"]),
    ("answers", "The short answers are:\n\n- France\n- Brazil", ["France", "Brazil"]),
    ("answers", "France; Brazil", ["France", "Brazil"]),
    ("interpretations", "1. Who won in 1998? | France [1]\n2. Who won in 2002? | Brazil [3]", "readings"),
    (
        "interpretations",
        "Here are the readings:\n\n1. **Who won in 1998?** | France [1]\n2. **Who won in 2002?** | Brazil [3]",
        "readings",
    ),
    (
        "interpretations",
        "1. Who won in 1998? | France [Passage 1]\n2. Who won in 2002? | Brazil [Passage 3]\n\n"
        "Note: other years are not covered.",
        "readings",
    ),
    (
        "interpretations",
        THOUGHT + "1. Who won in 1998? | France [1]\n2. Who won in 2002? | Brazil [3][4]\n"
        "3. Who won in 2006? | Not mentioned",
        "readings",
    ),
    (
        "interpretations",
        "| Reading | Answer | Passage |\n|---|---|---|\n| Who won in 1998? | France | [1] |\n"
        "| Who won in 2002? | Brazil | [3] |",
        "readings",
    ),
    ("interpretations", "I'm unable to find readings of the question in these passages.", REFUSED),
]


def plain(kind: str, found: Any) -> Any:
    return [(one.question, one.answer, one.pid) for one in found] if kind == "interpretations" else found


@pytest.mark.parametrize(("kind", "text", "meant"), ROWS)
def test_each_is_read_rightly(kind: str, text: str, meant: Any) -> None:
    if meant == REFUSED:
        with pytest.raises(ValueError, match=r"\w"):
            KINDS[kind].parse(text)
    else:
        assert plain(kind, KINDS[kind].parse(text)) == (MEANT.get(meant, meant) if isinstance(meant, str) else meant)
