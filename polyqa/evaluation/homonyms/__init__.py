"""The shipped corpus and questions: passages that share a name, questions that mean several of them."""

from pathlib import Path

SPLITS = ("train", "dev", "test")


def corpus_path() -> Path:
    """Return the path of the corpus: one passage a line with ``id``, ``title``, ``text``, ``_group``."""
    return Path(__file__).parent / "corpus.jsonl"


def questions_path(split: str) -> Path:
    """Return the path of a split's questions, in ASQA's schema."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    return Path(__file__).parent / f"{split}.json"
