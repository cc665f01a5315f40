import asyncio
import threading

from polyqa.signatures.event_loops import run_to_end

WAITING = 40


async def all_at_once() -> bool:
    """Return whether so many threads can wait for each other."""
    everyone = threading.Barrier(WAITING, timeout=20)
    await asyncio.gather(*(asyncio.to_thread(everyone.wait) for _ in range(WAITING)))
    return True


async def from_a_running_loop() -> bool:
    return run_to_end(all_at_once())


def test_threads_that_only_wait_do_not_hold_others_up() -> None:
    assert run_to_end(all_at_once())
    assert asyncio.run(from_a_running_loop())
