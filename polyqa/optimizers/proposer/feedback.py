"""Which clauses feedback speaks for: what `polyqa.metrics.feedback` says in words, read back."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import mean

from ..clauses.library import Candidate

# What feedback says, and the clauses that would have helped, by name.
_SAYS: Mapping[str, tuple[str, ...]] = {
    r"overlooked readings whose answers stand in its passages": ("possible", "no-lone-reading"),
    r"(?m)^Missed:": ("possible", "no-lone-reading"),
    r"extracted readings that are not wanted": ("certain", "agree", "three-readings", "two-readings"),
    r"question has one meaning, yet": ("few-guesses",),
    r"called the question ambiguous; it has one meaning": ("plain-in-doubt",),
    r"but the answer reads as": ("brief", "full-names", "titles", "agree"),
    r"this step said Yes, but the passages do not hold": ("no-in-doubt", "strict"),
    r"this step said No, but the passages do hold": ("yes-in-doubt", "lenient"),
    r"does not hold, for its answer is not wanted": ("strict", "no-in-doubt"),
    r"(?<!not )holds, for its answer is wanted": ("lenient", "yes-in-doubt"),
    r"given these readings and left their answers out": ("state",),
}
_LENGTH = re.compile(r"It has \d+ words; good answers to this question have about (\d+)\.")


def suggestions(feedback: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the clauses that feedback speaks for, those for which it says most first.

    Where it says how many words good answers have, a clause with their mean is made.
    """
    votes: Counter[str] = Counter()
    for pattern, names in _SAYS.items():
        said = len(re.findall(pattern, feedback))
        for rank, name in enumerate(names):
            votes[name] += said * (len(names) - rank)
    wanted = sorted((one for one in candidates if votes[one.name]), key=lambda one: -votes[one.name])
    lengths = [int(words) for words in _LENGTH.findall(feedback)]
    if lengths and any(one.group == "length" for one in candidates):
        words = round(mean(lengths), -1) or 10
        text = f"Write about {words:g} words."
        wanted.insert(0, Candidate(f"{words:g}-words", "length", text, "good answers have so many"))
    return wanted
