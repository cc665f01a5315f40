"""Yes or No."""

import re
from collections.abc import Mapping
from typing import Any

from .nothing import says_unanswered
from .text import decode, shown, strip_dress, told

_VERDICT = r"(?P<word>yes|no|true|false)"
_ALONE = re.compile(r"[\W_]*(?P<word>yes|no|y|n|true|false)(?:[\W_]|\[\d+\]|\(\d+\))*", re.I)
_CONCLUDES = re.compile(
    r"\b(?:overall|final(?:ly)?|in conclusion|conclusion|(?:my |the )?(?:final |short )?(?:answer|verdict|judge?ment)|"
    r"therefore|thus|hence|in short|in sum|to sum up|altogether|result|so)\b"
    rf"[^.!?\n:]{{0,40}}?[*_`\"'\s]*(?:[:,=]|\bis|\s[-–—]|(?<=so)|(?<=overall))[*_`\"'\s]*\b(?:{_VERDICT}\b(?![^\S\n]+[a-z])|(?P<letter>[yn])\b(?=\W*(?:\Z|\n)))",
    re.I,
)
# A verdict stands by itself: at the beginning of a sentence or after a colon or dash, and before a break.
_BY_ITSELF = re.compile(
    rf"(?:\A|[\n.!?:;(–—]|\s-\s|[*_`\"'\[])[\s*_`\"'(\[]*{_VERDICT}\b[*_`\"'\])]*(?=\s*(?:[.,;:!(\[–—\n]|\s-\s|\Z)|\s+(?:for|in|because|since|as|the|it|this|that|they|but|and|not)\b)",
    re.I,
)
_LEADING = re.compile(r"[\W_]*(?P<word>yes|no|true|false)\b", re.I)
_NO_DOUBT = re.compile(r"[\W_]*no\s+(?:doubt|question|problem|wonder|matter|need|less|further|longer|one|more)\b", re.I)
_LATER = re.compile(
    r"\b(?P<word>yes|true|false)\b|(?:\bsay|\bis|\bbe|\banswer)\s+(?P<no>no)\b(?=\W*\Z|\s*[.,;:!]|\s+(?:because|since|as)\b)",
    re.I,
)
_HEDGED = re.compile(r"\b(?:perhaps|maybe|possibly|probably|may|might|could|would be|either|unsure|not sure)\b", re.I)
_BOTH = re.compile(
    r"\b(?:yes\W+(?:and|but(?: also)?)\W+no|no\W+(?:and|but(?: also)?)\W+yes)\b(?=\W*(?:\Z|\n|[.!;:,]))", re.I
)
_CORRECTS = re.compile(
    rf"\b(?:wait|actually|correction|rather|i mean|on second thoughts?|sorry|hmm|well)\b[\s,.:;!…–—-]*{_VERDICT}\b"
    r"(?=\s*(?:[.,;:!\n]|\Z))",
    re.I,
)
_CHOICE = re.compile(r"\byes\s*(?:or|/|\|)\s*no\b|\btrue\s*(?:or|/|\|)\s*false\b", re.I)
# The keys of a verdict: what it is called anywhere, and the fields of these signatures.
_KEYS = re.compile(
    r"answer|verdict|judge?ment|overall|final|conclusion|result|settled|needs|relevant|fitting|supported", re.I
)
_NEGATED = re.compile(r"\b(?:not|n't|cannot|never|neither|nor)\s+(?:\w+\s+)?(?:yes|true|false|no)\b", re.I)


def parse_yes_no(value: Any) -> str:
    r"""Return ``"Yes"`` or ``"No"`` from a text's verdict, from a bool, or from 1 and 0.

    What concludes counts: the last line if it is a verdict, or one after "Overall:", "Answer:" and the like. Else all
    verdicts of the text must agree. A text that says that there is no answer means No.

    >>> parse_yes_no("Passage 1: No\nPassage 2: Yes\nOverall: Yes"), parse_yes_no("There is no doubt: Yes")
    ('Yes', 'Yes')

    Raises
    ------
    ValueError
        If there is no verdict, or there are several that differ and none concludes.
    """
    if isinstance(value, bool) or (isinstance(value, (int, float)) and value in (0, 1)):
        return "Yes" if value else "No"
    if isinstance(value, Mapping) and len(value) == 1 and isinstance(next(iter(value.values())), (str, bool)):
        return parse_yes_no(next(iter(value.values())))
    if isinstance(value, Mapping):  # {"reason": "No passage is …", "answerable": "Yes"}
        told_by = {str(key): _ALONE.fullmatch(str(item)) for key, item in value.items()}
        said = {_meant(match["word"]) for key, match in told_by.items() if match and _KEYS.search(key)}
        value = said.pop() if len(said) == 1 else value
    if isinstance(value, (list, tuple)) and len(value) == 1 and isinstance(value[0], (str, bool)):
        return parse_yes_no(value[0])  # not a number: DSPy's repairing parser makes [1] of "No [1]"
    verdict = _of_text(told(value)) if isinstance(value, str) else None
    if verdict is None:
        raise ValueError(f"neither Yes nor No: {shown(value)}")
    return verdict


def _of_text(text: str) -> str | None:
    decoded = decode(text)
    if isinstance(decoded, (Mapping, list)) and decoded != []:
        return parse_yes_no(decoded)
    text = _CHOICE.sub(" ", strip_dress(text))
    lines = [line for line in text.splitlines() if re.search(r"\w", line)]
    if not lines:
        return None
    if _BOTH.search(text):
        return None
    concluded = {_meant(match["word"] or match["letter"]): match.end() for match in _CONCLUDES.finditer(text)}
    if match := _ALONE.fullmatch(lines[-1]):
        return _meant(match["word"]) if concluded.keys() <= {_meant(match["word"])} else None
    if concluded:
        last = max(concluded, key=lambda word: concluded[word])
        return last if _corrections(text[concluded[last] :]) <= {last} else None
    if match := _ALONE.fullmatch(lines[0]):
        lines_after = {_meant(found["word"]) for found in _BY_ITSELF.finditer("\n".join(lines[1:]))}
        return _meant(match["word"]) if lines_after <= {_meant(match["word"])} else None
    return _one_of(text)


def _one_of(text: str) -> str | None:
    if says_unanswered(text) and not re.search(r"\byes\b", text, re.I):
        return "No"
    leading = _LEADING.match(text) if not _NO_DOUBT.match(text) else None
    found = {_meant(match["word"]) for match in _BY_ITSELF.finditer(text)} | _corrections(text)
    if leading:
        found.add(_meant(leading["word"]))
    if not found and not _NEGATED.search(text) and not _HEDGED.search(text):
        found = {_meant(match["word"] or match["no"]) for match in _LATER.finditer(text)}
    return found.pop() if len(found) == 1 else None


def _corrections(text: str) -> set[str]:
    return {_meant(match["word"]) for match in _CORRECTS.finditer(text)}


def _meant(word: str) -> str:
    return "Yes" if word.lower() in ("yes", "true", "y") else "No"
