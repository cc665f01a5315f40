"""DSPy's catalogue is asked once for a model, and says what it said."""

import pytest
from dspy.clients import capabilities, costs, model_metadata

from polyqa.lm.bounded_lm import BoundedLM


@pytest.fixture(autouse=True)
def remembering() -> None:
    BoundedLM("openai/any", api_key="none")


@pytest.mark.parametrize("module", [capabilities, costs])
@pytest.mark.parametrize("model", ["gpt-4o-mini", "a-model-of-ones-own"])
@pytest.mark.parametrize("namespaces", [None, [], ["openai"]])
def test_a_model_is_what_the_catalogue_says(module: object, model: str, namespaces: list[str] | None) -> None:
    found = module.model_info("openai", model, namespaces=namespaces)  # type: ignore[attr-defined]
    assert dict(found) == model_metadata.model_info("openai", model, namespaces=namespaces)
    assert bool(found) is (model == "gpt-4o-mini" and namespaces != [])
    assert module.model_info("openai", model, namespaces=namespaces) is found  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        found["input_cost_per_token"] = 0.0


def test_what_a_model_of_the_catalogue_can_do_is_still_known() -> None:
    known, other = (BoundedLM(f"openai/{name}", api_key="none") for name in ("gpt-4o-mini", "a-model-of-ones-own"))
    assert known.supports_response_schema
    assert not other.supports_response_schema
