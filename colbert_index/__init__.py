"""Retrieval: a ColBERTv2 index of the user's corpus, BM25 beside it, rerankers on top.

Importing this package loads neither torch nor colbert-ai; the first build or search does.
"""

from typing import TYPE_CHECKING

from polyqa.base.lazy import lazy_names

if TYPE_CHECKING:
    from .bm25 import BM25Retriever
    from .build import build_index
    from .check import check_index
    from .corpus import read_corpus
    from .delete import delete_index
    from .files import IndexFaultError
    from .index import ColBERTIndex
    from .rerankers import BiEncoderReranker, CrossEncoderReranker, SpanReaderReranker
    from .retriever import FusedRetriever, Reranker, Retriever, rerank, rerank_found
    from .settings import IndexSettings, SearchSettings
    from .update import add_passages, remove_passages

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".bm25": "BM25Retriever",
        ".build": "build_index",
        ".check": "check_index",
        ".corpus": "read_corpus",
        ".delete": "delete_index",
        ".files": "IndexFaultError",
        ".index": "ColBERTIndex",
        ".rerankers": "BiEncoderReranker CrossEncoderReranker SpanReaderReranker",
        ".retriever": "FusedRetriever Reranker Retriever rerank rerank_found",
        ".settings": "IndexSettings SearchSettings",
        ".update": "add_passages remove_passages",
    },
)
__all__ = [
    "BM25Retriever",
    "BiEncoderReranker",
    "ColBERTIndex",
    "CrossEncoderReranker",
    "FusedRetriever",
    "IndexFaultError",
    "IndexSettings",
    "Reranker",
    "Retriever",
    "SearchSettings",
    "SpanReaderReranker",
    "add_passages",
    "build_index",
    "check_index",
    "delete_index",
    "read_corpus",
    "remove_passages",
    "rerank",
    "rerank_found",
]
