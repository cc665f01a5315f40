"""Text, once for the whole house: normal forms of answers, whether a text holds one, words, sentences, titles."""

import re
import string
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_BEFORE = 120  # characters of a long sentence that are shown before what it is shown for
_ARTICLES = re.compile(r"\b(a|an|the)\b")
# The marks of scripts without capitals do not occur in English: what SQuAD's rule makes of English stays as it is.
_OTHER_MARKS = "。，、；：！？．「」『』《》〈〉（）【】・،؛؟۔«»।॥"
_PUNCTUATION = str.maketrans("", "", string.punctuation + _OTHER_MARKS)
# Vowel signs and the like are no letters to `re`, but parts of words.
SIGNS = "\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e"
_LETTERS = rf"(?:[^\W_]|[{SIGNS}])+"
_WORD = re.compile(rf"{_LETTERS}(?:['’.-]{_LETTERS})*")
# A point or comma within a figure is part of it: "5 km" does not stand in "1.5 km".
_NO_WORD = re.compile(rf"(?<!\d)[.,]|[.,](?!\d)|[^\w\s.,{SIGNS}]")
_DECIMAL = re.compile(r"(?<=\d)[.:](?=\d)(?!\d{3}(?!\d))")  # not that of thousands
_RANGE = re.compile(r"(?<=\d)[-–—](?=\d)")
_MINUS = re.compile(r"(?<![^\s(])[-−–](?=\d)")
_HARAKAT = re.compile("[\u0640\u064b-\u065f\u0670]")
"""Signs of Arabic that may be written or not."""
# Scripts that put no space between words: Chinese, Japanese, Thai, Lao, Burmese, Khmer.
UNSPACED = "[\u0e01-\u0e3a\u0e40-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_UNSPACED = re.compile(UNSPACED)
_NO_CASE = "\u0590-\u109f\u1100-\u1cff\u3040-\u9fff\uac00-\ud7af\uf900-\ufdff"
_BEGINS = rf"A-Z0-9À-ÖØ-Þ\u0391-\u03a9\u0401-\u042f¿¡{_NO_CASE}"
CLOSING = r"[\"”’')\]»」』》）】]*"
FULL_STOPS = "。！？｡．"
"""Ends of sentences without a space behind."""
_STOPS = ".!?؟۔।॥"
_ENDED = re.compile(rf"[{_STOPS}{FULL_STOPS}]{CLOSING}\s*\Z")
_BOUNDARY = re.compile(
    rf"(?<=[{_STOPS}…]){CLOSING}\s+(?=[\"“‘'(\[«]*[{_BEGINS}])|(?<=[{FULL_STOPS}]){CLOSING}(?![{FULL_STOPS}\s])\s*(?=\S)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Sr|Jr|Prof|Gen|Col|Lt|Maj|Sgt|Capt|Rev|Hon|Gov|Sen|Rep|vs?|No|Nr|Vol|Op|Fig|Eq|et al|"
    r"Inc|Ltd|Co|Corp|approx|ca|cf|etc|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Mt|Ft|U\.S|U\.K|U\.N|a\.m|p\.m|e\.g|i\.e)|\b[A-ZА-Я\u0621-\u064a]|(?<!\S)(?:डॉ|श्री)|"
    # German ordinals: "bis zum 31. Januar", "im 19. Jahrhundert".
    r"\b(?i:ab|beim|bis|dem|den|der|des|im|seit|vom|zum) \d{1,2}|(?<!\bI )\b[Aa]m \d{1,2})\.$"
)
# Between two letters it is part of a name: "Steins;Gate".
_SEVERAL = re.compile(r"(?<![^\W\d_]);|;(?![^\W\d_])")
_LONGEST_SHORT = 16  # characters; no abbreviation is longer, and a text is not gone through again for each sentence
_SHORT_NAME = re.compile(r"\b(?:[A-Z]|[A-Z][a-z]|Mrs)\.$")
_NAME = re.compile(r"(?<=[\w,;:'’\"“(] )[^\W\d_a-z][\w'’.-]*[\w]|\d[\d.,]*\b")
_GENITIVE = re.compile(r"['’]s?\b")
_PLURAL = re.compile(r"(?<=\w{3})s$")
_STEM = 5
_FUNCTION_WORDS = (
    "a an and are as at be been being but by can could did do does for from had has have he her hers him his how i if "
    "in into is it its itself me my no not of on or our she should so some such than that the their them then there "
    "these they this those to us was we were what when where which while who whom whose why will with would you your"
)
STOPWORDS = frozenset(_FUNCTION_WORDS.split())


