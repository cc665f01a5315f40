import subprocess
import sys
from pathlib import Path

import pytest

import polyqa
from polyqa._shadowing import PACKAGES, check_packages


def test_a_shadowed_package_is_named_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "__init__.py").write_text("mine = True\n")
    done = subprocess.run(
        [sys.executable, "-c", "import polyqa"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError")
    assert "'metrics' is shadowed by" in last
    assert str(tmp_path / "metrics") in last


def test_unshadowed_packages_pass() -> None:
    check_packages()


def test_every_package_is_checked() -> None:
    root = Path(polyqa.__file__).parents[1]
    own = {path.parent.name for path in root.glob("*/__init__.py")} - {"polyqa", "tests"}
    assert own == set(PACKAGES)


def test_lazy_names_resolve_and_unknown_ones_do_not() -> None:
    for name in polyqa.__all__:
        assert getattr(polyqa, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = polyqa.nothing


def test_nothing_works_around_the_layers() -> None:
    """Arrows between folders point one way (the layout in README)."""
    import ast

    root = Path(polyqa.__file__).parents[1]
    may_import = {
        "signatures": set(),
        "embedded_models": set(),
        "colbert_index": {"signatures", "embedded_models"},
        "question_db": {"signatures", "embedded_models", "colbert_index", "metrics"},
        "programs": {"signatures", "embedded_models", "colbert_index", "question_db", "metrics"},
        "metrics": {"signatures", "embedded_models"},
        "engines": {"signatures", "embedded_models"},
        "benchmarks": {
            "signatures",
            "embedded_models",
            "colbert_index",
            "question_db",
            "programs",
            "metrics",
            "engines",
        },
        "optimizers": {"signatures", "embedded_models", "question_db", "programs", "metrics", "benchmarks"},
    }
    for package, allowed in may_import.items():
        for path in (root / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                modules = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
                modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                used = {module.split(".")[0] for module in modules} & ({*PACKAGES, "polyqa"} - {package})
                assert used <= allowed, f"{path.relative_to(root)} imports {used - allowed}"
