"""Reads a corpus: the rows of files, folders and objects of Python become passages, by one table of key names."""

import hashlib
import re
import sqlite3
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError, ValidationInfo
from pydantic_core import PydanticCustomError

from polyqa.base.errors import PolyqaError
from polyqa.base.rows import Record, Shape, as_id, exists, folded, located, problem, read_rows, rows_in_memory
from polyqa.base.text import counted, well_formed
from polyqa.base.values import MetadataValue, Passage

CorpusSource = str | Path | Iterable[Passage | Mapping[str, Any] | str]

IDS = ("pid", "id", "_id", "docid", "doc_id", "docno", "passage_id", "chunk_id", "kilt_id", "wikipedia_id")
TITLES = ("title", "wikipedia_title", "document_title", "page_title")
TEXTS = (
    *("text", "passage", "contents", "content", "body", "page_content", "paragraph", "chunk", "context"),
    *("passage_text", "paragraph_text", "chunk_text", "segment"),
)
_AMBIGUOUS = ("passage", "contents", "content", "body", "paragraph", "chunk", "context", "segment")
_DOCUMENTS = ("documents", "docs", "ctxs")  # of a question: of RAMDocs, ALCE, DPR
_HEADERLESS = ("id", "text", "title")
_NAMED = 8  # columns in a summary
_LEAST_WORDS = 6  # of a text
_NAME = r"(?![a-z])\w\S*"
_APART = r"(?: \([^()]{2,60}\)|(?:, [A-Z][^\s,.()]*(?: [A-Z][^\s,.()]*){0,3}){1,3})"
# The title that many collections put before a text: "Da Real World Da Real World is an album", "Keyes, Oklahoma Keyes
# is a town", "Manic (2017 film) Manic is a film". "Bora Bora is an island" has none.
_TITLED = re.compile(
    rf"(?P<title>{_NAME}(?: \S+){{1,9}}?) (?=(?i:(?:the |an? )?(?P=title))(?!\w))"
    rf"|(?P<named>(?P<name>{_NAME}(?: \S+){{0,9}}?){_APART}) "
    r"(?=(?P=name)(?:,| \(| (?:is|was|are|were|has|had|refers|may)\b))"
)
# "David Hancock (cricketer) David Arthur Hancock was a cricketer": a name, what sets it apart, then a sentence that has
# its words.
_SET_APART = re.compile(rf"(?P<title>(?P<name>{_NAME}(?: \S+){{0,9}}?) \([^()]{{2,60}}\)) (?=[A-Z\"“])")
_NAMED_WITHIN = 14  # words
_MARKUP = re.compile(r"(?:Section|BULLET)::::(?:- ?)?")  # of KILT's articles


def _unnamed(cells: Sequence[str]) -> Sequence[str] | None:
    """Return the columns of a table whose first line is a passage, with a number as id or a text of several words."""
    has_header = len(cells) < 2 or not (cells[0].strip().isdecimal() or len(cells[1].split()) >= _LEAST_WORDS)
    return None if has_header else _HEADERLESS


SHAPE = Shape("passages", frozenset({*TEXTS, *_DOCUMENTS, "paragraphs"}), _unnamed, "corpus")


def holds_passage(row: Any) -> bool:
    """Tell whether a row holds a passage; a table of something else may have a column of such a name, too.

    What may be a customer's segment, or the contents of a box, is a text if it is one of several words, or has an id or
    a title.

    >>> holds_passage({"Customer": "Acme", "Segment": "Enterprise"}), holds_passage({"id": 7, "segment": "It flies."})
    (False, True)
    """
    if not isinstance(row, Mapping):
        return False
    cells = {str(key).strip().lower(): value for key, value in row.items()}
    identified = not cells.keys().isdisjoint((*IDS, *TITLES))
    return any(
        isinstance(cell, list)
        if name not in TEXTS
        else isinstance(cell, str | list)
        and (identified or name not in _AMBIGUOUS or len(str(cell).split()) >= _LEAST_WORDS)
        for name, cell in cells.items()
        if name in SHAPE.names
    )


def _begun(text: str) -> tuple[str, str]:
    """Return the title that a text begins with, empty if it has none, and the text behind it."""
    if match := _TITLED.match(text):
        title, body = match["title"] or match["named"], text[match.end() :]
        return ("", text) if body[: len(title)].islower() else (title, body)  # "Never give up never give up"
    if match := _SET_APART.match(text):
        body = text[match.end() :]
        following = iter(re.findall(r"\w+", " ".join(body.split(maxsplit=_NAMED_WITHIN)[:_NAMED_WITHIN]).lower()))
        if all(word in following for word in re.findall(r"\w+", match["name"].lower())):
            return match["title"], body
    return "", text


