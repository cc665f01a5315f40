"""What is counted of a checkout."""

import subprocess
from pathlib import Path

import pytest

from lab import house, results
from lab.house import _APPENDS, _CALLBACK, _PRIVATE, House, with_column
from polyqa.base.errors import PolyqaError

FILES = {
    "polyqa/__init__.py": "import ray\n",
    "polyqa/lm.py": (
        "import dspy\n"
        "class Watch(dspy.utils.callback.BaseCallback):\n    pass\n"
        "HISTORY = dspy.clients.base_lm.GLOBAL_HISTORY\n# __wrapped__\n"
    ),
    "polyqa/tables.py": (
        "A = {One: 1, Two: 2}\nB = {One: 1}\nC: dict[type[dspy.Signature], int] = {}\n"
        "D = MappingProxyType({One: 1, Two: 2})\n"
    ),
    "polyqa/identity.py": (
        "from rich.table import Table\nfrom markupsafe import Markup\nimport jinja2\n"
        "class Run:\n    program: str\n    lm: str\n    index: str\n    n: int\n"
        "class Result:\n    program: str\n    lm: str\n    index: str\n    answer: str\n"
        "A = {'program': 1, 'lm': 2, 'reader': 3, 'judge': 4}\nB = {'program': 1, 'lm': 2}\n"
        "journal = path.open('ab')\nstore = sqlite3.connect(path)\nother = path.open('rb')\n"
    ),
    "signatures/one.py": "class One:\n    pass\nclass Two:\n    pass\n",
    "lab/big.py": "a = 1\n" * 50,
    "tests/test_one.py": "def test() -> None:\n    pass\n",
    "pyproject.toml": '[project]\ndependencies = ["dspy", "torch"]\noptional-dependencies = {ray = ["ray"]}\n',
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "polyqa" / "signatures").symlink_to("../signatures")
    (tmp_path / "polyqa" / "benchmarks").symlink_to("../lab")
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    return tmp_path


def test_what_stands_in_the_files_is_counted_wherever_the_rooms_are(checkout: Path) -> None:
    counted = House(checkout)
    assert sum(text.count("\n") for text in counted.product.values()) == 1 + 5 + 4 + 18 + 4
    assert (counted.lines("lab"), counted.lines("tests")) == (50, 2)
    assert [sum(counted.places(pattern)) for pattern in (_CALLBACK, _PRIVATE, _APPENDS)] == [1, 1, 2]
    assert (counted.tables(), counted.run_identities(), counted.renderers()) == (3, 2, 2)
    assert counted.top() == (4, 2)
    assert counted.dependencies() == (2, 1)
    assert counted.tests() == 1


def test_a_run_of_equal_lines_is_one_pair(checkout: Path) -> None:
    same = "".join(f"value_{n} = call({n})\n" for n in range(9))
    for name in ("one", "two"):
        (checkout / "polyqa" / f"{name}.py").write_text(f"{name} = 1\n{same}")
    assert House(checkout).duplicates() == 1


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match="no checkout of polyqa"):
        House(tmp_path)


def test_a_column_is_added_or_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (house, results):
        monkeypatch.setattr(module, "HOME", tmp_path)
    for label, count in (("before", 4000), ("now", 3), ("now", 2)):
        measured = with_column(label, {"links": count})
        (tmp_path / "house.json").write_text(measured.model_dump_json())
    assert measured.tables[""].markdown().splitlines()[0::2] == ["|  | before | now |", "| links | 4,000 | 2 |"]
