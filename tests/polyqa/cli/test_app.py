import json
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from openai_server import serve

from polyqa.cli.app import main
from polyqa.engines.extractive import ExtractiveEngine

Run = Callable[..., tuple[int, str, str]]


def test_ask_prints_answer_readings_citations_and_costs(run: Run) -> None:
    code, out, _ = run("ask", "When did Titanic come out?")
    assert code == 0
    assert "23 April 1997" in out
    assert "[2]" in out
    assert "Readings" in out
    assert "Passages" in out
    assert "coverage" in out
    assert "calls" in out
    assert "tokens" in out


def test_ask_json_cites_passages_that_it_lists(run: Run) -> None:
    code, out, _ = run("ask", "When did Titanic come out?", "--program", "rac", "--json", "-k", "3")
    result = json.loads(out)
    assert code == 0
    assert len(result["passages"]) == 3
    assert result["calls"] == 2
    assert {r["pid"] for r in result["interpretations"]} <= {p["pid"] for p in result["passages"]}


def test_show_prompts_prints_messages_and_replies(run: Run) -> None:
    code, out, _ = run("ask", "Who founded Alexandria?", "--program", "closed-book", "--show-prompts")
    assert code == 0
    assert "[[ ## question ## ]]" in out
    assert "reply" in out
    assert "Your input fields are" in out


