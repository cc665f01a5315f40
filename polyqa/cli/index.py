"""`polyqa index …`: build, describe, check, search and change an index; `polyqa setup` makes the first one."""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs
from polyqa.base.text import counted

from . import options
from .display import asked, console, facts, show_json
from .help import Command
from .terminal import say

if TYPE_CHECKING:
    from polyqa.colbert_index import ColBERTIndex
    from polyqa.colbert_index.corpus import Corpus, CorpusSource
    from polyqa.documents import Documents, Splitter
    from polyqa.questions import QuestionDatabase
    from polyqa.questions.types import Origin

index_app = typer.Typer(help="Build and manage indexes.", no_args_is_help=True)

_NOT_WITH_ADD = ("checkpoint", "nbits", "doc_maxlen", "shards", "overwrite", "engine", "workers", "address")
_Name = Annotated[str, typer.Argument(help="Name or path of the index.")]


@index_app.command("build", cls=Command)
def build_command(
    context: typer.Context,
    corpus: Annotated[
        Path,
        typer.Argument(
            help="A folder of documents (PDF, Office, HTML, Markdown, reStructuredText, text, EPUB, e-mail, CSV, JSON) "
            "or one of them; or a corpus with id, title, text: .jsonl, .json, .csv, .tsv, .parquet, .arrow (or .gz), a "
            "folder of these, of BEIR, or saved by datasets."
        ),
    ],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name or path of the index; by default the file's name.")
    ] = None,
    checkpoint: Annotated[
        str,
        options.more(
            metavar="NAME",
            help="Checkpoint of Stanford's ColBERT, PyLate or MultiVectorEncoder: embedded, a path, or a hub name.",
        ),
    ] = "embedded",
    nbits: Annotated[
        int, options.more(metavar="N", help="Bits for each number of a compressed vector: 1, 2 or 4.")
    ] = 2,
    doc_maxlen: Annotated[
        int, options.more(metavar="N", min=8, max=500, help="Tokens of a passage that are indexed.")
    ] = 180,
    overlap: Annotated[
        int, options.more(metavar="N", min=0, help="Tokens that a passage of a document repeats of the one before.")
    ] = 0,
    split_long: Annotated[
        bool, typer.Option("--split-long", help="Split passages that are longer than --doc-maxlen.")
    ] = False,
    split: options.Split = None,
    shards: Annotated[
        int,
        options.more(
            metavar="N", min=1, help="Number of parts, built one by one, for corpora that do not fit into memory."
        ),
    ] = 1,
    engine: options.Engine = "local",
    workers: options.Workers = 2,
    address: options.Address = None,
    add: Annotated[
        bool, typer.Option("--add", help="Add the passages to the existing index of that name, with its settings.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the index of that name; its database of questions stays.")
    ] = False,
) -> None:
    """Build an index of documents or of a corpus, or add passages to one.

    Documents are split into passages by their headings and sentences. The same command resumes a stopped build with
    --shards. Ray builds several shards at the same time; every machine of the cluster needs the index's folder under
    the same path.
    """
    from polyqa.base.languages import MODELS_READ, corpus_language
    from polyqa.cluster import on_ray
    from polyqa.colbert_index import IndexSettings, build_index
    from polyqa.colbert_index.shards import build_shard
    from polyqa.documents import Splitter
    from polyqa.models import Encoder

    name = name or _name_of(corpus)
    if add:
        if refused := options.given(context, *_NOT_WITH_ADD):
            raise PolyqaError(f"--add keeps the settings of the index: leave out {', '.join(refused)}.")
        _add(name, corpus, split, overlap, split_long)
        return
    if nbits not in (1, 2, 4):
        raise PolyqaError(f"--nbits is 1, 2 or 4, not {nbits}.")
    cluster = options.cluster(context, engine, workers, address)
    if cluster is not None and shards == 1:
        raise PolyqaError("A cluster builds shards: add --shards, with one or more for each worker.")
    settings = IndexSettings(nbits=nbits, doc_maxlen=doc_maxlen)  # type: ignore[arg-type]
    source, read = _source(corpus, split, overlap, doc_maxlen, checkpoint, split_long)
    with nullcontext() if cluster is None else on_ray(lambda: build_shard, cluster, at_once=1) as pool:
        index = build_index(
            source,
            name,
            checkpoint=checkpoint,
            settings=settings,
            encoder=Encoder(),
            shards=shards,
            run=None if pool is None else pool.map,
            overwrite=overwrite,
        )
    _tell(read, index, Splitter(doc_maxlen, overlap, checkpoint) if split_long else None)
    say(f"indexed {counted(len(index), 'passage')}: {index.path}")
    if checkpoint == "embedded" and (language := corpus_language([passage.text for passage in index.passages])):
        say(f"The passages look {language}: {MODELS_READ}", err=True)


