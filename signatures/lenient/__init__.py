"""Output types that accept what language models really write.

DSPy parses a typed field with ``json_repair`` and hands the outcome to pydantic. The types below
put a validator in front, so that a numbered list, ``DQ 1: … / DA 1: …`` lines, one object where a
list is due, ``Yes.`` or ``[ambsub]`` count as the value they plainly mean. Text that means nothing
still fails, with the text in the message.

They are classes with a schema of their own, as pydantic strips ``Annotated`` from a signature's fields
and with it the validator, and DSPy takes nothing but classes when it copies or loads a signature.
Each is named after the type it stands for, because DSPy shows that name to the language model.
"""

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import dspy
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from ..types import AmbiguityType, Grade, Interpretation, Support

_BULLET = re.compile(r"^\s*(?:[-*•–]\s+|\(?\d{1,3}\s*[.):](?!\d)\s*|\[\d{1,3}\]\s*)")
_QUESTION_LINE = re.compile(r"^\s*(?:[-*•–]\s+)?\**(?:DQ|disambiguated question|question)\s*(\d*)\**\s*[:.]\**", re.I)
_ANSWER_LINE = re.compile(
    r"^\s*(?:[-*•–]\s+)?\**(?:DA|disambiguated answer|short answer|answer)\s*(\d*)\**\s*[:.]\**", re.I
)
_LONG_ANSWER_LINE = re.compile(r"^\s*\**answer\**\s*[:.]", re.I)
_PASSAGE_LINE = re.compile(r"^\s*(?:[-*•–]\s+)?(?:pid|passage|source)\s*\d*\s*[:.]", re.I)
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
_GRADED = re.compile(r"\d *(?:[-–—]|to|through) *\d|\d\.\d|\b(?:yes|no|not|true|false|but|except)\b", re.I)


