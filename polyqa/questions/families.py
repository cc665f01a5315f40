"""What one ambiguous question may mean: passages whose titles share a name, questions that differ in a time.

Names are shared in these ways: they are the same (*Titanic*, *Titanic (1953 film)*), one stands in the other (*Forth
Bridge*, *Forth Road Bridge*) or is its end (*migration to Kubernetes*, *second migration to Kubernetes*), they are
editions of one thing (*2012 Summer Olympics*, *2016 Summer Olympics*), people have one surname (*John Adams*, *Bryan
Adams*), or organisations one abbreviation (*ABA*). Titles may also begin alike, before a number or a word in small
letters tells them apart: things of one name (*Falcon 1*, *Falcon 2*, *Falcon drone*), and things of one kind that a
name or a date describes (*Office in Oslo*, *Office in Lisbon*: "the office").

The section of a document is about what its heading names (*Handbook › Office in Oslo*), or about the document
(*Falcon 1 › Launch*, *Falcon 2 › Launch*). Sections beside each other may be about things of one kind, too: *Medical
Insurance* and *Dental Insurance* are "the insurance".

VERDICT (section 3) takes what different passages answer differently as the readings of one question. Generated
questions show it by themselves: *Who won the 2008 election?* and *Who won the 2012 election?* are the readings of *Who
won the election?*.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from polyqa.base.values import Passage
from polyqa.extractive.grammar import MONTH
from polyqa.metrics.text import SECTION, normalize_answer, split_title

from .quality import FUNCTION, WHEN, WORD

_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d(?:[–-]\d{2,4})?\b")
_NUMBER = re.compile(r" (?:\d{1,3}|[IVXL]+)$")
_LIFE = r"\([^()]*\d{4}\s*[–—-]\s*[^()]*\d{4}\)"
_PERSON = re.compile(rf"\((?:[^()]{{0,60}}\b)?born\b|{_LIFE}|\. (?:He|She) [a-z]")
_OPENING = 400  # characters
_DATE = rf"(?:\d{{1,2}} )?(?:{MONTH} )?(?:\d{{1,2}}, )?\d{{4}}s?(?:\s*[–-]\s*\d{{2,4}})?"
_SPAN = rf"{_DATE}(?: (?:to|until|and) {_DATE})?"
_ORDINAL = r"\d{1,3}(?:st|nd|rd|th)"
_BEFORE_TIME = r"in|on|during|since|until|by|before|after|from|between|for|of|at"
_TIME = re.compile(rf"\s*\b(?:(?:{_BEFORE_TIME}) )?(?:the )?(?:year )?{_SPAN}\b(?! \w+ (?:and|to))")
_NUMBERED = re.compile(rf"\b{_ORDINAL} (?=[A-Za-z])")
_DANGLING = re.compile(rf"\b(?:{_BEFORE_TIME}|the|to|and|a|an)$")
_TELLS_APART = re.compile(r"[a-z\d]|[IVXL]+$")
"""How a word of a title begins that tells it from others: a name goes on with a capital."""
_COUNTED = re.compile(r"\d|[IVXL]+$")
_PLURAL = re.compile(r"[^s]s$")
_LONGEST_KIND = 5  # words
_COUNTED_HEADING = re.compile(rf"{SECTION}\D+ (?:\d{{1,3}}[A-Z]?(?:-\d{{1,3}})?|[IVXL]+)$")
_CALLED = re.compile(r"\b([A-Z][\w-]*(?: [A-Z][\w-]*)*) (?:is|was|are|were)\b")
THE = "the "
"""How the shared name of things of one kind begins."""


@dataclass(frozen=True)
class Named:
    """What a passage is about.

    Attributes
    ----------
    title
        The passage's title; of a section the heading or the document's title, if others share a name with that.
    base
        The name that the title shares with others; its own if it shares none.
    beside
        What the passages of a family must have in common, too: the headings, where ``title`` is the document's, and the
        place, where ``base`` is the kind of some sections.
    """

    title: str
    base: str
    beside: str = ""

    @property
    def family(self) -> tuple[str, str]:
        """What the passages that one question may be about have in common."""
        return self.base, self.beside


def named(passages: Sequence[Passage]) -> dict[str, Named]:
    """Return what each passage is about, by its id: its document before its heading, and that before its kind."""
    alone = {passage.pid: Named(passage.title, split_title(passage.title, commas=True)[0]) for passage in passages}
    views = (_of_several(view(passages)) for view in (_by_kind, _by_heading, _by_document))
    return {pid: one for view in (alone, *views) for pid, one in view.items()}


def families(passages: Sequence[Passage], about: Mapping[str, Named]) -> dict[str, tuple[str, ...]]:
    """Return the names that passages of several titles share, each with these titles."""
    titles: dict[tuple[str, str], dict[str, None]] = {}
    for passage in passages:
        titles.setdefault(about[passage.pid].family, {})[passage.title] = None
    shared: dict[str, tuple[str, ...]] = {}
    for (base, _), those in titles.items():
        if base and len(those) > 1:
            shared[base] = (*shared.get(base, ()), *those)
    return shared


def _of_several(about: Mapping[str, Named]) -> dict[str, Named]:
    """Return what has a family: others of another title."""
    titles: dict[tuple[str, str], set[str]] = {}
    for one in about.values():
        titles.setdefault(one.family, set()).add(one.title)
    return {pid: one for pid, one in about.items() if one.base and len(titles[one.family]) > 1}


def _by_document(passages: Sequence[Passage]) -> dict[str, Named]:
    """Return sections as parts of documents whose titles share a name."""
    parts = {passage.pid: passage.title.partition(SECTION) for passage in passages if SECTION in passage.title}
    bases = base_names([_renamed(passage, parts[passage.pid][0]) for passage in passages if passage.pid in parts])
    return {pid: Named(document, bases[pid], section) for pid, (document, _, section) in parts.items()}


def _by_heading(passages: Sequence[Passage]) -> dict[str, Named]:
    """Return sections as what their headings name, beside documents without sections."""
    headings = {passage.pid: passage.title.rpartition(SECTION)[2] for passage in passages}
    bases = base_names([_renamed(passage, headings[passage.pid]) for passage in passages])
    about = {}
    for passage in passages:
        heading, base = headings[passage.pid], bases[passage.pid]
        about[passage.pid] = Named(_as_written(heading, passage.text) if base.startswith(THE) else heading, base)
    # "Step 2" is no name, if its text does not have it: nobody means one of several steps by "the step".
    steps = {p.pid for p in passages if _COUNTED_HEADING.search(p.title) and headings[p.pid] not in p.text}
    return {pid: one for pid, one in about.items() if pid not in steps}


def _by_kind(passages: Sequence[Passage]) -> dict[str, Named]:
    """Return sections of one place as things of one kind: their headings end in a noun that their texts have, too.

    >>> insurance = [
    ...     Passage(pid=kind, title=f"Benefits › {kind} Insurance", text=f"{kind} insurance is paid by us.")
    ...     for kind in ("Medical", "Dental")
    ... ]
    >>> _by_kind(insurance)["Dental"]
    Named(title='Dental insurance', base='the insurance', beside='Benefits')
    """
    about: dict[str, Named] = {}
    for passage in passages:
        place, section, heading = passage.title.rpartition(SECTION)
        words = heading.split()
        if not section or not 2 <= len(words) <= _LONGEST_KIND or words[-2].lower() in FUNCTION:
            continue
        noun = words[-1].lower()
        if noun in set(re.findall(r"\b[a-z]\w+", passage.text)) - FUNCTION and not _PLURAL.search(noun):
            about[passage.pid] = Named(_as_written(heading, passage.text), f"{THE}{noun}", place)
    return about


def _as_written(heading: str, text: str) -> str:
    """Return a heading with small letters in the words that its text has so; it begins as it did.

    >>> _as_written("Long-Term Plan of Oslo", "A long-term plan was made in Oslo.")
    'Long-term plan of Oslo'
    """
    words = [word.lower() if re.search(rf"\b{re.escape(word.lower())}\b", text) else word for word in heading.split()]
    return heading[:1] + " ".join(words)[1:]


def _renamed(passage: Passage, title: str) -> Passage:
    return passage.model_copy(update={"title": title})


def shared_name(name: str, other: str) -> str:
    """Return the one of two names that stands for the other, too; ``""`` if none does.

    It has the first and the last word of the other and no word that the other lacks: *Forth Bridge* stands for the
    *Forth Road Bridge*, but *Beast* not for *Beauty and the Beast*.

    >>> shared_name("Forth Road Bridge", "Forth Bridge"), shared_name("Tay Bridge", "Forth Bridge")
    ('Forth Bridge', '')
    """
    short, long = sorted((name.split(), other.split()), key=len)
    ends = len(short) > 1 and (short[0], short[-1]) == (long[0], long[-1])
    return " ".join(short) if ends and [word for word in long if word in short] == short else ""


def edition_of(name: str) -> str:
    """Return what a name is an edition of; ``""`` if it is of nothing.

    >>> edition_of("2016 Summer Olympics"), edition_of("Super Bowl XLIX"), edition_of("Jaws 2")
    ('Summer Olympics', 'Super Bowl', '')
    """
    base = _YEAR.sub(" ", name)
    if base == name:
        base = _NUMBER.sub("", name)
    base = " ".join(base.split()).strip(" –-")
    return base if base != name and len(base.split()) > 1 and base[:1].isupper() else ""


def surname(passage: Passage) -> str:
    """Return the last name of the person whom a passage is about; ``""`` if it is about something else."""
    name = split_title(passage.title)[0]
    words = name.split()
    person = 2 <= len(words) <= 3 and all(re.fullmatch(r"[A-Z][\w'’.-]+", word) for word in words)
    return words[-1] if person and _PERSON.search(passage.text[:_OPENING]) else ""


def abbreviation(passage: Passage) -> str:
    """Return the abbreviation that a passage gives for its name; ``""`` if it gives none."""
    name = split_title(passage.title)[0]
    letters = "".join(word[0] for word in re.findall(r"\b[A-Z]\w+", name))
    return letters if len(letters) > 2 and re.search(rf"\b{letters}\b", passage.text[:_OPENING]) else ""


def heads(passage: Passage, small: Collection[str], called: Collection[str]) -> Iterator[str]:
    """Yield what a title may share with others that begin alike, longest last.

    A name is one that no text has in small letters (``small``), and that its own text has without the words that tell
    it apart, or with a number: *Falcon* of *Falcon 2*. Before a noun, as in *Orion cluster*, it must be what something
    is ``called``. What its own text has in small letters is a description, if a name or a number tells it apart: *the
    office* of *Office in Oslo*.
    """
    words = split_title(passage.title, commas=True)[0].split()
    for at in range(1, len(words)):
        if not _TELLS_APART.match(words[at]):
            continue
        head = words[:at]
        while head and head[-1] in FUNCTION:
            head.pop()
        base, following = " ".join(head).rstrip(":,"), words[len(head) :]
        if not base:
            continue
        escaped = re.escape(base)
        before_noun = following[0][:1].islower() and following[0] not in FUNCTION
        inside = re.search(rf"[\w,;] {escaped}\b", passage.text)
        if re.search(rf"\b{re.escape(_small(base))}\b", passage.text):
            if not inside and not before_noun and any(re.match(r"[A-Z\d]", word) for word in following):
                yield f"{THE}{_small(base)}"
        elif all(word[:1].isupper() and word.lower() not in small for word in head):
            alone = re.search(rf"\b{escaped}\b(?! {re.escape(following[0])}\b)", passage.text)
            if base in called if before_noun else inside or alone or _COUNTED.match(following[0]):
                yield base


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]


def base_names(passages: Sequence[Passage]) -> dict[str, str]:
    """Return, for the id of each passage, the name that it shares with the most others; else its own.

    How titles begin or end counts for those that share nothing closer.
    """
    names = {passage.pid: split_title(passage.title, commas=True)[0] for passage in passages}
    titles = {passage.title: names[passage.pid] for passage in passages}  # of an article there may be many passages
    counted = Counter(name for name in titles.values() if name)
    closer: dict[str, set[str]] = {name: {name} for name in counted}
    for passage in passages:
        if name := names[passage.pid]:
            closer[name].update(filter(None, (edition_of(name), surname(passage), abbreviation(passage))))
    by_ends: dict[tuple[str, str], list[str]] = {}  # others share no name, see `shared_name`
    for name in counted:
        words = name.split()
        by_ends.setdefault((words[0], words[-1]), []).append(name)
    for group in by_ends.values():
        for name, other in combinations(group, 2):
            if shared := shared_name(name, other):
                closer[name].add(shared)
                closer[other].add(shared)
    best = _most_shared(closer, counted)
    sharing: Counter[str] = Counter()
    for name, base in best.items():
        sharing[base] += counted[name]
    further = {name: {base} for name, base in best.items()}
    for name, base in (*_beginnings(passages), *_endings(passages)):
        if sharing[best[name]] < 2:
            further[name].add(base)
    best = _most_shared(further, counted)
    return {pid: best.get(name, "") for pid, name in names.items()}


def _most_shared(options: Mapping[str, Collection[str]], counted: Mapping[str, int]) -> dict[str, str]:
    """Return for each name the option that most titles have; the longer one if as many have both."""
    members: Counter[str] = Counter()
    for name, bases in options.items():
        for base in bases:
            members[base] += counted[name]
    return {name: max(bases, key=lambda base: (members[base], len(base), base)) for name, bases in options.items()}


def _beginnings(passages: Sequence[Passage]) -> Iterator[tuple[str, str]]:
    """Yield names with what others may begin with, too."""
    texts = [passage.text for passage in passages]
    names = {passage.title: split_title(passage.title, commas=True)[0] for passage in passages}
    small = {word for text in texts for word in re.findall(r"\b[a-z]\w+", text)}
    called = {name for text in texts for name in _CALLED.findall(text)} | set(names.values())
    for passage in passages:
        for base in heads(passage, small, called):
            # "Jaws" stands for no other film of the series where there is a *Jaws*.
            if base not in names:
                yield names[passage.title], base


def _endings(passages: Sequence[Passage]) -> Iterator[tuple[str, str]]:
    """Yield names of which another is the end, and that other one, with what they share."""
    texts = {split_title(passage.title, commas=True)[0]: passage.text for passage in passages}
    by_small_name = {_small(name): name for name in texts}
    for name, text in texts.items():
        words = name.split()
        for at in range(1, len(words) - 1):
            shared = by_small_name.get(_small(" ".join(words[at:])))
            if shared and words[at - 1].lower() not in FUNCTION:
                described = _small(shared) != shared and re.search(rf"\b{re.escape(_small(shared))}\b", text)
                base = f"{THE}{_small(shared)}" if described else shared
                yield from ((name, base), (shared, base))


def without_qualifier(question: str, title: str, base: str) -> str | None:
    """Return a question with the shared name in place of the title; ``None`` if it does not name it.

    The qualifier goes, in brackets or not, and so do the words of the name that the others lack.

    >>> without_qualifier("Who designed the Forth Road Bridge?", "Forth Road Bridge", "Forth Bridge")
    'Who designed the Forth Bridge?'
    >>> without_qualifier("Who directed the 1953 film Titanic?", "Titanic (1953 film)", "Titanic")
    'Who directed Titanic?'
    """
    name, qualifier = split_title(title, commas=True)
    text = question
    if base.startswith(THE) and name:
        mention = rf"\b([Tt]he )?(?i:{re.escape(name)})\b"
        text, replaced = re.subn(mention, lambda found: base if found[1] else spoken(base), text, count=1)
        return text if replaced else None
    if name and name not in text and _small(name) in text:
        name, base = _small(name), _small(base)
    if qualifier:
        text = re.sub(rf"\s*\({re.escape(qualifier)}\)|, {re.escape(qualifier)}\b", "", text)
        text = re.sub(rf"\b(?:the )?{re.escape(qualifier)} (?={re.escape(name)})", "", text)
    if not name or name not in text:
        return None
    text = text.replace(name, base, 1)
    words = f" {normalize_answer(text)} "
    remaining = [word for word in normalize_answer(qualifier).split() if f" {word} " in words]
    shared = set(normalize_answer(base).split())
    # A word of the qualifier that is still there tells the readings apart: nothing was made ambiguous.
    return None if any(word not in shared and word.isdigit() for word in remaining) else " ".join(text.split())


def with_title(question: str, title: str, base: str) -> str | None:
    """Return a question about a shared name with a title in its place; ``None`` if it does not have the name.

    >>> with_title("When did Keller join?", "Lars Keller", "Keller")
    'When did Lars Keller join?'
    >>> with_title("Who runs the office?", "Office in Oslo", "the office")
    'Who runs the office in Oslo?'
    >>> with_title("Who runs Orion?", "Orion cluster", "Orion")
    'Who runs the Orion cluster?'
    >>> with_title("How long is annual leave?", "Advanced annual leave", "the annual leave")
    'How long is advanced annual leave?'
    >>> with_title("Who leads the pantheon?", "The Greek pantheon", "the pantheon")
    'Who leads the Greek pantheon?'
    """
    if base.startswith(THE):  # the article stays as it is
        pattern = rf"\b({THE}){'' if spoken(base) == base else '?'}{re.escape(base.removeprefix(THE))}(?!\w)"
        name = _small(title).removeprefix(THE)
        changed, replaced = re.subn(pattern, lambda found: f"{found[1] or ''}{name}", question, count=1)
        return changed if replaced else None
    following = title.removeprefix(base).split()
    full_title = f"{THE}{title}" if title.startswith(f"{base} ") and following[0][:1].islower() else title
    article = "" if full_title == title else r"(?:the )?"
    changed, replaced = re.subn(rf"\b{article}{re.escape(base)}(?!\w)", lambda _: full_title, question, count=1)
    return changed if replaced else None


def spoken(base: str) -> str:
    """Return a shared name as questions have it: of what is named in several words many lack the article.

    >>> spoken("the annual leave"), spoken("the leave")
    ('annual leave', 'the leave')
    """
    name = base.removeprefix(THE)
    return name if " " in name else base


def without_time(question: str) -> tuple[str, str] | None:
    """Return a question without its time, and the time; ``None`` if it names none, or is no question without it.

    >>> without_time("Who won the 2008 election?")
    ('Who won the election?', '2008')
    >>> without_time("What was the population of Perth in 2010?")
    ('What was the population of Perth?', '2010')
    """
    body = question.rstrip("? ")
    if WHEN.match(body):
        return None  # it asks for the time
    for pattern in (_TIME, _NUMBERED):
        matches = list(pattern.finditer(body))
        begin = body[: matches[0].start()] if len(matches) == 1 else ""
        if begin and begin.count("(") == begin.count(")"):
            cut = matches[0]
            article = re.match(r"\s*the (?=\d)", cut[0])
            middle = " the" if article and body[cut.end() :].strip() else ""
            remainder = " ".join(f"{begin}{middle} {body[cut.end() :]}".split()).replace(" ,", ",").rstrip(", ")
            content = [word for word in WORD.findall(remainder)[1:] if word.lower() not in FUNCTION and len(word) > 2]
            if _DANGLING.search(remainder) or len(content) < 2:
                return None
            return f"{remainder}?", re.sub(r"^(?:(?:in|on|of|the|year)\b\s*)+", "", cut[0].strip())
    return None
