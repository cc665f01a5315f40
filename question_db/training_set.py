"""Training questions from a corpus: generated questions that fall together become one ambiguous question."""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from polyqa.embedded_models import Encoder, SpanReader
from polyqa.metrics.agreement import agree
from polyqa.metrics.exact_presence import exact_presence
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.text import normalize_answer, split_title
from polyqa.signatures import Passage, PolyqaError

from .families import base_names, without_qualifier
from .types import GeneratedQuestion

ALIKE = 0.9
_PLAIN_PER_AMBIGUOUS = 1.5
_HELD_OUT = 0.4
_PRONOUN = re.compile(r"^(?:(?:It|He|She|They)\b|(?:This|These)(?= (?:is|was|are|were)\b))")


def training_questions(
    generated: Sequence[GeneratedQuestion],
    passages: Sequence[Passage],
    *,
    encoder: Encoder,
    reader: SpanReader,
    seed: int = 0,
) -> list[Question]:
    """Return ambiguous questions with their readings, and plain ones beside them.

    Generated questions over passages that share a name fall together if they are the same without what
    tells the passages apart, or nearly so (cosine ≥ 0.9 with one question word and a common content word).
    With different answers they are the readings of one ambiguous question. The rest stay plain, with one
    reading, at most one and a half times as many as the ambiguous ones. A reading is dropped if the reader
    does not find its answer in the sentence that the reference answer has for it.

    Parameters
    ----------
    generated
        From `polyqa.question_db.generate_questions`.
    passages
        The corpus.
    encoder, reader
        Compare questions, and answer readings.
    seed
        Draws the plain questions.

    Returns
    -------
    list of Question
        Ambiguous ones first; each with one reference answer.
    """
    corpus = {passage.pid: passage for passage in passages}
    bases = base_names(passages)
    sharing = Counter(bases.values())
    families: dict[str, list[tuple[str, Reading]]] = {}
    plain: list[Reading] = []
    for one in generated:
        for answer, pid in zip(one.answers, one.pids, strict=True):
            reading = Reading(one.question, (answer,), pid)
            short = without_qualifier(one.question, corpus[pid].title, bases[pid])
            if short is None:
                plain.append(reading)
            elif sharing[bases[pid]] > 1 and split_title(corpus[pid].title, commas=True)[1] and short == one.question:
                continue  # revision could not add the qualifier: neither a reading nor plain
            else:
                families.setdefault(bases[pid], []).append((short, reading))
    ambiguous = []
    for base, members in families.items():
        for cluster in _clusters(members, encoder):
            question = _ambiguous(base, cluster, corpus, reader)
            if question is not None:
                ambiguous.append(question)
            else:
                plain += [reading for _, reading in cluster]
    ambiguous = list({normalize_answer(question.question): question for question in ambiguous}.values())
    taken = {
        normalize_answer(text) for own in ambiguous for text in (own.question, *(r.question for r in own.readings))
    }
    singles = _plain(plain, taken, corpus, reader)
    most = int(len(ambiguous) * _PLAIN_PER_AMBIGUOUS)
    drawn = set(random.Random(seed).sample(range(len(singles)), most)) if len(singles) > most else range(len(singles))
    return ambiguous + [question for at, question in enumerate(singles) if at in drawn]


def _clusters(members: Sequence[tuple[str, Reading]], encoder: Encoder) -> list[list[tuple[str, Reading]]]:
    """Group the questions of a family; each is compared with the first of every group."""
    texts = [short for short, _ in members]
    near = encoder.similarity(texts, texts)
    clusters: list[list[int]] = []
    for at, text in enumerate(texts):
        home = next(
            (
                own
                for own in clusters
                if normalize_answer(texts[own[0]]) == normalize_answer(text)
                or (near[at, own[0]] >= ALIKE and _same_matter(texts[own[0]], text))
            ),
            None,
        )
        if home is None:
            clusters.append([at])
        else:
            home.append(at)
    return [[members[at] for at in own] for own in clusters]


def _same_matter(one: str, other: str) -> bool:
    """Return whether two questions begin alike and share half of what they ask beside names.

    The encoder alone holds "When was it opened?" and "When was it closed?" to be the same.
    """
    left, right = (
        [word for word in re.findall(r"\b[a-z]{3,}\b", text) if word not in _FUNCTION_WORDS] for text in (one, other)
    )
    stems = [{word[:4] for word in words} for words in (left, right)]
    shared = len(stems[0] & stems[1])
    return one.split()[0] == other.split()[0] and 2 * shared >= min(len(stems[0]), len(stems[1])) > 0


_FUNCTION_WORDS = frozenset(
    {"was", "were", "did", "does", "the", "and", "for", "has", "have", "had", "are", "with", "what", "who"}
)


