"""How language models say that there is nothing to say, and that they will not say it."""

import re

from .text import strip_dress, without_bullet, without_thoughts

_ALONE = {"", "none", "null", "n/a", "n.a", "[]", "{}", "unknown", "not applicable", "-", "–", "—"}
# Before a break these words mean nothing only if what follows speaks of what is missing.
_BROKEN = re.compile(r"\W*(?:none|null|n/a|unknown)\b\W*[,.;:(–—\n-]\W*(?P<tail>.+)", re.I | re.S)
_SOURCE = r"(?:passages?|texts?|contexts?|documents?|sources?)"
_LACKS = re.compile(rf"\b(?:{_SOURCE}|not|no|nothing|cannot|answer|only|mention\w*)\b|n['’]t\b", re.I)
_TOLD = r"(?:mentioned|stated|specified|given|provided|answered|answerable|found|available|known|clear|present|said)"
_TELL = (
    r"(?:contain|mention|state|specify|provide|say|answer|give|include|address|discuss|tell|name|directly|explicitly)"
)
_WHAT = r"(?:answers?|information|mention|data|evidence|relevant \w+|readings?|interpretations?|passages?|such \w+)"
_END = (
    r"(?=\W*\Z|\s*[,.;:(–—-]|\s+(?:in|by|from|within|based on|on|of|about|for|to)\s+"
    r"(?:the|this|these|that|any|it|passages?|who|what|when)\b)"
)
_IT = r"(?:(?:this|that|it|(?:the|an|its)\s+(?:\w+\s+){0,3}\w+)\s+)?"
_STATEMENT = re.compile(
    # The passages do not contain the answer; None of the passages say so; None of the 3 readings
    rf"(?:(?:the|this|these|given|provided)\s+)*{_SOURCE}\b[^.!?\n]{{0,40}}?"
    rf"\b(?:do|does|did|can|could|is|are)\s?(?:not|n['’]t)\b\s*(?:\w+ly\s+)?(?:{_TELL}|{_TOLD})"
    rf"|(?:no|neither|none|nothing)\b(?:\s+(?:of|in|the|these|given|provided))*\s+{_SOURCE}\b.*\b\w+"
    r"|none\s+of\s+(?:the|these|them|those)\s*(?:\W*\Z|(?:\d+\s+|given\s+)?(?:candidates?|readings?|questions?)\b)"
    # Not mentioned; The year was not given; It cannot be determined; Unanswerable
    rf"|{_IT}(?:(?:is|was|are|were)\s?)?(?:not|n['’]t|never)\s?(?:\w+ly\s+)?{_TOLD}{_END}"
    rf"|{_IT}(?:cannot|can\s?not|can['’]t)\s+(?:be\s+)?(?:determined?|answer(?:ed)?|infer(?:red)?|found|say|tell)\b"
    rf"|{_IT}(?:(?:is|remains)\s+)(?:unknown|unanswerable)\b|unanswerable\W*\Z"
    # No answer; There is no information on it; Insufficient evidence; I don't know
    r"|(?:insufficient|not enough)\s+(?:information|evidence|context)\b"
    rf"|(?:there\s+(?:is|are|was)\s+)?no\s+{_WHAT}(?:{_END}|\s+(?:is|are|was|can|that|answers?)\b)"
    rf"|there\s+is\s?n['’]t\s+(?:an?|any)\s+{_WHAT}\b|(?-i:I\s+(?:do not|don['’]t)\s+know)\b",
    re.I,
)
# Case counts after the first word: "I'm Sorry" and "I Can't Get No Satisfaction" are songs.
_REFUSAL = re.compile(
    r"(?i:I['’]m|I am)\s+(?:\w+\s+)?(?:sorry|unable|not able|afraid)\b(?=\s*[,.;:!–—-]|\s+(?:but|that|to|I|for)\b)"
    r"|(?i:sorry)\b\s*(?:[,.;:!–—-]\s*|\s)(?:but|I|this|there|the|as|that|no|for)\b"
    r"|(?i:(?:my )?apologies|I (?:must )?apologi[sz]e)\b(?=\s*[,.;:!–—-]|\s+(?:but|for|that)\b)"
    r"|(?i:unfortunately|regrettably)\s*,?\s+(?:I|we|there|the|this|it|no|none)\b"
    r"|(?i:I|we)\s+(?:cannot|can\s?not|can['’]t|could not|couldn['’]t|won['’]t|will not)\s+(?:\w+ly\s+)?"
    r"(?:answer|help|assist|provide|determine|find|give|comply|identify|confirm|access|infer|rewrite|list|say|see)\b"
    r"|(?i:as an?)\s+(?i:ai|(?:large )?language model)\b"
    r"|I\s+(?:do not|don['’]t)\s+have\s+(?:access|enough|any|the|sufficient|information)\b"
)


def bare(text: str) -> str:
    """Return a text without bullet, quotes, bold marks, brackets and a final full stop."""
    text = strip_dress(without_thoughts(text))
    text = strip_dress(without_bullet(text) or text)  # "3." is an answer
    before = None
    while before != text:
        before, text = text, strip_dress(text.strip().rstrip(".").strip())
        if text[:1] + text[-1:] in ("[]", "()") and text[1:-1].strip():
            text = text[1:-1].strip()
    return text


def is_null(text: str) -> bool:
    """Return whether a language model wrote that there is nothing: empty text, "null", "not mentioned".

    An explanation may follow. Names that begin alike are none: a film called "None of the Above" is an answer.

    >>> is_null("None."), is_null("**null** (the passage only names the film)"), is_null("Nonesuch")
    (True, True, False)
    """
    reply = bare(text)
    broken = _BROKEN.match(reply)
    return is_bare_null(reply) or bool(broken and _LACKS.search(broken["tail"])) or bool(_STATEMENT.match(reply))


def gives_nothing(text: str) -> bool:
    """Return whether a language model wrote that there is nothing, or that it will not say it.

    >>> gives_nothing("null"), gives_nothing("I'm sorry, but I cannot tell."), gives_nothing("I'm Sorry")
    (True, True, False)
    """
    return is_null(text) or looks_like_refusal(text)


def is_bare_null(text: str) -> bool:
    """Return whether a text is a word for nothing, alone.

    >>> is_bare_null("`N/A`."), is_bare_null("Not mentioned")
    (True, False)
    """
    return bare(text).lower() in _ALONE


def says_unanswered(text: str) -> bool:
    """Return whether a text states that there is no answer.

    >>> says_unanswered("The passages do not contain the answer."), says_unanswered("The Unanswered Question")
    (True, False)
    """
    return bool(_STATEMENT.match(bare(text)))


def looks_like_refusal(text: str) -> bool:
    """Return whether a text begins as language models do when they refuse or cannot.

    >>> looks_like_refusal("I'm sorry, but I can't help with that."), looks_like_refusal("I'm Sorry (Brenda Lee song)")
    (True, False)
    """
    return bool(_REFUSAL.match(strip_dress(without_bullet(without_thoughts(text)))))
