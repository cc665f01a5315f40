"""Readings of a question: rows ``1. reading | answer [3]``, lines ``DQ n: … / DA n: …``, and JSON."""

import re
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any

from polyqa.base.values import Interpretation

from .lists import UNSPACED, asks_at_once
from .nothing import gives_nothing, is_null
from .text import (
    is_item,
    is_rule,
    json_in,
    listed,
    shown,
    strip_dress,
    told,
    without_bullet,
    without_fence,
    without_lead,
)

QUESTION_KEYS = ("disambiguated_question", "interpretation", "question", "reading", "dq")
ANSWER_KEYS = ("short_answer", "answer", "da")
_PID_KEYS = ("pid", "passage", "source")
_BAR = re.compile(r"\s+\|\s+")
_CITED = r"(?:passages?|sources?)\s*#?"
_NUMBERS = r"\d{1,3}(?:\s*(?:,|;|&|and)\s*\d{1,3})*\s*"
_MARK = rf"(?:\[\s*(?:{_CITED})?{_NUMBERS}\]|\(\s*(?:see )?{_CITED}:?\s*\[?{_NUMBERS}\]?\))"
_CITATION = re.compile(rf"\s?{_MARK}(?:(?:\s*(?:[,;&]|and\b))?\s*{_MARK})*", re.I)
_IN_A_COLUMN = re.compile(rf"\s+\|(?=\s*{_MARK}\s*\Z)", re.I)  # as in a table: "reading | answer | [3]"
# "reading | answer" repeats the prompt, "1. 1. 1." or "1, 2, 3, 4, 5" is a loop, "1. A 2. B" a list.
_NO_ANSWER = re.compile(r"(?:short )?answer(?: \[\w+\])?|(?:\d{1,2}\W+){4,}\d*|1\. .+ 2\. .+", re.I)
_TAG = re.compile(
    r"[\s\-*•#>_]*(?:\d{1,2}[.)]\s*)?[*_]*(?:(?P<question>DQ|question|reading|interpretation)|"
    r"(?P<answer>DA|(?:short )?answer)|(?P<passage>pid|passage|source))\s*(?P<number>\d{1,2})?"
    r"[*_]*\s*:[*_]*(?P<text>.*)",
    re.I,
)
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\s[-–—]\s")
_LEAST_WORDS = 18  # of a copied passage; of 28,072 questions of ASQA and AmbigNQ 4 look so, of 24,401 answers 15
_NAME = r"[A-ZÀ-Þ\d(\"“]\S*"
# So looks 1 of those questions. Of scripts without spaces and capitals nothing tells a heading.
_HEADING = re.compile(rf"(?!In |On |At |For |By )(?!.*{UNSPACED})(?:{_NAME}\s+)*{_NAME}")
_GLUED = re.compile(r"\S{25}\Z")  # so a model ends a line to which a grammar gives no more words


def parse_interpretations(value: Any) -> list[Interpretation]:
    """Return the readings of a reply, of what JSON gave, or of a demo.

    Empty text, ``None`` and ``N/A`` mean that there is none; a question whose answer is empty, null or said to be
    unknown is left out, as one that the passages do not answer.

    Parameters
    ----------
    value
        A list of mappings or pairs, one mapping, a mapping that wraps the list, or text: JSON, lines
        ``DQ n: … / DA n: …``, or rows ``1. reading | answer [3]``.

    Raises
    ------
    ValueError
        If text holds no pair of question and answer, an item has no place for one of them, or what belongs
        together cannot be told.
    """
    if value is None:
        return []
    if isinstance(value, str):
        return _of_text(without_fence(told(value)))
    value = [value] if isinstance(value, Interpretation) or is_reading(value) else listed(value)
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"not a list of interpretations: {shown(value)}")
    if value and all(isinstance(item, str) for item in value):
        return _of_text("\n".join(value))
    return list(filter(None, (_interpretation(item) for item in value if item is not None)))


def clean_readings(readings: Iterable[Interpretation]) -> list[Interpretation]:
    """Return the readings of a reply without those told before, and without headings and copied passages."""
    first: dict[tuple[str, str], Interpretation] = {}
    for reading in readings:
        heading = _HEADING.fullmatch(reading.question) and not asks_at_once(reading.question)
        if not (heading or _is_passage(reading.question) or _is_passage(reading.answer)):
            first.setdefault((reading.question.casefold(), reading.answer.casefold()), reading)
    return list(first.values())


def is_reading(value: Any) -> bool:
    """Return whether a mapping is one reading, not a list of readings in a mapping."""
    return isinstance(value, Mapping) and bool(first_told(lowered(value), QUESTION_KEYS))