def _title(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = " ".join(value)
    if not isinstance(value, str | int | float):
        raise PydanticCustomError("title", "the title is no text")
    return str(value).strip()


def _text(value: Any, row: ValidationInfo) -> Any:
    """Return a text; of a list of sentences or paragraphs their text. KILT's first paragraph is the title."""
    if isinstance(value, Mapping) and isinstance(value.get("paragraph"), list):  # KILT on the hub
        value = value["paragraph"]
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        parts = [_MARKUP.sub("", part).strip() for part in value]
        return " ".join(parts[1:] if len(parts) > 1 and parts[0] == row.data.get("title") else parts)
    if not isinstance(value, str):
        raise PydanticCustomError("text", "the text is no text and no list of texts")
    return value


class PassageRecord(BaseModel, frozen=True, extra="allow"):
    """A row as a passage; what else it has is metadata."""

    id: Annotated[str | None, BeforeValidator(as_id)] = Field(None, validation_alias=AliasChoices(*IDS))
    title: Annotated[str, BeforeValidator(_title)] = Field("", validation_alias=AliasChoices(*TITLES))
    text: Annotated[str, BeforeValidator(_text)] = Field(validation_alias=AliasChoices(*TEXTS))

    def passage(self) -> Passage:
        """Return the passage; if it has no id, with that of its content."""
        title, text = self.title, self.text
        if not title:
            title, text = _begun(text)
        passage = Passage(pid=self.id or "", title=title, text=text, metadata=self._metadata())
        return passage if self.id else passage.model_copy(update={"pid": content_id(passage, passage.metadata)})

    def _metadata(self) -> dict[str, MetadataValue]:
        """Return what a condition can be about; LangChain's ``metadata`` counts as columns.

        A column without a name, as pandas writes its index, is none: with it equal rows would differ.

        A day is a day, also where pandas and Parquet add its midnight: `date <= 2024-01-31` would leave it out.
        """
        columns = self.model_extra or {}
        inner = columns.get("metadata")
        if isinstance(inner, Mapping):
            columns = {**columns, **{str(name): value for name, value in inner.items()}}
        return {
            name: value.isoformat().removesuffix("T00:00:00") if isinstance(value, date) else value
            for name, value in columns.items()
            if isinstance(value, MetadataValue | date) and value != "" and name not in ("", *TEXTS) and name[:1] != "_"
        }


def content_id(passage: Passage, metadata: Mapping[str, MetadataValue] = MappingProxyType({})) -> str:
    """Return the id that title and text, and metadata if given, give a passage: 16 hexadecimal digits."""
    content = f"{passage.title}\0{passage.text}" + (f"\0{sorted(metadata.items())}" if metadata else "")
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:16]


def with_id(passage: Passage) -> Passage:
    """Return a passage; if it has no id, with that of its content."""
    return passage if passage.pid.strip() else passage.model_copy(update={"pid": content_id(passage)})


