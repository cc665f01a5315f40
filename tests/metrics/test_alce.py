import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polyqa.metrics.alce import alce_text


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("", ""),
        (" \n ", ""),
        ("One line.", "One line."),
        ("First line.\nSecond line.", "First line."),
        ("\n\n  First line.\n\nSecond line.", "First line."),
        ("It came out in 1997 [1].", "It came out in 1997."),
        ("It came out in 1997[1].", "It came out in 1997."),
        ("It came out in 1997 [1][2] and in 2012 [3].", "It came out in 1997 and in 2012."),
        ("It came out in 1997 [1, 2].", "It came out in 1997, 2."),  # as in the source
        ("It came out [12] in 1997.", "It came out in 1997."),
        ("A list [a] of [b] marks", "A list [a of [b marks"),  # as in the source
        ("Cells | in | a row", "Cells in a row"),
        ("No|space", "No|space"),
    ],
)
def test_what_alce_scores(output: str, text: str) -> None:
    assert alce_text(output) == text


@given(st.text(alphabet="[]12 |ab.\t\n", max_size=30))
@example("a\t[1]")
@settings(max_examples=100)
def test_agreement_with_two_passes(output: str) -> None:
    # The formula of ALCE's remove_citations: first with a space before the bracket, then without.
    line = output.strip().split("\n")[0]
    passes = re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", line))
    assert alce_text(output) == passes.replace(" |", "").replace("]", "")
