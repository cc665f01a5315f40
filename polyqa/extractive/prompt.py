"""Reads the messages that DSPy renders back into instructions, demos and inputs.

An ordinary language model gets nothing but these messages, and so does the extractive engine: that
is what makes its results depend on demos and lets it be served over the wire.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from polyqa.lm.adapter import ASKED, ASKED_ONE, GIVEN, INCOMPLETE, NOT_SUPPLIED
from polyqa.lm.fields import form_told_by, numbered_lines, write_in
from polyqa.lm.headers import escape, needs_no_header, section, unescape

from .clauses import Clauses
from .planted import name_in, without_orders

_HEADER = re.compile(r"^\[\[ ## (\w+) ## \]\]\s*", re.M)
_FIELD = re.compile(r"^\d+\. `(\w+)` \(", re.M)
_OBJECTIVE = "your objective is:"
_STRANGE = "this is not a prompt of polyqa's LeanAdapter or of DSPy's ChatAdapter or JSONAdapter"
_REMINDER = re.compile(r"\n\nRespond with (?:the corresponding output fields|(?P<json>a JSON object))[^\n]*\Z")
_NOT_SUPPLIED = "Not supplied for this particular"
_NUMBERED = re.compile(r"^\[(\d+)\] ", re.M)
_LEAN = re.compile(
    rf"(?:\A|\n\n)(?:{re.escape(GIVEN)}\n(?P<given>(?:\w+(?: \(.*\))?\n)+)\n)?"
    rf"(?:{re.escape(ASKED)}|{re.escape(ASKED_ONE)})\n(?P<asked>(?:(?:## )?\w+(?: \(.*\))?(?:\n|\Z))+)\Z"
)
_LEAN_FIELD = re.compile(r"^(?:## )?(\w+)(?: \((.*)\))?$", re.M)
_LEAN_HEADER = re.compile(r"^## (\w+)$", re.M)

Style = Literal["lean", "chat", "json"]


class PromptError(ValueError):
    """The messages are not a prompt of `LeanAdapter` or of DSPy's ChatAdapter or JSONAdapter."""


@dataclass(frozen=True)
class Demo:
    """One worked example of the prompt; fields that were not supplied are absent."""

    inputs: dict[str, str]
    outputs: dict[str, str]


@dataclass(frozen=True)
class Prompt:
    """What a rendered prompt asks.

    Attributes
    ----------
    instructions
        The signature's instructions.
    input_fields, output_fields
        Names in the signature's order.
    demos
        Worked examples, in the order of the prompt (kNN puts the nearest last).
    inputs
        The inputs to answer for, as rendered.
    style
        How the reply is to be written: ``lean``, ``chat`` (field headers) or ``json``.
    hints
        What a lean prompt says of each output field.
    clauses
        What the instructions ask for beside the task, as far as the engine heard it.
    """

    instructions: str
    input_fields: tuple[str, ...]
    output_fields: tuple[str, ...]
    inputs: dict[str, str]
    demos: tuple[Demo, ...] = field(default=())
    style: Style = "chat"
    hints: Mapping[str, str] = field(default_factory=dict)
    clauses: Clauses = field(default_factory=Clauses)

    @property
    def question(self) -> str:
        """The question that is asked."""
        return self.inputs["question"]

    @property
    def passage(self) -> "PromptPassage":
        """The one passage that is shown; one without a text if it is absent."""
        return next(iter(self.passages("passage")), PromptPassage(1, "", ""))

    def passages(self, name: str = "passages") -> list["PromptPassage"]:
        """Return the passages that an input shows; none if it is absent."""
        return evidence_in(self.inputs.get(name, ""))


@dataclass(frozen=True)
class PromptPassage:
    """A passage as the prompt shows it: its number, from 1, its title, which may be empty, and its text."""

    number: int
    title: str
    text: str


def parse_prompt(messages: Sequence[Mapping[str, str]]) -> Prompt:
    """Read a rendered prompt: messages with ``role`` (``system``, ``user``, ``assistant``) and ``content``, a text.

    Raises
    ------
    PromptError
        If there is no list of fields, or the last message is not the user's, or has none of its fields.
    """
    contents = [(message["role"], message["content"]) for message in messages]
    system = "\n".join(text for role, text in contents if role in ("system", "developer"))
    turns = [(role, text) for role, text in contents if role in ("user", "assistant")]
    hints: dict[str, str] = {}
    style: Style = "chat"
    lean = _LEAN.search(system)
    before, marker, after = system.partition("Your output fields are:")
    if not (lean or marker) or not turns or turns[-1][0] != "user":
        raise PromptError(f"{_STRANGE}: it needs a system message that lists the fields and ends with a user message")
    last = turns[-1][1]
    if lean:
        style, hints = "lean", dict(_LEAN_FIELD.findall(lean["asked"]))
        instructions = system[: lean.start()]
        inputs, outputs = tuple(name for name, _ in _LEAN_FIELD.findall(lean["given"] or "")), tuple(hints)
    else:
        instructions = system.partition(_OBJECTIVE)[2]
        inputs = tuple(_FIELD.findall(before))
        outputs = tuple(_FIELD.findall(after.partition("All interactions will be structured")[0]))
        if reminder := _REMINDER.search(last):
            style = "json" if reminder["json"] else "chat"
            last = last[: reminder.start()]
    read_inputs, read_outputs = (_lean_sections, _lean_sections) if lean else (_sections, _reply)
    input_values = read_inputs(last, inputs)
    if inputs and not input_values:
        raise PromptError(f"{_STRANGE}: its last message has none of the fields {', '.join(inputs)} in their form")
    return Prompt(
        instructions="\n".join(line.strip() for line in instructions.strip().splitlines()),
        input_fields=inputs,
        output_fields=outputs,
        inputs=input_values,
        demos=tuple(
            Demo(read_inputs(request, inputs), read_outputs(reply, outputs))
            for (role, request), (reply_role, reply) in zip(turns[:-1:2], turns[1::2], strict=False)
            if (role, reply_role) == ("user", "assistant")
        ),
        style=style,
        hints=hints,
    )


