"""A command whose optional package is not installed ends in one line that names the extra."""

import sys
from pathlib import Path

import pytest
from command_line import Refused

from polyqa.base.errors import PolyqaError
from polyqa.base.extras import missing, needs


@pytest.mark.parametrize(
    ("package", "extra", "words"),
    [
        ("lancedb", "questions", "questions build --index homonyms"),
        ("ray", "ray", "answer questions.jsonl --out answers.jsonl --engine ray"),
        ("mlflow", "mlflow", "ask Who? --mlflow http://127.0.0.1:1"),
        ("fastapi", "serve", "serve"),
        ("mcp", "mcp", "serve --mcp"),
        ("xllamacpp", "local", "ask Who? --program closed-book --lm local/m.gguf"),
        ("optuna", "mipro", "compile --recipe miprov2 --out made --prompt-lm ollama_chat/x"),
    ],
)
def test_the_line_names_the_extra(
    package: str, extra: str, words: str, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("questions.jsonl").write_text('{"id": "1", "question": "Who?"}\n')
    Path("m.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, package, None)
    line = refused(*words.split())
    assert f"needs {package}, which is not installed: pip install 'polyqa[{extra}]'" in line
    assert not list(tmp_path.glob("*answers*")), "nothing is begun"


def test_a_package_that_is_there_needs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing("json", extra="none", for_="Nothing") is None
    needs("json", extra="none", for_="Nothing")
    monkeypatch.setitem(sys.modules, "json", None)
    with pytest.raises(PolyqaError, match=r"^A list needs json, which .*: pip install 'polyqa\[lists\]'$"):
        needs("json", extra="lists", for_="A list")
