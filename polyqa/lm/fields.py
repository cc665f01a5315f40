"""How the lean adapter tells a field's type in a few words, writes its values, and reads them back.

Only polyqa's lenient types have a form of their own. Every other type is described, written and read as DSPy does it.
"""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, get_args, get_origin

import dspy
from dspy.adapters.utils import format_field_value, parse_value, translate_field_type
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from polyqa import replies as lenient
from polyqa.base.values import AmbiguityType, Grade, Interpretation, Support

NOTHING = "none"
_DSPY_NOTE = re.compile(r"# note: the value you produce (.*)\Z", re.S)
_TOOL_CALLS = 'must be a JSON object like {"tool_calls": [{"name": "...", "args": {...}}]}'
_JSON = re.compile(r"^\s*(?:```|\{|\[\s*(?:[\"'{\[\]]|\Z))", re.M)
_ENDS = re.compile(r"[\]}]\s*(?:```)?\s*\Z")
_NUMBERED_ITEM = re.compile(r"\[(\d+)\] ")


@dataclass(frozen=True)
class Form:
    """How values of a lenient type look in a lean prompt and reply."""

    words: str  # what the prompt says of it
    write: Callable[[Any], str]  # makes text of a value that `read` returned
    read: Callable[[Any], Any]  # the type's lenient parser


def write_readings(readings: list[Interpretation]) -> str:
    """Write readings as numbered lines, those that such lines cannot hold as JSON."""
    lines = [
        f"{number}. {reading.question} | {reading.answer}" + (f" [{reading.pid}]" if reading.pid is not None else "")
        for number, reading in enumerate(readings, 1)
    ]
    return "\n".join(lines) or NOTHING


def for_small_models(signature: type[dspy.Signature]) -> type[dspy.Signature]:
    """Return a signature that asks in the forms that a small language model understands without demos.

    Asked for the numbers of what holds such a model says *none*; with a line for each it judges each. Asked for
    readings as ``1. reading | answer [3]`` it copies passages, and a reading written before its answer makes the answer
    a sentence; the names of JSON, and the order of the evidence, do without demos what five demos do. With demos it is
    the other way round. Where each finding has a reading of its own the signature stays as it is.
    """
    forms: dict[Any, Any] = {lenient.Verdicts: lenient.VerdictLines}
    if "findings" not in signature.input_fields:
        forms[lenient.Interpretations] = lenient.EvidenceFirst
    for name, field in signature.output_fields.items():
        if field.annotation in forms:
            signature = signature.with_updated_fields(name, forms[field.annotation])
    return signature


def _numbered(items: list[str]) -> str:
    return "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1)) or NOTHING


def _in_a_row(items: list[Any]) -> str:
    return ", ".join(map(str, items)) or NOTHING


def _any_of(labels: list[str]) -> str:
    return f"{', '.join(labels[:-1])} or {labels[-1]}"


_READINGS = "one a line as 1. reading | answer"
FORMS: Mapping[Any, Form] = {
    lenient.Interpretations: Form(
        f"{_READINGS} [3], where [3] is the number of its passage; or {NOTHING}",
        write_readings,
        lenient.parse_interpretations,
    ),
    lenient.EvidenceFirst: Form(
        'a JSON list, [{"passage": 3, "short_answer": "a few words", "question": "…?"}, …], '
        "where 3 is the number of its passage",
        write_readings,  # of a demo, and where there is one readings are asked for as lines
        lenient.parse_interpretations,
    ),
    lenient.Readings: Form(f"{_READINGS}; or {NOTHING}", write_readings, lenient.parse_interpretations),
    lenient.Questions: Form("numbered, one a line", _numbered, lenient.parse_questions),
    lenient.Answers: Form(
        f"one a line; or {NOTHING}", lambda items: "\n".join(items) or NOTHING, lenient.parse_answers
    ),
    lenient.YesNo: Form("Yes or No", str, lenient.parse_yes_no),
    lenient.AmbiguityTypes: Form(
        f"one or several of {', '.join(list(AmbiguityType)[:-1])}; or {AmbiguityType.NONE}",
        _in_a_row,
        lenient.parse_ambiguity_types,
    ),
    lenient.Numbers: Form(f"like 1, 3; or {NOTHING}", _in_a_row, lenient.parse_numbers),
    lenient.Verdicts: Form(f"their numbers, such as 1, 3; or {NOTHING}", _in_a_row, lenient.parse_numbers),
    lenient.VerdictLines: Form(
        "the number of each and Yes or No, one a line, like 1: No", _in_a_row, lenient.parse_numbers
    ),
    lenient.Grades: Form(_any_of(list(Grade)), str, lenient.parse_grade),
    lenient.Supports: Form(_any_of(list(Support)), str, lenient.parse_support),
    lenient.Usefulness: Form("1 to 5", str, lenient.parse_usefulness),
}


