"""`polyqa index …`: build, look inside, search, change, check; and `polyqa setup`, which makes the first one."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from . import options

index_app = typer.Typer(help="Build and look after indexes.", no_args_is_help=True)

_Name = Annotated[str, typer.Argument(help="Name or path of the index.")]


@index_app.command("build")
def build_command(
    corpus: Annotated[Path, typer.Argument(help="A .jsonl or .tsv file: id, title, text.")],
    name: Annotated[str | None, typer.Option(help="Name or path; by default the file's name.")] = None,
    checkpoint: Annotated[str, typer.Option(help="ColBERT checkpoint: embedded, a path, or a hub name.")] = "embedded",
    nbits: Annotated[int, typer.Option(help="Bits per residual dimension: 1, 2 or 4.")] = 2,
    doc_maxlen: Annotated[int, typer.Option(min=8, max=500, help="Longest passage in tokens.")] = 180,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an index of that name; its database of questions stays.")
    ] = False,
) -> None:
    """Build an index of a corpus."""
    from polyqa.colbert_index import IndexSettings, build_index
    from polyqa.embedded_models import Encoder
    from polyqa.signatures import PolyqaError

    if nbits not in (1, 2, 4):
        raise PolyqaError(f"--nbits is 1, 2 or 4, not {nbits}.")
    settings = IndexSettings(nbits=nbits, doc_maxlen=doc_maxlen)  # type: ignore[arg-type]
    index = build_index(
        corpus,
        name or corpus.stem,
        checkpoint=checkpoint,
        settings=settings,
        encoder=Encoder(),
        overwrite=overwrite,
    )
    typer.echo(f"indexed {len(index):,} passages: {index.path}")


@index_app.command("list")
def list_command() -> None:
    """List the indexes by name."""
    from polyqa.colbert_index.store import index_home, index_names

    names = index_names()
    typer.echo("\n".join(names) if names else f"no index in {index_home()}")


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
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="How many passages.")] = 5,
    retriever: Annotated[str, typer.Option(help="colbert, bm25 or fused.")] = "colbert",
    as_json: options.Json = False,
) -> None:
    """Search an index."""
    from polyqa.colbert_index import ColBERTIndex, FusedRetriever, Retriever
    from polyqa.signatures import PolyqaError

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
    passages = retrievers[retriever]().search(query, k)
    if as_json:
        show_json([passage.model_dump() for passage in passages])
        return
    for rank, passage in enumerate(passages, 1):
        typer.echo(f"{rank:>3}  {passage.score:8.3f}  {passage.pid}  {passage.title}")
        typer.echo(f"     {passage.text[:150]}{'…' if len(passage.text) > 150 else ''}")


@index_app.command("add")
def add_command(name: _Name, corpus: Annotated[Path, typer.Argument(help="A .jsonl or .tsv file.")]) -> None:
    """Add passages to an index."""
    from polyqa.colbert_index import ColBERTIndex, add_passages

    index = ColBERTIndex(name)
    before = len(index)
    index = add_passages(index, corpus)
    typer.echo(f"added {len(index) - before:,} passages; {index.name} holds {len(index):,}")


@index_app.command("remove")
def remove_command(name: _Name, ids: Annotated[list[str], typer.Argument(help="Passage ids.")]) -> None:
    """Remove passages from an index by their ids."""
    from polyqa.colbert_index import ColBERTIndex, remove_passages

    index = ColBERTIndex(name)
    before = len(index)
    index = remove_passages(index, ids)
    typer.echo(f"removed {before - len(index):,} passages; {index.name} holds {len(index):,}")


@index_app.command("check")
def check_command(name: _Name) -> None:
    """Check that an index is whole, unchanged and searchable."""
    from polyqa.colbert_index import check_index

    index = check_index(name)
    typer.echo(f"{index.name} is whole: {len(index):,} passages, fingerprint {index.fingerprint}")


def setup_command() -> None:
    """Compile ColBERT's extensions, make the embedded checkpoint, index the shipped corpus. Run once."""
    from polyqa.colbert_index import ColBERTIndex, IndexFaultError, build_index, read_corpus
    from polyqa.colbert_index.checkpoint import checkpoint_hash, embedded_checkpoint
    from polyqa.colbert_index.extensions import compile_extensions
    from polyqa.colbert_index.settings import IndexSettings, fingerprint
    from polyqa.embedded_models import Encoder
    from polyqa.evaluation.homonyms import corpus_path

    compile_extensions(lambda line: typer.echo(line, err=True))
    hashed = checkpoint_hash(str(embedded_checkpoint()))
    expected = fingerprint(read_corpus(corpus_path()), hashed, IndexSettings())
    try:
        current = ColBERTIndex("homonyms").fingerprint == expected
    except IndexFaultError:
        current = False
    if not current:
        typer.echo("indexing the shipped corpus (once) …", err=True)
        build_index(corpus_path(), "homonyms", encoder=Encoder(), overwrite=True)
    typer.echo("polyqa is ready: no network is needed from here on.")
