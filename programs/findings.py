"""Findings: answers in passages, and how likely each is right."""

import math
import re
from dataclasses import dataclass

from polyqa.base.values import Passage
from polyqa.metrics.text import around, ends, sentence_at

from .citation import without_footnotes

_QUOTED = 320  # characters of a sentence that are quoted
_SCRAP = 140  # of what is no sentence, as a menu or a list
_SUREST = 0.98  # so sure is a language model at most, in particular one that only says Yes or No
_SUPPORTERS = 2
_ARTICLE = re.compile(r"(?:The|An?) (?!(?:is|are|was|were|has|had|can|and|or)\b)")  # no name as in "Hepatitis A is"
_OPENING = "\"“‘'([«¿¡"  # marks with which a sentence may begin


@dataclass(frozen=True)
class Weights:
    """What makes a probability of what is known of a finding: a logistic regression, and what a further finding needs.

    Attributes
    ----------
    bias
        The intercept.
    yes
        Of the log odds of Yes.
    share
        Of the passage's score, as a share of that of the best passage.
    margin
        Of the reader's score of the answer less that of no answer.
    beside
        How much more than the first finding a further one needs, times the surest one's probability; 1 at least in all.
    supported
        For each other passage with the same answer, at most two.
    """

    bias: float
    yes: float
    share: float
    margin: float
    beside: float = 0.0
    supported: float = 0.0


# Fitted on development questions; the label is whether the answer is one of the gold ones. PROMPTED: 54 questions of
# the shipped corpus and 25 of ASQA; on either alone the weights are much the same. READ: 102 questions of three sets
# that weigh the same, read by the weights of before they were trained further; fitted again it did no better on others.
PROMPTED = Weights(bias=-4.0, yes=0.8, share=2.8, margin=0.2)
READ = Weights(bias=-0.55, yes=0.56, share=0.0, margin=0.16, beside=1.25, supported=1.0)


@dataclass(frozen=True)
class Finding:
    """An answer in a passage.

    Attributes
    ----------
    passage
        Where it stands.
    start
        The first character of the answer in the passage's text.
    answer
        The answer as it stands there.
    share
        The passage's score, as a share of that of the best passage.
    margin
        The reader's score of the answer less that of no answer; a difference of sums of two logits.
    supporters
        How many other passages give the same answer, where that is known.
    """

    passage: Passage
    start: int
    answer: str
    share: float
    margin: float
    supporters: int = 0

    @property
    def sentence(self) -> str:
        """The sentence in which the answer stands, on one line."""
        return " ".join(sentence_at(self.passage.text, self.start).text.split())

    @property
    def quoted(self) -> str:
        """The sentence as an answer quotes it; of one that is very long, or is none, what is near.

        It has no marks of footnotes, and not the title that many collections put before a passage's first sentence.
        """
        sentence = sentence_at(self.passage.text, self.start)
        is_sentence = _is_sentence(without_footnotes(sentence.text, [self.passage]))
        quoted = without_footnotes(around(sentence, self.start, _QUOTED if is_sentence else _SCRAP), [self.passage])
        return _untitled(quoted, self.passage.title) if sentence.start == 0 else quoted

    @property
    def reads_well(self) -> bool:
        """Whether what is quoted is a sentence, as no menu, caption or list of names is."""
        return _is_sentence(self.quoted)

    def render(self) -> str:
        """Return the line that stands for this finding in a prompt."""
        parts = (self.passage.title_in_line, self.sentence, " ".join(self.answer.split()))
        return " | ".join(part for part in parts if part)

    def probability(self, yes: float, weights: Weights = PROMPTED) -> float:
        """Return how likely it answers the question, in [0, 1].

        Parameters
        ----------
        yes
            The probability with which a language model says so.
        weights
            `READ` for a language model that was trained to copy answers: ``yes`` is how likely it takes the passage to
            hold one.
        """
        yes = min(max(yes, 1 - _SUREST), _SUREST)
        model_odds = weights.yes * math.log(yes / (1 - yes))
        odds = weights.bias + model_odds + weights.share * self.share + weights.margin * self.margin
        odds += weights.supported * min(self.supporters, _SUPPORTERS)
        return 1 / (1 + math.exp(-odds))


def _untitled(text: str, title: str) -> str:
    """Return a text without the title before it: "Korea Korea is divided." begins with one, "Korea is divided." not.

    "New York City Mayor Ed Koch spoke." names the mayor by the title.

    >>> _untitled("Hepatitis A liver disease.", "Hepatitis"), _untitled("Hepatitis A is an infection.", "Hepatitis")
    ('A liver disease.', 'Hepatitis A is an infection.')
    """
    untitled = text.removeprefix(title).lstrip()
    begins = untitled.lstrip(_OPENING)
    repeats_title = begins.startswith(tuple(title.split()[:1]))
    return untitled if repeats_title or _ARTICLE.match(begins) else text


def _is_sentence(text: str) -> bool:
    """Return whether a text begins and ends as a sentence does, and is none of a list.

    A piece such as ", the umpire, left." is none, nor is one that closes a bracket which it does not open.
    """
    first = text.lstrip(_OPENING)[:1]
    brackets_match = all(text.count(end) <= text.count(begin) for begin, end in ("()", "[]"))
    return brackets_match and ends(text) and first.isalnum() and not first.islower() and "•" not in text
