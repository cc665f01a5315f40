import numpy as np
import pytest

from lab.training.areas import areas


def test_what_tells_right_from_wrong_has_all_of_the_area_and_a_constant_one_half() -> None:
    right = [np.array([True, False]), np.array([False, True, False])]
    perfect = areas([np.where(one, 0.9, 0.1) for one in right], right)
    assert perfect.min() == 1.0
    assert areas([np.full(len(one), 0.7) for one in right], right)[0] == pytest.approx(0.5)
    assert len(areas([np.where(one, 0.2, 0.8) for one in right], right)) == len(perfect)
