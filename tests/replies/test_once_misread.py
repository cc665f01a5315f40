"""Replies in dresses that were once misread without a word, and plausible ones by another author than the parser's."""

from typing import Any

import pytest
from lenient_kinds import KINDS
from plausible_replies import REPLIES, replies, tally

from polyqa.base.values import AmbiguityType, Interpretation
from polyqa.lm.adapter import LeanAdapter
from polyqa.replies import is_null, parse_interpretations

BRAZIL = Interpretation(question="Who won in 2002?", answer="Brazil")
FRANCE = Interpretation(question="Who won in 1998?", answer="France")
IN_1 = FRANCE.model_copy(update={"pid": "1"})
ONCE_MISREAD: list[tuple[str, Any, list[str]]] = [
    (
        "interpretations",
        [FRANCE, BRAZIL],
        [
            "DQ 1: Who won in 1998?\nDQ 2: Who won in 2002?\nDA 1: France\nDA 2: Brazil",
            "DQ 1: Who won in 1998?\nDQ 2: Who won in 2002?\nDA 2: Brazil\nDA 1: France",
            "DA 1: France\nDQ 1: Who won in 1998?\nDA 2: Brazil\nDQ 2: Who won in 2002?",
            "DQ 1: Who won in 1998? DA 1: France DQ 2: Who won in 2002? DA 2: Brazil",
            "DQ 1:\nWho won in 1998?\nDA 1:\nFrance\n**DQ 2:**\nWho won in 2002?\n**DA 2:**\n**Brazil**",
            '{"question": "Who won in 1998?", "answer": "France"}\n'
            '{"question": "Who won in 2002?", "answer": "Brazil"}',
            "[Interpretation(question='Who won in 1998?', answer='France'), "
            "Interpretation(question='Who won in 2002?', answer='Brazil')]",
            '{"reading_1": {"question": "Who won in 1998?", "answer": "France"}, '
            '"reading_2": {"question": "Who won in 2002?", "answer": "Brazil"}}',
            '[{"question": "Who won?", "disambiguated_question": "Who won in 1998?", "answer": "France"}, '
            '{"question": "Who won?", "disambiguated_question": "Who won in 2002?", "answer": {"text": "Brazil"}}]',
            "<think>DQ 1: Who lost?\nDA 1: Italy</think>\n1. Who won in 1998? | France\n2. Who won in 2002? | Brazil",
        ],
    ),
    (
        "interpretations",
        [FRANCE],
        [
            f"DQ 1: Who won in 1998?\nDA 1: France\nDQ 2: Who won in 2006?\nDA 2: {nothing}"
            for nothing in (
                *("null (the passage is about a ship)", "**null**", "`null`", "- null", "No answer.", "Not mentioned."),
                *("Not answerable", "unknown", "The passages do not contain the answer.", "not stated in the passages"),
                *("cannot be determined from the passages", "The passage does not say.", "none of the passages say it"),
            )
        ],
    ),
    (
        "interpretations",
        [IN_1],
        [
            f"DQ 1: Who won in 1998?\nDA 1: France\n{one}"
            for one in ("**Passage:** 1", "Source: [1]", "Passage: passage 1")
        ],
    ),
    (
        "yes or no",
        "Yes",
        [
            "There is no doubt: Yes",
            "Passage 1: No\nPassage 2: Yes\nOverall: Yes",
            "Y",
            "<think>No?</think>Yes",
            "Passage 1: No. Final answer: Yes",
        ],
    ),
    (
        "yes or no",
        "No",
        ["Not answerable", "The passages do not contain the answer.", "N", "Passage 1: Yes, in part.\n\nNo", "No."],
    ),
    ("numbers", [], ["None of the 5 candidates", "none of these", "None of them."]),
    ("numbers", [1, 3], ["2 of them: 1, 3", "the first and third", "one and three", "Questions one and three"]),
    (
        "types",
        [AmbiguityType.PREDICATE, AmbiguityType.TIME],
        ["[AmbPred] [AmbTime]", "[AmbPred][AmbTime]", "AmbPred; AmbTime"],
    ),
    ("types", [AmbiguityType.SUBJECT], ["AmbSub (not AmbTime)", "AmbSub, no AmbObj", "AmbSub rather than AmbLoc"]),
    ("types", [AmbiguityType.NONE], ["[]"]),
    (
        "questions",
        ["Who won in 1998?", "Who won in 2002?"],
        [
            "Here are the questions:\nWho won in 1998?\nWho won in 2002?",
            "1. **Who won in 1998?**\n2. **Who won in 2002?**",
            "1. Who won in 1998? 2. Who won in 2002?",
            "Who won in 1998?; Who won in 2002?",
        ],
    ),
    ("questions", [], ["N/A.", "None.", "**N/A**"]),
    (
        "interpretations",
        [IN_1],
        [
            "DQ 1: Who won in 1998?\nDA 1: France\n(passages 1 and 4)",
            "reading | answer [3]\n1. Who won in 1998? | France [1]",
            "1. reading | answer [3]\n2. Who won in 1998? | France [1]",
        ],
    ),
    (
        "interpretations",
        [IN_1.model_copy(update={"answer": "France (3-0)"})],
        ["1. Who won in 1998? | France [1] (3-0)", "DQ 1: Who won in 1998?\nDA 1: France [1] (3-0)"],
    ),
    ("yes or no", "No", ['{"reason": "Yes passage is it.", "answerable": "No"}']),
    (
        "numbers",
        [3, 1],
        ["1. Reading 3\n2. Reading 1", "1. [3]\n2. [1]", "3 and 1 of the 9 candidates", "both 3 and 1"],
    ),
    ("questions", ["Who won in 1998?", "who won in 2002"], ["1. Who won in 1998? 2. who won in 2002"]),
    ("questions", ["When was Act 2. Scene 1 staged?"], ["1. When was Act 2. Scene 1 staged?"]),
]