def _ambiguous(
    base: str, cluster: Sequence[tuple[str, Reading]], corpus: Mapping[str, Passage], reader: SpanReader
) -> Question | None:
    """Return the ambiguous question of a group; ``None`` if fewer than two readings tell different answers."""
    readings: dict[str, Reading] = {}
    for _, reading in cluster:
        told = normalize_answer(reading.question)
        if told not in readings and all(other.pid != reading.pid for other in readings.values()):
            readings[told] = reading
    text = min((short for short, _ in cluster), key=len)
    kept = _confirmed(list(readings.values()), corpus, reader)
    if len({normalize_answer(one.short_answers[0]) for one in kept}) < 2:
        return None
    titles = ", ".join(dict.fromkeys(corpus[one.pid or ""].title for one in kept))
    return Question(
        id=_id(text),
        question=text,
        readings=tuple(kept),
        long_answers=(long_answer(kept, corpus),),
        ambiguity="subject",
        reason=f"“{base}” may stand for {titles}.",
    )


def _plain(
    readings: Sequence[Reading], taken: set[str], corpus: Mapping[str, Passage], reader: SpanReader
) -> list[Question]:
    by_text: dict[str, list[Reading]] = {}
    for one in readings:
        by_text.setdefault(normalize_answer(one.question), []).append(one)
    found = []
    for text, own in by_text.items():
        answers = [reading.short_answers[0] for reading in own]
        if text in taken or not all(agree(answer, answers[:1]) for answer in answers):
            continue  # one wording, several answers, and nothing that tells them apart
        kept = _confirmed([Reading(own[0].question, tuple(dict.fromkeys(answers)), own[0].pid)], corpus, reader)
        if kept:
            found.append(
                Question(
                    id=_id(own[0].question),
                    question=own[0].question,
                    readings=tuple(kept),
                    long_answers=(long_answer(kept, corpus),),
                    ambiguity="none",
                    reason="The question names what it is about.",
                )
            )
    return found


def _confirmed(readings: Sequence[Reading], corpus: Mapping[str, Passage], reader: SpanReader) -> list[Reading]:
    """Return the readings whose answers the reader finds in their own part of the reference answer.

    Not in the whole of it: there a small reader takes one reading for another, and good questions would go.
    """
    found = reader.read([(reading.question, _sentence(reading, corpus[reading.pid or ""])) for reading in readings])
    return [
        reading
        for reading, own in zip(readings, found, strict=True)
        if (answer := own.answer()) and agree(answer, reading.short_answers)
    ]


def long_answer(readings: Sequence[Reading], corpus: Mapping[str, Passage]) -> str:
    """Return a reference answer: the sentences that hold the readings' answers, each understood by itself.

    A pronoun at a sentence's beginning, and "the bridge" for *Tower Bridge*, become the passage's title; a
    sentence that shares no word with the title names it first.
    """
    told = dict.fromkeys(_sentence(reading, corpus[reading.pid or ""]) for reading in readings)
    return " ".join(told)


def _sentence(reading: Reading, passage: Passage) -> str:
    from punkt import sent_tokenize

    parts = sent_tokenize(" ".join(passage.text.split()))
    holding = [part for part in parts if exact_presence(reading.short_answers, part)]
    asked = set(normalize_answer(reading.question).split())
    text = max(holding or parts, key=lambda part: len(asked & set(normalize_answer(part).split())))
    name, qualifier = split_title(passage.title, commas=True)
    last = re.escape(name.split()[-1].lower()) if name else "it"
    opening = _PRONOUN.match(text) or re.match(rf"^(?:The|This) {last}\b", text)
    if opening and name:
        return passage.title + text[opening.end() :]
    known = set(normalize_answer(text).split())
    said = name in text and (not qualifier or set(normalize_answer(qualifier).split()) & known)
    return text if said or not name else f"{passage.title}: {text}"


def _id(question: str) -> str:
    return "made-" + blake2b(normalize_answer(question).encode(), digest_size=6).hexdigest()


def pick_passages(passages: Sequence[Passage], limit: int, seed: int = 0) -> list[Passage]:
    """Return at most ``limit`` passages, families of a shared name first, as only they make ambiguous questions."""
    bases = base_names(passages)
    families: dict[str, list[str]] = {}
    for passage in passages:
        families.setdefault(bases[passage.pid] or passage.pid, []).append(passage.pid)
    drawn = list(families.values())
    random.Random(seed).shuffle(drawn)
    drawn.sort(key=lambda pids: len(pids) < 2)
    chosen = set([pid for pids in drawn for pid in pids][:limit])
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
    seed
        Draws.

    Raises
    ------
    PolyqaError
        If all questions hang together by their passages, so that there is nothing to split.
    """
    groups = _connected(questions)
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


def _connected(questions: Sequence[Question]) -> list[list[Question]]:
    home: dict[str, int] = {}
    groups: dict[int, list[Question]] = {}
    for number, question in enumerate(questions):
        pids = {reading.pid for reading in question.readings if reading.pid} or {f"question {question.id}"}
        joined = {home[pid] for pid in pids if pid in home}
        groups[number] = [one for at in sorted(joined) for one in groups.pop(at)] + [question]
        for pid, at in list(home.items()):
            if at in joined:
                home[pid] = number
        home |= dict.fromkeys(pids, number)
    return list(groups.values())
