import pytest

from polyqa.evaluation import prices
from polyqa.evaluation.prices import Price, price_of

LIST = {
    "big": {"input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6, "litellm_provider": "openai"},
    "thinker": {
        "input_cost_per_token": 1e-6,
        "output_cost_per_token": 4e-6,
        "cache_read_input_token_cost": 1e-7,
        "prompt_cache_min_tokens": 2048,
        "supports_reasoning": True,
        "litellm_provider": "openai",
    },
    "cloud/big": {"input_cost_per_token": 3e-6, "output_cost_per_token": 9e-6, "litellm_provider": "cloud"},
    "painter": {"output_cost_per_image": 0.04, "litellm_provider": "openai"},
}


@pytest.mark.parametrize(
    ("lm", "price"),
    [
        ("openai/big", Price(2e-6, 8e-6)),
        ("openai/thinker", Price(1e-6, 4e-6, cached=1e-7, cached_from=2048, reasons=True)),
        ("cloud/big", Price(3e-6, 9e-6)),
        ("big", Price(2e-6, 8e-6)),
        ("groq/big", None),
        ("openai/painter", None),
        ("openai/unheard-of", None),
        ("polyqa/extractive", Price(0.0, 0.0)),
    ],
)
def test_prices_are_those_of_the_model_and_its_provider(
    lm: str, price: Price | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prices, "_prices", lambda: LIST)
    assert price_of(lm) == price


def test_the_list_is_there_without_network() -> None:
    price = price_of("openai/gpt-4o-mini")
    assert price is not None
    assert price.cached is not None
    assert 0 < price.cached < price.input < price.output < 1e-3


@pytest.mark.parametrize(
    ("price", "dollars"), [(Price(1.0, 10.0), 130.0), (Price(1.0, 10.0, cached=0.5), 115.0), (Price(0.0, 0.0), 0.0)]
)
def test_cached_tokens_are_cheaper_where_they_have_a_price(price: Price, dollars: float) -> None:
    assert price.of(100, 3, 30) == pytest.approx(dollars)
