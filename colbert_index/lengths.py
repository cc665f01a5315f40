"""How many tokens of a passage ColBERT reads, and which passages are longer."""

import warnings
from collections.abc import Iterable, Sequence
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


def warn_of_long(passages: Iterable[Passage], location: str, doc_maxlen: int) -> None:
    """Warn in one line if an index with the checkpoint in a folder does not read the ends of passages."""
    tokenizer, iterator = document_tokenizer(location), iter(passages)
    counts: list[int] = []
    while batch := list(islice(iterator, _AT_ONCE)):
        counts += token_counts(tokenizer, [passage.indexed_text for passage in batch])
    lost = [count - doc_maxlen + SPECIAL_TOKENS for count in counts if count > doc_maxlen - SPECIAL_TOKENS]
    if lost:
        warnings.warn(
            f"{len(lost):,} of {counted(len(counts), 'passage')} are longer than the {doc_maxlen} tokens that ColBERT "
            f"indexes: {sum(lost):,} of {sum(counts):,} tokens are out of its reach. "
            "Build with --split-long, or split them with polyqa.documents.split_passages.",
            stacklevel=3,
        )
