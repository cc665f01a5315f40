import io
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest
from command_line import Run
from dspy.clients.cache import Cache
from filelock import FileLock
from openai_server import Server, Wire, serve

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.base.ledger import open_ledger
from polyqa.batch import Answered, Batch, answer_many
from polyqa.batch.answering import CallLimit, unanswered
from polyqa.batch.asked import read_asked
from polyqa.confidence import BIAS, BIAS_OF_A_MODEL
from polyqa.evaluation.identity import RunIdentity
from polyqa.language_models import embedded_engine

QUESTIONS = ["When did Titanic come out?", "Who founded Alexandria?", "What is Mercury?", "When did Titanic come out?"]
Answer = Callable[..., Answered]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(embedded_engine()) as served:
        yield served


@pytest.fixture
def answer(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Answers over the wire with the program of one call, into one file; counts the requests anew."""
    server.requests.clear()

    def run(questions: Any = QUESTIONS, **given: Any) -> Answered:
        models = given.pop("models", polyqa.Models(lm="openai/m", api_base=server.base))
        batch = Batch(**{name: given.pop(name) for name in [*given] if name in Batch.__dataclass_fields__})
        with dspy.context(lm=None):
            return answer_many(
                questions, tmp_path / "out" / "a.jsonl", **{"program": "rac", "models": models, "batch": batch, **given}
            )

    monkeypatch.setattr(dspy, "cache", Cache(False, False, None))  # replies come over the wire
    return run


def texts(answered: Answered) -> dict[str, str]:
    return {one["id"]: one.get("answer", one.get("error", {}).get("message")) for one in answered}


def test_answers_are_those_of_ask_in_the_order_of_the_questions(answer: Answer, server: Server) -> None:
    answered = answer()
    lines = list(answered)
    assert [(one["id"], one["question"]) for one in lines] == [(str(n), q) for n, q in enumerate(QUESTIONS, 1)]
    alone = polyqa.ask(QUESTIONS[1], program="rac").to_dict()
    same = ("answer", "cited_answer", "interpretations", "passages", "coverage")
    assert {name: lines[1][name] for name in same} == {name: alone[name] for name in same}
    assert answered.failed == {}
    assert (answered.took.answers, answered.took.calls) == (4, len(server.requests)) == (4, 4)
    assert answered.dollars is None
    assert len(answered) == 4
    before = answered.path.read_bytes()
    assert texts(answer()) == texts(answered)
    assert len(server.requests) == 4
    assert answered.path.read_bytes() == before


def test_a_language_model_alone_stands_for_the_models(answer: Answer, server: Server) -> None:
    lm = polyqa.language_model("openai/m", api_base=server.base)
    assert texts(answer(QUESTIONS[:1], models=lm)) == texts(answer(QUESTIONS[:1]))
    assert len(server.requests) == 1, "it is the same model"
    with pytest.raises(PolyqaError, match="lm is no setting of a program"):
        answer(QUESTIONS[:1], lm=lm)


def test_no_more_questions_are_under_way_than_a_local_model_has_slots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(embedded_engine(), latency=0.2) as server:
        lm = polyqa.language_model("openai/m", api_base=server.base, cache=False)
        monkeypatch.setattr(lm, "at_once", 1, raising=False)
        assert len(answer_many(QUESTIONS, tmp_path / "a.jsonl", program="rac", models=lm)) == 4
    assert server.most_at_once == 1


def test_the_bar_means_the_same_as_for_one_question_and_belongs_to_the_file(answer: Answer, server: Server) -> None:
    (line,) = answer(QUESTIONS[:1], min_confidence=1.0)
    lm = polyqa.language_model("openai/m", api_base=server.base, api_key="none")
    alone = polyqa.ask(QUESTIONS[0], program="rac", lm=lm, min_confidence=1.0).to_dict()
    engine, model = (polyqa.ask(QUESTIONS[0], program="rac", lm=one).confidence[0] for one in (None, lm))
    assert math.log(model / (1 - model)) - math.log(engine / (1 - engine)) == pytest.approx(BIAS_OF_A_MODEL - BIAS)
    same = ("answer", "standing", "answered", "interpretations")
    assert {name: line[name] for name in same} == {name: alone[name] for name in same}
    assert line["standing"] == "unanswered"
    with pytest.raises(PolyqaError, match="min_confidence"):
        answer(QUESTIONS[:1])
    with pytest.raises(PolyqaError, match="from 0 to 1, not 2"):
        answer(QUESTIONS[:1], min_confidence=2)


def test_questions_that_are_added_are_answered_and_moved_ones_keep_their_answers(
    answer: Answer, server: Server
) -> None:
    first = texts(answer(QUESTIONS[:2]))
    more = texts(answer([QUESTIONS[0], QUESTIONS[2], QUESTIONS[1]]))
    assert len(server.requests) == 3
    assert more["1"] == first["1"]
    assert more["2"] != first["2"] == more["3"]


def test_a_question_on_several_lines_keeps_its_answers_where_lines_move(answer: Answer, server: Server) -> None:
    first, second, third = QUESTIONS[:3]
    answer([first, second, first])
    asked = [third, first, second, first]
    assert [line["question"] for line in answer(asked)] == asked
    asked = [third, second, first]  # on one line less
    assert [line["question"] for line in answer(asked)] == asked
    assert len(server.requests) == 4


def test_an_answer_stays_where_another_line_of_its_question_failed(answer: Answer, server: Server) -> None:
    answered = answer([{"id": "1", "question": QUESTIONS[0]}, {"id": "2", "question": QUESTIONS[0]}])
    _, second = answered
    failed = {"id": "1", "question": QUESTIONS[0], "error": {"kind": "ValueError", "message": "no"}}
    answered.path.write_text("".join(f"{json.dumps(line)}\n" for line in (failed, second)))
    server.requests.clear()
    assert [*answer(QUESTIONS[:1])] == [{**second, "id": "1"}]
    assert server.requests == []


def test_a_kill_after_questions_moved_loses_nothing(answer: Answer, server: Server) -> None:
    """The ledger has the new ids already, and the file the old ones."""
    answered = answer(QUESTIONS[:2])
    moved = [QUESTIONS[1], QUESTIONS[0]]
    identity = json.loads(answered.path.with_name("a.jsonl.settings.json").read_text())
    whole = RunIdentity.model_validate(identity).model_dump()
    with open_ledger(answered.path.with_name(".a.jsonl.ledger.sqlite"), whole) as ledger:
        for new, line in zip(("2", "1"), [*answered], strict=True):
            ledger.keep(new, {**line, "id": new})
    assert [line["question"] for line in answer(moved)] == moved
    assert len(server.requests) == 2


def test_answers_of_other_questions_are_refused(answer: Answer, server: Server) -> None:
    answered = answer(QUESTIONS[:3])
    before = answered.path.read_bytes()
    for other in (QUESTIONS[:1], [f"{QUESTIONS[0]}?", *QUESTIONS[1:3]]):
        with pytest.raises(PolyqaError, match=r"a\.jsonl holds answers to \d questions? .* not asked now.*--overwrite"):
            answer(other)
        assert answered.path.read_bytes() == before
    answered.path.write_bytes(before.splitlines(keepends=True)[1])
    assert [line["question"] for line in answer(QUESTIONS[1:2])] == QUESTIONS[1:2]
    assert len(server.requests) == 3
    assert len(answer(QUESTIONS[:1], overwrite=True)) == 1


def test_what_cannot_be_asked_fails_alone_and_is_asked_again(answer: Answer, server: Server) -> None:
    questions = [{"id": "a", "question": QUESTIONS[0]}, {"id": "b", "question": " "}]
    answered = answer(questions)
    assert list(answered.failed) == ["b"]
    assert "The question is empty" in answered.failed["b"]
    assert answer(questions).failed == answered.failed
    assert len(server.requests) == 1


def test_a_batch_stops_at_its_limit_of_calls_and_goes_on(answer: Answer, server: Server) -> None:
    with pytest.raises(PolyqaError, match=r"the limit \(--max-calls\) is 2.* kept in .*a\.jsonl") as caught:
        answer(QUESTIONS[:3], max_calls=2)
    assert len(server.requests) <= 2
    done = len(server.requests)
    assert "larger --max-calls goes on" in str(caught.value)
    with pytest.raises(PolyqaError, match="--max-calls"):
        answer(QUESTIONS[:3], max_calls=2)
    assert len(server.requests) == done
    assert answer(QUESTIONS[:3], max_calls=100).took.calls == len(server.requests) == 3


def test_what_failed_attempts_took_stays_counted(
    answer: Answer, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their calls count for the limit, and in the line of the answer that is got in the end."""
    from polyqa.batch import answering

    result_of = answering.result_of

    def failing(*given: Any) -> Any:
        raise ValueError("the last step failed")

    monkeypatch.setattr(answering, "result_of", failing)
    for attempts in (1, 2):
        answered = answer(QUESTIONS[:1])
        assert list(answered.failed) == ["1"]
        assert answered.took.calls == attempts
    monkeypatch.setattr(answering, "result_of", result_of)
    with pytest.raises(PolyqaError, match="Stopped: 2 calls"):
        answer(QUESTIONS[:1], max_calls=2)
    (line,) = answer(QUESTIONS[:1], max_calls=3)
    assert line["calls"] == 3
    assert line["input_tokens"] % 3 == 0
    assert line["answer"]


def test_ctrl_c_while_an_answer_is_kept_counts_nothing_twice(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    from polyqa.batch import answering

    result_of, add = answering.result_of, answering.CallLimit.add
    monkeypatch.setattr(answering, "result_of", lambda *given: 1 / 0)
    answer(QUESTIONS[:1])
    monkeypatch.setattr(answering, "result_of", result_of)

    def interrupted(limit: CallLimit, calls: int) -> None:
        monkeypatch.setattr(answering.CallLimit, "add", add)
        raise KeyboardInterrupt

    monkeypatch.setattr(answering.CallLimit, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        answer(QUESTIONS[:1])
    (line,) = answer(QUESTIONS[:1])
    assert line["calls"] == 2


def test_what_has_an_answer_is_not_asked_again(answer: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = read_asked(QUESTIONS[:3])
    path = answer(QUESTIONS[:2]).path
    assert [one.question for one in unanswered(asked, path)] == QUESTIONS[2:3]
    assert unanswered(read_asked([*QUESTIONS[:2], QUESTIONS[0]]), path) == []
    assert unanswered(asked, tmp_path) == unanswered(asked, tmp_path / "none.jsonl") == asked
    monkeypatch.setenv("HOME", str(path.parent))
    assert unanswered(asked, Path("~") / path.name) == unanswered(asked, path)


def test_a_server_that_is_gone_ends_it_and_nothing_is_lost(answer: Answer, tmp_path: Path) -> None:
    gone = polyqa.Models(
        lm="openai/m", api_base="http://127.0.0.1:9/v1", settings=polyqa.LMSettings(retries=0, timeout=5)
    )
    many = [f"{QUESTIONS[0]} {number}" for number in range(40)]
    with pytest.raises(PolyqaError, match="Stopped, as questions fail one after the other"):
        answer(many, models=gone, at_once=4)
    kept = (tmp_path / "out" / "a.jsonl").read_text().splitlines()
    assert 8 <= len(kept) < len(many)
    assert {one.name for one in (tmp_path / "out").iterdir()} == {"a.jsonl", "a.jsonl.settings.json", ".a.jsonl.lock"}
    assert all("error" in json.loads(line) for line in kept)


class Refusing:
    """Answers the first questions, and then refuses."""

    def __init__(self, good: int) -> None:
        self.left = good

    def complete(self, request: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise Wire('{"error": {"message": "no such model", "type": "invalid"}}', status=404)
        return embedded_engine().complete(request)


def test_failures_of_a_model_are_lines_that_say_why(tmp_path: Path) -> None:
    with serve(Refusing(2)) as server:
        models = polyqa.Models(lm="openai/m", api_base=server.base, settings=polyqa.LMSettings(retries=0))
        answered = answer_many(QUESTIONS, tmp_path / "a.jsonl", program="rac", models=models, batch=Batch(1))
    assert 1 <= len(answered.failed) <= 3
    assert all("no such model" in why for why in answered.failed.values())
    failed = next(one for one in answered if "error" in one)
    assert set(failed) == {"id", "question", "error", "calls", "input_tokens", "output_tokens", "seconds"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"program": "diva"}, "was begun with something else: program was rac, is diva"),
        ({"passages": 2}, "was begun with something else: program_state was"),
        ({"models": polyqa.Models()}, "lm was openai/m, is polyqa/extractive"),
    ],
    ids=["program", "setting", "model"],
)
def test_a_file_of_something_else_is_refused_and_replaced_if_wanted(
    given: dict[str, Any], message: str, answer: Answer
) -> None:
    answer(QUESTIONS[:1])
    with pytest.raises(PolyqaError, match=message):
        answer(QUESTIONS[:1], **given)
    assert answer(QUESTIONS[:1], overwrite=True, **given).failed == {}


def test_what_a_file_lacks_is_asked_and_what_is_no_answer_is_refused(answer: Answer, server: Server) -> None:
    path = answer().path
    _, second, *_ = path.read_text().splitlines()
    path.write_text(f"{second}\n")
    server.requests.clear()
    assert len(answer()) == 4
    assert len(server.requests) == 3
    assert path.read_text().splitlines()[1] == second
    for line in ("{}", "[]", '{"id": "1", "question": "Who?"}'):
        path.write_text(f"{line}\n")
        with pytest.raises(PolyqaError, match=r"a\.jsonl, line 1 is damaged"):
            answer()


def test_places_that_cannot_be_written_are_told_before_anything_is_asked(
    answer: Answer, server: Server, tmp_path: Path
) -> None:
    place = tmp_path / "out" / "a.jsonl"
    place.parent.mkdir()
    place.write_text("mine\n")
    with pytest.raises(PolyqaError, match=r"a\.jsonl is there already, and a\.jsonl\.settings\.json is not"):
        answer()
    assert place.read_text() == "mine\n"
    place.unlink()
    place.mkdir()
    with pytest.raises(PolyqaError, match="is a folder; name a file"):
        answer()
    with pytest.raises(PolyqaError, match="is a folder; name a file"):
        answer_many(QUESTIONS, Path(), program="rac", models=polyqa.Models(lm="openai/m", api_base=server.base))
    place.rmdir()
    with FileLock(place.with_name(".a.jsonl.lock")), pytest.raises(PolyqaError, match="written by another process"):
        answer()
    with pytest.raises(PolyqaError, match="At least 1 question"):
        answer(at_once=0)
    made = polyqa.load("rac")
    with pytest.raises(PolyqaError, match="made already: passages cannot be given"):
        answer(program=made, passages=2)
    with pytest.raises(PolyqaError, match="lm is no setting of a program"):
        answer(program=made, lm="local")
    assert server.requests == []
    assert answer(program=made).failed == {}


def test_answers_do_not_replace_the_questions(tmp_path: Path) -> None:
    asked, link = tmp_path / "asked.json", tmp_path / "link.json"
    asked.write_text('{"train": [{"question": "Who?"}]}', encoding="utf-8")
    link.symlink_to(asked)
    for out, source in ((asked, asked), (link, asked), (asked, f"{asked}@train")):
        with pytest.raises(PolyqaError, match="is the file of the questions; choose another"):
            answer_many(source, out, program="rac", batch=Batch(overwrite=True))
    assert asked.read_text(encoding="utf-8") == '{"train": [{"question": "Who?"}]}'


def test_questions_that_are_no_file_are_asked_once(tmp_path: Path) -> None:
    for _ in range(2):
        answered = answer_many(polyqa.Questions("homonyms/dev", limit=1), tmp_path / "a.jsonl", program="rac")
    assert (len(answered), answered.failed) == (1, {})


def test_the_limit_learns_what_a_question_takes() -> None:
    limit = CallLimit(10, per_question=1)
    limit.add(4)
    assert limit.allows(0)
    assert not limit.allows(1)
    assert "4 calls of language models were made, a question may take 4" in str(limit.error(Path("a.jsonl")))
    assert CallLimit(None, per_question=1).allows(1_000)


def test_a_finished_file_costs_nothing_and_nothing_is_confirmed(
    run: Run, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "q.txt").write_text(f"{QUESTIONS[0]}\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    words = ("answer", tmp_path / "q.txt", "--out", tmp_path / "a.jsonl", "--program", "rac", "--lm", "openai/m")
    assert run(*words, "--api-base", server.base, "--yes")[0] == 0
    code, out, err = run(*words, "--api-base", server.base)
    assert (code, "Start?" in out + err) == (0, False)
    code, out, err = run(*words, "--api-base", server.base, "--overwrite")
    assert (code, "Start?" in out + err) == (2, True)


def test_the_end_says_how_many_questions_have_no_answer(run: Run, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("When did Titanic come out?\nWhat is the capital of Mongolia?\n")
    code, _, err = run("answer", tmp_path / "q.txt", "--out", tmp_path / "a.jsonl", "--yes")
    standings = [json.loads(line)["standing"] for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert (code, standings) == (0, ["answered", "unanswered"])
    assert "2 answers (1 not answered), " in err


def test_a_question_that_cannot_be_asked_does_not_keep_the_cost_from_being_told(
    run: Run, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "q.jsonl").write_text('{"question": ""}\n' + json.dumps({"question": QUESTIONS[1]}))
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    words = ("answer", tmp_path / "q.jsonl", "--out", tmp_path / "a.jsonl", "--program", "rac", "--lm", "openai/m")
    code, _, err = run(*words, "--api-base", server.base)
    assert (code, "Start?" in err) == (3, True), err
    assert "1 of 2 questions failed, the first one '1': The question is empty" in err