def _lean_sections(text: str, names: Sequence[str]) -> dict[str, str]:
    """Split a message of a lean prompt; a single field may lack its header."""
    text = text.removeprefix(f"{INCOMPLETE}\n\n")
    heads = [match for match in _LEAN_HEADER.finditer(text) if match[1] in names]
    if len(names) == 1 and not (heads and heads[0].start() == 0):
        return {names[0]: unescape(text.strip(), names)}
    return {name: unescape(body, names) for name, body in _below(heads, text, f"{re.escape(NOT_SUPPLIED)}\\Z").items()}


def _below(heads: Sequence[re.Match[str]], text: str, left_out: str) -> dict[str, str]:
    """Return what stands below the headers in a message; the first of each name counts that was not left out."""
    sections: dict[str, str] = {}
    for head, following in pairwise([*heads, None]):
        assert head is not None  # only the last one is none
        body = text[head.end() : following.start() if following else len(text)].strip()
        if not re.match(left_out, body):
            sections.setdefault(head[1], body)
    return sections


def _sections(text: str, names: Sequence[str]) -> dict[str, str]:
    """Split a message at the headers of known fields."""
    heads = [match for match in _HEADER.finditer(text) if match[1] in names or match[1] == "completed"]
    return _texts(_below(heads, text, _NOT_SUPPLIED), names)


def _reply(text: str, names: Sequence[str]) -> dict[str, str]:
    """Read a demo's reply under headers, or as a JSON object."""
    if _HEADER.search(text):
        return _sections(text, names)
    try:
        values = json.loads(text)
    except ValueError:
        return {}
    return _texts(values, names) if isinstance(values, dict) else {}


def _texts(values: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Return the values of known fields as text; those that were not supplied are left out."""
    return {
        name: _as_text(value)
        for name, value in values.items()
        if name in names and value is not None and not (isinstance(value, str) and value.startswith(_NOT_SUPPLIED))
    }


def evidence_in(text: str) -> list[PromptPassage]:
    """Read passages back as `parse_passages` does, without what in them speaks to a language model."""
    return [PromptPassage(one.number, name_in(one.title), without_orders(one.text)) for one in parse_passages(text)]


def parse_passages(text: str) -> list[PromptPassage]:
    """Read a numbered list of passages back: ``[1] «title | text»`` or ``[1] title | text``, or one without number."""
    text = text.strip()
    if text in ("", "N/A"):
        return []
    starts = [match for match in _NUMBERED.finditer(text) if text[match.end() : match.end() + 1] == "«"]
    if not starts:
        return [_split(number, line) for number, line in numbered_lines(text)] or [_passage(1, text)]
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return [_passage(int(match[1]), text[match.end() : end]) for match, end in zip(starts, ends, strict=True)]


def _passage(number: int, blob: str) -> PromptPassage:
    marks = 3 if blob.lstrip().startswith("«««\n") else 1  # DSPy's long form starts a new line
    body = blob.strip()
    if body.startswith("«" * marks) and body.endswith("»" * marks):
        body = body[marks : len(body) - marks].strip()
    return _split(number, body)


def _split(number: int, body: str) -> PromptPassage:
    head, bar, text = f" {body}".partition(" | ")  # without a title the bar may come first
    if not bar or "\n" in head:  # a passage is one line: in a text of several the bar is of a table
        return PromptPassage(number, "", " ".join(body.split()))
    return PromptPassage(number, " ".join(head.split()), " ".join(text.split()))


def render_reply(prompt: Prompt, outputs: dict[str, object]) -> str:
    """Write the outputs the way the prompt asks for."""
    if prompt.style == "json":
        return json.dumps({name: outputs[name] for name in prompt.output_fields}, ensure_ascii=False)
    if prompt.style == "lean":
        forms = ((name, form_told_by(prompt.hints[name])) for name in prompt.output_fields)
        texts = {name: write_in(form, outputs[name]) if form else _as_text(outputs[name]) for name, form in forms}
        if len(texts) == 1 and all(needs_no_header(text, name) for name, text in texts.items()):
            return next(iter(texts.values()))
        return "\n\n".join(section(name, escape(text, tuple(texts))) for name, text in texts.items())
    parts = [f"[[ ## {name} ## ]]\n{_as_text(outputs[name])}" for name in prompt.output_fields]
    return "\n\n".join([*parts, "[[ ## completed ## ]]"])


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
