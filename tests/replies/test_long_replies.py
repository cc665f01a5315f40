"""Replies of a model that has lost its way are read in a time that grows with their length, not with its square."""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lenient_kinds import KINDS

from polyqa.lm.adapter import LeanAdapter
from polyqa.metrics.text import sentences, sentences_by_shape, split_title
from polyqa.replies import clean_answer, looks_like_refusal, tells_nothing
from polyqa.replies.text import told, without_loops
from polyqa.signatures import WriteLongFormAnswer

LENGTH = 20_000
PIECES = (
    *(" ", "\n", "\t", "\xa0", ". ", "A. ", "Mr. ", "*", "_", "|", "–", "(", '{"', "```\n", "```json\n", "<think>"),
    *("no ", "not ", "the question ", "\n---\n", "based on the passages ", "Here is "),
)
LEAN = LeanAdapter()
READERS: dict[str, Callable[[str], Any]] = {
    **{name: lambda text, kind=kind: LEAN.parse(kind.signature, text) for name, kind in KINDS.items()},
    "long answer": lambda text: LEAN.parse(WriteLongFormAnswer, text),
    "clean answer": clean_answer,
    "refusal": looks_like_refusal,
    "nothing told": tells_nothing,
    "sentences": sentences,
    "sentences by shape": sentences_by_shape,
    "title": lambda text: split_title(text, commas=True),
}


def seconds(read: Callable[[str], Any], text: str) -> float:
    took = []
    for _ in range(3):
        started = time.process_time()
        with suppress(Exception):  # what is no answer may be refused
            read(text)
        took.append(time.process_time() - started)
    return min(took)


@pytest.mark.parametrize("name", READERS)
def test_twice_the_length_takes_about_twice_the_time(name: str) -> None:
    read = READERS[name]
    slow = [
        piece for piece in PIECES if not any(grows_evenly(read, piece) for _ in range(3))
    ]  # others are at work, too
    assert not slow


def grows_evenly(read: Callable[[str], Any], piece: str) -> bool:
    once, twice = (seconds(read, f"1. Who{piece * (length // len(piece))}won?") for length in (LENGTH, 2 * LENGTH))
    return twice <= 2.5 * once + 0.005  # below that the clock decides


def test_a_reply_longer_than_any_model_writes_is_refused() -> None:
    with pytest.raises(ValueError, match="characters where at most 100,000 are read"):
        told(", ".join(map(str, range(30_000))))


@given(
    st.text("ab \n", max_size=80),
    st.text("abc\t", min_size=1, max_size=24),
    st.integers(60, 70),
    st.text("ab", max_size=80),
)
def test_every_loop_is_found_wherever_it_begins(before: str, unit: str, times: int, after: str) -> None:
    text = before + times * unit + after
    assert without_loops(text) == everywhere(text)


def everywhere(text: str) -> str:
    """Return what looking for a loop at every character leaves."""
    text = re.sub(r"(\s{64})\s+", r"\1", text)
    return re.sub(r"(.{1,24}?)\1{64,}", lambda found: 64 * found[1], text, flags=re.S)
