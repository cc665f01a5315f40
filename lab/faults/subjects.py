"""The folders that are damaged: small ones, made here from the shipped corpus."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import numpy as np
import torch
from tqdm.std import TqdmDefaultWriteLock, tqdm

import polyqa.evaluation
from polyqa.artifacts.store import compiled_home, read_artifact
from polyqa.asking import ask
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, build_index, check_index
from polyqa.colbert_index.engine import prepare_colbert
from polyqa.colbert_index.store import checkpoint_home
from polyqa.documents import Documents
from polyqa.documents.syncing import remember
from polyqa.evaluation.identity import RunIdentity
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.runner import answer_one, run_answers
from polyqa.evaluation.runs import open_run
from polyqa.evaluation.scoring import Scorer
from polyqa.extractive import ExtractiveEngine, embedded_lm
from polyqa.loading import load, open_index
from polyqa.models import Encoder, Reader
from polyqa.questions import QuestionDatabase, build_questions, generate_questions

from .damage import Subject
from .hub import serve_repository
from .kills import Command, answers_in, answers_of

_PASSAGES = 40
_WRITTEN = 12
_ASKED = ("When did Titanic come out?", "Who opened the Olympics?")
_DIGITS = 3
_DOCUMENTS = {
    "a.md": "# Beacon\n\nThe beacon is 20 metres high.",
    "b.md": "# Harbour\n\nThe harbour opened in 1931.",
    "c.md": "# Titanic\n\nThe ship of the film lies in the harbour.",
}
_QUESTIONS = Path(polyqa.evaluation.__file__).with_name("homonyms")


def made_subjects(folder: Path) -> Mapping[str, Subject]:
    """Make a good folder of each kind, and load what the trials share.

    The folders are made in a process of its own: threads that searching starts would not survive the forks of the
    trials. What is loaded here has answered nothing.
    """
    _make(folder, make_folders)
    encoder = Encoder()
    lm = embedded_lm(ExtractiveEngine(encoder=encoder, reader=Reader()))
    index = ColBERTIndex(folder / "index")
    return {
        "an index": Subject(index.path, _searched, check_index),
        "a database of questions": Subject(
            folder / "questions",
            partial(_looked_up, encoder=encoder, index=index),
            lambda path: QuestionDatabase(path, encoder=encoder, index=index).check(),
        ),
        "an artifact": Subject(compiled_home() / "rac-homonyms-local", partial(_asked, index=open_index(), lm=lm)),
        "a run": Subject(folder / "run", _read),
    }


def write_questions(base: Path) -> None:
    """Write questions that are asked, and some to train and to choose with."""
    to_ask = [{"id": str(number), "question": question} for number, question in enumerate(_ASKED)]
    (base / "asked.jsonl").write_text("\n".join(map(json.dumps, to_ask)) + "\n", encoding="utf-8")
    for name, limit in (("train", 8), ("dev", 4)):
        questions = json.loads((_QUESTIONS / f"{name}.json").read_text(encoding="utf-8"))[name]
        (base / f"{name}.json").write_text(json.dumps({name: dict(list(questions.items())[:limit])}), encoding="utf-8")


def prepare_forks() -> None:
    """Load what forks share, in one thread: the threads of this process would not be theirs."""
    prepare_colbert()
    torch.set_num_threads(1)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # colbert, when it is imported, wants it otherwise
    # A progress bar's lock is a semaphore that forks share: one that is killed while it draws would hold it for ever.
    TqdmDefaultWriteLock.mp_lock = None
    tqdm.monitor_interval = 0


def made_commands(folder: Path) -> tuple[Path, dict[str, Command]]:
    """Make the folder in which commands are killed, and the commands."""
    _make(folder, make_indexes)
    base = folder / "home"
    base.mkdir()
    passages = open_index().passages
    for name, chosen in (("some", passages[:_WRITTEN]), ("more", passages[-_WRITTEN:])):
        lines = (json.dumps({"id": passage.pid, "title": passage.title, "text": passage.text}) for passage in chosen)
        (base / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_questions(base)
    for name in ("index", "documents", "synced"):
        shutil.copytree(folder / name, base / name)
    (base / "documents" / "a.md").write_text("# Beacon\n\nThe beacon is 30 metres high.", encoding="utf-8")
    (base / "documents" / "b.md").unlink()
    (base / "own").mkdir()
    (base / "own" / "checkpoints").symlink_to(checkpoint_home())
    artifact = compiled_home() / "rac-homonyms-local"
    serve_repository({name: (artifact / name).read_bytes() for name in ("README.md", "card.json", "program.json")})
    looked_up = partial(_looked_up, encoder=Encoder(), index=ColBERTIndex(folder / "index"))
    few, unasked = "--limit 3 --threads 2", "--program rac --out {home}/made --yes --threads 2"
    deleted = shlex.join(passage.pid for passage in passages[:3])
    build = "index build {home}/"
    return base, {
        "index build": Command(f"{build}some.jsonl --name {{home}}/new", "new", _searched),
        "index build --add": Command(f"{build}more.jsonl --add --name {{home}}/index", "index", _searched),
        "index build --overwrite": Command(f"{build}more.jsonl --overwrite --name {{home}}/index", "index", _searched),
        "index build --shards": Command(f"{build}some.jsonl --shards 2 --name {{home}}/new", "new", _searched),
        "index delete": Command(f"index delete {{home}}/index {deleted}", "index", _searched),
        "index build FOLDER": Command(f"{build}documents --name {{home}}/new", "new", _searched),
        "index sync": Command("index sync {home}/synced {home}/documents", "synced", _searched),
        "answer": Command(
            "answer {home}/asked.jsonl --out {home}/answers.jsonl --program rac", "answers.jsonl", answers_in
        ),
        "compile": Command(
            f"compile --recipe labeled-few-shot --train {{home}}/train.json --dev {{home}}/dev.json {unasked}",
            "made",
            _saved,
        ),
        "adapt": Command(
            f"adapt {{home}}/some.jsonl --limit-passages 12 {unasked}",
            "",
            lambda home: [_saved(home / "made"), _searched(home / "own" / "indexes" / "made")],
            polyqa_home="own",
        ),
        "pull": Command("pull somebody/rac --to {home}/pulled", "pulled", _saved),
        "setup": Command("setup", "bare/indexes/homonyms", _searched, polyqa_home="bare"),
        "questions build": Command(
            f"questions build --index {{home}}/index --out {{home}}/questions {few}", "questions", looked_up
        ),
        "evaluate": Command(f"evaluate --program rac --judge none --runs {{home}} --name run {few}", "run", answers_of),
    }


def make_indexes(folder: Path) -> ColBERTIndex:
    """Make a small index, and one of a folder of documents; return the first."""
    encoder = Encoder()
    index = build_index(open_index().passages[:_PASSAGES], folder / "index", encoder=encoder, progress=False)
    (folder / "documents").mkdir()
    for name, text in _DOCUMENTS.items():
        (folder / "documents" / name).write_text(text, encoding="utf-8")
    documents = Documents(folder / "documents")
    remember(build_index(documents, folder / "synced", encoder=encoder, progress=False), documents)
    return index


def make_folders(folder: Path) -> None:
    """Make the same, a database of the index's questions, and a run."""
    index, encoder, reader = make_indexes(folder), Encoder(), Reader()
    lm = embedded_lm(ExtractiveEngine(encoder=encoder, reader=reader))
    generate = partial(generate_questions, lm=lm, reader=reader, threads=2)
    build_questions(index, generate, encoder=encoder, out=folder / "questions", limit=10)
    questions, scorer = load_questions("homonyms/dev", limit=3), Scorer(reader)
    settings = RunIdentity(program="rac", lm=str(lm.model), reader=scorer.reader.name, questions="homonyms/dev", n=3)
    answer = partial(answer_one, load("rac", index=open_index()), lm=lm, scorer=scorer)
    run_answers(answer, questions, folder=folder / "run", identity=settings, threads=2)


