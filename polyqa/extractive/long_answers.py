"""Long-form answers: what the question may mean, then for each reading the sentence of its passage that answers it."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from statistics import mean

from polyqa.base.values import Interpretation
from polyqa.metrics.text import (
    SECTION,
    Sentence,
    content_words,
    holds,
    is_kind,
    names_title,
    normalize_words,
    sentences,
    split_title,
)
from polyqa.replies import parse_interpretations

from .evidence import Models
from .prompt import Prompt, PromptPassage
from .readings import extract_interpretations

_POINTS = re.compile(
    r"\b(?:it|its|he|him|his|she|her|they|them|their|this|these|that (?:year|month|day))\b", re.IGNORECASE
)
_WORKS = re.compile(
    r"films?|novel|book|play|poem|opera|musical|song|album|band|(?:mini)?series|game|painting|ship|spacecraft|planet|star|"
    r"state|city|town|river|lake|island|mountain|coin|magazine|newspaper|ballet|sculpture"
)
# Behind a sentence or another heading: the signs of "if x == 1 or y == 2" are no heading's.
# Of a heading of Markdown the sign alone goes, as its end cannot be seen in one line.
_HEADING = re.compile(
    r"(?:^|(?<=[.!?:…=]\s)|(?<=[.!?…][)\]\"”»]\s))(?:(={2,6})(?!=)[^=]{1,80}\1(?!=)|#{1,6} (?=\w))", re.MULTILINE
)
# What is left of "(; born 1950)" or "(, lit. old town)" when a pronunciation or a foreign script was dropped; the
# brackets of "client.get()" are part of its name.
_EMPTY_BRACKETS = re.compile(r"(?<!\w)\([\s;,:'’]*\)")
_OPENED_BY_MARKS = re.compile(r"\((?:\s*[;,:])+\s*")
OPENING = re.compile(r"The answer depends on what is meant: |.{1,200} can mean .+ or ")
"""What `opening_of` makes."""
_REPEATS = 10  # words
_LONGEST = 60  # words; of a web page longer ones are mostly menus and tables


def compose_answer(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answer``: what the readings say, and nothing else.

    Where there are several readings, an opening says what the question may mean. Then comes for each of them the
    sentence of its passage that holds the answer and is nearest to the reading, with its title before it where it
    would not be understood alone. Clauses have the passages quoted word for word, the readings stated, or name a number
    of words. Only if they name more words than that, or demos show longer answers, are there more sentences of the same
    passages.
    """
    passages, clauses = [tidy(passage) for passage in prompt.passages()], prompt.clauses
    readings = parse_interpretations(prompt.inputs.get("interpretations", ""))
    if not readings:
        return {"answer": _nothing_found(prompt.question, passages)}
    if clauses.manner == "state":
        return {"answer": " ".join(map(statement, readings))}
    if clauses.manner == "quote":
        return {"answer": " ".join(dict.fromkeys(_quoted(reading, passages, models) for reading in readings))}
    sourced = [(reading, *_evidence(reading, passages, models)) for reading in readings]
    cited = [passage for _, passage, _ in sourced if passage is not None]
    answer_sentences = _told(sourced, named=len(sourced) > 1)
    opening = opening_of(prompt.question, readings, cited) if len(answer_sentences) > 1 else ""
    lengths = [len(demo.outputs["answer"].split()) for demo in prompt.demos if demo.outputs.get("answer")]
    if words := clauses.words or (mean(lengths) if lengths else 0):
        answer_sentences += _more(prompt.question, cited, [opening, *answer_sentences], words, models)
    return {"answer": " ".join(filter(None, [opening, *answer_sentences]))}


