"""How language models say that there is nothing to say, and that they will not say it."""

import re

from .text import strip_dress, without_bullet, without_thoughts

# Alone, they mean nothing; before a break, only if what follows speaks of what is missing.
_WORDS = r"none|null|n/a|n\.a"
_ALONE = {"", "none", "null", "n/a", "n.a", "[]", "{}", "unknown", "not applicable", "-", "–", "—"}
_NO_WHAT = (
    r"answers?|short answers?|information|info|mention|data|evidence|relevant \w+|readings?|interpretations?|"
    r"questions?|passages?|texts?|documents?|such \w+"
)
_SOURCE = r"(?:passages?|texts?|contexts?|documents?|sources?|articles?|excerpts?|paragraphs?|snippets?)"
_UNTOLD = (
    r"(?:mentioned|stated|specified|given|provided|answered|answerable|found|available|known|named|told|disclosed|"
    r"discussed|listed|indicated|included|contained|covered|addressed|determinable|applicable|clear|present|said)"
)
_TELL = (
    r"(?:contain|mention|state|specify|provide|say|answer|give|include|address|indicate|discuss|tell|name|list|"
    r"disclose|cover|have|hold|reveal|support|offer|directly|explicitly|actually|clearly)"
)
_END = (
    r"(?=\W*\Z|\s*[,.;:(–—-]|\s+(?:anywhere|here|explicitly|directly)\b|"
    r"\s+(?:in|by|from|within|based on|on|of|about|for|to|with)\s+"
    r"(?:the|this|these|that|any|either|it|passages?|who|what|when)\b)"
)
_BROKEN = re.compile(rf"[*_`\"']*(?:{_WORDS}|unknown)\b[*_`\"'.]*\s*[,.;:(\[–—\n-]\s*(?P<tail>.+)", re.I | re.S)
_LACKS = re.compile(
    rf"\b(?:{_SOURCE}|not|no|nothing|n't|cannot|answer|only|unknown|mention\w*|missing|lack\w*|without)\b|n't\b", re.I
)
_IT = r"(?:(?:this|that|it|(?:the|an|its)\s+(?:\w+\s+){0,3}\w+)\s+)?"
_THERE = r"(?:there\s+(?:is|are|was|were)\s+)?"
_STATEMENTS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        # The passages do not contain the answer; None of the passages say so; None of the 3 readings
        rf"(?:(?:the|this|these|those|given|provided|both|any|all|above|retrieved|cited|such|numbered)\s+)*{_SOURCE}\b"
        rf"[^.!?\n]{{0,40}}?\b(?:do|does|did|can|could|is|are)\s?(?:not|n't)\b\s*(?:\w+ly\s+)?(?:{_TELL}|{_UNTOLD})",
        rf"(?:no|neither|none|nothing)\b(?:\s+(?:of|in|the|these|this|those|given|provided|single|above|any))*\s+{_SOURCE}"
        r"\b.*\b\w+",
        r"none\s+of\s+(?:the|these|them|those)\s*(?:\W*\Z|(?:\d+\s+|given\s+|above\s+)?(?:candidates?|readings?|"
        r"interpretations?|questions?|answers?)\b)",
        # Not mentioned; The year was not given; It cannot be determined; This remains unknown; Unanswerable
        rf"{_IT}(?:(?:is|was|are|were)\s?)?(?:not|n't|never|un(?=answer))\s?(?:\w+ly\s+)?{_UNTOLD}{_END}",
        rf"{_IT}(?:cannot|can\s?not|can't|could\s?n[o']t|impossible to)\s+"
        r"(?:be\s+)?(?:determined?|answer(?:ed)?|inferred|infer|found|established|say|tell|known)\b",
        rf"{_IT}(?:is|remains)\s+(?:unknown|unanswerable|undetermined|unanswered)\b",
        r"(?:unanswerable|undetermined|undeterminable)\W*\Z",
        # No answer; There is no information on it; Insufficient evidence; I don't know
        r"(?:insufficient|not enough)\s+(?:information|evidence|context|data)\b",
        rf"{_THERE}no\s+(?:{_NO_WHAT})(?:{_END}|\s+(?:is|are|was|were|can|could|that|answers?)\b)",
        rf"there\s+is\s?n(?:o|')t\s+(?:an?|any)\s+(?:{_NO_WHAT})\b",
        r"(?-i:I\s+(?:do not|don't|don’t)\s+know)\b",
    )
)
_DOING = (
    r"(?:answer|help (?:with|you)|assist|provide|determine|find|give|comply|fulfil\w*|generate|create|identify|verify|"
    r"confirm|access|browse|tell|infer|rewrite|produce|complete|disambiguate|discuss|share|make|extract|list|read|say|"
    r"do (?:that|this)|see)"
)
_REFUSALS = tuple(
    re.compile(pattern)
    for pattern in (
        # Case counts after the first word: "I'm Sorry" and "I Can't Get No Satisfaction" are songs.
        r"(?i:I['’]m|I am|we['’]re|we are)\s+(?:\w+\s+)?(?:sorry|unable|not able|afraid)\b"
        r"(?=\s*[,.;:!–—-]|\s+(?-i:but|that|to|I|for)\b)",
        r"(?i:sorry)\b\s*(?:[,.;:!–—-]\s*|\s)(?-i:but|I|this|there|the|as|that|we|no|for)\b",
        r"(?i:(?:my )?apologies|I (?:must )?apologi[sz]e)\b(?=\s*[,.;:!–—-]|\s+(?-i:but|for|that)\b)",
        r"(?i:unfortunately|regrettably)\s*,?\s+(?-i:I|we|there|the|this|it|no|none)\b",
        rf"(?i:I|we)\s+(?i:cannot|can\s?not|can['’]t|could not|couldn['’]t|won['’]t|will not|am not able to)"
        rf"\s+(?:\w+ly\s+)?{_DOING}\b",
        r"(?i:as an?)\s+(?i:ai|artificial intelligence|(?:large )?language model)\b",
        r"(?i:I)\s+(?i:do not|don['’]t)\s+(?:actually\s+)?have\s+(?:access|enough|any|the|sufficient|information)\b",
    )
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
    said = bare(text)
    if is_bare_null(said):
        return True
    if (match := _BROKEN.match(said)) and _LACKS.search(match["tail"]):
        return True
    return says_unanswered(said)


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
    said = bare(text)
    return any(pattern.match(said) for pattern in _STATEMENTS)


def looks_like_refusal(text: str) -> bool:
    """Return whether a text begins as language models do when they refuse or cannot.

    >>> looks_like_refusal("I'm sorry, but I can't help with that."), looks_like_refusal("I'm Sorry (Brenda Lee song)")
    (True, False)
    """
    said = strip_dress(without_bullet(without_thoughts(text)))
    return any(pattern.match(said) for pattern in _REFUSALS)
