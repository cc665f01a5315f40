"""What two models that read better than a ColBERT say of a question's own passages: targets for distillation.

The sentence encoder knows what is near, the span reader whether an answer stands there. Their weighted sum ranks
better than either (see the ColBERT checkpoint's card), but the reader has to see every pair, which a search cannot
afford; a ColBERT that is drawn towards the sum keeps some of that.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.progress import track

from polyqa.base.files import write_atomically
from polyqa.models.encoder import Encoder
from polyqa.models.reader import Reader

from .mining import Query

_CHUNK = 512  # pairs between two movements of the progress bar


@dataclass(frozen=True)
class Grading:
    """How a passage's grade is made: a logit, to be put through a softmax over the passages of a question.

        grade(q, p) = similarity · cos(q, p) + span · best span's score + answer · [p holds an answer]

    Attributes
    ----------
    similarity
        all-MiniLM-L6-v2 was trained with cosine × 20 in its softmax.
    span
        Weight of the reader's best span, a sum of two logits.
    answer
        What holding an answer is worth.
    positives, negatives
        Passages of either kind that are graded, the nearest of a question.
    """

    similarity: float = 20.0
    span: float = 0.4
    answer: float = 2.0
    positives: int = 4
    negatives: int = 6


def grade(queries: Sequence[Query], encoder: Encoder, reader: Reader, grading: Grading, cache: Path) -> list[Query]:
    """Return the queries cut to their graded passages, with the grades.

    Parameters
    ----------
    cache
        Takes the grades; they are read from there if they were made of the same queries in the same way.
    """
    cut = [
        replace(query, positives=query.positives[: grading.positives], negatives=query.negatives[: grading.negatives])
        for query in queries
    ]
    key = hashlib.sha256(json.dumps([reader.name, asdict(grading), [asdict(query) for query in cut]]).encode())
    identity = key.hexdigest()
    grades = _cached(cache, identity)
    if grades is None:
        grades = _make(cut, encoder, reader, grading)
        cache.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(cache, json.dumps({"identity": identity, "grades": grades}) + "\n")
    return [replace(query, grades=tuple(own)) for query, own in zip(cut, grades, strict=True)]


def _cached(path: Path, identity: str) -> list[list[float]] | None:
    if not path.is_file():
        return None
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    return saved["grades"] if saved.get("identity") == identity else None


def _make(queries: Sequence[Query], encoder: Encoder, reader: Reader, grading: Grading) -> list[list[float]]:
    pairs = [(query.question, text) for query in queries for text in (*query.positives, *query.negatives)]
    spans: list[float] = []
    for begin in track(range(0, len(pairs), _CHUNK), description="reading passages", transient=True):
        read = reader.read(pairs[begin : begin + _CHUNK])
        spans += [reading.spans[0].score if reading.spans else reading.null_score for reading in read]
    vectors = encoder.encode([query.question for query in queries])
    found = iter(spans)
    grades = []
    for query, vector in zip(queries, vectors, strict=True):
        near = encoder.encode([*query.positives, *query.negatives]) @ vector
        grades.append(
            [
                grading.similarity * float(cosine)
                + grading.span * next(found)
                + grading.answer * (place < len(query.positives))
                for place, cosine in enumerate(near)
            ]
        )
    return grades
