"""What the table of faults says is what a user sees."""

import json
import urllib.error
import urllib.request

import pytest

import polyqa
from lab.faults.lm import FAILURES, FaultyServer, Outcome, faulty_server, measure, tables
from polyqa.lm.adapter import LeanAdapter
from polyqa.signatures import AnswerClosedBook

QUESTION = "When did Titanic come out?"
PROMPT = LeanAdapter().format(AnswerClosedBook, [], {"question": QUESTION})


def post(server: FaultyServer, timeout: float = 30) -> tuple[int, str]:
    body = json.dumps({"model": "m", "messages": PROMPT}).encode()
    try:
        with urllib.request.urlopen(f"{server.base}/chat/completions", body, timeout) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize("name", ["empty", "429", "html"])
def test_the_server_sends_what_the_failure_says_and_is_well_afterwards(name: str) -> None:
    failure = FAILURES[name]
    with faulty_server() as server:
        with server.failing(failure):
            assert post(server) == (failure.status, failure.body)
        status, body = post(server)
        assert status == 200
        assert "do not know" in json.loads(body)["choices"][0]["message"]["content"]


@pytest.mark.parametrize(("name", "told"), [("reset", "reset"), ("hang", "timed out"), ("drip", "timed out")])
def test_no_whole_reply_comes(name: str, told: str) -> None:
    with (
        faulty_server() as server,
        server.failing(FAILURES[name]),
        pytest.raises(OSError, match=told),
    ):
        post(server, timeout=0.1)


def test_one_prompt_fails_and_the_others_do_not() -> None:
    with faulty_server() as server, server.failing(FAILURES["500"], "the key of another prompt"):
        assert post(server)[0] == 200


def test_a_program_keeps_what_it_documents() -> None:
    steps = measure(polyqa.load("query-refinement"), QUESTION, ["garbage", "500", "401"], 30)
    assert list(steps) == ["refine", "write", ""]
    for failure in ("garbage", "500"):
        assert steps["refine"][failure] == Outcome("", ["no reading is taken from it"])
    assert "refused the key" in steps["refine"]["401"].error


def test_the_tables_count_and_tell() -> None:
    kept, lost = Outcome("", ["counted as No"]), Outcome("the key is wrong")
    steps = {"verify": {"500": kept, "401": lost}, "recall": {"500": lost, "401": lost}, "": {"500": kept, "401": lost}}
    found = tables({"diva": steps}, "diva")
    assert found["told"].rows[1] == ["401, a wrong key", "`the key is wrong`"]
    assert found["answered"].rows == [["`diva`", "1 of 2", "0 of 2"]]
    assert [row[1:] for row in found["kept"].rows] == [
        ["`verify`", "counted as No"],
        ["`recall`", "nothing: the question fails"],
    ]
