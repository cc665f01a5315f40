import random

from lab.retrieval import evaluate_ranking
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.loading import load_questions
from polyqa.metrics import exact_presence


def test_worse_rankings_score_worse() -> None:
    index = ColBERTIndex("homonyms")
    questions = load_questions("homonyms/dev")[:20]
    ranking = index.search_many([question.question for question in questions], 20)
    good = evaluate_ranking(questions, ranking, exact_presence)["AC@5"].value
    shuffled = list(ranking)
    random.Random(0).shuffle(shuffled)
    assert evaluate_ranking(questions, shuffled, exact_presence)["AC@5"].value < good - 30
    assert evaluate_ranking(questions, [own[10:] for own in ranking], exact_presence)["AC@5"].value < good - 30
