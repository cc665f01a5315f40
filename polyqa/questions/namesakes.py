"""Ambiguous questions that a language model asks of namesakes: two passages of one name a call."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import dspy

from polyqa.base.values import Passage
from polyqa.base.work import Failure, work_through
from polyqa.lm.adapter import configured_adapter
from polyqa.lm.exchanges import exchanging
from polyqa.metrics.text import normalize_answer
from polyqa.signatures import AskOfNamesakes

from .examples import with_examples
from .families import Named, named, spoken, with_title
from .generation import answered_again, bare_question, is_question


@dataclass(frozen=True)
class AskedOfNamesakes:
    """A question with a shared name, and nothing that tells its bearers apart.

    Its answers are spans, each with the id of the passage that it stands in.
    """

    question: str
    answers: tuple[tuple[str, str], ...]


Namesake = tuple[Named, Passage]
"""A passage with what it is about."""


def namesakes(passages: Sequence[Passage]) -> list[tuple[Namesake, Namesake]]:
    """Return pairs of passages that share a name: each with the next of its family."""
    about = named(passages)
    families: dict[tuple[str, str], list[Namesake]] = {}
    for passage in passages:
        if about[passage.pid].base:
            families.setdefault(about[passage.pid].family, []).append((about[passage.pid], passage))
    return [
        (one, other)
        for members in families.values()
        for one, other in zip(members, members[1:] + members[:1] * (len(members) > 2), strict=False)
        if one[1].title != other[1].title
    ]


def ask_namesakes(
    pairs: Sequence[tuple[Namesake, Namesake]],
    lm: dspy.LM,
    *,
    threads: int = 8,
    step: Callable[[], None] = lambda: None,
) -> list[AskedOfNamesakes]:
    """Have a language model write a question for each pair, and answer it once more from each passage.

    Those are kept whose answers stand in their passages, differ, and are found again. A pair for which the model fails
    gives none; a warning tells how many those are.

    Parameters
    ----------
    pairs
        From `namesakes`.
    lm
        Fills `AskOfNamesakes`, and `AnswerFromPassage` twice for each question.
    threads, step
        Pairs at once; called after each.
    """
    questions: dict[int, AskedOfNamesakes] = {}
    failed: dict[int, Failure] = {}

    def ask(number: int) -> AskedOfNamesakes | Failure | None:
        try:
            with dspy.context(lm=lm, adapter=configured_adapter()), exchanging():
                return _ask(pairs[number])
        except Exception as error:  # one bad reply must not end a long generation
            return Failure.of(error)

    def keep(number: int, outcome: AskedOfNamesakes | Failure | None) -> Failure | None:
        step()
        if isinstance(outcome, AskedOfNamesakes):
            questions[number] = outcome
        elif outcome is not None:
            failed[number] = outcome
        return None  # these questions come on top of those of single passages

    work_through(range(len(pairs)), ask, keep, at_once=threads, things="pairs of namesakes")
    if failed:
        last = list(failed.values())[-1]
        warnings.warn(f"{len(failed)} of {len(pairs)} pairs of namesakes failed, such as: {last}", stacklevel=2)
    return [questions[number] for number in sorted(questions)]


def _ask(namesakes: tuple[Namesake, Namesake]) -> AskedOfNamesakes | None:
    base, pair = namesakes[0][0].base, [passage for _, passage in namesakes]
    numbered_passages = "\n".join(f"[{number}] {passage.render()}" for number, passage in enumerate(pair, 1))
    reply = with_examples(AskOfNamesakes)(passages=numbered_passages, name=base)
    question = bare_question(reply.question)
    answers = [answer.strip() for answer in (reply.first_answer, reply.second_answer)]
    if not is_question(question) or spoken(base).casefold() not in question.casefold():
        return None
    spans = all(answer and answer in passage.text for answer, passage in zip(answers, pair, strict=True))
    if not spans or len(set(map(normalize_answer, answers))) < len(answers):
        return None
    for answer, (about, passage) in zip(answers, namesakes, strict=True):
        if not answered_again(with_title(question, about.title, base) or question, answer, passage):
            return None
    return AskedOfNamesakes(question, tuple(zip(answers, (passage.pid for passage in pair), strict=True)))
