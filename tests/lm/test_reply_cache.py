"""DSPy's cache within the limits of a process."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dspy
import pytest
from dspy.clients.cache import Cache
from openai_server import serve
from scripted_engine import ScriptedEngine, last_message

from polyqa.lm.client import BoundedLM
from polyqa.lm.exchanges import exchanging
from polyqa.lm.reply_cache import bound_cache

_FILES = Path("/proc/self/fd")


@pytest.mark.skipif(not _FILES.is_dir(), reason="counts open files in /proc")
@pytest.mark.parametrize("kind", [BoundedLM, dspy.LM])
def test_however_many_threads_ask_the_cache_is_opened_once(kind: type[dspy.LM], own_cache: Cache) -> None:
    most, done, waiting = 0, threading.Barrier(33), threading.Event()

    def ask(number: int) -> None:
        with exchanging():
            lm(f"hello {number}")
        done.wait(60)  # a thread that ends closes its files
        waiting.wait(60)

    with serve(ScriptedEngine(lambda message: "yes", given=last_message)) as server:
        lm = kind("openai/m", api_base=server.base, api_key="none")
        assert lm("hello") == ["yes"]
        assert type(own_cache.disk_cache).__module__.startswith("diskcache"), "one question changes nobody's cache"
        bound_cache()
        with ThreadPoolExecutor(32) as pool:
            asked = [pool.submit(ask, number) for number in range(32)]
            done.wait(60)
            names = [str(path.readlink()) for path in _FILES.iterdir() if path.is_symlink()]
            most = sum(str(own_cache.disk_cache_dir) in name for name in names)
            waiting.set()
        assert not any(one.exception() for one in asked)
        own_cache.reset_memory_cache()
        assert lm("hello 3") == ["yes"]
        assert len(server.requests) == 33, "replies are kept on the disk"
    assert 0 < most <= 2 * 16 * 3, "at most those of the thread that made it, and of the one that uses it"


def test_a_size_that_somebody_has_set_is_left_alone(tmp_path: Path) -> None:
    for given, kept in ((1_000_000, 1_000), (50_000, 50_000)):
        cache = Cache(True, True, str(tmp_path / str(given)), memory_max_entries=given)
        bound_cache(cache)
        bound_cache(cache)
        assert cache.memory_cache.maxsize == kept
        cache.disk_cache.close()
    memory = Cache(False, True, None)
    bound_cache(memory)
    assert memory.memory_cache.maxsize == 1_000_000
