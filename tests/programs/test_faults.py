"""Of many calls for a question one fails, or all of a kind: what is kept, and what the faults say."""

import asyncio
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.clients.cache import Cache
from dspy.lm15 import AuthError, RateLimitError, ServerError, TimeoutError, TransportError
from dspy.utils.exceptions import AdapterParseError, LMError, LMTransportError
from failing_engine import Failing
from openai_server import Wire, completion, serve
from scripted_engine import ScriptedEngine, last_message, scripted_lm

import polyqa
from polyqa.asking import ask
from polyqa.base.values import Coverage, Interpretation
from polyqa.extractive import ExtractiveEngine
from polyqa.language_models import Models
from polyqa.lm.adapter import LeanAdapter
from polyqa.programs import ask as ask_step
from polyqa.programs import ask_all, drive
from polyqa.programs.faults import Fault
from polyqa.programs.stand_ins import StandIn, complete_readings, stand_in
from polyqa.programs.tries import Call, Faults
from polyqa.question_sets import Questions
from polyqa.signatures import AnswerClosedBook, DraftSegment, ExtractInterpretations, WriteLongFormAnswer

Make = Callable[..., Any]
QUESTION = "When did Titanic come out?"
BRIDGE = "When was Tower Bridge opened?"
EMPTY, GARBAGE = "", '{"status": "ok"}'
PAPER = {"preset": "paper"}


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
        PAPER,
        "answerable",
        GARBAGE,
        1,
        "counted as No",
        lambda p: p.verdicts.count(False) >= 1 and p.interpretations,
    ),
    ("diva", PAPER, "interpretations", GARBAGE, 1, "no reading", lambda p: p.interpretations == [] and p.answer),
    ("diva", PAPER, "interpretations", CUT, 1, "1 complete reading is kept", lambda p: len(p.interpretations) == 1),
    ("diva", PAPER, "answer", EMPTY, 1, "lists the readings", lambda p: p.interpretations[0].answer in p.answer),
    ("diva", {}, "answered", GARBAGE, 1, "nothing was verified", lambda p: len(p.interpretations) > 1),
    ("auto", {}, "supported", GARBAGE, 1, "nothing was verified", lambda p: len(p.interpretations) > 1),
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
    ("dtv", PAPER, "answerable", GARBAGE, 1, "counted as No", lambda p: p.interpretations),
    ("dtv", {}, "answered", GARBAGE, 1, "nothing was verified", lambda p: p.interpretations),
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
        prediction = make("diva", preset="paper")(question=QUESTION)
    assert prediction.coverage is Coverage.USELESS
    assert len(prediction.faults) == len(prediction.verdicts) > 1


@pytest.mark.parametrize("field", ["answer", "interpretations"])
def test_a_question_without_any_answer_fails_and_names_the_step(
    field: str, make: Make, engine: ExtractiveEngine
) -> None:
    program = make("rac")
    with dspy.context(lm=Failing(engine, field, GARBAGE).lm()), pytest.raises(Exception, match="reply") as caught:
        program(question=QUESTION)
    assert caught.value.__notes__ == ["step clarify, field interpretations"]


@pytest.mark.parametrize("error", [AuthError("bad key"), TypeError("a bug")], ids=["key", "bug"])
def test_what_no_second_try_mends_is_raised_at_once(error: Exception, make: Make, engine: ExtractiveEngine) -> None:
    failing = Failing(engine, "answered", error, prompts=1)
    program = make("diva")
    if isinstance(error, TypeError):
        program.verify.forward = lambda **inputs: (_ for _ in ()).throw(error)
        failing.how = ""
    with dspy.context(lm=failing.lm()), pytest.raises(Exception, match=r"bad key|a bug"):
        program(question=QUESTION)
    assert all(times == 1 for times in failing.failed.values())


