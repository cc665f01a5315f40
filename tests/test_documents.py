"""The documents say what the code does: figures, commands, snippets, links, lists."""

import ast
import importlib
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import polyqa
from lab import figures
from polyqa.base.values import Passage
from polyqa.cli.app import app
from polyqa.colbert_index import ColBERTIndex
from polyqa.colbert_index.store import SHIPPED, index_path
from polyqa.evaluation.homonyms import questions_path
from polyqa.programs.registry import REGISTRY

ROOT = Path(polyqa.__file__).resolve().parents[1]
PAGES = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "compiled/**/README.md",
        "lab/README.md",
        "lessons/README.md",
        "polyqa/models/**/*.md",
    )
    for path in ROOT.glob(pattern)
)
HISTORY = ROOT / "CHANGELOG.md"
MADE_WITH_THE_SITE = [
    ROOT / "docs" / "lessons" / f"{name}.md"
    for name in ("index", *(path.stem for path in (ROOT / "lessons").glob("*.ipynb")))
]
NOT_RUN = {
    "docs/how-to/adapt.md": "needs a corpus of hundreds of passages, and minutes",
    "docs/how-to/answer-many.md": "asks a language model that costs money",
    "docs/how-to/language-models.md": "asks language models that cost money",
    "docs/how-to/serve.md": "asks a running server",
    "docs/how-to/traces.md": "sends traces to a running server",
    "docs/reference/scale.md": "needs a cluster and a large index",
}
"""Pages whose snippets need what no test has; all others are run."""
RUN = sorted(
    name
    for path in PAGES
    if (name := str(path.relative_to(ROOT))) not in NOT_RUN
    and re.search(r"^ *```python", path.read_text(encoding="utf-8"), re.MULTILINE)
)
COMMANDS = typer.main.get_command(app)
EXERCISE = ROOT / "docs" / "how-to" / "write-a-program.md"


def pages() -> list[object]:
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in PAGES]


def blocks(path: Path, language: str) -> Iterator[tuple[str | None, str]]:
    """Yield the code blocks of a page, each with its title."""
    fence = rf'^( *)```{language}(?: title="([^"]+)")?\n(.*?)^\1```$'
    for block in re.finditer(fence, path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        yield block[2], block[3]


def command_lines(path: Path) -> list[str]:
    text = "\n".join(text for _, text in blocks(path, "sh")).replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_every_figure_is_as_its_source() -> None:
    result = CliRunner().invoke(figures.app, ["--check"])
    assert (result.exit_code, result.stdout) == (0, "")


def test_a_document_that_differs_is_named_and_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "README.md"
    page.write_text(
        "It knows <!-- figures: recipes -->none<!-- /figures --> and\n<!-- figures: recipes -->\n<!-- /figures -->\n"
    )
    texts = {page: figures.filled(page.read_text())}
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "generated", lambda: texts)
    checked = CliRunner().invoke(figures.app, ["--check"])
    assert (checked.exit_code, checked.stdout) == (1, "README.md differs from its source; run make figures\n")
    assert "none" in page.read_text()
    assert CliRunner().invoke(figures.app).exit_code == 0
    assert page.read_text() == texts[page] == figures.filled(texts[page])
    assert "| `gepa` |" in texts[page]
    assert CliRunner().invoke(figures.app, ["--check"]).exit_code == 0


def test_an_unknown_figure_is_an_error() -> None:
    with pytest.raises(polyqa.PolyqaError, match="No figure is called 'nothing'"):
        figures.filled("<!-- figures: nothing -->\n<!-- /figures -->")


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


