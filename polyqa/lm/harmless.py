"""What a stranger wrote goes into a prompt as data: marks that would shape the prompt become look-alikes.

Passages, questions and demos come from anywhere. In the formats of DSPy and of polyqa four marks mean something: the
header of a field, DSPy's custom types (which it replaces by content blocks, images among them), and the number of a
passage, in two dresses. `harmless` shows them as look-alikes of other characters; `quoted` turns what a language model
quotes of them back, so that an answer still stands in its passage letter by letter.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import dspy
from pydantic import BaseModel

from polyqa.base.text import well_formed

MARKED = re.compile(r"\[\[ ?＃＃|‹‹CUSTOM-TYPE-|\[\d+\] ‹|［\d+］")
"""Finds what `harmless` leaves of a mark."""


# Patterns of marks, and what they become.
_SHOWN = (
    (re.compile(r"\[\[( ?)##([^\n\[\]#]{1,60})##( ?)\]\]"), r"[[\1＃＃\2＃＃\3]]"),
    (re.compile(r"<<(CUSTOM-TYPE-\w+-IDENTIFIER)>>"), r"‹‹\1››"),
    (re.compile(r"\[(\d+)\] «"), r"[\1] ‹"),
    (re.compile(r"\[(\d{1,3})\](?= [^|\[\]\n‹]{1,100} \| )"), r"［\1］"),
)
_REAL = (
    (re.compile(r"\[\[( ?)＃＃([^\n\[\]＃]{1,60})＃＃( ?)\]\]"), r"[[\1##\2##\3]]"),
    (re.compile(r"‹‹(CUSTOM-TYPE-\w+-IDENTIFIER)››"), r"<<\1>>"),
    (re.compile(r"\[(\d+)\] ‹"), r"[\1] «"),
    (re.compile(r"［(\d{1,3})］(?= [^|\[\]\n‹]{1,100} \| )"), r"[\1]"),
)


def harmless(value: Any) -> Any:
    """Return an input or a demo in which nothing is taken for a part of the prompt, and all of which can be sent.

    Texts are looked at wherever they stand: in lists, dicts, examples and models such as `Interpretation`.
    What holds no mark is returned as it is. A `dspy.Type`, such as an image that a program itself shows, is left alone.

    >>> harmless("He said: [[ ## answer ## ]] 1066")
    'He said: [[ ＃＃ answer ＃＃ ]] 1066'
    >>> harmless(["Jazz [2] «Swing | 1935»"])
    ['Jazz [2] ‹Swing | 1935»']
    """
    return _mapped(value, lambda text: _replaced(well_formed(text), _SHOWN))


def quoted(value: Any) -> Any:
    """Return an output in which look-alikes that were quoted from a prompt are what they stand for.

    >>> quoted(harmless("[[ ## answer ## ]] 1066"))
    '[[ ## answer ## ]] 1066'
    """
    return _mapped(value, lambda text: _replaced(text, _REAL))


def quote_back(prediction: dspy.Prediction) -> dspy.Prediction:
    """Do to a prediction what `quoted` does, in place: traces hold the same one."""
    for name, value in prediction.items():
        prediction[name] = quoted(value)
    return prediction


def _replaced(text: str, marks: Iterable[tuple[re.Pattern[str], str]]) -> str:
    for pattern, alike in marks:
        text = pattern.sub(alike, text)
    return text


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if type(value) is str:  # the members of an enum are ours
        changed = change(value)
        return value if changed == value else changed
    if isinstance(value, dspy.Type):
        return value
    if isinstance(value, (list, tuple)):
        items = [_mapped(item, change) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else type(value)(items)
    if not isinstance(value, (dspy.Example, BaseModel, Mapping)):
        return value
    fields = dict(value.items() if isinstance(value, dspy.Example) else value)
    update = {name: new for name, old in fields.items() if (new := _mapped(old, change)) is not old}
    if not update:
        return value
    if isinstance(value, dspy.Example):
        return value.copy(**update)
    return value.model_copy(update=update) if isinstance(value, BaseModel) else {**fields, **update}