class Corpus:
    """The passages of a corpus; they are read while they are taken.

    Parameters
    ----------
    source
        See `read_corpus`.
    split
        Which split to take, where there are several.

    Attributes
    ----------
    passages
        How many there are.
    titled
        How many have no title of their own, but one before their text (*Manic (2017 film) Manic is a film*).
    empty
        How many rows were left out, as they have no text.
    repeated
        How many were left out, as a passage of the same id, title and text stands before them.

    Examples
    --------
    ::

        corpus = Corpus("psgs_w100.tsv.gz")
        index = build_index(corpus, "wiki")
        print(corpus.summary())
    """

    def __init__(self, source: CorpusSource, split: str | None = None) -> None:
        self.source: CorpusSource
        self.source, self.split = located(source, split) if isinstance(source, str | Path) else (source, split)
        self.passages = self.titled = self.empty = self.repeated = 0
        self._columns: list[str] = []
        self._metadata: list[str] = []

    @property
    def name(self) -> str:
        """What messages call it."""
        if not isinstance(self.source, Path):
            return "the list of passages"
        return f"{self.source}@{self.split}" if self.split else str(self.source)

    def __iter__(self) -> Iterator[Passage]:
        return (passage for _, passage in self.placed())

    def placed(self) -> Iterator[tuple[str, Passage]]:
        """Yield where each passage stands, and the passage; ids may stand twice.

        Raises
        ------
        PolyqaError
            See `read_corpus`.
        """
        self.passages = self.titled = self.empty = self.repeated = 0
        self._columns, self._metadata = [], []
        rows = self._rows()
        for record in (one for number, row in enumerate(rows, 1) for one in _passages_of(row, number)):
            passage = self._passage(record)
            if passage is None:
                self.empty += 1
            else:
                self.passages += 1
                yield record.where, passage
        if not self.passages:
            without = f", only {counted(self.empty, 'row')} without a text" if self.empty else ""
            raise PolyqaError(f"{self.name} holds no passage{without}; there is nothing to index.")

    def distinct(self, ids: str | Path = ":memory:") -> Iterator[Passage]:
        """Yield the passages without those that repeat another; see `distinct`."""
        passages = 0
        for passage in distinct(self.placed(), ids):
            passages += 1
            yield passage
        self.passages, self.repeated = passages, self.passages - passages

    def _rows(self) -> Iterator[Record]:
        if not isinstance(self.source, Path):
            return rows_in_memory(self.source, SHAPE, self.split)
        if not exists(self.source):
            raise PolyqaError(f"{self.source} is no file and no folder; give a corpus, or documents.")
        return read_rows(self.source, SHAPE, self.split)

    def _passage(self, record: Record) -> Passage | None:
        """Return the passage of a row; ``None`` if its text is empty or missing."""
        value = record.value
        if isinstance(value, Passage):
            passage = with_id(value)
        else:
            if isinstance(value, str) or value is None:
                record = Record(record.where, {"text": value or ""}, record.key)
            row = _titled(folded(record))
            if not row.keys() & {*TEXTS}:
                if {str(key).strip().lower() for key in record.value} & {*TEXTS}:
                    return None
                keys = ", ".join(map(str, record.value)) or "none"
                raise problem(record.where, f"no text; keys are {keys}, 'text' is needed")
            self._columns = self._columns or list(row)
            try:
                parsed = PassageRecord.model_validate(row)
                passage = parsed.passage()
            except ValidationError as error:
                message = error.errors(include_url=False, include_context=False)[0]["msg"]
                raise problem(record.where, f"{message}; keys are {', '.join(map(str, record.value))}") from error
            self.titled += passage.title != parsed.title
        if not passage.text.strip():
            return None
        self._metadata = self._metadata or list(passage.metadata)
        try:
            "".join(map(str, (passage.pid, passage.title, passage.text, *chain(*passage.metadata.items())))).encode()
        except UnicodeEncodeError as error:
            fault = f"passage {passage.pid!r} holds half a character ({error.reason})"
            raise PolyqaError(f"{record.where}: {fault}.") from error
        return passage

    def summary(self) -> str:
        """Return in one line what was read from which columns, and what was left out."""
        names = dict(zip(("id", "title", "text"), (IDS, TITLES, TEXTS), strict=True))
        taken = {field: next((key for key in keys if key in self._columns), "") for field, keys in names.items()}
        how = ", ".join(f"{field} from {key!r}" for field, key in taken.items() if key and key != field)
        columns = self._metadata
        parts = [
            f"read {self.name}: {counted(self.passages, 'passage')}" + (f" ({how})" if how else ""),
            *(["ids made from the content"] if self._columns and not taken["id"] else []),
            *([f"metadata {', '.join(columns[:_NAMED])}" + (" …" if columns[_NAMED:] else "")] if columns else []),
            *([f"{counted(self.titled, 'title')} from the beginning of texts"] if self.titled else []),
            *self.left_out(),
        ]
        return "; ".join(parts)

    def left_out(self) -> list[str]:
        """Return in words what was left out."""
        counts = {"empty passage": self.empty, "repeated passage": self.repeated}
        return [f"{counted(number, thing)} left out" for thing, number in counts.items() if number]


