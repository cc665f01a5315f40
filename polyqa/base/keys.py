"""Keys of providers, which are never written down: settings that may hold one, and errors that repeat one."""

import os
import re

_SECRET = re.compile(r"key|secret|credential|password|auth|header|token_provider|(^|_)token$", re.I)
_LIKE_A_KEY = re.compile(
    r"\b(?:(?:sk|pk|rk|gsk|xai|hf|pplx|r8|nvapi|gh[opsu])[-_]|AIza|ya29\.)[\w\-]{15,}|(?<=Bearer )\S{8,}"
)
_HOLDS_A_KEY = re.compile(r"(key|token|secret|password|credentials)$", re.I)
_SHORTEST = 8  # characters: shorter values of the environment may be any word, and one that begins as a path is one
HIDDEN = "[key]"


def is_secret(name: str) -> bool:
    """Return whether a setting of this name may hold a key.

    >>> [name for name in ("api_key", "extra_headers", "aws_session_token", "max_tokens") if is_secret(name)]
    ['api_key', 'extra_headers', 'aws_session_token']
    """
    return bool(_SECRET.search(name))


def without_keys(text: str) -> str:
    """Return a text with `HIDDEN` for what looks like a key, and for what the environment holds under a key's name.

    >>> without_keys("Incorrect API key provided: sk-proj-0123456789abcdef. Ask for another one.")
    'Incorrect API key provided: [key]. Ask for another one.'
    """
    keys = (value for name, value in os.environ.items() if _HOLDS_A_KEY.search(name))
    for value in sorted((key for key in keys if len(key) >= _SHORTEST and key[0] not in "/~."), key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return _LIKE_A_KEY.sub(HIDDEN, text)


def error_line(error: BaseException, longest: int = 300) -> str:
    """Return an error's text in one line, without keys, cut after so many characters."""
    return without_keys(" ".join(str(error).split()))[:longest]
