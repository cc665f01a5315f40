import io
import json
import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Printed, Refused, Run
from dspy.clients.cache import Cache
from failing_engine import Failing
from openai_server import Server, serve

from polyqa.cli.answers import _quote
from polyqa.cli.app import main
from polyqa.cli.index import setup_command
from polyqa.extractive import ExtractiveEngine
from polyqa.models.loading import resolve_precision


def test_ask_prints_readings_with_evidence_then_the_text_then_what_it_took(printed: Printed) -> None:
    out = printed("ask", "When did Titanic come out?")
    readings, rest = out.split("The answer depends", 1)
    text, took = rest.split("Passages", 1)
    assert readings.strip().startswith("“Titanic” can mean ")
    assert re.search(r"\d  musical: 23 April 1997 · right about \w[\w ]+\n +“[^”]*23 April 1997[^”]*” \[\d\]", out)
    assert "1997 film: " in readings
    assert "[2]" in text, "a sentence of the answer names its source"
    for part in ("every reading has a source", "calls", "tokens in"):
        assert part in took


def test_ask_says_that_nothing_answers_and_shows_no_reading(printed: Printed) -> None:
    out = printed("ask", "What is the capital of Mongolia?")
    assert out.strip().startswith("No answer found in “homonyms”")
    assert "right about" not in out
    assert json.loads(printed("ask", "What is the capital of Mongolia?", "--json"))["answered"] is False


@pytest.mark.parametrize(
    ("text", "answer", "quote"),
    [
        ("It rained. In 1997 it\nsnowed. Then sun.", "1997", "In 1997 it snowed."),
        ("It rained.", "1997", ""),
        (" ".join(["before"] * 60) + " 1997 " + " ".join(["after"] * 60), "1997", r"^…(before )+1997( after)+ …$"),
        ("1997 " + " ".join(["after"] * 60), "1997", r"^1997( after)+ …$"),
        ("x" * 500 + " 1997", "1997", r"1997$"),
    ],
)
def test_the_sentence_of_an_answer_is_quoted(text: str, answer: str, quote: str) -> None:
    shown = _quote(text, answer)
    assert re.search(quote, shown) if quote else shown == ""
    assert len(shown) <= 250


def test_ask_json_cites_passages_that_it_lists(printed: Printed) -> None:
    result = json.loads(printed("ask", "When did Titanic come out?", "--program", "rac", "--json", "-k", "3"))
    assert len(result["passages"]) == 3
    assert result["calls"] == 1
    assert result["cited_answer"] != result["answer"] == re.sub(r" (?:\[\d\])+", "", result["cited_answer"])
    assert {r["pid"] for r in result["interpretations"]} <= {p["pid"] for p in result["passages"]}


@pytest.mark.parametrize("words", [["ask"], ["evaluate"], ["cost"], ["compile"], ["index", "search"]])
def test_the_number_of_passages_has_one_name(words: list[str], printed: Printed) -> None:
    shown = printed(*words, "--help")
    assert "-k, --passages N" in shown


def test_so_many_passages_come(printed: Printed) -> None:
    assert len(json.loads(printed("index", "search", "homonyms", "Titanic", "-k", "2", "--json"))) == 2


def test_show_prompts_prints_messages_and_replies(printed: Printed) -> None:
    out = printed("ask", "Who founded Alexandria?", "--program", "closed-book", "--show-prompts")
    for part in ("call 1 of 1", "Who founded Alexandria?", "reply", "You reply with nothing but"):
        assert part in out


def test_a_local_server_answers_in_place_of_the_engine(printed: Printed) -> None:
    model = f"openai/model-{uuid.uuid4().hex}"  # a new name: nothing comes out of DSPy's cache on disk
    with serve(ExtractiveEngine()) as server:
        out = printed("ask", "When did Titanic come out?", "--lm", model, "--api-base", server.base, "--json")
    assert json.loads(out)["lm"] == model
    assert len(server.requests) == json.loads(out)["calls"]


