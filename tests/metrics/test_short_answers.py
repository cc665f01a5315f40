from typing import Any

import pytest
from data_files import golden

from polyqa.metrics import exact_presence
from polyqa.metrics.exact_match import exact_match
from polyqa.metrics.token_f1 import token_f1

PAIRS = golden("compute_f1_exact")
PRESENT = golden("exact_presence")


@pytest.mark.parametrize("case", PAIRS["cases"], ids=lambda case: f"{case['a_pred']} for {case['a_gold']}")
def test_token_f1_and_exact_match_agree_with_the_official_scorer(case: dict[str, Any]) -> None:
    assert token_f1(case["a_pred"], [case["a_gold"]]) == pytest.approx(case["f1"], abs=1e-9)
    assert exact_match(case["a_pred"], [case["a_gold"]]) == case["exact"]


@pytest.mark.parametrize("case", PRESENT["cases"], ids=lambda case: f"{case['short_answers']}"[:50])
def test_presence_agrees_with_the_official_scorer(case: dict[str, Any]) -> None:
    assert exact_presence(case["short_answers"], case["context"]) is case["output"]
