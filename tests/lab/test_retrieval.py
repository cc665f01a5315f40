import random

from lab.retrieval import evaluate_ranking, run
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.loading import load_questions
from polyqa.metrics import exact_presence
from polyqa.questions import questions_path


def test_every_stage_on_the_shipped_questions() -> None:
    questions = load_questions("homonyms/dev")[:12]
    index = ColBERTIndex("homonyms")
    rows = run(index, questions, exact_presence, depth=50)
    assert "fused + DIVA (5 passages)" in rows
    assert ("fused + DIVA by generated questions (5 passages)" in rows) == questions_path(index).is_dir()
    assert rows["fused + rerank"]["AC@5"].value > 80
    assert all(0 <= row["MRecall@5"].value <= row["AC@5"].value + 1e-9 for row in rows.values())


def test_worse_rankings_score_worse() -> None:
    index = ColBERTIndex("homonyms")
    questions = load_questions("homonyms/dev")[:20]
    ranking = index.search_many([question.question for question in questions], 20)
    good = evaluate_ranking(questions, ranking, exact_presence)["AC@5"].value
    shuffled = list(ranking)
    random.Random(0).shuffle(shuffled)
    assert evaluate_ranking(questions, shuffled, exact_presence)["AC@5"].value < good - 30
    assert evaluate_ranking(questions, [own[10:] for own in ranking], exact_presence)["AC@5"].value < good - 30
