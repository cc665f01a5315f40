"""Which generated questions are good enough to train with, and why the others are not.

A small writer makes questions that its own reader can answer and that nobody would ask: with a name spelled wrongly,
about a birth with the date of the death, with no verb. For finding passages they do no harm; in training they would
teach what is wrong. The rules here look only at the question, its answer and its passage, and say in words what they
found. They are heuristics of English: what a better writer asks passes them, and some of a small one's slips do, too.
"""

from .rules import fault, mended

__all__ = ["fault", "mended"]