def _name_of(corpus: Path) -> str:
    """Return the name that an index gets of its corpus: that of the file, in the letters that a name may have."""
    from polyqa.base.rows import format_of

    name = Path(os.path.normpath(corpus.absolute())).name  # not what a link leads to, which changes
    file, _, split = name.partition("@")
    stem = file.removesuffix(".gz").removesuffix(".GZ")
    suffix = "" if corpus.is_dir() else format_of(Path(file))
    stem = stem[: -len(suffix)] if suffix and len(stem) > len(suffix) else stem
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{stem}-{split}" if split else stem).strip("-.").lstrip("-._") or "index"


def _source(
    corpus: Path, split: str | None, overlap: int, tokens: int, checkpoint: str, split_long: bool
) -> tuple["CorpusSource", "Corpus | Documents"]:
    """Return what an index is built of, and what tells how it was read.

    These are documents that are converted, a corpus, or passages that are split and their corpus.
    """
    from polyqa.colbert_index.corpus import Corpus
    from polyqa.documents import Documents, Splitter, holds_documents, split_passages
    from polyqa.documents.converting import is_ready

    if holds_documents(corpus) and not (split and is_ready(corpus, split)):
        if split is not None:
            raise PolyqaError(f"{corpus} holds documents, which have no split {split!r}: leave out --split.")
        documents = Documents(corpus, Splitter(tokens, overlap, checkpoint))
        return documents, documents
    read = Corpus(corpus, split)
    if not split_long:
        if overlap:
            raise PolyqaError("--overlap is for passages that are split: add --split-long, or leave it out.")
        return read, read
    return split_passages(read, Splitter(tokens, overlap, checkpoint)), read


def _tell(read: "Corpus | Documents", index: "ColBERTIndex", splitter: "Splitter | None") -> None:
    """Say what was read and how, and note beside the index what the next sync has to know."""
    from polyqa.documents import Documents
    from polyqa.documents.syncing import remember, remember_corpus

    say(read.summary())
    if not isinstance(read, Documents):
        remember_corpus(index, Path(str(read.source)), splitter, read.split)
    else:
        remember(index, read)
        for name, reason in [*read.left_out.items()][read.NAMED :]:
            say(f"left out: {name} {reason}", err=True)


def _add(name: str, corpus: Path, split: str | None, overlap: int, split_long: bool) -> None:
    from polyqa.colbert_index import ColBERTIndex, add_passages
    from polyqa.colbert_index.trust import trusted_checkpoint

    index = ColBERTIndex(name)
    before = len(index)
    checkpoint = trusted_checkpoint(index.manifest, index.path)
    source, read = _source(corpus, split, overlap, index.settings.doc_maxlen, checkpoint, split_long)
    index = add_passages(index, source)
    say(read.summary())
    say(f"added {counted(len(index) - before, 'passage')}; {index.name} holds {len(index):,}")


@index_app.command("sync", cls=Command)
def sync_command(
    name: _Name,
    folder: Annotated[Path, typer.Argument(help="The folder or file that the index was built from.")],
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running, and sync whenever a file changes, until Ctrl-C.")
    ] = False,
) -> None:
    """Bring an index up to date with its folder or file: only new passages are encoded.

    The same command resumes a stopped sync.
    """
    from polyqa.base.rows import exists, located
    from polyqa.documents import sync_index

    def sync() -> None:
        synced = sync_index(name, folder)
        say(synced.summary)
        say(str(synced))

    if not watch:
        sync()
        return
    needs("watchfiles", extra="documents", for_="Watching a folder")
    from watchfiles import watch as changes

    place, _ = located(folder)
    if not exists(place):
        raise PolyqaError(f"{folder} is neither a folder nor a file.")
    # The watcher begins with the first step, which is a time-out: what changes during the first sync counts, too.
    for step, changed in enumerate(changes(place, rust_timeout=500, yield_on_timeout=True, raise_interrupt=True)):
        if not step:
            sync()
            say(f"watching {folder} …", err=True)
        elif changed:
            try:
                sync()
            except PolyqaError as error:  # a file may be half written: its next change is a new try
                say(f"polyqa: {error}", err=True)


