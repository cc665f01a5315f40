"""The database of generated questions: a LanceDB table with the questions' vectors and a full-text index."""

import hashlib
import json
import shlex
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from polyqa.base.copies import Shared
from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs
from polyqa.base.folders import expanded
from polyqa.base.text import well_formed
from polyqa.colbert_index import ColBERTIndex
from polyqa.colbert_index.retriever import require_positive
from polyqa.colbert_index.store import told_name
from polyqa.colbert_index.versions import QUESTIONS
from polyqa.models import Encoder
from polyqa.models.memory import locked_property

from .types import FoundQuestion, GeneratedQuestion, Generation, Manifest

Ranking = Literal["dense", "bm25"]
MANIFEST = "questions.json"
_FIRST = 64  # questions that are fetched at first
_TABLE = "questions"
_COLUMNS = ["number", "question", "answers", "pids"]


def questions_path(index: ColBERTIndex) -> Path:
    """Return where the database of an index lies unless another place is named: in the index's folder."""
    return index.path / QUESTIONS


class QuestionDatabase(Shared):
    """Generated questions on disk, opened for searching; made by `build.build_questions`.

    Opening reads the manifest; the table is opened by the first search. A handle may be used by many
    threads. `copy.deepcopy` returns the handle itself, and a pickle holds only the path.

    Dense search compares the query with every question, 0.12 s of one core for 100,000 questions: equations
    1 and 2 of the paper hold exactly, which an approximate index would not give.

    Parameters
    ----------
    path
        The folder.
    encoder
        For dense search; must be the one that the database was built with.
    index
        If given, the questions must have been made from its passages.

    Raises
    ------
    PolyqaError
        If there is no database, it is damaged, or it is of another encoder or index.
    """

    def __init__(self, path: str | Path, *, encoder: Encoder | None = None, index: ColBERTIndex | None = None) -> None:
        self.path = expanded(path).absolute()
        self.manifest = _read_manifest(self.path)
        self.encoder = encoder
        if encoder is not None and encoder.name != self.manifest.encoder:
            raise PolyqaError(
                f"The questions at {self.path} were encoded by {self.manifest.encoder}, not by {encoder.name}; "
                "open them with that encoder, or build them again."
            )
        if index is not None and index.fingerprint != self.manifest.index:
            out = "" if self.path == questions_path(index) else f" --out {shlex.quote(str(self.path))}"
            raise PolyqaError(
                f"The questions at {self.path} were made from other passages than the index {index.name} holds now "
                f"({self.manifest.index}, not {index.fingerprint}). Build them again: "
                f"`polyqa questions build --index {told_name(index.path)}{out} --overwrite`."
            )
        if not (self.path / f"{_TABLE}.lance").is_dir():
            raise PolyqaError(f"{_damaged(self.path)} its table is missing.")
        self._lock = threading.RLock()
        self._warm = False

    def __len__(self) -> int:
        return self.manifest.counts.questions

    def __repr__(self) -> str:
        return f"QuestionDatabase({str(self.path)!r}, questions={len(self)}, encoder={self.manifest.encoder!r})"

    @locked_property
    def _table(self) -> Any:
        needs("lancedb", extra="questions", for_="A question database")
        with _reading(self.path):
            import lancedb

            table = lancedb.connect(str(self.path)).open_table(_TABLE)
            rows, width = table.count_rows(), table.schema.field("vector").type.list_size
        if rows != len(self) or width != self.manifest.dimensions:
            raise PolyqaError(
                f"{_damaged(self.path)} its table has {rows} questions of {width} dimensions, its manifest says "
                f"{len(self)} of {self.manifest.dimensions}."
            )
        if table.version != self.manifest.table_version:
            raise PolyqaError(
                f"{_damaged(self.path)} its table is in state {table.version}, not {self.manifest.table_version}: "
                "a file is missing."
            )
        return table

    def warm_up(self) -> None:
        """Load what a search needs, if none was made yet."""
        if not self._warm:
            self.search("warm up", 1)
            self._warm = True

    def questions(self) -> Iterator[GeneratedQuestion]:
        """Yield all questions, in the order of the corpus."""
        with _reading(self.path):
            rows = self._table.search().select(_COLUMNS).limit(len(self)).to_list()
        for row in sorted(rows, key=lambda row: int(row["number"])):
            yield GeneratedQuestion.model_validate(row)

    def check(self) -> None:
        """Read the whole table; `PolyqaError` if a file is damaged, or a question is not what was written."""
        if digest(list(self.questions())) != self.manifest.digest:
            raise PolyqaError(f"{_damaged(self.path)} its questions are not those that were written.")

    def search(self, query: str, k: int = 10, *, ranking: Ranking = "dense") -> list[FoundQuestion]:
        """Return at most ``k`` questions, best first; those of equal score in the order of the corpus.

        Parameters
        ----------
        query
            A question; an empty one finds nothing.
        k
            How many questions, at least 1.
        ranking
            ``dense``: cosine of the encoder's vectors, in [-1, 1]. ``bm25``: LanceDB's full-text search
            (English stems, no stop words), above 0 and unbounded; a question that shares no word with the
            query is not found.

        Raises
        ------
        PolyqaError
            If the database is damaged, or dense search is asked for and there is no encoder.
        """
        require_positive(k)
        return list(islice(self.ranked([query], ranking=ranking)[0], k))

    def ranked(self, queries: Sequence[str], *, ranking: Ranking = "dense") -> list[Iterator[FoundQuestion]]:
        """Return for each query all questions that it finds, best first, see `search`; fetched as taken."""
        if ranking not in ("dense", "bm25"):
            raise ValueError(f"ranking is dense or bm25, not {ranking!r}")
        queries = [well_formed(query) for query in queries]
        texts_or_vectors: Any = [query for query in queries if query.strip()]
        if texts_or_vectors and ranking == "dense":
            if self.encoder is None:
                raise PolyqaError(f"Dense search of {self.path} needs the encoder {self.manifest.encoder}: give it.")
            texts_or_vectors = self.encoder.encode(texts_or_vectors)
        remaining = iter(texts_or_vectors)
        return [self._ranked(next(remaining)) if query.strip() else iter(()) for query in queries]

    def _ranked(self, query: Any) -> Iterator[FoundQuestion]:
        """Yield the questions that a text or a vector finds, ties in the order of the corpus.

        LanceDB takes longer the more are asked for; and which of several equal ones stand at the end is its own choice,
        so that these wait until more are fetched.
        """
        taken, limit = 0, _FIRST
        while True:
            hits = self._fetch(query, min(limit, len(self)))
            exhausted = len(hits) < limit
            sure = hits if exhausted else [hit for hit in hits if hit.score > hits[-1].score]
            yield from sure[taken:]
            if exhausted:
                return
            taken, limit = len(sure), 4 * limit

    def _fetch(self, query: Any, limit: int) -> list[FoundQuestion]:
        from lancedb.query import MatchQuery

        with _reading(self.path):
            if isinstance(query, str):
                search, column = self._table.search(MatchQuery(query, "question"), query_type="fts"), "_score"
            else:
                search, column = self._table.search(query, vector_column_name="vector"), "_distance"
                search = search.distance_type("cosine")
            rows = search.select([*_COLUMNS, column]).limit(limit).to_list()
        scores = (row["_score"] if column == "_score" else 1.0 - row["_distance"] for row in rows)
        hits = [FoundQuestion.model_validate({**row, "score": score}) for row, score in zip(rows, scores, strict=True)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.number))

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "encoder": self.encoder, "digest": self.manifest.digest}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"], encoder=state["encoder"])  # type: ignore[misc]
        if self.manifest.digest != state["digest"]:
            raise PolyqaError(f"The questions at {self.path} have changed since they were opened; open them again.")


