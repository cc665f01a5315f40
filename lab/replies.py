"""What the readers make of real replies, which lines of them no reply runs, and a draw of replies to label.

python -m lab.replies RECORDING… [--json FILE]
python -m lab.replies RECORDING… --draw SHEET [--limit 300] [--seed 0]
python -m lab.replies RECORDING… --labels SHEET [--json FILE]

Each recorded reply is read as `dspy.Predict` would. A sheet has a reply a line, with what is read of it and an empty
``label`` that a person fills with one of `LABELS`. Of each model and signature as many different replies are drawn, or
all that there are.
"""

import json
import random
import trace
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Annotated, Any

import dspy
import typer

import polyqa.replies
from polyqa import signatures
from polyqa.base.files import write_atomically
from polyqa.lm.adapter import LeanAdapter
from polyqa.lm.long_answers import clean_reply
from polyqa.lm.recorded import RecordedReply, Recording

from .results import JsonFile, Seed, Table, report

LABELS = ("read right", "read wrong", "rightly refused", "wrongly refused")
_MARKS = {"<completed>": dspy.XMLAdapter, "[[ ## ": dspy.ChatAdapter, "JSON object": dspy.JSONAdapter}


def signature_of(record: RecordedReply) -> type[dspy.Signature] | None:
    """Return the signature whose prompt a reply answers: by its instructions, for a compiled one by its fields."""
    prompt = " ".join(record.request.messages[0]["content"].split())
    kinds = [getattr(signatures, name) for name in signatures.__all__]
    known = sorted(
        (kind for kind in kinds if hasattr(kind, "output_fields")), key=lambda kind: -len(kind.output_fields)
    )
    by_words = [kind for kind in known if " ".join(kind.instructions.split())[:120] in prompt]
    return next(
        iter([*by_words, *(kind for kind in known if all(f"{name} (" in prompt for name in kind.fields))]), None
    )


def read(record: RecordedReply, signature: type[dspy.Signature]) -> str | dspy.Prediction:
    """Return what a reply is read as, or why it is refused."""
    prompt = record.request.messages[0]["content"]
    lean = "All interactions will be structured in the following way" not in prompt
    adapter = LeanAdapter if lean else next((kind for mark, kind in _MARKS.items() if mark in prompt), dspy.ChatAdapter)
    try:
        found = dspy.Prediction(**adapter().parse(signature, record.reply))
        clean_reply(signature, {}, found, record.reply)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return found


def unused(package: Path, counts: Mapping[tuple[str, int], int]) -> Iterator[str]:
    """Yield for each file of a package the lines in its functions that did not run."""
    ran = {(Path(file).name, line) for file, line in counts if Path(file).parent.name == package.name}
    for path in sorted(package.glob("*.py")):
        code = [compile(path.read_text(encoding="utf-8"), str(path), "exec")]
        missing: set[int] = set()
        while code:
            inner = [const for const in code.pop().co_consts if isinstance(const, CodeType)]
            lines = {line for one in inner for _, _, line in one.co_lines() if line and line != one.co_firstlineno}
            missing |= {line for line in lines if (path.name, line) not in ran}
            code += inner
        yield f"{path.name}: {len(missing)} lines: {', '.join(map(str, sorted(missing)))}"


def drawn(outcomes: Mapping[tuple[str, str], Mapping[str, Any]], limit: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield lines of a sheet: of each kind as many different replies, or all, in an order that the seed gives."""
    pick = random.Random(seed)
    left = {kind: sorted(replies) for kind, replies in sorted(outcomes.items())}
    for replies in left.values():
        pick.shuffle(replies)
    while limit and any(left.values()):
        for (model, signature), replies in left.items():
            if replies and limit:
                reply, limit = replies.pop(), limit - 1
                outcome = outcomes[model, signature][reply]
                shown = {"refused": outcome} if isinstance(outcome, str) else {"read": outcome.toDict()}
                yield {"model": model, "signature": signature, "reply": reply, **shown, "label": ""}


def labels_in(sheet: Path) -> Counter[tuple[str, str, str]]:
    """Return how often each model and signature has each label."""
    lines = [json.loads(line) for line in sheet.read_text(encoding="utf-8").splitlines()]
    if wrong := {line["label"] for line in lines} - {*LABELS}:
        raise typer.BadParameter(f"{sheet} has the labels {sorted(wrong)}; a label is one of {', '.join(LABELS)}.")
    return Counter((line["model"], line["signature"], line["label"]) for line in lines)


def table(counts: Mapping[tuple[str, str, str], int], columns: tuple[str, ...]) -> Table:
    """Return the counts of each model and signature, and their sums."""
    kinds = sorted({(model, signature) for model, signature, _ in counts})
    rows = [[counts.get((*kind, column), 0) for column in columns] for kind in kinds]
    named = [*([f"`{model}`", f"`{signature}`"] for model, signature in kinds), ["all", ""]]
    rows.append([sum(column) for column in zip(*rows, strict=True)])
    shown = [[*name, *(f"{one:,}" for one in row)] for name, row in zip(named, rows, strict=True)]
    return Table(heads=["language model", "signature", *columns], rows=shown)


def main(
    recordings: Annotated[list[Path], typer.Argument(help="Recordings.")],
    draw: Annotated[Path | None, typer.Option(help="Write replies to label to this file.")] = None,
    labels: Annotated[Path | None, typer.Option(help="A sheet whose labels are filled in.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many replies are drawn.")] = 300,
    seed: Seed = 0,
    json_file: JsonFile = None,
) -> None:
    """Count what is read and refused, and print the lines that no reply ran."""
    tracer, counts = trace.Trace(count=True, trace=False), Counter[tuple[str, str, str]]()
    outcomes: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    records = {(one.request.key, one.reply): one for path in recordings for one in Recording(path)}
    for record in records.values():
        if (signature := signature_of(record)) is not None:
            kind = (record.request.model, signature.__name__)
            if record.reply not in outcomes[kind]:
                outcomes[kind][record.reply] = tracer.runfunc(read, record, signature)
            counts[(*kind, "replies")] += 1
            counts[(*kind, "refused")] += isinstance(outcomes[kind][record.reply], str)
    if draw is not None:
        lines = drawn(outcomes, limit, seed)
        write_atomically(draw, "".join(json.dumps(line, ensure_ascii=False, default=str) + "\n" for line in lines))
        return
    for kind, replies in outcomes.items():
        counts[(*kind, "different")] = len(replies)
    columns: tuple[str, ...] = ("replies", "different", "refused")
    if labels is not None:
        counts.update(labels_in(labels))
        columns += LABELS
    report("Replies to different calls, and labels of some", table(counts, columns), json_file)
    print(*unused(Path(polyqa.replies.__file__).parent, tracer.results().counts), sep="\n")


if __name__ == "__main__":
    typer.run(main)
