import _thread
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import watchfiles
from typer.testing import CliRunner

from polyqa.base.errors import PolyqaError
from polyqa.cli.app import app

pytest.importorskip("kreuzberg")


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_build_search_and_sync(tmp_path: Path) -> None:
    folder, index = tmp_path / "birds", tmp_path / "index"
    folder.mkdir()
    (folder / "falcon.md").write_text("# Falcon\n\n## Speed\n\nFalcons dive at 300 km/h.")
    (folder / "empty.md").touch()
    output = run("index", "build", folder, "--name", index, "--overlap", 20)
    assert "read 1 file: 1 Markdown; 1 passage; 1 file left out: empty.md is empty" in output
    (folder / "owl.md").write_text("# Owl\n\nOwls hunt at night.")
    output = run("index", "sync", index, folder)
    assert "read 2 files: 2 Markdown; 1 of them unchanged; 2 passages; 1 file left out: empty.md is empty" in output
    assert "added 1 passage, removed 0, 1 unchanged; index holds 2" in output
    (found,) = json.loads(run("index", "search", index, "how fast do falcons dive", "-k", 1, "--json"))
    assert found["metadata"] == {"source": "falcon.md", "section": "Speed", "line": 5}


def test_contracts_of_two_customers_are_two_readings(tmp_path: Path) -> None:
    for customer, weeks in (("acme", "six weeks"), ("globex", "three months")):
        folder = tmp_path / "contracts" / customer
        folder.mkdir(parents=True)
        text = (
            f"# Service contract\n\n## Termination\n\nThe notice period is {weeks}. Notice must be given in writing.\n"
        )
        (folder / "contract.md").write_text(f"{text}\n## Place\n\nThe place of jurisdiction is Lisbon.")
    run("index", "build", tmp_path / "contracts", "--name", tmp_path / "index")
    asked = json.loads(run("ask", "What is the notice period?", "--index", tmp_path / "index", "--json"))
    assert {(one["question"], one["answer"]) for one in asked["interpretations"]} == {
        ("What is the notice period (Acme)?", "six weeks"),
        ("What is the notice period (Globex)?", "three months"),
    }
    assert "disagree" not in asked["answer"]
    assert sorted(asked["clarification"]["choices"]) == ["Acme", "Globex"]
    for question, answer in (
        ("What is the notice period of Globex?", "three months"),
        ("What is the place of jurisdiction of Globex?", "Lisbon"),  # the same in both
    ):
        asked = json.loads(run("ask", question, "--index", tmp_path / "index", "--json"))
        assert [one["answer"] for one in asked["interpretations"]] == [answer]


def test_watching_syncs_at_each_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "birds").mkdir()
    (tmp_path / "birds" / "falcon.md").write_text("Falcons dive.")
    run("index", "build", tmp_path / "birds", "--name", tmp_path / "index")

    def changes(folder: Path, **_: object) -> Iterator[set[str]]:
        yield set()
        yield set()
        (folder / "owl.md").write_text("Owls hunt.")
        yield {"owl.md"}
        (folder / "owl.md").unlink()
        (folder / "falcon.md").rename(folder / "falcon.md.part")  # half written: nothing is lost
        yield {"falcon.md"}
        (folder / "falcon.md.part").rename(folder / "falcon.md")
        yield {"falcon.md"}

    monkeypatch.setattr(watchfiles, "watch", changes)
    output = run("index", "sync", tmp_path / "index", tmp_path / "birds", "--watch")
    assert "added 1 passage, removed 0, 1 unchanged" in output
    assert "holds no file that can be read" in output
    assert "added 0 passages, removed 1, 1 unchanged; index holds 1" in output


def test_what_changes_during_the_first_sync_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs: list[str] = []

    def sync(name: str, folder: Path) -> SimpleNamespace:
        syncs.append(name)
        if len(syncs) > 1:
            raise KeyboardInterrupt
        (folder / "owl.md").write_text("Owls hunt.")
        return SimpleNamespace(summary="")

    monkeypatch.setattr("polyqa.documents.sync_index", sync)
    too_late = threading.Timer(30, _thread.interrupt_main)
    too_late.start()
    assert CliRunner().invoke(app, ["index", "sync", "birds", str(tmp_path), "--watch"]).exit_code == 130
    too_late.cancel()
    assert len(syncs) == 2
    missing = CliRunner().invoke(app, ["index", "sync", "birds", str(tmp_path / "no"), "--watch"])
    assert "neither a folder nor a file" in str(missing.exception)


def test_long_passages_of_a_corpus_are_split_and_so_they_are_by_a_sync(tmp_path: Path) -> None:
    corpus, index = tmp_path / "long.jsonl", tmp_path / "index"
    long = " ".join(f"Bird {at} of the north eats {at} doves a year." for at in range(90))
    corpus.write_text(json.dumps({"id": "1", "text": long}) + "\n")
    assert "indexed 10 passages" in run("index", "build", corpus, "--name", index, "--split-long", "--overlap", 60)
    assert "added 0 passages, removed 0" in run("index", "sync", index, corpus)
    run("index", "build", corpus, "--name", index, "--overwrite")
    assert "added 0 passages, removed 0, 1 unchanged" in run("index", "sync", index, corpus)


def test_a_sync_reads_the_split_that_the_index_was_built_of(tmp_path: Path) -> None:
    file, folder, index = tmp_path / "rows.json", tmp_path / "rows", tmp_path / "index"
    splits = {"dev": [{"id": "d", "text": "Falcons dive."}], "test": [{"id": "t", "text": "Owls hunt."}]}
    file.write_text(json.dumps(splits))
    folder.mkdir()
    for name, rows in splits.items():
        (folder / f"{name}.json").write_text(json.dumps(rows))
    named = f"{file}@dev"
    split = ["--split", "dev"]
    for build, sync in (([folder, *split], folder), ([file, *split], file), ([named], file), ([named], named)):
        run("index", "build", *build, "--name", index, "--overwrite")
        assert "added 0 passages, removed 0, 1 unchanged" in run("index", "sync", index, sync)
    result = CliRunner().invoke(app, ["index", "sync", str(index), f"{file}@test"])
    assert isinstance(result.exception, PolyqaError)
    assert "names the split 'test', but 'dev' is asked for" in str(result.exception)
