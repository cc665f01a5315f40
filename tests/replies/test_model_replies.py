"""A second table of replies as models write them, with talk around what is told: read rightly, or refused."""

from typing import Any

import pytest

from lab.replies import PARSERS, plain

REFUSED = None

READINGS: list[tuple[str, Any]] = [
    # GPT-4o: bold questions, a sentence before and after, a citation after the full stop
    (
        "Here are the interpretations of the question, based on the passages:\n\n"
        "1. **Who hosted the 1998 Winter Olympics?** | Nagano, Japan [2]\n"
        "2. **Who hosted the 2002 Winter Olympics?** | Salt Lake City, Utah [4]\n\n"
        "Let me know if you would like any of these refined!",
        [
            ("Who hosted the 1998 Winter Olympics?", "Nagano, Japan", "2"),
            ("Who hosted the 2002 Winter Olympics?", "Salt Lake City, Utah", "4"),
        ],
    ),
    (
        "1. Who wrote the novel Dune? | Frank Herbert. [1]\n2. Who wrote the score of Dune (2021)? | Hans Zimmer. [3]",
        [
            ("Who wrote the novel Dune?", "Frank Herbert.", "1"),
            ("Who wrote the score of Dune (2021)?", "Hans Zimmer.", "3"),
        ],
    ),
    # Claude: headings, a note that no passage answers a third
    (
        "Looking at the passages, I can identify two readings:\n\n"
        "1. When was the film Solaris (1972) released? | 20 March 1972 [1]\n"
        "2. When was the film Solaris (2002) released? | November 27, 2002 [5]\n\n"
        "Note: Passage 3 mentions a 1968 television version, but no release date is given.",
        [
            ("When was the film Solaris (1972) released?", "20 March 1972", "1"),
            ("When was the film Solaris (2002) released?", "November 27, 2002", "5"),
        ],
    ),
    (
        "1. When did the stage version open? | none\n2. When did the film open? | 1997 [passage 2]",
        [("When did the film open?", "1997", "2")],
    ),
    # Llama 8B: the form of the prompt repeated, nested bullets
    (
        "reading | answer [number]\n1. Who sang Hallelujah in 1984? | Leonard Cohen [1]\n"
        "2. Who sang Hallelujah in 1994? | Jeff Buckley [2]",
        [("Who sang Hallelujah in 1984?", "Leonard Cohen", "1"), ("Who sang Hallelujah in 1994?", "Jeff Buckley", "2")],
    ),
    (
        "1. **Reading:** Who played Spock in the original series?\n   - **Answer:** Leonard Nimoy [1]\n"
        "2. **Reading:** Who played Spock in the 2009 film?\n   - **Answer:** Zachary Quinto [2]",
        [
            ("Who played Spock in the original series?", "Leonard Nimoy", "1"),
            ("Who played Spock in the 2009 film?", "Zachary Quinto", "2"),
        ],
    ),
    # Mistral 7B: parentheses for the passage, no question mark
    (
        "1. The capital of Georgia, the country | Tbilisi (Passage 1)\n"
        "2. The capital of Georgia, the U.S. state | Atlanta (Passage 3)",
        [
            ("The capital of Georgia, the country", "Tbilisi", "1"),
            ("The capital of Georgia, the U.S. state", "Atlanta", "3"),
        ],
    ),
    (
        "1. How long is the Danube? | 2,850 km [1] (1,770 miles)\n2. How long is the Danube Canal? | 17.3 km [4]",
        [("How long is the Danube?", "2,850 km (1,770 miles)", "1"), ("How long is the Danube Canal?", "17.3 km", "4")],
    ),
    # Qwen: thoughts with rows of their own
    (
        "<think>\nThe user asks who won. Maybe:\n1. Who won in 1998? | Brazil [1]\nNo, wait, France won.\n</think>\n\n"
        "1. Who won the World Cup in 1998? | France [1]",
        [("Who won the World Cup in 1998?", "France", "1")],
    ),
    ("<think>\nThe passages are about ships, so there is nothing.\n</think>\n\nnone", []),
    (
        '```json\n{"interpretations": [{"question": "Who won in 1998?", "answer": "France", "pid": 1}]}\n```\n\n'
        "This covers all readings that the passages support.",
        [("Who won in 1998?", "France", "1")],
    ),
]
QUESTIONS: list[tuple[str, Any]] = [
    (
        "1. Who hosted the 1998 Winter Olympics?\n2. Who hosted the 2002 Winter Olympics?\n\n"
        "These questions cover the different years.",
        ["Who hosted the 1998 Winter Olympics?", "Who hosted the 2002 Winter Olympics?"],
    ),
    (
        "Sure! Here are three search queries:\n\n1. **Dune novel author**\n2. **Dune 2021 film composer**\n",
        ["Dune novel author", "Dune 2021 film composer"],
    ),
    (
        "**By year:**\n1. Who won in 1998?\n2. Who won in 2002?\n\n**By sport:**\n3. Who won the ski race?",
        ["Who won in 1998?", "Who won in 2002?", "Who won the ski race?"],
    ),
    (
        # what is meant may stand in the note: it stays
        "1. Who won in 1998? (This asks for the men's tournament.)\n2. Who won in 1999? (This asks for the women's.)",
        [
            "Who won in 1998? (This asks for the men's tournament.)",
            "Who won in 1999? (This asks for the women's.)",
        ],
    ),
    (
        "1. Which Georgia is meant: the country or the state?\n   - the country\n   - the state",
        REFUSED,
    ),
    (
        "<think>\nShort.\n</think>\n1. When was it built?\n2. When was it rebuilt?",
        ["When was it built?", "When was it rebuilt?"],
    ),
]
VERDICTS: list[tuple[str, Any]] = [
    ("Yes, the passages provide the answer: Nagano hosted the games (Passage 2).", "Yes"),
    ("No. While Passage 1 discusses the Olympics, none of the passages states who hosted in 1998.", "No"),
    ("**No**\n\nExplanation: The passages say who hosted in 2002, yes, but not in 1998.", "No"),
    ("Based on passage [1], the answer is yes.", "Yes"),
    ("Partially. Passage 1 gives the year only.", REFUSED),
    ("Yes (Passage 1), but not for the 2002 film.", "Yes"),
    ("<think>\nHmm, yes? Passage 2... no.\n</think>\n\nNo", "No"),
    ("The passages do answer the question, so the answer would be: Yes", "Yes"),
    ("I would say no, since the passages are about another film.", "No"),
    ("Yes\n\nPassage 1 says so. No further passages are needed.", "Yes"),
]
NUMBERS: list[tuple[str, Any]] = [
    ("1, 3\n\nReading 2 does not hold because passage 4 gives another year.", REFUSED),
    ("Readings 1 and 3 hold.", [1, 3]),
    ("1, 2, 3 (all)", [1, 2, 3]),
    ("**1, 4**", [1, 4]),
    ("The readings that hold are: 2, 5", [2, 5]),
    ("All of the readings hold.", REFUSED),
    ("none (no reading is supported by its passage)", []),
    ("<think>\nReading 1: 1998, fine. Reading 2: no.\n</think>\n\n1", [1]),
    ("1 (supported by passage 2), 3 (supported by passage 4)", REFUSED),
    ("Only reading 2 holds.", [2]),
]
TYPES: list[tuple[str, Any]] = [
    ("AmbTime, AmbObj\n\nThe question does not say which year, or which event.", ["AmbTime", "AmbObj"]),
    ('**AmbSub**: "Georgia" may be the country or the state.', ["AmbSub"]),
    ("N/A - the question is specific.", ["N/A"]),
    ("The ambiguity is AmbTime: the year is not given.", ["AmbTime"]),
]
LONG: list[tuple[str, Any]] = [
    (
        "Based on the provided passages, the film came out in 1972 [1] and in 2002 [5].",
        "Based on the provided passages, the film came out in 1972 [1] and in 2002 [5].",
    ),
    ("<think>\nTwo films.\n</think>\n\n**Long answer:** There are two films.", "There are two films."),
]
ROWS = [
    (kind, text, meant)
    for kind, rows in (
        ("readings", READINGS),
        ("questions", QUESTIONS),
        ("yes or no", VERDICTS),
        ("numbers", NUMBERS),
        ("types", TYPES),
        ("long answer", LONG),
    )
    for text, meant in rows
]


@pytest.mark.parametrize(("kind", "text", "meant"), ROWS)
def test_replies_are_read_rightly_or_refused(kind: str, text: str, meant: Any) -> None:
    if meant is REFUSED:
        with pytest.raises(ValueError, match=r"^(no|not|neither)\b"):
            PARSERS[kind](text)
    else:
        assert plain(kind, PARSERS[kind](text)) == (sorted(meant) if kind == "readings" else meant)
