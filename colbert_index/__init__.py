"""Retrieval: a ColBERTv2 index of the user's corpus, BM25 beside it, rerankers on top.

Importing this package loads neither torch nor colbert-ai; the first build or search does.
"""

from .bm25 import BM25Retriever
from .build import build_index
from .check import check_index
from .corpus import read_corpus
from .delete import delete_index
from .files import IndexFaultError
from .index import ColBERTIndex
from .rerankers import BiEncoderReranker, CrossEncoderReranker, SpanReaderReranker
from .retriever import FusedRetriever, Reranker, Retriever, rerank
from .settings import IndexSettings, SearchSettings
from .update import add_passages, remove_passages

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
]
