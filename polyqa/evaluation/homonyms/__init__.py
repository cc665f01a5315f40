"""The shipped corpus and questions: passages that share a name, questions that mean several of them."""

from pathlib import Path

SPLITS = ("train", "dev", "test")


def corpus_path() -> Path:
    """Return the path of the corpus: one passage a line with ``id``, ``title``, ``text``, ``_group``."""
    return Path(__file__).parent / "corpus.jsonl"


def questions_path(split: str) -> Path:
    """Return the path of the questions of one of `SPLITS`, in ASQA's schema."""
    return Path(__file__).parent / f"{split}.json"
