"""Readings as mappings and pairs, and the number of a passage, as replies cite it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from polyqa.base.values import Interpretation

from .nothing import is_null, looks_like_refusal
from .text import shown, strip_dress, without_lead

# A disambiguation may stand beside the original question: the former counts.
OWN_QUESTION_KEYS = (
    "disambiguated_question",
    "disambiguation",
    "rewritten_question",
    "interpretation",
    "reading",
    "dq",
)
QUESTION_KEYS = (*OWN_QUESTION_KEYS, "question", "pseudo_interpretation", "q")
ANSWER_KEYS = ("disambiguated_answer", "short_answer", "answer", "short_answers", "answers", "da", "a")
_LIST_KEYS = ("interpretations", "readings", "disambiguations", "refinements")
_PID_KEYS = ("pid", "passage", "source", "citation", "passage_number", "passage_id", "passages", "sources")
_CITED = r"(?:passages?|sources?|documents?|docs?|citations?|pid)"
_ONE = re.compile(rf"{_CITED}?\W*(?P<number>\d{{1,4}})\b(?:\.0)?(?:[\s,;&\]\[()#.]|and|\d{{1,4}})*", re.I)
_NAMED = re.compile(rf"{_CITED}\W*(?P<number>\d{{1,4}})\b", re.I)
# "reading | answer" repeats the prompt, "1. 1. 1." or "1, 2, 3, 4, 5" is a loop.
_NO_ANSWER = re.compile(r"answer|short answer|(?:\d{1,2}\W+){4,}\d*", re.I)
_NUMBERS = r"(?P<number>\d{1,3})(?:\s*(?:,|;|&|and)\s*\d{1,3})*\s*"
_TRAILING = re.compile(
    rf"\s*(?:(?:\(\d{{1,2}}\)\s*)?\[\s*{_CITED}?\s*#?{_NUMBERS}\]"
    rf"|\(\s*(?:see )?{_CITED}\s*#?{_NUMBERS.replace('number', 'other')}\))(?:\s*,?\s*\[\d{{1,3}}\])*\.?\Z",
    re.I,
)
_WITHIN = re.compile(rf"(?<=\S)\s*\[{_CITED}?\s*(?P<number>\d{{1,3}})\](?=[\s,;.])", re.I)


def lowered(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a mapping with its keys in small letters and underscores."""
    return {re.sub(r"[\s_-]+", "_", str(key).strip().strip("*:").lower()): item for key, item in mapping.items()}