@lru_cache(maxsize=50_000)  # a passage is compared with many aliases
def normalize_answer(text: str) -> str:
    """Lower-case, drop punctuation and articles, squeeze white space: of English ASQA's rule (no Unicode NFD).

    Marks of scripts without capitals are dropped, too, and signs that Arabic may leave out. Where a script puts no
    space between words, each character is a word, as in MLQA's F1.

    >>> normalize_answer("The U.S.A.")
    'usa'
    """
    return " ".join(_ARTICLES.sub(" ", _spaced(text.lower()).translate(_PUNCTUATION)).split())


def normalize_short(text: str) -> str:
    """Return `normalize_answer` of a short answer that is compared with another one: figures keep point and minus.

    >>> normalize_short("The 1.5 km"), normalize_short("1,500"), normalize_short("-5 °C")
    ('1·5 km', '1500', '−5 °c')
    """
    return normalize_answer(_RANGE.sub("–", _MINUS.sub("−", _DECIMAL.sub("·", text))))


def _spaced(text: str) -> str:
    """Return a text with spaces around each character of a script that has none between words, as MLQA's F1 does."""
    return text if text.isascii() else _UNSPACED.sub(r" \g<0> ", _HARAKAT.sub("", text))


@lru_cache(maxsize=50_000)
def normalize_words(text: str) -> str:
    """Return `normalize_answer` of a text, but drop only articles that are words between white space.

    The two differ beside marks that are not ASCII: dashes, and accents of their own (Unicode NFD).

    >>> normalize_words("The ancestor—a bacterium"), normalize_answer("The ancestor—a bacterium")
    ('ancestor—a bacterium', 'ancestor— bacterium')
    """
    text = _spaced(text.lower()).translate(_PUNCTUATION)
    return " ".join(word for word in text.split() if word not in ("a", "an", "the"))


@lru_cache(maxsize=50_000)
def without_marks(text: str) -> str:
    """Lower-case, put a space for every mark, squeeze white space; articles stay.

    >>> without_marks("The U.S.A."), without_marks("1.5 km.")
    ('the u s a', '1.5 km')
    """
    return " ".join(_NO_WORD.sub(" ", _spaced(text.lower())).split())


def holds(text: str, answer: str, normal: Callable[[str], str] = normalize_words) -> bool:
    """Return whether a text holds an answer, word for word in a normal form; an answer without words is never held.

    >>> holds("It came out in April 1953.", "april 1953"), holds("It came out in 1953.", "195"), holds("A", "")
    (True, False, False)
    """
    normal_answer = normal(answer)
    return bool(normal_answer) and f" {normal_answer} " in f" {normal(text)} "


def check_lists(values: Any, depth: int = 1) -> None:
    """Raise `TypeError` for a text in the place of a list of texts: its letters would be taken for texts.

    ``depth`` is how deeply lists are nested: 2 for a list of aliases per answer.
    """
    if isinstance(values, str):
        raise TypeError(f"a list is needed in place of the text {values!r:.80}")
    for value in values if depth > 1 else ():
        check_lists(value, depth - 1)


def several(answer: str) -> list[str]:
    """Return the answers that a short answer gives: those between semicolons; none for one without words.

    Tree of Clarifications asks for "short factoid answers separated by semi-colon" (appendix A.3).

    >>> several("Crisler Center; Michigan Stadium"), several("Steins;Gate"), several(" ; ")
    (['Crisler Center', 'Michigan Stadium'], ['Steins;Gate'], [])
    """
    return [part.strip() for part in _SEVERAL.split(answer) if without_marks(part)]


def words(text: str) -> list[str]:
    """Return the words of a text as they are written; of a script without spaces each character counts as one."""
    return _WORD.findall(text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text))


def content_words(text: str) -> list[str]:
    """Return the lower-cased words that carry meaning."""
    return [word for word in (w.lower() for w in words(text)) if word not in STOPWORDS]


def names_and_numbers(text: str) -> list[str]:
    """Return the names and numbers of a question or sentence: words with a capital but the first one, and figures.

    >>> names_and_numbers("When was Falcon 4 released in Berlin?")
    ['Falcon', '4', 'Berlin']
    """
    return _NAME.findall(text)


