"""How much furniture the house has: lines, tests, files that one question enters, tables, options, dependencies.

python -m lab.house CHECKOUT [--label TEXT] [--no-tests]

The figures of a checkout, of this commit or an older one, become a column of ``lab/results/house.json`` under the label
and are shown in `lab/README.md`.
"""

import ast
import itertools
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically

from .results import HOME, Measured, Table, read_measured, today

_NOT_PRODUCT = {"benchmarks", "training", "lab"}
_MODELS = {"engines", "extractive", "embedded_models", "models"}
_PRIVATE = (
    r"^(?!\s*#).*(?:\bdspy(?:\.\w+)*\._\w|\bfrom dspy[\w.]* import _\w|\bfrom dspy\._|__wrapped__|_engine_store|"
    r"GLOBAL_HISTORY|cache\._lock|anyio\._core)"
)
_APPENDS = r"""open\([^)]*["']ab?["']|O_APPEND|sqlite3\.connect"""
_CALLBACK = r"^class \w+\([^)]*BaseCallback\b"
_OUTCOMES = {"answer", "answered", "calls", "most_calls", "dev_gain"}
_RENDERERS = {"rich": "rich", "jinja2": "Jinja", "markupsafe": "Jinja", "html": "html", "matplotlib": "matplotlib"}
_PASSED_OVER = re.compile(r"#|import |from |[\w, ]+,$|[()\[\]{}]+,?:?$")
_SAME_LINES = 6
_QUESTION = "When did Titanic come out?"
_COUNT = """
import json, os, sys, threading
entered, importing = set(), threading.local()
def follow(frame, event, _):
    code, depth = frame.f_code, getattr(importing, "depth", 0)
    if code.co_name == "<module>" and event in ("call", "return"):
        importing.depth = depth + (1 if event == "call" else -1)
    elif event == "call" and not depth and code.co_flags & 1:  # a function, no body of a class
        entered.add(code.co_filename)
def traced(work):
    entered.clear()
    threading.setprofile(follow)
    sys.setprofile(follow)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(set(map(os.path.realpath, entered)))
"""
_ASK = """
from polyqa.cli import app
found = {"ask": traced(lambda: app(["ask", sys.argv[1]], standalone_mode=False))}
found["modules"] = [name for name in sys.modules if name.split(".")[0] == "polyqa"]
import dspy, polyqa
program = polyqa.load("closed-book")
with dspy.context(lm=polyqa.embedded_lm()):
    program(question=sys.argv[1])
    found["call"] = traced(lambda: program(question=sys.argv[1] + " "))
print("\\n" + json.dumps(found))
"""
_COMMANDS = """
import json
import click, typer
from polyqa.cli import app
def leaves(command):
    commands = getattr(command, "commands", None)
    return [leaf for part in commands.values() for leaf in leaves(part)] if commands else [command]
commands = leaves(typer.main.get_command(app))
options = [option.opts[0] for leaf in commands for option in leaf.params if option.param_type_name == "option"]
print("\\n" + json.dumps([len(commands), len(options), len(set(options))]))
"""


