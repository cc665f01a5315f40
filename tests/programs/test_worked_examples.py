"""The worked examples of DIVA's calls without passages, and of calls that read one passage."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError
from scripted_engine import ScriptedEngine, scripted_lm

from polyqa import signatures
from polyqa.base.values import AmbiguityType
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.text import holds, normalize_answer
from polyqa.programs.worked_examples import read_examples, worked_demos

Make = Callable[..., Any]
QUESTION = "When did Titanic come out?"
WORKED_EXAMPLES: list[dict[str, Any]] = read_examples("worked_examples")
PASSAGE_EXAMPLES: list[dict[str, Any]] = read_examples("passage_examples")
TYPING, INFERENCE = ("question", "reason", "ambiguity_types"), ("question", "reason", "pseudo_interpretations")
RECALL = ("question", "answer")


@pytest.mark.parametrize("name", ["diva", "dtv"])
def test_the_paper_s_diva_shows_five_to_the_calls_without_passages(name: str, make: Make) -> None:
    fields = {one: {tuple(demo) for demo in own.demos} for one, own in make(name, preset="paper").named_predictors()}
    assert {one: shown for one, shown in fields.items() if shown} == {
        "classify": {TYPING},
        "infer": {INFERENCE},
        "recall": {RECALL},
    }
    first, second = make(name, preset="paper"), make(name, preset="paper")
    first.classify.demos[0]["ambiguity_types"].clear()
    assert second.classify.demos[0]["ambiguity_types"] == ["AmbSub"], "what one program changes is its own"
    assert len(second.classify.demos) == len(WORKED_EXAMPLES) == 5


@pytest.mark.parametrize(("name", "preset"), [("diva", "lean"), ("dtv", "lean"), ("auto", "lean"), ("auto", "paper")])
def test_no_other_shows_any(name: str, preset: str, make: Make) -> None:
    assert not any(own.demos for _, own in make(name, preset=preset).named_predictors())


def test_every_kind_of_ambiguity_is_shown() -> None:
    shown = {kind for example in WORKED_EXAMPLES for kind in example["ambiguity_types"]}
    assert shown == set(AmbiguityType) - {AmbiguityType.NONE}
    assert sum(len(example["ambiguity_types"]) > 1 for example in WORKED_EXAMPLES) == 2


@pytest.mark.parametrize("example", WORKED_EXAMPLES, ids=lambda one: one["question"])
def test_an_example_is_whole(example: dict[str, Any]) -> None:
    assert 2 <= len(set(example["pseudo_interpretations"])) == len(example["pseudo_interpretations"]) <= 6
    assert example["question"] not in example["pseudo_interpretations"]
    assert not any(kind in example["reason"] for kind in AmbiguityType)  # the reason leads to the label
    assert example["answer"].count(". ") >= 2  # three sentences at least, as the instructions want


def test_no_example_is_a_shipped_question() -> None:
    shipped = {
        normalize_answer(text)
        for split in ("train", "dev", "test")
        for one in load_questions(f"homonyms/{split}")
        for text in (one.question, *(reading.question for reading in one.readings))
    }
    assert len(shipped) > 100
    for example in WORKED_EXAMPLES + PASSAGE_EXAMPLES:
        meant = [*example.get("pseudo_interpretations", ()), example.get("interpretation", "")]
        assert not shipped & {normalize_answer(text) for text in (example["question"], *meant)}, example["question"]


@pytest.mark.parametrize("example", PASSAGE_EXAMPLES, ids=lambda one: one["question"])
def test_an_example_of_a_passage_says_the_same_in_every_field(example: dict[str, Any]) -> None:
    answers = example["short_answer"] != "null"
    assert answers is (example["grade"] == "Correct") is (example["relevant"] == "Yes")
    if answers:
        assert holds(example["passage"], example["short_answer"])
        assert holds(example["segment"], example["short_answer"])
        meant = [{"question": example["interpretation"], "answer": example["short_answer"]}]
    else:
        assert example["interpretation"] == "null"
        assert example["segment"] == "None"
        meant = []
    assert example["readings"] == meant


def test_of_five_passages_two_do_not_answer() -> None:
    grades = [example["grade"] for example in PASSAGE_EXAMPLES]
    assert sorted(grades) == ["Ambiguous", "Correct", "Correct", "Correct", "Incorrect"]


CALLS = {
    signatures.TypeAmbiguity: ("question",),
    signatures.InferPseudoInterpretations: ("question", "reason"),
    signatures.AnswerClosedBook: ("question",),
    signatures.InterpretPassage: ("question", "passage"),
    signatures.GradePassage: ("question", "passage"),
    signatures.DraftSegment: ("question", "passage"),
}


@pytest.mark.parametrize("signature", CALLS, ids=lambda one: one.__name__)
def test_a_small_model_is_shown_examples_until_there_are_demos(signature: type[dspy.Signature], make: Make) -> None:
    predictor = make("rac").predictor(signature)
    asked = dict.fromkeys(CALLS[signature], "What is left?")
    lm = scripted_lm(ScriptedEngine(lambda _: "nothing that can be read"))

    def turns(takes: bool) -> int:
        lm.takes_grammar = takes
        with dspy.context(lm=lm), suppress(AdapterParseError):
            predictor(**asked)
        return len(lm.history[-1]["messages"])

    assert turns(True) == turns(False) + 2 * 5
    predictor.demos = worked_demos(signature)[:2]
    assert turns(True) == turns(False) == 2 + 2 * 2


def test_calls_of_other_kinds_have_no_examples(make: Make) -> None:
    with_examples = {one.signature for _, one in make("rac").named_predictors() if one.examples}
    assert not with_examples
    assert not worked_demos(signatures.AnswerFromPassage)


def test_a_signature_of_the_user_s_own_has_none(make: Make) -> None:
    assert not make("rac").predictor(dspy.Signature("question -> answer")).examples
    assert make("rac").predictor(signatures.AnswerClosedBook).examples


def test_the_embedded_engine_answers_as_without_them(make: Make, embedded: dspy.LM) -> None:
    with_examples, bare = make("diva", preset="paper"), make("diva", preset="paper")
    for predictor in (bare.classify, bare.infer, bare.recall):
        predictor.demos = []
    assert dict(with_examples(question=QUESTION).items()) == dict(bare(question=QUESTION).items())


@pytest.mark.parametrize("demos", [[], [{"question": "Who?", "reason": "Many.", "ambiguity_types": ["AmbSub"]}]])
def test_a_saved_program_keeps_what_it_had(demos: list[dict[str, Any]], make: Make, tmp_path: Path) -> None:
    program = make("diva", preset="paper")
    program.classify.demos = demos
    program.save(tmp_path / "program.json")
    loaded = make("diva", preset="paper", demos=tmp_path / "program.json")
    assert loaded.classify.demos == demos
    assert [dict(demo) for demo in loaded.infer.demos] == program.infer.demos
