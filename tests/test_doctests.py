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
    "polyqa.compilation_report.drawing",
    "polyqa.embedded_models.batching",
    "polyqa.embedded_models.excerpts",
    "polyqa.evaluation.tables",
    "polyqa.evaluation.verdicts",
    "polyqa.engines.extractive.answer_kinds",
    "polyqa.engines.extractive.obeying",
    "polyqa.engines.extractive.planted",
    "polyqa.engines.extractive.readings",
    "polyqa.engines.extractive.titles",
    "polyqa.engines.extractive.wordings",
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
    "polyqa.programs.stand_ins",
    "polyqa.question_db.alike",
    "polyqa.question_db.families",
    "polyqa.question_db.lines",
    "polyqa.question_db.quality.asked",
    "polyqa.question_db.quality.rules",
    "polyqa.programs.sampling",
    "polyqa.signatures.counts",
    "polyqa.showing.citing",
    "polyqa.showing.places",
    "polyqa.signatures.keys",
    "polyqa.tracing.runs",
    "polyqa.web.sse",
    "polyqa.signatures.harmless",
    "polyqa.signatures.lean_fields",
    "polyqa.signatures.lean_headers",
    "polyqa.signatures.lenient.answers",
    "polyqa.signatures.lenient.labels",
    "polyqa.signatures.lenient.long_answers",
    "polyqa.signatures.lenient.nothing",
    "polyqa.signatures.lenient.numbers",
    "polyqa.signatures.lenient.passages",
    "polyqa.signatures.lenient.records",
    "polyqa.signatures.lenient.rows",
    "polyqa.signatures.lenient.tagged",
    "polyqa.signatures.lenient.text",
    "polyqa.signatures.unicode",
    "polyqa.signatures.lenient.verdicts",
    "polyqa.signatures.lookup",
    "polyqa.signatures.markup",
    "polyqa.signatures.types",
    "polyqa.training.unanswerable",
}


def _modules() -> list[str]:
    found = [info.name for info in pkgutil.walk_packages(polyqa.__path__, "polyqa.")]
    return sorted(name for name in found if not name.endswith("__main__"))


@pytest.mark.parametrize("name", _modules())
def test_examples_of(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert (result.attempted > 0) == (name in _WITH_EXAMPLES)
