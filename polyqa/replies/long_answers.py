"""The long answer: plain text, without what language models put around it."""

import re

from .nothing import is_bare_null, looks_like_refusal, says_unanswered
from .records import split_citation
from .text import shown, strip_dress, strip_quotes, told, without_fence, without_lead, without_thoughts

_HEADER = re.compile(
    r"\A\s*(?:#{1,6}\s*)?[*_]{0,2}(?:long[- ]form |long |final )?answer[*_]{0,2}\s*(?::[*_]{0,2}|\n)\s*", re.I
)
_TITLE = re.compile(r"\A\s*#{1,6}\s*(?:long[- ]form |long |final )?answer\s*\n", re.I)
# A line of its own that announces the answer, or a sentence up to a colon that does.
_INTRODUCTION = re.compile(
    r"\A\s*(?:(?i:sure|certainly|of course|okay|ok)\b[!,.]?\s*)?(?:(?i:based on|using|given|from)\s[^:\n]{0,80},\s*)?"
    r"(?i:here['’]s|here is|below is)\s[^:\n]{0,60}\b(?:answer|response|summary)\b[^:\n]{0,60}:\s*(?=\S)"
)
_AFTERWORD = re.compile(
    r"\n(?:\s*[-*_]{3,}\s*\n)?\s*[(\[*_]*(?:note(?: that)?\s*:|please note\b|i hope (?:this|that)|let me know|"
    r"feel free|is there anything else|would you like me to)[^\n]*(?:\n[^\n]+)*\s*\Z",
    re.I,
)
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+(.*?)[ \t#:]*")
# A reading of the list that the answer was to tell: "1. When did the film come out? | 1997 [1]".
_ROW = re.compile(
    r"\s*(?:(?:\d{1,2}[.)]|[-*•])\s+)?(?P<question>[^|]{1,300}\?)[*_\"”]{0,3}\s*\|\s*(?P<answer>[^|\s][^|]{0,300})"
)
_CITED = re.compile(
    r"(?:[(\[](?:see )?|, as (?:mentioned|stated|described) in )(?:passages?|sources?) (\d+(?:(?:, | and |, and )\d+)*)"
    r"(?:[)\]]|(?=[.,;]))",
    re.I,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+")
_MOST_TOLD = 3  # times that a sentence stands in an answer that is no loop
# A sentence says that something is missing (the first), and from where or what for (the second).
_LACK = re.compile(
    r"\b(?:not|cannot|\w{1,9}n['’]t|no|none|nothing|neither|never|lacks?|lacking|fails?|insufficient|unable|unclear|"
    r"impossible|without|unavailable|irrelevant|regret|need|(?:could|can) you|please (?:provide|give|share))\b",
    re.I,
)
_SOURCES = (
    r"(?:passages?|texts?|contexts?|documents?|sources?|excerpts?|snippets?|interpretations?|information|questions?)"
)
_TELLING = re.compile(
    rf"\b(?:{_SOURCES}|answer\w*|determin\w+|find|found|say\w*|said|tell\w*|told|identif\w+|establish\w*|infer\w*|"
    r"confirm\w*|provide\w*|give\w*|see|know\w*|mention\w*|specif\w+|access)\b",
    re.I,
)
# Words that stand capitalised in a refusal, too, and when a model's knowledge ends.
_NO_FACT = re.compile(
    rf"\b(?:I|AI|LLM)\b|\b(?:\d+\s+)?(?:\w+\s+)?{_SOURCES}\s*#?\d*\b|\[\d[\d,\s]*\]|"
    r"\b(?:knowledge cutoff|last (?:knowledge )?update|training data)\b[^.;\n]*",
    re.I,
)
_WORD = re.compile(r"\d[\d,.]*\d|\w+(?:-\w+)*")
_FACT = re.compile(r"\d[\d,.]*|(?<![.!?:\n]\s)(?<!\A)(?<!\w)[^\W\d_a-zß-öø-ÿ][\w'’-]*")


def clean_answer(text: str) -> str:
    """Return a long answer without thoughts, fence or quotes, an introduction before it and a note after it.

    A heading goes before the line that it heads, a list of readings is dropped where the prose tells their answers and
    told as prose where it does not, "(Passage 1)" is written [1], as in the prompt, "The passage states that" goes, and
    of a loop each sentence is kept once.

    >>> clean_answer('<think>Which film?</think>**Answer**: "It came out in 1997."')
    'It came out in 1997.'

    Raises
    ------
    ValueError
        If nothing is left.
    """
    before, left = "", told(text)
    while left != before:
        before = left
        left = without_fence(left)
        left = _INTRODUCTION.sub("", left)
        left = strip_quotes(_HEADER.sub("", left) if _HEADER.match(left) else _TITLE.sub("", left))
        left = _AFTERWORD.sub("", left).strip()
    if is_bare_null(left):
        raise ValueError(f"no answer: {shown(text)}")
    return without_lead(_CITED.sub(_cited, _once(_as_prose(left))))


def _cited(found: re.Match[str]) -> str:
    return f"{' ' if found[0][0] == ',' else ''}[{', '.join(re.findall(r'[0-9]+', found[1]))}]"


def _once(text: str) -> str:
    """Return an answer that went round and round with each of its sentences told once."""
    sentences = _SENTENCE_END.split(text)
    if max(map(sentences.count, {*sentences}), default=0) <= _MOST_TOLD:
        return text
    told_before = list(dict.fromkeys(sentences))
    return " ".join(told_before[:-1] if told_before[-1][-1:] not in '.!?]"' else told_before)


def _as_prose(text: str) -> str:
    """Return an answer without Markdown's headings and rows of readings."""
    if "#" not in text and "|" not in text:
        return text
    lines = text.split("\n")
    rows = [_ROW.fullmatch(line) for line in lines]
    prose = "\n".join(line.casefold() for line, row in zip(lines, rows, strict=True) if not row)
    kept, heading = [], ""
    for line, row in zip(lines, rows, strict=True):
        if head := _HEADING.fullmatch(line):
            heading = head[1]
        elif row is None:
            kept.append(f"{heading}: {line}" if heading and line.strip() else line)
            heading = "" if line.strip() else heading
        elif split_citation(row["answer"])[0].casefold().rstrip(" .") not in prose:
            kept.append(f"{row['question']} {row['answer'].rstrip(' .')}.")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip() or text


def tells_nothing(text: str, asked: str = "") -> bool:
    """Return whether a long answer only says that there is none.

    True answers begin alike ("No passage names the musical; the film came out in 1997."). They name somebody or
    something, or a number, that is not in the question; a refusal does not.

    Parameters
    ----------
    text
        The long answer.
    asked
        The question, and whatever else was asked: names and numbers in it are no news.

    >>> tells_nothing("Based on the passages, there is no mention of it."), tells_nothing("No. It rained.")
    (True, False)
    >>> tells_nothing("The text does not mention hunting; Congress passed it in 1791.")
    False
    """
    said = strip_dress(without_thoughts(text)).strip()
    refuses = (
        looks_like_refusal(said)
        or says_unanswered(said)
        or any(_LACK.search(sentence) and _TELLING.search(sentence) for sentence in re.split(r"[.!?\n]", said))
    )
    if not refuses or any(_tells(clause) for clause in re.split(r"[:;]", said)[1:]):
        return False
    return not _facts(said) - {fact.casefold() for fact in _WORD.findall(asked)}


def _tells(clause: str) -> bool:
    """Return whether what follows a colon is more than the reason for having no answer."""
    return len(clause.split()) > 3 and not _LACK.search(clause) and not _TELLING.search(clause)


def _facts(text: str) -> set[str]:
    facts = {fact.rstrip(",.").casefold() for fact in _FACT.findall(_NO_FACT.sub(" ", text))}
    return {fact.removesuffix("'s").removesuffix("’s") for fact in facts}