@pytest.mark.parametrize("tries", [1, 2], ids=["mended by the second try", "not mended"])
def test_an_unreadable_reply_is_not_replayed_from_the_cache(
    tries: int, make: Make, engine: ExtractiveEngine, own_cache: Cache
) -> None:
    failing = Failing(engine, "answered", GARBAGE, tries=tries)
    program = make("diva")
    with serve(failing) as server:
        remote = dspy.LM("openai/polyqa-extractive", api_base=server.base, api_key="none", num_retries=0)
        sent, faults = [], []
        for _ in range(3):  # as if each were a process of its own
            own_cache.reset_memory_cache()
            before = len(server.requests)
            with dspy.context(lm=remote):
                faults.append(len(program(question=QUESTION).faults))
            sent.append(len(server.requests) - before)
    # What was answered well is not sent again, be it by a second try.
    assert (sent[1:], faults) == ([tries - 1, 0], [tries - 1, 0, 0])


def test_the_result_and_its_json_tell_the_faults(make: Make, engine: ExtractiveEngine) -> None:
    result = ask(QUESTION, program=make("verdict"), lm=Failing(engine, "short_answer", EMPTY, prompts=1).lm())
    (fault,) = result.faults
    assert isinstance(fault, Fault)
    assert str(fault) == "interpret: the reply was empty; the passage counts as abstaining"
    assert result.to_dict()["faults"] == [fault.to_dict()]
    assert "faults" not in result.extra


def test_a_failed_call_leaves_no_demo_in_the_trace(make: Make, engine: ExtractiveEngine) -> None:
    with dspy.context(lm=Failing(engine, "answerable", GARBAGE, prompts=1).lm(), trace=[]):
        prediction = make("diva", preset="paper")(question=QUESTION)
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


@pytest.mark.slow
def test_a_run_counts_the_questions_with_faults(make: Make, engine: ExtractiveEngine, tmp_path: Path) -> None:
    lm = Failing(engine, "answered", GARBAGE, prompts=1).lm()
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


LOST = [
    ("empty", Wire(completion(""))),
    ("null", Wire(completion(None))),
    ("no choices", Wire(completion("").replace('"choices": [{', '"choices": [], "others": [{'))),
    ("filtered", Wire(completion("", "content_filter"))),
    ("garbage", Wire(completion("```\n{]"))),
    ("deep", Wire(completion("[" * 3_000))),
    ("excuse", Wire(completion("I am sorry, but I cannot help with that."))),
    ("HTML", Wire("<html>Please log in</html>", content_type="text/html")),
    ("half of the JSON", Wire(completion("Yes")[:70])),
    ("500", Wire('{"error": {"message": "boom"}}', 500)),
    ("502", Wire("<html>bad gateway</html>", 502, "text/html")),
    ("429", Wire('{"error": {"message": "slow down"}}', 429)),
    ("reset", Wire(None)),
]


@pytest.mark.parametrize(
    ("name", "settings", "field", "became"),
    [
        ("crag", {}, "grade", "the passage counts as Ambiguous"),
        ("verdict", {"universe": 8}, "interpretation", "the passage counts as abstaining"),
    ],
)
@pytest.mark.parametrize(("kind", "wire"), LOST, ids=[kind for kind, _ in LOST])
def test_whatever_the_server_sends_for_one_call_loses_one_thing(
    kind: str,
    wire: Wire,
    name: str,
    settings: dict[str, Any],
    field: str,
    became: str,
    make: Make,
    engine: ExtractiveEngine,
) -> None:
    failing = Failing(engine, field, wire, prompts=1)
    with serve(failing) as server:
        remote = dspy.LM("openai/e", api_base=server.base, api_key="none", num_retries=0, cache=False)
        with dspy.context(lm=remote):
            prediction = make(name, **settings)(question=QUESTION)
    assert [fault.became for fault in prediction.faults] == [became]
    assert prediction.interpretations
    assert list(failing.failed.values()) == [2]


