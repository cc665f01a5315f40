import asyncio
import time

import pytest

from polyqa.evaluation.virtual_loop import run_virtually


async def chained(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(100)


async def at_once(count: int) -> None:
    await asyncio.gather(*(asyncio.sleep(100) for _ in range(count)))


async def two_at_a_time(count: int) -> None:
    free = asyncio.Semaphore(2)

    async def one() -> None:
        async with free:
            await asyncio.sleep(100)

    await asyncio.gather(*(one() for _ in range(count)))


async def after_a_thread(count: int) -> None:
    """Wait in a thread, in real time, while a timer is set: the clock must not pass by it."""

    async def later() -> None:
        await asyncio.to_thread(time.sleep, 0.1)
        await asyncio.sleep(100)

    await asyncio.gather(asyncio.sleep(100), *(later() for _ in range(count)))


async def the_first_of(count: int) -> None:
    tasks = [asyncio.create_task(chained(1 + at)) for at in range(count)]
    _, late = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in late:
        task.cancel()


@pytest.mark.parametrize(
    ("waits", "seconds"),
    [(chained, 500), (at_once, 100), (two_at_a_time, 300), (after_a_thread, 100), (the_first_of, 100)],
)
def test_waiting_is_counted_and_takes_no_time(waits, seconds: float) -> None:  # type: ignore[no-untyped-def]
    started = time.perf_counter()
    _, took = run_virtually(lambda: waits(5))
    assert took == pytest.approx(seconds)
    assert time.perf_counter() - started < 20


def test_results_and_errors_come_back_from_within_a_running_loop() -> None:
    async def value(fails: bool) -> int:
        if fails:
            raise ValueError("no")
        return 7

    async def inside() -> tuple[int, float]:
        return run_virtually(lambda: value(False))

    assert asyncio.run(inside()) == (7, 0.0)
    with pytest.raises(ValueError, match="no"):
        run_virtually(lambda: value(True))