def stems(text: str) -> set[str]:
    """Return figures and the beginnings of words, five letters without the s of a plural, of a text.

    >>> sorted(stems("Falcon's releases and cups of 2018"))
    ['2018', 'and', 'cup', 'falco', 'of', 'relea']
    """
    tokens = re.findall(r"\w+(?:·\w+)*", _GENITIVE.sub("", text.casefold()))  # as `normalize_short` joins figures
    return {word if word[0].isdigit() else _PLURAL.sub("", word[:_STEM]) for word in tokens}


@dataclass(frozen=True)
class Sentence:
    """A sentence and its place in its text (characters)."""

    text: str
    start: int
    end: int


def sentences(text: str) -> list[Sentence]:
    """Split prose into sentences; initials and usual abbreviations do not end one.

    >>> [one.text for one in sentences("It is his Op. 111. It rained. 大桥于1957年建成。位于武汉！")]
    ['It is his Op. 111.', 'It rained.', '大桥于1957年建成。', '位于武汉！']
    >>> [one.text for one in sentences("Roe v. Wade fell. So says Martin v. Hagen.")]
    ['Roe v. Wade fell.', 'So says Martin v. Hagen.']
    >>> [one.text for one in sentences("Er lief am 4. Mai vom Stapel. I am 12. So is she.")]
    ['Er lief am 4. Mai vom Stapel.', 'I am 12.', 'So is she.']
    """
    return _split(text, _ABBREVIATION)


def sentences_by_shape(text: str) -> list[Sentence]:
    """Split English prose into sentences; initials and names of two letters ("Dr.", "Jo.") do not end one.

    Unlike `sentences` it knows no abbreviations: "vs." and "e.g." before a capital do end one.

    >>> [one.text for one in sentences_by_shape("J. R. Smith met Dr. Who. It was 1963! Then they left.")]
    ['J. R. Smith met Dr. Who.', 'It was 1963!', 'Then they left.']
    """
    return _split(text, _SHORT_NAME)


def _split(text: str, no_end: re.Pattern[str]) -> list[Sentence]:
    sentence_list: list[Sentence] = []
    start = 0
    for match in _BOUNDARY.finditer(text):
        if no_end.search(text, max(start, match.start() - _LONGEST_SHORT), match.start()):
            continue
        sentence_list.append(Sentence(text[start : match.end()].strip(), start, match.end()))
        start = match.end()
    if text[start:].strip():
        sentence_list.append(Sentence(text[start:].strip(), start, len(text)))
    return sentence_list


def ends(text: str) -> bool:
    """Return whether a text ends as a sentence does, in any script.

    >>> ends("It sank (in 1912)."), ends("位于武汉！"), ends("News Sport Contact"), ends("It sank…")
    (True, True, False, False)
    """
    return _ENDED.search(text) is not None


def sentence_at(text: str, position: int) -> Sentence:
    r"""Return the sentence that holds a character position; the end of a paragraph, or of a heading, ends one, too.

    >>> sentence_at("## Fuel\n\nIt takes 40 litres", 12).text
    'It takes 40 litres'
    """
    parts = sentences(text)
    found = next((part for part in parts if part.start <= position < part.end), parts[-1])
    gaps = [*re.finditer(r"\n\s*\n\s*", text)]
    start = max([found.start, *(gap.end() for gap in gaps if gap.end() <= position)])
    end = min([found.end, *(gap.start() for gap in gaps if gap.start() > position)])
    return Sentence(text[start:end].strip(), start, end)