def _strip_quotes(text: str) -> str:
    text = text.strip()
    while len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`" and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    return text


def _decode(text: str) -> Any:
    """Return the JSON or Python literal in ``text`` (a code fence around it is fine), else the text."""
    body = re.sub(r"^```\w*\s*|\s*```$", "", text.strip())
    if body[:1] in "[{":
        for decode in (json.loads, ast.literal_eval):
            try:
                return decode(body)
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                continue  # literal_eval documents all of these for malformed text
    return text


def parse_lines(text: str) -> list[str]:
    r"""Return the items of a bulleted, numbered or plain list, one line each.

    When at least one line carries a bullet or a number, the lines without one are prose around the
    list and are left out.

    >>> parse_lines("Here they are:\n1: Who won in 1998?\n2: Who won in 2002?")
    ['Who won in 1998?', 'Who won in 2002?']
    """
    lines = [line for line in text.splitlines() if line.strip()]
    marked = [line for line in lines if _BULLET.match(line)]
    return [item for line in (marked or lines) if (item := _strip_quotes(_BULLET.sub("", line, count=1)))]


def parse_interpretation_lines(text: str) -> list[Interpretation]:
    """Read ``DQ n: … / DA n: …`` lines (the format of the RAC prompt of Tree of Clarifications).

    A question and the answer line that follows it make a pair, also where that line says that there is no
    answer; a question without an answer line, or an answer without a question, is dropped. Lines of other
    kinds are passed over, an ``Answer:`` line without a number ends the list, as there the long answer begins.
    """
    pairs: list[Interpretation] = []
    question: str | None = None
    tagged = False
    for line in text.splitlines():
        if match := _QUESTION_LINE.match(line):
            question = _strip_quotes(line[match.end() :])
            tagged = tagged or "DQ" in match[0].upper()
        elif tagged and _LONG_ANSWER_LINE.match(line):
            break
        elif (match := _ANSWER_LINE.match(line)) and question:
            pairs.append(Interpretation(question=question, answer=_strip_quotes(line[match.end() :])))
            question = None
        elif (match := _PASSAGE_LINE.match(line)) and pairs and question is None:
            pairs[-1] = pairs[-1].model_copy(update={"pid": _passage_number(line[match.end() :])})
    return pairs


def _passage_number(value: Any) -> str | None:
    if value is None or isinstance(value, bool):
        return None
    text = str(value).strip().strip("[]").strip()
    return text or None


_QUESTION_KEYS = ("question", "disambiguated_question", "interpretation", "dq")
_ANSWER_KEYS = ("answer", "short_answer", "disambiguated_answer", "short_answers", "answers", "da")
_LIST_KEYS = ("interpretations", "readings", "disambiguations", "refinements")
_PID_KEYS = ("pid", "passage", "source", "citation")


def _first(mapping: dict[str, Any], keys: Iterable[str]) -> Any:
    return next((mapping[key] for key in keys if mapping.get(key) not in (None, "", [])), None)


def _interpretation(value: Any) -> Interpretation | None:
    """Return the reading, ``None`` if its answer is said to be nothing."""
    if isinstance(value, Interpretation):
        return value
    if isinstance(value, (list, tuple)) and len(value) == 2:
        value = {"question": value[0], "answer": value[1]}
    if isinstance(value, dict):
        fields = {str(key).strip().lower(): item for key, item in value.items()}
        question, answer = _first(fields, _QUESTION_KEYS), _first(fields, _ANSWER_KEYS)
        if isinstance(answer, (list, tuple)):
            answer = "; ".join(map(str, answer))
        if question is not None and answer is not None and not (isinstance(answer, str) and is_null(answer)):
            return Interpretation(
                question=str(question).strip(),
                answer=str(answer).strip(),
                pid=_passage_number(_first(fields, _PID_KEYS)),
            )
        if question is not None and fields.keys() & set(_ANSWER_KEYS):
            return None
    raise ValueError(f"not an interpretation with a question and an answer: {value!r:.200}")


def parse_interpretations(value: Any) -> list[Interpretation]:
    """Accept every usual way to write a list of interpretations.

    Parameters
    ----------
    value
        A list of mappings or pairs, one mapping, a mapping that wraps the list, or text: JSON or
        ``DQ n: … / DA n: …`` lines. Empty text, ``None`` and ``N/A`` mean that there is none; a question
        whose answer is empty, null or "none" is left out, as one that the passages do not answer.

    Raises
    ------
    ValueError
        If text holds no pair of question and answer, or an item has no place for one of them.
    """
    if isinstance(value, str):
        value = _decode(value)
    if value is None or (isinstance(value, str) and is_null(value)):
        return []
    if isinstance(value, str):
        pairs = parse_interpretation_lines(value)
        if not pairs:
            raise ValueError(f"no interpretation found in: {value!r:.200}")
        return [pair for pair in pairs if not is_null(pair.answer)]
    if isinstance(value, Interpretation):
        return [value]
    if isinstance(value, dict):
        fields = {str(key).strip().lower(): item for key, item in value.items()}
        inner = [item for item in fields.values() if isinstance(item, list)]
        wrapped = next((fields[key] for key in _LIST_KEYS if isinstance(fields.get(key), list)), None)
        if wrapped is None and len(inner) == 1 and not fields.keys() & set(_QUESTION_KEYS):
            (wrapped,) = inner
        return parse_interpretations(wrapped if wrapped is not None else [value])
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(item, str) for item in value):
            return parse_interpretations("\n".join(value))
        return [reading for item in value if (reading := _interpretation(item)) is not None]
    raise ValueError(f"not a list of interpretations: {value!r:.200}")


def parse_questions(value: Any) -> list[str]:
    """Accept a JSON list, a numbered or bulleted list, lines, or one question.

    Repetitions (case and white space aside) are dropped, the order is kept. An item of fewer than
    two words is no question: a reply cut to pieces by a repairing JSON parser fails here.
    """
    if isinstance(value, str):
        value = _decode(value)
    if isinstance(value, str):
        value = [] if value.strip().lower() in ("", "none", "n/a") else parse_lines(value)
    if isinstance(value, dict):
        inner = [item for item in value.values() if isinstance(item, (list, str))]
        value = inner[0] if len(inner) == 1 and isinstance(inner[0], list) else list(value.values())
    if value is None:
        value = []
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"not a list of questions: {value!r:.200}")
    questions: dict[str, str] = {}
    for item in value:
        if isinstance(item, dict):
            item = _first({str(key).lower(): text for key, text in item.items()}, _QUESTION_KEYS)
        if not isinstance(item, str):
            raise ValueError(f"not a question: {item!r:.200}")
        match = _QUESTION_LINE.match(str(item))
        text = _strip_quotes(str(item)[match.end() :] if match else _BULLET.sub("", str(item), count=1))
        if len(_WORD.findall(text)) < 2:
            raise ValueError(f"not a question: {text!r:.200}")
        questions.setdefault(" ".join(text.lower().split()), " ".join(text.split()))
    return list(questions.values())


_NO_ANSWER = ("", "none", "n/a", "null", "no answers", "[]")


def parse_answers(value: Any) -> list[str]:
    r"""Return short answers from a JSON list, a numbered or bulleted list, lines, or text with semicolons.

    Each is kept once, in order; "none" gives none. Numbers count as answers in JSON only: DSPy's repairing
    parser makes a bare number of lines that begin with one.

    >>> parse_answers("- 1901\n- Horace Jones"), parse_answers('["Horace Jones", 1901]')
    (['1901', 'Horace Jones'], ['Horace Jones', '1901'])
    """
    decoded = _decode(value) if isinstance(value, str) else value
    if isinstance(decoded, str):
        if decoded.strip().strip(".").lower() in _NO_ANSWER:
            return []
        lines = parse_lines(decoded)
        decoded = lines[0].split(";") if len(lines) == 1 else lines
    elif isinstance(value, str) and isinstance(decoded, list):
        decoded = [str(item) if isinstance(item, (int, float)) else item for item in decoded]
    if isinstance(decoded, dict) and len(decoded) == 1:
        (decoded,) = decoded.values()
    if not isinstance(decoded, (list, tuple)):
        raise ValueError(f"not a list of answers: {value!r:.200}")
    answers: dict[str, str] = {}
    for item in decoded:
        if isinstance(item, dict):
            item = _first({str(key).lower(): text for key, text in item.items()}, (*_ANSWER_KEYS, "text", "span"))
        if not isinstance(item, str):
            raise ValueError(f"not an answer: {item!r:.200}")
        text = " ".join(_strip_quotes(item).split())
        if text.lower() not in _NO_ANSWER:
            answers.setdefault(text.lower(), text)
    return list(answers.values())


def is_null(text: str) -> bool:
    """Return whether a language model wrote that there is nothing: empty text, "null", "none", "n/a".

    >>> is_null("None."), is_null("Nonesuch")
    (True, False)
    """
    return text.strip().strip(".\"'[]()").lower() in _NO_ANSWER


def parse_yes_no(value: Any) -> str:
    """Return ``"Yes"`` or ``"No"`` from the first of these words, from a bool, or from 1 and 0."""
    if isinstance(value, bool) or value in (0, 1):
        return "Yes" if value else "No"
    if isinstance(value, (list, tuple)) and len(value) == 1 and isinstance(value[0], (str, bool)):
        return parse_yes_no(value[0])  # not a number: DSPy's repairing parser makes [1] of "No [1]"
    if isinstance(value, (list, tuple)):
        raise ValueError(f"neither Yes nor No: {value!r:.200}")
    match = re.search(r"\b(yes|true|no|false)\b", str(value).lower())
    if not match:
        raise ValueError(f"neither Yes nor No: {value!r:.200}")
    return "Yes" if match[1] in ("yes", "true") else "No"


def parse_numbers(value: Any) -> list[int]:
    """Return the whole numbers of a list or a text, each once, in order; empty text and "none" give none.

    Text that grades numbers ("1: yes, 2: no", "all but 2") or gives a range is refused.

    >>> parse_numbers("Covered: 1, 3 and 4.")
    [1, 3, 4]
    """
    decoded = _decode(value) if isinstance(value, str) else value
    if isinstance(decoded, dict) and len(decoded) == 1:
        (decoded,) = decoded.values()
    items = decoded if isinstance(decoded, (list, tuple, set)) else [decoded]
    flat = [inner for item in items for inner in (item if isinstance(item, (list, tuple)) else [item])]
    try:
        return list(dict.fromkeys(number for item in flat for number in _numbers(item)))
    except ValueError:
        raise ValueError(f"no list of numbers: {value!r:.200}") from None


def _numbers(item: Any) -> list[int]:
    if item is None:
        return []
    if isinstance(item, (int, float)) and not isinstance(item, bool) and item == item // 1:
        return [int(item)]  # also 1.0, which DSPy's repairing parser makes of "1."
    if isinstance(item, str) and not _GRADED.search(item):
        numbers = [int(number) for number in _NUMBER.findall(item)]
        if numbers or item.lower().strip(" .[]\n") in ("", "none", "null", "n/a"):
            return numbers
    raise ValueError(item)


_LABELS: dict[str, AmbiguityType] = {
    "ambsub": AmbiguityType.SUBJECT,
    "subject": AmbiguityType.SUBJECT,
    "ambobj": AmbiguityType.OBJECT,
    "object": AmbiguityType.OBJECT,
    "ambpred": AmbiguityType.PREDICATE,
    "predicate": AmbiguityType.PREDICATE,
    "ambtime": AmbiguityType.TIME,
    "time": AmbiguityType.TIME,
    "ambloc": AmbiguityType.LOCATION,
    "location": AmbiguityType.LOCATION,
    "n/a": AmbiguityType.NONE,
    "na": AmbiguityType.NONE,
    "none": AmbiguityType.NONE,
    "unambiguous": AmbiguityType.NONE,
}
_LABEL = re.compile(r"(?<![a-z])(" + "|".join(sorted(map(re.escape, _LABELS), key=len, reverse=True)) + r")(?![a-z])")


def parse_ambiguity_types(value: Any) -> list[AmbiguityType]:
    """Read labels in any case, with or without brackets, one or several; ``N/A`` beside another goes.

    >>> parse_ambiguity_types("[ambsub], Time")
    [<AmbiguityType.SUBJECT: 'AmbSub'>, <AmbiguityType.TIME: 'AmbTime'>]
    """
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if value is None:
        text = "none"
    labels = list(dict.fromkeys(_LABELS[match] for match in _LABEL.findall(text.lower())))
    if not labels:
        raise ValueError(f"no ambiguity type among {', '.join(AmbiguityType)} in: {text!r:.200}")
    return [label for label in labels if label is not AmbiguityType.NONE] or labels


_GRADES: dict[str, Grade] = {grade.lower(): grade for grade in Grade}
_SUPPORTS: dict[str, Support] = {
    "fully": Support.FULLY,
    "full": Support.FULLY,
    "partially": Support.PARTIALLY,
    "partly": Support.PARTIALLY,
    "partial": Support.PARTIALLY,
    "no": Support.NO,
    "none": Support.NO,
    "not supported": Support.NO,
    "unsupported": Support.NO,
}
_Label = TypeVar("_Label", Grade, Support)


def _one_label(value: Any, labels: Mapping[str, _Label]) -> _Label:
    """Return the one label that a text names; one that is named first, or alone, counts."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        (value,) = value
    words = "|".join(sorted(map(re.escape, labels), key=len, reverse=True))
    found = list(re.finditer(rf"(?<!not )\b(?:{words})\b", str(value).lower())) if isinstance(value, str) else []
    leads = bool(found) and not re.search(r"\w", str(value)[: found[0].start()])
    named = {labels[match[0]] for match in found}
    if not (leads or len(named) == 1):
        raise ValueError(f"not one of {', '.join(dict.fromkeys(labels.values()))}: {value!r:.200}")
    return labels[found[0][0]]


def parse_grade(value: Any) -> Grade:
    """Return the grade that a text names; "not correct", or several grades in one breath, is refused.

    >>> parse_grade("**incorrect.** It is about the ship.")
    <Grade.INCORRECT: 'Incorrect'>
    """
    return _one_label(value, _GRADES)


def parse_support(value: Any) -> Support:
    """Return how much is supported: fully, partially or not, in the usual words.

    >>> parse_support("Partially supported"), parse_support("No support / contradictory")
    (<Support.PARTIALLY: 'Partially'>, <Support.NO: 'No'>)
    """
    return _one_label(value, _SUPPORTS)


def parse_usefulness(value: Any) -> int:
    """Return a mark from 1 to 5; "4/5", "4 out of 5" and "4: well" are understood, other scales are refused.

    >>> parse_usefulness("4/5")
    4
    """
    if isinstance(value, (list, tuple)) and len(value) == 1:
        (value,) = value
    text = "" if isinstance(value, bool) else re.sub(r"\s*(?:/|out of)\s*5\b", "", str(value).lower())
    marks = re.findall(r"\d+(?:[.,]\d+)?", text)
    if len(marks) == 1 and re.fullmatch(r"[1-5](?:[.,]0)?", marks[0]):
        return int(marks[0][0])
    raise ValueError(f"not a mark from 1 to 5: {value!r:.200}")


def _lenient(name: str, strict: Any, parse: Callable[[Any], Any], schema: dict[str, Any] | None = None) -> Any:
    """Return a type that validates as ``strict`` after ``parse``, and bears the name of ``strict``.

    It is a `dspy.Type` because DSPy shows such a type the raw text when what its repairing JSON parser
    made of the text is refused. ``schema`` replaces the JSON schema that DSPy prints into the prompt.
    """

    class Lenient(dspy.Type):
        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
            return core_schema.no_info_before_validator_function(parse, handler.generate_schema(strict))

        @classmethod
        def __get_pydantic_json_schema__(cls, inner: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
            return schema if schema is not None else handler(inner)

    Lenient.__name__ = Lenient.__qualname__ = name
    return Lenient


if TYPE_CHECKING:
    Interpretations = list[Interpretation]
    Questions = list[str]
    Answers = list[str]
    YesNo = Literal["Yes", "No"]
    AmbiguityTypes = list[AmbiguityType]
    Numbers = list[int]
    Readings = list[Interpretation]
    Grades = Grade
    Supports = Support
    Usefulness = int
else:
    Interpretations = _lenient("list[Interpretation]", list[Interpretation], parse_interpretations)
    Questions = _lenient("list[str]", list[str], parse_questions)
    Answers = _lenient("list[str]", list[str], parse_answers)
    YesNo = _lenient("Literal['Yes', 'No']", Literal["Yes", "No"], parse_yes_no)
    AmbiguityTypes = _lenient(
        "list[AmbiguityType]",
        list[AmbiguityType],
        parse_ambiguity_types,
        {"type": "array", "items": {"type": "string", "enum": [str(kind) for kind in AmbiguityType]}},
    )
    Numbers = _lenient("list[int]", list[int], parse_numbers)
    # Where no numbered passages are shown, the schema must not ask for the number of one.
    Readings = _lenient(
        "list[Interpretation]",
        list[Interpretation],
        parse_interpretations,
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {name: {"type": "string"} for name in ("question", "answer")},
                "required": ["question", "answer"],
            },
        },
    )
    Grades = _lenient(
        "Literal['Correct', 'Ambiguous', 'Incorrect']",
        Grade,
        parse_grade,
        {"type": "string", "enum": [str(grade) for grade in Grade]},
    )
    Supports = _lenient(
        "Literal['Fully', 'Partially', 'No']",
        Support,
        parse_support,
        {"type": "string", "enum": [str(level) for level in Support]},
    )
    Usefulness = _lenient("Literal[1, 2, 3, 4, 5]", Literal[1, 2, 3, 4, 5], parse_usefulness)
