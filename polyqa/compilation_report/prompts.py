"""What compiling changed in the prompts: the instructions line by line, and the demos."""

import difflib
import re
from collections.abc import Iterator, Sequence

import dspy

from polyqa.base.html import Html, joined, tag
from polyqa.base.text import counted
from polyqa.optimizers.prompts import demo_text, prompt_head, prompt_texts

OPEN, MOST = 3, 50
"""Demos of a predictor that are shown at once, and that are on the page at all."""
_AROUND = 1
"""Lines that did not change, around those that did."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FIELD = re.compile(r"\A- (?=\w+ \((?:in|out)put\): )")
_SIGNS = {"+": ("+ ", "added"), "-": ("− ", "removed"), " ": ("", "same")}


def prompts(before: dspy.Module, after: dspy.Module) -> Html:
    """Return per predictor what its prompt said and says, and its demos."""
    old, new = dict(before.named_predictors()), dict(after.named_predictors())
    parts: list[Html] = []
    if prompt_texts(before) == prompt_texts(after):
        parts.append(tag("p", "Nothing: the compiled program is the program as it was."))
    for name, predictor in new.items():
        parts.append(tag("h3", name))
        parts.append(_diff(_lines(old.get(name)), _lines(predictor)))
        parts.append(_demos(predictor))
    return joined(parts)


def _lines(predictor: dspy.Predict | None) -> list[str]:
    """Return what stands before the demos, a sentence a line: instructions are long lines, and differ in a clause."""
    if predictor is None:
        return []
    # The list of the fields has dashes, which would be taken for what was removed.
    lines = [_FIELD.sub("field ", line) for line in prompt_head(predictor).splitlines()]
    return [sentence for line in lines if line.strip() for sentence in _SENTENCE.split(line.strip())]


def _diff(old: Sequence[str], new: Sequence[str]) -> Html:
    # The first two lines name files, which there are none of.
    changes = list(difflib.unified_diff(old, new, lineterm="", n=_AROUND))[2:]
    if not changes:
        return tag("p", "Instructions and fields are as they were.", class_="quiet")
    return tag("div", *_rows(changes), class_="diff")


def _rows(changes: Sequence[str]) -> Iterator[Html]:
    for line in changes:
        if line.startswith("@@"):
            yield tag("div", "…", class_="gap")
            continue
        sign, told = _SIGNS[line[0]]
        yield tag("div", tag("span", sign, class_="sign"), line[1:], class_=told)


def _demos(predictor: dspy.Predict) -> Html:
    demos, k = predictor.demos, getattr(predictor, "k", None)
    if not demos:
        return tag("p", "No demos.", class_="quiet")
    shown = f"each call shows the {k} nearest" if k is not None else "each call shows them all"
    boxes = [_demo(demo, list(predictor.signature.fields)) for demo in demos[:MOST]]
    parts = [tag("p", f"{counted(len(demos), 'demo')}; {shown}.", class_="quiet"), *boxes[:OPEN]]
    if len(demos) > OPEN:
        left = len(demos) - len(boxes)
        note = [tag("p", f"{left:,} more are in program.json.", class_="quiet")] if left else []
        parts.append(
            tag("details", tag("summary", f"{len(boxes) - OPEN} more demos"), *boxes[OPEN:], *note, class_="more")
        )
    return joined(parts)


def _demo(demo: object, fields: Sequence[str]) -> Html:
    lines = [line.partition(": ") for line in demo_text(demo, fields).splitlines()]
    return tag("div", *(tag("div", tag("b", name), f": {text}") for name, _, text in lines), class_="demo")
