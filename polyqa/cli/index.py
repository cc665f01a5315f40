"""`polyqa index …`: build, look inside, search, change, check; and `polyqa setup`, which makes the first one."""

import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from . import completion, options
from .terminal import say

index_app = typer.Typer(help="Build and look after indexes.", no_args_is_help=True)

_Name = Annotated[str, typer.Argument(help="Name or path of the index.", autocompletion=completion.indexes)]


@index_app.command("build")
def build_command(
    corpus: Annotated[
        Path, typer.Argument(help="A .jsonl, .tsv or .parquet file, or a folder of them: id, title, text.")
    ],
    name: Annotated[str | None, typer.Option(help="Name or path; by default the file's name.")] = None,
    checkpoint: Annotated[str, typer.Option(help="ColBERT checkpoint: embedded, a path, or a hub name.")] = "embedded",
    nbits: Annotated[int, typer.Option(help="Bits per residual dimension: 1, 2 or 4.")] = 2,
    doc_maxlen: Annotated[int, typer.Option(min=8, max=500, help="Longest passage in tokens.")] = 180,
    shards: Annotated[
        int, typer.Option(min=1, help="Parts that are built by themselves: for corpora that memory does not hold.")
    ] = 1,
    engine: options.Engine = "local",
    workers: options.Workers = 2,
    address: options.Address = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an index of that name; its database of questions stays.")
    ] = False,
) -> None:
    """Build an index of a corpus.

    With --shards a build that was stopped goes on where it was, and Ray builds several at once: every machine of the
    cluster needs the index's folder under the same path.
    """
    from contextlib import nullcontext

    from polyqa.base.errors import PolyqaError
    from polyqa.base.text import counted
    from polyqa.cluster import on_ray
    from polyqa.colbert_index import IndexSettings, build_index
    from polyqa.colbert_index.shards import shard_builder
    from polyqa.models import Encoder

    if nbits not in (1, 2, 4):
        raise PolyqaError(f"--nbits is 1, 2 or 4, not {nbits}.")
    cluster = options.cluster(engine, workers, address)
    if cluster is not None and shards == 1:
        raise PolyqaError("A cluster builds shards: add --shards, with one or more for each worker.")
    settings = IndexSettings(nbits=nbits, doc_maxlen=doc_maxlen)  # type: ignore[arg-type]
    with nullcontext() if cluster is None else on_ray(shard_builder, cluster, at_once=1) as pool:
        index = build_index(
            corpus,
            name or corpus.stem,
            checkpoint=checkpoint,
            settings=settings,
            encoder=Encoder(),
            shards=shards,
            run=None if pool is None else pool.map,
            overwrite=overwrite,
        )
    say(f"indexed {counted(len(index), 'passage')}: {index.path}")


@index_app.command("list")
def list_command(as_json: options.Json = False) -> None:
    """List the indexes by name; as JSON with what each holds."""
    from polyqa.colbert_index.store import index_home, index_names

    names = index_names()
    if as_json:
        from .display import show_json

        show_json([_listed(index_home() / name) for name in names])
        return
    say("\n".join(names) if names else f"no index in {index_home()}")


def _listed(folder: Path) -> dict[str, object]:
    """Return what the list tells of an index; of a damaged one why it cannot be opened."""
    from polyqa.colbert_index import ColBERTIndex, IndexFaultError

    try:
        return ColBERTIndex(folder).info()
    except IndexFaultError as error:
        return {"name": folder.name, "path": str(folder), "fault": str(error)}


@index_app.command("info")
def info_command(
    name: _Name,
    as_json: options.Json = False,
) -> None:
    """Say what an index holds and how it was made."""
    from polyqa.colbert_index import ColBERTIndex

    from .display import console, facts, show_json

    info = ColBERTIndex(name).info()
    if as_json:
        show_json(info)
    else:
        console().print(facts(info))


@index_app.command("search")
def search_command(
    name: _Name,
    query: Annotated[str, typer.Argument(help="What to search for.")],
    passages: Annotated[int, typer.Option("--passages", "-k", min=1, max=1000, help="How many passages.")] = 5,
    retriever: Annotated[
        str, typer.Option(help="colbert, bm25 or fused.", autocompletion=completion.one_of(*completion.RETRIEVER_NAMES))
    ] = "colbert",
    as_json: options.Json = False,
) -> None:
    """Search an index."""
    from polyqa.base.errors import PolyqaError
    from polyqa.colbert_index import ColBERTIndex, FusedRetriever, Retriever

    from .display import show_json

    index = ColBERTIndex(name)
    retrievers: dict[str, Callable[[], Retriever]] = {
        "colbert": lambda: index,
        "bm25": lambda: index.bm25,
        "fused": lambda: FusedRetriever([index, index.bm25]),
    }
    if retriever not in retrievers:
        raise PolyqaError(f"--retriever is one of {', '.join(retrievers)}, not {retriever!r}.")
    if not query.strip():
        raise PolyqaError("The query is empty.")
    found = retrievers[retriever]().search(query, passages)
    if as_json:
        show_json([passage.model_dump() for passage in found])
        return
    for rank, passage in enumerate(found, 1):
        say(f"{rank:>3}  {passage.score:8.3f}  {passage.pid}  {passage.title}")
        say(_indented(f"{passage.text[:150]}{'…' if len(passage.text) > 150 else ''}"))


