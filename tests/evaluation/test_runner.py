import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils.callback import BaseCallback
from harness import Told, fields, questions, record, scripted, settings_of
from openai_server import Server

from polyqa.base.errors import PolyqaError
from polyqa.base.ledger import open_ledger
from polyqa.base.values import Interpretation, Passage
from polyqa.base.work import AT_ONCE, Failure
from polyqa.evaluation.identity import RunIdentity
from polyqa.evaluation.progress import showing
from polyqa.evaluation.records import Record
from polyqa.evaluation.runner import answer_one, run_answers
from polyqa.evaluation.runs import LEDGER, PREDICTIONS, SETTINGS, SUMMARY, Run, line_of, open_run, read_records
from polyqa.evaluation.scoring import Scorer
from polyqa.metrics.gold import Question
from polyqa.metrics.llm_judge import LLMJudge
from polyqa.models import Reader
from polyqa.programs import ClosedBook

BLUE = "It may be blue or green."
Answer = Callable[..., Run]


@pytest.fixture(scope="module")
def scorer(reader: Reader) -> Scorer:
    return Scorer(reader)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def answer(scorer: Scorer, folder: Path) -> Answer:
    """Evaluate a function or a program, always in the same folder."""
    nobody = dspy.LM("openai/nobody", api_key="none", cache=False)  # is never asked

    def run(
        program: Callable[[str], Any] | dspy.Module,
        asked: list[Question],
        *,
        lm: dspy.LM = nobody,
        scorer: Scorer = scorer,
        identity: RunIdentity | None = None,
        threads: int = 1,
    ) -> Run:
        ready = program if isinstance(program, dspy.Module) else Told(program)
        one = partial(answer_one, ready, lm=lm, scorer=scorer)
        made = identity or settings_of(len(asked))
        return run_answers(one, asked, folder=folder, identity=made, threads=threads)

    return run


def fail(question: str) -> str:
    raise ValueError(f"no {question}")


def blue(question: str) -> str:
    return BLUE


def only_q0(question: str) -> str:
    return BLUE if "q0" in question else fail(question)


def plain(records: list[Record]) -> list[dict[str, Any]]:
    """Return records as data without what no two runs share."""
    return [one.model_dump(exclude={"seconds"}) for one in records]


# A whole run


def test_records_come_in_the_order_of_the_questions_with_costs_and_scores(answer: Answer, folder: Path) -> None:
    asked = questions(6)

    def slowest_first(question: str) -> str:
        time.sleep(0.06 if "q0" in question else 0.0)
        return f"{BLUE} {question}"

    run = answer(slowest_first, asked, threads=3)
    assert [one.id for one in run.records] == [one.id for one in asked]
    assert [one.answer for one in run.records] == [f"{BLUE} {one.question}" for one in asked]
    assert all({"disambig_f1", "rouge_l", "str_em", "length"} <= one.scores.keys() for one in run.records)
    assert run.records[0].seconds >= 0.06
    assert (run.failed, run.settings) == (0, settings_of(6))
    assert open_run(folder) == run
    summary = json.loads((folder / SUMMARY).read_text())
    assert (summary["questions"], summary["failed"]) == (6, 0)
    assert summary["metrics"]["str_em"]["value"] == 100.0
    assert {path.name for path in folder.iterdir()} <= {PREDICTIONS, SETTINGS, SUMMARY, ".lock"}


@pytest.mark.parametrize("count", [0, 3])
def test_a_finished_run_asks_nothing_again(count: int, answer: Answer, folder: Path) -> None:
    first = answer(blue, questions(count))
    before = (folder / PREDICTIONS).read_bytes()
    assert answer(fail, questions(count)) == first
    assert len(first.records) == count
    assert (folder / PREDICTIONS).read_bytes() == before


def test_questions_are_answered_at_once(answer: Answer) -> None:
    together = threading.Barrier(3, timeout=20)

    def wait(question: str) -> str:
        together.wait()
        return BLUE

    assert answer(wait, questions(3), threads=3).failed == 0