def lowered(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a mapping with its keys in small letters and underscores."""
    return {str(key).strip().lower().replace(" ", "_"): item for key, item in mapping.items()}


def first_told(mapping: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """Return the value of the first key that has one; ``None`` if there is none."""
    return next((mapping[key] for key in keys if mapping.get(key) not in (None, "", [], {})), None)


def passage_number(value: Any) -> str | None:
    """Return the number of a passage that is cited; another text is a passage's id and stays as it is.

    >>> passage_number("**Passage [3]**"), passage_number(4), passage_number("p12")
    ('3', '4', 'p12')
    """
    text = "" if value is None or isinstance(value, bool) else strip_dress(str(value))
    match = re.fullmatch(rf"\W*(?:{_CITED})?\W*(\d{{1,4}})\b[\s\d.,&\[\]()]*", text, re.I)
    return match[1] if match else None if is_null(text) else text


def split_citation(text: str) -> tuple[str, str | None]:
    """Return an answer without its citations, and the number that is cited first.

    >>> split_citation("Nagano [3][4]"), split_citation("Mercury (1998)"), split_citation("17 km (passage 2) in 1998")
    (('Nagano', '3'), ('Mercury (1998)', None), ('17 km in 1998', '2'))
    """
    cited = _CITATION.search(text)
    answer = _CITATION.sub("", text).strip()
    return (answer, re.findall(r"\d+", cited[0])[0]) if cited and answer else (text, None)


def _is_passage(text: str) -> bool:
    """Return whether a text is a passage under its heading: a few sentences of which none asks, or one cut off."""
    words, sentences = len(text.split()), _SENTENCE.split(text)
    asks = any(map(asks_at_once, sentences))
    return (len(sentences) > 1 and words >= _LEAST_WORDS and not asks) or (words >= 12 and bool(_GLUED.search(text)))


def _of_text(text: str) -> list[Interpretation]:
    try:
        parsed = json_in(text)
        if parsed is None and not is_null(text):
            tags = [tag for line in text.splitlines() if (tag := _TAG.match(line))]
            has_question = any(tag["question"] and not _BAR.search(tag["text"]) for tag in tags)
            return _tagged(tags) if has_question and any(tag["answer"] for tag in tags) else _rows(text)
    except ValueError as error:
        raise ValueError(f"no interpretation found in: {shown(text)}: {error}") from None
    return parse_interpretations(parsed)


def _rows(text: str) -> list[Interpretation]:
    rows: list[tuple[str, str]] = []
    for line in text.splitlines():
        question, *answers = _BAR.split(_IN_A_COLUMN.sub("", line))
        asks = bool(answers) and answers[0].endswith("?") and not question.endswith("?")
        if len(answers) > 1 or line.lstrip().startswith("|") or asks:
            raise ValueError(f"which part of {line!r:.80} is the answer?")
        if answers:
            tag = _TAG.match(question)
            question = tag["text"] if tag and tag["question"] else without_bullet(question)
            rows.append((question, answers[0]))
        elif is_item(line) and not is_rule(line):
            raise ValueError(f"no answer in {line!r:.80}")
    if not rows:
        raise ValueError("no row has an answer")
    return list(filter(None, (_reading(question, answer) for question, answer in rows)))


def _tagged(tags: list[re.Match[str]]) -> list[Interpretation]:
    """Read ``DQ n: … / DA n: …`` lines (the format of the RAC prompt of Tree of Clarifications).

    An answer belongs to the question of its number, without a number to the question before it. A question without an
    answer is dropped. An ``Answer:`` line without a number ends the ``DQ`` lines, as there the long answer begins.
    """
    questions: list[str] = []
    numbers: list[str | None] = []
    answers: dict[int, str] = {}
    cited: dict[int, str] = {}
    tagged, at = False, -1
    for tag in tags:
        text = tag["text"].strip()
        if tag["question"] and text:
            tagged = tagged or tag["question"].upper() == "DQ"
            questions.append(text)
            numbers.append(tag["number"])
        elif tag["answer"]:
            if tagged and tag["number"] is None and tag["answer"].upper() != "DA":
                break
            unique = tag["number"] is not None and numbers.count(tag["number"]) == 1
            at = numbers.index(tag["number"]) if unique else len(questions) - 1
            if at < 0 or at in answers:
                raise ValueError(f"what does {text!r:.80} answer?")
            answers[at] = text
        elif at in answers and (number := re.search(r"\d+", text)):
            cited[at] = number[0]
    return list(filter(None, (_reading(questions[at], answers[at], cited.get(at)) for at in sorted(answers))))


def _reading(question: str, answer: str, pid: str | None = None) -> Interpretation | None:
    """Return one reading of a text, ``None`` if its answer is said to be nothing; ``pid`` goes before what it cites."""
    text, cited = split_citation(strip_dress(answer))
    text = strip_dress(without_lead(re.sub(r"\A(?:(?:short )?answer: |\d{1,2}\. (?=\d{3}))", "", text, flags=re.I)))
    if _says_nothing(text) or is_null(question):
        return None
    return Interpretation(question=strip_dress(question), answer=text, pid=pid or cited)


def _interpretation(value: Any) -> Interpretation | None:
    if isinstance(value, Interpretation):
        return value
    if isinstance(value, (list, tuple)) and len(value) == 2:
        value = {"question": value[0], "answer": value[1]}
    fields = lowered(value) if isinstance(value, Mapping) else {}
    question, answer = first_told(fields, QUESTION_KEYS), first_told(fields, ANSWER_KEYS)
    if isinstance(answer, (list, tuple)) and all(isinstance(part, str) for part in answer):
        answer = "; ".join(answer)
    told_both = isinstance(question, str) and not fields.keys().isdisjoint(ANSWER_KEYS)
    if not told_both or not isinstance(answer, (str, int, float, NoneType)):
        raise ValueError(f"not an interpretation with a question and an answer: {shown(value)}")
    if answer is None or _says_nothing(str(answer)):
        return None
    pid = passage_number(first_told(fields, _PID_KEYS))
    return Interpretation(question=question.strip(), answer=str(answer).strip(), pid=pid)


def _says_nothing(answer: str) -> bool:
    return gives_nothing(answer) or bool(_NO_ANSWER.fullmatch(answer))
