"""Grammars of replies: a small model on this machine can write nothing but a reply in the lean form.

The grammar is llama.cpp's (GBNF). It is made of a signature and the inputs of a call, since only passages that exist
may be cited. Hosted models get none: their prompts ask for text, and `dspy.JSONAdapter` asks those that can for
structured output.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, get_args, get_origin

import dspy
from pydantic.fields import FieldInfo

from polyqa import replies as lenient
from polyqa.base.values import AmbiguityType, Grade, Support

from .fields import NOTHING, is_text

_READINGS = _QUESTIONS = 6  # at most, in a reply
_ANSWERS = 10
_TEXTS = 20
_WORDS = {"text": 250, "question": 30, "reading": 25, "answer": 15, "sentence": 45}  # at most, in one
# At most, in a word: without this limit a small model that may write no more words goes on without spaces.
_LETTERS = 30
_BREAK = r'"\n" '
_BLANK = r"\n\n"
_SEPARATED = ' ", " '
# What no word has: control characters, spaces, ends of lines, and "<", which opens thoughts. llama.cpp compares
# each character of each token with each range, so there are few.
_NO_WORD = r"\x00-\x20<\x7F-\xA0\u2028-\u2029"
_BRACKETS = r"\[-\]{-}"  # with the bar
_MARKS = r"#*>_`"  # a line that begins so may be a header or the edge of a block of code
_NO_LETTER = r"\x00-/:-@\[-`{-\xBF\xD7\xF7\u2000-\u2BFF\u3000-\u303F\uFF00-\uFFFF"
_QUOTED = r'[^"\\\x00-\x1F\x7F-\xA0\u2028-\u2029<] | "\\" ["\\/nt]'


def _line(name: str, barred: str) -> dict[str, str]:
    """Return rules for the first word of a line and for those after it."""
    return {
        f"{name}first": f"[^{barred}{_MARKS}] [^{barred}]{{0,{_LETTERS - 1}}}",
        f"{name}word": f'" " [^{barred}]{{1,{_LETTERS}}}',
    }


# llama.cpp multiplies a repetition within a repetition, and refuses thousands; a rule with a name counts once.
_NAMED: Mapping[str, str] = {
    "text": rf'textfirst (textword | "\n" "\n"? textfirst){{0,{_WORDS["text"] - 1}}}',
    "textfirst": rf"[^{_NO_WORD}{_MARKS}\[{{] [^{_NO_WORD}]{{0,{_LETTERS - 1}}}",
    "textword": f'" " [^{_NO_WORD}]{{1,{_LETTERS}}}',
    **_line("short", _NO_WORD + _BRACKETS),
    "reading": f"shortfirst shortword{{0,{_WORDS['reading'] - 1}}}",
    "answer": f"shortfirst shortword{{0,{_WORDS['answer'] - 1}}}",
    "namedanswer": f'namedword (" " namedword){{0,{_WORDS["answer"] - 1}}}',
    "namedquestion": f'namedword (" " namedword){{1,{_WORDS["question"] - 2}}} "?"',
    "namedword": rf'[^{_NO_WORD}{_BRACKETS}"]{{1,{_LETTERS}}}',
    "sentence": f"shortfirst shortword{{0,{_WORDS['sentence'] - 1}}}",
    "question": f'asked " " asked shortword{{0,{_WORDS["question"] - 2}}} "?"',  # a reply of one word is no question
    "asked": rf"""["'(“‘]? [^{_NO_LETTER}] [^{_NO_WORD}{_BRACKETS}]{{0,{_LETTERS - 2}}}""",
    **_line("last", _NO_WORD + _BRACKETS + "?:"),  # a row that ends so is read as a question, or as a heading
    "lastanswer": f"lastfirst lastword{{0,{_WORDS['answer'] - 1}}}",
    "quoted": rf'"\"" ({_QUOTED}){{0,200}} "\""',
    "advice": rf'"\"" ({_QUOTED}){{1,600}} "\""',
}
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|([a-z]\w*)')
_NUMBERED = re.compile(r"^(?:\[\d+\]|\d+\.) ", re.M)