@pytest.mark.parametrize(
    ("kind", "value", "text"), [(kind, value, text) for kind, value, texts in ONCE_MISREAD for text in texts]
)
def test_what_was_once_misread_is_read(kind: str, value: Any, text: str) -> None:
    own = KINDS[kind]
    others = "".join(f"## {name}\n{other}\n\n" for name, other in own.others.items())
    reply = text if len(own.signature.output_fields) == 1 else f"{others}## {own.name}\n{text}"
    assert LeanAdapter().parse(own.signature, reply)[own.name] == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("yes or no", "Passage 1: Yes. Passage 2: No."),
        ("yes or no", "Maybe."),
        ("questions", "I'm sorry, but I cannot help with that."),
        ("questions", "As an AI, I do not know what is meant."),
        ("interpretations", "DQ: Who won?\nDQ: Who lost?\nDA: France\nDA: Italy"),
        ("numbers", "All but 2"),
        *(("numbers", text) for text in ("1. 3, 5", "1. 3\n2. 5\n3. none", "1: 8\n2: 3", "the other 2", "over 2")),
        *(("numbers", text) for text in ("1: Nagano, 3: Tokyo", "1) 2) 3)")),
        ("yes or no", '{"answer": "Yes", "final_answer": "No"}'),
        ("questions", "Who won in 1998?; who won in 2002; 300: Rise of an Empire came out when?"),
        ("questions", "1. Which Georgia is meant: the country or the state?\n   - the country\n   - the state"),
        ("interpretations", '[{"question": "Who won in 1998?", "answer": "France"}, {"question": "W?", "answer": "B"}'),
    ],
)
def test_what_cannot_be_told_is_refused(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        KINDS[kind].parse(text)


@pytest.mark.parametrize(
    "answer",
    ["None of the Above", "Unknown Pleasures", "No", "Nullarbor Plain", "The Unanswered Question", "Not Fade Away"],
)
def test_names_that_begin_like_nothing_are_answers(answer: str) -> None:
    assert not is_null(answer)
    (reading,) = parse_interpretations(f"DQ 1: What is it called?\nDA 1: {answer}")
    assert reading.answer == answer


def test_plausible_replies_by_another_author_are_read() -> None:
    table = tally(replies())
    assert sum(counts.total() for counts in table.values()) == REPLIES >= 10_000
    assert {kind: counts["wrong"] for kind, counts in table.items() if counts["wrong"]} == {}
    for kind, counts in table.items():
        assert counts["read"] >= 0.97 * counts.total(), kind
