"""The formats by name, and how one is told from the keys of a record."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from .ambignq import AMBIGNQ
from .asqa import ASQA
from .format import Format
from .multi_answer import MULTI_ANSWER
from .nq_open import NQ_OPEN
from .record import Record, excerpt, problem
from .situatedqa import SITUATEDQA

FORMATS: Mapping[str, Format] = MappingProxyType(
    {format.name: format for format in (ASQA, AMBIGNQ, SITUATEDQA, NQ_OPEN, MULTI_ANSWER)}
)
"""Every format by the name that ``load_questions`` takes."""


def named_format(name: str) -> Format:
    """Return a format by its name.

    Raises
    ------
    PolyqaError
        If there is none of this name; the names are listed.
    """
    if name not in FORMATS:
        raise problem("format", f"there is no format {name!r}; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def detect_format(record: Record) -> Format:
    """Return the format whose keys a record has; of two where one asks for more keys, that one.

    Raises
    ------
    PolyqaError
        If no format fits, or several do; the message names the candidates and what they need.
    """
    value = record.value
    if not isinstance(value, Mapping):
        raise problem(record.where, f"expected an object, got {type(value).__name__}", excerpt(value))
    fitting = [format for format in FORMATS.values() if _fits(format, value)]
    best = [format for format in fitting if not any(format.keys < other.keys for other in fitting)]
    if len(best) == 1:
        return best[0]
    if best:
        what = f"the keys fit {' and '.join(format.name for format in best)} alike; name one as the format"
    else:
        needs = "; ".join(f"{format.name} needs {_described(format)}" for format in FORMATS.values())
        what = f"no format has these keys ({needs})"
    raise problem(record.where, what, excerpt(value))


def _fits(format: Format, value: Mapping[Any, Any]) -> bool:
    # A row of a table has every column; what its record lacked is None there.
    return all(any(value.get(name) is not None for name in names) for names in format.keys)


def _described(format: Format) -> str:
    return ", ".join(sorted(" or ".join(names) for names in format.keys))
