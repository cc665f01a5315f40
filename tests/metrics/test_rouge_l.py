from collections.abc import Sequence

import numpy as np
import pytest
from data_files import golden, public_data
from punkt import sent_tokenize
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.scoring import BootstrapAggregator, Score

from polyqa.evaluation.loading import load_questions
from polyqa.metrics.rouge_l import rouge_l

GOLDEN = golden("asqa_instances")
SEEDS = range(5)


def official_medians(scores: Sequence[Score]) -> list[float]:
    """Return what the official script prints, in per cent, for several states of numpy's random numbers."""
    state = np.random.get_state()
    try:
        medians = []
        for seed in SEEDS:
            np.random.seed(seed)
            aggregator = BootstrapAggregator()
            for score in scores:
                aggregator.add_scores({"rougeLsum": score})
            medians.append(100 * float(aggregator.aggregate()["rougeLsum"].mid.fmeasure))
    finally:
        np.random.set_state(state)
    return medians


@pytest.mark.parametrize(
    ("text", "reference", "f1"),
    [
        ("Фильм вышел в 1997 году.", "Фильм вышел в 1997 году.", 1.0),
        ("Пчёлы не спят с 1997.", "Фильм вышел в 1997 году.", 0.2),
        ("电影于年底上映", "电影于年底上映", 1.0),
        ("", "Фильм вышел.", 0.0),
    ],
)
def test_words_of_other_scripts_are_compared(text: str, reference: str, f1: float) -> None:
    assert rouge_l(text, [reference]) == pytest.approx(f1, abs=0.03)


def test_the_corpus_mean_lies_near_the_official_median() -> None:
    references = [
        [Score(*(item[f"rougeLsum_ref{number}"][name] for name in "prf")) for number in (1, 2)]
        for item in GOLDEN["per_instance"]
    ]
    best = [max(own, key=lambda score: score.fmeasure) for own in references]
    ours = [
        rouge_l(text, [one["long_answer"] for one in GOLDEN["asqa"][key]["annotations"]])
        for key, text in GOLDEN["predictions"].items()
    ]
    mean = 100 * sum(ours) / len(ours)
    assert official_medians(best) == pytest.approx([mean] * len(SEEDS), abs=0.3)


@pytest.mark.slow
@pytest.mark.data
def test_the_mean_of_asqa_dev_lies_near_the_official_median() -> None:
    questions = load_questions(public_data("asqa/asqa_dev300.json"))
    pairs = [question.long_answers[:2] for question in questions if len(question.long_answers) > 1]
    assert len(pairs) == 300
    scorer = RougeScorer(["rougeLsum"], use_stemmer=True)

    def lines(text: str) -> str:
        return "\n".join(sent_tokenize(text.lower()))

    official = [scorer.score(lines(second), lines(first))["rougeLsum"] for first, second in pairs]
    ours = [rouge_l(first, [second]) for first, second in pairs]
    assert ours == pytest.approx([score.fmeasure for score in official], abs=1e-12)
    mean = 100 * sum(ours) / len(ours)
    assert official_medians(official) == pytest.approx([mean] * len(SEEDS), abs=0.3)
    # The paper's human figure is 49.4, for answers scored against the other annotator's.
    assert mean == pytest.approx(49.4, abs=1.5)
