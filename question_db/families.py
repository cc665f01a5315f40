"""Passages whose titles share a name: what one ambiguous question may mean."""

import re
from collections import Counter
from collections.abc import Sequence

from polyqa.metrics.text import normalize_answer, split_title
from polyqa.signatures import Passage


def shared_name(one: str, other: str) -> str:
    """Return the words that two names share, if they can be said for both; else ``""``.

    The last word must be among them, and either two words or one whole name: *Forth Bridge* stands for the
    *Forth Road Bridge*, too, but *Bridge* for neither.

    >>> shared_name("Forth Road Bridge", "Forth Bridge"), shared_name("Tay Bridge", "Forth Bridge")
    ('Forth Bridge', '')
    """
    left, right = one.split(), other.split()
    common = [word for word in left if word in right]
    if not common or not left[-1] == right[-1] == common[-1] or common != [word for word in right if word in left]:
        return ""
    return " ".join(common) if len(common) > 1 or common in (left, right) else ""


def base_names(passages: Sequence[Passage]) -> dict[str, str]:
    """Return, for the id of each passage, the name that it shares with the most others; else its own."""
    names = {passage.pid: split_title(passage.title, commas=True)[0] for passage in passages}
    counted = Counter(names.values())
    distinct = [name for name in counted if name]
    options: dict[str, set[str]] = {name: {name} for name in distinct}
    by_last: dict[str, list[str]] = {}
    for name in distinct:
        by_last.setdefault(name.split()[-1], []).append(name)
    for group in by_last.values():
        for at, one in enumerate(group):
            for other in group[at + 1 :]:
                if shared := shared_name(one, other):
                    options[one].add(shared)
                    options[other].add(shared)
    members: Counter[str] = Counter()
    for name in distinct:
        for base in options[name]:
            members[base] += counted[name]
    best = {name: max(options[name], key=lambda base: (members[base], len(base), base)) for name in distinct}
    return {pid: best.get(name, "") for pid, name in names.items()}


def without_qualifier(question: str, title: str, base: str) -> str | None:
    """Return a question with the shared name in place of the title; ``None`` if it does not name it.

    The qualifier goes, in brackets or not, and so do the words of the name that the others lack.

    >>> without_qualifier("Who designed the Forth Road Bridge?", "Forth Road Bridge", "Forth Bridge")
    'Who designed the Forth Bridge?'
    >>> without_qualifier("Who directed the 1953 film Titanic?", "Titanic (1953 film)", "Titanic")
    'Who directed Titanic?'
    """
    name, qualifier = split_title(title, commas=True)
    text = question
    if qualifier:
        text = re.sub(rf"\s*\({re.escape(qualifier)}\)|, {re.escape(qualifier)}\b", "", text)
        text = re.sub(rf"\b(?:the )?{re.escape(qualifier)} (?={re.escape(name)})", "", text)
    if not name or name not in text:
        return None
    text = text.replace(name, base, 1)
    shown = f" {normalize_answer(text)} "
    left = [word for word in normalize_answer(qualifier).split() if f" {word} " in shown]
    kept = set(normalize_answer(base).split())
    # A word of the qualifier that is still there tells the readings apart: nothing was made ambiguous.
    return None if any(word not in kept and word.isdigit() for word in left) else " ".join(text.split())
