import pytest

from polyqa.extractive.evidence import same_answer


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("In 1912", "1912", True),
        ("1.5 km", "15 km", False),
        ("1.5 km", "5 km", False),
        ("-5 °C", "5 °C", False),
        ("1,500", "about 1500", True),
    ],
)
def test_one_answer_holds_the_other_by_whole_figures(one: str, other: str, same: bool) -> None:
    assert same_answer(one, other) is same_answer(other, one) is same