def first_told(mapping: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """Return the value of the first key that has one; ``None`` if there is none."""
    return next((mapping[key] for key in keys if mapping.get(key) not in (None, "", [], {})), None)


def text_of(value: Any) -> str | None:
    """Return the text of a question or an answer: of a mapping its ``text``, of a list all, with semicolons.

    >>> text_of({"text": "Nagano"}), text_of(["Nagano", "Japan"])
    ('Nagano', 'Nagano; Japan')
    """
    if isinstance(value, Mapping):
        return text_of(first_told(lowered(value), ("text", "value", *ANSWER_KEYS, "question")))
    if isinstance(value, (list, tuple)):
        parts = [text_of(item) for item in value]
        return None if None in parts else "; ".join(filter(None, parts))
    return None if value is None or isinstance(value, (set, bytes)) else str(value).strip()


def question_in(fields: Mapping[str, Any]) -> str | None:
    """Return the question of a mapping with `lowered` keys, the disambiguated one if there are two."""
    own = text_of(first_told(fields, OWN_QUESTION_KEYS))
    plain = text_of(first_told(fields, QUESTION_KEYS[len(OWN_QUESTION_KEYS) :]))
    if own and plain and re.fullmatch(r"\w*\W*\d*", own):
        return plain  # "interpretation": 1 numbers it
    return own or plain


def reading_of(question: str, answer: str, pid: str | None = None) -> Interpretation | None:
    """Return one reading of a text, ``None`` if its answer is said to be nothing; ``pid`` goes before what it cites."""
    text, cited = split_citation(strip_dress(answer))
    text = strip_dress(without_lead(re.sub(r"\A(?:(?:short )?answer: |\d{1,2}\. (?=\d{3}))", "", text, flags=re.I)))
    if _says_nothing(text) or is_null(question):
        return None
    return Interpretation(question=strip_dress(question), answer=text, pid=passage_number(pid) or cited)


def interpretation(value: Any) -> Interpretation | None:
    """Return one reading, ``None`` if its answer is said to be nothing.

    Raises
    ------
    ValueError
        If it has no place for a question or for an answer.
    """
    if isinstance(value, Interpretation):
        return value
    if isinstance(value, (list, tuple)) and len(value) in (2, 3) and all(map(_is_scalar, value)) and _asks(value[0]):
        value = dict(zip(("question", "answer", "pid"), value, strict=False))
    if isinstance(value, Mapping):
        fields = lowered(value)
        question, given = question_in(fields), first_told(fields, ANSWER_KEYS)
        answer = text_of(given)
        if question and answer is not None and not _says_nothing(answer):
            inner = lowered(given) if isinstance(given, Mapping) else {}
            pid = passage_number(first_told({**inner, **fields}, _PID_KEYS))
            return Interpretation(question=question, answer=answer, pid=pid)
        if question and any(key in fields for key in ANSWER_KEYS) and (answer is not None or given is None):
            return None
    raise ValueError(f"not an interpretation with a question and an answer: {shown(value)}")


def _says_nothing(answer: str) -> bool:
    return is_null(answer) or looks_like_refusal(answer) or bool(_NO_ANSWER.fullmatch(answer))


def _asks(value: Any) -> bool:
    # A passage's "[1, 2]" is no pair of question and answer.
    return isinstance(value, str) and (len(value.split()) > 1 or value.endswith(("?", "？", "؟")))


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float))


def is_reading(value: Any) -> bool:
    """Return whether a mapping is one reading, not a list of readings in a mapping."""
    return isinstance(value, Mapping) and question_in(lowered(value)) is not None


def readings_in(mapping: Mapping[Any, Any]) -> list[Any] | None:
    """Return the readings that a mapping holds, ``None`` if it does not look like a mapping of readings.

    >>> readings_in({"reading_1": {"question": "Who?", "answer": "I"}})
    [{'question': 'Who?', 'answer': 'I'}]
    """
    fields = lowered(mapping)
    named = first_told(fields, _LIST_KEYS) or next((fields[key] for key in _LIST_KEYS if key in fields), None)
    if isinstance(named, (list, tuple)):
        return list(named)
    if isinstance(named, Mapping):
        return [named] if is_reading(named) else readings_in(named)
    if is_reading(mapping):
        return None
    lists = [item for item in fields.values() if isinstance(item, (list, tuple))]
    if len(lists) == 1:
        return list(lists[0])
    return list(fields.values()) if fields and all(isinstance(one, Mapping) for one in fields.values()) else None


def passage_number(value: Any) -> str | None:
    """Return the number of the first passage that is cited; another text is a passage's id and stays as it is.

    >>> passage_number("**Passage [3]**"), passage_number("1, 3"), passage_number(4), passage_number("p12")
    ('3', '1', '4', 'p12')
    """
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    if value is None or isinstance(value, bool):
        return None
    text = strip_dress(str(value)).strip("*_ ").strip("[]").strip()
    if is_null(text):
        return None
    match = _ONE.fullmatch(text) or _NAMED.match(text)
    return match["number"] if match else text


def split_citation(text: str) -> tuple[str, str | None]:
    """Return an answer without the citations at its end and within it, and the number that is cited first.

    >>> split_citation("Nagano [3][4]"), split_citation("Mercury (1998)"), split_citation("Nagano (passage 2)")
    (('Nagano', '3'), ('Mercury (1998)', None), ('Nagano', '2'))
    >>> split_citation("17 km [1] (11 miles)")
    ('17 km (11 miles)', '1')
    """
    number = None
    if (match := _TRAILING.search(text)) and text[: match.start()].strip():
        text, number = text[: match.start()].strip(), match["number"] or match["other"]
    within = _WITHIN.search(text)
    return (_WITHIN.sub("", text), within["number"]) if within else (text, number)