def _make(folder: Path, maker: Callable[[Path], object]) -> None:
    """Make folders in a process of its own, and load what forks share."""
    code = f"import pathlib, sys; from {__name__} import {maker.__name__} as make; make(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, capture_output=True)
    prepare_forks()


def _searched(path: Path) -> list[Any]:
    """Return what an index finds, and the sum of its sentence vectors."""
    index = ColBERTIndex(path)
    rankings = [*index.search_many(_ASKED, 5), *index.bm25.search_many(_ASKED, 5)]
    vectors = index.vectors(index.manifest.encoder or "")
    return [
        [_as_data(passage) for ranking in rankings for passage in ranking],
        None if vectors is None else round(float(abs(np.asarray(vectors, dtype="float32")).sum()), 1),
    ]


def _as_data(passage: Passage) -> list[Any]:
    return [passage.pid, passage.title, passage.text, round(passage.score, _DIGITS)]


def _looked_up(path: Path, encoder: Encoder, index: ColBERTIndex) -> list[Any]:
    """Return what a database of questions finds by vectors and by words."""
    database = QuestionDatabase(path, encoder=encoder, index=index)
    entries = [entry for ranking in ("dense", "bm25") for entry in database.search(_ASKED[0], 5, ranking=ranking)]
    return [[entry.question, list(entry.answers), list(entry.pids)] for entry in entries]


def _saved(path: Path) -> Any:
    """Return the state of an artifact that is whole."""
    return read_artifact(path).state


def _asked(path: Path, index: ColBERTIndex, lm: dspy.LM) -> list[Any]:
    """Return what an artifact answers, and what it shows."""
    result = ask(_ASKED[0], program=load(path, index=index), lm=lm)
    return [result.answer, [list(map(str, reading)) for reading in result.interpretations]]


def _read(path: Path) -> list[Any]:
    """Return what a run holds."""
    run = open_run(path)
    records = [record.model_dump(mode="json") for record in run.records]
    return [run.settings and run.settings.model_dump(mode="json"), records]
