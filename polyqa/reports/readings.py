"""Readings in few words: what each differs in, the sentence before them, and how sure they are."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from polyqa.base.text import COUNTS, counted
from polyqa.extractive.planted import as_evidence
from polyqa.metrics.text import SECTION, STOPWORDS, UNSPACED, words

if TYPE_CHECKING:
    from polyqa.asking import Result

_LONGEST = 8  # words of a title; what differs more than that is a question of its own
_IN_A_WORD = 2
_PARTS = re.compile(r"[,;:?!()\[\]{}\"“”«»。，？！]")
"""Parts words that stand beside each other but belong to different phrases."""
_FRACTIONS = ((1, 10), (1, 5), (1, 4), (1, 3), (1, 2), (2, 3), (3, 4), (4, 5), (9, 10))
_NEVER, _ALWAYS = 0.05, 0.95
COUNTED = ((33, 0.07, 0.06), (33, 0.24, 0.27), (33, 0.45, 0.48), (33, 0.65, 0.61), (33, 0.85, 0.85))
"""Readings of questions whose answers are known, the least sure first: how many, their mean `Result.confidence`, and
the share of them that was right; from ``lab/results/confidence.json``."""


class _Question:
    """A question in words, with their places."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.spans: list[tuple[int, int]] = []
        at = 0
        for word in words(text):
            start = text.index(word, at)
            at = start + len(word)
            self.spans.append((start, at))
        self.words = [_plain(text[start:end]) for start, end in self.spans]

    def titled(self, frame: frozenset[str]) -> str:
        """Return the phrases that are not in the frame, with commas between."""
        runs = self.joined(self._whole(*run) for run in self.joined(self._runs(frame)))
        return ", ".join(dict.fromkeys(self.text[self.spans[start][0] : self.spans[end - 1][1]] for start, end in runs))

    def _runs(self, frame: frozenset[str]) -> Iterator[tuple[int, int]]:
        """Yield where words that are not in the frame begin and end, without small words at either end."""
        start = 0
        for at in range(len(self.words) + 1):
            ends = at == len(self.words) or self.words[at] in frame
            if ends or self._parted(at):
                large_words = [word for word in range(start, at) if not self._small(word)]
                if large_words:
                    yield large_words[0], large_words[-1] + 1
                start = at + ends

    def joined(self, runs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return runs, those with nothing but small words between as one: "body of water"; and parts of a word."""
        joined: list[tuple[int, int]] = []
        for start, end in runs:
            between = range(joined[-1][1], start) if joined else ()
            near = all(map(self._small, between)) or self._in_a_word(between)
            if joined and near and not any(map(self._parted, (*between, start))):
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
        return joined

    def _small(self, at: int) -> bool:
        """Return whether a word carries no meaning; "US" and the "I" of "World War I" do."""
        start, end = self.spans[at]
        return self.words[at] in STOPWORDS and not self.text[start:end].isupper()

    def _in_a_word(self, between: Sequence[int]) -> bool:
        """Return whether a few characters of a script without spaces lie between: those of other words occur in it."""
        unspaced = (re.match(UNSPACED, self.words[at]) for at in between)
        return len(between) <= _IN_A_WORD and all(unspaced)

    def _whole(self, start: int, end: int) -> tuple[int, int]:
        """Return a run with the rest of a name that begins or ends in it, and a bare number with its noun."""
        number = end - start == 1 and self.words[start].isdigit()
        begin, last = start, end
        if number or self._capital(start):
            while begin > 1 and self._capital(begin - 1) and not self._parted(begin):
                begin -= 1
        if self._capital(end - 1) or number:
            while last < len(self.words) and self._capital(last) and not self._parted(last):
                last += 1
        if not number or last - begin > 1:
            return begin, last
        if begin > 1 and not self._small(begin - 1) and not self._parted(begin):
            return begin - 1, last
        return begin, last + (last < len(self.words) and not self._small(last) and not self._parted(last))

    def _capital(self, at: int) -> bool:
        start, _ = self.spans[at]
        return self.text[start].isupper()

    def _parted(self, at: int) -> bool:
        """Return whether a sign parts a word from the one before it."""
        return at > 0 and bool(_PARTS.search(self.text, self.spans[at - 1][1], self.spans[at][0]))


def titles_of(result: "Result") -> list[str]:
    """Return the `titles` of a result's readings, with the titles of the passages that they cite."""
    by_pid = {passage.pid: as_evidence(passage).title for passage in result.passages}
    readings = result.interpretations
    return titles(
        result.question,
        [reading.question for reading in readings],
        [by_pid.get(reading.pid or "", "") for reading in readings],
    )


def titles(question: str, readings: Sequence[str], sources: Sequence[str] = ()) -> list[str]:
    """Return for each reading the words that the others and the asked question lack.

    A name stays whole, and so does a number with its noun. Titles of different readings differ. If a reading lacks
    such words, its title is what the title of the passage it cites (in ``sources``) adds to the question, else that
    title, else the whole reading.

    >>> titles("When did Titanic sink?", ["When did RMS Titanic sink?", "When did the 1997 film's ship sink?"])
    ['RMS Titanic', "1997 film's ship"]
    >>> titles("When did Falcon fly?", ["When did Falcon 9 fly?", "When did Falcon Heavy fly?"])
    ['Falcon 9', 'Falcon Heavy']
    >>> titles("Who is Keller?", ["Who is Keller?", "Who is Keller the elder?"], ["Jonas Keller", "Lars Keller"])
    ['Jonas Keller', 'elder']
    >>> sections = ["Kinds of leave › Paid leave", "Forms › Parental bereavement leave"]
    >>> titles("How long is leave?", [f"How long is leave ({section})?" for section in sections], sections)
    ['Paid', 'Parental bereavement']
    >>> sections = ["Kinds of leave › Annual leave", "Kinds of leave › Advanced annual leave"]
    >>> titles("How long is annual leave?", [f"How long is annual leave ({name})?" for name in sections], sections)
    ['Annual leave', 'Advanced']
    """
    # What a section's path says is told by its heading, see below.
    parsed = [
        _Question(text.replace(f" ({source})", "") if SECTION in source else text)
        for text, source in zip_longest(readings, sources[: len(readings)], fillvalue="")
    ]
    shared = _shared(parsed)
    asked_words = shared | frozenset(_Question(question).words)
    titled = [reading_text.titled(asked_words) for reading_text in parsed]
    if not _tell_apart(titled) and len(parsed) > 1:
        by_others = [reading_text.titled(shared) for reading_text in parsed]
        titled = by_others if _tell_apart(by_others) else titled
    source_titles = [_title_of_source(title, asked_words, sources) for title in sources[: len(readings)]]
    taken: list[str] = []
    for reading, *options in zip_longest(readings, titled, source_titles, fillvalue=""):
        taken_elsewhere = {*taken, *titled[len(taken) + 1 :], *readings}
        short = (option for option in options if option and len(option.split()) <= _LONGEST)
        taken.append(next((option for option in short if option not in taken_elsewhere), reading))
    return taken


def _title_of_source(title: str, asked: frozenset[str], titles: Sequence[str]) -> str:
    """Return what a title, document › section, adds to the question; its last part if it adds nothing.

    A heading that no other title has needs no document.
    """
    parts = title.split(SECTION)[::-1]
    if all(other == title or other.rpartition(SECTION)[2] != parts[0] for other in titles):
        del parts[1:]
    # In a question the first word has a capital whatever it is; in a title it may begin a name.
    return next(filter(None, (_Question(f"of the {part}").titled(asked) for part in parts)), parts[0])


def opening(question: str, readings: Sequence[str]) -> str:
    """Return the sentence before the readings; empty for a single one that says what was asked.

    It names no word: whether a name, an event or a time is ambiguous does not show in how the readings are worded.

    >>> opening("Who is Keller?", ["Who is Jonas Keller?", "Who is Monika Keller?"])
    'This can mean two things.'
    >>> opening("Who leads it?", ["Who leads the team?"])
    'Read as “Who leads the team?”'
    """
    if not readings:
        return ""
    if len(readings) == 1:
        return "" if _Question(readings[0]).words == _Question(question).words else f"Read as “{readings[0]}”"
    number = COUNTS[len(readings)] if len(readings) < len(COUNTS) else f"{len(readings):,}"
    return f"This can mean {number} things."


def sure(share: float) -> str:
    """Return a probability in words.

    >>> sure(0.68), sure(0.02), sure(0.97)
    ('right about 2 times in 3', 'hardly ever right', 'nearly always right')
    """
    if share < _NEVER:
        return "hardly ever right"
    if share >= _ALWAYS:
        return "nearly always right"
    times, of = min(_FRACTIONS, key=lambda fraction: abs(fraction[0] / fraction[1] - share))
    return "right about half of the time" if of == 2 else f"right about {counted(times, 'time')} in {of}"


def _plain(word: str) -> str:
    return re.sub(r"['’]s$", "", word.casefold())


def _shared(questions: Sequence[_Question]) -> frozenset[str]:
    words = [frozenset(question.words) for question in questions]
    return frozenset.intersection(*words) if len(words) > 1 else frozenset()


def _tell_apart(titled: Sequence[str]) -> bool:
    return all(titled) and len(set(titled)) == len(titled)
