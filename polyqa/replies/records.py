"""Readings as mappings, pairs and constructor calls, and the number of a passage, as replies cite it."""

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Any

from polyqa.base.values import Interpretation

from .nothing import is_null, looks_like_refusal
from .text import closing, shown, strip_dress

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
LIST_KEYS = ("interpretations", "readings", "disambiguations", "refinements")
_PID_KEYS = ("pid", "passage", "source", "citation", "passage_number", "passage_id", "passages", "sources")
_TEXT_KEYS = ("text", "answer", "short_answer", "value", "span", "content", "question")
_CALL = re.compile(r"\b(?:Interpretation|Reading|Disambiguation|dict)\s*(?=\()")
_NAME = re.compile(r"(?:reading|interpretation|disambiguation|item|question|dq)?[_ ]?\d*", re.I)
_CITED = r"(?:passages?|sources?|documents?|docs?|citations?|pid)"
_MORE = r"(?:[\s,;&\]\[()#]|and|\d{1,4})*"
_ONE = re.compile(rf"{_CITED}?\W*?(?P<number>\d{{1,4}})\b(?:\.0)?{_MORE}\.?", re.I)
_NAMED = re.compile(rf"{_CITED}\W*?(?P<number>\d{{1,4}})\b", re.I)
_TRAILING = re.compile(
    rf"\s*(?:[\[(]\s*{_CITED}?\s*[#:]?\s*(?P<number>\d{{1,3}})(?:\s*(?:,|;|&|and)\s*\d{{1,3}})*\s*[\])]"
    rf"(?:\s*,?\s*\[\s*{_CITED}?\s*\d{{1,3}}(?:\s*,\s*\d{{1,3}})*\s*\])*)\.?\Z",
    re.I,
)
_WITHIN = re.compile(rf"(?<=\S)\s*\[{_CITED}?\s*(?P<number>\d{{1,3}})\](?=[\s,;.])", re.I)
_YEAR_LIKE = re.compile(r"\((?:\s*\d+(?:\s*(?:,|;|&|and)\s*\d+)*\s*)\)\.?\Z")
_TAGGED_KEY = re.compile(r"(?P<kind>dq|da|question|answer|pid|passage)[_ ]?(?P<number>\d+)")


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
        inner = first_told(lowered(value), _TEXT_KEYS)
        return None if inner is None else text_of(inner)
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
        question = question_in(fields)
        known = [key for key in ANSWER_KEYS if key in fields]
        given = first_told(fields, ANSWER_KEYS)
        answer = text_of(given)
        if question and answer is not None and not (is_null(answer) or looks_like_refusal(answer)):
            inner = lowered(given) if isinstance(given, Mapping) else {}
            pid = passage_number(first_told(fields, _PID_KEYS))
            return Interpretation(
                question=question, answer=answer, pid=pid or passage_number(first_told(inner, _PID_KEYS))
            )
        if question and known and (answer is not None or given is None):
            return None
    raise ValueError(f"not an interpretation with a question and an answer: {shown(value)}")


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
    >>> readings_in({"Who won in 1998?": "France"})
    [('Who won in 1998?', 'France')]
    """
    fields = lowered(mapping)
    named = [fields[key] for key in LIST_KEYS if key in fields]
    if named and isinstance(named[0], (list, tuple)):
        return list(named[0])
    if named and isinstance(named[0], Mapping):
        return [named[0]] if is_reading(named[0]) else readings_in(named[0])
    tagged = [_TAGGED_KEY.fullmatch(key) for key in fields]
    if tagged and all(match and isinstance(fields[match[0]], (str, int, type(None))) for match in tagged):
        return _by_number(fields)
    if is_reading(mapping):
        return None
    lists = [item for item in fields.values() if isinstance(item, (list, tuple))]
    if len(lists) == 1:
        return list(lists[0])
    if fields and all(isinstance(item, Mapping) and _NAME.fullmatch(key) for key, item in fields.items()):
        return list(fields.values())
    if mapping and all(str(key).rstrip().endswith("?") and _is_scalar(item) for key, item in mapping.items()):
        return list(mapping.items())
    return None


def _by_number(fields: Mapping[str, Any]) -> list[Any]:
    found: dict[str, dict[str, Any]] = {}
    for key, item in fields.items():
        match = _TAGGED_KEY.fullmatch(key)
        if match:
            kind = {"dq": "question", "da": "answer", "passage": "pid"}.get(match["kind"], match["kind"])
            found.setdefault(match["number"], {})[kind] = item
    return list(found.values())


def calls_in(text: str) -> list[dict[str, Any]]:
    """Return the arguments of ``Interpretation(question='…', answer='…', pid='3')``, one for each call in a text.

    Raises
    ------
    ValueError
        If one is not complete.
    """
    found = []
    for match in _CALL.finditer(text):
        end = closing(text, match.end())
        try:
            call = ast.parse(text[match.start() : end].strip(), mode="eval").body if end else None
            if not isinstance(call, ast.Call) or any(keyword.arg is None for keyword in call.keywords):
                raise ValueError("no call")
            arguments = dict(zip(("question", "answer", "pid"), map(ast.literal_eval, call.args), strict=False))
            arguments |= {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            raise ValueError(f"no interpretation found in: {shown(text)}") from None
        found.append(arguments)
    return found


def passage_number(value: Any) -> str | None:
    """Return the number of the first passage that is cited; another text is a passage's id and stays as it is.

    >>> passage_number("**Passage [3]**"), passage_number("1, 3"), passage_number(4), passage_number("p12")
    ('3', '1', '4', 'p12')
    """
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = strip_dress(str(value)).strip("*_ ").strip("[]").strip()
    if is_null(text):
        return None
    if match := _ONE.fullmatch(text) or _NAMED.match(text):
        return match["number"]
    return text


def split_citation(text: str) -> tuple[str, str | None]:
    """Return an answer without the citations at its end and within it, and the number that is cited first.

    >>> split_citation("Nagano [3][4]"), split_citation("Mercury (1998)"), split_citation("Nagano (passage 2)")
    (('Nagano', '3'), ('Mercury (1998)', None), ('Nagano', '2'))
    >>> split_citation("17 km [1] (11 miles)")
    ('17 km (11 miles)', '1')
    """
    text, number = _split_end(text)
    within = _WITHIN.search(text)
    return (_WITHIN.sub("", text), within["number"]) if within else (text, number)


def _split_end(text: str) -> tuple[str, str | None]:
    match = _TRAILING.search(text)
    if not match or _YEAR_LIKE.search(match[0]):
        return text, None
    rest = text[: match.start()].strip()
    return (rest, match["number"]) if rest else (text, None)
