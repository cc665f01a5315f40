"""Of many calls for a question one fails, or all of a kind: what is kept, and what the faults say."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import AuthError, Message, Request, Response, ServerError
from openai_server import serve

import polyqa
from polyqa.asking import ask
from polyqa.engines.extractive import AsyncExtractiveEngine, ExtractiveEngine
from polyqa.models import Models
from polyqa.programs import ask as ask_step
from polyqa.programs import ask_all, drive
from polyqa.programs.faults import Fault
from polyqa.programs.stand_ins import complete_readings, stand_in
from polyqa.programs.tries import Faults
from polyqa.questions import Questions
from polyqa.signatures import Coverage, ExtractInterpretations, Interpretation, LeanAdapter, WriteLongFormAnswer

Make = Callable[..., Any]
QUESTION = "When did Titanic come out?"
BRIDGE = "When was Tower Bridge opened?"
EMPTY, GARBAGE = "", '{"status": "ok"}'


def asks_for(request: Request, field: str) -> bool:
    """Return whether a prompt of `LeanAdapter` asks for an output field."""
    system = request.system if isinstance(request.system, str) else "".join(part.text for part in request.system or ())
    asked = system[system.rindex("You reply ") :]
    return any(line.removeprefix("## ").startswith(f"{field} (") for line in asked.splitlines())


class Failing:
    """The embedded engine, which fails where it is asked for a field.

    Parameters
    ----------
    field
        Of the calls that fail.
    how
        The text of the reply, or the error that is raised.
    prompts
        How many different prompts of that kind fail, always; all if not given.
    tries
        How many tries of each prompt fail.
    """

    def __init__(
        self,
        engine: ExtractiveEngine,
        field: str,
        how: str | Exception,
        *,
        prompts: int = 1_000,
        tries: int = 1_000,
    ) -> None:
        self.engine, self.field, self.how, self.prompts, self.tries = engine, field, how, prompts, tries
        self.failed: dict[str, int] = {}
        self.calls = 0
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        right = self.engine.complete(request)
        with self._lock:
            self.calls += 1
            if not asks_for(request, self.field):
                return right
            key = repr(request.messages)
            if key not in self.failed and len(self.failed) >= self.prompts:
                return right
            self.failed[key] = self.failed.get(key, 0) + 1
            if self.failed[key] > self.tries:
                return right
        if isinstance(self.how, Exception):
            raise self.how
        return Response(
            id=None, model=right.model, message=Message.assistant(self.how), finish_reason="stop", usage=right.usage
        )

    def lm(self) -> dspy.LM:
        background = AsyncExtractiveEngine(self)
        return dspy.LM("polyqa/extractive", engine=self, async_engine=background, cache=False, num_retries=0)


CUT = '[{"question": "When did the musical Titanic open?", "answer": "23 April 1997"}, {"question": "When d'


# program, settings, the field whose calls fail, how, prompts that fail: what stands in, and what the prediction holds
KEPT: list[Any] = [
    (
        "diva",
        {},
        "ambiguity_types",
        GARBAGE,
        1,
        "no kind of ambiguity",
        lambda p: p.ambiguity == [] and p.interpretations,
    ),
    ("diva", {}, "pseudo_interpretations", EMPTY, 1, "only pseudo", lambda p: p.pseudo_interpretations == [QUESTION]),
    (
        "diva",
        {},
        "answerable",
        GARBAGE,
        1,
        "counted as No",
        lambda p: p.verdicts.count(False) >= 1 and p.interpretations,
    ),
    ("diva", {}, "interpretations", GARBAGE, 1, "no reading", lambda p: p.interpretations == [] and p.answer),
    ("diva", {}, "interpretations", CUT, 1, "1 complete reading is kept", lambda p: len(p.interpretations) == 1),
    ("diva", {}, "answer", EMPTY, 1, "lists the readings", lambda p: p.interpretations[0].answer in p.answer),
    ("diva", {"preset": "lean"}, "answered", GARBAGE, 1, "nothing was verified", lambda p: len(p.interpretations) > 1),
    ("auto", {"preset": "lean"}, "supported", GARBAGE, 1, "nothing was verified", lambda p: len(p.interpretations) > 1),
    ("auto", {}, "short_answer", GARBAGE, 1, "no answer was located", lambda p: len(p.interpretations) > 1),
    ("verdict", {}, "short_answer", EMPTY, 1, "abstaining", lambda p: p.interpretations),
    ("verdict", {}, "relaxed_query", EMPTY, 1, "the question itself", lambda p: p.interpretations),
    ("crag", {}, "grade", GARBAGE, 1, "counts as Ambiguous", lambda p: "Ambiguous" in p.grades and p.interpretations),
    ("jpr", {}, "selected", GARBAGE, 1, "best-ranked", lambda p: p.selected == [] and p.interpretations),
    ("self-rag", {}, "needs_passages", GARBAGE, 1, "are looked up", lambda p: p.retrieved and p.interpretations),
    ("self-rag", {}, "segment", GARBAGE, 1, "not relevant", lambda p: p.interpretations),
    ("self-rag", {}, "usefulness", GARBAGE, 1, "not supported", lambda p: "No" in p.supports),
    ("toc", {}, "fitting", GARBAGE, 1, "counted as No", lambda p: p.interpretations),
    ("toc", {}, "interpretations", GARBAGE, 1, "no reading", lambda p: p.answer),
    ("dtv", {}, "answerable", GARBAGE, 1, "counted as No", lambda p: p.interpretations),
    ("sixpaq", {}, "kept", GARBAGE, 1, "no generated question", lambda p: p.interpretations),
    ("query-refinement", {}, "refinements", GARBAGE, 1, "no reading", lambda p: p.answer),
]


@pytest.mark.parametrize(
    ("name", "settings", "field", "how", "prompts", "became", "kept"),
    KEPT,
    ids=[f"{row[0]}-{row[2]}-{row[3][:4] or 'empty'}" for row in KEPT],
)
def test_one_bad_reply_loses_one_thing(
    name: str,
    settings: dict[str, Any],
    field: str,
    how: str,
    prompts: int,
    became: str,
    kept: Callable[[Any], Any],
    make: Make,
    engine: ExtractiveEngine,
) -> None:
    failing = Failing(engine, field, how, prompts=prompts)
    with dspy.context(lm=failing.lm()):
        prediction = make(name, **settings)(question=BRIDGE if name == "sixpaq" else QUESTION)
    assert kept(prediction)
    (fault,) = prediction.faults
    assert became in fault.became
    assert list(failing.failed.values()) == [2]  # asked once more, and no oftener
    assert fault.reply == how
    assert fault.step in dict(make(name, **settings).named_predictors())


@pytest.mark.parametrize("how", [EMPTY, GARBAGE, ServerError("overloaded")], ids=["empty", "garbage", "server"])
@pytest.mark.parametrize("name", ["diva", "auto", "verdict", "crag", "toc", "self-rag"])
def test_what_is_mended_by_asking_again_leaves_no_trace(
    name: str, how: Any, make: Make, engine: ExtractiveEngine, embedded: dspy.LM
) -> None:
    program = make(name)
    right = dict(program(question=QUESTION).items())
    for field in {list(one.signature.output_fields)[-1] for _, one in program.named_predictors()} - {"answer"}:
        with dspy.context(lm=Failing(engine, field, how, tries=1).lm()):
            assert dict(program(question=QUESTION).items()) == right
        with dspy.context(lm=Failing(engine, field, how, tries=1).lm()):
            assert dict(asyncio.run(program.acall(question=QUESTION)).items()) == right


def test_diva_without_any_verdict_answers_from_memory(make: Make, engine: ExtractiveEngine) -> None:
    with dspy.context(lm=Failing(engine, "answerable", GARBAGE).lm()):
        prediction = make("diva")(question=QUESTION)
    assert prediction.coverage is Coverage.USELESS
    assert len(prediction.faults) == len(prediction.verdicts) > 1


@pytest.mark.parametrize("field", ["answer", "interpretations"])
def test_a_question_without_any_answer_fails_and_names_the_step(
    field: str, make: Make, engine: ExtractiveEngine
) -> None:
    program = make("rac", preset="lean")
    with dspy.context(lm=Failing(engine, field, GARBAGE).lm()), pytest.raises(Exception, match="reply") as caught:
        program(question=QUESTION)
    assert caught.value.__notes__ == ["step clarify, field interpretations"]


@pytest.mark.parametrize("error", [AuthError("bad key"), TypeError("a bug")], ids=["key", "bug"])
def test_what_no_second_try_mends_is_raised_at_once(error: Exception, make: Make, engine: ExtractiveEngine) -> None:
    failing = Failing(engine, "answerable", error, prompts=1)
    program = make("diva")
    if isinstance(error, TypeError):
        program.verify.forward = lambda **inputs: (_ for _ in ()).throw(error)
        failing.how = ""
    with dspy.context(lm=failing.lm()), pytest.raises(Exception, match=r"bad key|a bug"):
        program(question=QUESTION)
    assert all(times == 1 for times in failing.failed.values())


def test_an_unreadable_reply_is_not_replayed_from_the_cache(make: Make, engine: ExtractiveEngine) -> None:
    failing = Failing(engine, "answered", GARBAGE)
    with serve(failing) as server:
        remote = dspy.LM(
            "openai/polyqa-extractive",
            api_base=server.base,
            api_key="none",
            cache=True,
            temperature=0.31,
            num_retries=0,
        )
        program = make("diva", preset="lean")
        with dspy.context(lm=remote):
            broken = program(question=QUESTION)
            failing.tries = 0
            before = len(server.requests)
            mended = program(question=QUESTION)
    assert len(broken.faults) == 1
    assert mended.faults == []
    assert len(server.requests) == before + 1  # the others are in the cache, and so is the bad reply


def test_the_result_and_its_json_tell_the_faults(make: Make, engine: ExtractiveEngine) -> None:
    result = ask(QUESTION, program=make("verdict"), lm=Failing(engine, "short_answer", EMPTY, prompts=1).lm())
    (fault,) = result.faults
    assert isinstance(fault, Fault)
    assert str(fault) == "interpret: the reply was empty; the passage counts as abstaining"
    assert result.to_dict()["faults"] == [fault.to_dict()]
    assert "faults" not in result.extra


def test_a_failed_call_leaves_no_demo_in_the_trace(make: Make, engine: ExtractiveEngine) -> None:
    with dspy.context(lm=Failing(engine, "answerable", GARBAGE, prompts=1).lm(), trace=[]):
        prediction = make("diva")(question=QUESTION)
        traced = [list(outputs.keys()) for _, _, outputs in dspy.settings.trace]
    assert traced.count(["answerable"]) == len(prediction.verdicts) - 1


def test_faults_stand_in_the_order_of_the_calls(engine: ExtractiveEngine) -> None:
    predictors = [dspy.Predict(ExtractInterpretations), dspy.Predict(ExtractInterpretations)]
    names = {id(predictor): name for predictor, name in zip(predictors, ("first", "second"), strict=True)}

    def steps() -> Any:
        given = {"passages": ["A | B."], "question": QUESTION}
        yield from ask_all([(predictor, given) for predictor in predictors])
        return (yield from ask_step(predictors[0], **given)).interpretations

    faults = Faults(names)
    lm = Failing(engine, "interpretations", GARBAGE).lm()
    with dspy.context(lm=lm, adapter=LeanAdapter()):
        assert drive(steps(), faults=faults) == []
    assert [fault.step for fault in faults.found] == ["first", "second", "first"]


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ("", []),
        ("Sorry.", []),
        ('[{"question": "In 1998?", "answer": "France", "pid": "1"}, {"question": "In', ["France"]),
        ('```json\n[{"question": "In 1998?", "answer": "France"},\n{"question": "In 2002?", "answer": "Br', ["France"]),
        ("1. In 1998? | France [1]\n2. In 2002? | Brazil [2]\n3. In 20", ["France", "Brazil"]),
        ('{"interpretations": [{"question": "In 1998?", "answer": "France"}, {"question"', ["France"]),
    ],
)
def test_complete_readings_of_a_reply_that_breaks_off(reply: str, answers: list[str]) -> None:
    assert [one.answer for one in complete_readings(reply)] == answers


def test_nothing_stands_in_for_signatures_of_others_or_answers_from_nothing() -> None:
    assert stand_in(dspy.Signature("question -> answer"), {"question": "Why?"}, "") is None
    assert stand_in(WriteLongFormAnswer, {"interpretations": []}, "") is None
    reading = Interpretation(question="Who won in 1998?", answer="France.")
    found = stand_in(WriteLongFormAnswer, {"interpretations": [reading]}, "")
    assert found is not None
    assert found.fields == {"answer": "Who won in 1998? France."}


def test_a_run_counts_the_questions_with_faults(make: Make, engine: ExtractiveEngine, tmp_path: Path) -> None:
    lm = Failing(engine, "answerable", GARBAGE, prompts=1).lm()
    run = polyqa.evaluate(
        make("diva"),
        Questions("homonyms/dev", limit=2),
        models=Models(lm=lm, judge=None),
        folder=tmp_path / "run",
        threads=1,
    )
    assert [len(record.extra.get("faults", [])) for record in run.records] == [1, 0]
    assert str(run) == "2 questions, 0 failed, 1 with replies that could not be had"
    summary = json.loads((run.path / "summary.json").read_text(encoding="utf-8"))
    assert (summary["failed"], summary["with_faults"]) == (0, 1)