class Silent(dspy.Module):
    """Gets no reply; at once, or after the given seconds the one that is given."""

    def __init__(self, seconds: float = 0.0, reply: str | None = None) -> None:
        super().__init__()
        self.seconds, self.reply, self.asked = seconds, reply, 0

    def forward(self) -> dspy.Prediction:
        self.asked += 1
        time.sleep(self.seconds)
        if self.reply is None:
            raise LMTransportError("connection reset", model="m")
        return dspy.Prediction(answer=self.reply)


@pytest.mark.parametrize("reply", ["late", None])
def test_whether_the_server_is_down_is_known_when_all_calls_of_a_step_have_ended(reply: str | None) -> None:
    """A call that was lost twice before the first reply came ends no question in which others are answered."""
    quick, slow, faults = Silent(), Silent(0.3, reply), Faults()
    calls = [Call(one, {}, StandIn({"answer": "stands in"}, "nothing")) for one in (quick, slow)]
    if reply is None:
        with pytest.raises(LMTransportError):
            drive(ask_all(calls), faults=faults)
    else:
        assert [one.answer for one in drive(ask_all(calls), faults=faults)] == ["stands in", "late"]
        assert [fault.became for fault in faults.found] == ["nothing"]
    assert quick.asked == 2


@pytest.mark.parametrize(
    ("status", "code"), [(401, "bad"), (403, "bad"), (404, "model_not_found"), (400, "context_length_exceeded")]
)
def test_what_asking_again_does_not_mend_is_asked_once(
    status: int, code: str, make: Make, engine: ExtractiveEngine
) -> None:
    wire = Wire(json.dumps({"error": {"message": "no", "code": code}}), status)
    failing = Failing(engine, "ambiguity_types", wire)
    with serve(failing) as server:
        remote = dspy.LM("openai/e", api_base=server.base, api_key="none", num_retries=3, cache=False)
        with dspy.context(lm=remote), pytest.raises(LMError):
            make("diva")(question=QUESTION)
        assert len(server.requests) == 1


def called(program: Any) -> Any:
    return program(question=QUESTION)


def awaited(program: Any) -> Any:
    return asyncio.run(program.acall(question=QUESTION))


both = pytest.mark.parametrize("run", [called, awaited], ids=["called", "awaited"])


@both
@pytest.mark.parametrize(
    ("error", "requests"),
    [
        (TimeoutError("no luck"), 1),  # all the time that a call has is spent
        (TransportError("no luck"), 2),
        (ServerError("no luck"), 4),  # two steps, twice each
        (RateLimitError("no luck"), 4),
    ],
    ids=["timeout", "transport", "server", "rate"],
)
def test_a_server_that_is_down_ends_the_question(
    run: Any, error: Exception, requests: int, make: Make, engine: ExtractiveEngine
) -> None:
    failing = Failing(engine, "", error)
    with dspy.context(lm=failing.lm()), pytest.raises(LMError, match="no luck") as caught:
        run(make("diva"))
    assert failing.calls == requests
    assert any(note.startswith("step ") for note in caught.value.__notes__)


@both
def test_a_server_that_goes_down_ends_the_question(run: Any, make: Make, engine: ExtractiveEngine) -> None:
    failing = Failing(engine, "", TransportError("refused"), after=1)
    program = make("diva")
    with dspy.context(lm=failing.lm()), pytest.raises(LMError, match="refused"):
        run(program)
    assert failing.calls == 1 + 2 + 2 * 2  # the first step, inference; verification and the answer go out together


@pytest.mark.parametrize("error", [TypeError("a bug"), KeyError("a bug"), AssertionError("a bug")])
def test_a_mistake_in_an_engine_is_no_bad_reply(error: Exception, make: Make, engine: ExtractiveEngine) -> None:
    failing = Failing(engine, "grade", error, prompts=1)
    with dspy.context(lm=failing.lm()), pytest.raises(LMError, match="a bug"):
        make("crag")(question=QUESTION)
    assert list(failing.failed.values()) == [1]