class House:
    """A checkout, whose links in ``polyqa/`` are followed, so that rooms count wherever they stand."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        if not (self.root / "polyqa").is_dir():
            raise PolyqaError(f"{root} is no checkout of polyqa: it has no folder polyqa.")
        rooms = [path for path in (self.root / "polyqa").iterdir() if path.name not in _NOT_PRODUCT]
        files = {path.resolve() for room in rooms for path in (room.rglob("*.py") if room.is_dir() else [room])}
        self.product = {path: path.read_text(encoding="utf-8") for path in sorted(files) if path.suffix == ".py"}
        self.trees = {path: ast.parse(text) for path, text in self.product.items()}

    def lines(self, *folders: str) -> int:
        """Count the lines of Python files in folders of the checkout."""
        files = {path.resolve() for folder in folders for path in (self.root / folder).rglob("*.py")}
        return sum(path.read_text(encoding="utf-8").count("\n") for path in files)

    def places(self, pattern: str) -> list[int]:
        """Count the places with a pattern, by file."""
        return [len(re.findall(pattern, text, re.MULTILINE)) for text in self.product.values()]

    def tests(self) -> int:
        """Count the tests that pytest collects."""
        out = self._run(["-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"])
        found = re.search(r"(\d+)(?:/\d+)? tests? collected", out)
        if found is None:
            raise PolyqaError(f"pytest collected nothing in {self.root}: {out[-300:]}")
        return int(found[1])

    def entered(self) -> tuple[int, int, int, int]:
        """Count files of the checkout in which a function was called, imports apart, each in a process of its own.

        Returns
        -------
        int, int, int, int
            Outside the embedded engine and models, by a program that makes one call; by ``polyqa ask``, all of them
            and those outside; modules of polyqa that ``polyqa ask`` imported.
        """
        found = json.loads(self._run(["-c", _COUNT + _ASK, _QUESTION]).splitlines()[-1])
        call, ask = ([path for path in map(Path, found[name]) if path in self.product] for name in ("call", "ask"))
        others = [sum(not _MODELS & set(one.relative_to(self.root).parts[:-1]) for one in own) for own in (call, ask)]
        return others[0], len(ask), others[1], len(found["modules"])

    def tables(self) -> int:
        """Count assignments at the top of a module of a mapping or set of at least two signatures."""
        trees = [tree for path, tree in self.trees.items() if "signatures" in path.parts]
        signatures = {node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}
        return sum(_is_table(node, signatures) for tree in self.trees.values() for node in tree.body)

    def run_identities(self) -> int:
        """Count descriptions of a run: classes and dicts of at least four fields, with a program and an LM.

        Those that hold an outcome as well, such as an answer or the number of calls, are reports and do not count.
        """
        nodes = [node for tree in self.trees.values() for node in ast.walk(tree)]
        fields = [set(_fields(node)) for node in nodes if isinstance(node, ast.Dict | ast.ClassDef)]
        return sum(len(names) > 3 and {"program", "lm"} <= names and not names & _OUTCOMES for names in fields)

    def renderers(self) -> int:
        """Count the libraries that draw or write markup: rich, Jinja with markupsafe, html and matplotlib."""
        imports = re.compile(rf"^\s*(?:import|from) ({'|'.join(_RENDERERS)})\b", re.MULTILINE)
        return len({_RENDERERS[name] for text in self.product.values() for name in imports.findall(text)})

    def duplicates(self) -> int:
        """Count pairs of places with six or more equal lines; blank lines, comments and imports are passed over."""
        places: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
        for number, text in enumerate(self.product.values()):
            lines = [line for line in map(str.strip, text.splitlines()) if line and not _PASSED_OVER.match(line)]
            for at in range(len(lines) - _SAME_LINES + 1):
                places[tuple(lines[at : at + _SAME_LINES])].append((number, at))
        pairs = {pair for found in places.values() for pair in itertools.combinations(found, 2)}
        # A run of equal lines counts once, where it begins.
        return sum(((one[0], one[1] - 1), (two[0], two[1] - 1)) not in pairs for one, two in pairs)

    def top(self) -> tuple[int, int]:
        """Count folders and links that git knows at the top and in ``polyqa/``."""
        command = ["git", "-C", str(self.root), "ls-files", "--stage"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        names = [line.split("\t", 1) for line in lines]
        folders = {name.split("/")[0] for _, name in names if "/" in name and not name.startswith(".")}
        return len(folders), sum(mode.startswith("120000") for mode, _ in names)

    def dependencies(self) -> tuple[int, int]:
        """Count mandatory dependencies and extras."""
        project = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return len(project["dependencies"]), len(project.get("optional-dependencies", {}))

    def commands(self) -> list[int]:
        """Count commands, their options, and the different names of options."""
        counts: list[int] = json.loads(self._run(["-c", _COMMANDS]).splitlines()[-1])
        return counts

    def _run(self, words: Sequence[str]) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PolyqaError(f"{self.root}: {(done.stderr or done.stdout).strip()[-500:]}")
        return done.stdout


def _fields(node: ast.Dict | ast.ClassDef) -> Iterator[str]:
    if isinstance(node, ast.Dict):
        yield from (str(key.value) for key in node.keys if isinstance(key, ast.Constant))
    else:
        yield from (ast.unparse(part.target) for part in node.body if isinstance(part, ast.AnnAssign))


def _is_table(node: ast.stmt, signatures: set[str]) -> bool:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    if isinstance(node, ast.AnnAssign) and "[type[dspy.Signature]" in ast.unparse(node.annotation):
        return True
    holders = [part for part in ast.walk(node.value) if isinstance(part, ast.Dict | ast.Set)]
    keys = [
        [ast.unparse(key) for key in (one.keys if isinstance(one, ast.Dict) else one.elts) if key] for one in holders
    ]
    return any(len(own) > 1 and {name.rpartition(".")[2] for name in own} <= signatures for own in keys)


def figures(house: House, *, tests: bool = True) -> dict[str, int]:
    """Return what is counted, in words, and the count."""
    call, ask, own, modules = house.entered()
    folders, links = house.top()
    mandatory, extras = house.dependencies()
    commands, options, names = house.commands()
    return {
        "product, lines of Python": sum(text.count("\n") for text in house.product.values()),
        "lab (benchmarks and training before), lines": house.lines("lab", "benchmarks", "training"),
        "tests, lines": house.lines("tests"),
        **({"tests, collected": house.tests()} if tests else {}),
        "files entered by a program of one call, without engine and models": call,
        "files entered by `polyqa ask`": ask,
        "of these without engine and models": own,
        "modules of polyqa imported by `polyqa ask`": modules,
        "tables keyed by signature": house.tables(),
        "callback classes": sum(house.places(_CALLBACK)),
        "run identities (classes and dicts with program and LM, without outcome)": house.run_identities(),
        "ways to resume (places that append to a file or open a database)": sum(house.places(_APPENDS)),
        "renderers (rich, Jinja, html, matplotlib)": house.renderers(),
        "files that import Ray": sum(map(bool, house.places(r"^\s*(?:import|from) ray\b"))),
        "files that hold HTML or SVG": sum(map(bool, house.places(r"<(?:html|svg|table|div|section)[ >]"))),
        "folders at the top": folders,
        "links": links,
        "mandatory dependencies": mandatory,
        "extras": extras,
        "commands": commands,
        "options": options,
        "different names of options": names,
        "lines that touch private parts of DSPy": sum(house.places(_PRIVATE)),
        "pairs of places with six or more equal lines": house.duplicates(),
    }


def with_column(label: str, counts: Mapping[str, int]) -> Measured:
    """Return the stored table with a column more, or the column of that label replaced."""
    columns: dict[str, dict[str, str]] = {}
    if (HOME / "house.json").is_file():
        table = read_measured("house").tables[""]
        columns = {head: {row[0]: row[at] for row in table.rows} for at, head in enumerate(table.heads[1:], 1)}
    columns[label] = {name: f"{count:,}" for name, count in counts.items()}
    names = dict.fromkeys(name for column in columns.values() for name in column)
    rows = [[name, *(column.get(name, "–") for column in columns.values())] for name in names]
    table = Table(heads=["", *columns], rows=rows)
    return Measured(
        about=f"Counted on {today()}.", command="python -m lab.house CHECKOUT --label TEXT", tables={"": table}
    )


def main(
    checkout: Annotated[Path, typer.Argument(help="The folder of a checkout.")],
    label: Annotated[str, typer.Option(help="The head of the column.")] = "now",
    tests: Annotated[bool, typer.Option(help="Count the tests, which takes a minute.")] = True,
) -> None:
    """Count, print, and store a column."""
    measured = with_column(label, figures(House(checkout), tests=tests))
    write_atomically(HOME / "house.json", measured.model_dump_json(indent=1) + "\n")
    typer.echo(measured.tables[""].markdown())


if __name__ == "__main__":
    typer.run(main)
