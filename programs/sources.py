"""Which passages back a reading, and which say otherwise about the same thing: the step after the readings.

Passages about different things are readings; where passages about the same thing give different answers they disagree,
and the answer says so.
"""

import re
from collections.abc import Mapping, Sequence

from polyqa.base.text import COUNTS
from polyqa.base.values import Interpretation, Otherwise, Passage, Sources
from polyqa.extractive.answer_kinds import YEAR, AnswerKind, answer_kind, fits_kind, names_and_figures
from polyqa.extractive.answers import whole_answer
from polyqa.extractive.evidence import says_something
from polyqa.extractive.planted import as_evidence
from polyqa.extractive.titles import are_namesakes, told_apart
from polyqa.metrics.agreement import agree
from polyqa.metrics.text import content_words, holds, normalize_words, sentences, split_title
from polyqa.models import SpanReader

from .citation import holding
from .copies import are_copies, edited, names_of

# Share of common names and figures from which on passages are about the same thing. Times and amounts exclude each
# other; a thing may have several names, places or kinds, so more is asked for. Fitted on half of RAMDocs.
_SAME = {"time": 0.4, "number": 0.4}
_SAME_OTHERWISE = 0.6
# Share of common words from which on two sentences say the same but for the answer. Without it, disagreements were told
# for five of 48 questions of ASQA, none of which was one (two places of one event, two singers of one song); with it
# for two. For 140 questions of RAMDocs, where documents do disagree, it is 22 instead of 23.
_SAME_STATEMENT = 0.5
_MARGIN = 2.0  # by which the reader prefers an answer to there being none, in logits
_LONGEST = 8  # words
_HOURS = re.compile(
    r"\b\d{1,2}(?:[:.]\d\d)?\s?(?:[ap]\.?m\b|o['’]clock)|\b\d{1,2}:\d\d\b|\b(?:noon|midnight|daily|\w+days?)\b", re.I
)
_FIGURES = re.compile(r"\d+(?:[./-]\d+)*")
_KINDS = {
    *("brochure", "docs", "documentation", "faq", "guide", "guidelines", "handbook", "intranet", "leaflet", "manual"),
    *("minutes", "newsletter", "notes", "policies", "policy", "presentation", "report", "slides", "website", "wiki"),
}
"""Of documents, several of which may be about one thing."""
_Claim = tuple[str, Passage]


def compare_sources(
    question: str, readings: Sequence[Interpretation], passages: Sequence[Passage], reader: SpanReader
) -> list[Sources]:
    """Return for each reading which passages back its answer, and which say otherwise about the same thing.

    A passage is about the same thing as the one that a reading cites if they share enough names and figures beside
    those of the question and the answers, and their titles name no namesakes. It backs the answer if that stands in it.
    It says otherwise if another reading cites it, or the reader finds another answer of the asked kind in it, and the
    sentences that tell the two answers share half of the words that neither the question nor the answers have. It does
    not if a passage that backs the one answer gives the other as well. Parts of one document do not disagree.
    A copy of the passage that has another answer in its place says otherwise, whether or not the reader finds it.

    Parameters
    ----------
    question
        As it was asked.
    readings
        Cited, see `citation.cite`.
    passages
        Those that were read; what in them speaks to a language model says nothing.
    reader
        Is asked a reading's question of each passage about the same thing in which its answer does not stand.
    """
    passages = [as_evidence(passage) for passage in passages]
    by_pid = {passage.pid: passage for passage in passages}
    cited = [(reading, by_pid[reading.pid]) for reading in readings if reading.pid in by_pid]
    known_words = frozenset(content_words(" ".join([question, *(reading.answer for reading in readings)])))

    def beside(home: Passage) -> list[Passage]:
        return [one for one in passages if one is not home and not _namesakes(question, home, one)]

    holders = {reading: holding(beside(home), reading.answer) for reading, home in cited}
    backed = {
        reading: [home, *(one for one in holders[reading] if _same_thing(question, home, one, known_words))]
        for reading, home in cited
    }

    def sources(reading: Interpretation) -> Sources:
        if reading not in backed:
            return Sources()
        home = by_pid[str(reading.pid)]
        other_passages = [one for one in beside(home) if one not in holders[reading] and not _one_document(one, home)]
        claims = [(other.answer, place) for other, place in cited if place in other_passages]
        unclaimed = [one for one in other_passages if all(one is not place for _, place in claims)]
        edits = {one.pid: edited(home, reading.answer, one) for one in other_passages}
        kind = answer_kind(reading.question)
        claims += [(edits[one.pid], one) for one in unclaimed if _answers(edits[one.pid], reading.question, kind)]
        near = [one for one in unclaimed if not edits[one.pid] and _may_be_same(question, home, one, known_words)]
        claims += _read(reading.question, near, reader)
        apart = [
            (answer, place)
            for answer, place in claims
            if not agree(answer, [reading.answer])
            and _are_hours(answer) == _are_hours(reading.answer)
            and not holding(backed[reading], answer)
            and (
                agree(edits[place.pid], [answer])
                or (
                    _same_thing(question, home, place, known_words | {*content_words(answer)})
                    and _same_statement(question, (reading.answer, home), (answer, place))
                )
            )
        ]
        # Who backs the other reading says otherwise, too, whether or not the reader finds it there.
        besides = [(other.answer, one) for other, _ in cited for one in backed[other] if one in other_passages]
        apart += [(answer, one) for answer, one in besides if any(agree(answer, [rival]) for rival, _ in apart)]
        return Sources(pids=_independent(backed[reading]), otherwise=_grouped(apart))

    return [sources(reading) for reading in readings]


