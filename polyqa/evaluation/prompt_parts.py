"""What the tokens of a prompt are for: instructions, format, demos, passages, and the rest."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from .dry_run import DryCall, Rendered
from .tokens import Tokenizer

PARTS: Mapping[str, str] = MappingProxyType(
    {
        "instructions": "what the signature says is to be done",
        "format": "how fields are named and replies are to be written",
        "demos": "worked examples, with their passages and headers",
        "passages": "of the question that is asked",
        "rest": "the question, and what earlier replies gave: readings, reasons, candidates",
    }
)
PASSAGE_FIELDS = frozenset({"passages", "passage"})
_MARK = "⟦{}⟧"  # stands for the value of an input, in a prompt that is rendered to see what is not
_MARKED = re.compile(_MARK.format(r"(\d+)"))
Span = tuple[int, int, str]


def count_parts(call: DryCall, tokenizer: Tokenizer) -> dict[str, int]:
    """Return how many tokens of a prompt each of `PARTS` takes.

    Every token counts once, for the part that its first character belongs to, so the parts sum to the whole. What is
    format is seen by rendering the prompt again with other values: any adapter of DSPy's will do. The few tokens that
    a provider puts around each message are not counted.
    """
    counts = dict.fromkeys(PARTS, 0)
    last = len(call.messages) - 1
    for number, (role, text) in enumerate(call.messages):
        if role in ("system", "developer"):
            common, spans = ("rest", []) if call.rendered is None else ("format", _instructions(call.rendered, text))
        elif number < last:
            common, spans = "demos", []
        else:
            common, spans = "rest", [] if call.rendered is None else _inputs(call.rendered, text)
        for start in tokenizer.encode(text).starts:
            counts[next((part for begin, end, part in spans if begin <= start < end), common)] += 1
    return counts


def _instructions(rendered: Rendered, text: str) -> list[Span]:
    """Return where a system message has the instructions, however the adapter indents them."""
    words = rendered.signature.instructions.split()
    found = list(re.finditer(r"\s+".join(map(re.escape, words)), text)) if words else []
    return [(*found[-1].span(), "instructions")] if found else []


def _inputs(rendered: Rendered, text: str) -> list[Span]:
    """Return where the last message has format and passages."""
    names = list(rendered.inputs)
    marks = {name: _MARK.format(number) for number, name in enumerate(names)}
    shown = rendered.adapter.format(rendered.signature, [], marks)[-1]["content"]
    # Pieces of format, with the numbers of the values that stand between them.
    pieces = _MARKED.split(shown if isinstance(shown, str) else "")
    spans: list[Span] = []
    at = 0
    for piece, following, name in _between(pieces, names):
        if not text.startswith(piece, at):
            return []  # the adapter writes these values in another way than these marks; all of it is rest
        spans.append((at, at + len(piece), "format"))
        at += len(piece)
        if name is None:
            break
        end = _end(text, at, following, rendered.inputs[name])
        if end < 0:
            return []
        spans.append((at, end, "passages" if name in PASSAGE_FIELDS else "rest"))
        at = end
    return spans


def _between(pieces: Sequence[str], names: Sequence[str]) -> list[tuple[str, str | None, str | None]]:
    """Return each piece of format with the one behind the next value, and that value's name."""
    fixed, values = pieces[::2], [names[int(number)] for number in pieces[1::2]]
    return list(zip(fixed, [*fixed[1:], None], [*values, None], strict=True))


def _end(text: str, at: int, following: str | None, value: object) -> int:
    """Return where a value ends; -1 if that cannot be told."""
    if isinstance(value, str) and value and text.startswith(value, at):
        return at + len(value)
    return len(text) if not following else text.find(following, at)
