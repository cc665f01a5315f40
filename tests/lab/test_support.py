import numpy as np
import pytest

from lab.support import Sample, collect, fit
from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.loading import load_questions
from polyqa.models import Encoder, Reader


def drawn(questions: int = 60) -> Sample:
    """Three spans per question; the chance of being right is the logistic function of known weights."""
    chance = np.random.default_rng(0)
    features = chance.normal(size=(3 * questions, 8))
    truth = 1 / (1 + np.exp(-(3 * features[:, 0] - 2 * features[:, 1] - 1)))
    return Sample(features, chance.random(len(truth)) < truth, np.repeat(np.arange(questions), 3))


def test_weights_that_are_there_are_found() -> None:
    found = fit(drawn(2000))
    assert found.weights[0] == pytest.approx(3, abs=0.4)
    assert found.weights[1] == pytest.approx(-2, abs=0.4)
    assert max(map(abs, found.weights[2:])) < 0.2
    assert found.bias == pytest.approx(-1, abs=0.2)
    assert found.auc > 0.9


def test_what_says_nothing_has_an_area_of_a_half() -> None:
    sample = drawn(2000)
    noise = Sample(np.random.default_rng(1).normal(size=sample.features.shape), sample.right, sample.question)
    assert fit(noise).auc == pytest.approx(0.5, abs=0.05)


def test_too_little_is_refused() -> None:
    sample = drawn(4)
    with pytest.raises(PolyqaError, match="at least 5 questions"):
        fit(sample)
    with pytest.raises(PolyqaError, match="some of which the index answers"):
        fit(Sample(sample.features, np.zeros(12, dtype=bool), sample.question))


def test_spans_of_the_shipped_training_questions(encoder: Encoder) -> None:
    questions = load_questions("homonyms/train", limit=8)
    sample = collect(questions, ColBERTIndex("homonyms"), encoder, Reader(precision="auto"), 100)
    assert sample.features.shape == (len(sample.right), 11)
    assert set(sample.question) <= set(range(100, 108))
    assert 0.05 < sample.right.mean() < 0.9
    assert (sample.features[:, 5:9] <= 1).all()
