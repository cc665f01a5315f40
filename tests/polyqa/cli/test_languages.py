"""Corpora and questions that are not English: each command says so once, in a line."""

import json
from pathlib import Path

import pytest
from command_line import Run

from polyqa.base.languages import MODELS_READ
from polyqa.colbert_index.store import checkpoint_home

TEXTS = {
    "Spanish": "El puente {n} se construyó en 19{n} sobre el río y mide ochocientos metros de largo.",
    "Chinese": "第{n}座大桥于19{n}年建成，位于武汉，全长一千六百米。",
}
QUESTIONS = {
    "Spanish": "¿Cuándo se construyó el puente?",
    "Chinese": "大桥何时建成？",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_corpus_and_a_question_of_another_language(
    language: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "checkpoints").symlink_to(checkpoint_home())
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path / "home"))  # where `adapt` puts its index
    corpus, index = tmp_path / "corpus.jsonl", tmp_path / "index"
    rows = [{"id": str(n), "text": TEXTS[language].format(n=n)} for n in range(50, 56)]
    corpus.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    told = f"The passages look {language}: {MODELS_READ}"
    code, _, err = run("index", "build", corpus, "--name", index)
    assert (code, _one_line(err).count(told)) == (0, 1), err
    code, out, err = run("ask", QUESTIONS[language], "--index", index)
    assert (code, _one_line(out + err).count(f"The question looks {language}: {MODELS_READ}")) == (0, 1), out + err
    code, _, err = run("adapt", corpus, "--program", "rac", "--out", tmp_path / "adapted", "--yes")
    assert code == 2
    assert _one_line(err).count(f"{told} Or give questions of your own (--questions).") == 1, err
    code, out, err = run("questions", "build", "--index", index)
    assert (code == 0 and not out.startswith("6 passages, 0")) or f"They look {language}:" in _one_line(err), err


def _one_line(text: str) -> str:
    return " ".join(text.split())
