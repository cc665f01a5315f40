"""BM25 over texts, for mining passages that share words with a question."""

from collections.abc import Sequence
from typing import Any


class Lexical:
    """Finds texts by their words (bm25s: Lucene's variant, English stems, no stop words).

    Parameters
    ----------
    texts
        What is searched, at least one text.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        if not texts:
            raise ValueError("BM25 needs at least one text")
        self._size = len(texts)
        self._model = bm25s.BM25()
        tokens = _tokenize(texts)
        # Nothing but stop words: no query will find anything, but bm25s wants a term.
        self._model.index(tokens if any(tokens) else [["\0"] for _ in tokens], show_progress=False)

    def search(self, queries: Sequence[str], k: int) -> list[list[int]]:
        """Return per query the positions of at most ``k`` texts that share a word with it, best first."""
        if not queries:
            return []
        found, scores = self._model.retrieve(_tokenize(queries), k=min(k, self._size), show_progress=False)
        return [
            [int(position) for position, score in zip(row, values, strict=True) if score > 0]
            for row, values in zip(found, scores, strict=True)
        ]


def _tokenize(texts: Sequence[str]) -> Any:
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    return bm25s.tokenize(list(texts), stopwords="english", stemmer=stemmer, return_ids=False, show_progress=False)
