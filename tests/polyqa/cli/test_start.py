"""One question loads what it needs, and no more."""

import re
import subprocess
import sys
from types import ModuleType

import pytest

import polyqa.colbert_index
import polyqa.optimizers
import polyqa.programs
import polyqa.questions

ELSEWHERE = re.compile(
    r"polyqa\.(optimizers|evaluation|questions\.(build|generation|quality)|batch|compiling|evaluating|costing|web)\b"
)
"""Rooms that a question does not enter."""
MOST_MODULES = 182


def test_a_question_loads_few_modules_and_no_room_that_it_does_not_enter() -> None:
    script = (
        "import sys; sys.argv = ['polyqa', 'ask', 'When did Titanic come out?']\n"
        "from polyqa.cli.app import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        "print(*(name for name in sys.modules if name.startswith('polyqa.')), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    imported = done.stderr.splitlines()[-1].split()
    assert [name for name in imported if ELSEWHERE.match(name)] == []
    assert 0 < len(imported) <= MOST_MODULES


@pytest.mark.parametrize(
    "package", [polyqa, polyqa.colbert_index, polyqa.optimizers, polyqa.programs, polyqa.questions]
)
def test_the_names_of_lazy_packages_are_there(package: ModuleType) -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing
