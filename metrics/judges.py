"""Judges of the grounded metrics: which readings are the same, which passage answers which."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from polyqa.base.values import Interpretation, Passage

from .gold import Question
from .grounded import Judgement


@dataclass(frozen=True, slots=True)
class Claim:
    """A reading with the short answers that it may have; none for a reading without an answer."""

    question: str
    answers: tuple[str, ...] = ()


class Judge(Protocol):
    """Decides what VERDICT's prompts I_M, I_V and I_D decide (appendix C)."""

    @property
    def name(self) -> str:
        """What the figures are labelled with."""

    def covered(self, question: str, found: Sequence[Claim], wanted: Sequence[Claim]) -> list[bool]:
        """Return for each wanted reading of a question whether it is among the found ones (I_M)."""

    def supported(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[bool]:
        """Return for each pair whether the passage is enough evidence for the claim (I_V)."""

    def distinct(self, question: str, readings: Sequence[Claim]) -> list[bool]:
        """Return which readings to keep so that none nearly repeats another (I_D)."""


def judge_readings(
    question: Question,
    interpretations: Sequence[Interpretation],
    passages: Sequence[Passage],
    judge: Judge,
    universe: Sequence[Passage] = (),
) -> Judgement:
    """Have a judge decide everything that the grounded metrics count for one question.

    Parameters
    ----------
    question
        With its gold readings Q̃.
    interpretations
        What a system found, Q̂; ``pid`` names the passage p̂ that it gives for a reading. A reading
        without one is held against all passages (appendix A).
    passages
        The passages that the system gives with its answer; one that it shortened counts as it gives it.
    judge
        Its name belongs beside every figure.
    universe
        All passages that were retrieved for the question, U_q; by default those that the system gives.
    """
    claims = [Claim(one.question, (one.answer,) if one.answer.strip() else ()) for one in interpretations]
    gold_claims = [Claim(one.question, one.short_answers) for one in question.readings]
    by_pid = {passage.pid: passage for passage in passages}
    cited = [[by_pid[one.pid]] if one.pid in by_pid else list(passages) for one in interpretations]
    cited_keys = {(passage.pid, passage.text) for sources in cited for passage in sources}
    everything = {(passage.pid, passage.text): passage for passage in (*(universe or passages), *passages)}
    retrieved = {(passage.pid, passage.text) for passage in universe or passages}

    pairs = [(claim, passage) for claim, sources in zip(claims, cited, strict=True) for passage in sources]
    pairs += [(claim, passage) for claim in gold_claims for passage in everything.values()]
    verdicts = iter([verdict for _, verdict in zip(pairs, judge.supported(pairs), strict=True)])
    grounded = tuple(map(any, [[next(verdicts) for _ in sources] for sources in cited]))
    answered = [{key for key in everything if next(verdicts)} for _ in gold_claims]
    groundable = tuple(not retrieved.isdisjoint(keys) for keys in answered)
    matched = repeated = tuple(judge.covered(question.question, gold_claims, claims)) if claims else ()
    if any(matched) and not all(groundable):
        backed = [claim for claim, good in zip(gold_claims, groundable, strict=True) if good]
        repeated = tuple(judge.covered(question.question, backed, claims)) if backed else (False,) * len(claims)
    keeps = judge.distinct(question.question, claims) if claims else []
    return Judgement(
        grounded=grounded,
        matched=matched,
        found=tuple(judge.covered(question.question, claims, gold_claims)) if claims else (False,) * len(gold_claims),
        groundable=groundable,
        supported=tuple(not keys.isdisjoint(cited_keys) for keys in answered),
        distinct=sum(keep for _, keep in zip(claims, keeps, strict=True)),
        repeated=repeated,
    )
