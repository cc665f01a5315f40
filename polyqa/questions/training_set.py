"""Training questions from a corpus: generated questions that fall together become one ambiguous question."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.metrics.agreement import agree
from polyqa.metrics.exact_presence import exact_presence
from polyqa.metrics.gold import Question, Reading, same_words
from polyqa.metrics.text import SECTION, names_title, normalize_answer, split_title
from polyqa.metrics.text import with_title as with_document
from polyqa.models import Encoder, SpanReader

from .families import Named, families, named, with_title, without_qualifier, without_time
from .namesakes import AskedOfNamesakes
from .quality import fault, mended
from .types import GeneratedQuestion

ALIKE = 0.9
_PLAIN = 200
_PLAIN_PER_AMBIGUOUS = 1.5
_UNCONFIRMED = "its answer is not found again in one sentence"
_ASKED = "is asked already"
_HELD_OUT = 0.4
_PRONOUN = re.compile(r"^(?:(?:It|He|She|They)\b|(?:This|These)(?= (?:is|was|are|were)\b))")


Trust = Callable[[Sequence[tuple[str, str, Passage]]], Sequence[float]]
"""Says of questions, each with its answer and passage, how far to trust them, in [0, 1]."""
TRUSTED = 0.62
"""How far the questions of the embedded engine are to be trusted: of those above it 78% were good and 12% wrong."""
_FEW = 40  # that are kept in any case: with fewer nothing can be told
_OF_ONE_TITLE = 2
_MOST_READ = 20  # passages of one name that are read for a question of one of them


@dataclass(frozen=True)
class Dropped:
    """A generated question that training does without, and why."""

    question: str
    answer: str
    pid: str
    why: str


@dataclass(frozen=True)
class TrainingSet:
    """What came of generated questions.

    Attributes
    ----------
    questions
        Ambiguous ones first; each with one reference answer.
    dropped
        The rest.
    families
        The shared names that were seen, each with the titles that share it.
    """

    questions: tuple[Question, ...]
    dropped: tuple[Dropped, ...]
    families: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def reasons(self) -> Counter[str]:
        """Why questions were dropped, without the words that a question has of its own; most frequent first."""
        counted = Counter(question.why.partition(":")[0] for question in self.dropped)
        return Counter(dict(counted.most_common()))


def training_questions(
    generated: Sequence[GeneratedQuestion],
    passages: Sequence[Passage],
    *,
    encoder: Encoder,
    reader: SpanReader,
    trust: Trust | None = None,
    trusted: float = TRUSTED,
    seed: int = 0,
    asked: Sequence[AskedOfNamesakes] = (),
    trust_read: Trust | None = None,
) -> TrainingSet:
    """Return ambiguous questions with their readings, and plain ones beside them.

    Questions that `quality.fault` finds something wrong with are dropped, and those that are trusted too little,
    beyond the forty most trusted ones, unless the same was asked of two namesakes. Of the rest, those fall together
    that

    - are asked of passages that share a name (`families`), and are the same without what tells the passages apart, or
      nearly so (cosine ≥ 0.9 with one question word and a common content word),
    - are the same, without the name that their passages share (*Contract (Acme) › Fees*, *Contract (Globex) › Fees*),
    - or are the same but for a time (see `families`).

    Of the passages that share a name, those that a question was not made of are read, too: what the reader answers
    there is another reading. With different answers they are the readings of one ambiguous question. What falls
    together with nothing stays plain, with one reading: all of them up to 200, and beyond that one and a half times as
    many as there are ambiguous ones. A reading is dropped if the reader does not find its answer in the sentence that
    the reference answer has for it.

    Parameters
    ----------
    generated
        From `polyqa.questions.generate_questions`.
    passages
        The corpus.
    encoder, reader
        Compare questions, and answer readings.
    trust
        Says of questions with their answers and passages how far to trust them, such as
        `polyqa.extractive.ExtractiveEngine.trust` of those that it made; all are trusted if not given.
    trusted
        The least trust that is enough, in [0, 1].
    seed
        Draws the plain questions.
    asked
        What a language model asked of namesakes, from `polyqa.questions.namesakes.ask_namesakes`.
    trust_read
        As ``trust``, of what the reader answers in passages that nothing was asked of, which must be `TRUSTED`; these
        are not read if neither is given.
    """
    corpus = {passage.pid: passage for passage in passages}
    builder = _Builder(corpus, encoder, reader, named(passages), trust_read or trust)
    readings = builder.good(generated)
    if trust is not None:
        builder.doubt(readings, trust, trusted)
    remaining = builder.group_by_name(readings, asked)
    remaining = builder.group_by_words(builder.trusted(remaining))
    remaining = builder.group_by_time(remaining)
    return builder.finished(remaining, seed)


class _Builder:
    """Makes a training set, and notes what it drops."""

    def __init__(
        self,
        corpus: Mapping[str, Passage],
        encoder: Encoder,
        reader: SpanReader,
        about: Mapping[str, Named],
        trust_read: Trust | None,
    ) -> None:
        self._corpus, self._encoder, self._reader = corpus, encoder, reader
        self._about, self._trust_read = about, trust_read
        self._doubtful: set[Reading] = set()
        self._members: dict[tuple[str, str], list[Passage]] = {}
        for passage in corpus.values():
            self._members.setdefault(about[passage.pid].family, []).append(passage)
        self._ambiguous: dict[str, Question] = {}
        self._dropped: list[Dropped] = []

    def _drop(self, why: str, *readings: Reading) -> None:
        self._dropped += [
            Dropped(reading.question, reading.short_answers[0], reading.pid or "", why) for reading in readings
        ]

    def _passage(self, reading: Reading) -> Passage:
        return self._corpus[reading.pid or ""]

    def _question(self, text: str, readings: Sequence[Reading], ambiguity: str, reason: str) -> Question:
        return Question(
            id="made-" + blake2b(normalize_answer(text).encode(), digest_size=6).hexdigest(),
            question=text,
            readings=tuple(readings),
            long_answers=(long_answer(readings, self._corpus),),
            ambiguity=ambiguity,
            reason=reason,
        )

    def good(self, generated: Sequence[GeneratedQuestion]) -> list[Reading]:
        """Return the questions that nothing is wrong with."""
        good = []
        for question in generated:
            text = mended(question.question)
            for answer, pid in zip(question.answers, question.pids, strict=True):
                reading = Reading(text, (answer,), pid)
                if why := fault(text, answer, self._corpus[pid]):
                    self._drop(why, reading)
                else:
                    good.append(reading)
        return good

    def doubt(self, readings: Sequence[Reading], trust: Trust, trusted: float) -> None:
        """Note which questions are not trusted; the best are, so that there are some to train with."""
        values = self._judged(readings, trust)
        threshold = min([trusted, *sorted(values, reverse=True)[:_FEW][-1:]])
        self._doubtful = {reading for reading, value in zip(readings, values, strict=True) if value < threshold}

    def _judged(self, readings: Sequence[Reading], trust: Trust) -> Sequence[float]:
        return trust([(reading.question, reading.short_answers[0], self._passage(reading)) for reading in readings])

    def trusted(self, readings: Sequence[Reading]) -> list[Reading]:
        """Return the questions that are trusted; drop the others."""
        self._drop("the model that asked it does not trust it", *(one for one in readings if one in self._doubtful))
        return [one for one in readings if one not in self._doubtful]

    def group_by_name(
        self, readings: Sequence[Reading], namesake_questions: Sequence[AskedOfNamesakes] = ()
    ) -> list[Reading]:
        """Make ambiguous questions of passages that share a name; return the questions that are left."""
        by_family: dict[tuple[str, str], list[tuple[str, Reading]]] = {}
        for question in namesake_questions:
            members = by_family.setdefault(self._about[question.answers[0][1]].family, [])
            members.extend((question.question, reading) for reading in self._readings_of(question))
        remaining: list[Reading] = []
        for reading in readings:
            if (member := self._named(reading)) is None:
                remaining.append(reading)
            else:
                by_family.setdefault(self._about[reading.pid or ""].family, []).append(member)
        for family, members in by_family.items():
            for cluster in _clusters(members, self._encoder):
                same = Counter(normalize_answer(short) for short, _ in cluster)
                # What the model asked of two namesakes is no slip.
                usable = {
                    reading: short
                    for short, reading in cluster
                    if reading not in self._doubtful or same[normalize_answer(short)] > 1
                }
                text = min(usable.values(), key=len, default="")
                about = self._of_distinct_titles(list(usable))
                about += self._read_further(text, about, family)
                if self._add_ambiguous(text, about, "subject", family[0]):
                    self._drop(_ASKED, *self.trusted([reading for _, reading in cluster if reading not in about]))
                else:
                    remaining += [reading for _, reading in cluster]
        return remaining

    def _named(self, reading: Reading) -> tuple[str, Reading] | None:
        """Return a question with the shared name in place of its title, and the reading that has the title.

        What has the shared name alone is about the thing of its passage. ``None`` if it has neither.
        """
        about = self._about[reading.pid or ""]
        title, base = about.title, about.base
        if not base:
            return None
        short = without_qualifier(reading.question, title, base)
        bare = len(self._members[about.family]) > 1 and short in (None, reading.question)
        if bare:  # without its article "sick leave" may be a part of another name: "advanced sick leave"
            short = reading.question if base in reading.question and with_title(reading.question, title, base) else None
        if short is None:
            return None
        text = with_title(short, title, base) or short
        if bare or text.casefold() == reading.question.casefold():  # "the office in Oslo" for "the Office in Oslo"
            explicit = replace(reading, question=text)
            if reading in self._doubtful:
                self._doubtful.add(explicit)
            reading = explicit
        return short, reading

    def _readings_of(self, question: AskedOfNamesakes) -> Iterator[Reading]:
        """Yield the readings of a question that a language model asked of namesakes, if nothing is wrong with them."""
        for answer, pid in question.answers:
            passage, about = self._corpus[pid], self._about[pid]
            text = with_title(question.question, about.title, about.base) or question.question
            reading = Reading(text, (answer,), pid)
            if why := fault(reading.question, answer, passage):
                self._drop(why, reading)
            else:
                yield reading

    def _read_further(self, text: str, readings: Sequence[Reading], family: tuple[str, str]) -> list[Reading]:
        """Return readings about the namesakes that none is about: what the reader answers in their passages."""
        members = self._members[family]
        if self._trust_read is None or not readings or not 1 < len(members) <= _MOST_READ:
            return []
        covered_titles = {self._passage(reading).title for reading in readings}
        unread = [passage for passage in members if passage.title not in covered_titles]
        questions = [(with_title(text, self._about[passage.pid].title, family[0]), passage) for passage in unread]
        pairs = [(question, passage) for question, passage in questions if question is not None]
        read = self._reader.read([(question, passage.text) for question, passage in pairs])
        candidates = [
            Reading(question, (answer,), passage.pid)
            for (question, passage), prediction in zip(pairs, read, strict=True)
            if (answer := prediction.answer(self._reader.null_threshold)) and not fault(question, answer, passage)
        ]
        values = self._judged(candidates, self._trust_read)
        good = [reading for reading, value in zip(candidates, values, strict=True) if value >= TRUSTED]
        return self._of_distinct_titles(good)

    def _of_distinct_titles(self, readings: Sequence[Reading]) -> list[Reading]:
        """Return the first question about each thing, and of those that read the same the first."""
        by_text = {normalize_answer(reading.question): reading for reading in reversed(readings)}
        by_title = {self._passage(reading).title: reading for reading in by_text.values()}
        return [reading for reading in dict.fromkeys(readings) if reading in by_title.values()]

    def group_by_words(self, readings: Sequence[Reading]) -> list[Reading]:
        """Make ambiguous questions of those asked in the same words of passages of one name; return what is left."""
        groups: dict[tuple[str, tuple[str, str]], list[Reading]] = {}
        for one in readings:
            groups.setdefault((normalize_answer(one.question), self._about[one.pid or ""].family), []).append(one)
        remaining = []
        for (_, (base, _)), group in groups.items():
            titles = [self._passage(one).title for one in group]
            explicit = [
                replace(one, question=with_document(one.question, title, titles))
                for one, title in zip(group, titles, strict=True)
            ]
            about = self._of_distinct_titles(explicit)
            if self._add_ambiguous(group[0].question, about, "subject", base):
                self._drop(_ASKED, *(one for one in explicit if one not in about))
            else:
                remaining += group
        return remaining

    def group_by_time(self, readings: Sequence[Reading]) -> list[Reading]:
        """Make ambiguous questions of those that differ in a time; return the questions that are left."""
        groups: dict[str, dict[str, tuple[str, Reading]]] = {}
        for reading in readings:
            if parts := without_time(reading.question):
                text, cut = parts
                groups.setdefault(normalize_answer(text), {}).setdefault(normalize_answer(cut), (text, reading))
        remaining = list(readings)
        for group in groups.values():
            text, alike = next(iter(group.values()))[0], [reading for _, reading in group.values()]
            if len(alike) > 1 and self._add_ambiguous(text, alike, "time", ""):
                remaining = [reading for reading in remaining if reading not in alike]
        return remaining

    def _add_ambiguous(self, text: str, readings: list[Reading], kind: str, base: str) -> bool:
        """Make an ambiguous question of its readings, if they have two answers that the reader confirms."""
        confirmed = _confirmed(readings, self._corpus, self._reader)
        if len({normalize_answer(reading.short_answers[0]) for reading in confirmed}) < 2:
            return False
        key = normalize_answer(text)
        if key in self._ambiguous or any(_same_readings(confirmed, one.readings) for one in self._ambiguous.values()):
            self._drop("asks what another ambiguous question asks", *readings)
            return True
        self._drop(_UNCONFIRMED, *(reading for reading in readings if reading not in confirmed))
        titles = ", ".join(dict.fromkeys(self._passage(reading).title for reading in confirmed))
        reason = f"“{base}” may stand for {titles}." if kind == "subject" else "It does not say for which time."
        self._ambiguous[key] = self._question(text, confirmed, kind, reason)
        return True

    def finished(self, plain: Sequence[Reading], seed: int) -> TrainingSet:
        """Return all questions; the plain ones are drawn if there are too many."""
        ambiguous = list(self._ambiguous.values())
        singles = self._plain(plain)
        limit = max(_PLAIN, int(len(ambiguous) * _PLAIN_PER_AMBIGUOUS))
        drawn = set(random.Random(seed).sample(range(len(singles)), min(limit, len(singles))))
        spare = [question.readings[0] for at, question in enumerate(singles) if at not in drawn]
        self._drop("there are plain questions enough", *spare)
        questions = (*ambiguous, *(question for at, question in enumerate(singles) if at in drawn))
        return TrainingSet(questions, tuple(self._dropped), families([*self._corpus.values()], self._about))

    def _plain(self, readings: Sequence[Reading]) -> list[Question]:
        ambiguous = self._ambiguous.values()
        texts = (
            text
            for question in ambiguous
            for text in (question.question, *(reading.question for reading in question.readings))
        )
        taken = set(map(normalize_answer, texts))
        by_text: dict[str, list[Reading]] = {}
        for reading in readings:
            by_text.setdefault(normalize_answer(reading.question), []).append(reading)
        plain = []
        for text, group in by_text.items():
            answers = [reading.short_answers[0] for reading in group]
            merged = Reading(group[0].question, tuple(dict.fromkeys(answers)), group[0].pid)
            if text in taken:
                self._drop(_ASKED, *group)
            elif not all(agree(answer, answers[:1]) for answer in answers):
                self._drop("has several answers, and nothing that tells them apart", *group)
            elif not _confirmed([merged], self._corpus, self._reader):
                self._drop(_UNCONFIRMED, *group)
            else:
                reason = "The question names what it is about."
                plain.append(self._question(merged.question, [merged], "none", reason))
        return plain


def _clusters(members: Sequence[tuple[str, Reading]], encoder: Encoder) -> list[list[tuple[str, Reading]]]:
    """Group the questions of a family; each is compared with the first of every group."""
    texts = list(dict.fromkeys(short for short, _ in members))  # contracts of one form are asked the same by hundreds
    near = encoder.similarity(texts, texts)

    def alike(first: int, at: int) -> bool:
        same = normalize_answer(texts[first]) == normalize_answer(texts[at])
        return same or (near[at, first] >= ALIKE and _same_matter(texts[first], texts[at]))

    firsts: dict[str, int] = {}
    clusters: dict[int, list[tuple[str, Reading]]] = {}
    for at, text in enumerate(texts):
        firsts[text] = next((first for first in clusters if alike(first, at)), at)
        clusters.setdefault(firsts[text], [])
    for member in members:
        clusters[firsts[member[0]]].append(member)
    return [*clusters.values()]


def _same_matter(question: str, other: str) -> bool:
    """Return whether two questions begin alike and share half of what they ask beside names.

    The encoder alone holds "When was it opened?" and "When was it closed?" to be the same.
    """
    left, right = (
        [word for word in re.findall(r"\b[a-z]{3,}\b", text) if word not in _FUNCTION_WORDS]
        for text in (question, other)
    )
    stems = [{word[:4] for word in words} for words in (left, right)]
    shared = len(stems[0] & stems[1])
    return question.split()[0] == other.split()[0] and 2 * shared >= min(len(stems[0]), len(stems[1])) > 0


def _same_readings(readings: Sequence[Reading], other_readings: Sequence[Reading]) -> bool:
    """Return whether two questions have the same answers from the same passages."""
    answers_by_pid = {reading.pid: reading.short_answers for reading in other_readings}
    return len(readings) == len(other_readings) and all(
        reading.pid in answers_by_pid and agree(reading.short_answers[0], answers_by_pid[reading.pid])
        for reading in readings
    )


_FUNCTION_WORDS = frozenset(
    {"was", "were", "did", "does", "the", "and", "for", "has", "have", "had", "are", "with", "what", "who"}
)


def _confirmed(readings: Sequence[Reading], corpus: Mapping[str, Passage], reader: SpanReader) -> list[Reading]:
    """Return the readings whose answers the reader finds in their own part of the reference answer.

    Not in the whole of it: there a small reader takes one reading for another, and good questions would go.
    """
    sentences = _sentences(readings, corpus)
    readers = reader.read([(reading.question, text) for reading, text in zip(readings, sentences, strict=True)])
    return [
        reading
        for reading, read in zip(readings, readers, strict=True)
        if (answer := read.answer()) and agree(answer, reading.short_answers)
    ]


def long_answer(readings: Sequence[Reading], corpus: Mapping[str, Passage]) -> str:
    """Return a reference answer: the sentences that hold the readings' answers, each understood by itself.

    A pronoun at a sentence's beginning, and "the bridge" for *Tower Bridge*, become the passage's title; a
    sentence that shares no word with the title names it first. Of a section it need only name the heading, or the
    document, that no other passage of the readings has.
    """
    return " ".join(dict.fromkeys(_sentences(readings, corpus)))


def _sentences(readings: Sequence[Reading], corpus: Mapping[str, Passage]) -> list[str]:
    passages = [corpus[reading.pid or ""] for reading in readings]
    titles = [passage.title for passage in passages]
    return [_sentence(reading, passage, titles) for reading, passage in zip(readings, passages, strict=True)]


def _sentence(reading: Reading, passage: Passage, titles: Sequence[str]) -> str:
    from punkt import sent_tokenize

    parts = sent_tokenize(" ".join(passage.text.split()))
    holding = [part for part in parts if exact_presence(reading.short_answers, part)]
    question_words = set(normalize_answer(reading.question).split())
    text = max(holding or parts, key=lambda part: len(question_words & set(normalize_answer(part).split())))
    if SECTION in passage.title:
        return text if names_title(text, passage.title, titles) else f"{passage.title}: {text}"
    name, qualifier = split_title(passage.title, commas=True)
    last = re.escape(name.split()[-1].lower()) if name else "it"
    opening = _PRONOUN.match(text) or re.match(rf"^(?:The|This) {last}\b", text)
    if opening and name:
        return passage.title + text[opening.end() :]
    sentence_words = set(normalize_answer(text).split())
    is_named = name in text and (not qualifier or set(normalize_answer(qualifier).split()) & sentence_words)
    return text if is_named or not name else f"{passage.title}: {text}"


def pick_passages(passages: Sequence[Passage], limit: int, seed: int = 0) -> list[Passage]:
    """Return at most ``limit`` passages, families of a shared name first, as only they make ambiguous questions.

    Of what has one title, such as a long section, the third passage and those after it come last.
    """
    about = named(passages)
    by_family: dict[tuple[str, str], dict[str, list[str]]] = {}
    for passage in passages:
        one = about[passage.pid]
        titles = by_family.setdefault(one.family if one.base else (passage.pid, ""), {})
        titles.setdefault(passage.title, []).append(passage.pid)
    drawn = list(by_family.values())
    random.Random(seed).shuffle(drawn)
    drawn.sort(key=lambda titles: len(titles) < 2)
    by_title = [pids for titles in drawn for pids in titles.values()]
    first = [pid for pids in by_title for pid in pids[:_OF_ONE_TITLE]]
    last = [pid for pids in by_title for pid in pids[_OF_ONE_TITLE:]]
    chosen = set([*first, *last][:limit])
    return [passage for passage in passages if passage.pid in chosen]


def split_questions(
    questions: Sequence[Question], share: float = _HELD_OUT, seed: int = 0
) -> tuple[list[Question], list[Question]]:
    """Split questions in two; those about the same passages stay on one side.

    Parameters
    ----------
    questions
        Where the data set does not name passages, every question stands for itself.
    share
        Of the questions that the second part gets, roughly; both parts get one at least.

    Raises
    ------
    PolyqaError
        If all questions hang together by their passages, so that there is nothing to split.
    """
    groups = connected(questions)
    random.Random(seed).shuffle(groups)
    if len(groups) < 2:
        raise PolyqaError(f"{len(questions)} questions about the same passages cannot be split; give more questions.")
    second: set[str] = set()
    for number, group in enumerate(groups, 1):
        fits = len(second) + len(group) <= share * len(questions)
        if fits or (not second and number == len(groups)):
            second |= {question.id for question in group}
    return (
        [question for question in questions if question.id not in second],
        [question for question in questions if question.id in second],
    )


def connected(questions: Sequence[Question]) -> list[list[Question]]:
    """Return the parts that questions can be split into, where those about the same passages stay together."""
    import networkx

    graph = networkx.Graph()
    for number, question in enumerate(questions):
        pids = {reading.pid for reading in question.readings if reading.pid} or {f"question {question.id}"}
        graph.add_edges_from((number, name) for name in (*pids, f"words {same_words(question.question)}"))
    parts = ([node for node in part if isinstance(node, int)] for part in networkx.connected_components(graph))
    return [[questions[number] for number in sorted(part)] for part in sorted(parts, key=max)]