class NoDatabaseError(PolyqaError):
    """An index has no database of questions, which a program needs."""


def _damaged(path: Path) -> str:
    return (
        f"The database of questions at {path} is damaged or of another version, build it again "
        "(`polyqa questions build … --overwrite`):"
    )


def _read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.is_file():
        raise NoDatabaseError(
            f"There is no database of questions at {folder}. Build one with `polyqa questions build --index NAME`."
        )
    with _reading(path):
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except PolyqaError:
        raise
    except Exception as error:  # LanceDB raises errors of many kinds over damaged files, a panic of its own among them
        reason = " ".join(str(error).split())[:200]
        raise PolyqaError(f"{_damaged(path)} {type(error).__name__}: {reason}") from error


def digest(questions: Sequence[GeneratedQuestion]) -> str:
    """Return 16 hex digits over questions with their answers and ids, in order."""
    hashed = hashlib.sha256()
    for question in questions:
        line = [question.question, question.answers, question.pids]
        hashed.update(json.dumps(line, ensure_ascii=False).encode() + b"\n")
    return hashed.hexdigest()[:16]


def write_database(folder: Path, generation: Generation, index: ColBERTIndex, encoder: Encoder) -> Manifest:
    """Encode the questions and write table, full-text index and manifest into an empty folder."""
    needs("lancedb", extra="questions", for_="A question database")
    import lancedb
    import pyarrow as pa
    from lancedb.index import FTS

    questions = generation.questions
    vectors = encoder.encode([question.question for question in questions])
    columns: dict[str, Any] = {
        "number": range(len(questions)),
        **{name: [getattr(question, name) for question in questions] for name in _COLUMNS[1:]},
        "vector": pa.FixedSizeListArray.from_arrays(vectors.astype("float32").ravel(), vectors.shape[1]),
    }
    table = lancedb.connect(str(folder)).create_table(_TABLE, data=pa.table(columns))
    table.create_index("question", config=FTS())
    manifest = Manifest(
        counts=generation.counts,
        origin=generation.origin,
        encoder=encoder.name,
        dimensions=vectors.shape[1],
        index=index.fingerprint,
        index_passages=len(index),
        digest=digest(questions),
        lancedb=version("lancedb"),
        table_version=table.version,
    )
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return manifest
