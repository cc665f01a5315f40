"""The long answer: plain text, without what language models put around it."""

import re

from .nothing import is_bare_null, looks_like_refusal
from .text import out_of_brackets, shown, strip_dress, told, without_fence, without_lead, without_thoughts

_HEADER = re.compile(
    r"\A\s*(?:#{1,6}\s*)?[*_]{0,2}(?:the )?(?:long[- ]form |long |final )?answer(?: is)?[*_]{0,2}\s*"
    r"(?::[*_]{0,2}|\n)\s*",
    re.I,
)
_AROUND = re.compile(  # "Here is the answer:", "I hope this helps!"
    r"\A(?:(?:sure|certainly|of course)\b[!,.]?\s*)?here(?:['’]s| is)\s[^:\n]{0,60}\banswer\b[^:\n]{0,60}:\s*(?=\S)"
    r"|\n[\s(*_-]*(?:note\W*:|i hope th|let me know\b)[^\n]*\Z",
    re.I,
)
# So a small model says why its answer is right.
_EVIDENT = re.compile(
    r"\s*\bThis (?:(?:reading|interpretation|answer) )?(?:is|can be) (?:also )?"
    r"(?:a fact|evident|clear|supported|determined|seen|correct|based)\b[^\n]{0,40}?\bpassages?\b[^\n]*"
)
_AS_TOLD = re.compile(
    r",? as (?:stated|mentioned|described|indicated|evidenced|shown|told) (?:in|by) (?:the )?(?:\w+ )?passages?\b"
    r"(?: (?:about|on|of|in which|where)\b(?:[^;\n\"“]|[\"“][^\"”\n]{1,60}[\"”])*?)?"
    r"(?=[.;]?(?:\n|\Z)|\. [A-Z]|( ?\[\d))"
)
_CITED = re.compile(
    r"(?:[(\[](?:see )?|, as (?:mentioned|stated|described) in )(?:passages?|sources?) (\d+(?:(?:, | and |, and )\d+)*)"
    r"(?:[)\]]|(?=[.,;]))",
    re.I,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
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
    r"""Return a long answer without thoughts, fence, quotes, header, introduction or note.

    "(Passage 1)" is written [1], as in the prompt, "The passage states that" and why an answer is right go, and of a
    loop each sentence is kept once.

    >>> clean_answer('<think>Which film?</think>**Answer**: "It came out in 1997."')
    'It came out in 1997.'
    >>> clean_answer("answer (It came out in 1997.) This is clear from passage 2.")
    'It came out in 1997.'

    Raises
    ------
    ValueError
        If nothing is left.
    """
    before, answer = "", told(text)
    while answer != before:
        before, answer = answer, strip_dress(_HEADER.sub("", _AROUND.sub("", without_fence(answer)).strip()))
    answer = _without_why(without_lead(answer))
    if is_bare_null(answer):
        raise ValueError(f"no answer: {shown(text)}")
    return _CITED.sub(_cited, _once(answer))


def _without_why(text: str) -> str:
    """Return an answer without the brackets of its field, and without what says only why it is right."""
    text = out_of_brackets(text, "answer", "the long-form answer")
    shorter = _EVIDENT.sub("", text).strip()
    return _AS_TOLD.sub("", shorter) if shorter else text


def _cited(citation: re.Match[str]) -> str:
    return f"{' ' if citation[0][0] == ',' else ''}[{', '.join(re.findall(r'[0-9]+', citation[1]))}]"


def _once(text: str) -> str:
    """Return an answer that went round and round with each of its sentences told once.

    A few lines that are the same stay, as each may tell another reading.
    """
    sentences = _SENTENCE_END.split(text)
    if max(map(sentences.count, {*sentences}), default=0) <= _MOST_TOLD:
        return text
    lines = list(map(_line_once, text.split("\n")))
    return "\n".join(lines if max(map(lines.count, lines)) <= _MOST_TOLD else dict.fromkeys(lines))


def _line_once(line: str) -> str:
    sentences = list(dict.fromkeys(_SENTENCE_END.split(line)))
    return " ".join(sentences[:-1] if len(sentences) > 1 and sentences[-1][-1:] not in '.!?]"' else sentences)


def tells_nothing(text: str, asked: str = "") -> bool:
    """Return whether a long answer only says that there is none, or is none.

    True answers begin alike ("No passage names the musical; the film came out in 1997."). They name somebody or
    something, or a number, that is not in the question, or whatever else was asked; a refusal does not.

    >>> tells_nothing("Based on the passages, there is no mention of it."), tells_nothing("No. It rained.")
    (True, False)
    >>> tells_nothing(""), tells_nothing("N/A")
    (True, True)
    >>> tells_nothing("The text does not mention hunting; Congress passed it in 1791.")
    False
    """
    if is_bare_null(text):
        return True
    statement = strip_dress(without_thoughts(text)).strip()
    refuses = looks_like_refusal(statement) or any(
        _LACK.search(sentence) and _TELLING.search(sentence) for sentence in re.split(r"[.!?\n]", statement)
    )
    if not refuses or any(_tells(clause) for clause in re.split(r"[:;]", statement)[1:]):
        return False
    return _facts(statement) <= _words(asked)


def _tells(clause: str) -> bool:
    """Return whether what follows a colon is more than the reason for having no answer."""
    return len(clause.split()) > 3 and not _LACK.search(clause) and not _TELLING.search(clause)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _facts(text: str) -> set[str]:
    facts = {fact.rstrip(",.").casefold() for fact in _FACT.findall(_NO_FACT.sub(" ", text))}
    return {fact.removesuffix("'s").removesuffix("’s") for fact in facts}
