"""How many tokens of a passage ColBERT reads, and which passages are longer."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from polyqa.base.text import counted
from polyqa.base.values import Passage

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPECIAL_TOKENS = 3
"""Of a document: ``[CLS]``, the marker of documents, ``[SEP]``."""
_AT_ONCE = 1_000


def document_tokenizer(location: str) -> "Tokenizer":
    """Return the tokenizer of the checkpoint in a folder, which cuts and pads nothing."""
    from tokenizers import Tokenizer

    path = Path(location) / "tokenizer.json"
    if path.is_file():
        tokenizer = Tokenizer.from_file(str(path))
    else:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(location).backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def token_counts(tokenizer: "Tokenizer", texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of each text, without special ones."""
    return [len(encoding) for encoding in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


class LengthCheck:
    """Counts the passages that are longer than an index with the checkpoint in a folder reads, and warns of them."""

    def __init__(self, location: str, doc_maxlen: int) -> None:
        self.limit = doc_maxlen - SPECIAL_TOKENS
        self._tokenizer = document_tokenizer(location)
        self._passages = self._long = self._tokens = self._lost = 0

    def watch(self, passages: Iterable[Passage]) -> Iterator[Passage]:
        """Yield passages as they come, and count them."""
        iterator = iter(passages)
        while batch := list(islice(iterator, _AT_ONCE)):
            for count in token_counts(self._tokenizer, [passage.indexed_text for passage in batch]):
                self._passages += 1
                self._long += count > self.limit
                self._tokens += count
                self._lost += max(0, count - self.limit)
            yield from batch

    def warn(self) -> None:
        """Warn in one line if ends of passages are not indexed."""
        if self._long:
            warnings.warn(
                f"{self._long:,} of {counted(self._passages, 'passage')} are longer than the "
                f"{self.limit + SPECIAL_TOKENS} tokens that ColBERT indexes: "
                f"{self._lost:,} of {self._tokens:,} tokens are out of its reach. "
                "Build with --split-long, or split them with polyqa.documents.split_passages.",
                stacklevel=3,
            )
