import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest

import polyqa
from polyqa.artifacts.state import program_hash
from polyqa.evaluating import make_scorer
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.runs import SETTINGS, Run
from polyqa.evaluation.scoring import Scorer
from polyqa.metrics.gold import Question
from polyqa.programs import SelfRAG
from polyqa.signatures import PolyqaError

Evaluate = Callable[..., Run]


@pytest.fixture(scope="module")
def two() -> list[Question]:
    return load_questions("homonyms/dev", limit=2)


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return make_scorer(judge=None)


@pytest.fixture
def evaluate(two: list[Question], scorer: Scorer, tmp_path: Path) -> Evaluate:
    def run(program: object, **given: Any) -> Run:
        return polyqa.evaluate(program, two, scorer=scorer, runs=tmp_path, name="x", **given)  # type: ignore[arg-type]

    return run


def test_a_program_goes_on_where_the_same_was_and_not_where_another_was(evaluate: Evaluate) -> None:
    first = evaluate(polyqa.load("rac", passages=5))
    assert [len(one.passages) for one in first.records] == [5, 5]
    assert evaluate(polyqa.load("rac", passages=5)).records == first.records
    with pytest.raises(PolyqaError, match=r"holds another run: program_state was \w+, is \w+\. Choose another name"):
        evaluate(polyqa.load("rac", passages=2))


def weighted(*weights: float) -> dspy.Module:
    program = polyqa.load("self-rag")
    return SelfRAG(program.retriever, program.reranker, encoder=program.recall.encoder, weights=weights)


class Twice(dspy.Module):
    """A program of someone else's that holds one of ours."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.inner = polyqa.load("rac", **settings)

    def forward(self, question: str) -> dspy.Prediction:
        return self.inner(question=question)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: polyqa.load("rac"), lambda: polyqa.load("rac", reranker="reader")),
        (lambda: polyqa.load("toc"), lambda: polyqa.load("toc", pruning=False)),
        (lambda: weighted(1, 1, 0.5), lambda: weighted(1, 1, 0.6)),
        (Twice, lambda: Twice(passages=2)),
    ],
    ids=["reranker", "switch", "tuple", "inside"],
)
def test_what_a_program_is_made_of_tells_runs_apart(
    one: Callable[[], dspy.Module], other: Callable[[], dspy.Module], evaluate: Evaluate
) -> None:
    program = one()
    evaluate(program)
    evaluate(program)  # using it does not make it another
    with pytest.raises(PolyqaError, match="program_state was"):
        evaluate(other())


@pytest.mark.parametrize(
    "given", [{"index": "homonyms"}, {"demos": "mine.json"}, {"passages": 2}, {"reranker": "reader"}]
)
def test_what_only_a_name_can_be_given_with_is_refused(
    given: dict[str, Any], evaluate: Evaluate, tmp_path: Path
) -> None:
    with pytest.raises(PolyqaError, match=f"made already: {next(iter(given))} cannot be given"):
        evaluate(polyqa.load("closed-book"), **given)
    assert list(tmp_path.iterdir()) == []


def test_the_runs_of_named_programs_stay_valid(evaluate: Evaluate, tmp_path: Path) -> None:
    """Their state is a hash of what was given, as it was given: 0 is not written 0.0."""
    given = {"useful_at": 0, "reranker": None}
    evaluate("diva", **given)
    text = json.dumps([program_hash(polyqa.load("diva")), given], sort_keys=True)
    state = json.loads((tmp_path / "x" / SETTINGS).read_text())["program_state"]
    assert state == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_a_run_is_known_by_what_a_text_means(evaluate: Evaluate) -> None:
    evaluate("toc", pruning="False", depth="1")
    evaluate("toc", pruning=False, depth=1)
    with pytest.raises(PolyqaError, match="program_state was"):
        evaluate("toc", pruning=True, depth=1)