def around(sentence: Sentence, position: int, most: int = 240) -> str:
    """Return a sentence on one line; of a long one what stands around a position in its text.

    Parameters
    ----------
    sentence, position
        See `sentence_at`.
    most
        Characters that are shown; half of them, but at most 120, stand before the position.

    >>> around(Sentence("One two three four five.", 0, 24), 8, most=14)
    '…two three…'
    """
    text, at = sentence.text, position - sentence.start
    start = max(0, min(at - min(_BEFORE, most // 2), len(text) - most))
    end = start + most
    words = text[start:end].split(" ")
    if cut_before := start > 0:
        words = words[1:] or words
    if cut_after := end < len(text):
        words = words[:-1] or words
    return f"{'…' * cut_before}{' '.join(' '.join(words).split())}{'…' * cut_after}"


def with_title(question: str, title: str, titles: Collection[str] = ()) -> str:
    """Return a question with what the title of a passage adds to it.

    Of a section it is the heading, or the first part above it, that none of some other ``titles`` has.

    >>> with_title("Who directed Hairspray?", "Hairspray (1988 film)")
    'Who directed Hairspray (1988 film)?'
    >>> with_title("Who directed it?", "Hairspray"), with_title("Who directed Hairspray?", "Hairspray")
    ('Who directed it (Hairspray)?', 'Who directed Hairspray?')
    >>> with_title("What is it?", "Contract (Acme) › Fees"), with_title("What is it?", "Contract, part 2 › Fees (old)")
    ('What is it (Acme)?', 'What is it (Contract, part 2 › Fees (old))?')
    >>> with_title("What does it cost?", "Prices › Forest Cabin", ["Prices › Lake Cabin"])
    'What does it cost (Forest Cabin)?'
    >>> with_title("它在哪里？", "大桥")
    '它在哪里 (大桥)?'
    """
    question_words = set(content_words(question))
    apart = _document_apart(title)[1]
    if {*titles} - {title}:
        title = next(reversed(_own_parts(title, titles)), title)
    name, qualifier = split_title(title, commas=True)
    addition = apart or (qualifier if set(content_words(name)) <= question_words else title)
    return question if set(content_words(addition)) <= question_words else f"{question.rstrip(' ?？؟')} ({addition})?"


def names_title(text: str, title: str, titles: Collection[str] = ()) -> bool:
    """Return whether a text names what a title stands for: it has all its words.

    Of a section it may have those of the heading or of the document alone, if none of some other ``titles`` has that.

    >>> names_title("The forest cabin costs 95 euros.", "Prices › Forest Cabin", ["Prices › Lake Cabin"])
    True
    >>> names_title("The fees are 10 euros.", "Acme › Fees", ["Globex › Fees"])
    False
    """
    words = set(content_words(text))
    own = [part for part in _own_parts(title, titles) if content_words(part)] if SECTION in title else []
    return any(set(content_words(part)) <= words for part in [title, *own])


SECTION = " › "
"""Between the title of a document and that of a section in the title of a passage."""


def _own_parts(title: str, titles: Collection[str]) -> list[str]:
    """Return the document and the headings of a title that none of some other titles has."""
    elsewhere = {part for other in titles if other != title for part in other.split(SECTION)}
    return [part for part in title.split(SECTION) if part not in elsewhere]


def split_title(title: str, *, commas: bool = False) -> tuple[str, str]:
    """Split a title into its name and the qualifier that follows in brackets; the qualifier may be empty.

    That of a document may stand before the section.

    Parameters
    ----------
    commas
        Whether what follows a comma is a qualifier, too.

    >>> split_title("Titanic (1953 film)"), split_title("Perth, Ontario"), split_title("Perth, Ontario", commas=True)
    (('Titanic', '1953 film'), ('Perth, Ontario', ''), ('Perth', 'Ontario'))
    >>> split_title("Contract (Acme) › Fees"), split_title("Rules (US) › Fees")
    (('Contract › Fees', 'Acme'), ('Rules › Fees', 'US'))
    >>> split_title("Paid parental leave (PPL) › Notice")
    ('Paid parental leave (PPL) › Notice', '')
    """
    title = title.strip()
    if (parts := _document_apart(title))[1]:
        return parts
    name, bracket, qualifier = title.removesuffix(")").rpartition("(")
    name = name.rstrip()
    if title.endswith(")") and bracket and name and ")" not in qualifier and "\n" not in name:
        return name, qualifier.strip()
    match = re.fullmatch(r"(.+?), (.+)", title) if commas else None
    return (match[1], match[2]) if match else (title, "")


def _document_apart(title: str) -> tuple[str, str]:
    """Split from the title of a section what tells its document from others of one title; it may be empty."""
    document, section, rest = title.partition(SECTION)
    name, qualifier = split_title(document) if section else ("", "")
    letters = iter(name.lower())
    begins = qualifier.isupper() and name[:1].upper() == qualifier[0]
    abbreviates = begins and all(letter in letters for letter in qualifier.lower())
    return (title, "") if abbreviates else (f"{name}{section}{rest}", qualifier)


def is_kind(qualifier: str) -> bool:
    """Return whether the qualifier of a title says what kind of thing it is, and not its name.

    >>> [is_kind(qualifier) for qualifier in ("1953 film", "NASA", "v2", "2024-05-04", "")]
    [True, False, False, False, False]
    """
    last = "".join(qualifier.split()[-1:])
    return last.islower() and not any(map(str.isdigit, last))
