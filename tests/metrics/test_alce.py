import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from polyqa.metrics.alce import alce_text


@given(st.text(alphabet="[]12 |ab.\t\n", max_size=30))
@example("a\t[1]")
@example("In 1997 [1][2] and in 2012 [3, 4].\nMore.")
@settings(max_examples=100)
def test_agreement_with_two_passes(output: str) -> None:
    # The formula of ALCE's remove_citations: first with a space before the bracket, then without.
    line = output.strip().split("\n")[0]
    passes = re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", line))
    assert alce_text(output) == passes.replace(" |", "").replace("]", "")