def settled(readings: Sequence[Interpretation], sources: Sequence[Sources]) -> list[int]:
    """Return the places of the readings that stay: of those that disagree the best backed ones.

    Where as many sources say one thing as the other, nothing says who is right, and both stay.
    """
    stay = sorted(range(len(readings)), key=lambda place: -len(sources[place].pids))
    best_backed: list[int] = []
    for place in stay:
        better = [one for one in best_backed if len(sources[one].pids) > len(sources[place].pids)]
        rivals = [other for one in better for other in sources[one].otherwise]
        reading = readings[place]
        if not any(reading.pid in rival.pids and agree(reading.answer, [rival.answer]) for rival in rivals):
            best_backed.append(place)
    return sorted(best_backed)


def disagreements(
    readings: Sequence[Interpretation], sources: Sequence[Sources], numbers: Mapping[str, int] | None = None
) -> str:
    """Return the sentences that say where sources disagree, each disagreement once; nothing where they do not.

    Parameters
    ----------
    readings, sources
        See `compare_sources`.
    numbers
        Under which passages are cited, by id; without them the sentences have no marks.

    >>> reading = Interpretation(question="When did the mill open?", answer="1902", pid="a")
    >>> sources = Sources(pids=("a", "c"), otherwise=(Otherwise(answer="1885", pids=("b",)),))
    >>> print(disagreements([reading], [sources], {"a": 1, "b": 2, "c": 3}))
    Sources disagree on “When did the mill open?”: two of three say 1902 [1][3], one says 1885 [2].
    """
    disputes = [
        (reading, [(reading.answer, source.pids), *((other.answer, other.pids) for other in source.otherwise)])
        for reading, source in zip(readings, sources, strict=False)
        if source.otherwise
    ]
    lines, told_disputes = list[str](), list[tuple[set[str], list[str]]]()
    # The sides of one dispute may all be readings; the one that knows of most sources tells it.
    for reading, sides in sorted(disputes, key=lambda dispute: -sum(len(pids) for _, pids in dispute[1])):
        everybody, answers = [pid for _, pids in sides for pid in pids], [answer for answer, _ in sides]
        if not any(
            {*everybody} <= told_pids or all(agree(answer, told_answers) for answer in answers)
            for told_pids, told_answers in told_disputes
        ):
            told_disputes.append(({*everybody}, answers))
            first, *other_sides = (_side(answer, pids, numbers or {}) for answer, pids in sides)
            count, says = first.split(" ", 1)
            parts = ", ".join([f"{count} of {_count(len(everybody))} {says}", *other_sides])
            lines.append(f"Sources disagree on “{reading.question.strip()}”: {parts}.")
    return " ".join(lines)


def _side(answer: str, pids: Sequence[str], numbers: Mapping[str, int]) -> str:
    marks = "".join(f"[{number}]" for number in sorted(numbers[pid] for pid in pids if pid in numbers))
    says = f"{_count(len(pids))} {'says' if len(pids) == 1 else 'say'} {answer.strip().rstrip('.')}"
    return f"{says} {marks}" if marks else says


def _count(number: int) -> str:
    return COUNTS[number] if number < len(COUNTS) else str(number)


def _read(question: str, passages: Sequence[Passage], reader: SpanReader) -> list[_Claim]:
    """Return the answers that the reader finds, each with its passage."""
    kind = answer_kind(question)
    claims = []
    for passage, reading in zip(passages, reader.read([(question, one.text) for one in passages]), strict=True):
        if reading.spans and reading.spans[0].score - reading.null_score >= _MARGIN:
            answer = whole_answer(question, passage.text, reading.spans[0])
            if _answers(answer, question, kind):
                claims.append((answer, passage))
    return claims


def _answers(text: str, question: str, kind: AnswerKind) -> bool:
    return fits_kind(text, kind) and says_something(text, question) and len(text.split()) <= _LONGEST


