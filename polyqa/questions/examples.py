"""Worked examples for the calls that make questions of passages.

Without them a small model copies the prompt in place of an answer: of 16 passages a 1.5B model named no span, with them
66. The passages and all words are our own; what they say is common knowledge that does not change.
"""

from typing import Any

import dspy

from polyqa.extractive import ExtractiveEngine
from polyqa.signatures import AnswerFromPassage, AskOfNamesakes, DetectAnswers, GenerateQuestion, ReviseQuestion

_BRIDGE = (
    "Manhattan Bridge | The Manhattan Bridge crosses the East River in New York City. It was designed by Leon "
    "Moisseiff and opened to traffic on 31 December 1909."
)
_COMPOSER = (
    "John Field (composer) | John Field was born in Dublin in 1782 and became a pupil of Muzio Clementi. He wrote the "
    "first nocturnes for the piano. He died in Moscow on 23 January 1837."
)
_FILM = (
    "Hairspray (1988 film) | John Waters wrote and directed this comedy, which is set in Baltimore in 1962. Ricki Lake "
    "plays Tracy Turnblad."
)
_MUSICAL = "Hairspray (2007 film) | Adam Shankman directed this musical, with John Travolta as Edna."
_MENU = "Bridges | Home. Contact. Print this page. See also: Help."
_EXAMPLES: dict[type[dspy.Signature], tuple[dict[str, Any], ...]] = {
    DetectAnswers: (
        {
            "passage": _COMPOSER,
            "answers": ["23 January 1837", "Moscow", "Muzio Clementi", "1782", "Dublin", "nocturnes"],
        },
        {"passage": _MENU, "answers": []},
        {"passage": _BRIDGE, "answers": ["31 December 1909", "Leon Moisseiff", "East River", "New York City"]},
        {"passage": _FILM, "answers": ["John Waters", "Ricki Lake", "Baltimore", "1962"]},
    ),
    GenerateQuestion: (
        {"passage": _COMPOSER, "answer": "Moscow", "question": "Where did the composer John Field die?"},
        {"passage": _BRIDGE, "answer": "Leon Moisseiff", "question": "Who designed the Manhattan Bridge?"},
        {"passage": _MENU, "answer": "Help", "question": "None"},
        {"passage": _COMPOSER, "answer": "nocturnes", "question": "What did John Field write first for the piano?"},
        {"passage": _FILM, "answer": "1962", "question": "In which year is the 1988 film Hairspray set?"},
    ),
    ReviseQuestion: (
        {
            "passage": _COMPOSER,
            "question": "When did he die?",
            "answer": "23 January 1837",
            "revised_question": "When did the composer John Field die?",
        },
        {
            "passage": _BRIDGE,
            "question": "Who designed the Manhattan Bridge?",
            "answer": "Leon Moisseiff",
            "revised_question": "Who designed the Manhattan Bridge?",
        },
        {
            "passage": _FILM,
            "question": "Who directed Hairspray?",
            "answer": "John Waters",
            "revised_question": "Who directed the 1988 film Hairspray?",
        },
    ),
    AskOfNamesakes: (
        {
            "passages": f"[1] {_FILM}\n[2] {_MUSICAL}",
            "name": "Hairspray",
            "question": "Who directed Hairspray?",
            "first_answer": "John Waters",
            "second_answer": "Adam Shankman",
        },
        {
            "passages": "[1] Georgia (country) | Georgia lies on the Black Sea. Its capital is Tbilisi.\n"
            "[2] Georgia (U.S. state) | Atlanta has been the capital of Georgia since 1868.",
            "name": "Georgia",
            "question": "What is the capital of Georgia?",
            "first_answer": "Tbilisi",
            "second_answer": "Atlanta",
        },
        {
            "passages": f"[1] {_COMPOSER}\n[2] Field (agriculture) | A field is land that is used for crops or cattle.",
            "name": "Field",
            "question": "None",
            "first_answer": "None",
            "second_answer": "None",
        },
    ),
    AnswerFromPassage: (
        {"passage": _COMPOSER, "question": "Where did the composer John Field die?", "answer": "Moscow"},
        {"passage": _BRIDGE, "question": "How long is the Manhattan Bridge?", "answer": "None"},
        {"passage": _FILM, "question": "Who plays Tracy Turnblad in Hairspray?", "answer": "Ricki Lake"},
    ),
}


def with_examples(signature: type[dspy.Signature]) -> dspy.Predict:
    """Return a predictor of one of these calls, whatever its instructions, with its examples as demos.

    The embedded engine gets none: it does the same without.
    """
    predictor = dspy.Predict(signature)
    if not isinstance(getattr(dspy.settings.lm, "engine", None), ExtractiveEngine):
        shown = next(shown for known, shown in _EXAMPLES.items() if _fields(known) == _fields(signature))
        predictor.demos = [dspy.Example(**one).with_inputs(*signature.input_fields) for one in shown]
    return predictor


def _fields(signature: type[dspy.Signature]) -> tuple[list[str], list[str]]:
    return list(signature.input_fields), list(signature.output_fields)