def _titled(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the title that stands in LangChain's ``metadata``, where no condition would find it."""
    inner = row.get("metadata")
    if not isinstance(inner, Mapping) or not row.keys().isdisjoint(TITLES):
        return row
    name = next((name for name in TITLES if isinstance(inner.get(name), str)), None)
    rest = {key: value for key, value in inner.items() if key != name}
    return row if name is None else {**row, "title": inner[name], "metadata": rest}


def _passages_of(record: Record, number: int) -> Iterator[Record]:
    """Yield the passages that come with a question, without what it says of them; any other row as it is."""
    if not isinstance(record.value, Mapping):
        yield record
        return
    row = {str(key).strip().lower(): value for key, value in record.value.items()}
    context, question = row.get("context"), "question" in row
    if isinstance(context, Mapping) and all(isinstance(context.get(key), list) for key in ("title", "sentences")):
        context = [*map(list, zip(context["title"], context["sentences"], strict=False))]  # HotpotQA on the hub
    inner: list[Any] | None = None
    if not row.keys() & {*TEXTS}:
        inner = next((row[name] for name in _DOCUMENTS if isinstance(row.get(name), list)), None)
    if inner is not None:
        row_id = next((row[key] for key in IDS if row.get(key)), number)
        for place, document in enumerate(inner, 1):
            value = {"text": document} if isinstance(document, str) else document
            if isinstance(value, Mapping):
                columns = {key: value[key] for key in ("id", *TITLES, *TEXTS) if key in value}
                value = {"id": f"{row_id}-{place}"} | columns
            yield Record(f"{record.where}, document {place}", value)
    elif isinstance(paragraphs := row.get("paragraphs"), list):  # an article of SQuAD, a question of MuSiQue
        for place, paragraph in enumerate(paragraphs, 1):
            value = paragraph if isinstance(paragraph, Mapping) else {"text": paragraph}
            value = {"text": None} | {key: value[key] for key in (*TITLES, *TEXTS) if key in value}
            yield Record(f"{record.where}, paragraph {place}", {"title": row.get("title")} | value)
    elif question and isinstance(context, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in context):
        for title, text in context:  # HotpotQA
            yield Record(record.where, {"title": title, "text": text})
    elif question and "context" in row:  # SQuAD on the hub, MultiSpanQA: the id is the question's
        yield Record(record.where, {"title": row.get("title"), "text": context})
    else:
        yield record


def as_corpus(source: CorpusSource | Corpus) -> Corpus:
    """Return a source as a corpus."""
    return source if isinstance(source, Corpus) else Corpus(source)


def read_corpus(source: CorpusSource) -> list[Passage]:
    """Read the passages of a corpus.

    Parameters
    ----------
    source
        A path of a file or of a folder of files, or an iterable of passages, mappings or plain texts, such as a data
        set of `datasets` that streams, a data frame, or documents of LangChain; see `polyqa.base.rows` for the formats.
        ``FILE@SPLIT`` takes a split. A row has an ``id`` (or another name of `IDS`), a ``title`` (`TITLES`) and a
        ``text`` (`TEXTS`), a text or a list of sentences; what else it has is the passage's metadata. A TSV file
        without a header holds ``id<TAB>text`` or ``id<TAB>text<TAB>title``, the order of DPR's and ColBERT's
        collections; its first line begins with a number, or has a text of six words or more. A passage without an id
        gets that of its content, 16 hexadecimal digits.

        A row with ``documents`` in place of a text (a question of RAMDocs; ``docs`` of ALCE, ``ctxs`` of DPR) holds a
        passage in each: the first of row 3 is ``3-1``, if it has no id of its own. Of questions of SQuAD, HotpotQA and
        MultiSpanQA the contexts are the passages.

    Raises
    ------
    PolyqaError
        If the file is missing, empty or of another format, a row is broken (its place is given), or two different
        passages share an id. Rows without a text, and those that repeat another, are left out with a warning.
    """
    corpus = as_corpus(source)
    passages = [*corpus.distinct()]
    warn_of_left_out(corpus, source)
    return passages


def distinct(placed: Iterable[tuple[str, Passage]], ids: str | Path = ":memory:") -> Iterator[Passage]:
    """Yield passages that are given with their places, of those that are the same the first.

    Parameters
    ----------
    ids
        A file for the ids of so many passages that they should not be in memory.

    Raises
    ------
    PolyqaError
        If two different passages share an id.
    """
    with closing(sqlite3.connect(ids, check_same_thread=False)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("CREATE TABLE ids (pid TEXT PRIMARY KEY, place TEXT, content TEXT) WITHOUT ROWID")
        for where, passage in placed:
            row = passage.pid, well_formed(where), content_id(passage)
            if database.execute("INSERT OR IGNORE INTO ids VALUES (?, ?, ?)", row).rowcount:
                yield passage
                continue
            place, content = database.execute("SELECT place, content FROM ids WHERE pid = ?", row[:1]).fetchone()
            if content != row[2]:
                raise PolyqaError(f"{where}: the id {passage.pid!r} already stands at {place}; ids must be unique.")


def same_passage(a: Passage | None, b: Passage) -> bool:
    """Tell whether two passages of one id are the same, whatever their metadata."""
    return a is not None and (a.title, a.text) == (b.title, b.text)


def warn_of_left_out(corpus: Corpus, source: CorpusSource) -> None:
    """Warn of what was left out, unless the caller has the corpus, and so its summary."""
    if corpus is not source and (left_out := corpus.left_out()):
        warnings.warn(f"{corpus.name}: {'; '.join(left_out)}.", stacklevel=3)
