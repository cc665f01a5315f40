"""What a passage is about, and how a question names it."""

import re

from polyqa.metrics.text import SECTION, STOPWORDS, content_words, sentences, split_title, words

from .prompt import PromptPassage

_IS_A = re.compile(
    r"\b(?:is|was) (?:an?|the) (?:[\w-]+ ){0,4}?([a-z]+)(?= (?:of|on|in|that|which|near|over|with|across)\b|[.,])"
)
_POSSESSIVE = re.compile(r"['’]s?$")


def topic_nouns(passage: PromptPassage) -> frozenset[str]:
    """Return the lower-case nouns that may stand for the title: "the bridge" for *Tower Bridge (London)*."""
    nouns = {word.lower() for word in re.findall(r"[A-Za-z]{3,}", passage.title)}
    first = sentences(passage.text)[0].text if passage.text.strip() else ""
    nouns |= {match[1] for match in _IS_A.finditer(first)}
    return frozenset(nouns)


def name_of(passage: PromptPassage) -> str:
    """Return the title's name, without its qualifier, as it stands inside a sentence."""
    name = split_title(passage.title)[0].strip()
    if name.startswith("The "):
        return f"the {name[4:]}"
    article = re.search(rf"\bthe {re.escape(name)}\b", passage.text, re.I)
    return f"the {name}" if article else name


def _stem(word: str) -> str:
    return re.sub(r"(?:'s|s)$", "", word.lower())


def settle(question: str, title: str) -> str | None:
    """Rewrite a question so that it names what a title stands for.

    ``When did Titanic come out?`` with ``Titanic (1953 film)`` becomes ``When did the 1953 film
    Titanic come out?``; where that would not read well the qualifier follows the name in brackets. If
    the name says more than the question, the whole title takes the place of the words that both share,
    unless these are only a part of a name in the question (the *Lake Placid* Olympics).

    Returns
    -------
    str or None
        ``None`` if the question and the title share no word, or the question already says it all.
    """
    body = question.rstrip(" ?").split()
    name, qualifier = split_title(_part_meant(body, title))
    question_stems = set(map(_stem, content_words(question)))
    if question_stems.isdisjoint(map(_stem, content_words(name))):
        return None
    mention = _mention(body, name)
    if mention is None or _other_figure(body, mention, name):
        return None
    first, last = mention
    fully_named = set(map(_stem, _name_words(name))) <= {_stem(word.lower()) for word in words(question)}
    apart = qualifier and not set(map(_stem, content_words(qualifier))) <= question_stems
    if fully_named:
        return " ".join(_qualified(body, first, last, qualifier)) + "?" if apart else None
    mentioned = re.escape(_POSSESSIVE.sub("", " ".join(body[first : last + 1])))
    if re.search(rf"(?::|\b[a-z]+ (?:about|at|for|in|of|on|to)) (?:the )?(?i:{mentioned})\b", name):
        return None  # "Report: renovation of the Mill" and "Obituary: Ann Lee" are no Mill and no Ann Lee
    if _in_larger_name(body, first, last):
        return None
    possessive = _POSSESSIVE.search(body[last])
    if first and name.startswith("The ") and body[first - 1].lower() == "the":
        first -= 1
        name = re.sub(r"^The (?=[a-z])", "the ", name)
    name += possessive[0] if possessive else ""
    return " ".join([*body[:first], f"{name} ({qualifier})" if apart else name, *body[last + 1 :]]) + "?"


def _name_words(name: str) -> list[str]:
    """Return the words that carry a name: "Pope John Paul I" has one more than "Pope John Paul"."""
    return [word.lower() for word in words(name) if word.lower() not in STOPWORDS or word == "I"]


def _part_meant(body: list[str], title: str) -> str:
    """Return the part of a title, document › section, that the question's words name; the last of several."""
    parts = title.split(SECTION)
    return max(reversed(parts), key=lambda part: _weighed(body, split_title(part)[0])[0])


def _other_figure(body: list[str], mention: tuple[int, int], name: str) -> str:
    """Return the thing that a question names by another figure than a title: "Terra 2" for *Terra 1*; else nothing."""
    first, last = mention
    bare_body, name_words = list(map(_bare, body)), name.split()
    for at, figure in ((last + 1, name_words[-1]), (first - 1, name_words[0])):
        figures = figure.isdigit() and figure not in bare_body[first : last + 1] and 0 <= at < len(bare_body)
        if figures and bare_body[at].isdigit() and bare_body[at] != figure:
            return " ".join(bare_body[min(first, at) : max(last, at) + 1])
    return ""


def about_another(question: str, passage: PromptPassage) -> bool:
    """Return whether a passage is about another one of a series than the question names, and does not mention that.

    >>> about_another("What does Terra 2 cost?", PromptPassage(1, "Terra 1", "It costs 189 euros."))
    True
    """
    body, name, mention = _named(question, passage.title)
    meant = _other_figure(body, mention, name) if mention else ""
    return bool(meant) and meant.lower() not in passage.text.lower()


