import pytest

from polyqa.evaluation.prices import Price, price_of


@pytest.mark.parametrize(
    ("lm", "price"),
    [
        ("polyqa/extractive", Price(0.0, 0.0)),
        ("local/qwen2.5-coder-0.5b", Price(0.0, 0.0)),
        ("openai/gpt-4o-mini", Price(1.5e-7, 6e-7)),
        ("openai/unheard-of", None),  # not known is not free
        ("groq/gpt-4o-mini", None),  # another provider's model
        ("gpt-4o-mini", Price(1.5e-7, 6e-7)),
        ("openai/dall-e-3", None),  # priced by the image
    ],
)
def test_prices_are_those_of_the_model_and_its_provider(lm: str, price: Price | None) -> None:
    assert price_of(lm) == price


def test_a_model_that_thinks_is_known() -> None:
    price = price_of("openai/o3")
    assert price is not None
    assert price.reasons
