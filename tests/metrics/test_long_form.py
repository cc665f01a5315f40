from math import sqrt
from typing import Any

import pytest
from data_files import golden
from memory_records import questions_from_records
from table_reader import TableReader

from polyqa.metrics.disambig_f1 import disambig_f1, score_disambig_f1
from polyqa.metrics.dr import corpus_dr, dr
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.length import length
from polyqa.metrics.long_form import score_long_answers
from polyqa.metrics.rouge_l import rouge_l
from polyqa.metrics.str_em import str_em
from polyqa.metrics.token_f1 import token_f1
from polyqa.models import Reader

GOLDEN = golden("asqa_instances")
PREDICTIONS: dict[str, str] = GOLDEN["predictions"]
RECORDS = [{"id": key, **record} for key, record in GOLDEN["asqa"].items()]
QUESTIONS = {question.id: question for question in questions_from_records(RECORDS)}


def read_answers(key: str) -> list[str]:
    """Return the official reader's answers; where several candidates are given, the best (as the script takes it)."""
    found = []
    for number, reading in enumerate(QUESTIONS[key].readings):
        given = GOLDEN["roberta_output"][f"{key}_{number}"]
        own = [given] if isinstance(given, str) else given
        found.append(max(own, key=lambda one: token_f1(one, reading.short_answers)))
    return found


every_item = pytest.mark.parametrize("item", GOLDEN["per_instance"], ids=lambda item: item["key"])


@every_item
def test_scores_of_the_text_agree_with_the_official_scorer(item: dict[str, Any]) -> None:
    text, question = PREDICTIONS[item["key"]], QUESTIONS[item["key"]]
    for number, reference in enumerate(question.long_answers, 1):
        assert rouge_l(text, [reference]) == pytest.approx(item[f"rougeLsum_ref{number}"]["f"], abs=1e-9)
    assert 100 * rouge_l(text, question.long_answers) == pytest.approx(item["rougeLsum_max"], abs=1e-9)
    assert 100 * str_em(text, question.answers) == pytest.approx(item["str_em"], abs=1e-9)
    assert length(text) == item["length"]


@every_item
def test_scores_of_the_official_readers_answers_agree(item: dict[str, Any]) -> None:
    question = QUESTIONS[item["key"]]
    score = disambig_f1(read_answers(item["key"]), question.answers)
    assert (100 * score.em, 100 * score.f1, 100 * score.hit) == pytest.approx(
        (item["QA-EM"], item["QA-F1"], item["QA-Hit"]), abs=1e-9
    )
    rouge = rouge_l(PREDICTIONS[item["key"]], question.long_answers)
    assert 100 * dr(score.f1, rouge) == pytest.approx(item["ovscore"], abs=1e-9)
    assert dr(item["QA-F1"], item["rougeLsum_max"]) == pytest.approx(item["ovscore"], abs=1e-9)


def test_dr_of_a_corpus_is_that_of_the_means() -> None:
    f1s = [item["QA-F1"] for item in GOLDEN["per_instance"]]
    rouges = [item["rougeLsum_max"] for item in GOLDEN["per_instance"]]
    n = len(f1s)
    assert corpus_dr(f1s, rouges) == pytest.approx(sqrt(sum(f1s) / n * sum(rouges) / n), abs=1e-9)
    assert corpus_dr(f1s, rouges) != pytest.approx(sum(item["ovscore"] for item in GOLDEN["per_instance"]) / n, abs=0.1)


def test_many_answers_are_scored_like_one_by_one(reader: Reader) -> None:
    # 1 reader's batch for all against one for each; padding moves logits, but no answer.
    questions, texts = list(QUESTIONS.values()), [PREDICTIONS[key] for key in QUESTIONS]
    alone = Reader()
    together = score_long_answers(texts, questions, reader)
    assert together == [
        score_long_answers([text], [question], alone)[0] for text, question in zip(texts, questions, strict=True)
    ]
    for text, question, score in zip(texts, questions, together, strict=True):
        assert score.rouge_l == rouge_l(text, question.long_answers)
        assert score.str_em == str_em(text, question.answers)
        assert score.length == length(text)
        assert score.disambig == disambig_f1(score.disambig.answers, question.answers)
        assert score.dr == dr(score.disambig.f1, score.rouge_l)


def test_the_embedded_reader_tells_right_answers_from_those_to_other_questions(reader: Reader) -> None:
    questions, texts = list(QUESTIONS.values()), [PREDICTIONS[key] for key in QUESTIONS]
    right, wrong = (
        [score.disambig.f1 for score in score_long_answers(own, questions, reader)]
        for own in (texts, [*texts[1:], texts[0]])
    )
    assert sum(right) / len(right) > 0.4
    assert sum(wrong) / len(wrong) < 0.05


def test_every_reading_is_asked_of_its_own_long_answer() -> None:
    readings = [
        [Reading("Who won in 1998?", ("She",)), Reading("Who won in 2002?", ("He",))],
        [],
        [Reading("Who lost?", ("They",))],
    ]
    asked = TableReader({"Who won in 1998?": "she", "Who lost?": "nobody"})
    scores = score_disambig_f1(["first", "third"], [readings[0], readings[2]], asked)
    assert asked.batches == [[("Who won in 1998?", "first"), ("Who won in 2002?", "first"), ("Who lost?", "third")]]
    assert [score.answers for score in scores] == [("she", ""), ("nobody",)]
    assert [(score.f1, score.em, score.hit) for score in scores] == [(0.5, 0.5, 0.0), (0.0, 0.0, 0.0)]


def test_a_question_without_reference_answers_has_no_rouge_and_no_dr() -> None:
    question = Question("1", "Who won?", (Reading("Who won in 1998?", ("She",)),))
    (score,) = score_long_answers(["She won."], [question], TableReader({"Who won in 1998?": "She"}))
    assert (score.rouge_l, score.dr) == (None, None)
    assert (score.disambig.f1, score.str_em, score.length) == (1.0, 1.0, 2)
