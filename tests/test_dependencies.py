"""What is imported is installed: with the mandatory packages, or with an extra that is asked for by name."""

import ast
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import polyqa
import polyqa.metrics

ROOT = Path(polyqa.__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MANDATORY, EXTRAS = PROJECT["dependencies"], PROJECT["optional-dependencies"]
NEED_AN_EXTRA = re.compile(r"polyqa\.(web\.\w+|serving|tracing\.spans)\b")
"""Modules that are imported only after `needs` has looked for their package."""


def installed_with(requirements: list[str]) -> set[str]:
    """Return the distributions that requirements bring, and what these require themselves."""
    wanted, found = [Requirement(one) for one in requirements], set()
    while wanted:
        requirement = wanted.pop()
        name, extras = canonicalize_name(requirement.name), {"", *requirement.extras}
        if name == "polyqa":
            wanted += [Requirement(one) for extra in requirement.extras for one in EXTRAS[extra]]
        elif (name, *extras) not in found:
            found.add((name, *extras))
            for one in map(Requirement, distribution(name).requires or ()):
                if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras):
                    wanted.append(one)
    return {name for name, *_ in found}


def imported() -> dict[str, set[str]]:
    """Return the packages of others that the product imports, anywhere in a file, and which files do."""
    files: dict[str, set[str]] = {}
    rooms = [(ROOT / "polyqa" / name).resolve() for name in ("programs", "signatures", "metrics", "colbert_index")]
    for path in (path for folder in (ROOT / "polyqa", *rooms) for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names = [node.module]
            for top in {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"polyqa"}:
                files.setdefault(top, set()).add(path.name)
    return files


def provided_by(distributions: set[str]) -> set[str]:
    """Return the top-level packages of some distributions."""
    return {
        package
        for package, owners in packages_distributions().items()
        if distributions & {canonicalize_name(owner) for owner in owners}
    }


def test_few_are_mandatory() -> None:
    assert len(MANDATORY) <= 15
    assert not [one for one in MANDATORY if Requirement(one).extras]


def test_whatever_is_imported_comes_with_a_mandatory_package_or_an_extra() -> None:
    of_people = {"all", "dev", "docs", "lessons"}  # for those who read, write or run code of their own
    extras = [one for name, requirements in EXTRAS.items() if name not in of_people for one in requirements]
    known = provided_by(installed_with([*MANDATORY, *extras]))
    assert {package: files for package, files in imported().items() if package not in known} == {}


def test_without_extras_every_other_module_is_imported() -> None:
    """The packages of extras are blocked; a module that imports one at its top must be one of those that may."""
    kept = provided_by(installed_with(MANDATORY))
    blocked = sorted(set(imported()) - kept)
    assert {"lancedb", "matplotlib", "mlflow", "ray"} <= set(blocked)
    script = (
        "import importlib, pkgutil, sys\n"
        f"sys.modules.update(dict.fromkeys({blocked!r}))\n"
        "import polyqa\n"
        "for info in pkgutil.walk_packages(polyqa.__path__, 'polyqa.'):\n"
        "    if not info.name.endswith('__main__'):\n"
        "        try:\n"
        "            importlib.import_module(info.name)\n"
        "        except ImportError as error:\n"
        "            print(info.name, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.splitlines() if not NEED_AN_EXTRA.match(line)] == []


def test_to_import_metrics_the_search_and_models_loads_no_heavy_package() -> None:
    names = [info.name for info in pkgutil.iter_modules(polyqa.metrics.__path__, "polyqa.metrics.")]
    names = [*(name for name in names if name != "polyqa.metrics.modules"), "polyqa.colbert_index", "polyqa.models"]
    assert len(names) > 20
    heavy = {"bm25s", "colbert", "datasets", "evaluate", "faiss", "tokenizers", "torch", "transformers"}
    script = (
        "import sys, polyqa.metrics\n"
        "assert 'dspy' not in sys.modules\n"
        f"for name in {names!r}: __import__(name)\n"
        f"assert not {heavy!r} & set(sys.modules), {heavy!r} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
