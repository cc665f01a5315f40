"""How a reading is asked: the user's question with what tells its passage from the others."""

import re
from collections import Counter
from collections.abc import Sequence

from polyqa.metrics.text import (
    SECTION,
    STOPWORDS,
    content_words,
    holds,
    normalize_words,
    sentence_at,
    split_title,
    with_title,
)
from polyqa.models import Reader, Task, Writer

from .answer_kinds import answer_kind, years
from .evidence import Evidence, Models, same_answer
from .titles import names, placed, settle

_PHRASE = re.compile(
    r"\b(?:in|at|on|for|by|from|during|as|with)\s+(?:the\s+)?(?:[A-Z][\w’'-]*|\d{4})(?:\s+(?:of\s+(?:the\s+)?)?(?:[A-Z][\w’'-]*|\d{4}))*"
)
_OPENS = re.compile(
    r"(?:(?:in|on|at|for|to|from|by|of|with|during) )?(?:who|whom|whose|what|which|when|where|why|how|"
    r"is|are|was|were|do|does|did|has|have|had|can|could|will|would|name)\b",
    re.IGNORECASE,
)
_LONGEST = 30  # words
_STEM = 4  # letters that an inflected word shares with its other forms
_TWICE = re.compile(r"\b(\w+(?: \w+)*),? \1\b", re.IGNORECASE)
_DETAILS = 3
# Mean log-probabilities of the writer's tokens: below the first a wording is not shown, the second is what a title's
# qualifier is worth, the third what a wording has to be better by that only joins words of the passage.
_NATURAL = -1.0
_QUALIFIED = 0.4
_BESIDE = 0.3


def phrase(question: str, chosen: Sequence[Evidence], models: Models) -> list[tuple[Evidence, str]]:
    """Return evidence with the question that it answers.

    A lone reading keeps the question as it was asked. Of several the likeliest may keep it; the others name their
    difference, at least by the title of their passage.
    """
    candidates = wordings(question, chosen, models) if len(chosen) > 1 else [[]] * len(chosen)
    phrased: list[tuple[Evidence, str]] = []
    taken: set[str] = set()
    for evidence, texts in zip(chosen, candidates, strict=True):
        options = [*texts, question] if not phrased else [*texts, with_title(question, evidence.passage.title)]
        new = next((text for text in options if normalize_words(text) not in taken), question)
        taken |= {normalize_words(question), normalize_words(new)}
        phrased.append((evidence, new))
    return phrased


def wordings(question: str, chosen: Sequence[Evidence], models: Models) -> list[list[str]]:
    """Return for each evidence the questions that it answers, the best first; none where nothing settles the question.

    Sections of one name are told apart by where they stand, also those of documents of one title. Otherwise, what a
    title adds to a name that the user wrote as one says best what is meant. Where there is none, or a likelier reading
    has it already, the likeliest in the writer's eyes of all that is natural comes next: the title in the user's words,
    what the writer itself writes, times and places beside the answer.
    """
    titles = [one.passage.title for one in chosen]
    places = {placed(question, title) for title in titles}
    sections = Counter(section for section, _ in places if section)
    documents = Counter(split_title(title)[0] for title in set(titles) if SECTION in title)
    named: list[str | None] = []
    for title in titles:
        section, place = placed(question, title)
        name, qualifier = split_title(title)
        if qualifier and documents[name] > 1:
            named.append(with_title(question, qualifier))
        elif sections[section] > 1:
            named.append(with_title(question, place))
        else:
            named.append(settle(question, title) if names(question, title) else None)
    doubtful = [place for place, text in enumerate(named) if text is None or text in named[:place]]
    natural = dict(zip(doubtful, _natural(question, [chosen[place] for place in doubtful], models), strict=True))
    return [
        list(dict.fromkeys([*([text] if text else []), *natural.get(place, [])])) for place, text in enumerate(named)
    ]


def _natural(question: str, chosen: Sequence[Evidence], models: Models) -> list[list[str]]:
    """Return for each evidence what the writer holds to be natural, the likeliest first."""
    written = written_for(question, chosen, models.writer, models.reader)
    options: list[tuple[int, str, float]] = []
    for place, (one, new) in enumerate(zip(chosen, written, strict=True)):
        settled = settle(question, one.passage.title)
        bonus = _QUALIFIED if split_title(one.passage.title)[1] else 0.0
        options += [(place, settled, bonus)] if settled else []
        options += [(place, new, 0.0)] if new else []
        options += [(place, _with_detail(question, detail), -_BESIDE) for detail in _details(one, question)[:_DETAILS]]
    tasks = [_task(question, chosen[place]) for place, _, _ in options]
    likely = models.writer.likelihood(tasks, [text for _, text, _ in options])
    found: list[list[tuple[float, str]]] = [[] for _ in chosen]
    for (place, text, bonus), score in zip(options, likely, strict=True):
        if score + bonus >= _NATURAL:
            found[place].append((score + bonus, text))
    return [[text for _, text in sorted(own, key=lambda pair: -pair[0])] for own in found]