def clarify(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``interpretations`` and ``answer``: what two calls would fill that show the same demos."""
    extracted = extract_interpretations(prompt, models)
    readings = json.dumps(extracted["interpretations"], ensure_ascii=False)
    inputs = {**prompt.inputs, "interpretations": readings}
    return {**extracted, **compose_answer(replace(prompt, inputs=inputs), models)}


_Found = tuple[Interpretation, PromptPassage | None, Sentence | None]


def _told(sourced: Sequence[_Found], *, named: bool) -> list[str]:
    """Return the sentences that answer readings, each once; a title stands before the first of those that have it."""
    titles = [passage.title for _, passage, _ in sourced if passage is not None]
    texts: dict[str, str] = {}
    before: PromptPassage | None = None
    for reading, passage, sentence in sourced:
        if passage is None or sentence is None:
            text = statement(reading)
        elif before is not None and passage.title == before.title and holds(sentence.text, reading.answer):
            text = _end(sentence.text)
        else:
            text = with_subject(sentence, passage, titles, named=named or not holds(sentence.text, reading.answer))
        key = text if passage is None or sentence is None else f"{passage.title}: {sentence.text}"
        if texts.setdefault(normalize_words(key), text) is text:
            before = passage
    return list(texts.values())


def tell(reading: Interpretation, passages: Sequence[PromptPassage], models: Models) -> str:
    """Return the sentence that answers a reading, told from that of namesakes, or else the reading itself."""
    return _told([(reading, *_evidence(reading, passages, models))], named=True)[0]


def _evidence(
    reading: Interpretation, passages: Sequence[PromptPassage], models: Models
) -> tuple[PromptPassage | None, Sentence | None]:
    cited = [passage for passage in passages if str(passage.number) == reading.pid]
    for pool in (cited, passages):
        options = [
            (passage, sentence)
            for passage in pool
            for sentence in sentences(passage.text)
            if holds(f"{passage.title}: {sentence.text}", reading.answer) and len(sentence.text.split()) <= _LONGEST
        ]
        if options:
            texts = [f"{passage.title} {sentence.text}" for passage, sentence in options]
            nearest = int(models.encoder.similarity([reading.question], texts)[0].argmax())
            return options[nearest]
    return None, None


def with_subject(sentence: Sentence, passage: PromptPassage, titles: Sequence[str], *, named: bool) -> str:
    """Return a sentence of a passage as it stands, with the title before it where it does not say what it is about.

    If ``named``, it must tell its subject from what other ``titles`` stand for; else only one that points to something
    needs a title.
    """
    title = passage.title if named else split_title(passage.title)[0]
    says_it = names_title(sentence.text, title, titles)
    clear = says_it or not (named or _POINTS.search(sentence.text))
    return _end(sentence.text if clear else f"{title}: {sentence.text}")


def _distinct(titles: Sequence[str]) -> list[str]:
    """Return titles without the sections, or the documents, that all of them share.

    >>> _distinct(["pip install › Examples", "pip freeze › Examples"])
    ['pip install', 'pip freeze']
    >>> _distinct(["pip › Options › Cache", "pip › Options", "pip › Proxy"])
    ['Options › Cache', 'Options', 'Proxy']
    """
    parts = [title.split(SECTION) for title in titles]
    for end in (0, -1):
        while min(map(len, parts)) > 1 and len({part[end] for part in parts}) == 1:
            for part in parts:
                del part[end]
    return [SECTION.join(part) for part in parts]


def _in_prose(title: str) -> str:
    """Return a title as a sentence names it: "the 1953 film Titanic" for *Titanic (1953 film)*.

    A section stands before its document: "“Examples” in pip install" for *pip install › Examples*; one that names it
    stands alone: "Falcon 3" for *Falcon › Falcon 3*.
    """
    if SECTION in title:
        document, *_, section = title.split(SECTION)
        names_document = set(content_words(document)) <= set(content_words(section))
        return section if names_document else f"“{section}” in {_in_prose(document)}"
    name, qualifier = split_title(title)
    works = qualifier and _WORKS.fullmatch(qualifier.split()[-1]) and "," not in qualifier
    return f"the {qualifier} {name}" if works else title


def _quoted(reading: Interpretation, passages: Sequence[PromptPassage], models: Models) -> str:
    """Return the sentence that answers a reading word for word; where none does, the reading itself."""
    passage, sentence = _evidence(reading, passages, models)
    if passage is None or sentence is None:
        return statement(reading)
    return f"{passage.title}: “{sentence.text}”" if passage.title else f"“{sentence.text}”"


def statement(reading: Interpretation) -> str:
    """Return a reading and its answer: "Who wrote Dune? Frank Herbert."."""
    return f"{reading.question.strip()} {_end(reading.answer)}"


def _end(text: str) -> str:
    text = text.strip().rstrip(",;:")
    return text if re.search(r"[.!?][\"”’')\]]*$", text) else f"{text}."


def opening_of(question: str, readings: Sequence[Interpretation], cited: Sequence[PromptPassage] = ()) -> str:
    """Return the sentence that says what a question may mean; nothing if nobody can tell.

    Namesakes among the passages that readings cite are told by what their titles add to the name, other passages by
    their titles; where all cite one passage, or one is not to be found in any, by what each adds to the question.
    """
    titles = list(dict.fromkeys(passage.title for passage in cited))
    if len(titles) > 1 and all(titles) and len(cited) == len(readings):
        titles = _distinct(titles)
        names, qualifiers = zip(*map(split_title, titles), strict=True)
        if len(set(names)) == 1 and all(qualifiers):
            return f"{names[0]} can mean {_listed([_with_article(one) for one in qualifiers])}."
        return f"The answer depends on what is meant: {_listed(list(map(_in_prose, titles)))}."
    added = [_added(question, reading.question) for reading in readings]
    all_differ = all(added) and len(set(added)) == len(added)
    return f"The answer depends on what is meant: {_listed(added)}." if all_differ else ""


def _added(question: str, reading: str) -> str:
    """Return the words that a reading adds to a question at one place; nothing if it changes more than that.

    >>> _added("Who won the cup?", "Who won the cup in 1998?"), _added("Who won the cup?", "Who lost the cup?")
    ('in 1998', '')
    """
    question_words, reading_words = question.lower().rstrip(" ?").split(), reading.rstrip(" ?").split()
    begin = len([*takewhile(lambda pair: pair[0] == pair[1].lower(), zip(question_words, reading_words, strict=False))])
    end = len(reading_words) - len(question_words[begin:])
    tail = [word.lower() for word in reading_words[end:]]
    return " ".join(reading_words[begin:end]).strip("()") if begin < end and tail == question_words[begin:] else ""


def _with_article(qualifier: str) -> str:
    kind, _, detail = qualifier.partition(", ")
    with_article = f"the {kind}" if is_kind(kind) else kind
    return f"{with_article} ({detail})" if detail else with_article


def _listed(items: Sequence[str]) -> str:
    return " or ".join([", ".join(items[:-1]), items[-1]])


def _more(
    question: str, cited: Sequence[PromptPassage], earlier: Sequence[str], words: float, models: Models
) -> list[str]:
    """Return more sentences of the cited passages, the nearest to the question first, up to a number of words."""
    titles = [passage.title for passage in cited]
    options = [
        text
        for passage in dict.fromkeys(cited)
        for sentence in sentences(passage.text)
        if (text := with_subject(sentence, passage, titles, named=True)) not in earlier
    ]
    near = models.encoder.similarity([question], options)[0]
    length, further = sum(len(text.split()) for text in earlier), []
    for place in sorted(range(len(options)), key=lambda place: -float(near[place])):
        length += len(options[place].split())
        if length > words:
            break
        further.append(options[place])
    return further


def _nothing_found(question: str, passages: Sequence[PromptPassage]) -> str:
    titles = ", ".join(dict.fromkeys(_in_prose(passage.title) for passage in passages if passage.title))
    about = f" They are about {titles}." if titles else ""
    return (
        f"The passages do not answer “{question.strip()}”.{about} "
        "Another corpus, or a question in other words, may help."
    )


def tidy(passage: PromptPassage) -> PromptPassage:
    """Return a passage without a wiki's headings, marks of others, empty brackets; a title that opens it gets a colon.

    ``Titanic Titanic () is a film. == Cast == It stars`` becomes ``Titanic: Titanic is a film. It stars``.

    >>> tidy(PromptPassage(1, "Kestrel", "## Fuel It takes 40 litres. ## Crew Of C# it knows no. 1.")).text
    'Fuel It takes 40 litres. Crew Of C# it knows no. 1.'
    """
    text = _HEADING.sub(" ", passage.text)
    text = _OPENED_BY_MARKS.sub("(", _EMPTY_BRACKETS.sub("", text))
    text = re.sub(r"\s+([,.;:])", r"\1", " ".join(text.split()))
    return PromptPassage(passage.number, passage.title, _with_colon(text, passage.title))


def _with_colon(text: str, title: str) -> str:
    if not title or not text.startswith(f"{title} "):
        return text
    body = text[len(title) + 1 :]
    sentence = body.lstrip("\"“'(")[:1].isupper()
    repeated = set(content_words(" ".join(body.split()[:_REPEATS]))) & set(content_words(title))
    return f"{title}: {body}" if sentence and repeated else text
