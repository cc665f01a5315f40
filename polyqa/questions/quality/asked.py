"""A question with its answer and passage, as the rules look at it."""

import re
from functools import cached_property

from polyqa.base.values import Passage

from .words import OFTEN_CAPITAL

_AFTER_ASKING = re.compile(r"^((?:[A-Z][a-z]+ )?(?:[Ww]hat|[Ww]hich)) ([A-Z][A-Za-z]+)\b")
_CLAUSE = re.compile(r",? (?:which|who|where|that|but|before|after|then|while|although|when)\b")
_VERB = re.compile(r"\b(?:is|was|were|are|had|has|[a-z]+ed)\b")


def mended(question: str) -> str:
    """Return a question with the slips of a small writer mended: "' S" for "'s", a capital after the question word.

    >>> mended("In what City is Niva' S office?")
    "In what city is Niva's office?"
    """
    text = re.sub(r"\s*['’]\s+[Ss]\b", "'s", question)
    found = _AFTER_ASKING.match(text)
    if found and found[2].lower() in OFTEN_CAPITAL:
        text = f"{found[1]} {found[2].lower()}{text[found.end() :]}"
    return text


class Asked:
    """A question with its answer, which is a span of its passage.

    Attributes
    ----------
    body
        The question without its question mark.
    """

    def __init__(self, question: str, answer: str, passage: Passage) -> None:
        self.body, self.answer, self.passage = question.rstrip("? "), answer, passage

    @property
    def text(self) -> str:
        """Title and text of the passage."""
        return f"{self.passage.title} {self.passage.text}"

    @cached_property
    def before(self) -> str:
        """What stands in the passage before the answer."""
        return self.passage.text[: max(0, self.passage.text.find(self.answer))]

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences that hold the answer."""
        from punkt import sent_tokenize

        return [part for part in sent_tokenize(self.passage.text) if self.answer in part]

    @cached_property
    def near(self) -> str:
        """The title and what tells the answer: its sentence, from the last clause with a verb before it."""
        parts = [self.passage.title]
        for sentence in self.sentences:
            at = sentence.find(self.answer)
            begin = max((one.start() for one in _CLAUSE.finditer(sentence[:at])), default=0)
            parts.append(sentence[begin:] if _VERB.search(sentence[begin:at]) else sentence)
        return " ".join(parts if len(parts) > 1 else [self.text])
