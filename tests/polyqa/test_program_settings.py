import re
from inspect import signature
from typing import Any

import numpy as np
import pytest

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.program_settings import checked_settings, setting_types
from polyqa.programs import PROGRAMS


@pytest.mark.parametrize(
    ("program", "given", "taken"),
    [
        ("rac", {"passages": "3"}, {"passages": 3}),
        ("rac", {"passages": np.int64(3)}, {"passages": 3}),
        ("toc", {"pruning": "True", "depth": 2}, {"pruning": True, "depth": 2}),
        ("toc", {"pruning": " false "}, {"pruning": False}),
        ("toc", {"pruning": "off"}, {"pruning": False}),
        ("rac", {"preset": "paper"}, {"preset": "paper"}),
        ("spanwise", {"certainty": 1}, {"certainty": 1.0}),
    ],
)
def test_values_become_the_types_of_the_constructor(program: str, given: Any, taken: Any) -> None:
    found = checked_settings(program, given)
    assert found == taken
    assert [type(value) for value in found.values()] == [type(value) for value in taken.values()]
    made = polyqa.load(program, **given)
    assert {name: getattr(made, name) for name in given} == taken


@pytest.mark.parametrize(
    ("program", "given", "told"),
    [
        (
            "toc",
            {"pruning": "maybe"},
            "The setting pruning of toc is true or false, not 'maybe'; its settings: pruning",
        ),
        ("toc", {"pruning": 2}, "The setting pruning of toc is true or false, not 2;"),
        ("toc", {"pruning": None}, "The setting pruning of toc is true or false, not None;"),
        ("rac", {"passages": 2.5}, "The setting passages of rac is int, not 2.5; its settings: passages (int"),
        ("rac", {"passages": True}, "The setting passages of rac is int, not True;"),
        ("rac", {"passages": "9" * 10_000}, "The setting passages of rac is int, not '999"),
        ("rac", {"preset": "oracle"}, "is paper or lean, not 'oracle'"),
        ("spanwise", {"certainty": 10**400}, "is float, not 1000"),
        (
            "rac",
            {"retriever": "x"},
            "rac has no setting 'retriever'; its settings: passages (int), candidates (int), preset (paper or lean).",
        ),
        ("rac", {"encoding": "x"}, "rac has no setting 'encoding'"),
        ("rac", {"lm": "local"}, "lm is no setting of a program. One that you load is called under dspy.context(lm=…)"),
        ("rac", {"models": polyqa.Models(lm="local")}, "models is no setting of a program."),
        (
            "closed-book",
            {"passages": 2},
            "closed-book has no setting 'passages'; its settings: preset (paper or lean).",
        ),
    ],
)
def test_what_does_not_fit_is_explained(program: str, given: dict[str, Any], told: str) -> None:
    with pytest.raises(PolyqaError, match=re.escape(told)) as caught:
        polyqa.load(program, **given)
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_setting_is_named_as_something_that_is_given_beside_it(name: str) -> None:
    beside = {
        parameter for face in (polyqa.load, polyqa.evaluate, polyqa.compile) for parameter in signature(face).parameters
    }
    assert not setting_types(name).keys() & beside