def reply_grammar(signature: type[dspy.Signature], inputs: Mapping[str, Any]) -> str | None:
    """Return the grammar of the replies to a call, ``None`` if a field has a type without a rule.

    Every reply of the grammar is read by `polyqa.lm.adapter.LeanAdapter`, unless it is a refusal or repeats the
    prompt, and is as that writes it in a demo, where its form has demos. Of findings each gets its line, of
    passages there are at most six readings, or none. A text has at most 250 words, or as many as its type says,
    such as `polyqa.replies.FewWords`.
    """
    shown_inputs = {name: inputs.get(name) for name in signature.input_fields}
    values = [_value(field, shown_inputs) for field in signature.output_fields.values()]
    rules = {f"field{at}": value for at, value in enumerate(values) if value is not None}
    if len(rules) < len(values) or not values:
        return None
    headers = [f'"{_BLANK if at else ""}## {name}\\n" field{at}' for at, name in enumerate(signature.output_fields)]
    rules = {"root": " ".join(headers), **rules} if len(values) > 1 else {"root": rules["field0"]}
    open_rules = list(rules)
    while open_rules:
        names = sorted({name for name in _NAME.findall(rules[open_rules.pop()]) if name and name not in rules})
        rules |= {name: _NAMED[name] for name in names}
        open_rules += names
    return "".join(f"{name} ::= {rule}\n" for name, rule in rules.items())


def _value(field: FieldInfo, inputs: Mapping[str, Any]) -> str | None:
    """Return the right side of the rule of a field's value."""
    annotation: Any = field.annotation
    if annotation in _RULES:
        return _RULES[annotation](inputs)
    if is_text(annotation):
        if lenient.PASSAGE_NUMBER in field.metadata:
            return _one_of([*_numbers_to(_count(inputs)), "null"])
        if lenient.LINE_FOR_EACH in field.metadata and (count := _count(inputs)):
            return f" {_BREAK}".join(["sentence"] * count)
        limit = next((mark.words for mark in field.metadata if isinstance(mark, lenient.AtMost)), None)
        return "text" if limit is None else f"shortfirst shortword{{0,{limit - 1}}}"
    if get_origin(annotation) is Literal and all(isinstance(label, str) for label in get_args(annotation)):
        return _one_of(get_args(annotation))
    return None


def _one_of(labels: Sequence[str]) -> str:
    return " | ".join(map(_quoted, labels))


def _quoted(text: str) -> str:
    """Return a text as a grammar writes it."""
    escaped = text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{escaped}"'


def _numbers_to(count: int) -> list[str]:
    return [str(number) for number in range(1, count + 1)]


def _count(inputs: Mapping[str, Any]) -> int:
    """Return how many items the last input has that is numbered: what a call asks about stands after the passages.

    A question is none of them, though it may begin with a number (*1. FC Köln*).
    """
    for value in reversed([value for name, value in inputs.items() if name != "question"]):
        if isinstance(value, (list, tuple)):
            return len(value)
        if isinstance(value, str) and (numbers := _NUMBERED.findall(value)):
            return len(numbers)
    return 0


def _lines(lines: Sequence[str], between: str = _BREAK) -> str:
    """Return a rule for the first lines, at least one: each only after the one before it."""
    rule = ""
    for line in reversed(lines[1:]):
        rule = f" ({between}{line}{rule})?"
    return f"{lines[0]}{rule}"


