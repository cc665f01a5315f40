"""Tells documents of one title apart, as "Service contract" of two customers: by that in which their paths differ."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import PurePosixPath

from polyqa.base.values import Passage
from polyqa.metrics.text import SECTION, normalize_words

from .blocks import named_after
from .splitting import Splitter

_MOST_NAMED = 4
_Text = tuple[str, str]  # of a passage: its title and its text
_MAILS = (".eml", ".mbox")  # those of a thread share their subject, and the names of their files say nothing


def title_of(passage: Passage) -> str:
    """Return the title of the document that a passage is of, without its section."""
    return passage.title.partition(SECTION)[0]


def _titles(source: str, passages: Sequence[Passage]) -> set[str]:
    """Return the titles by which a file may be a namesake of others; none for ready passages and mails."""
    is_document = not source.lower().endswith(_MAILS)
    return {normalize_words(title_of(passage)) for passage in passages if is_document and not passage.pid}


def told_apart(files: Mapping[str, Sequence[Passage]], splitter: Splitter) -> dict[str, list[Passage]]:
    """Return the passages of files; of those with one title each says in brackets which file it is of.

    What stands in several of them names these, up to four; more would hide the title. Copies of a file need no names.
    Passages with ids stay as they are; those that the longer title makes too long are split.
    """
    namesakes = defaultdict[str, list[str]](list)
    for source, passages in files.items():
        for title in _titles(source, passages):
            namesakes[title].append(source)
    holders = defaultdict[_Text, list[str]](list)
    texts = {
        source: frozenset((passage.title, passage.text) for passage in passages) for source, passages in files.items()
    }
    for source, those in texts.items():
        for text in those:
            holders[text].append(source)
    names = {
        title: paths_apart(sources)
        for title, sources in namesakes.items()
        if len({texts[source] for source in sources}) > 1
    }

    def qualified(passage: Passage) -> list[Passage]:
        title = title_of(passage)
        apart = names.get(normalize_words(title), {}) if not passage.pid else {}
        labels = [apart[source] for source in holders[passage.title, passage.text] if source in apart]
        if not any(labels) or len(labels) > _MOST_NAMED:
            return [passage]
        qualifier = " & ".join(filter(None, labels))
        full = f"{title} ({qualifier}){passage.title.removeprefix(title)}"
        parts = [text for _, text in splitter.split(full, passage.text)]
        return [passage.model_copy(update={"title": full, "text": text}) for text in parts]

    return {source: [part for passage in passages for part in qualified(passage)] for source, passages in files.items()}


def paths_apart(sources: Sequence[str]) -> dict[str, str]:
    """Return for each of several paths what tells it from the others: a folder's or the file's name, or several names.

    The outermost folders that differ come first: they are products or customers more often than others are.

    >>> paths_apart(["acme/contract.md", "globex_ltd/contract.md", "contract.md"])
    {'acme/contract.md': 'Acme', 'globex_ltd/contract.md': 'Globex Ltd', 'contract.md': ''}
    >>> list(paths_apart(["a/2023/q1.pdf", "a/2023/q2.pdf", "a/2024/q1.pdf"]).values())
    ['2023, q1', '2023, q2', '2024, q1']
    """
    paths = [PurePosixPath(source).with_suffix("").parts for source in sources]
    folders = list(zip_longest(*(path[:-1] for path in paths), fillvalue=""))
    varied = [names for names in [*folders, tuple(path[-1] for path in paths)] if len(set(names)) > 1]
    chosen = next(([names] for names in varied if len(set(names)) == len(paths)), varied)
    return {
        source: ", ".join(_in_words(names[place]) for names in chosen if names[place])
        for place, source in enumerate(sources)
    }


def _in_words(name: str) -> str:
    """Return the name of a file or folder as a title has it: "Globex Ltd" for *globex_ltd*."""
    words = re.sub(r"_+|(?<=[^\W\d])-(?=[^\W\d])", " ", named_after(name)).split()
    return " ".join(word.capitalize() if word.isalpha() and word.islower() else word for word in words)
