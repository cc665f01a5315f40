"""The programs by name."""

from collections.abc import Mapping
from types import MappingProxyType

import dspy

from signatures import PolyqaError

from .closed_book import ClosedBook
from .diva import DIVA
from .rac import RAC

PROGRAMS: Mapping[str, type[dspy.Module]] = MappingProxyType({"closed-book": ClosedBook, "rac": RAC, "diva": DIVA})


def program_class(name: str) -> type[dspy.Module]:
    """Return the class of a program.

    Raises
    ------
    PolyqaError
        With the known names.
    """
    try:
        return PROGRAMS[name]
    except KeyError:
        raise PolyqaError(f"Unknown program {name!r}; there are {', '.join(PROGRAMS)}.") from None
