"""Of many calls for a question one fails, or all of a kind: what each program keeps."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from failing_engine import Failing
from scripted_engine import ScriptedEngine, scripted_lm
from usual_replies import USUAL

import polyqa
from polyqa.asking import ask
from polyqa.base.values import Coverage
from polyqa.extractive.prompt import Prompt
from polyqa.language_models import Models
from polyqa.lm.attempts import FailedCall
from polyqa.question_sets import Questions

Make = Callable[..., Any]
QUESTION = "When did Titanic come out?"
BRIDGE = "When was Tower Bridge opened?"
EMPTY, GARBAGE = "", '{"status": "ok"}'
CUT = '[{"question": "When did the musical Titanic open?", "answer": "23 April 1997"}, {"question": "When d'
PAPER = {"preset": "paper"}


# program, settings, the field whose calls fail, how: the fallback in words, and what the prediction holds
KEPT: list[tuple[str, dict[str, Any], str, str, str, Callable[[Any], Any]]] = [
    ("diva", {}, "ambiguity_types", GARBAGE, "no kind of ambiguity", lambda p: p.ambiguity == [] and p.interpretations),
    ("diva", {}, "pseudo_interpretations", EMPTY, "only pseudo", lambda p: p.pseudo_interpretations == [QUESTION]),
    ("diva", PAPER, "answerable", GARBAGE, "counted as No", lambda p: p.verdicts.count(False) == 1),
    ("diva", PAPER, "interpretations", GARBAGE, "no reading", lambda p: p.interpretations == [] and p.answer),
    ("diva", PAPER, "interpretations", CUT, "1 complete reading is kept", lambda p: len(p.interpretations) == 1),
    ("diva", PAPER, "answer", EMPTY, "lists the readings", lambda p: p.interpretations[0].answer in p.answer),
    ("diva", {}, "answered", GARBAGE, "nothing was verified", lambda p: len(p.interpretations) > 1),
    ("diva", {}, "interpretations", GARBAGE, "no reading is taken", lambda p: p.answer and not p.interpretations),
    ("auto", {}, "supported", GARBAGE, "nothing was verified", lambda p: len(p.interpretations) > 1),
    ("auto", {}, "short_answer", GARBAGE, "no answer was located", lambda p: len(p.interpretations) > 1),
    ("auto", {}, "interpretations", GARBAGE, "no reading is taken from it", lambda p: len(p.interpretations) == 1),
    ("verdict", {}, "short_answer", EMPTY, "abstaining", lambda p: p.interpretations),
    ("verdict", {}, "relaxed_query", EMPTY, "the question itself", lambda p: p.interpretations),
    ("crag", {}, "grade", GARBAGE, "counts as Ambiguous", lambda p: "Ambiguous" in p.grades and p.interpretations),
    ("jpr", {}, "selected", GARBAGE, "best-ranked", lambda p: p.selected == [] and p.interpretations),
    ("self-rag", PAPER, "needs_passages", GARBAGE, "are looked up", lambda p: p.retrieved and p.interpretations),
    ("self-rag", {}, "segment", GARBAGE, "not relevant", lambda p: p.interpretations),
    ("self-rag", {}, "usefulness", GARBAGE, "not supported", lambda p: "No" in p.supports),
    ("toc", {}, "fitting", GARBAGE, "counted as No", lambda p: p.interpretations),
    ("toc", {}, "interpretations", GARBAGE, "no reading", lambda p: p.answer),
    ("dtv", PAPER, "answerable", GARBAGE, "counted as No", lambda p: p.interpretations),
    ("dtv", {}, "answered", GARBAGE, "nothing was verified", lambda p: p.interpretations),
    ("dtv", {}, "interpretations", GARBAGE, "no reading is taken", lambda p: p.answer and not p.interpretations),
    ("sixpaq", {}, "kept", GARBAGE, "no generated question", lambda p: p.interpretations),
    ("query-refinement", {}, "refinements", GARBAGE, "no reading", lambda p: p.answer),
]


@pytest.mark.parametrize(
    ("name", "settings", "field", "how", "became", "holds"),
    KEPT,
    ids=[f"{row[0]}-{row[2]}-{row[3][:4] or 'empty'}" for row in KEPT],
)
def test_one_bad_reply_loses_one_thing(
    name: str,
    settings: dict[str, Any],
    field: str,
    how: str,
    became: str,
    holds: Callable[[Any], Any],
    make: Make,
    usual: ScriptedEngine,
) -> None:
    failing, program = Failing(usual, field, how, prompts=1), make(name, **settings)
    with dspy.context(lm=failing.lm()):
        prediction = program(question=BRIDGE if name == "sixpaq" else QUESTION)
    assert holds(prediction)
    (failed,) = prediction.faults
    assert became in failed.became
    assert list(failing.failed.values()) == [2]  # asked once more, and no oftener
    assert failed.reply == how
    assert failed.step in dict(program.named_predictors())


def test_diva_without_any_verdict_answers_from_memory(make: Make, usual: ScriptedEngine) -> None:
    with dspy.context(lm=Failing(usual, "answerable", GARBAGE).lm(), trace=[]):
        prediction = make("diva", preset="paper")(question=QUESTION)
        assert not any("answerable" in outputs for _, _, outputs in dspy.settings.trace), "no demo is made of it"
    assert prediction.coverage is Coverage.USELESS
    assert len(prediction.faults) == len(prediction.verdicts) == 2


@pytest.mark.parametrize("awaited", [False, True])
def test_diva_tells_the_answer_from_useless_passages_where_memory_fails(awaited: bool, make: Make) -> None:
    def reply(prompt: Prompt) -> dict[str, object] | str:
        if prompt.output_fields == ("answer",):  # from memory
            return EMPTY
        return {name: USUAL[name] for name in prompt.output_fields} | {"answered": []}

    diva = make("diva")
    with dspy.context(lm=scripted_lm(ScriptedEngine(reply))):
        prediction = asyncio.run(diva.acall(question=QUESTION)) if awaited else diva(question=QUESTION)
    (failed,) = prediction.faults
    assert (failed.step, failed.became) == ("recall", "the answer comes from the passages after all")
    assert prediction.coverage is Coverage.USELESS
    assert [reading.answer for reading in prediction.interpretations] == ["23 April 1997", "April 1953"]
    assert prediction.answer == USUAL["answer"]


def test_the_result_and_its_json_tell_the_failed_calls(make: Make, usual: ScriptedEngine) -> None:
    result = ask(QUESTION, program=make("verdict"), lm=Failing(usual, "short_answer", EMPTY, prompts=1).lm())
    (failed,) = result.faults
    assert isinstance(failed, FailedCall)
    assert str(failed) == "interpret: the reply was empty; the passage counts as abstaining"
    assert result.to_dict()["faults"] == [failed.to_dict()]
    assert "faults" not in result.extra


def test_a_run_counts_the_questions_with_failed_calls(make: Make, usual: ScriptedEngine, tmp_path: Path) -> None:
    run = polyqa.evaluate(
        make("diva"),
        Questions("homonyms/dev", limit=2),
        models=Models(lm=Failing(usual, "answered", GARBAGE, prompts=1).lm(), judge=None),
        folder=tmp_path / "run",
        threads=1,
    )
    assert [len(record.extra.get("faults", [])) for record in run.records] == [1, 0]
    assert str(run) == "2 questions, 0 failed, 1 with replies that could not be had"
    summary = json.loads((run.path / "summary.json").read_text(encoding="utf-8"))
    assert (summary["failed"], summary["with_faults"]) == (0, 1)


def test_verdict_takes_no_refusal_for_a_reading(make: Make, usual: ScriptedEngine) -> None:
    refusal = "## interpretation\nI'm sorry, but I can't tell.\n## short_answer\nUnknown to me"
    with dspy.context(lm=Failing(usual, "interpretation", refusal, prompts=3).lm()):
        result = make("verdict")(question=QUESTION)
    assert result.abstained == 3
    assert not any("sorry" in one.question for one in (*result.interpretations, *result.outliers))
