import errno
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

from polyqa.base.values import Passage
from polyqa.cli.answers import _name, _quote
from polyqa.cli.app import main
from polyqa.cli.index import _name_of, setup_command
from polyqa.colbert_index.store import index_path
from polyqa.extractive import ExtractiveEngine
from polyqa.models.loading import resolve_precision


def test_ask_prints_readings_with_evidence_then_the_text_then_what_it_took(printed: Printed) -> None:
    out = printed("ask", "When did Titanic come out?")
    readings, rest = out.split("The answer depends", 1)
    text, took = rest.split("Passages", 1)
    assert readings.strip().startswith("This can mean ")
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
        (" ".join(["before"] * 60) + " 1997 " + " ".join(["after"] * 60), "1997", r"^…(before )+1997( after)+…$"),
        ("1997 " + " ".join(["after"] * 60), "1997", r"^1997( after)+…$"),
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


def test_a_passage_is_cited_by_its_place_or_by_title_and_source() -> None:
    named = [
        _name(Passage(pid="1", title=title, text="It flies.", metadata=metadata))
        for title, metadata in (
            ("Falcon › Range", {"source": "handbook.pdf", "page": 14, "section": "Range"}),
            ("Falcon", {"source": "wards"}),
            ("", {"source": "wards"}),
            ("Falcon", {}),
        )
    ]
    assert named == ["handbook.pdf, p. 14, Range", "Falcon (wards)", "wards", "Falcon"]


def test_the_number_of_passages_has_one_name(printed: Printed) -> None:
    for words in ("ask", "evaluate", "cost", "compile", "index search"):
        assert re.search(r"--passages +-k +N ", printed(*words.split(), "--help")), words


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


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        ({"latency": 60.0}, r"no answer from http://127\.0\.0\.1:\d+/v1 within 1 second\..*--timeout"),
        ({"drip": 0.2}, r"no answer from http://127\.0\.0\.1:\d+/v1 within 1 second\..*--timeout"),
        ({"failures": [(503, {"Retry-After": "3600"})] * 9}, r"no request for 3,600 seconds \(Retry-After\)"),
        ({"failures": [(401, {})] * 9}, r"the server refused the key \(401 from http://127\.0\.0\.1"),
    ],
    ids=["hangs", "drips", "pauses", "refuses"],
)
def test_what_a_server_does_not_answer_ends_in_one_line(behaviour: dict[str, Any], told: str, refused: Refused) -> None:
    with serve(ExtractiveEngine(), **behaviour) as server:
        words = ("--lm", f"openai/{uuid.uuid4().hex}@{server.base}", "--timeout", 60 if "failures" in behaviour else 1)
        assert re.search(told, refused("ask", "Who founded Rome?", "--program", "closed-book", *words))


def test_defaults_in_the_help_are_those_of_the_code(printed: Printed) -> None:
    from polyqa.language_models import REASONING_TOKENS, LMSettings
    from polyqa.lm.sampling import DEFAULT_SAMPLING
    from polyqa.lm.servers import NEAR_TIMEOUT, TIMEOUT

    shown = " ".join(printed("ask", "--help-all").replace("│", " ").split())
    for default in (
        f"[default: ({DEFAULT_SAMPLING['temperature']}; 0 with local)]",
        f"[default: ({DEFAULT_SAMPLING['max_tokens']:,}; {REASONING_TOKENS:,} if it reasons)]",
        f"[default: ({TIMEOUT:g}; {NEAR_TIMEOUT:,g} for a server on this machine or in its network)]",
        f"[default: {LMSettings().retries}]",
        "[default: (no limit)]",
    ):
        assert default in shown


@pytest.mark.parametrize(
    "words",
    [
        "ask Who?",
        "evaluate --limit 1 --judge none",
        "index search homonyms Rome",
        "index info homonyms",
        "questions build",
        "compile --out made --yes",
    ],
)
def test_before_set_up_the_set_up_is_named(
    words: str, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    told = refused(*words.split())
    assert "run `polyqa setup` once" in told
    assert "index build" not in told
    assert list(tmp_path.iterdir()) == [], "nothing is made on the way"


def test_another_folder_of_the_shipped_name_is_not_made_by_set_up(refused: Refused, tmp_path: Path) -> None:
    assert "polyqa index build" in refused("index", "info", tmp_path / "homonyms")


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
    ignored = refused("index", "build", more, "--name", place, "--add", "--nbits", 4, "--overwrite")
    assert "leave out --nbits, --overwrite" in ignored
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

    def forbidden(index: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(index))

    monkeypatch.setattr("polyqa.colbert_index.versions.version_in_force", forbidden)
    assert all("Permission denied" in one["fault"] for one in json.loads(printed("index", "info", "--json")))


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
    wide = printed("programs")
    assert all(name in wide for name in listed)


def test_set_reaches_the_switches_of_a_program(printed: Printed) -> None:
    words = ("ask", "When did Titanic come out?", "--program", "toc", "--set", "depth=1", "--set", "pruning=false")
    assert "├── " in printed(*words)
    tree = json.loads(printed(*words, "--json"))["tree"]
    assert tree["children"]
    assert all(child["children"] == [] and child["status"] == "valid" for child in tree["children"])


@pytest.mark.parametrize("program", ["verdict", "query-refinement"])
def test_one_command_line_runs_all_programs(program: str, printed: Printed) -> None:
    """Passages are left out where a program has no such setting, though it retrieves."""
    assert json.loads(printed("ask", "Who founded Rome?", "--program", program, "-k", "3", "--json"))["answer"]


def test_the_shipped_index_is_the_same_on_every_processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built: list[str] = []
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path))
    monkeypatch.delenv("POLYQA_PRECISION", raising=False)
    monkeypatch.setattr("polyqa.models.loading.cpu_has_bfloat16", lambda: True)
    monkeypatch.setattr("polyqa.colbert_index.build_index", lambda *_, **__: built.append(resolve_precision("auto")))
    setup_command()
    assert built == ["float32"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("my corpus.tsv", "my-corpus"),
        ("Handbuch für Käufer (2024).pdf", "Handbuch-f-r-K-ufer-2024"),
        ("psgs_w100.tsv.gz", "psgs_w100"),
        ("données.JSONL", "donn-es"),
        ("中文.jsonl", "index"),
        (".hidden", "hidden"),
        ("_docs_", "docs_"),
        ("a folder", "a-folder"),
        ("docs@dev", "docs-dev"),
        ("wiki.abstracts.2017.jsonl", "wiki.abstracts.2017"),
    ],
)
def test_an_index_gets_a_name_that_is_allowed(file: str, name: str, tmp_path: Path) -> None:
    assert _name_of(tmp_path / file) == name
    assert index_path(name).name == name


def test_two_versions_of_a_folder_get_indexes_of_their_own(tmp_path: Path) -> None:
    for folder in (tmp_path / "docs-1.0", tmp_path / "docs-1.1"):
        folder.mkdir()
        assert _name_of(folder) == folder.name
    (link := tmp_path / "docs").symlink_to(tmp_path / "docs-1.1")
    assert _name_of(link) == "docs"


def test_show_tells_how_two_programs_differ_as_json(printed: Printed) -> None:
    told = json.loads(printed("show", "rac", "rac-homonyms-local", "--json"))
    assert told["programs"] == ["rac", "rac-homonyms-local"]
    assert set(told) == {"programs", "changes", "diff"}
    assert "clarify" in told["changes"]