def written_for(question: str, chosen: Sequence[Evidence], writer: Writer, reader: Reader) -> list[str | None]:
    """Return for each evidence the question that the writer makes of the user's, if it is fit to be shown."""
    written = [
        one.question if is_fit(one.question, question, evidence.answer) else ""
        for one, evidence in zip(writer.write([_task(question, one) for one in chosen]), chosen, strict=True)
    ]
    read = reader.read(
        [(text, evidence.passage.text if text else "") for text, evidence in zip(written, chosen, strict=True)]
    )
    return [
        text if text and reading.spans and same_answer(reading.spans[0].text, evidence.answer) else None
        for text, reading, evidence in zip(written, read, chosen, strict=True)
    ]


def _task(question: str, one: Evidence) -> Task:
    return Task(one.passage.text, one.span.start, one.span.end, one.passage.title, question)


def is_fit(written: str, question: str, answer: str) -> bool:
    """Return whether a written question may be shown for a user's: well formed, all its words kept and others added.

    A word may be inflected; one that gives way to another may be the predicate: "born" is no reading of "buried".
    What repeats the user's words in another form is a stutter: "How long can I borrow a book be borrowed by adults?"

    >>> is_fit("When did the film Titanic come out?", "When did Titanic come out?", "1953")
    True
    >>> is_fit("When did the 1953 film Titanic come out?", "When did Titanic come out?", "1953")
    False
    """
    asked, made = _beginnings(question), _beginnings(written)
    again = any(count > 1 and count > asked[word] for word, count in made.items())
    return well_formed(written, answer, question) and asked.keys() < made.keys() and not again


def _beginnings(text: str) -> Counter[str]:
    return Counter(word[:_STEM] for word in content_words(text))


def well_formed(written: str, answer: str, known: str = "") -> bool:
    """Return whether a text is a question of usual length, without stutter, that does not tell its answer.

    What stands twice in what is known, such as the title, is no stutter but a name.

    >>> well_formed("Who built the bridge?", "1894"), well_formed("The bridge built by?", "1894")
    (True, False)
    >>> [well_formed("When did Duran Duran split?", "1985", known) for known in ("", "Duran Duran")]
    [False, True]
    """
    return (
        bool(_OPENS.match(written))
        and len(written.split()) <= _LONGEST
        and not holds(written, answer)
        and all(found[0] in known for found in _TWICE.finditer(written))
    )


def readings_of(question: str, evidence: Evidence) -> list[str]:
    """Return the question as rules settle it by the evidence's passage, in several ways; none if nothing does."""
    settled = settle(question, evidence.passage.title)
    detailed = [_with_detail(settled or question, detail) for detail in _details(evidence, question)]
    return [text for text in (settled, *detailed) if text]


def _details(evidence: Evidence, question: str) -> list[str]:
    """Return phrases of the answer's sentence that say when, where or by whom, nearest first.

    Where a time is asked for, none that tells one: "When did it open in 1996?"
    """
    sentence = sentence_at(evidence.passage.text, evidence.span.start)
    at = evidence.span.start - sentence.start
    asked = set(content_words(question))
    found = []
    for match in _PHRASE.finditer(sentence.text):
        text = match[0]
        tells_time = answer_kind(question) == "time" and bool(years(text))
        overlaps = tells_time or (match.start() < at + len(evidence.span.text) and match.end() > at)
        if (
            overlaps
            or _is_cut(sentence.text[match.end() :])
            or holds(text, evidence.answer)
            or set(content_words(text)) <= asked
        ):
            continue
        found.append((abs(match.start() - at), text))
    return [text for _, text in sorted(found)]


def _is_cut(after: str) -> bool:
    """Return whether a phrase goes on: "in the French" of "in the French colony", "at Béal" of "at Béal na Bláth"."""
    following = re.match(r"[ -]([a-z]+)", after)
    return following is not None and following[1] not in STOPWORDS


def _with_detail(question: str, detail: str) -> str:
    return f"{question.rstrip(' ?')} {detail}?"