def _named(question: str, title: str) -> tuple[list[str], str, tuple[int, int] | None]:
    """Return the words of a question, the name in the title that they mean, and where they mention it."""
    body = question.rstrip(" ?").split()
    name = split_title(_part_meant(body, title))[0]
    return body, name, _mention(body, name)


def are_namesakes(question: str, one: str, other: str) -> bool:
    """Return whether the same words of a question name two titles, and each says more than the question.

    So does each of two that differ in what stands in brackets, or before a section of one name, if the question names
    neither.

    >>> are_namesakes("When did Titanic sink?", "Titanic (1953 film)", "Titanic (musical)")
    True
    >>> are_namesakes("When did Titanic sink?", "Titanic (1953 film)", "Iceberg")
    False
    >>> are_namesakes("Who booked the Blue Room?", "Old Wing › Blue Room", "New Wing › Blue Room")
    True
    >>> are_namesakes("What is the fee?", "Contract (Acme) › Fees", "Contract (Globex) › Fees")
    True
    """
    (name, apart), (other_name, other_apart) = map(told_apart, (one, other))
    if name == other_name and "" != apart != other_apart != "":
        differing = {*content_words(apart)} ^ {*content_words(other_apart)}
        if differing.isdisjoint(content_words(question)):
            return True
    mentions = [_named(question, title)[2] for title in (one, other)]
    settled = {settle(question, one), settle(question, other)}
    return mentions[0] is not None and mentions[0] == mentions[1] and None not in settled and len(settled) > 1


def told_apart(title: str) -> tuple[str, str]:
    """Return the name in a title and what tells it from namesakes: its qualifier, or where the section stands.

    >>> told_apart("Old Wing › Blue Room"), told_apart("Contract (Acme) › Fees"), told_apart("Inn > Oslo > Lunch")
    (('Blue Room', 'Old Wing'), ('Contract › Fees', 'Acme'), ('Lunch', 'Inn › Oslo'))
    """
    name, qualifier = split_title(title.replace(" > ", SECTION))  # as the breadcrumbs of a wiki's export
    if qualifier or SECTION not in name:
        return name, qualifier
    place, _, section = name.rpartition(SECTION)
    return section, place


def names(question: str, title: str) -> bool:
    """Return whether what a question and a title share is written as a name in the question, with capitals.

    >>> names("When did Titanic come out?", "Titanic (1953 film)"), names("where is the ritz?", "Ritz (Paris)")
    (True, False)
    """
    body, _, mention = _named(question, title)
    return mention is not None and any(word[:1].isupper() for word in body[mention[0] : mention[1] + 1])


def _in_larger_name(body: list[str], first: int, last: int) -> bool:
    """Return whether a mention is only a part of a name."""
    begins = first > 1 and body[first - 1][:1].isupper() and not _POSSESSIVE.search(body[first - 1])
    goes_on = last + 1 < len(body) and body[last][:1].isupper() and body[last + 1][:1].isupper()
    return begins or (goes_on and not _POSSESSIVE.search(body[last]))


def _bare(word: str) -> str:
    return re.sub(r"[^\w'’-]", "", word)


def _mention(body: list[str], name: str) -> tuple[int, int] | None:
    """Return the first and last position of the longest run of the question's words that the name has."""
    weight, negative, last = _weighed(body, name)
    if not weight:
        return None
    first = -negative
    while body[first].lower() in ("of", "in", "on", "at", "the") and first < last:
        first += 1  # the run may begin with a word that belongs to the question
    return first, last


def _weighed(body: list[str], name: str) -> tuple[int, int, int]:
    """Return the weight of the longest run of words that the name has, its beginning (negative) and its end."""
    name_stems = {_stem(_bare(word)) for word in name.replace(",", " ").split()}
    stems = [_stem(_bare(word)) for word in body]
    best, start = (0, -1, -1), None
    for position in range(len(stems) + 1):
        inside = position < len(stems) and stems[position] in name_stems
        if inside and start is None:
            start = position
        elif not inside and start is not None:
            # A name before a common word: "What song did she win Eurovision with" is about Eurovision.
            weight = sum(2 + body[n][:1].isupper() for n in range(start, position) if stems[n] not in STOPWORDS)
            best = max(best, (weight, -start, position - 1))
            start = None
    return best


def _qualified(body: list[str], first: int, last: int, qualifier: str) -> list[str]:
    mention = " ".join(body[first : last + 1])
    before = [word.lower() for word in body[:first]]
    head = qualifier.split()[-1].lower()
    if before[-1:] == [head]:  # "the film Titanic" with "1953 film": the film is named already
        start = first - 2 if before[-2:-1] in (["the"], ["a"]) else first - 1
        return [*body[:start], f"the {qualifier}", mention, *body[last + 1 :]]
    plain = before[-1:] and before[-1] in STOPWORDS and before[-1] not in ("the", "a", "an")
    if plain and qualifier.split()[-1][:1].islower() and not _POSSESSIVE.search(body[last]):
        noun = qualifier if re.match(r"(?:the|a|an)\b", qualifier, re.I) else f"the {qualifier}"
        return [*body[:first], noun, mention, *body[last + 1 :]]
    return [*body[:first], f"{mention} ({qualifier})", *body[last + 1 :]]