def test_a_helper_and_settings_reach_their_servers(printed: Printed) -> None:
    with serve(ExtractiveEngine()) as answering, serve(ExtractiveEngine()) as helping:
        lm, helper = (f"openai/{uuid.uuid4().hex}" for _ in range(2))
        words = ("--lm", lm, "--api-base", answering.base, "--helper-lm", f"{helper}@{helping.base}")
        more = ("--temperature", 0, "--max-tokens", 900, "--lm-set", "seed=7", "--lm-set", "stop=END")
        out = printed("ask", "When did Titanic come out?", "--program", "diva", *words, *more)
    assert f"{lm} + {helper}" in out
    first, helped = answering.requests[0], helping.requests[0]
    assert (first["temperature"], first["max_completion_tokens"], first["seed"]) == (0, 900, 7)
    assert first["stop"] in ("END", ["END"])
    assert (helped["temperature"], helped["max_completion_tokens"], "seed" in helped) == (0, 900, False)


def test_ask_tells_replies_that_could_not_be_had(printed: Printed, own_cache: Cache) -> None:
    with serve(Failing(ExtractiveEngine(), "short_answer", "", prompts=2)) as server:
        out = printed("ask", "When did Titanic come out?", "--program", "verdict", *words_for(server))
    assert "2 of 24 replies could not be had, or not whole: interpret: the reply was empty; the passage counts" in out
    assert "(2 times)" in out


def test_asking_again_after_an_unreadable_reply_asks_the_server(
    printed: Printed, refused: Refused, own_cache: Cache
) -> None:
    failing = Failing(ExtractiveEngine(), "answer", '{"status": "ok"}')
    words = ("ask", "Who founded Rome?", "--program", "closed-book")
    with serve(failing) as server:
        told = refused(*words, *words_for(server))
        assert 'could not be read (step recall, field answer), it began: \'{"status"' in told
        own_cache.reset_memory_cache()  # as in another process
        failing.field = "none of them"
        assert "1 call ·" in printed(*words, *words_for(server))
        assert len(server.requests) == 3


def words_for(server: Server) -> tuple[str, ...]:
    return "--lm", "openai/test", "--api-base", server.base


@pytest.mark.parametrize("behaviour", [{"latency": 60.0}, {"drip": 0.2}], ids=["hangs", "drips"])
def test_a_server_that_hangs_ends_in_a_line_that_names_the_option(
    behaviour: dict[str, float], refused: Refused
) -> None:
    with serve(ExtractiveEngine(), **behaviour) as server:
        words = ("--lm", f"openai/{uuid.uuid4().hex}", "--api-base", server.base, "--timeout", 1)
        told = refused("ask", "Who founded Rome?", "--program", "closed-book", *words)
    assert f"no answer from {server.base} within 1 second." in told
    assert "--timeout" in told


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        ((503, {"Retry-After": "3600"}), "no request for 3,600 seconds (Retry-After)"),
        ((401, {}), "the server refused the key (401 from http://127.0.0.1"),
    ],
    ids=["pause", "key"],
)
def test_what_a_server_refuses_ends_in_one_line(failure: tuple[int, Any], told: str, refused: Refused) -> None:
    with serve(ExtractiveEngine(), failures=[failure] * 9) as server:
        named = ("--lm", f"openai/{uuid.uuid4().hex}@{server.base}")
        assert told in refused("ask", "Who founded Rome?", "--program", "closed-book", *named)


