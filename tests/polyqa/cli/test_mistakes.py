"""What a user has to mend is told in one line, with exit code 2, and nothing is sent or written."""

import shlex
from pathlib import Path

import pytest
from command_line import Refused
from openai_server import serve

from polyqa.extractive import ExtractiveEngine

CORPUS = Path(__file__).parents[2] / "questions" / "corpus.jsonl"
FILES = {
    "asked.txt": "Who founded Alexandria?\n",
    "theirs.json": '{"nobody": "x"}',
    "text.json": "not json",
    "empty.json": "{}",
    "demos.json": '{"clarify": 1, "infer": 1, "recall": 1, "classify": 1, "verify": 1, "write": 1, "locate": 1}',
    "twice.jsonl": '{"id": 1, "text": "a"}\n{"id": 1, "text": "b"}\n',
    "m.gguf": "no model: what is checked before it is opened is checked first",
}
NOWHERE = "http://127.0.0.1:9/v1"
LOCAL = "ask Who? --program closed-book --lm local/m.gguf"
MISTAKES = [
    # What is asked.
    ("ask '   '", "The question is empty"),
    ("questions search ' '", "The question is empty"),
    (f"ask '{'why ' * 2_500}'", "9,999 characters"),
    # Indexes and corpora.
    ("ask Who? --index nowhere", "polyqa index build"),
    ("ask Who? --index homonym", "These are there: "),
    ("ask Who? --index ../../etc/passwd", "no index at"),
    ("index info nowhere", "no index at"),
    ("index info --check", "are for one index: name it"),
    ("questions build --index none", "no index at"),
    ("serve --index nowhere", "nowhere"),
    ("index build missing.jsonl --nbits 3", "1, 2 or 4"),
    ("index build twice.jsonl --name made", "line 2"),
    ("index build twice.jsonl --name made --overlap 9", "add --split-long"),
    ("index info homonyms --questions /nowhere", "polyqa questions build"),
    ("questions build --overwrite --engine spark", "local or ray"),
    # Programs and their settings.
    ("ask Who? --program oracle", "closed-book, query-refinement, rac"),
    ("serve --index homonyms --program nobody", "nobody"),
    ("show nothing", "no compiled program"),
    ("ask Who? --set depth", "NAME=VALUE"),
    ("ask Who? --set =2", "NAME=VALUE"),
    ("ask Who? --program oracle --set index=x", "Unknown program 'oracle'; there are auto, closed-book"),
    ("ask Who? --program rac-homonyms-local --set demos=x", "its settings and demos are fixed, demos cannot be"),
    (f"ask Who? --program rac --set passages={'[' * 100_000}", "The setting passages of rac is int, not '[[["),
    ("ask Who? --set demos=missing.json", "no file missing.json"),
    ("ask Who? --set demos=text.json", "is not JSON"),
    ("ask Who? --set demos=empty.json", "nothing for"),
    ("ask Who? --set demos=demos.json", "state of clarify is damaged"),
    # Language models.
    ("ask Who? --lm gpt-4o", "openai/gpt-4o"),
    ("ask Who? --lm openai/gpt-4o", "OPENAI_API_KEY"),
    ("ask Who? --helper-lm openai/x", "OPENAI_API_KEY, or name a local server, such as"),
    (f"ask Who? --lm polyqa/extractive --api-base {NOWHERE}", "no address"),
    (f"ask 'Who founded Rome?' --lm openai/x --api-base {NOWHERE} --retries 0", "cannot be reached"),
    (f"ask Who? --program rac --helper-lm openai/x@{NOWHERE}", "RAC has no call that a helper could make"),
    ("ask Who? --temperature 0", "polyqa/extractive runs in this process and has no --temperature"),
    (
        "ask Who? --lm openai/o3@http://127.0.0.1:9 --temperature 0.2",
        "reasoning models require passing temperature=1.0",
    ),
    ("ask Who? --lm-set top_p", "--lm-set top_p: write NAME=VALUE, such as --lm-set top_p=0.9"),
    ("ask Who? --lm-set api_key=sk-1", "--lm-set takes no api_key"),
    ("model pull gpt-5", "There is no language model 'gpt-5'; polyqa knows qwen"),
    (LOCAL, "m.gguf cannot be loaded: it is no language model of llama.cpp (GGUF)"),
    (f"{LOCAL} --lm-set threads=two", "threads of a local model is a whole number of at least 1, not 'two'."),
    (f"{LOCAL} --lm-set slots=0", "slots of a local model is a whole number of at least 1, not 0."),
    (f"{LOCAL} --lm-set context=64", "context of a local model is a whole number of at least 256, not 64."),
    (f"{LOCAL} --lm-set prompt_cache=0.5", "prompt_cache of a local model is a whole number of at least 0, not 0.5."),
    # Who may ask a server, and where many questions are answered.
    ("serve --host 0.0.0.0", "lets other machines ask: set a token"),
    (f"serve --lm openai/m@{NOWHERE} --lm-set timeout=long", "--timeout is a number, not 'long'."),
    ("serve --mcp --port 1 --token 1234567890123456", "standard input and output only: leave out --port, --token"),
    ("answer asked.txt --out made.jsonl --address auto", "--address is for a Ray cluster: add --engine ray"),
    # Questions, runs, judges and readers.
    ("evaluate --questions missing.json", "missing.json"),
    ("evaluate --questions homonyms/nowhere", "train, dev, test"),
    ("evaluate --program rac-homonyms-local --recheck --where 1 --seed 3", "leave out --where, --seed"),
    ("answer asked.txt --out made.jsonl --split dev", "a text has no splits, so no 'dev'"),
    ("evaluate --format xml", "no format 'xml'"),
    ("evaluate --reader /nowhere/reader --judge none", "/nowhere/reader"),
    ("evaluate --judge gpt-4o", "openai/gpt-4o"),
    *[
        (f"evaluate {answers} --judge {judge}@{NOWHERE}", "names no provider")
        for answers in ("", "theirs.json")
        for judge in ("none", "embedded")
    ],
    ("evaluate missing.json --judge none", "missing.json: the file cannot be read: No such file"),
    ("evaluate theirs.json --judge none", "ids that no question has, such as 'nobody'"),
    ("evaluate theirs.json --program rac -k 3", "nothing is run: leave out --program, --passages"),
    ("evaluate theirs.json --where 1 --lm local --engine ray", "leave out --where, --engine, --lm"),
    ("evaluate theirs.json --mlflow http://x --lm-set top_p=1", "leave out --mlflow, --lm-set"),
    ("evaluate --program rac-homonyms-local --recheck --runs mine", "leave out --runs"),
    ("compare good nowhere", "nowhere is not a run: it has no predictions.jsonl"),
    ("table nowhere", "is not a run"),
    ("table good --columns dr,beauty", "no metric 'beauty'; there are disambig_f1"),
    # Compiling, and lessons.
    ("compile --out made --recipe knn --threshold 0.9", "no use for a threshold (--threshold)"),
    ("compile --out made --dev homonyms/train --yes", "share a question"),
    ("lesson 99", "There is no lesson 99; there are 1"),
]


@pytest.fixture
def folder(runs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two runs and `FILES`, in which we are; no key is set."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(runs)
    for name, text in FILES.items():
        (runs / name).write_text(text)
    return runs


@pytest.mark.parametrize(("words", "told"), MISTAKES, ids=[words[:60] for words, _ in MISTAKES])
def test_a_mistake_is_told_in_one_line(words: str, told: str, folder: Path, refused: Refused) -> None:
    assert told in refused(*shlex.split(words))
    assert {path.name for path in folder.iterdir()} == {"good", "poor", *FILES}


@pytest.mark.parametrize(
    "words",
    [
        "compile --program closed-book --out made --yes",
        "questions build --index six --out made",
        f"adapt {CORPUS} --program rac --out made --yes",
    ],
)
def test_a_reader_that_is_not_there_costs_no_call(
    words: str, folder: Path, home: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYQA_HOME", str(home))
    with serve(ExtractiveEngine()) as server:
        model = ("--lm", "openai/writer", "--api-base", server.base, "--reader", "/nowhere/reader")
        assert "/nowhere/reader" in refused(*shlex.split(words), *model)
    assert server.requests == []
    assert not (folder / "made").exists()
    assert not (home / "indexes" / "made").exists()
