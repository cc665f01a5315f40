"""Of a very long text the parts are read that have to do with the question."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.models import Reader
from polyqa.models.reader import EXCERPT_OVERLAP, EXCERPT_SIZE, MOST_EXCERPTS, excerpt_spans, excerpts

FILLER = "The river rose in spring, and the fields by the town lay under water. "
FACT = "Solaris was first screened in Cannes on 13 May 1972. "
QUESTION = "When was Solaris first screened?"


@given(st.text(st.sampled_from("ab \n"), max_size=200), st.integers(EXCERPT_SIZE - 1, 4 * EXCERPT_SIZE))
def test_spans_cover_a_text_and_overlap(unit: str, length: int) -> None:
    text = ((unit or "x") * (length + 1))[:length]
    spans = excerpt_spans(text)
    assert (spans[0][0], spans[-1][1]) == (0, length)
    assert all(end - start <= EXCERPT_SIZE for start, end in spans)
    for (start, end), (following, _) in itertools.pairwise(spans):
        assert start < following <= end - EXCERPT_OVERLAP


@pytest.mark.parametrize("before", [3_000, 14_000])
def test_an_answer_anywhere_in_a_megabyte_is_found_where_it_stands(before: int, reader: Reader) -> None:
    text = FILLER * before + FACT + FILLER * (14_000 - before)
    assert len(text) > 900_000
    started = time.process_time()
    (reading,) = reader.read([(QUESTION, text)])
    assert time.process_time() - started < 60
    (span,) = reading.spans
    assert span.text == text[span.start : span.end]
    assert span.text.endswith("13 May 1972")
    assert text.index(FACT) < span.start < text.index(FACT) + len(FACT)


def test_parts_stand_in_the_order_of_the_text_and_are_few() -> None:
    parts = excerpts(QUESTION, (FILLER * 100 + FACT) * 60)
    starts = [start for start, _ in parts]
    assert starts == sorted(starts)
    assert len(parts) == MOST_EXCERPTS
    assert all("Solaris" in part for _, part in parts)


@pytest.mark.parametrize("text", ["x" * 100_000, " " * 100_000, "水" * 50_000], ids=["one word", "spaces", "Chinese"])
def test_a_text_without_words_to_share_is_read_from_its_beginning(text: str) -> None:
    assert excerpts(QUESTION, text)[0][0] == 0
    assert len(excerpts(QUESTION, text)) == MOST_EXCERPTS
