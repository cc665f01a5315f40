"""Whether all of an index is of one version."""

from polyqa.colbert_index import ColBERTIndex
from polyqa.colbert_index.settings import fingerprint


def problem_of(index: ColBERTIndex) -> str:
    """Use all that an index has; return what is not of one piece, or nothing."""
    first, newest = index.passages[0], index.passages[-1]
    queries = [first.indexed_text, newest.indexed_text]
    for name, found in (("search", index.search_many(queries, 3)), ("bm25", index.bm25.search_many(queries, 3))):
        for wanted, hits in zip((first, newest), found, strict=True):
            if wanted.pid not in {hit.pid for hit in hits}:
                return f"{name} does not find {wanted.pid} in {index.version}"
    if fingerprint(index.positions, index.manifest.checkpoint_hash, index.settings) != index.fingerprint:
        return f"the passages are not those of {index.version}"
    stored = index.vectors(index.manifest.encoder or "")
    if stored is None or len(stored) != len(index.positions):
        return f"the sentence vectors are not those of {index.version}"
    return ""
