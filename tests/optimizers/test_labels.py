import re
from dataclasses import replace
from typing import Any

import dspy
import pytest

import polyqa
from polyqa.base.values import AmbiguityType, Passage
from polyqa.metrics.exact_presence import exact_presence
from polyqa.metrics.gold import Question, Reading
from polyqa.optimizers.labels import label_demos
from polyqa.signatures import ClarifyQuestion


def test_labels_fill_every_predictor_that_they_can(diva: dspy.Module, train: list[Question]) -> None:
    demos = label_demos(diva, train)
    assert set(demos) == {name for name, _ in diva.named_predictors()}
    assert [demo["answer"] for demo in demos["recall"]] == [question.long_answers[0] for question in train]
    assert len(demos["classify"]) == len(demos["infer"]) == len(train)
    assert demos["verify"] == []  # the paper shows none
    for question, demo in zip(train, demos["infer"], strict=True):
        assert demo["pseudo_interpretations"] == [reading.question for reading in question.readings]
    for demo in demos["classify"]:
        assert demo["ambiguity_types"][0] in set(AmbiguityType)
        assert not any(str(kind) in demo["reason"] for kind in AmbiguityType)  # the reason comes before the label


def test_kinds_of_ambiguity_of_a_data_sets_own_are_no_labels(diva: dspy.Module, train: list[Question]) -> None:
    own = replace(train[0], ambiguity="homonym")
    demos = label_demos(diva, [own, replace(own, readings=own.readings[:1])])
    assert [demo["ambiguity_types"] for demo in demos["classify"]] == [["N/A"]]
    assert len(demos["infer"]) == 2


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
    reference = {question.question: question.long_answers[0] for question in train}
    for name, spare in (("extract", 1), ("write", 0)):  # to see: one that answers nothing; nothing that is not cited
        assert demos[name]
        for demo in demos[name]:
            cited = {int(reading["pid"]) for reading in demo["interpretations"]}
            assert len(demo["passages"]) == min(len(cited) + spare, rac.passages)
            for reading in demo["interpretations"]:
                assert exact_presence([reading["answer"]], demo["passages"][int(reading["pid"]) - 1])
            assert demo.get("answer") == (reference[demo["question"]] if name == "write" else None)
    assert any(len(demo["passages"]) < rac.passages for demo in demos["write"])


class Lean(dspy.Module):
    """Has the predictor that asks once for what others ask in several calls."""

    passages = 5

    def __init__(self, found: dict[str, list[Any]]) -> None:
        super().__init__()
        self.clarify = dspy.Predict(ClarifyQuestion)
        self.retrieve = found.__getitem__


def test_a_clarification_is_an_extraction_with_the_reference_answer(rac: dspy.Module, train: list[Question]) -> None:
    made = label_demos(Lean({question.question: rac.retrieve(question.question) for question in train}), train)
    extracted = {demo["question"]: demo for demo in label_demos(rac, train)["extract"]}
    answers = {question.question: question.long_answers for question in train}
    assert made["clarify"]
    for demo in made["clarify"]:
        assert demo == {**extracted[demo["question"]], "answer": answers[demo["question"]][0]}


def test_rows_that_a_program_retrieves_are_shown_by_their_texts(rac: dspy.Module, train: list[Question]) -> None:
    texts = {question.question: [one.text for one in rac.retrieve(question.question)] for question in train}
    rows = {question: [{"text": text, "page": 7} for text in found] for question, found in texts.items()}
    assert label_demos(Lean(rows), train) == label_demos(Lean(texts), train)


def test_where_no_long_answer_is_given_the_sentences_of_the_passages_stand_for_one(
    rac: dspy.Module, train: list[Question]
) -> None:
    bare = [replace(question, long_answers=()) for question in train]
    lean = Lean({question.question: rac.retrieve(question.question) for question in train})
    made = label_demos(lean, bare)["clarify"]
    assert len(made) >= len(train) - 1
    for demo in made:
        assert all(exact_presence([one["answer"]], demo["answer"]) for one in demo["interpretations"])
        quoted = " ".join(demo["passages"])
        parts = [part.partition(": ") for part in re.split(r"(?<=[.!?]) ", demo["answer"])]
        assert any((rest or first) in quoted for first, _, rest in parts)
    drafts = label_demos(polyqa.load("self-rag", preset="paper"), bare)["draft"]
    assert any(demo["segment"] != "None" for demo in drafts)


def test_an_answer_that_no_sentence_holds_gives_no_demo() -> None:
    question = Question("1", "When did Titanic come out?", (Reading("When did the film Titanic come out?", ("1997",)),))
    for text, demos in (("Titanic is a film of 1997.", 1), ("Titanic is a film by James Cameron.", 0)):
        found = {question.question: [Passage(pid="1", title="Titanic (1997 film)", text=text)]}
        assert len(label_demos(Lean(found), [question])["clarify"]) == demos


def test_what_no_reading_cites_stands_anywhere(rac: dspy.Module, train: list[Question]) -> None:
    last = []
    for demo in label_demos(rac, train)["extract"]:
        cited = {int(reading["pid"]) for reading in demo["interpretations"]}
        if len(cited) == len(demo["passages"]) - 1:
            last.append(len(demo["passages"]) not in cited)
    assert 0 < sum(last) < 0.6 * len(last)


def test_a_passage_is_interpreted_or_abstains(train: list[Question]) -> None:
    demos = label_demos(polyqa.load("verdict"), train)["interpret"]
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


def test_one_answer_is_located_and_settled_if_there_is_no_other(train: list[Question]) -> None:
    readings = {question.question: question.readings for question in train}
    demos = label_demos(polyqa.load("auto", preset="paper"), train)["locate"]
    assert {demo["settled"] for demo in demos} == {"Yes", "No"}
    for demo in demos:
        assert exact_presence([demo["short_answer"]], demo["passages"][int(demo["source"]) - 1])
        text = "\n".join(demo["passages"])
        held = [one for one in readings[demo["question"]] if exact_presence(one.short_answers, text)]
        assert (demo["settled"] == "Yes") == (len(held) == 1)


TEXTS = ["Nothing.", "It came out in 1997."]


class Texts(dspy.Module):
    """Retrieves in its own way; what it calls passages is no number."""

    def __init__(self, found: Any) -> None:
        super().__init__()
        self.passages = TEXTS
        self.retrieve = lambda question: found
        self.clarify = dspy.Predict(ClarifyQuestion)


@pytest.mark.parametrize("found", [TEXTS, dspy.Prediction(passages=TEXTS)], ids=["texts", "prediction"])
def test_a_program_may_retrieve_texts(found: Any) -> None:
    question = Question("1", "When did Titanic come out?", (Reading("When did the film Titanic come out?", ("1997",)),))
    (demo,) = label_demos(Texts(found), [question])["clarify"]
    assert sorted(demo["passages"]) == sorted(TEXTS)
    assert demo["interpretations"][0]["answer"] == "1997"


@pytest.mark.parametrize(
    ("found", "shown"),
    [("It came out in 1997.", [["It came out in 1997."]]), (None, []), (dspy.Prediction(context=TEXTS), [])],
    ids=["one text", "nothing", "a prediction of something else"],
)
def test_one_text_is_one_passage_and_nothing_is_none(found: Any, shown: list[list[str]]) -> None:
    question = Question("1", "When did Titanic come out?", (Reading("When did the film Titanic come out?", ("1997",)),))
    assert [list(demo["passages"]) for demo in label_demos(Texts(found), [question])["clarify"]] == shown
