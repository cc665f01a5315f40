"""The examples in docstrings are run."""

import doctest
import importlib
import pkgutil

import pytest

import polyqa

_WITH_EXAMPLES = {
    "polyqa.cli.ask",
    "polyqa.colbert_index.compressed",
    "polyqa.colbert_index.settings",
    "polyqa.cli.disk",
    "polyqa.cli.terminal",
    "polyqa.models.running",
    "polyqa.models.reader",
    "polyqa.evaluation.tables",
    "polyqa.evaluation.verdicts",
    "polyqa.extractive.answer_kinds",
    "polyqa.extractive.obeying",
    "polyqa.extractive.planted",
    "polyqa.extractive.readings",
    "polyqa.extractive.titles",
    "polyqa.extractive.wordings",
    "polyqa.metrics.agreement",
    "polyqa.metrics.alce",
    "polyqa.metrics.dr",
    "polyqa.metrics.edit_f1",
    "polyqa.metrics.exact_match",
    "polyqa.metrics.gold",
    "polyqa.metrics.length",
    "polyqa.metrics.modules",
    "polyqa.metrics.recall",
    "polyqa.metrics.text",
    "polyqa.metrics.token_f1",
    "polyqa.optimizers.proposer.proposals",
    "polyqa.programs.knn",
    "polyqa.lm.calls",
    "polyqa.questions.alike",
    "polyqa.questions.families",
    "polyqa.base.ledger",
    "polyqa.questions.quality",
    "polyqa.lm.sampling",
    "polyqa.base.text",
    "polyqa.reports.marks",
    "polyqa.base.keys",
    "polyqa.tracing.runs",
    "polyqa.language_models",
    "polyqa.lm.harmless",
    "polyqa.lm.fields",
    "polyqa.lm.headers",
    "polyqa.replies.answers",
    "polyqa.replies.labels",
    "polyqa.replies.long_answers",
    "polyqa.replies.nothing",
    "polyqa.replies.numbers",
    "polyqa.replies.records",
    "polyqa.replies.rows",
    "polyqa.replies.tagged",
    "polyqa.replies.text",
    "polyqa.replies.verdicts",
    "polyqa.signatures.lookup",
    "polyqa.base.html",
    "polyqa.base.values",
    "lab.training.unanswerable",
}


def _modules() -> list[str]:
    found = [info.name for info in pkgutil.walk_packages(polyqa.__path__, "polyqa.")]
    return sorted(name for name in found if not name.endswith("__main__"))


@pytest.mark.parametrize("name", _modules())
def test_examples_of(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert (result.attempted > 0) == (name in _WITH_EXAMPLES)