def _indented(text: str) -> str:
    """Return a text five characters from the left; on a terminal in lines of its width."""
    if not sys.stdout.isatty():
        return f"     {text}"
    return textwrap.fill(
        text, max(20, shutil.get_terminal_size().columns), initial_indent=" " * 5, subsequent_indent=" " * 5
    )


@index_app.command("add")
def add_command(name: _Name, corpus: Annotated[Path, typer.Argument(help="A .jsonl or .tsv file.")]) -> None:
    """Add passages to an index."""
    from polyqa.base.text import counted
    from polyqa.colbert_index import ColBERTIndex, add_passages

    index = ColBERTIndex(name)
    before = len(index)
    index = add_passages(index, corpus)
    say(f"added {counted(len(index) - before, 'passage')}; {index.name} holds {len(index):,}")


@index_app.command("remove")
def remove_command(name: _Name, ids: Annotated[list[str], typer.Argument(help="Passage ids.")]) -> None:
    """Remove passages from an index by their ids."""
    from polyqa.base.text import counted
    from polyqa.colbert_index import ColBERTIndex, remove_passages

    index = ColBERTIndex(name)
    before = len(index)
    index = remove_passages(index, ids)
    say(f"removed {counted(before - len(index), 'passage')}; {index.name} holds {len(index):,}")


@index_app.command("delete")
def delete_command(
    name: _Name, yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False
) -> None:
    """Delete an index, and the database of its questions."""
    from polyqa.colbert_index.delete import deletable, delete_index
    from polyqa.colbert_index.versions import QUESTIONS

    folder = deletable(name)
    made = _what_goes(folder)
    if (folder / QUESTIONS).exists() or any(folder.glob(f".{QUESTIONS}.*jsonl")):
        made += "; the database of questions that was made from it goes with it"
    say(f"{folder}: {made}", err=True)
    if not yes and not typer.confirm("Delete?", err=True):
        say("not deleted", err=True)
        return
    delete_index(name)
    say(f"deleted {folder}")


def _what_goes(folder: Path) -> str:
    """Return what a folder holds that is deleted; the index is closed again."""
    from polyqa.base.text import counted
    from polyqa.colbert_index import ColBERTIndex, IndexFaultError

    try:
        index = ColBERTIndex(folder)
    except IndexFaultError:
        return "a damaged index"
    return f"{counted(len(index), 'passage')}, {index.info()['bytes'] / 1e6:,.1f} MB"


@index_app.command("trust")
def trust_command(name: _Name) -> None:
    """Trust the models of others that an index names, as they are now."""
    from polyqa.colbert_index import ColBERTIndex
    from polyqa.colbert_index.trust import trust

    index = ColBERTIndex(name)
    named = trust(index.manifest)
    say(f"trusted: {', '.join(named)}" if named else f"{index.name} uses polyqa's own models only")


@index_app.command("check")
def check_command(name: _Name) -> None:
    """Check that an index is whole, unchanged and searchable."""
    from polyqa.base.text import counted
    from polyqa.colbert_index import check_index

    index = check_index(name)
    say(f"{index.name} is whole: {counted(len(index), 'passage')}, fingerprint {index.fingerprint}")


def setup_command() -> None:
    """Compile ColBERT's search, make the embedded checkpoint, index the shipped corpus. Run once."""
    from polyqa.colbert_index import ColBERTIndex, IndexFaultError, build_index, read_corpus
    from polyqa.colbert_index.checkpoint import checkpoint_hash, embedded_checkpoint
    from polyqa.colbert_index.kernel import compile_kernel
    from polyqa.colbert_index.settings import IndexSettings, fingerprint
    from polyqa.colbert_index.store import SHIPPED
    from polyqa.evaluation.homonyms import corpus_path
    from polyqa.models import Encoder

    compile_kernel(lambda line: say(line, err=True))
    hashed = checkpoint_hash(str(embedded_checkpoint()))
    expected = fingerprint(read_corpus(corpus_path()), hashed, IndexSettings())
    try:
        current = ColBERTIndex(SHIPPED).fingerprint == expected
    except IndexFaultError:
        current = False
    if not current:
        say("indexing the shipped corpus (once) …", err=True)
        build_index(corpus_path(), SHIPPED, encoder=Encoder(), overwrite=True)
    say("polyqa is ready: no network is needed from here on.")
