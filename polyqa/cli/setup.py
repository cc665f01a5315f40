"""`polyqa setup`: everything that needs a compiler or takes a while, once."""

import typer


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
