import json
from pathlib import Path
from typing import Any

import pytest

from lab.training.loop import Schedule
from lab.training.squad import Example, write_squad
from lab.training.train_writer import Data, Setup, run, split_by_group
from lab.training.writer_data import alone, readings_of
from polyqa.base.values import Passage
from polyqa.metrics.gold import Question, Reading
from polyqa.models.writer import Writer

COLOURS = ("red", "green", "blue", "yellow", "black", "white")
THINGS = ("kettle", "boat", "door", "lamp", "chair", "wagon")


def example(number: int, title: str = "") -> Example:
    thing, colour = THINGS[number], COLOURS[number]
    text = f"In the old shed near the harbour stands a {thing}, painted {colour} by Orla Venn."
    return Example(f"q{number}", f"What colour is the {thing}?", text, ((text.index(colour), colour),), thing, title)


EXAMPLES = [example(number) for number in range(len(THINGS))]


def trained(folder: Path, *, epochs: int = 40) -> dict[str, Any]:
    write_squad(EXAMPLES, folder / "questions.json")
    schedule = Schedule(epochs=epochs, rate=1e-3, bfloat16=False)
    return run(Data([folder / "questions.json"], held_out=0), Setup(frozen_layers=6), schedule, folder / "out")


@pytest.mark.slow
def test_a_writer_learns_what_it_is_shown(tmp_path: Path) -> None:
    report = trained(tmp_path)
    written = Writer(str(tmp_path / "out" / "shipped")).write([lesson.task for lesson in alone(EXAMPLES)])
    assert [one.question for one in written] == [one.question for one in EXAMPLES]
    assert report == json.loads((tmp_path / "out" / "report.json").read_text())


def test_readings_are_written_from_the_passage_they_name_else_from_the_long_answer() -> None:
    readings = (
        Reading("When did the ship Marrow sink?", ("1923",), "p1"),
        Reading("When did the film Marrow come out?", ("in 1950",)),
        Reading("When did the song Marrow come out?", ("1999",)),
    )
    asked = Question("q", "When did Marrow go down?", readings, ("The ship went down in 1923, the film in 1950.",))
    passages = {"p1": Passage(pid="p1", title="Marrow (ship)", text="It sank in 1923.")}
    first, second = readings_of([asked], passages)
    assert (first.task.title, first.task.context) == ("Marrow (ship)", "It sank in 1923.")
    assert (second.task.title, second.task.context) == ("", asked.long_answers[0])
    assert [one.task.context[one.task.start : one.task.end] for one in (first, second)] == ["1923", "in 1950"]
    assert {one.task.question for one in (first, second)} == {asked.question}
    assert [one.question for one in (first, second)] == [readings[0].question, readings[1].question]


def test_groups_are_held_out_whole() -> None:
    lessons = [lesson for lesson in alone(EXAMPLES) for _ in range(2)]
    training, held = split_by_group(lessons, 0.5, seed=0)
    assert len(training) == len(held) == 6
    assert not {one.group for one in training} & {one.group for one in held}
