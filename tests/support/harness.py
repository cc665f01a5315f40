"""Questions, records, runs and small programs for the tests of the benchmarks."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import dspy
from openai_server import Server, serve
from scripted_engine import ScriptedEngine, last_message

from polyqa.base.work import Failure
from polyqa.evaluation.identity import RunIdentity
from polyqa.evaluation.records import Record
from polyqa.evaluation.runs import PREDICTIONS, Run, line_of
from polyqa.metrics.gold import Question, Reading

FAILURE = Failure(kind="ValueError", message="no")


def question(id: str, answers: Sequence[str] = ("blue",), **fields: Any) -> Question:
    """Return a question about colours with one reading per answer."""
    readings = tuple(Reading(f"What colour is {id} in sense {at}?", (one,)) for at, one in enumerate(answers))
    return Question(id=id, question=f"What colour is {id}?", readings=readings, **fields)


def questions(n: int) -> list[Question]:
    """Return questions with two readings and a reference answer each."""
    return [question(f"q{at}", ("blue", "green"), long_answers=("It may be blue or green.",)) for at in range(n)]


def record(id: str = "q", scores: dict[str, float] | None = None, **fields: Any) -> Record:
    """Return a record with some scores, of a program that called nothing."""
    took = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "seconds": 0.0}
    defaults = {"question": f"What colour is {id}?", "gold_readings": 2, "scores": scores or {}, **took}
    return Record(**{"id": id, **defaults, **fields})


def long_form(n: int, value: Callable[[int], float], **fields: Any) -> list[Record]:
    """Return n records whose long-form scores are a function of their number."""
    names = ("disambig_f1", "rouge_l", "str_em")
    return [record(f"q{at}", dict.fromkeys(names, value(at)), **fields) for at in range(n)]


def run_of(records: Sequence[Record], name: str = "mine", settings: RunIdentity | None = None) -> Run:
    """Return a run that lies nowhere."""
    return Run(Path("runs") / name, settings, records)


def two_runs(folder: Path, worse: str, better: str) -> Path:
    """Write two runs of ten questions into a folder; return the folder."""
    for name, least in ((worse, 0.2), (better, 0.5)):
        (folder / name).mkdir()
        records = long_form(10, lambda at, least=least: least + at / 20, ambiguity="time")
        (folder / name / PREDICTIONS).write_text("".join(map(line_of, records)))
    return folder


def settings_of(n: int, **fields: Any) -> RunIdentity:
    return RunIdentity(
        **{"program": "told", "lm": "none", "reader": "embedded", "questions": f"{n} (4a0f)", "n": n, **fields}
    )


class Told(dspy.Module):
    """A program that calls a function and no language model."""

    def __init__(self, tell: Callable[[str], Any]) -> None:
        super().__init__()
        self.tell = tell

    def forward(self, question: str) -> dspy.Prediction:
        told = self.tell(question)
        return dspy.Prediction(answer=told, interpretations=[], passages=[]) if isinstance(told, str) else told


@contextmanager
def scripted(reply: Callable[[str], str], *, latency: float = 0.0) -> Iterator[tuple[dspy.LM, Server]]:
    """Serve replies to a last message over HTTP; give the language model that asks there, and the server."""
    with serve(ScriptedEngine(reply, given=last_message, usage=(7, 3)), latency=latency) as server:
        yield dspy.LM("openai/scripted", api_base=server.base, api_key="none", cache=False, num_retries=0), server


def fields(**values: str) -> str:
    """Return a reply in ChatAdapter's format."""
    parts = [f"[[ ## {name} ## ]]\n{text}" for name, text in values.items()]
    return "\n\n".join([*parts, "[[ ## completed ## ]]"])


def ledger_rows(path: Path) -> dict[str, dict[str, Any]]:
    """Return what a ledger that nobody has open holds, by id, in the order in which it was kept."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT id, result FROM results ORDER BY rowid").fetchall()
    return {id: json.loads(result) for id, result in rows}


def strict_json(text: str) -> Any:
    """Return what a text of JSON holds; NaN and Infinity, which are not JSON, are errors."""

    def no_constant(name: str) -> NoReturn:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=no_constant)


def table_rows(markdown: str) -> list[list[list[str]]]:
    """Return the tables of a Markdown text: each a list of rows, each row a list of cells."""
    tables: list[list[list[str]]] = [[]]
    for line in markdown.splitlines():
        if line.startswith("|"):
            assert line.endswith("|"), line
            tables[-1].append([cell.strip() for cell in line[1:-1].split("|")])
        elif tables[-1]:
            tables.append([])
    return [table for table in tables if table]
