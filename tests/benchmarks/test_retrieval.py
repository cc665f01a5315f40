import random

from benchmarks.loading import load_questions
from benchmarks.retrieval import bootstrap, evaluate_ranking, run
from colbert_index import ColBERTIndex
from metrics import exact_presence


def test_every_stage_on_the_shipped_questions() -> None:
    questions = load_questions("homonyms/dev")[:12]
    rows = run(ColBERTIndex("homonyms"), questions, exact_presence, depth=50)
    assert list(rows)[-1] == "fused + DIVA (5 passages)"
    assert rows["fused + rerank"]["AC@5"].mean > 80
    assert all(0 <= row["MRecall@5"].mean <= row["AC@5"].mean + 1e-9 for row in rows.values())


def test_worse_rankings_score_worse() -> None:
    index = ColBERTIndex("homonyms")
    questions = load_questions("homonyms/dev")[:20]
    ranking = index.search_many([question.question for question in questions], 20)
    good = evaluate_ranking(questions, ranking, exact_presence)["AC@5"].mean
    shuffled = list(ranking)
    random.Random(0).shuffle(shuffled)
    assert evaluate_ranking(questions, shuffled, exact_presence)["AC@5"].mean < good - 30
    assert evaluate_ranking(questions, [own[10:] for own in ranking], exact_presence)["AC@5"].mean < good - 30


def test_bootstrap_encloses_the_mean_and_shrinks_with_n() -> None:
    values = [0.0, 1.0] * 20
    small, large = bootstrap(values), bootstrap(values * 25)
    assert small.low < small.mean == 50.0 < small.high
    assert large.high - large.low < small.high - small.low
    assert bootstrap([1.0] * 5).low == bootstrap([1.0] * 5).high == 100.0
    assert bootstrap(values) == bootstrap(values)