@pytest.fixture
def readers_place(
    index: ColBERTIndex, passages: list[Passage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder as a reader of the pages has it: a corpus of forty passages, an index of it, and the shipped index.

    A folder of documents stands beside them.

    Of the shipped questions there are the first sixteen of each split.
    """
    shipped = index_path(SHIPPED)
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "indexes").mkdir(parents=True)
    (tmp_path / "home" / "indexes" / SHIPPED).symlink_to(shipped)
    shutil.copytree(index.path, tmp_path / "home" / "indexes" / "mine")
    records = ({"id": passage.pid, "title": passage.title, "text": passage.text} for passage in passages)
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")

    (tmp_path / "handbook").mkdir()
    sections = (f"## {passage.title}\n\n{passage.text}\n" for passage in passages)
    (tmp_path / "handbook" / "handbook.md").write_text("\n".join(sections), encoding="utf-8")

    def first_questions(split: str) -> Path:
        questions = json.loads(questions_path(split).read_text(encoding="utf-8"))[split]
        path = tmp_path / "home" / f"{split}.json"
        path.write_text(json.dumps({split: dict(list(questions.items())[:16])}), encoding="utf-8")
        return path

    monkeypatch.setattr("polyqa.evaluation.loading.load.questions_path", first_questions)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore:rac-homonyms-local was compiled over the index")
@pytest.mark.parametrize("name", RUN)
def test_the_snippets_of_a_page_run(name: str, readers_place: Path) -> None:
    if name == "docs/how-to/own-corpus.md":  # this page builds the index
        shutil.rmtree(readers_place / "home" / "indexes" / "mine")
    space: dict[str, object] = {"__name__": "page"}
    for title, text in blocks(ROOT / name, "python"):
        if title is not None:
            (readers_place / title).write_text(text, encoding="utf-8")
            importlib.invalidate_caches()
        else:
            exec(compile(text, name, "exec"), space)
    assert len(space) > 2


def test_pages_that_are_not_run_have_snippets() -> None:
    for name in NOT_RUN:
        assert list(blocks(ROOT / name, "python")), name


def test_the_exercise_is_a_program_like_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ((title, text),) = [block for block in blocks(EXERCISE, "python") if block[0]]
    assert title is not None
    (tmp_path / title).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    program_class = importlib.import_module(Path(title).stem).OneByOne
    rac = polyqa.load("rac")
    program = program_class(rac.retriever, rac.reranker, passages=3)
    result = polyqa.ask("When did Titanic come out?", program=program)
    assert len(result.calls) == 4
    answers = [reading.answer for reading in result.interpretations]
    assert len(set(answers)) == len(answers) >= 2
    assert {reading.pid for reading in result.interpretations} <= {passage.pid for passage in result.passages}
    program.save(tmp_path / "saved.json")
    assert program_class not in [entry.program for entry in REGISTRY.values()]


@pytest.mark.parametrize("path", pages())
def test_snippets_use_names_that_there_are(path: Path) -> None:
    for _, text in blocks(path, "python"):
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("polyqa"):
                module = importlib.import_module(node.module or "")
                assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "polyqa":
                assert hasattr(polyqa, node.attr), f"polyqa.{node.attr}"


@pytest.mark.parametrize("path", pages())
def test_commands_are_as_the_command_line_takes_them(path: Path) -> None:
    for line in command_lines(path):
        words = shlex.split(line, comments=True)
        if words[:1] == ["polyqa"]:
            command, rest = COMMANDS, words[1:]
            while rest and (commands := getattr(command, "commands", None)) is not None:
                assert rest[0] in commands or rest[0].startswith("-"), line
                command, rest = commands.get(rest[0], command), rest[1:]
            command.parse_args(typer.Context(command), rest)
        elif "-m" in words and words[words.index("-m") + 1].startswith("polyqa."):
            assert find_spec(words[words.index("-m") + 1]), line
        elif words[:1] == ["make"]:
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), line


@pytest.mark.parametrize("path", pages())
def test_links_and_files_are_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        place = path.parent / target
        assert "://" in target or place.exists() or place in MADE_WITH_THE_SITE, target
        if (ROOT / "docs") in path.parents and "://" not in target:
            assert (ROOT / "docs") in place.resolve().parents, f"the site has no {target}"
    if path == HISTORY:
        return
    for name in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|md|toml))`", text):
        assert (ROOT / name).exists(), name


def test_every_metric_has_its_place_in_the_reference() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference" / "metrics").glob("*.md"))
    shown = set(re.findall(r"^::: polyqa\.metrics\.(\w+)", pages, re.MULTILINE))
    metrics = {path.stem for path in (ROOT / "metrics").glob("*.py")} - {"__init__", "text", "agreement"}
    assert metrics - shown == set()


def test_the_documents_speak_plainly() -> None:
    for path in PAGES:
        hard = r"\banew\b|not to be had|cannot be had|\bwh(?:o|at)ever\b|\bbe they\b|\broads?\b|/root\b|/work\b"
        assert re.findall(hard, path.read_text(encoding="utf-8")) == [], path
