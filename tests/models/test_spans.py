import itertools
from typing import Any

import numpy as np
import pytest
from data_files import golden
from hypothesis import given, settings
from hypothesis import strategies as st

from polyqa.models import spans
from polyqa.models.spans import Reading, Span, Window, read_windows

GOLDEN = golden("hf_null_postprocess")


def window(starts: list[float], ends: list[float], offsets: list[tuple[int, int] | None]) -> Window:
    return Window(np.array(starts), np.array(ends), offsets)


def golden_window(feature: dict[str, Any]) -> Window:
    offsets = [tuple(offset) if offset else None for offset in feature["offset_mapping"]]
    return window(feature["start_logits"], feature["end_logits"], offsets)


@pytest.mark.parametrize("case", GOLDEN["cases"])
def test_the_official_choice(case: dict[str, Any]) -> None:
    reading = read_windows(case["context"], [golden_window(feature) for feature in case["features"]])
    assert reading.answer() == case["prediction"]
    assert -reading.margin == pytest.approx(case["score_diff"], abs=1e-9)


def test_the_golden_cases_hold_both_outcomes_and_several_windows() -> None:
    assert {bool(case["prediction"]) for case in GOLDEN["cases"]} == {True, False}
    assert {len(case["features"]) for case in GOLDEN["cases"]} >= {1, 2}


CONTEXT = "red kite over blue ice"
OFFSETS: list[tuple[int, int] | None] = [None, None, (0, 3), (4, 8), (9, 13), (14, 18), (19, 22), None]


def test_the_best_span_and_the_null_score() -> None:
    reading = read_windows(CONTEXT, [window([1, 9, 0, 5, 0, 0, 0, 0], [2, 9, 0, 0, 0, 4, 0, 9], OFFSETS)], keep=1)
    assert reading == Reading((Span("kite over blue", 4, 18, 9.0),), 3.0)
    assert reading.margin == 6.0


def test_the_threshold_of_the_null_rule() -> None:
    reading = Reading((Span("kite", 4, 8, 2.0),), null_score=5.0)
    assert reading.margin == -3.0
    assert [reading.answer(threshold) for threshold in (0.0, 2.9, 3.0, 3.1)] == ["", "", "kite", "kite"]
    assert Reading((Span("kite", 4, 8, 5.0),), null_score=5.0).answer() == "kite"

    none = Reading((), null_score=-50.0)
    assert (none.margin, none.answer(1e9)) == (float("-inf"), "")


def test_the_longest_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    high_ends = [window([0, 0, 9, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 9, 0], OFFSETS)]
    assert read_windows(CONTEXT, high_ends).spans[0].text == CONTEXT
    for longest, score in ((5, 18.0), (4, 9.0)):
        monkeypatch.setattr(spans, "_LONGEST", longest)
        assert read_windows(CONTEXT, high_ends).spans[0].score == score


def test_only_the_n_best_starts_and_ends_are_combined(monkeypatch: pytest.MonkeyPatch) -> None:
    early, late = [5.0, 4, 3, 2, 1, 0, 0, 0], [5.0, 4, 0, 3, 0, 0, 0, 0]
    ends_outside = [window([0, 0, 3, 2, 1, 0, 0, 0], late, OFFSETS)]
    starts_outside = [window(early, [0, 0, 0, 3, 2, 0, 0, 0], OFFSETS)]
    for n_best, texts in ((2, []), (3, ["red kite"])):
        monkeypatch.setattr(spans, "_N_BEST", n_best)
        for outside in (ends_outside, starts_outside):
            assert [span.text for span in read_windows(CONTEXT, outside).spans] == texts


@st.composite
def _windows(draw: st.DrawFn) -> list[Window]:
    logit = st.floats(-8, 8, width=32)
    logits = st.lists(logit, min_size=8, max_size=8)
    return [window(draw(logits), draw(logits), OFFSETS) for _ in range(draw(st.integers(1, 3)))]


@settings(max_examples=50)
@given(windows=_windows(), keep=st.integers(1, 6))
def test_the_first_span_is_the_best_of_all_and_the_rest_do_not_overlap(windows: list[Window], keep: int) -> None:
    reading = read_windows(CONTEXT, windows, keep=keep)
    best = max(
        float(one.start_logits[start] + one.end_logits[end])
        for one in windows
        for start in range(2, 7)
        for end in range(start, 7)
    )
    assert reading.spans[0].score == best
    assert reading.null_score == min(float(one.start_logits[0] + one.end_logits[0]) for one in windows)
    assert reading.spans[:1] == read_windows(CONTEXT, windows).spans
    assert 1 <= len(reading.spans) <= keep
    scores = [span.score for span in reading.spans]
    assert scores == sorted(scores, reverse=True)
    for span in reading.spans:
        assert span.text == CONTEXT[span.start : span.end] != ""
    places = sorted((span.start, span.end) for span in reading.spans)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(places))