def form_of(annotation: Any) -> Form | None:
    """Return the form of a type, ``None`` for one that DSPy writes and reads."""
    if get_origin(annotation) is list and get_args(annotation) == (Interpretation,):
        return FORMS[lenient.Readings]  # of an input, whose words no prompt has
    return FORMS.get(annotation) if isinstance(annotation, type) else None


def form_told_by(hint: str) -> Form | None:
    """Return the form that a prompt's words on a field end with, ``None`` if it is none of ours."""
    return next((form for form in FORMS.values() if hint.endswith(form.words)), None)


def is_text(annotation: Any) -> bool:
    """Return whether the values of a type are any text."""
    return annotation is str or annotation is dspy.Reasoning


def description(name: str, field: FieldInfo) -> str:
    """Return what a field's description says, on one line; empty if it only repeats the name."""
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    text = " ".join(str(extra.get("desc") or "").split())
    constraints = " ".join(str(extra.get("constraints") or "").split())
    return "; ".join(part for part in (text if text != f"${{{name}}}" else "", constraints) if part)


def type_notes(field: FieldInfo) -> list[str]:
    """Return what DSPy's custom types say of themselves."""
    types = dspy.Type.extract_custom_type_from_annotation(field.rebuild_annotation())
    return [kind.description() for kind in types if form_of(kind) is None and kind.description()]


def hint(name: str, field: FieldInfo) -> str:
    """Return what the prompt says of an output field: what it is and how it is written, nothing twice."""
    what = description(name, field)
    form = FORMS.get(field.annotation) if isinstance(field.annotation, type) else None
    if form is not None:
        how = form.words
    elif field.annotation is dspy.ToolCalls:
        how = _TOOL_CALLS
    else:
        note = _DSPY_NOTE.search(translate_field_type(name, field))
        how = note[1] if note else ""
    return what if what.endswith(how) else ": ".join(part for part in (what, how) if part)


def write_in(form: Form, value: Any) -> str:
    """Write a value in a form; one that could not be read back exactly as JSON, one of another type is a ValueError."""
    if isinstance(value, str):
        return value
    meant = form.read(value)
    text = form.write(meant)
    with suppress(ValueError):
        if form.read(text) == meant:
            return text
    return json.dumps(TypeAdapter(Any).dump_python(meant, mode="json"), ensure_ascii=False)


def write_value(field: FieldInfo, value: Any) -> str:
    """Write the value of a field, input or output."""
    if (form := form_of(field.annotation)) is not None:
        with suppress(ValueError):  # a demo may hold anything; then it is shown as DSPy shows it
            return write_in(form, value)
    elif field.annotation is str and isinstance(value, list) and _fits_lines(value):
        return "\n".join(f"[{number}] {item}" for number, item in enumerate(value, 1))
    elif type(value) is str:  # for which DSPy would make a schema first
        return value
    return str(format_field_value(field_info=field, value=value))


def _fits_lines(items: list[Any]) -> bool:
    """Return whether items can stand one a line; DSPy puts others between marks."""
    return bool(items) and all(
        isinstance(item, str) and item.strip() and len(item.splitlines()) == 1 and not item.lstrip().startswith("«")
        for item in items
    )


def numbered_lines(text: str) -> list[tuple[int, str]]:
    """Return number and text of lines ``[1] …``, ``[2] …``; nothing if the text is not made of such lines alone.

    >>> numbered_lines("[1] Titanic | It sank.")
    [(1, 'Titanic | It sank.')]
    """
    items = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _NUMBERED_ITEM.match(line)
        if not match or int(match[1]) != number or line.startswith("«", match.end()):
            return []
        items.append((number, line[match.end() :]))
    return items


def read_value(field: FieldInfo, value: Any) -> Any:
    """Read the value of an output field: text, or what JSON gave; a ValueError if it means no value of the type."""
    annotation: Any = field.annotation
    form = form_of(annotation)
    if form is not None and isinstance(value, str):
        # The lenient types read text themselves; DSPy's repairing JSON parser would only see a part of it. It is asked
        # about JSON with a mistake in it, not about JSON that breaks off.
        try:
            return form.read(value)
        except ValueError:
            if not _JSON.search(value) or not _ENDS.search(value):
                raise
    if is_text(annotation) and not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return parse_value(value, annotation)
