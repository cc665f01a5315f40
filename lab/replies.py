"""Which branches of the reply readers real replies take: ``python -m lab.replies RECORDING…``.

Each recorded reply is read as `dspy.Predict` would, by the adapter and the signature whose prompt it answers. Reported
are the replies by model and signature, how many are read, and the lines of `polyqa.replies` that none of them runs.
"""

import sys
import trace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType

import dspy

import polyqa.replies
from polyqa import signatures
from polyqa.lm.adapter import LeanAdapter
from polyqa.lm.long_answers import clean_long_answer
from polyqa.lm.recorded import RecordedReply, Recording

ADAPTERS = {"<completed>": dspy.XMLAdapter, "[[ ## ": dspy.ChatAdapter, "JSON object": dspy.JSONAdapter}


def known_signatures() -> list[type[dspy.Signature]]:
    """Return polyqa's signatures, those with most outputs first."""
    kinds = [getattr(signatures, name) for name in signatures.__all__]
    found = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, dspy.Signature)]
    return sorted(found, key=lambda kind: -len(kind.output_fields))


def signature_of(record: RecordedReply, known: Sequence[type[dspy.Signature]]) -> type[dspy.Signature] | None:
    """Return the signature that a prompt is of: by its instructions, for compiled ones by its fields."""
    prompt = " ".join(record.request.messages[0]["content"].split())
    by_words = [kind for kind in known if " ".join(kind.instructions.split())[:120] in prompt]
    by_fields = [kind for kind in known if all(f"{name} (" in prompt for name in (*kind.fields,))]
    return next(iter([*by_words, *by_fields]), None)


def adapter_of(record: RecordedReply) -> dspy.Adapter:
    """Return the adapter that wrote a prompt."""
    prompt = record.request.messages[0]["content"]
    if "All interactions will be structured in the following way" not in prompt:
        return LeanAdapter()
    return next((kind() for mark, kind in ADAPTERS.items() if mark in prompt), dspy.ChatAdapter())


def replies(paths: Sequence[str]) -> Iterator[RecordedReply]:
    """Yield the records of files, each once."""
    found = {record.request.key: record for path in paths for record in Recording(Path(path.removesuffix(".new")))}
    yield from found.values()


def read(record: RecordedReply, signature: type[dspy.Signature]) -> str | dspy.Prediction:
    """Return what a reply is read as, or why it is refused."""
    try:
        found = dspy.Prediction(**adapter_of(record).parse(signature, record.reply))
        clean_long_answer(signature, {}, found, record.reply)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return found


def unused(package: Path, counts: Mapping[tuple[str, int], int]) -> Iterator[str]:
    """Yield the lines in the functions of a package that did not run, a file at a time."""
    for path in sorted(package.glob("*.py")):
        code = [compile(path.read_text(encoding="utf-8"), str(path), "exec")]
        missing: set[int] = set()
        while code:
            inner = [const for const in code.pop().co_consts if isinstance(const, CodeType)]
            code += inner
            for one in inner:
                lines = {line for _, _, line in one.co_lines() if line and line != one.co_firstlineno}
                missing |= {line for line in lines if not counts.get((str(path), line))}
        yield f"{path.name}: {len(missing)} lines: {', '.join(map(str, sorted(missing)))}"


def main() -> None:
    """Print the counts and the lines."""
    known, counts = known_signatures(), Counter[tuple[str, str, str]]()
    tracer = trace.Trace(count=True, trace=False)
    for record in replies(sys.argv[1:]):
        if (signature := signature_of(record, known)) is not None:
            outcome = "refused" if isinstance(tracer.runfunc(read, record, signature), str) else "read"
            counts[record.request.model, signature.__name__, outcome] += 1
    for key, count in sorted(counts.items()):
        print(count, *key)
    print(*unused(Path(polyqa.replies.__file__).parent, tracer.results().counts), sep="\n")


if __name__ == "__main__":
    main()
