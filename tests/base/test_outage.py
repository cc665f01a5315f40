"""An outage is noticed whenever it begins; failures that come now and then stop nothing."""

import random
from collections.abc import Iterable

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.base.outage import AT_ONCE, WINDOW, Outage

WELL = ("", "")
GONE = ("no connection", "LMTransportError")
SLOW = ("no answer in time", "LMTimeoutError")
UNREAD = ("cannot be read", "AdapterParseError")


def stops_after(ends: Iterable[tuple[str, str]]) -> int | None:
    """Return after how many ends it is stopped."""
    outage = Outage("questions")
    for number, end in enumerate(ends, 1):
        outage.ended(*end)
        if outage.last:
            with pytest.raises(PolyqaError, match=f"questions fail one after the other: {end[0]}"):
                outage.check()
            return number
        outage.check()
    return None


@pytest.mark.parametrize(
    ("ends", "after"),
    [
        ([GONE] * 30, AT_ONCE),
        ([UNREAD] * 30, AT_ONCE),
        ([WELL] * 100 + [GONE] * 30, 100 + AT_ONCE),
        ([WELL] * 100 + [UNREAD] * 30, 100 + WINDOW),
        ([WELL] + [UNREAD] * 30, 1 + WINDOW),
        ([GONE] * (AT_ONCE - 1) + [WELL] + [GONE] * (AT_ONCE - 1), None),
        ([GONE, SLOW] * 20, None),
        ([GONE] * 4 + [UNREAD] * 19, None),
        ([WELL] * 50, None),
    ],
)
def test_when_it_is_stopped(ends: list[tuple[str, str]], after: int | None) -> None:
    assert stops_after(ends) == after


@pytest.mark.parametrize("seed", range(20))
def test_a_reply_in_two_that_cannot_be_read_does_not_stop_a_thousand_questions(seed: int) -> None:
    draw = random.Random(seed)
    assert stops_after(draw.choice([WELL, UNREAD]) for _ in range(1_000)) is None


def test_what_is_noted_last_counts() -> None:
    outage = Outage("calls", at_once=2)
    outage.ended(*GONE)
    assert not outage.last
    outage.ended("refused", GONE[1])
    assert outage.last == "refused"
    outage.ended()
    assert not outage.last
