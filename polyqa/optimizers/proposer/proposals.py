"""What is proposed for an instruction: the instruction with one more clause of the library."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence

import dspy

from polyqa.extractive.clauses import parts_of
from polyqa.metrics.text import normalize_words

from ..clauses.library import LIBRARY, Candidate

_ATTEMPT = re.compile(r"Instruction #(?P<number>\d+): (?P<text>.*?)(?=\s*Prefix #(?P=number):)", re.S)
_MARKS = re.compile(r"^\[\d+\] «+\n?|\n?»+$", re.M)  # what DSPy puts around the items of a list
_SCORE = re.compile(r"Resulting Score #(\d+): (\d+(?:\.\d+)?)")


def clauses_of(instruction: str) -> Sequence[Candidate]:
    """Return the clauses for the task that an instruction describes: the one most of whose sentences stand in it.

    Of an instruction that describes none of polyqa's tasks, those of all tasks.
    """
    said = _sentences(instruction)
    shares = {task: _share(task, said) for task in LIBRARY}
    best = max(shares, key=lambda task: shares[task])
    if shares[best] > 0:
        return LIBRARY[best]
    return list(dict.fromkeys(one for clauses in LIBRARY.values() for one in clauses))


def _share(task: type[dspy.Signature], said: frozenset[str]) -> float:
    own = _sentences(task.instructions)
    return len(own & said) / len(own)


def _sentences(text: str) -> frozenset[str]:
    return frozenset(normalize_words(part) for part in parts_of(" ".join(text.split())))


def with_clause(instruction: str, clause: Candidate, others: Sequence[Candidate]) -> str:
    r"""Return an instruction with a clause at its end; others of the same group, which it contradicts, go.

    >>> two, one = (Candidate(n, "number", f"Give {n}.", "") for n in ("two", "one"))
    >>> with_clause("Find all. Give two.", one, [two, one])
    'Find all.\nGive one.'
    """
    for other in others:
        if other.group == clause.group:
            instruction = instruction.replace(other.text, "")
    lines = (line.strip() for line in instruction.splitlines())
    return "\n".join([*filter(None, lines), clause.text])


def proposals(
    instruction: str, suggested: Sequence[Candidate] = (), tried: Mapping[str, float] | None = None
) -> Iterator[str]:
    """Yield instructions to try, without end: with each clause that is not in it, the suggested ones first.

    Parameters
    ----------
    instruction
        What is to be made better.
    suggested
        Clauses that something speaks for, the likeliest first.
    tried
        Instructions that were tried, with their scores. Clauses that stand in one are passed over at first.

    Notes
    -----
    The order beyond the suggested ones is random, but always the same for an instruction. When every clause was
    proposed, pairs of them follow.
    """
    candidates = clauses_of(instruction)
    draw = random.Random(instruction)
    rest = [one for one in draw.sample(list(candidates), len(candidates)) if one not in suggested]
    fresh = [one for one in (*suggested, *rest) if one.text not in instruction]
    seen = " ".join(tried or ())
    fresh.sort(key=lambda one: one.text in seen)  # stable: the order stays otherwise
    for one in fresh:
        yield with_clause(instruction, one, candidates)
    while fresh:
        first, second = draw.choice(fresh), draw.choice(fresh)
        yield with_clause(with_clause(instruction, first, candidates), second, candidates)
    while True:
        yield instruction


def attempts_in(text: str) -> dict[str, float]:
    """Return the instructions that an optimizer's list of attempts names, with their scores (COPRO's form)."""
    text = _MARKS.sub("", text)
    scores = {number: float(score) for number, score in _SCORE.findall(text)}
    return {
        found["text"].strip(): scores[found["number"]] for found in _ATTEMPT.finditer(text) if found["number"] in scores
    }
