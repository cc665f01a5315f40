"""What is told of a result in words, the same everywhere: its readings' sources, its faults, what it took."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from polyqa.base.text import counted

if TYPE_CHECKING:
    from polyqa.asking import Result
    from polyqa.base.values import Passage


def numbers_of(passages: "Sequence[Passage]") -> dict[str, int]:
    """Return the number under which each passage is cited, from 1, by its id."""
    return {passage.pid: number for number, passage in enumerate(passages, 1)}


def faults_told(result: "Result") -> str:
    """Return in a line which replies could not be had: "1 of 22 replies …: interpret: the reply was empty; …"."""
    said = Counter(map(str, result.faults))
    each = "; ".join(f"{fault} ({times} times)" if times > 1 else fault for fault, times in said.items())
    replies = counted(len(result.calls), "reply", "replies")
    return f"{len(result.faults)} of {replies} could not be had, or not whole: {each}."


def unheeded_told(result: "Result") -> str:
    """Return in a line what of the instructions the embedded engine passed over: how much, of which step, the first."""
    total = sum(map(len, result.unheeded.values()))
    first = next(sentence for sentences in result.unheeded.values() for sentence in sentences)
    of = ", ".join(result.unheeded)
    return f"{result.lm} passes over {counted(total, 'sentence')} of the instructions of {of}, such as “{first}”."


def cautions(result: "Result") -> list[str]:
    """Return what a reader should know before trusting a result, a line each."""
    return [
        *([faults_told(result)] if result.faults else []),
        *([unheeded_told(result)] if result.unheeded else []),
    ]


def took(result: "Result") -> list[str]:
    """Return what answered, and what it took, part by part."""
    return [
        *([f"coverage {result.coverage}"] if result.coverage else []),
        result.program,
        f"{result.lm} + {result.helper_lm}" if result.helper_lm else result.lm,
        counted(len(result.calls), "call"),
        f"{result.input_tokens:,} + {result.output_tokens:,} tokens",
        f"{result.seconds:.1f} s",
    ]
