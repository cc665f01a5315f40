"""The wordings that are compared say different things, and a wording is scored by how it parts right from wrong."""

import numpy as np
import pytest

from lab.wordings import _without, areas, wordings
from polyqa.base.values import Passage
from polyqa.programs.spanwise import Finding

FINDING = Finding(
    Passage(pid="1", title="Dune (1984 film)", text="It was shot in Mexico. David Lynch directed it."),
    start=23,
    answer="David Lynch",
    share=1.0,
    margin=2.0,
)
QUESTION = "Who directed Dune?"


def test_a_perfect_wording_has_all_of_the_area_and_a_constant_one_half() -> None:
    right = [np.array([True, False]), np.array([False, True, False])]
    perfect = areas([np.where(one, 0.9, 0.1) for one in right], right)
    assert perfect.min() == 1.0
    assert areas([np.full(len(one), 0.7) for one in right], right)[0] == pytest.approx(0.5)
    assert len(areas([np.where(one, 0.2, 0.8) for one in right], right)) == len(perfect)


def test_each_wording_shows_what_its_demos_show() -> None:
    for name, wording in wordings().items():
        inputs = wording.inputs(QUESTION, FINDING)
        assert set(inputs) == set(wording.signature.input_fields), name
        for demo in wording.demos:
            assert set(demo) == set(wording.signature.fields), name


def test_a_finding_lacks_the_part_that_is_left_out() -> None:
    texts = [_without(part)[1](QUESTION, FINDING)["finding"] for part in (0, 1)]
    assert texts == ["David Lynch directed it. | David Lynch", "Dune (1984 film) | David Lynch"]
    whole = wordings()["the whole passage, not its sentence"].inputs(QUESTION, FINDING)["finding"]
    assert whole == f"Dune (1984 film) | {FINDING.passage.text} | David Lynch"