def test_what_else_a_program_reports_is_kept_as_json(answer: Answer, folder: Path) -> None:
    ring: list[Any] = []
    ring.append(ring)

    def rich(question: str) -> dspy.Prediction:
        return dspy.Prediction(
            answer="blue",
            interpretations=[Interpretation(question="Which?", answer="blue", pid="p")],
            passages=[Passage(pid="p", text="Blue.", score=float("-inf"))],
            verdicts=[True, False],
            odd={"set": {1}, ("a", 1): float("nan"), "bytes": b"\xff"},
            ring=ring,
            half="\ud83d",
        )

    (one,) = answer(rich, questions(1)).records
    assert one.error is None
    assert one.extra["verdicts"] == [True, False]
    assert {"odd", "ring", "half"} <= one.extra.keys()
    assert one.interpretations[0].pid == one.passages[0].pid == "p"
    assert read_records(folder / PREDICTIONS)[0].passages == one.passages


def test_a_program_without_readings_is_not_scored_by_them(answer: Answer) -> None:
    def plain(question: str) -> dspy.Prediction:
        return dspy.Prediction(answer=only_q0(question))

    values = answer(plain, questions(2)).summarized()
    assert values["failed"].value == 50.0
    assert values.keys() & {"disambig_f1", "readings", "f1_answer", "edit_f1"} == {"disambig_f1"}


def test_a_program_that_says_nothing_gave_an_empty_answer(answer: Answer) -> None:
    (one,) = answer(lambda question: dspy.Prediction(answer=None, interpretations=None), questions(1)).records
    assert (one.answer, one.interpretations, one.error) == ("", (), None)
    assert one.scores["disambig_f1"] == 0.0


def test_what_replies_took_is_kept_and_one_that_ends_inside_an_emoji_does_not_stop_the_run(
    answer: Answer, folder: Path
) -> None:
    with scripted(lambda prompt: fields(answer="blue \ud83d")) as (lm, _):
        run = answer(ClosedBook(), questions(2), lm=lm, threads=2)
    assert [one.answer for one in run.records] == ["blue \ufffd", "blue \ufffd"]
    assert [(one.calls, one.input_tokens, one.output_tokens) for one in run.records] == [(1, 7, 3)] * 2
    assert read_records(folder / PREDICTIONS) == list(run.records)


def test_callbacks_of_the_callers_context_hear_every_call(answer: Answer) -> None:
    heard: list[str] = []

    class Listener(BaseCallback):
        def on_lm_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
            heard.append(call_id)

    with scripted(lambda prompt: fields(answer="blue")) as (lm, _), dspy.context(callbacks=[Listener()]):
        answer(ClosedBook(), questions(3), lm=lm, threads=2)
    assert len(heard) == 3


def test_the_bar_moves_once_for_every_record(answer: Answer) -> None:
    seen: list[str] = []

    @contextmanager
    def bar(total: int, text: str = "") -> Iterator[Callable[..., None]]:
        seen.append(f"{total} steps")
        yield seen.append
        seen.append("closed")

    for program, told in ((only_q0, "[red]2 failed[/]"), (blue, "")):
        seen.clear()
        with showing(bar):
            answer(program, questions(3))
        assert (len(seen), seen[0], seen[-1]) == (5, "3 steps", "closed")
        assert told in seen[-2]
        assert any("failed" in text for text in seen) == bool(told)


# A run that was stopped


def test_a_run_goes_on_from_its_lines(answer: Answer, folder: Path) -> None:
    """In any order, or edited by hand: only what lacks is asked."""
    whole = answer(blue, questions(4))
    first, *rest = (folder / PREDICTIONS).read_bytes().splitlines(keepends=True)
    for data, missing in (
        (b"".join([*rest[::-1], first])[:-1], []),
        (rest[0] + rest[1], ["q0", "q3"]),
        (b"", ["q0", "q1", "q2", "q3"]),
    ):
        (folder / PREDICTIONS).write_bytes(data)
        asked: list[str] = []

        def tell(question: str, asked: list[str] = asked) -> str:
            asked.append(question[len("What colour is ") : -1])
            return BLUE

        again = answer(tell, questions(4))
        assert asked == missing
        assert plain(list(again.records)) == plain(list(whole.records))
        assert open_run(folder) == again


