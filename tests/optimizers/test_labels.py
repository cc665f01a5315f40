from pathlib import Path
from typing import Any

import dspy
import pytest
from failing_engine import Failing
from harness import ledger_rows

from polyqa.base.errors import PolyqaError
from polyqa.base.values import AmbiguityType, Passage
from polyqa.extractive import ExtractiveEngine
from polyqa.metrics.agreement import agree
from polyqa.metrics.exact_presence import exact_presence
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.models import Reader
from polyqa.optimizers.labels import label_demos
from polyqa.optimizers.pool import bootstrap_pool
from polyqa.signatures import ClarifyQuestion, VerifyInterpretations, VerifyReadings


def test_labels_fill_every_predictor_that_they_can(diva: dspy.Module, train: list[Question]) -> None:
    demos = label_demos(diva, train)
    assert set(demos) == {name for name, _ in diva.named_predictors()}
    assert [demo["answer"] for demo in demos["recall"]] == [question.long_answers[0] for question in train]
    assert len(demos["classify"]) == len(demos["infer"]) == len(train)
    assert len(demos["verify"]) == sum(len(question.readings) for question in train)
    for question, demo in zip(train, demos["infer"], strict=True):
        assert demo["pseudo_interpretations"] == [reading.question for reading in question.readings]
    for demo in demos["classify"]:
        assert demo["ambiguity_types"][0] in set(AmbiguityType)
        assert not any(str(kind) in demo["reason"] for kind in AmbiguityType)  # the reason comes before the label


class Choosing(dspy.Module):
    """A program of a user's own: what it offers is known by its methods, its predictor by the signature's fields."""

    passages = 1

    def __init__(self, shortlist: list[Passage] | None) -> None:
        super().__init__()
        self.choose = dspy.Predict("passages, question, count: int -> why, selected: list[int]")
        if shortlist is not None:
            self.shortlisted = lambda question: shortlist


def test_a_program_of_a_users_own_gets_labels_for_what_it_offers(train: list[Question]) -> None:
    wanted = train[0].readings[0].short_answers[0]
    shortlist = [Passage(pid="1", text="Nothing."), Passage(pid="2", text=f"It is {wanted}.")]
    (demo,) = label_demos(Choosing(shortlist), train[:1])["choose"]
    assert demo == {
        "passages": ["Nothing.", f"It is {wanted}."],
        "question": train[0].question,
        "count": 1,
        "selected": [2],
    }
    assert label_demos(Choosing(None), train[:1]) == {"choose": []}


def test_extracted_labels_stand_in_the_passage_that_they_name(rac: dspy.Module, train: list[Question]) -> None:
    demos = label_demos(rac, train)
    assert demos["extract"]
    for demo in demos["extract"]:
        cited = {int(reading["pid"]) for reading in demo["interpretations"]}
        assert len(demo["passages"]) == min(len(cited) + 1, rac.passages)  # one that answers nothing is left to see
        for reading in demo["interpretations"]:
            assert exact_presence([reading["answer"]], demo["passages"][int(reading["pid"]) - 1])
    by_question = {question.question: question for question in train}
    for demo in demos["write"]:
        assert demo["answer"] == by_question[demo["question"]].long_answers[0]


def test_verdicts_say_whether_the_passages_hold_the_answer(diva: dspy.Module, train: list[Question]) -> None:
    answers = {reading.question: reading.short_answers for question in train for reading in question.readings}
    demos = label_demos(diva, train)["verify"]
    for demo in demos:
        held = exact_presence(answers[demo["question"]], "\n".join(demo["passages"]))
        assert demo["answerable"] == ("Yes" if held else "No")
        assert len(demo["passages"]) == 2
    assert 0.3 <= sum(demo["answerable"] == "No" for demo in demos) / len(demos) <= 0.7


