from collections.abc import Callable
from typing import Any

import dspy
import pytest
from harness import record, run_of

import polyqa
from polyqa.artifacts.card import Card, DataCard, Figure, Gain, Spent
from polyqa.base.text import well_formed
from polyqa.base.work import Failure
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.runs import Run
from polyqa.optimizers import Compiled
from polyqa.optimizers.trials import Trial
from polyqa.programs import set_knn_demos
from polyqa.reports.compilation import compilation_report

Report = Callable[..., str]
N = 50
DATA = DataCard(source="homonyms/dev", n=N, fingerprint="0")


def runs(text: str, gain: float) -> tuple[Run, Run]:
    """Return two runs: with some gain 24 questions are won and 2 lost, one of which failed; the rest is drawn."""

    def scores(value: float) -> dict[str, float]:
        return dict.fromkeys(("disambig_f1", "rouge_l", "str_em"), value)

    before = [record(f"q{at}", scores(0.3), question=f"{text} {at}?", answer=f"old {text} {at}") for at in range(N)]
    after = [
        one.model_copy(
            update={
                "answer": f"new {text} {at}",
                "scores": scores(0.3 + gain if at < 24 else 0.1 if at < 26 and gain else 0.3),
                "error": Failure(kind="E", message=f"went wrong {text}") if at == 25 and gain else None,
            }
        )
        for at, one in enumerate(before)
    ]
    return run_of(before, "before"), run_of(after, "after")


def trials(text: str, many: int) -> list[Trial]:
    """Return a tree: the first, candidates on train and dev, of which the second is kept, and the last."""
    tried = [
        Trial(
            number=1 + at,
            label=f"{text} {at}",
            parent=0,
            predictor="extract",
            instructions={"extract": f"Do this, {text}, {at}."},
            score=0.30 + at / 500,
            n=24 if at else 8,
            on="train" if at % 3 else "dev",
            kept=at == 1,
            note=f"so {text}",
        )
        for at in range(many)
    ]
    first = Trial(number=0, label="as it was", on="dev", n=N, score=0.3, kept=True)
    last = Trial(number=many + 1, label="compiled", parent=min(2, many), on="dev", n=N, score=0.4, kept=True)
    return [first, *tried, last]


@pytest.fixture(scope="session")
def student() -> dspy.Module:
    return polyqa.load("rac", preset="paper")


@pytest.fixture
def report(student: dspy.Module) -> Report:
    """Return what makes a report with a text wherever a stranger's may stand."""

    def make(
        text: str = "the ship", *, name: str = "mine", gain: float = 0.3, many: int = 12, demos: int = 5, **of_gain: Any
    ) -> str:
        before, after = runs(text, gain)
        program = student.deepcopy()
        if demos:
            demo = {"question": text, "passages": [text], "interpretations": [], "answer": text}
            set_knn_demos(program, {one: [dict(demo) for _ in range(demos)] for one in ("extract", "write")}, 2)
            extract = program.extract
            said = f"{extract.signature.instructions}\nGive two readings. {well_formed(text)}"
            extract.signature = extract.signature.with_instructions(said)
        comparison = compare_runs(before, after, headline="dr")
        found = comparison.metrics["dr"]
        figures = {
            side: Figure(value=value, low=value - 5, high=value + 5, n=N)
            for side, value in (("before", found.a), ("after", found.b))
        }
        told = {"difference": found.difference, "low": found.low, "high": found.high, "p": found.p, "data": DATA}
        dev_gain = Gain(**{"metric": "dr", **figures, **told, **of_gain})
        card = Card(
            name=well_formed(name),
            program="rac",
            signatures={},
            recipe={"name": "clauses", "optimizer": "clauses"},
            measure="dr",
            threshold=0.5,
            reader="embedded",
            train=data_of(text),
            dev=data_of(text),
            lm="polyqa/extractive",
            encoder="embedded",
            versions={},
            spent=Spent(calls=12_345, input_tokens=678_900, output_tokens=4_321, seconds=61.2),
            dev_gain=dev_gain,
            date="2026-01-02",
        )
        made = Compiled(program, before, after, comparison, card.spent, trials(text, many))
        return compilation_report(card, student, made)

    return make


def data_of(text: str) -> DataCard:
    return DATA.model_copy(update={"source": well_formed(text)[:120] or "-"})