LINES = "1. When did the musical Titanic open? | 23 April 1997 [1]\n2. When did the film come out? | 19 Dec"


def test_a_list_that_broke_off_at_the_limit_loses_its_last_item(make: Make, engine: ExtractiveEngine) -> None:
    failing = Failing(engine, "interpretations", LINES, finish_reason="length")
    with dspy.context(lm=failing.lm(), trace=[]):
        prediction = make("rac", preset="paper")(question=QUESTION)
        (traced,) = [outputs for _, _, outputs in dspy.settings.trace if "interpretations" in outputs]
    (fault,) = prediction.faults
    assert [one.answer for one in prediction.interpretations] == ["23 April 1997"]
    assert [one.answer for one in traced.interpretations] == ["23 April 1997"]
    assert (fault.step, fault.field, fault.error) == ("extract", "interpretations", "the reply broke off")
    assert fault.became == "without its last item, 1 is kept"
    assert list(failing.failed.values()) == [1]  # it would break off again


def test_a_reply_that_broke_off_before_it_could_be_read_keeps_what_is_whole(
    make: Make, engine: ExtractiveEngine
) -> None:
    failing = Failing(engine, "answer", f"## interpretations\n{LINES}", finish_reason="length")
    with dspy.context(lm=failing.lm()):
        prediction = make("rac")(question=QUESTION)
    (fault,) = prediction.faults
    assert [one.answer for one in prediction.interpretations] == ["23 April 1997"]
    assert prediction.answer == "When did the musical Titanic open? 23 April 1997."
    assert (fault.field, fault.error) == ("answer", "the reply broke off")
    assert list(failing.failed.values()) == [1]


def test_a_long_answer_that_broke_off_is_told_and_said_to(make: Make, engine: ExtractiveEngine) -> None:
    failing = Failing(engine, "answer", "The film came out in 1997, the mus", finish_reason="length")
    with dspy.context(lm=failing.lm()):
        prediction = make("closed-book")(question=QUESTION)
    assert prediction.answer == "The film came out in 1997, the mus"
    assert [(one.field, one.became) for one in prediction.faults] == [("answer", "kept as far as it goes")]


def test_a_label_that_was_read_from_a_reply_that_broke_off_is_no_fault(make: Make, engine: ExtractiveEngine) -> None:
    failing = Failing(engine, "grade", "Correct. The passage", finish_reason="length")
    with dspy.context(lm=failing.lm()):
        assert make("crag")(question=QUESTION).faults == []


@pytest.mark.parametrize("replies", [(CUT, GARBAGE), (GARBAGE, CUT), (CUT, ServerError("busy"))])
def test_of_two_replies_the_one_that_keeps_more_counts(
    replies: tuple[Any, Any], make: Make, engine: ExtractiveEngine
) -> None:
    failing = Failing(engine, "interpretations", "")
    failing.in_turn = list(replies)
    with dspy.context(lm=failing.lm()):
        prediction = make("rac", preset="paper")(question=QUESTION)
    (fault,) = prediction.faults
    assert [one.answer for one in prediction.interpretations] == ["23 April 1997"]
    assert (fault.reply, fault.became) == (CUT[:300], "1 complete reading is kept")


@both
def test_diva_goes_on_without_an_answer_from_the_passages(run: Any, make: Make, engine: ExtractiveEngine) -> None:
    failing = Failing(engine, "interpretations", GARBAGE)
    with dspy.context(lm=failing.lm()):
        prediction = run(make("diva"))
    assert [fault.became for fault in prediction.faults] == ["no reading is taken from it"]
    assert prediction.interpretations == []
    assert prediction.answer


