"""BM25, the lexical retriever beside ColBERT.

The papers pool ColBERT's candidates with those of the Bing search API, which was shut down in 2025;
BM25 (bm25s, Lucene's variant, k1 = 1.5, b = 0.75) over the same corpus takes its place. An index that was built when
words of one sign did not count is searched as before, since it does not know them. A number of several parts (*24.1.0*)
counts once more, as a rare word that a passage has or has not: its parts alone stand in many others (*24.3.0*, *1.0*).
"""

import copy
import logging
import re
from collections.abc import Collection, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyqa.base.copies import Shared
from polyqa.base.values import Passage

from .retriever import Retriever, require_positive

_EAST_ASIAN = "\u3040-\u30ff\u3400-\u9fff"
_LETTER = rf"[^\W{_EAST_ASIAN}]"
# As with Lucene's StandardAnalyzer words of one letter or digit count (*Falcon 4*, *vitamin C*), but not what an
# apostrophe cuts off (*it's*), and of Chinese and Japanese each sign is a word.
_TERM = rf"[{_EAST_ASIAN}]|(?<!{_LETTER})(?:{_LETTER}{{2,}}|(?<!['’]){_LETTER})(?!{_LETTER})"

_DOTTED = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+)(?!\w|\.\d)", re.IGNORECASE)
"""A number of several parts: of a version, a section, or with decimals."""


class BM25Retriever(Shared, Retriever):
    """Ranks passages by BM25 of their title and text.

    Parameters
    ----------
    passages
        The corpus, at least one passage.
    model
        A `bm25s.BM25` already built over just these passages; built here if not given.
    """

    _weights: NDArray[np.float32] | None = None

    def __init__(self, passages: Sequence[Passage], model: Any = None) -> None:
        if not passages:
            raise ValueError("BM25 needs at least one passage")
        self.passages = list(passages)
        self._model = model if model is not None else _build([passage.indexed_text for passage in self.passages])

    def among(self, allowed: NDArray[np.bool_]) -> "BM25Retriever":
        """Return a retriever with the same statistics that finds only some of the passages, shape (passages,)."""
        restricted = copy.copy(self)
        restricted._weights = allowed.astype(np.float32)
        return restricted

    def save(self, folder: Path) -> None:
        """Write the term statistics into ``folder`` (the passages are not written)."""
        self._model.save(str(folder), show_progress=False)

    @classmethod
    def load(cls, folder: Path, passages: Sequence[Passage]) -> "BM25Retriever":
        """Open what `save` wrote, over the same passages in the same order."""
        import bm25s

        return cls(passages, bm25s.BM25.load(str(folder), load_corpus=False, show_progress=False))

    @property
    def terms(self) -> tuple[dict[str, Any], Collection[int]]:
        """bm25s's matrix of terms and passages, and the numbers of the terms."""
        numbers = self._model.vocab_dict
        return self._model.scores, [number for term, number in numbers.items() if term]  # "" stands for no term

    def search_many(self, queries: Sequence[str], k: int = 10) -> list[list[Passage]]:
        """Search for several queries; a passage that shares no word with one is left out.

        Returns
        -------
        list of list of Passage
            Per query at most ``k`` passages, best first; the score is BM25, above 0 and unbounded.
        """
        require_positive(k)
        if not queries:
            return []
        return [
            self._best(terms, k, _DOTTED.findall(query))
            for terms, query in zip(_tokenize(queries), queries, strict=True)
        ]

    def _best(self, terms: list[str], k: int, numbers: Collection[str]) -> list[Passage]:
        """Return the k best passages for the terms of a query, and the numbers of several parts that it has.

        bm25s orders equal scores as the processor sorts, which differs from one to another, and so would prompts. Any
        fixed order does; with titles backwards most prompts are those to which replies were recorded.
        """
        if not terms:
            return []
        scores = self._model.get_scores(terms, weight_mask=self._weights)
        for number in set(numbers):
            having = self._having(number)
            having = having[scores[having] > 0]
            scores[having] += np.log1p((len(scores) - len(having) + 0.5) / (len(having) + 0.5))
        least = np.partition(scores, -k)[-k] if k < len(scores) else 0.0
        found = np.flatnonzero((scores >= least) & (scores > 0)).tolist()
        found.sort(key=lambda at: self.passages[at].title, reverse=True)
        found.sort(key=lambda at: -scores[at])
        return [self.passages[at].with_score(float(scores[at])) for at in found[:k]]

    def _having(self, number: str) -> NDArray[np.int64]:
        """Return the places of the passages that have a number of several parts, ascending."""
        matrix, vocabulary = self._model.scores, self._model.vocab_dict
        known = {vocabulary[part] for part in number.split(".") if part in vocabulary}
        having = [matrix["indices"][matrix["indptr"][term] : matrix["indptr"][term + 1]] for term in known]
        places = reduce(np.intersect1d, having, having.pop()) if having else np.array([], dtype=np.int64)
        texts = ((place, self.passages[place].indexed_text) for place in places.tolist())
        found = [place for place, text in texts if number in _DOTTED.findall(text)]
        return np.array(found, dtype=np.int64)


def _build(texts: Sequence[str]) -> Any:
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # importing it sets DEBUG

    model = bm25s.BM25()
    tokens = _tokenize(texts)
    if not any(tokens):  # nothing but stop words and signs: no query will find anything, but bm25s wants a term
        tokens = [["\0"] for _ in tokens]
    model.index(tokens, show_progress=False)
    return model


def _tokenize(texts: Sequence[str]) -> list[list[str]]:
    import bm25s
    import Stemmer

    tokens: list[list[str]] = bm25s.tokenize(
        list(texts),
        token_pattern=_TERM,
        stopwords="english",
        stemmer=Stemmer.Stemmer("english"),
        return_ids=False,
        show_progress=False,
    )
    return tokens
