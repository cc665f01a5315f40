"""Long-form answers composed from the sentences that hold the evidence, and what makes passages fit to be quoted."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

from polyqa.base.values import Interpretation
from polyqa.metrics.text import Sentence, content_words, holds, normalize_words, sentence_at, sentences, split_title
from polyqa.replies import parse_interpretations

from .demos import CHANCE
from .evidence import Models, distinct, gather, telling
from .prompt import Prompt, PromptPassage
from .readings import extract_interpretations
from .titles import stands_for_title

_USUAL_LENGTH = 85  # words
_WORTH_A_SENTENCE = 0.05  # support of an answer that is not told as a reading
_SPREAD = 0.5  # standard deviation of the logarithm of a long answer's words, as in ASQA
_PRONOUN = re.compile(
    r"(?P<it>It|He|She|They|This|These|The (?:film|song|album|book|novel|series|game|city|ship|band|show))\b"
)
_POSSESSIVE = re.compile(r"(?P<it>Its|His|Her|Their)(?= [a-z])")
_OWNERS = {"its": "it", "his": "he", "her": "she", "their": "they"}
_BEHIND = re.compile(
    r"(?:There|In|On|At|By|From|After|Before|During|Until|For|Later|Then|Only)\b"
    r"[^.;:]{0,60}?[ ,](?P<it>he|she|it|they) "
)
_POINTS = re.compile(r"\b(?:it|its|he|him|his|she|her|they|them|their)\b", re.IGNORECASE)
_WORKS = re.compile(
    r"films?|novel|book|play|poem|opera|musical|song|album|band|(?:mini)?series|game|painting|ship|spacecraft|planet|star|"
    r"state|city|town|river|lake|island|mountain|coin|magazine|newspaper|ballet|sculpture"
)
_HEADING = re.compile(r"(?<!=)(={2,6})(?!=)[^=]{1,80}\1(?!=)")
# What is left of "(; born 1950)" or "(, lit. old town)" when a pronunciation or a foreign script was dropped.
_EMPTY_BRACKETS = re.compile(r"\([\s;,:'’]*\)")
_OPENED_BY_MARKS = re.compile(r"\((?:\s*[;,:])+\s*")
_REPEATS = 10  # words
_COUNTS = ("no", "one", "two", "three", "four", "five", "six")


def compose_answer(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answer``.

    For each reading the sentence of its passage that holds the answer and is nearest to the reading
    is taken; a leading pronoun is replaced by the passage's title. An opening says what the answer
    depends on where there are several readings, and more sentences of the same passages fill up to the usual length:
    85 words, or the mean length of the demos' answers where n of them differ from that by more than chance would
    have it, a factor of exp(1.28 · 0.5 / √n): 1.9 for one demo, 1.33 for five. Clauses name another length, have the
    passages quoted word for word, or the readings stated and nothing else told.
    """
    question, passages, clauses = prompt.question, [tidy(passage) for passage in prompt.passages()], prompt.clauses
    readings = parse_interpretations(prompt.inputs.get("interpretations", ""))
    if clauses.manner == "state" and readings:
        return {"answer": " ".join(map(statement, readings[: clauses.sentences]))}
    if clauses.manner == "quote" and readings:
        quoted = [_quoted(reading, passages, models) for reading in readings]
        return {"answer": " ".join(list(dict.fromkeys(quoted))[: clauses.sentences])}
    budget = clauses.words or _usual_length(prompt)
    chosen: list[tuple[PromptPassage | None, str]] = []
    for reading in readings:
        where, text = tell(reading, passages, models, named=len(readings) > 1)
        if not any(normalize_words(text) == normalize_words(other) for _, other in chosen):
            chosen.append((where, text))
    if not readings:
        return {"answer": _nothing_found(question, passages)}
    cited = [passage for passage, _ in chosen if passage is not None]
    opening = [] if len(readings) == 1 else [opening_of(readings, cited)]
    filled = _fill(question, passages, opening, chosen, budget, models)
    if len(opening) + len(filled) < 3:
        filled = [*filled, *map(statement, readings)][: max(3, len(chosen))]
    # An opening without what it opens says nothing.
    parts = [*opening, *filled] if clauses.sentences is None or clauses.sentences > len(opening) else filled
    return {"answer": " ".join(parts[: clauses.sentences])}