def test_defaults_in_the_help_are_those_of_the_code(printed: Printed) -> None:
    from polyqa.language_models import REASONING_TOKENS, LMSettings
    from polyqa.lm.sampling import DEFAULT_SAMPLING
    from polyqa.lm.servers import NEAR_TIMEOUT, TIMEOUT

    shown = " ".join(printed("ask", "--help-all").replace("│", " ").split())
    for default in (
        f"[default: {DEFAULT_SAMPLING['temperature']}]",
        f"[default: {DEFAULT_SAMPLING['max_tokens']:,}; {REASONING_TOKENS:,} if it reasons]",
        f"[default: {TIMEOUT:g}; {NEAR_TIMEOUT:,g} for a server on this machine or in its network]",
        f"[default: {LMSettings().retries}]",
        "[default: no limit]",
    ):
        assert default in shown


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
        (["ask", "Who?", "--lm", "polyqa/extractive", "--api-base", "http://127.0.0.1:9"], "no address"),
        (
            ["ask", "Who founded Rome?", "--lm", "openai/x", "--api-base", "http://127.0.0.1:9/v1", "--retries", "0"],
            "cannot be reached",
        ),
        (["ask", "Who?", "--set", "demos=missing.json"], "no file missing.json"),
        (["ask", "Who?", "--temperature", "0"], "polyqa/extractive runs in this process and has no --temperature"),
        (["ask", "Who?", "--lm-set", "top_p"], "--lm-set top_p: write NAME=VALUE, such as --lm-set top_p=0.9"),
        (["ask", "Who?", "--lm-set", "api_key=sk-1"], "--lm-set takes no api_key"),
        (["ask", "Who?", "--lm", "openai/o3", "--temperature", "0.2"], "openai/o3 reasons: its --temperature is 1"),
        (["ask", "Who?", "--helper-lm", "openai/x"], "OPENAI_API_KEY, or name a local server, such as"),
        (
            ["ask", "Who?", "--program", "rac", "--helper-lm", "openai/x@http://127.0.0.1:9"],
            "RAC has no call that a helper could make",
        ),
        (["index", "build", "missing.jsonl"], "is no file and no folder"),
        (["index", "info", "nowhere"], "no index at"),
        (["index", "search", "homonyms", "x", "--retriever", "oracle"], "colbert, bm25, fused"),
        (["index", "build", "missing.jsonl", "--nbits", "3"], "1, 2 or 4"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_2(
    words: list[str], told: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert re.search(told, refused(*words))


@pytest.mark.parametrize(
    "words",
    [
        ["ask", "Who founded Rome?"],
        ["evaluate", "--limit", "1", "--judge", "none"],
        ["index", "search", "homonyms", "Rome"],
        ["index", "info", "homonyms"],
        ["questions", "build"],
        ["compile", "--out", "made", "--yes"],
    ],
    ids=lambda words: words[0] if words[0] != "index" else words[1],
)
def test_before_set_up_the_set_up_is_named(
    words: list[str], refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    told = refused(*words)
    assert "run `polyqa setup` once" in told
    assert "index build" not in told
    assert list(tmp_path.iterdir()) == [], "nothing is made on the way"


def test_another_folder_of_the_shipped_name_is_not_made_by_set_up(refused: Refused, tmp_path: Path) -> None:
    assert "polyqa index build" in refused("index", "info", tmp_path / "homonyms")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("not json", "is not JSON"),
        ("{}", "nothing for"),
        (
            '{"clarify": 1, "infer": 1, "recall": 1, "classify": 1, "verify": 1, "write": 1, "locate": 1}',
            "state of clarify is damaged",
        ),
    ],
)
def test_demos_that_do_not_fit_are_refused(content: str, told: str, refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "demos.json"
    path.write_text(content)
    assert told in refused("ask", "Who founded Rome?", "--set", f"demos={path}")


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    from polyqa.base.errors import PolyqaError

    monkeypatch.setattr(sys, "argv", ["polyqa", "ask", " ", "--debug"])
    with pytest.raises(PolyqaError):
        main()


def test_index_commands_from_building_to_removing(printed: Printed, refused: Refused, tmp_path: Path) -> None:
    corpus = tmp_path / "tools.jsonl"
    rows = [
        {"id": "saw", "title": "Saw", "text": "A saw cuts wood with a toothed blade."},
        {"id": "plane", "title": "Plane", "text": "A plane smooths boards by shaving them."},
    ]
    corpus.write_text("\n".join(map(json.dumps, rows)))
    more = tmp_path / "more.tsv"
    more.write_text("chisel\tA chisel is struck with a mallet to cut joints.\tChisel\n")
    place = tmp_path / "indexes" / "tools"
    assert "indexed 2 passages: " in printed("index", "build", corpus, "--name", place, "--checkpoint", "embedded")
    refused("index", "build", corpus, "--name", place)
    assert "added 1 passage;" in printed("index", "build", more, "--name", place, "--add")
    assert "Chisel" in printed("index", "search", place, "struck with a mallet", "-k", "1")
    assert "deleted 1 passage;" in printed("index", "delete", place, "saw")
    found = json.loads(printed("index", "search", place, "cuts wood", "--json"))
    assert {passage["pid"] for passage in found} == {"plane", "chisel"}
    info = json.loads(printed("index", "info", place, "--json"))
    assert (info["passages"], info["checkpoint"]) == (2, "polyqa-minilm-colbert")
    assert "polyqa-minilm-colbert" in printed("index", "info", place)
    assert "is intact" in printed("index", "info", place, "--check")
    assert "own models only" in printed("index", "info", place, "--trust")


def test_indexes_are_listed(
    printed: Printed, copy_index: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path))
    assert json.loads(printed("index", "info", "--json")) == []
    assert "no index in" in printed("index", "info")
    (tmp_path / "indexes" / "broken").mkdir(parents=True)
    (tmp_path / "indexes" / "broken" / "current").write_text("nonsense")
    copy_index().rename(tmp_path / "indexes" / "forty")
    assert printed("index", "info").split() == ["broken", "forty"]
    broken, forty = json.loads(printed("index", "info", "--json"))
    assert "is damaged" in broken["fault"]
    assert (forty["name"], forty["passages"], forty["checkpoint"]) == ("forty", 40, "polyqa-minilm-colbert")
    assert forty == json.loads(printed("index", "info", "forty", "--json"))


@pytest.mark.parametrize(("answer", "gone"), [("y\n", True), ("n\n", False)])
def test_an_index_is_deleted_when_that_is_confirmed(
    answer: str, gone: bool, run: Run, copy_index: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy_index()
    (path / "questions").mkdir()
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    code, out, err = run("index", "delete", path)
    assert (code, path.exists()) == (0, not gone), err
    assert "40 passages" in err
    assert "its database of questions is deleted, too" in err
    assert f"deleted {path}" in out if gone else "not deleted" in err


def test_a_damaged_index_is_deleted_and_what_is_none_is_refused(
    printed: Printed, refused: Refused, copy_index: Callable[[], Path], tmp_path: Path
) -> None:
    path = copy_index()
    (path / "current").write_text("nonsense")
    assert f"deleted {path}" in printed("index", "delete", path, "--yes")
    assert not path.exists()
    assert "no index at" in refused("index", "delete", path, "--yes")
    assert "not a polyqa index" in refused("index", "delete", tmp_path, "--yes")
    assert tmp_path.is_dir()


def test_a_faulty_corpus_is_named_with_its_line(refused: Refused, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": 1, "text": "a"}\n{"id": 1, "text": "b"}\n')
    assert "line 2" in refused("index", "build", corpus, "--name", tmp_path / "index")
    assert not (tmp_path / "index").exists()


COMMANDS = ["adapt", "ask", "compare", "compile", "cost", "evaluate", "questions", "serve", "table"]


def test_help_and_version_load_nothing_heavy() -> None:
    heavy = {"torch", "dspy", "transformers", "colbert", "sentence_transformers", "numpy", "scipy", "matplotlib"}
    heavy |= {"datasets", "lancedb", "ray", "pyarrow"}
    # The last ones come last: typer takes pydantic to show the options of a command.
    lines = [["--version"], ["--help"], *([name, "--help"] for name in COMMANDS)]
    script = (
        "import sys\n"
        "from polyqa.cli.app import main\n"
        f"for words in {lines!r}:\n"
        "    sys.argv = ['polyqa', *words]\n"
        "    try: main()\n"
        "    except SystemExit as stop: assert not stop.code\n"
        f"    found = {heavy!r} | ({{'pydantic'}} if len(words) < 2 else set())\n"
        "    assert not found & set(sys.modules), (words, found & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("polyqa ")
    assert all(f"Usage: polyqa {name}" in done.stdout for name in COMMANDS)


def test_programs_are_listed_with_paper_and_cost(printed: Printed) -> None:
    listed = json.loads(printed("programs", "--json"))
    assert {"auto", "diva", "toc", "verdict", "sixpaq", "rac", "crag", "self-rag", "jpr", "dtv"} < listed.keys()
    assert listed["toc"]["class"] == "TreeOfClarifications"
    assert listed["sixpaq"]["needs"] == ["index", "questions"]
    table = printed("programs")
    assert all(name in table for name in listed)


def test_set_reaches_the_switches_of_a_program(printed: Printed) -> None:
    words = ("ask", "When did Titanic come out?", "--program", "toc", "--set", "depth=1", "--set", "pruning=false")
    tree = json.loads(printed(*words, "--json"))["tree"]
    assert tree["children"]
    assert all(child["children"] == [] and child["status"] == "valid" for child in tree["children"])


def test_ask_draws_the_tree(printed: Printed) -> None:
    assert "├── " in printed("ask", "When did Titanic come out?", "--program", "toc")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--set", "depth"], "NAME=VALUE"),
        (["--set", "=2"], "NAME=VALUE"),
        (["--program", "toc", "--set", "depth=0"], "depth must be at least 1"),
        (
            ["--program", "rac", "--set", "index=x"],
            "rac has no setting 'index'; its settings: passages (int), candidates (int), calls_at_once (int), "
            "preset (paper or lean)",
        ),
        (["--program", "rac-homonyms-local", "--set", "index=x"], "its settings and demos are fixed, index cannot be"),
        (["--program", "oracle", "--set", "index=x"], "Unknown program 'oracle'; there are auto, closed-book"),
        (["--program", "toc", "--set", "preset=cheap"], "The setting preset of toc is paper or lean, not 'cheap'"),
        (
            ["--program", "rac-homonyms-local", "--set", "preset=paper"],
            "its settings and demos are fixed, preset cannot be",
        ),
        (
            ["--program", "rac-homonyms-local", "--set", "demos=x.json"],
            "its settings and demos are fixed, demos cannot be",
        ),
        (["--program", "rac", "--set", "passages=" + "[" * 100_000], "The setting passages of rac is int, not '[[["),
    ],
)
def test_settings_that_do_not_fit_are_explained(words: list[str], told: str, refused: Refused) -> None:
    assert told in refused("ask", "Who?", *words)


def test_what_evaluate_takes_itself_is_no_setting(refused: Refused, tmp_path: Path) -> None:
    told = refused("evaluate", "--program", "rac", "--runs", tmp_path, "--set", "threads=x")
    assert "rac has no setting 'threads'" in told


@pytest.mark.parametrize("program", ["verdict", "query-refinement"])
def test_one_command_line_runs_all_programs(program: str, printed: Printed) -> None:
    """Passages are left out where a program has no such setting, though it retrieves."""
    assert json.loads(printed("ask", "Who founded Rome?", "--program", program, "-k", "3", "--json"))["answer"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["answer", "{asked}", "--out", "{out}", "--address", "auto"], "add --engine ray"),
        (["ask", "Who?", "--requests-per-minute", "9"], "has no --requests-per-minute"),
    ],
    ids=lambda given: " ".join(given)[:60] if isinstance(given, list) else "",
)
def test_what_cannot_be_placed_or_paced_is_told_in_a_line(
    words: list[str], told: str, refused: Refused, tmp_path: Path
) -> None:
    asked, out = tmp_path / "asked.txt", tmp_path / "out.jsonl"
    asked.write_text("Who founded Alexandria?\n")
    assert told in refused(*(word.format(asked=asked, out=out) for word in words))
    assert not out.exists()


def test_the_shipped_index_is_the_same_on_every_processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built: list[str] = []
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path))
    monkeypatch.delenv("POLYQA_PRECISION", raising=False)
    monkeypatch.setattr("polyqa.models.loading.cpu_has_bfloat16", lambda: True)
    monkeypatch.setattr("polyqa.colbert_index.build_index", lambda *_, **__: built.append(resolve_precision("auto")))
    setup_command()
    assert built == ["float32"]
