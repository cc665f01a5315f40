"""Two attempts of a call, then its fallback: what is asked again, what is raised, and what the record says."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import dspy
import pytest
from dspy.clients.cache import Cache
from dspy.lm15 import (
    AuthError,
    FinishReason,
    Message,
    RateLimitError,
    Response,
    ServerError,
    TimeoutError,
    TransportError,
    Usage,
)
from dspy.utils.exceptions import AdapterParseError, LMError, LMTransportError
from openai_server import Server, Wire, completion, serve
from scripted_engine import ScriptedEngine, last_message, scripted_lm

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Grade, Interpretation
from polyqa.lm.adapter import LeanAdapter
from polyqa.lm.attempts import CallLog, FailedCall, Outcome
from polyqa.lm.calls import Fallback
from polyqa.lm.long_answers import REFUSED
from polyqa.programs import ask, ask_all, drive
from polyqa.signatures import (
    AnswerClosedBook,
    ClarifyQuestion,
    DraftSegment,
    ExtractInterpretations,
    GradePassage,
    TellFindings,
    WriteLongFormAnswer,
)

QUESTION = "When did Titanic come out?"
GRADE = {"question": QUESTION, "passage": "Titanic | A film of 1997."}
OVER_PASSAGES = {"question": QUESTION, "passages": ["A | B."]}
EMPTY, GARBAGE = "", '{"status": "ok"}'
CUT = '[{"question": "When did the musical open?", "answer": "23 April 1997"}, {"question": "When d'
LINES = "1. When did the musical open? | 23 April 1997 [1]\n2. When did the film come out? | 19 Dec"
AMBIGUOUS = "the passage counts as Ambiguous"
Reply = str | Exception | Response


class InTurn:
    """Gives replies in turn, and the last one for good."""

    def __init__(self, *replies: Reply) -> None:
        self.replies, self.calls = replies, 0

    def __call__(self, message: str) -> str | Response:
        reply = self.replies[min(self.calls, len(self.replies) - 1)]
        self.calls += 1
        if isinstance(reply, Exception):
            raise reply
        return reply

    def engine(self) -> ScriptedEngine:
        return ScriptedEngine(self, given=last_message)

    @contextmanager
    def serving(self, **settings: Any) -> Iterator[Server]:
        """Have language models ask a server for them."""
        with serve(self.engine()) as server:
            lm = dspy.LM("openai/e", api_base=server.base, api_key="none", **{"num_retries": 0, **settings})
            with dspy.context(lm=lm, adapter=LeanAdapter()):
                yield server


def broken_off(text: str, why: FinishReason = "length") -> Response:
    return Response(id=None, model="m", message=Message.assistant(text), finish_reason=why, usage=Usage())


def called(
    predictor: dspy.Module, inputs: Any, log: CallLog | None = None, fallback: Fallback | None = None
) -> Outcome:
    return (log or CallLog()).call(predictor, inputs, fallback)


def awaited(predictor: dspy.Module, inputs: Any, log: CallLog | None = None, fallback: Any = None) -> Outcome:
    return asyncio.run((log or CallLog()).acall(predictor, inputs, fallback))


both = pytest.mark.parametrize("call", [called, awaited])


def outcome_of(
    replies: InTurn,
    signature: type[dspy.Signature] = GradePassage,
    inputs: Any = GRADE,
    call: Callable[..., Outcome] = called,
    *,
    adapter: dspy.Adapter | None = None,
    trace: list[Any] | None = None,
    **more: Any,
) -> Outcome:
    with dspy.context(lm=scripted_lm(replies.engine()), adapter=adapter or LeanAdapter(), trace=trace):
        return call(dspy.Predict(signature), inputs, **more)


# --- two attempts --------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("first", [EMPTY, GARBAGE, ServerError("overloaded"), TransportError("reset")], ids=str)
def test_what_a_second_attempt_mends_leaves_no_record(call: Callable[..., Outcome], first: Reply) -> None:
    replies = InTurn(first, "Correct")
    outcome = outcome_of(replies, call=call)
    assert (outcome.prediction.grade, outcome.failed, outcome.lost) == (Grade.CORRECT, None, None)
    assert replies.calls == 2


@both
def test_two_bad_replies_use_the_fallback_and_are_recorded(call: Callable[..., Outcome]) -> None:
    replies = InTurn(GARBAGE)
    outcome = outcome_of(replies, call=call)
    assert outcome.prediction.grade is Grade.AMBIGUOUS
    assert outcome.failed == FailedCall("GradePassage", "grade", "the reply could not be read", GARBAGE, AMBIGUOUS)
    assert str(outcome.failed) == f"GradePassage: the reply could not be read; {AMBIGUOUS}"
    assert outcome.failed.to_dict()["became"] == AMBIGUOUS
    assert (outcome.lost, replies.calls) == (None, 2)


@pytest.mark.parametrize(
    "error", [AuthError("bad key"), *(bug("bad") for bug in (TypeError, KeyError, AssertionError))]
)
def test_what_another_attempt_does_not_mend_is_raised_at_once(error: Exception) -> None:
    replies = InTurn(error)
    with pytest.raises(LMError, match="bad"):
        outcome_of(replies)
    assert replies.calls == 1


def test_what_an_engine_says_to_its_user_is_no_bad_reply() -> None:
    replies = InTurn(PolyqaError("m.gguf needs 2.6 GiB"))
    with pytest.raises(PolyqaError, match=r"^m\.gguf needs 2\.6 GiB") as error:
        outcome_of(replies)
    assert (replies.calls, error.value.__notes__) == (1, ["step GradePassage"])


@pytest.mark.parametrize(
    ("status", "code"), [(401, "bad"), (403, "bad"), (404, "model_not_found"), (400, "context_length_exceeded")]
)
def test_a_refused_request_is_sent_once(status: int, code: str) -> None:
    wire = Wire(json.dumps({"error": {"message": "no", "code": code}}), status)
    with InTurn(wire).serving(num_retries=3, cache=False) as server, pytest.raises(LMError):
        called(dspy.Predict(GradePassage), GRADE)
    assert len(server.requests) == 1


WIRES = {
    "empty": Wire(completion("")),
    "null": Wire(completion(None)),
    "no choices": Wire(completion("").replace('"choices": [{', '"choices": [], "others": [{')),
    "filtered": Wire(completion("", "content_filter")),
    "garbage": Wire(completion("```\n{]")),
    "deep": Wire(completion("[" * 3_000)),
    "excuse": Wire(completion("I am sorry, but I cannot help with that.")),
    "HTML": Wire("<html>Please log in</html>", content_type="text/html"),
    "half of the JSON": Wire(completion("Yes")[:70]),
    "prompt filtered": Wire('{"error": {"message": "no", "code": "content_filter"}}', 400),
    "500": Wire('{"error": {"message": "boom"}}', 500),
    "502": Wire("<html>bad gateway</html>", 502, "text/html"),
    "429": Wire('{"error": {"message": "slow down"}}', 429),
    "reset": Wire(None),
}


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_whatever_a_server_sends_is_asked_again_and_replaced(wire: Wire) -> None:
    with InTurn(wire).serving(cache=False) as server:
        outcome = called(dspy.Predict(GradePassage), GRADE)
    assert len(server.requests) == 2
    assert outcome.failed is not None
    assert outcome.failed.became == AMBIGUOUS


@pytest.mark.parametrize(("pause", "requests"), [("3600", 1), ("61", 1), ("0", 2)])
def test_a_server_that_wants_a_long_pause_is_not_asked_again_at_once(pause: str, requests: int) -> None:
    with serve(InTurn("An answer.").engine(), failures=[(429, {"Retry-After": pause})] * 9) as server:
        lm = polyqa.language_model("openai/m", api_base=server.base, api_key="none", cache=False, retries=0)
        with pytest.raises(LMError):
            polyqa.ask(QUESTION, program="closed-book", lm=lm)
        assert len(server.requests) == requests


@pytest.mark.parametrize("bad", [1, 2], ids=["mended by the second attempt", "not mended"])
def test_an_unreadable_reply_is_not_replayed_from_the_cache(bad: int, own_cache: Cache) -> None:
    predictor, sent, failed = dspy.Predict(GradePassage), [], []
    with InTurn(*[GARBAGE] * bad, "Correct").serving() as server:
        for _ in range(3):  # as if each were a process of its own
            own_cache.reset_memory_cache()
            before = len(server.requests)
            failed.append(called(predictor, GRADE).failed is not None)
            sent.append(len(server.requests) - before)
    # What was answered well is not sent again, be it by a second attempt.
    assert (sent, failed) == ([2, bad - 1, 0], [bad == 2, False, False])


# --- fallbacks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("replies", [(CUT, GARBAGE), (GARBAGE, CUT), (CUT, ServerError("busy"))])
def test_of_two_replies_the_one_that_keeps_more_readings_counts(replies: tuple[Reply, Reply]) -> None:
    outcome = outcome_of(InTurn(*replies), ExtractInterpretations, OVER_PASSAGES)
    assert [reading.answer for reading in outcome.prediction.interpretations] == ["23 April 1997"]
    assert outcome.failed is not None
    assert (outcome.failed.reply, outcome.failed.became) == (CUT, "1 complete reading is kept")


def test_a_call_without_a_fallback_raises_its_error_with_the_name_of_the_step() -> None:
    predictor = dspy.Predict(ClarifyQuestion)
    log = CallLog({id(predictor): "clarify"})
    with (
        dspy.context(lm=scripted_lm(InTurn(GARBAGE).engine()), adapter=LeanAdapter()),
        pytest.raises(AdapterParseError) as caught,
    ):
        called(predictor, OVER_PASSAGES, log)
    assert caught.value.__notes__ == ["step clarify, field interpretations"]


@pytest.mark.parametrize("message", ['"reasoning_content": "Hm."', '"refusal": "I cannot help with that."'])
def test_a_reply_without_a_text_is_told_as_empty(message: str) -> None:
    wire = Wire(completion(None).replace('"content": null', f'"content": null, {message}'))
    told = r"reply was empty \(step ClarifyQuestion, field interpretations\)\."
    with InTurn(wire).serving(cache=False), pytest.raises(AdapterParseError, match=told):
        called(dspy.Predict(ClarifyQuestion), OVER_PASSAGES)


def test_a_program_may_bring_a_fallback_of_its_own() -> None:
    own = Fallback({"answer": ""}, "none")
    outcome = outcome_of(InTurn(EMPTY), AnswerClosedBook, {"question": QUESTION}, fallback=own)
    assert outcome.prediction.answer == ""
    assert outcome.failed == FailedCall("AnswerClosedBook", "answer", "the reply was empty", "", "none")


@pytest.mark.parametrize(
    "adapter", [LeanAdapter(), dspy.ChatAdapter(use_json_adapter_fallback=False)], ids=["lean", "chat"]
)
def test_the_field_that_could_not_be_read_is_named(adapter: dspy.Adapter) -> None:
    reply = "## relevant\nYes\n## readings\n7 of them\n## segment\nIt opened."
    if type(adapter) is dspy.ChatAdapter:
        reply = re.sub("## (.*)", r"[[ ## \1 ## ]]", reply)
    failed = outcome_of(InTurn(reply), DraftSegment, adapter=adapter).failed
    assert failed is not None
    assert failed.field == "readings"


def test_a_failed_call_leaves_no_trace_and_two_predictions_share_no_list() -> None:
    lm, predictor = scripted_lm(InTurn(GARBAGE).engine()), dspy.Predict(DraftSegment)
    with dspy.context(lm=lm, adapter=LeanAdapter(), trace=[]):
        first, second = (called(predictor, GRADE).prediction for _ in range(2))
        assert dspy.settings.trace == []
    assert first.readings is not second.readings


# --- long answers --------------------------------------------------------------------------------

TOLD = {**OVER_PASSAGES, "interpretations": [Interpretation(question="When did the film come out?", answer="1997")]}


def test_a_second_refusal_is_replaced_by_the_readings_and_no_demo_is_made_of_it() -> None:
    trace: list[Any] = []
    replies = InTurn("I'm sorry, but I can't help with that.")
    outcome = outcome_of(replies, WriteLongFormAnswer, TOLD, trace=trace)
    assert trace == []
    assert outcome.failed is not None
    assert (outcome.failed.field, outcome.failed.error) == ("answer", f"the reply was {REFUSED}")
    assert outcome.prediction.answer == "When did the film come out? 1997."


def test_a_second_reply_that_answers_is_cleaned_and_taken() -> None:
    replies = InTurn("I cannot answer this.", "Answer: it came out in 1997.")
    outcome = outcome_of(replies, WriteLongFormAnswer, TOLD)
    assert (outcome.prediction.answer, outcome.failed) == ("it came out in 1997.", None)


# --- replies that break off ----------------------------------------------------------------------


def test_a_list_that_broke_off_at_the_limit_loses_its_last_item() -> None:
    replies, trace = InTurn(broken_off(LINES)), list[Any]()
    outcome = outcome_of(replies, ExtractInterpretations, OVER_PASSAGES, trace=trace)
    ((_, _, traced),) = trace
    for prediction in (outcome.prediction, traced):
        assert [reading.answer for reading in prediction.interpretations] == ["23 April 1997"]
    assert outcome.failed is not None
    assert (outcome.failed.field, outcome.failed.error) == ("interpretations", "the reply broke off")
    assert outcome.failed.became == "without its last item, 1 is kept"
    assert replies.calls == 1, "it would break off again"


LISTED = "1 complete reading is kept, the answer lists them"


@pytest.mark.parametrize(
    ("signature", "text", "answer", "became"),
    [
        (ClarifyQuestion, f"## interpretations\n{LINES}", "When did the musical open? 23 April 1997.", LISTED),
        (AnswerClosedBook, "In 1997, the mus", "In 1997, the mus", "kept as far as it goes"),
        (TellFindings, f"## interpretations\n{LINES}", "", "the findings are told in the words of the passages"),
    ],
    ids=["before it could be read", "a long answer", "findings"],
)
def test_what_is_whole_of_a_reply_that_broke_off_is_kept(
    signature: type[dspy.Signature], text: str, answer: str, became: str
) -> None:
    replies = InTurn(broken_off(text))
    given = {**OVER_PASSAGES, "findings": ["Titanic | The film came out in 1953. | 1953"]}
    outcome = outcome_of(replies, signature, {name: given[name] for name in signature.input_fields})
    assert outcome.failed is not None
    assert (outcome.failed.field, outcome.failed.error) == ("answer", "the reply broke off")
    assert (outcome.prediction.answer, outcome.failed.became, replies.calls) == (answer, became, 1)


def test_an_answer_that_a_filter_stopped_is_not_taken_for_a_whole_one() -> None:
    replies = InTurn(broken_off("The film came out in 19", "content_filter"))
    outcome = outcome_of(replies, AnswerClosedBook, {"question": QUESTION})
    assert (outcome.prediction.answer, replies.calls) == ("The film came out in 19", 1)
    assert outcome.failed is not None
    assert outcome.failed.error == "the provider's filter stopped the reply"


def test_that_thoughts_took_all_tokens_is_said() -> None:
    outcome = outcome_of(InTurn(broken_off("")))
    assert outcome.failed is not None
    assert outcome.failed.error == "the reply broke off before its first word (--max-tokens)"


def test_a_label_that_was_read_from_a_reply_that_broke_off_is_no_failure() -> None:
    outcome = outcome_of(InTurn(broken_off("Correct. The passage")))
    assert (outcome.prediction.grade, outcome.failed) == (Grade.CORRECT, None)


# --- a server that is down -----------------------------------------------------------------------


def three_steps() -> Any:
    predictor = dspy.Predict(GradePassage)
    for _ in range(3):
        yield from ask(predictor, **GRADE)


@pytest.mark.parametrize(
    ("replies", "requests"),
    [
        ([TimeoutError("no luck")], 1),  # all the time that a call has is spent
        ([TransportError("no luck")], 2),
        ([ServerError("no luck")], 4),  # two steps, twice each
        ([RateLimitError("no luck")], 4),
        (["Correct", TransportError("no luck")], 5),  # one step was answered
    ],
    ids=["timeout", "transport", "server", "rate", "goes down"],
)
def test_a_server_that_is_down_ends_the_question(replies: list[Reply], requests: int) -> None:
    in_turn = InTurn(*replies)
    with (
        dspy.context(lm=scripted_lm(in_turn.engine()), adapter=LeanAdapter()),
        pytest.raises(LMError, match="no luck") as caught,
    ):
        drive(three_steps())
    assert in_turn.calls == requests
    assert caught.value.__notes__ == ["step GradePassage"]


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
    quick, slow, log = Silent(), Silent(0.3, reply), CallLog()
    calls = [(one, {}, Fallback({"answer": "fallback"}, "nothing")) for one in (quick, slow)]
    if reply is None:
        with pytest.raises(LMTransportError):
            drive(ask_all(calls), log)
    else:
        assert [one.answer for one in drive(ask_all(calls), log)] == ["fallback", "late"]
        assert [failed.became for failed in log.failed] == ["nothing"]
    assert quick.asked == 2


def test_failed_calls_are_recorded_in_the_order_of_the_algorithm() -> None:
    predictors = [dspy.Predict(ExtractInterpretations), dspy.Predict(ExtractInterpretations)]
    log = CallLog({id(predictors[0]): "first", id(predictors[1]): "second"})

    def steps() -> Any:
        yield from ask_all([(predictor, OVER_PASSAGES) for predictor in predictors])
        return (yield from ask(predictors[0], **OVER_PASSAGES)).interpretations

    with dspy.context(lm=scripted_lm(InTurn(GARBAGE).engine()), adapter=LeanAdapter()):
        assert drive(steps(), log) == []
    assert [failed.step for failed in log.failed] == ["first", "second", "first"]