def _readings(inputs: Mapping[str, Any], *, cited: bool = True) -> str:
    # Where a question is asked its readings are questions: a small model writes headings and sentences otherwise.
    # So is what is asked of a passage.
    asks = "question" not in inputs or str(inputs["question"] or "").rstrip().endswith("?")
    reading = "question" if asks else "reading"
    numbers = _numbers_to(_count(inputs)) if cited else []
    if "findings" in inputs and len(numbers) == 1:
        return f'"{NOTHING}"'  # with nothing to tell it from, the question stays as it is
    if "findings" in inputs and numbers:
        return f" {_BREAK}".join(f'"{number}. " {reading} " | " answer " [{number}]"' for number in numbers)
    end = f'answer " [" ({_one_of(numbers)}) "]"' if numbers else "lastanswer"
    lines = [f'"{number}. " {reading} " | " {end}' for number in range(1, _READINGS + 1)]
    return f'"{NOTHING}" | {_lines(lines)}'


def _evidence_first(inputs: Mapping[str, Any]) -> str:
    if not (numbers := _numbers_to(_count(inputs))):
        return '"[]"'
    evidence = f'"{{\\"passage\\": " ({_one_of(numbers)}) ", \\"short_answer\\": \\"" namedanswer'
    reading = f'{evidence} "\\", \\"question\\": \\"" namedquestion "\\"}}"'
    objects = _lines([reading] * _READINGS, between=r'",\n" ')
    return f'"[]" | "[" {objects} "]"'


def _numbers(inputs: Mapping[str, Any]) -> str:
    if not (numbers := _numbers_to(_count(inputs))):
        return f'"{NOTHING}"'
    return f'"{NOTHING}" | ({_one_of(numbers)}) (", " ({_one_of(numbers)})){{0,{len(numbers) - 1}}}'


def _verdict_lines(inputs: Mapping[str, Any]) -> str:
    numbers = _numbers_to(_count(inputs))
    return f" {_BREAK}".join(f'"{number}: " ("Yes" | "No")' for number in numbers) or f'"{NOTHING}"'


def _texts_by_name(inputs: Mapping[str, Any]) -> str:
    """Return a rule for a JSON object of texts, for SIMBA with one for each of the modules that it names."""
    names: Any = inputs.get("module_names")
    if isinstance(names, str):
        with suppress(ValueError):
            names = json.loads(names)
    if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        pairs = [f'{_quoted(json.dumps(name))} ": " advice' for name in names]
        return f'"{{" {_SEPARATED.join(pairs)} "}}"'
    return f'"{{}}" | "{{" quoted ": " advice (", " quoted ": " advice){{0,{_TEXTS - 1}}} "}}"'


_KINDS = _one_of([kind for kind in AmbiguityType if kind is not AmbiguityType.NONE])
_RULES: Mapping[Any, Callable[[Mapping[str, Any]], str]] = {
    lenient.Interpretations: _readings,
    lenient.EvidenceFirst: _evidence_first,
    lenient.Readings: lambda inputs: _readings(inputs, cited=False),
    lenient.Questions: lambda inputs: _lines([f'"{number}. " question' for number in range(1, _QUESTIONS + 1)]),
    lenient.Answers: lambda inputs: f'"{NOTHING}" | lastanswer ("\\n" lastanswer){{0,{_ANSWERS - 1}}}',
    lenient.YesNo: lambda inputs: _one_of(["Yes", "No"]),
    lenient.AmbiguityTypes: lambda inputs: f'"{AmbiguityType.NONE}" | ({_KINDS}) (", " ({_KINDS})){{0,4}}',
    lenient.Numbers: _numbers,
    lenient.Verdicts: _numbers,
    lenient.VerdictLines: _verdict_lines,
    lenient.Grades: lambda inputs: _one_of(list(Grade)),
    lenient.Supports: lambda inputs: _one_of(list(Support)),
    lenient.Usefulness: lambda inputs: "[1-5]",
    bool: lambda inputs: _one_of(["True", "False"]),
    int: lambda inputs: '"0" | "-"? [1-9] [0-9]{0,14}',
    dict[str, str]: _texts_by_name,
    list[str]: lambda inputs: f'"[]" | "[" quoted (", " quoted){{0,{_TEXTS - 1}}} "]"',
}
