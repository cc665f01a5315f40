"""Private parts of DSPy, and what DSPy 3.5 removes, are touched in one file only."""

import ast
import os
import re
from pathlib import Path

import pytest

import polyqa

ROOM = Path(polyqa.__file__).parent
INTERNALS = "lm/dspy_internals.py"
# What is private, or goes with DSPy 3.5, and the files that may have it.
PATTERNS: dict[str, set[str]] = {
    r"\bdspy\._|\b_vendor\b": set(),
    r"_engine_store|_engine_spec|_engine_lock": {INTERNALS},
    r"__wrapped__": {INTERNALS},
    r"GLOBAL_HISTORY": {INTERNALS},
    r"dspy\.clients\.execution|clients import execution": {INTERNALS},
    r"cache\._lock|settings\._|\bthread_local_overrides\b": set(),
    r"anyio\._core": set(),
    r"\bcomplete_legacy\b|\bLegacyEngine\b|\bAsyncLegacyEngine\b": set(),
    r"dspy\.LM\.a?forward|BaseLM\.a?forward": {INTERNALS},
}
FILES = [
    Path(folder, name)
    for folder, _, names in os.walk(ROOM, followlinks=True)  # five rooms are links
    for name in names
    if name.endswith(".py")
]
SOURCES = {path.relative_to(ROOM).as_posix(): path.read_text(encoding="utf-8") for path in FILES}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_private_parts_are_in_one_file(pattern: str) -> None:
    files = {name for name, text in SOURCES.items() if re.search(pattern, text)}
    assert files == PATTERNS[pattern]


def test_there_are_six_places() -> None:
    assert "programs/steps.py" in SOURCES
    assert re.findall(r"^ *# (\d)\. ", SOURCES[INTERNALS], re.M) == ["1", "2", "3", "4", "5", "6"]


def test_no_language_model_is_called_with_messages() -> None:
    """DSPy's adapters of 3.4 do, so the model that passes their calls on has to."""
    calling = {
        name
        for name, text in SOURCES.items()
        if "messages=" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and any(keyword.arg == "messages" for keyword in node.keywords)
        and ast.unparse(node.func).rpartition(".")[2] not in ("Request", "replace")
    }
    assert calling == {"lm/client.py", "lm/local/engine.py", "lm/recorded.py"}


def test_no_language_model_has_a_forward_of_its_own() -> None:
    for name, text in SOURCES.items():
        for node in ast.walk(ast.parse(text)) if "forward" in text else ():
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("LM") for base in node.bases):
                methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
                assert not methods & {"forward", "aforward"}, f"{name}: {node.name}"
