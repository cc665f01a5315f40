"""Retrieval: a ColBERTv2 index of the user's corpus, BM25 beside it, rerankers on top.

Importing this package loads neither torch nor colbert-ai; the first build or search does.
"""

from typing import TYPE_CHECKING

from polyqa.base.lazy import lazy_names

if TYPE_CHECKING:
    from .bm25 import BM25Retriever as BM25Retriever
    from .build import build_index as build_index
    from .check import check_index as check_index
    from .corpus import read_corpus as read_corpus
    from .delete import delete_index as delete_index
    from .files import IndexFaultError as IndexFaultError
    from .index import ColBERTIndex as ColBERTIndex
    from .rerankers import BiEncoderReranker as BiEncoderReranker
    from .rerankers import CrossEncoderReranker as CrossEncoderReranker
    from .rerankers import SpanReaderReranker as SpanReaderReranker
    from .retriever import FusedRetriever as FusedRetriever
    from .retriever import Reranker as Reranker
    from .retriever import Retriever as Retriever
    from .retriever import rerank as rerank
    from .retriever import rerank_found as rerank_found
    from .settings import IndexSettings as IndexSettings
    from .settings import SearchSettings as SearchSettings
    from .update import add_passages as add_passages
    from .update import remove_passages as remove_passages

__getattr__, __dir__, __all__ = lazy_names(__name__)