def test_a_damaged_line_is_named_and_nothing_is_asked(answer: Answer, folder: Path) -> None:
    answer(blue, questions(3))
    lines = (folder / PREDICTIONS).read_text().splitlines(keepends=True)
    damaged = "".join([lines[0], lines[1][:50] + "\n", lines[2]])
    (folder / PREDICTIONS).write_text(damaged)
    with pytest.raises(PolyqaError, match=r"predictions\.jsonl, line 2 is damaged.* Remove the line"):
        answer(fail, questions(3))
    assert (folder / PREDICTIONS).read_text() == damaged


def test_what_a_killed_run_had_kept_counts_beside_its_lines(answer: Answer, folder: Path) -> None:
    whole = answer(blue, questions(3))
    lines = (folder / PREDICTIONS).read_bytes().splitlines(keepends=True)
    (folder / PREDICTIONS).write_bytes(lines[0])
    with open_ledger(folder / LEDGER, settings_of(3).model_dump()) as ledger:
        for one in whole.records[1:]:
            ledger.keep(one.id, one.model_dump())
    assert answer(fail, questions(3)) == whole
    assert (folder / PREDICTIONS).read_bytes() == b"".join(lines)
    assert not (folder / LEDGER).exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"lm": "openai/gpt-4o"}, "lm was none, is openai/gpt-4o"),
        ({"lm_settings": {"temperature": 0.7}}, r"lm_settings was {'temperature': 0.3}, is {'temperature': 0.7}"),
        ({"program_state": "b", "judge": "j"}, "program_state was a, is b; judge was None, is j"),
        ({"index": "other (1)"}, r"index was None, is other \(1\)"),
        ({"versions": {"dspy": "4"}}, "versions was"),
    ],
)
def test_another_run_is_not_gone_on_with(change: dict[str, Any], told: str, answer: Answer, folder: Path) -> None:
    settings = settings_of(2, program_state="a", lm_settings={"temperature": 0.3})
    answer(blue, questions(2), identity=settings)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(PolyqaError, match=rf"holds another run: {told}.*Choose another name, or delete the folder"):
        answer(blue, questions(2), identity=settings.model_copy(update=change))
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_settings_that_json_has_no_form_for_do_not_block_the_run(answer: Answer) -> None:
    settings = settings_of(1, lm_settings={"stop": ("\n",), "response_format": dict})
    first = answer(blue, questions(1), identity=settings)
    assert list(answer(fail, questions(1), identity=settings).records) == list(first.records)


def test_other_questions_and_two_of_one_id_are_refused(answer: Answer, folder: Path) -> None:
    with pytest.raises(PolyqaError, match="Two questions have the id 'q0'"):
        answer(blue, [*questions(2), *questions(1)])
    assert not (folder / SETTINGS).exists()
    answer(blue, questions(3))
    with pytest.raises(PolyqaError, match="not asked, such as 'q2'"):
        answer(blue, questions(2), identity=settings_of(3))


def test_outputs_of_another_system_are_not_taken_for_ones_own(answer: Answer, folder: Path) -> None:
    """`polyqa evaluate FILE --name` leaves predictions without settings."""
    folder.mkdir()
    (folder / PREDICTIONS).write_text(line_of(record("q0", answer="theirs")))
    with pytest.raises(PolyqaError, match="outputs of another system"):
        answer(blue, questions(1))
    assert not (folder / SETTINGS).exists()


