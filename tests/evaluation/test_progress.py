from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from polyqa.evaluation.prices import Price
from polyqa.evaluation.progress import bar_of_answers, showing
from polyqa.evaluation.records import Took


@pytest.mark.parametrize(
    ("price", "told"),
    [
        (None, "3 calls  2,500 tokens"),
        (Price(0.0, 0.0), "3 calls  2,500 tokens"),
        (Price(0.001, 0.002), "3 calls  2,500 tokens  $3.00"),
    ],
    ids=["unknown", "nothing", "known"],
)
def test_beside_the_bar_of_a_batch_stands_what_it_has_taken(price: Price | None, told: str) -> None:
    shown: list[str] = []

    @contextmanager
    def bar(total: int, text: str = "") -> Iterator[Callable[[str], None]]:
        yield shown.append

    with showing(bar), bar_of_answers(2, price) as add:
        add(Took(answers=1, calls=1, input_tokens=1_000, output_tokens=200))
        add(Took(answers=1, failed=1, calls=2, input_tokens=1_000, output_tokens=300))
    assert shown[-1] == f"{told}  [red]1 failed[/]"
    assert len(shown) == 2
