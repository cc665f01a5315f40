from math import sqrt

import pytest

from lab.published import ASQA, Published
from polyqa.evaluation.columns import COLUMNS


@pytest.mark.parametrize("row", ASQA, ids=lambda row: f"{row.system}, {row.lm}")
def test_published_rows_agree_with_themselves(row: Published) -> None:
    """A figure that was copied wrongly would hardly still fit its neighbours."""
    metrics = row.metrics
    assert metrics.keys() <= COLUMNS.keys()
    assert all(0 < value <= 100 for value in metrics.values())
    if "dr" in metrics:
        assert metrics["dr"] == pytest.approx(sqrt(metrics["rouge_l"] * metrics["disambig_f1"]), abs=0.11)
    if "g_f1" in metrics:
        p, r = metrics["g_precision"], metrics["g_recall"]
        assert metrics["g_f1"] == pytest.approx(2 * p * r / (p + r), abs=0.02)