def test_a_second_process_is_refused_until_the_first_is_dead(answer: Answer, folder: Path) -> None:
    folder.mkdir()
    hold = "import filelock, sys, time; a = filelock.FileLock(sys.argv[1]); a.acquire(); print('held', flush=True)"
    other = subprocess.Popen(
        [sys.executable, "-c", f"{hold}; time.sleep(60)", str(folder / ".lock")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(PolyqaError, match="run is being written by another process"):
            answer(blue, questions(1))
        assert not (folder / SETTINGS).exists()
    finally:
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert answer(blue, questions(1)).failed == 0


def test_an_interrupt_keeps_the_answers_that_were_on_their_way(answer: Answer, folder: Path) -> None:
    asked: list[str] = []

    def interrupt(question: str) -> str:
        asked.append(question)
        time.sleep(0.03)
        if "q2" in question:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            time.sleep(0.2)
        return BLUE

    with pytest.raises(KeyboardInterrupt):
        answer(interrupt, questions(20), threads=2)
    kept = read_records(folder / PREDICTIONS)
    assert len(kept) == len(asked) < 20
    assert "q2" in {one.id for one in kept}
    assert not (folder / SUMMARY).exists()
    assert answer(blue, questions(20)).failed == 0
    assert len(read_records(folder / PREDICTIONS)) == 20


# Questions that fail


def test_an_error_becomes_part_of_the_record_and_an_empty_answer(answer: Answer) -> None:
    run = answer(only_q0, questions(2))
    good, bad = run.records
    assert (good.error, bad.error) == (None, Failure(kind="ValueError", message="no What colour is q1?"))
    assert (bad.answer, bad.interpretations, bad.passages, bad.extra) == ("", (), (), {})
    assert run.failed == 1
    zero = {"disambig_f1": 0.0, "rouge_l": 0.0, "str_em": 0.0, "length": 0.0, "f1_answer": 0.0}
    assert zero.items() <= bad.scores.items()


def test_a_failed_question_stays_in_every_mean(answer: Answer, folder: Path) -> None:
    def half(question: str) -> dspy.Prediction | str:
        if "q1" in question or "q3" in question:
            return fail(question)
        return dspy.Prediction(answer=BLUE, interpretations=[], passages=[Passage(pid="p", text=BLUE)])

    answer(half, questions(4))
    metrics = json.loads((folder / SUMMARY).read_text())["metrics"]
    for name in ("disambig_f1", "rouge_l", "dr", "str_em", "mrecall@5", "answer_coverage@5", "calls", "f1_answer"):
        assert metrics[name]["n"] == 4, name
    assert (metrics["str_em"]["value"], metrics["mrecall@5"]["value"], metrics["failed"]["value"]) == (50, 50, 50)


@pytest.mark.parametrize(
    ("rubbish", "told"),
    [
        (5, "with an answer; it gave int."),
        (None, "with an answer; it gave NoneType."),
        (dspy.Prediction(reasoning="so", response="blue"), "with an answer; it gave reasoning, response."),
        (dspy.Prediction(answer="x", interpretations=5), "gives as readings or passages is none"),
        (dspy.Prediction(answer="x", passages=[5]), "gives as readings or passages is none"),
    ],
)
def test_a_prediction_that_is_none_is_the_programs_failure(rubbish: Any, told: str, answer: Answer) -> None:
    (one,) = answer(lambda question: rubbish, questions(1)).records
    assert one.error is not None
    assert told in one.error.message
    assert one.answer == ""


def test_an_own_metric_gives_0_for_what_failed(scorer: Scorer) -> None:
    """It may say yes to a prediction in which there is no answer."""
    lm = dspy.LM("openai/nobody", api_key="none", cache=False)
    program = Told(lambda question: dspy.Prediction(label="blue"))
    one = answer_one(program, questions(1)[0], lm, scorer, metric=lambda gold, prediction: 1.0)
    assert one.error is not None
    assert one.scores["metric"] == 0.0


def test_a_long_message_is_cut_and_put_on_one_line(answer: Answer) -> None:
    (one,) = answer(lambda question: fail("first\n\n  second " + "x" * 5_000), questions(1)).records
    assert one.error is not None
    assert one.error.message.startswith("no first second xxx")
    assert len(one.error.message) == 2_000


UNREADABLE = '{"answr": "blue'


@pytest.fixture
def moody() -> Iterator[tuple[dspy.LM, Server, set[str]]]:
    """A server that gives no answer to the questions in a set."""
    silent = {"q1", "q3"}

    def reply(prompt: str) -> str:
        return UNREADABLE if any(one in prompt for one in silent) else fields(answer=BLUE)

    with scripted(reply) as (lm, server):
        yield lm, server, silent


def test_an_unreadable_reply_is_kept_and_asked_again_on_demand(
    moody: tuple[dspy.LM, Server, set[str]], answer: Answer, folder: Path
) -> None:
    lm, server, silent = moody
    run = answer(ClosedBook(), questions(4), lm=lm)
    assert [one.id for one in run.records if one.error] == ["q1", "q3"]
    bad = run.records[1]
    assert bad.error is not None
    assert (bad.error.kind, bad.error.reply) == ("AdapterParseError", UNREADABLE)
    assert bad.error.message
    assert bad.calls >= 1
    assert (bad.input_tokens, bad.output_tokens) == (7 * bad.calls, 3 * bad.calls)
    assert open_run(folder).records[1].error == bad.error

    server.requests.clear()
    silent.remove("q3")
    again = answer(ClosedBook(), questions(4), lm=lm)
    prompts = [str(request["messages"][-1]) for request in server.requests]
    assert all("q1" in prompt or "q3" in prompt for prompt in prompts)
    assert sum("q3" in prompt for prompt in prompts) == 1
    assert [one.id for one in again.records if one.error] == ["q1"]
    assert [one.id for one in again.records] == ["q0", "q1", "q2", "q3"]
    assert again.records[0] == run.records[0], "not asked again"
    assert json.loads((folder / SUMMARY).read_text())["failed"] == 1


def test_a_server_that_cannot_be_reached_stops_the_run(answer: Answer, folder: Path) -> None:
    lm = dspy.LM("openai/x", api_base="http://127.0.0.1:9/v1", api_key="none", cache=False, num_retries=0)
    asked = questions(30)
    with pytest.raises(PolyqaError, match=r"questions fail one after the other: .*the same command again"):
        answer(ClosedBook(), asked, lm=lm)
    kept = read_records(folder / PREDICTIONS)
    assert AT_ONCE <= len(kept) < 30
    assert all(one.error and one.calls == 2 for one in kept)  # asked once more
    with scripted(lambda prompt: fields(answer=BLUE)) as (well, _):
        run = answer(ClosedBook(), asked, lm=well)
    assert (run.failed, len(run.records)) == (0, 30)


def test_a_judge_whose_reply_cannot_be_read_fails_the_question_not_the_run(reader: Reader, answer: Answer) -> None:
    def found(question: str) -> dspy.Prediction:
        passages = [Passage(pid="p", text=f"{question} It is blue.")]
        return dspy.Prediction(answer=BLUE, interpretations=[], passages=passages)

    with scripted(lambda prompt: "???" if "q1?" in prompt else fields(supported="Yes")) as (lm, _):
        judged = Scorer(reader, LLMJudge(lm, threads=1))
        run = answer(found, questions(3), scorer=judged)
    assert [one.id for one in run.records if one.error] == ["q1"]
    bad = run.records[1]
    assert bad.error is not None
    assert (bad.error.kind, bad.error.reply) == ("JudgeError", "???")
    assert bad.error.message.startswith("The judge openai/scripted failed on question 'q1': ")
    assert run.records[0].scores["g_recall_whole"] == 2.0


def test_a_reader_that_cannot_read_stops_the_run(answer: Answer) -> None:
    """It says nothing about the question, so it must not count as the program's failure."""
    with pytest.raises(OSError, match="nowhere"):
        answer(blue, questions(3), scorer=Scorer(Reader("/nowhere/reader")))
