"""Which lines of the reply readers real replies run: ``python -m lab.replies RECORDING…``.

Each recorded reply is read as `dspy.Predict` would. Reported are the replies by model and signature, how many are
read, and for each file of `polyqa.replies` the lines in functions that no reply runs.
"""

import sys
import trace
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType

import dspy

import polyqa.replies
from polyqa import signatures
from polyqa.lm.adapter import LeanAdapter
from polyqa.lm.long_answers import clean_long_answer
from polyqa.lm.recorded import RecordedReply, Recording

MARKS = {"<completed>": dspy.XMLAdapter, "[[ ## ": dspy.ChatAdapter, "JSON object": dspy.JSONAdapter}


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
    adapter = LeanAdapter if lean else next((kind for mark, kind in MARKS.items() if mark in prompt), dspy.ChatAdapter)
    try:
        found = dspy.Prediction(**adapter().parse(signature, record.reply))
        clean_long_answer(signature, {}, found, record.reply)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return found


def unused(package: Path, counts: Mapping[tuple[str, int], int]) -> Iterator[str]:
    """Yield for each file of a package the lines in its functions that did not run."""
    for path in sorted(package.glob("*.py")):
        code = [compile(path.read_text(encoding="utf-8"), str(path), "exec")]
        missing: set[int] = set()
        while code:
            inner = [const for const in code.pop().co_consts if isinstance(const, CodeType)]
            lines = {line for one in inner for _, _, line in one.co_lines() if line and line != one.co_firstlineno}
            missing |= {line for line in lines if not counts.get((str(path), line))}
            code += inner
        yield f"{path.name}: {len(missing)} lines: {', '.join(map(str, sorted(missing)))}"


def main() -> None:
    """Print the counts and the lines."""
    counts, tracer = Counter[tuple[str, str, str]](), trace.Trace(count=True, trace=False)
    recordings = [Recording(Path(path)) for path in sys.argv[1:]]
    for record in {record.request.key: record for recording in recordings for record in recording}.values():
        if (signature := signature_of(record)) is not None:
            outcome = "refused" if isinstance(tracer.runfunc(read, record, signature), str) else "read"
            counts[record.request.model, signature.__name__, outcome] += 1
    for key, count in sorted(counts.items()):
        print(count, *key)
    print(*unused(Path(polyqa.replies.__file__).parent, tracer.results().counts), sep="\n")


if __name__ == "__main__":
    main()