class Lean(dspy.Module):
    """Has the predictors that ask once for what others ask in several calls."""

    passages = 5

    def __init__(self, found: dict[str, list[Passage]]) -> None:
        super().__init__()
        self.clarify = dspy.Predict(ClarifyQuestion)
        self.verify = dspy.Predict(VerifyInterpretations)
        self.check = dspy.Predict(VerifyReadings)
        self.retrieve = found.__getitem__


@pytest.fixture
def lean(rac: dspy.Module, train: list[Question]) -> dict[str, list[dict[str, Any]]]:
    return label_demos(Lean({question.question: rac.retrieve(question.question) for question in train}), train)


def test_a_clarification_is_an_extraction_with_the_reference_answer(
    lean: dict[str, list[dict[str, Any]]], rac: dspy.Module, train: list[Question]
) -> None:
    extracted = {demo["question"]: demo for demo in label_demos(rac, train)["extract"]}
    answers = {question.question: question.long_answers for question in train}
    assert lean["clarify"]
    for demo in lean["clarify"]:
        assert demo == {**extracted[demo["question"]], "answer": answers[demo["question"]][0]}


def test_about_half_of_the_candidates_are_answered(
    lean: dict[str, list[dict[str, Any]]], train: list[Question]
) -> None:
    aliases = {reading.question: reading.short_answers for question in train for reading in question.readings}
    asked = answered = 0
    for demo in lean["verify"]:
        text = "\n".join(demo["passages"])
        held = [n for n, one in enumerate(demo["candidates"], 1) if exact_presence(aliases[one], text)]
        assert demo["answered"] == held
        asked, answered = asked + len(demo["candidates"]), answered + len(held)
    assert 0.3 < answered / asked < 0.8


def test_readings_that_do_not_hold_have_the_answer_of_another(
    lean: dict[str, list[dict[str, Any]]], train: list[Question]
) -> None:
    aliases = {reading.question: reading.short_answers for question in train for reading in question.readings}
    shown = wrong = 0
    for demo in lean["check"]:
        for number, reading in enumerate(demo["interpretations"], 1):
            assert exact_presence([reading["answer"]], demo["passages"][int(reading["pid"]) - 1])
            right = agree(reading["answer"], aliases[reading["question"]])
            assert right == (number in demo["supported"])
            shown, wrong = shown + 1, wrong + (not right)
    assert 0.2 < wrong / shown < 0.6


def test_what_no_reading_cites_stands_anywhere(rac: dspy.Module, train: list[Question]) -> None:
    last = []
    for demo in label_demos(rac, train)["extract"]:
        cited = {int(reading["pid"]) for reading in demo["interpretations"]}
        if len(cited) == len(demo["passages"]) - 1:
            last.append(len(demo["passages"]) not in cited)
    assert 0 < sum(last) < 0.6 * len(last)


def test_a_pool_holds_only_runs_that_the_metric_accepts(
    diva: dspy.Module, train: list[Question], embedded: dspy.LM, reader: Reader, tmp_path: Path
) -> None:
    strict, some, journal = AnswerMetric(reader, threshold=0.5), train[:4], tmp_path / "pool.jsonl"
    pool = bootstrap_pool(diva, some, lm=embedded, metric=strict, journal=journal, threads=2)
    good = sum(row["score"] >= 0.5 for row in ledger_rows(journal).values())
    assert 0 < good < len(some)
    assert len(pool["infer"]) == good
    assert all(set(demo) <= {"question", "reason", "pseudo_interpretations"} for demo in pool["infer"])
    nothing = AnswerMetric(reader, threshold=1.0)
    empty = bootstrap_pool(diva, train[:1], lm=embedded, metric=nothing, journal=tmp_path / "none.jsonl", threads=2)
    assert not any(empty.values())