def test_a_local_server_answers_in_place_of_the_engine(run: Run) -> None:
    model = f"openai/model-{uuid.uuid4().hex}"  # a new name: nothing comes out of DSPy's cache on disk
    with serve(ExtractiveEngine()) as server:
        code, out, _ = run(
            "ask",
            "When did Titanic come out?",
            "--lm",
            model,
            "--api-base",
            server.base,
            "--json",
        )
    assert code == 0
    assert json.loads(out)["lm"] == model
    assert len(server.requests) == json.loads(out)["calls"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ask", "   "], "question is empty"),
        (["ask", "why " * 2500], "10,000 characters|9,999 characters"),
        (["ask", "Who?", "--index", "nowhere"], "polyqa index build"),
        (["ask", "Who?", "--index", "../../etc/passwd"], "no index at|not a polyqa index"),
        (["ask", "Who?", "--program", "oracle"], "closed-book, query-refinement, rac"),
        (["ask", "Who?", "--lm", "gpt-4o"], "openai/gpt-4o"),
        (["ask", "Who?", "--lm", "openai/gpt-4o"], "OPENAI_API_KEY"),
        (["ask", "Who?", "--lm", "polyqa/extractive", "--api-base", "http://127.0.0.1:9"], "no --api-base"),
        (
            ["ask", "Who founded Rome?", "--lm", "openai/x", "--api-base", "http://127.0.0.1:9/v1"],
            "cannot be reached",
        ),
        (["ask", "Who?", "--demos", "missing.json"], "no file missing.json"),
        (["index", "build", "missing.jsonl"], "not a file"),
        (["index", "info", "nowhere"], "no index at"),
        (["index", "search", "homonyms", "x", "--retriever", "oracle"], "colbert, bm25, fused"),
        (["index", "build", "missing.jsonl", "--nbits", "3"], "1, 2 or 4"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_2(
    words: list[str], told: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import re

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, _, err = run(*words)
    lines = [line for line in err.splitlines() if line.startswith("polyqa:")]
    assert code == 2
    assert len(lines) == 1
    assert re.search(told, lines[0]), lines
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("not json", "is not JSON"),
        ("{}", "nothing for"),
        (
            '{"extract": 1, "infer": 1, "recall": 1, "classify": 1, "verify": 1, "write": 1, "locate": 1}',
            "state of extract is damaged",
        ),
    ],
)
def test_demos_that_do_not_fit_are_refused(content: str, told: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "demos.json"
    path.write_text(content)
    code, _, err = run("ask", "Who founded Rome?", "--demos", str(path))
    assert (code, told in err) == (2, True), err


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    from polyqa.signatures import PolyqaError

    monkeypatch.setattr(sys, "argv", ["polyqa", "ask", " ", "--debug"])
    with pytest.raises(PolyqaError):
        main()


def test_index_commands_from_building_to_removing(run: Run, tmp_path: Path) -> None:
    corpus = tmp_path / "tools.jsonl"
    rows = [
        {"id": "saw", "title": "Saw", "text": "A saw cuts wood with a toothed blade."},
        {"id": "plane", "title": "Plane", "text": "A plane smooths boards by shaving them."},
    ]
    corpus.write_text("\n".join(map(json.dumps, rows)))
    more = tmp_path / "more.tsv"
    more.write_text("chisel\tA chisel is struck with a mallet to cut joints.\tChisel\n")
    place = str(tmp_path / "indexes" / "tools")
    assert run("index", "build", str(corpus), "--name", place, "--checkpoint", "embedded")[0] == 0
    assert run("index", "build", str(corpus), "--name", place)[0] == 2
    assert "added 1 passages" in run("index", "add", place, str(more))[1]
    assert "Chisel" in run("index", "search", place, "struck with a mallet", "-k", "1")[1]
    assert "removed 1 passages" in run("index", "remove", place, "saw")[1]
    found = json.loads(run("index", "search", place, "cuts wood", "--json")[1])
    assert {passage["pid"] for passage in found} == {"plane", "chisel"}
    info = json.loads(run("index", "info", place, "--json")[1])
    assert info["passages"] == 2
    assert info["checkpoint"] == "polyqa-minilm-colbert"
    assert "is whole" in run("index", "check", place)[1]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"id": 1, "text": "a"}\n{"id": 1, "text": "b"}\n', ":2"),
        ('{"id": 1}\n', "no text"),
        ("nonsense\n", ":1"),
    ],
)
def test_a_faulty_corpus_is_named_with_its_line(content: str, told: str, run: Run, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(content)
    code, _, err = run("index", "build", str(corpus), "--name", str(tmp_path / "index"))
    assert (code, told in err) == (2, True), err
    assert not (tmp_path / "index").exists()


COMMANDS = ["adapt", "ask", "compare", "compile", "curve", "evaluate", "questions", "score", "table"]


@pytest.mark.parametrize("words", [[], ["--version"], *([name] for name in COMMANDS)])
def test_help_and_version_load_nothing_heavy(words: list[str]) -> None:
    heavy = {"torch", "dspy", "transformers", "colbert", "sentence_transformers", "numpy", "scipy", "matplotlib"}
    heavy |= {"datasets", "lancedb", "ray", "pyarrow"}
    heavy |= set() if words else {"pydantic"}  # typer takes it to show the options of a command
    script = (
        f"import sys; sys.argv = ['polyqa', *{words!r}, '--help']\n"
        "from polyqa.cli import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        f"assert not {heavy!r} & set(sys.modules), {heavy!r} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in (words or COMMANDS) if name != "--version")


def test_programs_are_listed_with_paper_and_cost(run: Run) -> None:
    code, out, _ = run("programs", "--json")
    listed = json.loads(out)
    assert code == 0
    assert {"auto", "diva", "toc", "verdict", "sixpaq", "rac", "crag", "self-rag", "jpr", "dtv"} < listed.keys()
    assert listed["toc"]["class"] == "TreeOfClarifications"
    assert listed["sixpaq"]["needs"] == ["index", "questions"]
    code, table, _ = run("programs")
    assert code == 0
    assert all(name in table for name in listed)


@pytest.mark.parametrize("text", ["false", "False", "off"])
def test_set_reaches_the_switches_of_a_program(text: str, run: Run) -> None:
    question = "When did Titanic come out?"
    code, out, _ = run("ask", question, "--program", "toc", "--set", "depth=1", "--set", f"pruning={text}", "--json")
    tree = json.loads(out)["tree"]
    assert code == 0
    assert tree["children"]
    assert all(child["children"] == [] and child["status"] == "valid" for child in tree["children"])


def test_ask_draws_the_tree(run: Run) -> None:
    code, out, _ = run("ask", "When did Titanic come out?", "--program", "toc")
    assert code == 0
    assert "├── " in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--set", "depth"], "NAME=VALUE"),
        (["--set", "=2"], "NAME=VALUE"),
        (["--program", "toc", "--set", "depth=0"], "depth must be at least 1"),
        (["--program", "toc", "--set", "bark=oak"], "toc has no setting 'bark'; its settings: passages (int), "),
        (["--program", "toc", "--set", "pruning=maybe"], "The setting pruning of toc is true or false, not 'maybe'"),
        (["--program", "rac", "--set", "passages=2.5"], "The setting passages of rac is int, not 2.5"),
        (["--program", "rac", "--set", "index=x"], "rac has no setting 'index'; its settings: passages (int), cand"),
        (["--program", "rac", "--set", "program=toc"], "rac has no setting 'program'"),
        (["--program", "rac-homonyms", "--set", "index=x"], "its settings and demos are fixed, index cannot be"),
        (["--program", "oracle", "--set", "index=x"], "Unknown program 'oracle'; there are auto, closed-book"),
        (["--program", "rac", "--set", "passages=" + "[" * 100_000], "The setting passages of rac is int, not '[[["),
    ],
)
def test_settings_that_do_not_fit_are_explained(run: Run, words: list[str], told: str) -> None:
    code, _, error = run("ask", "Who?", *words)
    assert code == 2
    assert told in error
    assert len([line for line in error.splitlines() if line.startswith("polyqa:")]) == 1


@pytest.mark.parametrize("name", ["name", "lm", "runs", "threads", "questions", "progress"])
def test_what_evaluate_takes_itself_is_no_setting(name: str, run: Run, tmp_path: Path) -> None:
    code, _, error = run("evaluate", "--program", "rac", "--runs", str(tmp_path), "--set", f"{name}=x")
    assert (code, f"rac has no setting '{name}'" in error) == (2, True), error


def test_one_command_line_runs_all_programs(run: Run) -> None:
    """Passages are left out where a program has no such setting, though it retrieves."""
    for program in ("verdict", "query-refinement"):
        code, out, error = run("ask", "Who founded Rome?", "--program", program, "-k", "3", "--json")
        assert code == 0, error
        assert json.loads(out)["answer"]