@index_app.command("info", cls=Command)
def info_command(
    name: Annotated[
        str | None, typer.Argument(help="Name or path of the index; without it all indexes are listed.")
    ] = None,
    questions: Annotated[
        Path | None,
        options.more(
            metavar="FOLDER", help="Folder of its database of questions; by default questions/ in its folder."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Read index and questions completely, and check that both are intact.")
    ] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="Trust the models from others that the index uses, in their present state.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """List the indexes, or show what one contains and how it was made."""
    from polyqa.colbert_index import ColBERTIndex, check_index
    from polyqa.colbert_index.trust import trust as trust_models
    from polyqa.colbert_index.versions import QUESTIONS

    if name is None:
        if check or trust:
            raise PolyqaError(
                "--check and --trust are for one index: name it, such as polyqa index info homonyms --check."
            )
        _list(as_json)
        return
    if trust:
        index = ColBERTIndex(name)
        models = trust_models(index.manifest)
        say(f"trusted: {', '.join(models)}" if models else f"{index.name} uses polyqa's own models only")
        return
    index = check_index(name) if check else ColBERTIndex(name)
    info, database = index.info(), None
    if questions is not None or (index.path / QUESTIONS).exists():
        from polyqa.question_building import open_questions

        database = open_questions(index, questions)
        if check:
            database.check()
    if as_json:
        show_json({**info, "questions": database.manifest.model_dump(mode="json")} if database else info)
        return
    listed = {"columns": ", ".join(f"{name} ({kind})" for name, kind in index.columns.items())}
    console().print(facts({**info, **listed} if index.columns else info))
    if database is not None:
        console().print(facts(_facts_of(database)))
    if check:
        metadata = f", metadata {', '.join(index.columns)}" if index.columns else ""
        passages = counted(len(index), "passage")
        intact = f"{index.name} is intact: {passages}{metadata}, fingerprint {index.fingerprint}"
        say(intact + (f"; {counted(len(database), 'question')}" if database is not None else ""))


def _way_of(origin: "Origin") -> dict[str, object]:
    if origin.at_once:
        return {"written": "all of a passage in one call"}
    return {"revisions": origin.revisions, "spans per passage": f"at most {origin.spans}"}


def _facts_of(database: "QuestionDatabase") -> dict[str, object]:
    manifest = database.manifest
    return {
        "questions": len(database),
        "path": database.path,
        "made from": f"{manifest.counts.passages:,} of {counted(manifest.index_passages, 'passage')}",
        "steps": manifest.counts,
        **_way_of(manifest.origin),
        "language model": manifest.origin.lm,
        "reader": manifest.origin.reader,
        "encoder": f"{manifest.encoder} ({manifest.dimensions} dimensions)",
        "index": manifest.index,
        "lancedb": manifest.lancedb,
    }


def _list(as_json: bool) -> None:
    from polyqa.colbert_index.store import index_home, index_names

    names = index_names()
    if as_json:
        show_json([_listed(index_home() / name) for name in names])
        return
    say("\n".join(names) if names else f"no index in {index_home()}")


def _listed(folder: Path) -> dict[str, object]:
    """Return what the list tells of an index; of a damaged one why it cannot be opened."""
    from polyqa.colbert_index import ColBERTIndex, IndexFaultError

    try:
        return ColBERTIndex(folder).info()
    except (IndexFaultError, OSError) as error:
        return {"name": folder.name, "path": str(folder), "fault": str(error)}


@index_app.command("search", cls=Command)
def search_command(
    name: _Name,
    query: Annotated[str, typer.Argument(help="The search query.")],
    passages: Annotated[
        int, typer.Option("--passages", "-k", metavar="N", min=1, max=1000, help="Number of passages.")
    ] = 5,
    retriever: Annotated[str, typer.Option(metavar="NAME", help="colbert, bm25 or fused.")] = "colbert",
    where: options.Where = None,
    as_json: options.Json = False,
) -> None:
    """Search an index."""
    from polyqa.colbert_index import ColBERTIndex, FusedRetriever, Retriever

    index = ColBERTIndex(name) if where is None else ColBERTIndex(name).where(where)
    retrievers: dict[str, Callable[[], Retriever]] = {
        "colbert": lambda: index,
        "bm25": lambda: index.bm25,
        "fused": lambda: FusedRetriever([index, index.bm25]),
    }
    if retriever not in retrievers:
        raise PolyqaError(f"--retriever is one of {', '.join(retrievers)}, not {retriever!r}.")
    if not query.strip():
        raise PolyqaError("The query is empty.")
    found_passages = retrievers[retriever]().search(query, passages)
    if as_json:
        show_json([passage.model_dump() for passage in found_passages])
        return
    for rank, passage in enumerate(found_passages, 1):
        say(f"{rank:>3}  {passage.score:8.3f}  {passage.pid}  {passage.title}")
        say(_indented(f"{passage.text[:150]}{'…' if len(passage.text) > 150 else ''}"))
        if passage.metadata:
            say(_indented(" · ".join(f"{name}: {value}" for name, value in passage.metadata.items())))


def _indented(text: str) -> str:
    """Return a text five characters from the left; on a terminal in lines of its width."""
    if not sys.stdout.isatty():
        return f"     {text}"
    return textwrap.fill(
        text, max(20, shutil.get_terminal_size().columns), initial_indent=" " * 5, subsequent_indent=" " * 5
    )


@index_app.command("delete", cls=Command)
def delete_command(
    name: _Name,
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of passages to delete; without them the whole index is deleted.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete an index without asking.")] = False,
) -> None:
    """Delete passages of an index, or the whole index and its database of questions."""
    from polyqa.colbert_index import ColBERTIndex, remove_passages
    from polyqa.colbert_index.delete import deletable, delete_index
    from polyqa.colbert_index.versions import QUESTIONS

    if ids:
        index = ColBERTIndex(name)
        before = len(index)
        index = remove_passages(index, ids)
        say(f"deleted {counted(before - len(index), 'passage')}; {index.name} holds {len(index):,}")
        return
    folder = deletable(name)
    consequence = _what_goes(folder)
    if (folder / QUESTIONS).exists() or any(folder.glob(f".{QUESTIONS}.*jsonl")):
        consequence += "; its database of questions is deleted, too"
    say(f"{folder}: {consequence}", err=True)
    if not yes and not asked("Delete the whole index?"):
        say("not deleted", err=True)
        return
    delete_index(name)
    say(f"deleted {folder}")


def _what_goes(folder: Path) -> str:
    """Return what a folder holds that is deleted; the index is closed again."""
    from polyqa.colbert_index import ColBERTIndex, IndexFaultError

    try:
        index = ColBERTIndex(folder)
    except IndexFaultError:
        return "a damaged index" if folder.is_dir() else "shards of a build that was stopped"
    return f"{counted(len(index), 'passage')}, {index.info()['bytes'] / 1e6:,.1f} MB"


def setup_command() -> None:
    """Prepare polyqa: compile its search, make the embedded checkpoint, index the shipped corpus. Run it once."""
    from polyqa.colbert_index import ColBERTIndex, IndexFaultError, build_index, read_corpus
    from polyqa.colbert_index.checkpoint import checkpoint_hash, embedded_checkpoint
    from polyqa.colbert_index.kernel import compile_kernel
    from polyqa.colbert_index.settings import IndexSettings, fingerprint
    from polyqa.colbert_index.store import SHIPPED
    from polyqa.evaluation.homonyms import corpus_path
    from polyqa.models import Encoder
    from polyqa.models.loading import PRECISION

    compile_kernel(lambda line: say(line, err=True))
    hashed = checkpoint_hash(str(embedded_checkpoint()))
    expected = fingerprint(read_corpus(corpus_path()), hashed, IndexSettings())
    try:
        current = ColBERTIndex(SHIPPED).fingerprint == expected
    except IndexFaultError:
        current = False
    if not current:
        say("indexing the shipped corpus (once) …", err=True)
        # The same on every processor: what language models replied is recorded with the passages in their order.
        os.environ.setdefault(PRECISION, "float32")
        build_index(corpus_path(), SHIPPED, encoder=Encoder(), overwrite=True)
    say("polyqa is ready: no network is needed from here on.")