def test_a_run_in_which_a_reply_was_lacking_gives_no_demo(
    diva: dspy.Module, train: list[Question], reader: Reader, tmp_path: Path
) -> None:
    lm = Failing(ExtractiveEngine(encoder=diva.encoder), "answerable", "?", prompts=1).lm()
    metric = AnswerMetric(reader, threshold=0.0)
    pool = bootstrap_pool(diva, train[:3], lm=lm, metric=metric, journal=tmp_path / "pool.jsonl", threads=1)
    assert {name: len(demos) for name, demos in pool.items() if name in ("classify", "infer")} == {
        "classify": 2,
        "infer": 2,
    }


def test_the_journal_of_another_pool_is_refused(
    rac: dspy.Module, train: list[Question], embedded: dspy.LM, reader: Reader, tmp_path: Path
) -> None:
    metric = AnswerMetric(reader)
    bootstrap_pool(rac, train[:2], lm=embedded, metric=metric, journal=tmp_path / "pool.jsonl", threads=2)
    with pytest.raises(PolyqaError, match="questions was"):
        bootstrap_pool(rac, train[:3], lm=embedded, metric=metric, journal=tmp_path / "pool.jsonl", threads=2)


def test_runs_that_failed_are_made_anew_and_are_no_pool_if_all_failed(
    rac: dspy.Module, train: list[Question], embedded: dspy.LM, reader: Reader, tmp_path: Path
) -> None:
    class Away(AnswerMetric):
        def of(self, example: dspy.Example, prediction: Any) -> float:
            raise ConnectionError("the server is away")

    journal, questions = tmp_path / "pool.jsonl", train[:2]
    broken, sound = (kind(reader, threshold=0.0) for kind in (Away, AnswerMetric))
    with pytest.raises(PolyqaError, match=r"Every run on the 2 training questions failed: .*server is away"):
        bootstrap_pool(rac, questions, lm=embedded, metric=broken, journal=journal, threads=2)
    pool = bootstrap_pool(rac, questions, lm=embedded, metric=sound, journal=journal, threads=2)
    assert {name: len(demos) for name, demos in pool.items()} == {"extract": 2, "write": 2}


def test_a_reference_answer_is_shown_beside_the_passages_that_its_readings_cite(
    rac: dspy.Module, train: list[Question]
) -> None:
    demos = label_demos(rac, train)
    assert demos["write"]
    shorter = 0
    for demo in demos["write"]:
        cited = {int(reading["pid"]) for reading in demo["interpretations"]}
        assert cited == set(range(1, len(demo["passages"]) + 1))
        for reading in demo["interpretations"]:
            assert exact_presence([reading["answer"]], demo["passages"][int(reading["pid"]) - 1])
        shorter += len(demo["passages"]) < rac.passages
    assert shorter


def test_a_passage_is_interpreted_or_abstains(verdict: dspy.Module, train: list[Question]) -> None:
    demos = label_demos(verdict, train)["interpret"]
    told = [demo for demo in demos if demo["interpretation"] != "null"]
    assert 0 < len(told) < len(demos) <= 2 * len(told)
    answers = {question.question: question for question in train}
    for demo in demos:
        everything = [alias for reading in answers[demo["question"]].readings for alias in reading.short_answers]
        if demo["interpretation"] == "null":
            assert demo["short_answer"] == "null"
            assert not exact_presence(everything, demo["passage"])
        else:
            assert exact_presence([demo["short_answer"]], demo["passage"])
            assert demo["interpretation"] in {reading.question for reading in answers[demo["question"]].readings}


def test_one_answer_is_located_and_settled_if_there_is_no_other(auto: dspy.Module, train: list[Question]) -> None:
    readings = {question.question: question.readings for question in train}
    demos = label_demos(auto, train)["locate"]
    assert {demo["settled"] for demo in demos} == {"Yes", "No"}
    for demo in demos:
        assert exact_presence([demo["short_answer"]], demo["passages"][int(demo["source"]) - 1])
        text = "\n".join(demo["passages"])
        held = [one for one in readings[demo["question"]] if exact_presence(one.short_answers, text)]
        assert (demo["settled"] == "Yes") == (len(held) == 1)
