"""What goes wrong with a language model on this machine is one line, and the process that asks goes on."""

import asyncio
import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import LMProviderError
from local_model import NAME, local_lm, local_model_file

from polyqa.lm.client import CallTimeoutError
from polyqa.lm.local import LocalLM
from polyqa.lm.local import process as process_module
from polyqa.signatures import VerifyFinding

LONG = "Tell a long story about a cat and a dog."
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")]
Ask = Callable[[LocalLM, str], Any]


def process_of(lm: LocalLM) -> int:
    lm.server.address()
    assert lm.server.pid is not None
    return lm.server.pid


def when_writing(lm: LocalLM, act: Callable[[], Any]) -> None:
    """Do something as soon as a call has a slot, and has had time to be written."""

    def wait() -> None:
        while lm.engine.free._value:
            time.sleep(0.01)
        time.sleep(0.3)
        act()

    threading.Thread(target=wait, daemon=True).start()


def test_a_process_that_hangs_is_ended_at_the_deadline_and_started_again(
    lm: LocalLM, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "_ANSWERS_IN", 0.5)
    pid = process_of(lm)
    os.kill(pid, signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(CallTimeoutError, match=r"hung and was ended\. It is started again at the next call") as error:
        ask(local_lm(timeout=0.5), "Hi.")
    assert "\n" not in str(error.value)
    assert time.monotonic() - started < 3
    assert ask(lm, "Hi.")
    assert lm.server.pid != pid


def test_a_process_that_is_only_slow_goes_on(lm: LocalLM, ask: Ask) -> None:
    pid = process_of(lm)
    with pytest.raises(CallTimeoutError, match=r"no answer within 0\.3 seconds"):
        ask(local_lm(timeout=0.3, max_tokens=900), LONG)
    assert lm.server.pid == pid


def test_a_killed_process_costs_no_call(lm: LocalLM, ask: Ask) -> None:
    pid = process_of(lm)
    when_writing(lm, lambda: os.kill(pid, signal.SIGKILL))
    assert ask(local_lm(max_tokens=200), LONG)  # sent again, to another process
    assert lm.server.pid not in (None, pid)


def test_a_killed_process_is_told_where_no_call_is_sent_again(lm: LocalLM, ask: Ask) -> None:
    pid = process_of(lm)
    when_writing(lm, lambda: os.kill(pid, signal.SIGKILL))
    with pytest.raises(
        LMProviderError, match=r"stopped: it ended with status -9 \(the system ends .*next call"
    ) as error:
        ask(local_lm(max_tokens=900, retries=0), LONG)
    assert "\n" not in str(error.value)
    assert ask(lm, "Hi.")


@pytest.mark.parametrize("given_up", ["deadline", "cancelled"])
@pytest.mark.parametrize("prompt", [LONG, "word " * 7_000], ids=["the reply is written", "the prompt is read"])
def test_a_call_that_nobody_waits_for_frees_its_slot_while(prompt: str, given_up: str) -> None:
    lm = local_lm(context=8192, max_tokens=900)  # either takes many seconds
    lm("Hi.", max_tokens=5)
    started = time.monotonic()
    if given_up == "deadline":
        with pytest.raises(CallTimeoutError):
            local_lm(context=8192, max_tokens=900, timeout=0.5)(prompt)
    else:

        async def cancelled() -> None:
            task = asyncio.create_task(lm.acall(prompt))
            await asyncio.sleep(0.5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())
    assert lm.engine.free.acquire(timeout=1)
    lm.engine.free.release()
    assert time.monotonic() - started < 2
    assert lm("Hi.", max_tokens=5)
    lm.server.stop()


def test_many_calls_share_one_slot(lm: LocalLM) -> None:
    async def together() -> list[Any]:
        return await asyncio.gather(*(lm.acall("Hi.") for _ in range(16)))

    with ThreadPoolExecutor(17) as pool:
        loop = pool.submit(asyncio.run, together())
        threads = list(pool.map(lm, ["Hi."] * 16))
    assert threads == loop.result() == [lm("Hi.")] * 16


def test_no_proxy_sees_it(lm: LocalLM, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    lm.server.stop()  # no connection is open
    assert ask(lm, "Hi.")


def test_copies_and_pickles_share_the_process(lm: LocalLM) -> None:
    program = dspy.Predict(VerifyFinding)
    program.lm = lm
    said = lm("Hi.")
    for other in (
        lm.copy(max_tokens=30),
        copy.deepcopy(lm),
        pickle.loads(pickle.dumps(lm)),
        pickle.loads(pickle.dumps(program)).lm,
        program.deepcopy().lm,
    ):
        assert other.server is lm.server
        assert other("Hi.") == said
        assert asyncio.run(other.acall("Hi.")) == said


def test_it_streams_into_a_listener(lm: LocalLM) -> None:
    words = 'root ::= "[[ ## answer ## ]]\\n" [a-z ]{20,40} "\\n\\n[[ ## completed ## ]]"'  # the form of DSPy's adapter
    program = dspy.Predict("question -> answer", metadata={"grammar": words}, max_tokens=100)
    stream = dspy.streamify(
        program, stream_listeners=[dspy.streaming.StreamListener(signature_field_name="answer")], async_streaming=True
    )

    async def pieces() -> list[Any]:
        with dspy.context(lm=lm):
            return [piece async for piece in stream(question="What is the capital of France?")]

    *written, last = asyncio.run(pieces())
    assert isinstance(last, dspy.Prediction)
    assert len(written) > 1
    assert "".join(piece.chunk for piece in written).strip() == last.answer


def in_another_process(body: str, *, timeout: float = 60.0) -> str:
    """Run code with `lm` at hand; return what it prints."""
    local_model_file()
    code = (
        "import polyqa\n"
        "def made(**settings):\n"
        f"    return polyqa.language_model({NAME!r}, threads=1, slots=1, cache=False, max_tokens=5, **settings)\n{body}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_processes_each_have_their_own() -> None:
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(in_another_process, ["lm = made(context=512)\nprint(lm('Hi.'), lm.server.pid)"] * 2)
    assert one.rpartition(" ")[0] == other.rpartition(" ")[0]
    assert one != other


@pytest.mark.parametrize("limit", [2**29, 900 * 2**20])
def test_too_little_memory_is_one_line(limit: int) -> None:
    body = (
        "import resource\n"
        "lm = made(context=65536, retries=0)\n"
        "real = resource.getrlimit(resource.RLIMIT_AS)\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({limit}, real[1]))\n"
        "try:\n    lm.server.address()\n"
        "except polyqa.PolyqaError as error:\n"
        "    resource.setrlimit(resource.RLIMIT_AS, real)\n    print(error)\n"
    )
    line = in_another_process(body)
    assert "cannot be loaded: " in line
    assert line.count("\n") == 1
    assert "memory" in line
