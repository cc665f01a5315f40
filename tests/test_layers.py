"""Rooms, arrows and names: the layout of docs/concepts/layout.md, as tests."""

import ast
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

import polyqa

ROOT = Path(polyqa.__file__).resolve().parents[1]
# From the ground up: a room imports only rooms above its own line here. `polyqa` itself stands on all of them.
ROOMS = (
    "base",
    "replies",
    "signatures",
    "models",
    "lm",
    "metrics",
    "colbert_index",
    "extractive",
    "documents",
    "questions",
    "programs",
    "artifacts",
    "evaluation",
    "optimizers",
)
AT_THE_TOP = ("programs", "signatures", "metrics", "colbert_index", "compiled")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = []
        if isinstance(node, ast.ImportFrom) and not node.level and node.module is not None:
            modules = [
                f"{node.module}.{alias.name}" if node.module == "polyqa" else node.module for alias in node.names
            ]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        rooms |= {(*module.split("."), "")[1] or "polyqa" for module in modules if module.split(".")[0] == "polyqa"}
    return rooms


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_point_one_way(room: str) -> None:
    below = {room, *ROOMS[: ROOMS.index(room)]}
    for path in (ROOT / "polyqa" / room).resolve().rglob("*.py"):
        assert imported_rooms(path) <= below, f"{path.relative_to(ROOT)} imports {imported_rooms(path) - below}"


def test_the_page_about_the_layout_has_the_same_rooms() -> None:
    page = (ROOT / "docs" / "concepts" / "layout.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == ROOMS


def test_nobody_imports_the_experiments() -> None:
    paths = [*(ROOT / "polyqa").rglob("*.py"), *(path for room in AT_THE_TOP for path in (ROOT / room).rglob("*.py"))]
    assert len(paths) > 100
    assert [path for path in paths if re.search(r"^\s*(from|import) lab\b", path.read_text("utf-8"), re.M)] == []


def test_five_rooms_stand_at_the_top() -> None:
    links = {path.name: path.readlink() for path in (ROOT / "polyqa").iterdir() if path.is_symlink()}
    assert links == {name: Path("..") / name for name in AT_THE_TOP}
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == {*AT_THE_TOP, "lab", "polyqa"} - {"compiled"}


@pytest.mark.slow
def test_every_room_is_imported_as_polyqa_and_as_nothing_else(tmp_path: Path) -> None:
    script = f"import importlib\nfor room in {ROOMS!r}: importlib.import_module(f'polyqa.{{room}}')"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    assert (distribution("polyqa").read_text("top_level.txt") or "").split() == ["polyqa"]


def test_a_users_own_folders_are_no_matter(tmp_path: Path) -> None:
    for name in ("metrics", "programs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("mine = True\n")
    script = "import metrics, programs, polyqa.metrics.dr, polyqa.programs; assert metrics.mine and programs.mine"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
