"""Unanswerable questions for a file: answerable ones that `twist` changed, beside those that people wrote."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from .squad import Example
from .twist import names, twist


def twisted_examples(examples: Sequence[Example], share: float, seed: int) -> list[Example]:
    """Return so many of the answerable questions, changed so that their paragraph does not answer them.

    Parameters
    ----------
    examples
        Questions in the order of their articles and paragraphs, as a file has them.
    share
        Share of the answerable questions that is tried, in [0, 1]; some have nothing that can be changed,
        and what the paragraph is asked already is left out.
    seed
        For everything that is drawn.
    """
    chance = random.Random(seed)
    made = []
    for _, article in groupby(examples, key=lambda example: example.article):
        paragraphs = [list(own) for _, own in groupby(article, key=lambda example: example.context)]
        elsewhere = list(dict.fromkeys(name for own in paragraphs for name in names(own[0].context)))
        for own in paragraphs:
            asked = {example.question.lower() for example in own}
            for example in own:
                if not example.answers or chance.random() > share:
                    continue
                changed = twist(example.question, example.context, chance, elsewhere)
                if changed is not None and changed.strip().lower() not in asked:
                    made.append(replace(example, id=f"{example.id}-twisted", question=changed, answers=()))
    return made


def repeated(examples: Sequence[Example], copies: int) -> Iterator[Example]:
    """Yield every question without an answer so many times: people wrote those, and there are few."""
    for example in examples:
        for copy in range(copies if not example.answers else 0):
            yield replace(example, id=f"{example.id}-again-{copy + 1}")