def test_auto_goes_on_with_the_located_answer(make: Make, engine: ExtractiveEngine) -> None:
    failing = Failing(engine, "interpretations", GARBAGE)
    with dspy.context(lm=failing.lm()):
        prediction = make("auto", rule="never")(question=QUESTION)
    assert [fault.step for fault in prediction.faults] == ["clarify"]
    assert len(prediction.interpretations) == 1
    assert prediction.interpretations[0].answer in prediction.answer


def test_diva_tells_the_answer_from_the_passages_where_memory_fails(make: Make, engine: ExtractiveEngine) -> None:
    def nothing(**inputs: Any) -> dspy.Prediction:
        raise AdapterParseError("LeanAdapter", AnswerClosedBook, GARBAGE)

    program = make("diva")
    program.verify.forward = lambda **inputs: dspy.Prediction(answered=[])
    program.recall.forward = nothing
    with dspy.context(lm=Failing(engine, "", "", prompts=0).lm()):
        prediction = program(question=QUESTION)
    assert [(one.step, one.became) for one in prediction.faults] == [("recall", "the passages are asked after all")]
    assert prediction.coverage is Coverage.USELESS
    assert prediction.interpretations[0].answer in prediction.answer


@pytest.mark.parametrize("adapter", [LeanAdapter(), dspy.ChatAdapter()], ids=["lean", "chat"])
def test_the_field_that_could_not_be_read_is_named(adapter: dspy.Adapter) -> None:
    reply = "## relevant\nYes\n## readings\n7 of them\n## segment\nIt opened."
    if type(adapter) is dspy.ChatAdapter:
        reply = re.sub("## (.*)", r"[[ ## \1 ## ]]", reply)
    with pytest.raises(AdapterParseError) as caught:
        adapter.parse(DraftSegment, reply)
    assert Fault.of(caught.value, "draft", "").field == "readings"


@pytest.mark.parametrize("reply", ["", "<think>1. Who won in 1998? | Brazil [1]\nNo, that is wrong.</think>"])
def test_thoughts_give_no_readings(reply: str) -> None:
    found = stand_in(ExtractInterpretations, {"question": QUESTION, "passages": []}, reply)
    assert found is not None
    assert found.fields == {"interpretations": []}


@pytest.mark.parametrize("name", ["rac", "auto", "self-rag", "verdict", "query-refinement"])
@pytest.mark.parametrize("reply", ["{", '{"interpretations": [', "```\n{]", "}{", "[[[[" * 2_000, "\x00", "## "])
def test_no_reply_is_taken_for_a_bug(reply: str, name: str, make: Make) -> None:
    lm = scripted_lm(ScriptedEngine(lambda prompt: reply, given=last_message))
    told: Any
    with dspy.context(lm=lm):
        try:
            told = make(name)(question=QUESTION).faults
        except AdapterParseError as error:
            told = error.__notes__
    assert told


def test_bootstrapping_makes_no_demo_of_what_stands_in(make: Make, engine: ExtractiveEngine) -> None:
    failing = Failing(engine, "answered", GARBAGE)
    with dspy.context(lm=failing.lm()):
        made = dspy.BootstrapFewShot(metric=lambda *_: True, max_labeled_demos=0, max_bootstrapped_demos=1).compile(
            make("diva"), trainset=[dspy.Example(question=QUESTION, answer="").with_inputs("question")]
        )
    assert made.classify.demos
    assert made.verify.demos == []


@pytest.mark.parametrize(("pause", "requests"), [("3600", 1), ("61", 1), ("0", 2)])
def test_a_server_that_wants_a_long_pause_is_not_asked_again_at_once(pause: str, requests: int) -> None:
    with serve(ExtractiveEngine(), failures=[(429, {"Retry-After": pause})] * 9) as server:
        lm = polyqa.language_model("openai/m", api_base=server.base, api_key="none", cache=False, retries=0)
        with pytest.raises(LMError):
            ask(QUESTION, program="closed-book", lm=lm)
    assert len(server.requests) == requests