def clarify(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``interpretations`` and ``answer``: what two calls would fill that show the same demos."""
    extracted = extract_interpretations(prompt, models)
    shown = json.dumps(extracted["interpretations"], ensure_ascii=False)
    return {**extracted, **compose_answer(replace(prompt, inputs={**prompt.inputs, "interpretations": shown}), models)}


def _quoted(reading: Interpretation, passages: Sequence[PromptPassage], models: Models) -> str:
    """Return the sentence that answers a reading word for word; where none does, the reading itself."""
    passage, sentence = _evidence(reading, passages, models)
    if passage is None or sentence is None:
        return statement(reading)
    return f"{passage.title}: “{sentence.text}”" if passage.title else f"“{sentence.text}”"


def _usual_length(prompt: Prompt) -> float:
    lengths = [len(demo.outputs["answer"].split()) for demo in prompt.demos if demo.outputs.get("answer")]
    if not any(lengths):
        return _USUAL_LENGTH
    shown = mean(lengths)
    clearly_other = abs(math.log(shown / _USUAL_LENGTH)) > CHANCE * _SPREAD / math.sqrt(len(lengths))
    return shown if clearly_other else _USUAL_LENGTH


def tell(
    reading: Interpretation, passages: Sequence[PromptPassage], models: Models, *, named: bool
) -> tuple[PromptPassage | None, str]:
    """Return the sentence that answers a reading, understandable on its own, with its passage.

    ``named`` says whether it must tell its subject from namesakes. Where no sentence holds the answer, the
    reading itself is stated, and there is no passage.
    """
    where, sentence = _evidence(reading, passages, models)
    return where, _self_contained(sentence, where, named=named, first=True) if sentence else statement(reading)


def _evidence(
    reading: Interpretation, passages: Sequence[PromptPassage], models: Models
) -> tuple[PromptPassage | None, Sentence | None]:
    cited = [passage for passage in passages if str(passage.number) == reading.pid]
    for pool in (cited, passages):
        options = [
            (passage, sentence)
            for passage in pool
            for sentence in sentences(passage.text)
            if holds(sentence.text, reading.answer)
        ]
        if options:
            texts = [f"{passage.title} {sentence.text}" for passage, sentence in options]
            nearest = int(models.encoder.similarity([reading.question], texts)[0].argmax())
            return options[nearest]
    return None, None


def _self_contained(
    sentence: Sentence, passage: PromptPassage | None, *, named: bool = False, first: bool = False
) -> str:
    """Return a sentence that says what it is about: the title takes the place of a pronoun, or stands before it.

    ``named`` says whether it must tell its subject from namesakes, ``first`` whether nothing before it names it.
    """
    text = sentence.text
    title = passage.title if passage else ""
    name, qualifier = split_title(title)
    full = title if named else name
    if not name or passage is None:
        return _end(text)
    if not holds(text, name) and (subject := _with_subject(text, full, passage)):
        return _end(subject)
    if named and qualifier and name in text and not set(content_words(qualifier)) <= set(content_words(text)):
        return _end(text.replace(name, title, 1))
    dark = named or (first and _POINTS.search(text))
    if dark and not set(content_words(name)) & set(content_words(text)):
        return _end(f"{full}: {text}")
    return _end(text)


def _with_subject(text: str, name: str, passage: PromptPassage) -> str:
    """Put a name where a sentence has a pronoun that stands for it: first, or behind what is said of time and place.

    ``He won`` and ``In 1912 he won`` become ``Ann Lee won`` and ``In 1912 Ann Lee won``, ``Its roof fell`` becomes
    ``Old Hall's roof fell``. Where there is none the text is empty.
    """
    shown = _in_prose(name)
    own = "" if "(" in shown else f"{shown}’" if shown.endswith("s") else f"{shown}’s"
    for pattern, new in ((_PRONOUN, shown), (_POSSESSIVE, own), (_BEHIND, shown)):
        found = pattern.match(text)
        pronoun = _OWNERS.get(found["it"].lower(), found["it"]) if found else ""
        if found and new and stands_for_title(pronoun, passage):
            before = text[: found.start("it")]
            return before + (new if before else new[:1].upper() + new[1:]) + text[found.end("it") :]
    return ""


def _in_prose(title: str) -> str:
    """Return a title as a sentence names it: "the 1953 film Titanic" for *Titanic (1953 film)*."""
    name, qualifier = split_title(title)
    works = qualifier and _WORKS.fullmatch(qualifier.split()[-1]) and "," not in qualifier
    return f"the {qualifier} {name}" if works else title


def statement(reading: Interpretation) -> str:
    """Return a reading and its answer as a sentence."""
    return f"To the question “{reading.question.strip()}” the answer is {reading.answer.strip().rstrip('.')}."


def _end(text: str) -> str:
    text = text.strip().rstrip(",;:")
    return text if re.search(r"[.!?][\"”’')\]]*$", text) else f"{text}."


def opening_of(readings: Sequence[Interpretation], cited: Sequence[PromptPassage]) -> str:
    """Return the sentence that says what the answer depends on.

    Namesakes are told by what their titles add to the name, other passages by their titles; where all readings cite
    one passage, or one is not to be found in any, only how many there are is said.

    Parameters
    ----------
    cited
        The passages that the readings cite.
    """
    titles = list(dict.fromkeys(passage.title for passage in cited if passage.title))
    if len(titles) < 2 or len(titles) < len(readings):
        count = _COUNTS[len(readings)] if len(readings) < len(_COUNTS) else str(len(readings))
        return f"The question can be read in {count} ways."
    names, qualifiers = zip(*map(split_title, titles), strict=True)
    if len(set(names)) == 1 and all(qualifiers):
        return f"{names[0]} can mean {_listed([_with_article(one) for one in qualifiers])}."
    return f"The answer depends on what is meant: {_listed(list(map(_in_prose, titles)))}."


def _with_article(qualifier: str) -> str:
    kind, _, more = qualifier.partition(", ")
    told = f"the {kind}" if kind.split()[-1].islower() else kind
    return f"{told} ({more})" if more else told


def _listed(items: Sequence[str]) -> str:
    return " or ".join([", ".join(items[:-1]), items[-1]])


def _fill(
    question: str,
    passages: Sequence[PromptPassage],
    opening: Sequence[str],
    chosen: Sequence[tuple[PromptPassage | None, str]],
    budget: float,
    models: Models,
) -> list[str]:
    """Return the evidence with more sentences, up to the budget.

    First come those of any passage that hold another answer, the best supported first: what is not sure enough to be
    told as a reading may still be what was asked for. Then those of the cited passages, the nearest to the question
    first.
    """
    length = sum(len(text.split()) for text in (*opening, *(text for _, text in chosen)))
    used = {normalize_words(text) for _, text in chosen}
    extras: dict[int, list[str]] = {}
    cited = {passage.number: passage for passage, _ in chosen if passage is not None}
    beside = _beside(question, passages, [text for _, text in chosen], models)
    for number, text in [*beside, *_nearest(question, list(cited.values()), models)]:
        normal = normalize_words(text)
        fits = length + len(text.split()) <= budget
        wanted = fits or len(opening) + len(chosen) + sum(map(len, extras.values())) < 3
        if wanted and not any(normal in told or told in normal for told in used):
            extras.setdefault(number, []).append(text)
            used.add(normal)
            length += len(text.split())
    result: list[str] = []
    for passage, text in chosen:
        result.append(text)
        if passage is not None:
            result.extend(extras.pop(passage.number, []))
    return [*result, *(text for own in extras.values() for text in own)]


def _beside(
    question: str, passages: Sequence[PromptPassage], told: Sequence[str], models: Models
) -> list[tuple[int, str]]:
    """Return the sentences with answers that are not told, the best supported first, with their passages' numbers."""
    found = [
        one
        for one in distinct(telling(question, gather(question, passages, models)))
        if one.support >= _WORTH_A_SENTENCE and not any(holds(text, one.answer) for text in told)
    ]
    return [
        (one.passage.number, _self_contained(sentence_at(one.passage.text, one.span.start), one.passage, named=True))
        for one in found
    ]


def _nearest(question: str, passages: Sequence[PromptPassage], models: Models) -> list[tuple[int, str]]:
    """Return all sentences of passages, the nearest to the question first, with their passages' numbers."""
    options = [
        (passage.number, _self_contained(sentence, passage))
        for passage in passages
        for sentence in sentences(passage.text)
    ]
    near = models.encoder.similarity([question], [text for _, text in options])[0]
    return [options[place] for place in sorted(range(len(options)), key=lambda place: -float(near[place]))]


def _nothing_found(question: str, passages: Sequence[PromptPassage]) -> str:
    titles = ", ".join(dict.fromkeys(passage.title for passage in passages if passage.title))
    about = f" They are about {titles}." if titles else ""
    return (
        f"The passages do not answer “{question.strip()}”.{about} "
        "Another corpus, or a question in other words, may help."
    )


def tidy(passage: PromptPassage) -> PromptPassage:
    """Return a passage without headings of a wiki and empty brackets; a title before its first sentence gets a colon.

    ``Titanic Titanic () is a film. == Cast == It stars`` becomes ``Titanic: Titanic is a film. It stars``.
    """
    text = _HEADING.sub(" ", passage.text)
    text = _OPENED_BY_MARKS.sub("(", _EMPTY_BRACKETS.sub("", text))
    text = re.sub(r"\s+([,.;:])", r"\1", " ".join(text.split()))
    return PromptPassage(passage.number, passage.title, _with_colon(text, passage.title))


def _with_colon(text: str, title: str) -> str:
    if not title or not text.startswith(f"{title} "):
        return text
    rest = text[len(title) + 1 :]
    sentence = rest.lstrip("\"“'(")[:1].isupper()
    again = set(content_words(" ".join(rest.split()[:_REPEATS]))) & set(content_words(title))
    return f"{title}: {rest}" if sentence and again else text
