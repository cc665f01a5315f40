"""Hard negatives for the reader: pairs of question and context that look right and hold no answer."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from polyqa.base.values import Passage
from polyqa.colbert_index import BM25Retriever
from polyqa.metrics.answer_match import has_answer
from polyqa.metrics.text import sentences

from .squad import Example
from .unanswerable import twist

KINDS = ("article", "lexical", "removed", "twisted")


@dataclass(frozen=True, slots=True)
class Context:
    """A text to read, of an article."""

    text: str
    article: str
    title: str = ""


class NegativeMiner:
    """Makes one negative from an answerable example, of one of four kinds.

    ``article``: another paragraph of the same article, one of the nearest by BM25. ``lexical``: a
    paragraph of another article or a corpus passage with words of the question. ``removed``: the
    paragraph without the sentences that hold the answer. ``twisted``: the paragraph under a changed
    question (see `unanswerable.twist`). None of the first three holds an answer's text.

    Parameters
    ----------
    examples
        What is trained on; their contexts are the candidates.
    corpus
        More candidates for ``lexical``.
    depth
        How many BM25 hits are looked at per question.
    """

    def __init__(self, examples: Sequence[Example], corpus: Iterable[Context] = (), *, depth: int = 30) -> None:
        own = (Context(example.context, example.article, example.title) for example in examples)
        self._contexts = list(dict.fromkeys([*own, *corpus]))
        answerable = [example for example in examples if example.answers]
        texts = [f"{context.title} {context.text}" for context in self._contexts]
        found = BM25Retriever([Passage(pid=str(place), text=text) for place, text in enumerate(texts)])
        hits = found.search_many([example.question for example in answerable], depth)
        self._hits = {
            example: [int(passage.pid) for passage in own] for example, own in zip(answerable, hits, strict=True)
        }
        self._of_article: dict[str, list[int]] = {}
        for position, context in enumerate(self._contexts):
            self._of_article.setdefault(context.article, []).append(position)
        self._ways: dict[str, Callable[[Example, random.Random], Example | None]] = {
            "article": self._article,
            "lexical": self._lexical,
            "removed": _removed,
            "twisted": _twisted,
        }

    def make(self, example: Example, kind: str, chance: random.Random) -> Example | None:
        """Return a negative of the kind, or ``None`` where there is none."""
        return self._ways[kind](example, chance)

    def draw(self, example: Example, chance: random.Random) -> Example | None:
        """Return a negative of a drawn kind; other kinds stand in where there is none of it."""
        for kind in chance.sample(KINDS, len(KINDS)):
            if (found := self.make(example, kind, chance)) is not None:
                return found
        return None

    def _article(self, example: Example, chance: random.Random) -> Example | None:
        near = [p for p in self._hits[example] if self._contexts[p].article == example.article][:6]
        rest = self._of_article[example.article]
        return self._first_without(example, [*_shuffled(near, chance), *chance.sample(rest, min(10, len(rest)))])

    def _lexical(self, example: Example, chance: random.Random) -> Example | None:
        near = [p for p in self._hits[example] if self._contexts[p].article != example.article]
        return self._first_without(example, [*_shuffled(near[:10], chance), *near[10:]])

    def _first_without(self, example: Example, positions: Iterable[int]) -> Example | None:
        for position in positions:
            context = self._contexts[position]
            if context.text != example.context and not has_answer(example.texts, f"{context.title} {context.text}"):
                return replace(example, context=context.text, article=context.article, title=context.title, answers=())
        return None


def _removed(example: Example, chance: random.Random) -> Example | None:
    left = " ".join(one.text for one in sentences(example.context) if not has_answer(example.texts, one.text))
    # Less than a third left says by its length alone that something is missing.
    if len(left) < max(60, len(example.context) / 3) or has_answer(example.texts, left):
        return None
    return replace(example, context=left, answers=())


def _twisted(example: Example, chance: random.Random) -> Example | None:
    changed = twist(example.question, example.context, chance)
    return None if changed is None else replace(example, question=changed, answers=())


def _shuffled(positions: Sequence[int], chance: random.Random) -> list[int]:
    return chance.sample(positions, len(positions))
