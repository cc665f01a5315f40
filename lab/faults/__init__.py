"""An attack on polyqa: what is lost, what is run, what crashes, and what goes wrong without a word.

python -m lab.faults --help
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from ..results import Table


def counted(heads: Sequence[str], outcomes: Sequence[str], counts: Mapping[str, Counter[str]]) -> Table:
    """Return a table with a row for each name: all trials, and how often each outcome came."""
    rows = [
        [name, str(counter.total()), *(str(counter[outcome]) for outcome in outcomes)]
        for name, counter in counts.items()
    ]
    return Table(heads=[*heads, *outcomes], rows=rows)