def _grouped(claims: Sequence[_Claim]) -> tuple[Otherwise, ...]:
    """Return the answers, the best backed first; of a passage that gives several the first counts."""
    groups: dict[str, list[Passage]] = {}
    first: dict[str, _Claim] = {}
    for answer, passage in claims:
        first.setdefault(passage.pid, (answer, passage))
    for answer, passage in first.values():
        same = next((other for other in groups if agree(answer, [other])), answer)
        groups.setdefault(same, []).append(passage)
    otherwise = [Otherwise(answer=answer, pids=_independent(passages)) for answer, passages in groups.items()]
    return tuple(sorted(otherwise, key=lambda other: -len(other.pids)))


def _are_hours(answer: str) -> bool:
    """Return whether an answer is a time of day or of the week, which no date contradicts."""
    return bool(_HOURS.search(answer)) and not YEAR.search(answer)


def _independent(passages: Sequence[Passage]) -> tuple[str, ...]:
    """Return the ids of the passages of which none is a near-duplicate of an earlier one, or of its document."""
    first: list[Passage] = []
    for passage in passages:
        if not any(_one_document(passage, other) or are_copies(passage, other) for other in first):
            first.append(passage)
    return tuple(passage.pid for passage in first)


def _one_document(one: Passage, other: Passage) -> bool:
    source = one.metadata.get("source")
    return source is not None and source == other.metadata.get("source")


def _namesakes(question: str, one: Passage, other: Passage) -> bool:
    """Return whether two titles are those of namesakes: "Perth" and "Perth, Ontario", "Heron 1" and "Heron 2".

    So are reports of two years, and "Heron 1" and "Heron Mini" for a question about the Heron, if each text names its
    title: those of two documents about one thing, "Heron brochure" and "Heron manual", seldom stand in their texts. And
    so are sections of one name, "Oslo › Lunch" and "Lisbon › Lunch", unless both name the thing that is asked about, or
    stand in documents of two kinds, "Handbook › Lunch" and "Wiki › Lunch".
    """
    titles = (split_title(passage.title, commas=True) for passage in (one, other))
    (name, qualifier), (other_name, other_qualifier) = titles
    if name and normalize_words(name) == normalize_words(other_name):
        return normalize_words(qualifier) != normalize_words(other_qualifier)
    if one.title and _FIGURES.sub("", one.title) == _FIGURES.sub("", other.title):
        # "Document 1" and "Document 2" are about anything.
        return bool(YEAR.search(one.title)) or not {*content_words(one.title)}.isdisjoint(content_words(question))
    (section, place), (other_section, other_place) = (told_apart(passage.title) for passage in (one, other))
    if section == other_section and place != other_place:
        kinds = _KINDS & ({*content_words(place)} ^ {*content_words(other_place)})
        return not kinds and not _name_what_is_asked(question, one, other)
    named_in_texts = all(holds(passage.text, split_title(passage.title)[0]) for passage in (one, other))
    return named_in_texts and are_namesakes(question, one.title, other.title)


def _same_thing(question: str, one: Passage, other: Passage, known_words: frozenset[str]) -> bool:
    few, many = sorted((names_of(one) - known_words, names_of(other) - known_words), key=len)
    if not few:  # nothing tells them apart if both name what is asked about
        return _name_what_is_asked(question, one, other)
    return len(few & many) >= _SAME.get(answer_kind(question), _SAME_OTHERWISE) * len(few)


def _name_what_is_asked(question: str, *passages: Passage) -> bool:
    names = names_and_figures(question)
    return bool(names) and all(names <= {*content_words(passage.render())} for passage in passages)


def _same_statement(question: str, one: _Claim, other: _Claim) -> bool:
    """Return whether two passages tell their answers in the same sentence, but for the answers."""
    known_words = {*content_words(f"{question} {one[0]} {other[0]}")}
    few, many = sorted((_statement(*one) - known_words, _statement(*other) - known_words), key=len)
    return len(few & many) >= _SAME_STATEMENT * len(few)


def _statement(answer: str, passage: Passage) -> set[str]:
    """Return the words of the sentence that tells an answer: the one with most of its words."""
    answer_words = {*content_words(answer)}
    sentence_words = [{*content_words(sentence.text)} for sentence in sentences(passage.text)]
    return max(sentence_words, key=lambda words: len(words & answer_words), default=set())


def _may_be_same(question: str, one: Passage, other: Passage, known_words: frozenset[str]) -> bool:
    """Return whether two passages may be about the same thing, whatever the answer is: to read them costs most."""
    few, many = sorted((names_of(one) - known_words, names_of(other) - known_words), key=len)
    least = _SAME.get(answer_kind(question), _SAME_OTHERWISE) * (len(few) - _LONGEST)  # an answer takes its own words
    return bool(names_of(one) & names_of(other)) and len(few & many) >= least
