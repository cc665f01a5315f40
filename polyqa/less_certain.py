"""Readings that are much less sure than the surest one: no readings of the answer, which tells them last."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from polyqa.base.text import in_paragraphs
from polyqa.base.values import Interpretation, Passage
from polyqa.extractive.long_answers import opening_of, statement, tidy, with_subject
from polyqa.extractive.planted import as_evidence
from polyqa.extractive.prompt import PromptPassage
from polyqa.metrics.text import Sentence, content_words, holds, names_and_numbers, sentences, several, without_marks
from polyqa.programs.citation import LESS_CERTAIN

from .asking_back import answer_of

_SHARE = 0.5  # of the surest reading's confidence
_LONGEST = 60  # words of a sentence; longer ones of web pages are mostly menus
_LATE_MARK = re.compile(r"([.!?]+)((?:\s*\[\d+(?:, ?\d+)*\])+)")  # "In 1997. [1]"; it would go with the next sentence
_LINE = re.compile(r"\S[^\n]*")
_ITEM = re.compile(r"^(?:[-*•]|\d{1,2}[.)])(?:\s+|$)")
_NUMBERED = re.compile(r"^\d{1,2}(?=[.)]\s)", re.MULTILINE)
_POINTS_BACK = re.compile(r"(?:He|She|It|They|His|Her|Its|Their|This|That|These|Those)\b")
_OPENING = re.compile(r"The answer depends on what is meant: |.{1,200} can mean .+ or ")
"""What `opening_of` makes."""
_MEANINGS = re.compile(
    r"^There (?:are|were|is|was)\b|\b(?:depends? on|(?:can|could|may|might) (?:mean|refer)|ambiguous|"
    r"(?:several|multiple|different|various) (?:\w+ )?(?:answer|interpretation|meaning|people|place|thing|work)s?\b)",
    re.IGNORECASE,
)


def doubtful(confidence: Sequence[float | None]) -> list[int]:
    """Return the places of the readings with less than half of the surest one's confidence, the surest of them first.

    One that the reader cannot judge (``None``) is not among them. Over eight corpora a quarter of these are right, of
    the others more than half (`lab/log.md`).

    >>> doubtful([0.1, 0.9, 0.4, None, 0.6])
    [2, 0]
    """
    least = _SHARE * max((sure for sure in confidence if sure is not None), default=0.0)
    places = [(-sure, place) for place, sure in enumerate(confidence) if sure is not None and sure < least]
    return [place for _, place in sorted(places)]


def told_apart(
    question: str,
    answer: str,
    readings: Sequence[Interpretation],
    doubted: Sequence[int],
    passages: Sequence[Passage],
) -> tuple[str, list[int]]:
    """Return a long answer that tells doubtful readings last, and the places of the readings that stay.

    The sentences that tell doubtful readings alone, and those that go on about them, move behind ``Less certain:``,
    with their titles. A sentence that tells another reading as well stays where it is. If a passage says it word for
    word, it claims no more than before. If a language model made it, it claims both, and both stay readings.

    Parameters
    ----------
    question, answer
        What was asked, and the long answer, without the sentences about sources that disagree.
    readings
        All of them.
    doubted
        The places of the doubtful ones; those that the answer does not tell are told in this order.
    passages
        Those that the readings cite.
    """
    main, _, less = _LATE_MARK.sub(r"\2\1", answer).partition(LESS_CERTAIN)
    long = _LongAnswer(question, main, readings, passages)
    staying = long.staying(doubted)
    doubted = [place for place in doubted if place not in staying]
    if not doubted:
        return answer, staying
    main, behind = long.split(staying, doubted)
    behind += [less.strip()] * bool(less.strip())
    return in_paragraphs(main, " ".join([LESS_CERTAIN, *behind]) if behind else ""), staying


@dataclass(frozen=True)
class _Part:
    """A sentence: what stands before it, its text, the places of the readings that it tells."""

    gap: str
    text: str
    tells: set[int]


class _LongAnswer:
    """A long answer in sentences, with what each of them tells."""

    def __init__(
        self, question: str, text: str, readings: Sequence[Interpretation], passages: Sequence[Passage]
    ) -> None:
        self.question, self.readings = question, readings
        passages = list(map(as_evidence, passages))
        shown = [tidy(PromptPassage(at, one.title, one.text)) for at, one in enumerate(passages, 1)]
        self.passages = passages
        self.cited = {one.pid: passage for one, passage in zip(passages, shown, strict=True)}
        self.parts = [_Part(gap, part, self._tells(part)) for gap, part in _sentences(text)]
        if self.parts and _OPENING.match(self.parts[0].text):  # titles may hold answers; it tells none
            self.parts[0] = replace(self.parts[0], tells=set())

    def _tells(self, text: str) -> set[int]:
        return {
            place
            for place, reading in enumerate(self.readings)
            if any(holds(text, one, without_marks) for one in several(reading.answer))
        }

    def staying(self, doubted: Sequence[int]) -> list[int]:
        """Return the places of the readings that stay: the sure ones, and those told in one breath with them."""
        staying = set(range(len(self.readings))) - set(doubted)
        claims = [part.tells for part in self.parts if not self._quoted(part.text)]
        while claimed := {place for told in claims for place in told - staying if self._claimed(place, told & staying)}:
            staying |= claimed
        return sorted(staying)

    def _claimed(self, place: int, sure: Collection[int]) -> bool:
        """Return whether a sentence that tells sure readings claims another one, too, not just words of theirs."""
        answer = self.readings[place].answer
        return bool(sure) and not any(holds(self.readings[one].answer, answer, without_marks) for one in sure)

    def _quoted(self, text: str) -> bool:
        """Return whether a passage says a sentence word for word, with its title before it or without."""
        words = without_marks(text)
        return any(
            f" {words.removeprefix(without_marks(one.title)).strip()} " in f" {without_marks(one.text)} "
            for one in self.cited.values()
        )

    def split(self, staying: Sequence[int], doubted: Sequence[int]) -> tuple[str, list[str]]:
        """Return the answer about the readings that stay, and the sentences about the others."""
        said, moved, meanings = self._sorted(staying, doubted)
        told = [part for part in said if part.tells]
        if not told:
            said += [_Part(" ", self._of_passage(place), {place}) for place in staying]
        opening = self._opening(staying) if meanings and len(told) > 1 else ""
        main = " ".join(filter(None, [opening, _joined(said)]))
        left = [place for place in doubted if not any(place in part.tells for part in self.parts)]
        behind = dict.fromkeys([*map(self._behind, moved), *map(self._of_passage, left)])
        return main, [one for one in behind if one not in main]

    def _sorted(
        self, staying: Sequence[int], doubted: Sequence[int]
    ) -> tuple[list[_Part], list[list[_Part]], list[_Part]]:
        """Return the sentences that stay, the runs of those that go behind, and those that say what may be meant."""
        names, others = self._names(doubted), self._names(staying)
        said: list[_Part] = []
        moved: list[list[_Part]] = []
        meanings: list[_Part] = []
        begun = moving = False
        for part in self.parts:
            words = set(content_words(part.text))
            about, also = bool(words & (names - others)), bool(words & (others - names))
            begun = begun or bool(part.tells)
            if not begun and ((about and also) or _MEANINGS.search(part.text)):
                meanings.append(part)
                continue
            if part.tells:
                goes = not part.tells.intersection(staying)
            else:  # it goes on about the sentence before, or tells more of a doubtful reading
                goes = (moving and bool(_POINTS_BACK.match(part.text))) or (about and not also)
            if goes:
                moved += [] if moving else [[]]
                moved[-1].append(part)
            else:
                said.append(self._after(moved[-1][-1], part, staying) if moving and part.tells else part)
            moving = goes
        return said, moved, meanings

    def _names(self, places: Sequence[int]) -> set[str]:
        """Return the words of titles, and the names and numbers of questions, that tell readings from the question."""
        readings = [self.readings[place] for place in places]
        titles = [self.cited[reading.pid].title for reading in readings if reading.pid in self.cited]
        named = [name.lower() for reading in readings for name in names_and_numbers(reading.question)]
        return {*content_words(" ".join([*titles, *named]))} - {*content_words(self.question)}

    def _passage(self, tells: Collection[int]) -> PromptPassage | None:
        """Return the passage of the first reading that a sentence tells."""
        return self.cited.get(self.readings[min(tells)].pid or "") if tells else None

    def _after(self, moved: _Part, part: _Part, staying: Sequence[int]) -> _Part:
        """Return a sentence that stands no longer behind one about the same passage, or that it points to."""
        passage = self._passage(part.tells.intersection(staying) or part.tells)
        if passage is None or not (passage is self._passage(moved.tells) or _POINTS_BACK.match(part.text)):
            return part
        return replace(part, text=_with_title(part.text, passage))

    def _behind(self, run: Sequence[_Part]) -> str:
        """Return sentences about doubtful readings, with a title where another passage begins."""
        texts: list[str] = []
        before: PromptPassage | None = None
        for part in run:
            text, passage = _ITEM.sub("", part.text), self._passage(part.tells)
            if passage is not None and passage is not before:
                text, before = _with_title(text, passage), passage
            texts.append(text)
        return " ".join(texts)

    def _of_passage(self, place: int) -> str:
        """Return the sentence of a passage that gives a reading's answer, or else the reading itself."""
        reading = self.readings[place]
        text = answer_of(reading, [], self.passages, "")
        passage = self.cited.get(reading.pid or "")
        if len(text.split()) > _LONGEST or passage is None:
            return statement(reading)
        return _with_title(text, passage)

    def _opening(self, staying: Sequence[int]) -> str:
        """Return the sentence that says what may be meant; nothing if one title says it all."""
        readings = [self.readings[place] for place in staying]
        cited = [self.cited[one.pid] for one in readings if one.pid in self.cited]
        return opening_of(self.question, readings, cited) if len({one.title for one in cited}) > 1 else ""


