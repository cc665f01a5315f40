"""The examples in docstrings are run."""

import doctest
import importlib
import pkgutil

import pytest

from polyqa._shadowing import PACKAGES

_WITH_EXAMPLES = {
    "embedded_models.batching",
    "embedded_models.training.scoring",
    "embedded_models.training.text",
    "embedded_models.training.twist",
    "metrics.agreement",
    "metrics.alce",
    "metrics.dr",
    "metrics.edit_f1",
    "metrics.exact_match",
    "metrics.exact_presence",
    "metrics.length",
    "metrics.modules",
    "metrics.recall",
    "metrics.token_f1",
    "optimizers.families",
    "programs.strips",
    "signatures.lenient",
    "signatures.types",
}


def _modules() -> list[str]:
    found = []
    for name in (*PACKAGES, "polyqa"):
        package = importlib.import_module(name)
        found += [info.name for info in pkgutil.walk_packages(package.__path__, f"{name}.")]
    return sorted(name for name in found if not name.endswith("__main__"))


@pytest.mark.parametrize("name", _modules())
def test_examples_of(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert (result.attempted > 0) == (name in _WITH_EXAMPLES)
