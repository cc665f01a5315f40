"""One question loads what it needs, and no more."""

import subprocess
import sys
from types import ModuleType

import pytest

import polyqa.colbert_index
import polyqa.optimizers
import polyqa.programs
import polyqa.questions

ASK = ("ask", "When did Titanic come out?")
MOST_MODULES = 180


def imported(*words: str) -> list[str]:
    """Return the modules of polyqa that a command has imported when it has ended."""
    script = (
        f"import sys; sys.argv = ['polyqa', *{words!r}]\n"
        "from polyqa.cli.app import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        "print(*(name for name in sys.modules if name.startswith('polyqa.')), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stderr.splitlines()[-1].split()


@pytest.fixture(scope="module")
def for_a_question() -> list[str]:
    return imported(*ASK)


@pytest.mark.parametrize(
    "room",
    [
        "optimizers",
        "evaluation",
        "questions.build",
        "questions.generation",
        "questions.quality",
        "batch",
        "compiling",
        "evaluating",
        "costing",
        "hub",
        "web",
    ],
)
def test_a_question_loads_no_room_that_it_does_not_enter(room: str, for_a_question: list[str]) -> None:
    assert [name for name in for_a_question if f"{name}.".startswith(f"polyqa.{room}.")] == []


def test_a_question_loads_few_modules(for_a_question: list[str]) -> None:
    assert len(for_a_question) <= MOST_MODULES


@pytest.mark.parametrize(
    "package", [polyqa, polyqa.colbert_index, polyqa.optimizers, polyqa.programs, polyqa.questions]
)
def test_the_names_of_lazy_packages_are_there(package: ModuleType) -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