def _with_title(text: str, passage: PromptPassage) -> str:
    """Return a sentence with the title before it, unless it has the title's words, or a question before it."""
    if "? " in text or not passage.title:
        return text
    points = _POINTS_BACK.match(text)
    return f"{passage.title}: {text}" if points else with_subject(Sentence(text, 0, len(text)), passage, named=True)


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    r"""Yield the sentences of a text, each after what stands before it; a list's mark, or a question, opens one.

    >>> list(_sentences("When? 1953.\n1. It came out.  So."))
    [('', 'When? 1953.'), ('\n', '1. It came out.'), ('  ', 'So.')]
    """
    gap, end = "", 0
    start: int | None = None
    for line in _LINE.finditer(text):
        for sentence in sentences(line[0]):
            first = line.start() + sentence.start
            if start is None:
                gap, start = text[end:first], first
            end = first + len(sentence.text)
            if not _ITEM.fullmatch(sentence.text) and not sentence.text.endswith("?"):
                yield gap, text[start:end]
                start = None
    if start is not None:
        yield gap, text[start:end]


def _joined(parts: Sequence[_Part]) -> str:
    """Return sentences as a text; the items of a numbered list are numbered anew."""
    text = "".join(part.gap * (at > 0) + part.text for at, part in enumerate(parts))
    numbers = count(1)
    return _NUMBERED.sub(lambda _: str(next(numbers)), text)
