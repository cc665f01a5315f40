import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from polyqa.batch.work import CallLimit, Fields, work_on

from polyqa.base.errors import PolyqaError
from polyqa.batch.asked import Asked

QUESTIONS = [Asked(str(number), f"question {number}") for number in range(20)]


class Work:
    """Counts what runs at once."""

    def __init__(self) -> None:
        self.running = self.most = 0
        self.begun: list[str] = []
        self.cancelled = 0

    async def __call__(self, asked: Asked) -> Fields:
        self.begun.append(asked.id)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0.01 * (1 + int(asked.id) % 3))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        return {"question": asked.question, "calls": 2}


def run(
    work: Work,
    keep: Callable[[Asked, Fields], None],
    *,
    at_once: int = 4,
    limit: Callable[[int], bool] = lambda running: True,
    check: Callable[[], None] = lambda: None,
) -> Any:
    return asyncio.run(work_on(QUESTIONS, work, keep, at_once=at_once, limit=limit, check=check))


@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_all_are_kept_once_and_so_many_run_at_once(at_once: int) -> None:
    work, kept = Work(), []
    assert run(work, lambda asked, fields: kept.append((asked.id, fields["question"])), at_once=at_once) is True
    assert sorted(kept) == sorted((one.id, one.question) for one in QUESTIONS)
    assert work.most == min(at_once, len(QUESTIONS))


def test_an_outage_ends_it_and_what_was_begun_is_kept() -> None:
    work, kept = Work(), []

    def check() -> None:
        if len(kept) >= 5:
            raise PolyqaError("gone")

    with pytest.raises(PolyqaError, match="gone"):
        run(work, lambda asked, fields: kept.append(asked.id), check=check)
    assert sorted(kept) == sorted(work.begun)
    assert 5 <= len(kept) < len(QUESTIONS)
    assert work.cancelled == 0


def test_what_cannot_be_kept_ends_it_at_once() -> None:
    work = Work()

    def keep(asked: Asked, fields: Fields) -> None:
        raise PolyqaError("the disk is full")

    with pytest.raises(PolyqaError, match="the disk is full"):
        run(work, keep)
    assert len(work.begun) == 4
    assert work.cancelled > 0


@pytest.mark.parametrize(("most", "begun"), [(0, 0), (1, 0), (2, 1), (11, 5), (40, 20), (None, 20)])
def test_no_question_is_begun_that_might_go_over_the_limit(most: int | None, begun: int) -> None:
    work, limit = Work(), CallLimit(most, per_question=2)
    finished = run(work, lambda asked, fields: limit.add(fields["calls"]), limit=limit.allows)
    assert (len(work.begun), limit.made) == (begun, 2 * begun)
    assert finished is (begun == len(QUESTIONS))
    assert most is None or limit.made <= most


def test_the_limit_learns_what_a_question_takes() -> None:
    limit = CallLimit(10, per_question=1)
    limit.add(4)
    assert limit.allows(0)
    assert not limit.allows(1)
    assert "4 calls of language models were made, a question may take 4" in str(limit.error("a.jsonl"))
