"""How well `polyqa index build FOLDER` reads folders that nobody wrote for it, and what is answered from them.

python -m lab.folders FOLDERS [--only zim] [--json lab/results/folders.json]

FOLDERS holds the ten folders of `folders.toml`, which says where each comes from. What is built and answered is kept in
``--work``. Answers are labelled by a person: ``label`` beside a question in `folders.toml`, given for the answer whose
first digits of SHA-256 are ``of``; an answer that differs counts as not labelled. A question without an answer needs no
label: it is right if ``gold`` is empty, quoted if one of ``gold`` stands in the closest sentences, else missed.
"""

import hashlib
import json
import os
import re
import resource
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from polyqa import ask, build_index
from polyqa.base.values import Passage
from polyqa.documents import Documents
from polyqa.metrics import exact_presence

from .results import JsonFile, Table, report

LIST = Path(__file__).with_name("folders.toml")
_LABELS = ("right", "clumsy", "wrong")
_OUTCOMES = (
    *(f"{standing}, {label}" for standing in ("answered", "unsure") for label in _LABELS),
    "unanswered, right",
    "unanswered, quoted",
    "unanswered, missed",
    "not labelled",
)
_HEADS = ["folder", "files", "passages", "CPU s", "MB", *_OUTCOMES, "citations that lead there"]


def build(folder: Path, work: Path) -> dict[str, float]:
    """Build the index of a folder; return files, passages, seconds of CPU, and the process's most megabytes so far."""
    path = work / f"{folder.name}.json"
    if not path.exists():
        begun = _cpu_seconds()
        documents = Documents(folder)
        build_index(documents, work / folder.name, overwrite=True)
        typer.echo(documents.summary(), err=True)
        measured = {
            "files": len(documents.files),
            "passages": documents.passages,
            "seconds": _cpu_seconds() - begun,
            "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        path.write_text(json.dumps(measured))
    built: dict[str, float] = json.loads(path.read_text())
    return built


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def answered(name: str, questions: list[dict[str, Any]], work: Path) -> list[dict[str, Any]]:
    """Ask the questions of a folder; return each with its answer, the places that it cites, and its label."""
    path = work / f"{name}-answers.json"
    stored_answers = json.loads(path.read_text()) if path.exists() else {}
    for question in questions:
        if question["ask"] not in stored_answers:
            result = ask(question["ask"], index=work / name)
            answer = result.cited_answer
            numbers = dict.fromkeys(map(int, re.findall(r"\[(\d+)\]", answer)))  # some are those of a quoted text
            cited = [result.passages[number - 1] for number in numbers if 0 < number <= len(result.passages)]
            stored_answers[question["ask"]] = {
                "answer": answer,
                "cited": [passage.model_dump() for passage in cited],
                "standing": result.standing,
                "readings": [reading.model_dump(mode="json") for reading in result.interpretations],
                "confidence": result.confidence,
                "passages": [passage.model_dump() for passage in result.passages],
            }
            path.write_text(json.dumps(stored_answers))
    rows = []
    for question in questions:
        row = question | stored_answers[question["ask"]]
        row["digest"] = hashlib.sha256(row["answer"].encode()).hexdigest()[:6]
        rows.append(row | {"outcome": outcome(row)})
    return rows


def outcome(row: Mapping[str, Any]) -> str:
    """Return how a question stands, and how its answer was labelled."""
    if row["standing"] == "unanswered":
        if not row["gold"]:
            return "unanswered, right"
        return f"unanswered, {'quoted' if exact_presence(row['gold'], row['answer']) else 'missed'}"
    return f"{row['standing']}, {row['label']}" if row.get("of") == row["digest"] else "not labelled"


def leads_there(passage: Passage, folder: Path) -> bool:
    """Return whether a paragraph of a cited passage begins at its line; of other places, whether the file is there."""
    path = folder / str(passage.metadata["source"])
    if "line" not in passage.metadata:
        return path.is_file()
    line = int(passage.metadata["line"])
    nearby = " ".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[line - 1 : line + 12])
    beginnings = [re.findall(r"\w+", paragraph)[:4] for paragraph in passage.text.split("\n\n")]
    return any(all(word in nearby for word in words) for words in beginnings)


def main(
    folders: Annotated[Path, typer.Argument(help="Holds the folders of folders.toml.")],
    only: Annotated[list[str] | None, typer.Option(help="A folder; repeat for more.")] = None,
    work: Annotated[Path, typer.Option(help="Where indexes and answers are kept.")] = Path("runs/folders"),
    json_file: JsonFile = None,
) -> None:
    """Build, ask, and count the labels."""
    work.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, about in tomllib.loads(LIST.read_text(encoding="utf-8")).items():
        if only and name not in only:
            continue
        built = build(folders / name, work)
        answer_rows = answered(name, about["questions"], work)
        cited = [Passage(**passage) for row in answer_rows for passage in row["cited"]]
        there = sum(leads_there(passage, folders / name) for passage in cited)
        counts = [sum(row["outcome"] == label for row in answer_rows) for label in _OUTCOMES]
        numbers = [f"{built[field]:,.0f}" for field in ("files", "passages", "seconds", "mb")]
        numbers += [*map(str, counts), f"{there} of {len(cited)}"]
        rows.append([f"`{name}`, {about['format']}", *numbers])
        for row in answer_rows:
            places = "; ".join(Passage(**passage).place for passage in row["cited"])
            typer.echo(
                f"\n{name} · {row['ask']} · {row['digest']} · {row['outcome']}\n{row['answer']}\n  {places}", err=True
            )
    about = "Ten questions a folder, the default program, embedded models, no language model"
    report(about, Table(heads=_HEADS, rows=rows), json_file)


if __name__ == "__main__":
    typer.run(main)
