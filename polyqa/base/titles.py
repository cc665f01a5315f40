"""Titles that tell passages apart."""

from collections import defaultdict
from collections.abc import Sequence

from .values import Passage

_PLACES = {"source", "section", "page", "line"}  # where a passage stands, not what it is about
_LONGEST = 40  # characters of what stands behind a title


def told_apart(passages: Sequence[Passage]) -> list[Passage]:
    """Return passages in which things of one name have what differs in their metadata behind the title.

    That is the first field that all passages of this title have as a short text, and not all the same. Addresses and
    paths are none.

    >>> pumps = [Passage(pid=name, title="Pump", text="It pumps.", metadata={"product": name}) for name in ("A1", "B2")]
    >>> [passage.title for passage in told_apart(pumps)]
    ['Pump (A1)', 'Pump (B2)']
    """
    groups = defaultdict[str, list[Passage]](list)
    for passage in passages:
        if passage.title and passage.metadata:
            groups[passage.title].append(passage)
    told: dict[str, str] = {}
    for title, group in groups.items():
        for name in group[0].metadata:
            values = [value for one in group if isinstance(value := one.metadata.get(name), str)]
            short = name not in _PLACES and all(0 < len(value) <= _LONGEST and "/" not in value for value in values)
            if short and len(values) == len(group) and len(set(values)) > 1:
                told |= {one.pid: f"{title} ({value})" for one, value in zip(group, values, strict=True)}
                break
    return [one.model_copy(update={"title": told[one.pid]}) if one.pid in told else one for one in passages]
