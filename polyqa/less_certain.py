"""What a long answer tells of its readings: the sure ones each, and those that are much less sure last."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, repeat

from polyqa.base.text import in_paragraphs
from polyqa.base.values import Interpretation, Passage
from polyqa.extractive.answer_kinds import asks_yes_or_no
from polyqa.extractive.long_answers import OPENING, opening_of, statement, tidy, with_subject
from polyqa.extractive.planted import as_evidence
from polyqa.extractive.prompt import PromptPassage
from polyqa.metrics.agreement import says
from polyqa.metrics.text import SECTION, Sentence, content_words, ends, holds, sentences, several, stems, without_marks
from polyqa.programs.citation import LESS_CERTAIN, has_marks, unmarked, with_marks
from polyqa.reports.marks import sentence_of

_SHARE = 0.5  # of the surest reading's confidence
TOLD, TOLD_OF_A_MODEL = 0.05, 0.12
"""From which confidence on a doubtful reading is told: of 314 below, over three sets, 6 were right (`lab/log.md`).

The second is of what a language model tells and the embedded reader judges, see `polyqa.confidence.BIAS_OF_A_MODEL`.
"""
_LONGEST = 60  # words of a sentence; longer ones of web pages are mostly menus
_LATE_MARK = re.compile(r"([.!?]+)((?:\s*\[\d+(?:, ?\d+)*\])+)")  # "In 1997. [1]"; it would go with the next sentence
_LINE = re.compile(r"\S[^\n]*")
_ITEM = re.compile(r"^(?:[-*•]|\d{1,2}[.)])(?:\s+|$)")
_FIGURE = re.compile(r"\b(?=(?:[.,]?\d){3})\d[\d.,]*\w*")  # of three digits or more
_NUMBERED = re.compile(r"^\d{1,2}(?=[.)]\s)", re.MULTILINE)
_POINTS_BACK = re.compile(r"(?:He|She|It|They|His|Her|Its|Their|This|That|These|Those)\b")


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


def too_doubtful(confidence: Sequence[float | None], least: float = TOLD) -> list[int]:
    """Return the places of the readings that are not told at all.

    >>> too_doubtful([0.9, 0.04, 0.3, None])
    [1]
    """
    return [place for place, sure in enumerate(confidence) if sure is not None and sure < least]


def told_apart(
    question: str,
    answer: str,
    readings: Sequence[Interpretation],
    doubted: Sequence[int],
    passages: Sequence[Passage],
    untold: Collection[int] = (),
    sure: Collection[int] = (),
) -> tuple[str, list[int]]:
    """Return a long answer that tells sure readings, then doubtful ones; and the places of the readings that stay.

    The sentences that tell doubtful readings alone, and those that go on about them, move behind ``Less certain:``,
    with their titles. A sentence that tells another reading as well stays where it is. If a passage says it word for
    word, it claims no more than before. If a language model made it, it claims both, and both stay readings. An
    opening of `opening_of` then names what stays. The answer comes without the sentences about sources that disagree;
    the doubtful readings that it does not tell are told by their passages, in the order of ``doubted``, their places.
    Those of them in ``untold`` are not told, and the sentences that tell them alone go. So do a language model's own
    that tell them with others (*in 1848, 1852, 1853 and 1936*), if passages have sentences that can tell these.

    A ``sure`` reading that no sentence tells, not even in other words, is told behind the others by the sentence of its
    passage that has its answer: small language models find several readings, and write about the first. An answer that
    tells no reading that stays gets all that passages say.

    Sentences about things of several titles that differ in their answers alone (*Ann played Jo. Eve played Jo.*) do not
    say which is which. They give way to those of the passages, and so do sentences with a figure of three digits or
    more, such as a year, that no passage of the document has which their readings cite.
    """
    main, _, less = _LATE_MARK.sub(r"\2\1", answer).partition(LESS_CERTAIN)
    long = _LongAnswer(question, main, less, readings, passages)
    sure = {*sure, *long.leave_out_mixed(untold)}
    staying = long.staying(doubted)
    doubted = [place for place in doubted if place not in staying]
    if not long.by_passages(staying) and not doubted and not long.forgotten(staying, sure):
        return answer, staying
    main, behind = long.split(staying, doubted, untold, sure)
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
        self, question: str, text: str, less: str, readings: Sequence[Interpretation], passages: Sequence[Passage]
    ) -> None:
        self.question, self.less, self.readings = question, less, readings
        self.passages = list(map(as_evidence, passages))
        self.marked = has_marks(text, self.passages)
        numbers = [int(number) for number in _NUMBERED.findall(text)]  # "14. März 1879" is no item
        self.numbered = len(numbers) > 1 and numbers == [*range(1, len(numbers) + 1)]
        self.cited = {one.pid: tidy(PromptPassage(at, one.title, one.text)) for at, one in enumerate(self.passages, 1)}
        parts = list(_sentences(text))
        self.opened = bool(parts and OPENING.match(parts[0][1]))  # it names titles, and is made anew
        self.parts = [_Part(gap, part, self._tells(part)) for gap, part in parts[self.opened :]]

    def _item(self, text: str) -> str:
        """Return the mark of a list's item before a sentence, if there is one: "14. März 1879" is none."""
        item = _ITEM.match(text)
        return item[0] if item and (self.numbered or not text[0].isdigit()) else ""

    def _tells(self, text: str) -> set[int]:
        sentence = unmarked(text)
        return {
            place
            for place, reading in enumerate(self.readings)
            if any(holds(sentence, answer, without_marks) for answer in several(reading.answer))
        }

    def staying(self, doubted: Sequence[int]) -> list[int]:
        """Return the places of the readings that stay: the sure ones, and those told in one breath with them."""
        staying = set(range(len(self.readings))) - set(doubted)
        claims = [part.tells for part in self.parts if not self._quoted(part.text)]
        while claimed := {at for tells in claims for at in tells - staying if self._claimed(at, tells & staying)}:
            staying |= claimed
        return sorted(staying)

    def leave_out_mixed(self, untold: Collection[int]) -> set[int]:
        """Leave out the sentences of a language model that tell others together with readings that are not told.

        Those and what goes on about them go if passages have a sentence for each of the others, which are returned.
        """
        parts: list[_Part] = []
        lost: set[int] = set()
        going = False
        for part in self.parts:
            others = part.tells.difference(untold)
            mixed = any(self._claimed(place, others) for place in part.tells - others) and not self._quoted(part.text)
            going = (mixed or (going and bool(_POINTS_BACK.match(part.text)))) and all(map(self._evidence, others))
            if going:
                lost |= others
            else:
                parts.append(part)
        self.parts = parts
        return lost

    def by_passages(self, staying: Collection[int]) -> bool:
        """Put sentences of passages in place of those that do not say which, or invent; return if there were any.

        The former stay, with titles, where passages have no sentence, the latter as they are.
        """
        alike = self._alike(staying)
        parts: list[_Part] = []
        for part in self.parts:
            if part in alike or self._invents(part):
                evidence = list(dict.fromkeys(self._evidence(place) for place in sorted(part.tells)))
                passage = self._passage(part.text, part.tells)
                if not all(evidence):
                    evidence = [self._titled(part.text, passage) if passage and part in alike else part.text]
                else:
                    evidence[0] = f"{self._item(part.text)}{evidence[0]}"
                gaps = chain([part.gap], repeat(" "))
                part_of = (_Part(gap, text, self._tells(text)) for gap, text in zip(gaps, evidence, strict=False))
                parts += [new_part for new_part in part_of if new_part.text not in {other.text for other in parts}]
            else:
                parts.append(part)
        before, self.parts = self.parts, parts
        return parts != before

    def _alike(self, staying: Collection[int]) -> list[_Part]:
        """Return the sentences that do not say which thing they mean.

        They tell a reading that stays, and beyond the question nothing, or the same. Their passages differ in title.
        """
        alike: dict[frozenset[str], list[tuple[_Part, str]]] = {}
        for part in self.parts:
            passage = self._passage(part.text, part.tells)
            if passage is not None and len(part.tells) == 1 and part.tells.issubset(staying):
                answer = self.readings[min(part.tells)].answer
                content = " ".join(content_words(unmarked(part.text.removeprefix(self._item(part.text)))))
                beyond = stems(content) - stems(f"{self.question} {answer}")
                alike.setdefault(frozenset(beyond), []).append((part, passage.title))
        groups = (group for group in alike.values() if len({title for _, title in group}) > 1)
        return [part for group in groups for part, _ in group]

    def _invents(self, part: _Part) -> bool:
        """Return whether a sentence has a long figure, such as a year, that is not in its passages' documents."""
        figures = _FIGURE.findall(unmarked(part.text)) if part.tells else []
        if not figures or self._quoted(part.text):
            return False
        cited = {
            self.cited[pid].title.partition(SECTION)[0]
            for at in part.tells
            if (pid := self.readings[at].pid) in self.cited
        }
        documents = (passage for passage in self.cited.values() if passage.title.partition(SECTION)[0] in cited)
        known_text = " ".join([self.question, *(f"{passage.title} {passage.text}" for passage in documents)])
        return any(not holds(known_text, figure, without_marks) for figure in figures)

    def _claimed(self, place: int, sure: Collection[int]) -> bool:
        """Return whether a sentence that tells sure readings claims another one, too, not just words of theirs."""
        answer = self.readings[place].answer
        return bool(sure) and not any(holds(self.readings[at].answer, answer, without_marks) for at in sure)

    def _quoted(self, text: str) -> bool:
        """Return whether a passage says a sentence word for word, with its title before it or without."""
        words = without_marks(text)
        return any(
            f" {words.removeprefix(without_marks(passage.title)).strip()} " in f" {without_marks(passage.text)} "
            for passage in self.cited.values()
        )

    def split(
        self, staying: Sequence[int], doubted: Sequence[int], untold: Collection[int], sure: Collection[int]
    ) -> tuple[str, list[str]]:
        """Return the answer about the readings that stay, and the sentences about the others."""
        parts: list[_Part] = []
        behind: list[str] = []
        moved: PromptPassage | None = None  # what the sentence before is about, if that goes behind, or goes
        titled: PromptPassage | None = None  # the same of the last one behind
        moving = going = False
        for part in self.parts:
            passage = self._passage(part.text, part.tells.intersection(staying) or part.tells)
            back = moving and bool(_POINTS_BACK.match(part.text))
            moving = part.tells.isdisjoint(staying) if part.tells else back
            going = part.tells <= set(untold) if part.tells else going  # what goes on about it goes, too
            if moving:
                moved = passage or moved
                if not going:
                    text = part.text.removeprefix(self._item(part.text))
                    behind.append(self._titled(text, passage) if passage and passage is not titled else text)
                    titled = passage or titled
            else:  # what it points to, or the title that it stood behind, may have gone
                lacks = passage is not None and (back or passage is moved)
                parts.append(replace(part, text=self._titled(part.text, passage)) if passage and lacks else part)
                moved = None
        parts += self.forgotten(staying, sure, parts)
        opened = self.opened and sum(bool(part.tells) for part in parts) > 1
        main = " ".join(filter(None, [self._opening(staying) if opened else "", _joined(parts, self.numbered)]))
        told_places = set(untold).union(*(part.tells for part in self.parts))
        behind += [self._evidence(at) for at in doubted if at not in told_places]
        return main, [sentence for sentence in dict.fromkeys(behind) if sentence and sentence not in main]

    def forgotten(
        self, staying: Sequence[int], sure: Collection[int], parts: Sequence[_Part] | None = None
    ) -> list[_Part]:
        """Return sentences for the readings that ``parts``, or else those of the whole answer, do not tell.

        What no passage says is told only if nothing else is left of the answer.
        """
        parts = self.parts if parts is None else parts
        nothing = not any(part.tells for part in parts)
        broken_off = bool(parts) and not ends(parts[-1].text)  # or a few words, as of a user's own program
        gap = "\n\n" if broken_off or any("\n" in part.gap for part in parts) else " "
        added: list[_Part] = []
        for place in staying:
            answer = self.readings[place].answer
            is_told = (place in part.tells or says(unmarked(part.text), answer) for part in [*parts, *added])
            if (nothing or place in sure) and not any(is_told) and place not in self._tells(self.less):
                text = self._evidence(place) or ("" if parts else statement(self.readings[place]))
                added += [_Part(gap, text, self._tells(text))] * bool(text)
        return added

    def _passage(self, text: str, tells: Collection[int]) -> PromptPassage | None:
        """Return the passage behind whose title a sentence stands, else that of the first reading that it tells."""
        titled = (passage for passage in self.cited.values() if passage.title and text.startswith(f"{passage.title}: "))
        return next(titled, self.cited.get(self.readings[min(tells)].pid or "") if tells else None)

    def _evidence(self, place: int) -> str:
        """Return the sentence of a passage that gives a reading's answer, nothing if none does: none says yes or no."""
        reading = self.readings[place]
        passage = None if asks_yes_or_no(self.question) else self.cited.get(reading.pid or "")
        text = sentence_of(passage.text, reading.answer) if passage else ""
        if passage is None or not text:
            return ""
        if len(text.split()) <= _LONGEST:
            text = self._titled(text, passage)
        else:
            text = f"{passage.title}: {reading.answer}." if passage.title else statement(reading)
        return with_marks(text, [reading], self.passages) if self.marked else text

    def _titled(self, text: str, passage: PromptPassage) -> str:
        """Return a sentence with the title before it, unless it names what that stands for, or a question before it."""
        if "? " in text or not passage.title:
            return text
        if _POINTS_BACK.match(text):
            return f"{passage.title}: {text}"
        titles = [one.title for one in self.cited.values()]
        return with_subject(Sentence(text, 0, len(text)), passage, titles, named=True)

    def _opening(self, staying: Sequence[int]) -> str:
        """Return the sentence that says what may be meant, if there was one; nothing if one title says it all."""
        readings = [self.readings[place] for place in staying]
        cited = [self.cited[reading.pid] for reading in readings if reading.pid in self.cited]
        several_titles = len({passage.title for passage in cited}) > 1
        return opening_of(self.question, readings, cited) if several_titles else ""


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


def _joined(parts: Sequence[_Part], numbered: bool) -> str:
    """Return sentences as a text; the items of a numbered list are numbered anew."""
    text = "".join(part.gap * (at > 0) + part.text for at, part in enumerate(parts))
    numbers = count(1)
    return _NUMBERED.sub(lambda _: str(next(numbers)), text) if numbered else text
