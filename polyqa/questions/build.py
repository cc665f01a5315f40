"""Builds the database of an index: generate (resumable), encode once, write aside, rename."""

import random
from collections.abc import Callable, Collection
from pathlib import Path

from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs
from polyqa.base.files import require_no_links
from polyqa.base.folders import expanded
from polyqa.base.languages import MODELS_READ, corpus_language
from polyqa.base.ledger import remove_ledger
from polyqa.base.text import counted
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex
from polyqa.colbert_index.writing import replacing
from polyqa.models import Encoder

from .database import MANIFEST, QuestionDatabase, questions_path, write_database
from .types import Generation


def journal_path(target: Path) -> Path:
    """Return where a build keeps what it has made so far: beside the database."""
    return target.with_name(f".{target.name}.journal.sqlite")


def build_questions(
    index: ColBERTIndex,
    generate: Callable[..., Generation],
    *,
    encoder: Encoder,
    out: str | Path | None = None,
    pids: Collection[str] | None = None,
    limit: int | None = None,
    overwrite: bool = False,
    step: Callable[[], None] = lambda: None,
) -> QuestionDatabase:
    """Make the questions of an index's passages and write their database.

    The folder takes its place when it is complete. A build that is killed leaves its journal beside it, and
    the next one goes on from there; the journal goes when every passage has been read, and stays for
    those whose language model failed, or while it holds other passages of the index.

    Parameters
    ----------
    index
        Whose passages are read.
    generate
        How: `generate_questions` with its other arguments.
    encoder
        Encodes every question once, in batches.
    out
        The database's folder; ``questions`` in the index's folder if not given.
    pids
        Read only these passages; all if not given.
    limit
        Read a random sample of so many of them, always the same.
    overwrite
        Replace a database that is there.
    step
        Is called after each passage.

    Returns
    -------
    QuestionDatabase
        The new database, opened.

    Raises
    ------
    PolyqaError
        If the place is taken or being written, or nothing could be made. If the index has changed meanwhile: then
        what was made is in the journal, and the next build reads only the passages that are new.
    """
    target = free_place(index, out, overwrite=overwrite)
    passages = chosen_passages(index, limit, pids=pids)
    if target.exists() and not overwrite:
        covered_pids = {pid for question in QuestionDatabase(target).questions() for pid in question.pids}
        covered_pids &= {passage.pid for passage in index.passages}
        if lost := sorted(covered_pids - {passage.pid for passage in passages}):
            raise PolyqaError(
                f"{target} holds questions of {counted(len(lost), 'passage')} of {index.name} that are not asked for "
                f"now, such as {lost[0]!r}. Ask for all, choose another folder, or overwrite it (--overwrite)."
            )
    journal = journal_path(target)
    with replacing(target) as work:
        generation = generate(passages, journal=journal, step=step)
        index_pids = {passage.pid for passage in index.passages}
        complete = not generation.counts.failed and generation.others.isdisjoint(index_pids)
        if not generation.questions:
            if complete:
                remove_ledger(journal)  # another language model cannot go on with it
            language = corpus_language([passage.text for passage in passages])
            why = f"They look {language}: {MODELS_READ}" if language else "Another language model (--lm) may find some."
            read = f"{counted(len(passages), 'passage')} of {index.name} ({generation.counts})"
            raise PolyqaError(f"No question came of the {read}. {why}")
        now = ColBERTIndex(index.path)
        if now.fingerprint != index.fingerprint:
            raise PolyqaError(
                f"The index {index.name} has changed since the questions were begun (it holds "
                f"{counted(len(now), 'passage')} now, then {len(index):,}). Nothing is lost: run the same command "
                "again, and it reads only what is new."
            )
        write_database(work, generation, index, encoder)
    if complete:
        remove_ledger(journal)
    return QuestionDatabase(target, encoder=encoder, index=index)


def free_place(index: ColBERTIndex, out: str | Path | None = None, *, overwrite: bool = False) -> Path:
    """Return the folder of a database that is to be built.

    Raises
    ------
    PolyqaError
        If it holds something else or a link, or a whole database that may not be overwritten. One that passages failed
        for, whose journal is still there, may. Or if lancedb is not installed.
    """
    needs("lancedb", extra="questions", for_="A question database")
    target = expanded(out).absolute() if out is not None else questions_path(index)
    require_no_links(target)
    if target.exists() and not (target / MANIFEST).is_file():
        raise PolyqaError(f"{target} is no database of questions; it is left alone. Choose another folder.")
    if target.exists() and not overwrite and not journal_path(target).exists():
        raise PolyqaError(f"{target} exists; remove it, choose another folder, or overwrite it (--overwrite).")
    return target


def chosen_passages(
    index: ColBERTIndex, limit: int | None = None, *, pids: Collection[str] | None = None
) -> list[Passage]:
    """Return the passages that a build reads, in the index's order: all, those of these ids, or a sample of them.

    Raises
    ------
    PolyqaError
        If the index has no passage of an id, or no id is given.
    """
    passages = index.passages
    if pids is not None:
        unknown = sorted(set(pids) - {passage.pid for passage in passages})
        if unknown or not pids:
            wrong = f"has no passage {', '.join(unknown[:3])}" if unknown else "was asked for no passage"
            raise PolyqaError(f"The index {index.name} {wrong}; `[p.pid for p in index.passages]` are its ids.")
        passages = [passage for passage in passages if passage.pid in pids]
    if limit is None or limit >= len(passages):
        return passages
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    positions = sorted(random.Random(0).sample(range(len(passages)), limit))
    return [passages[at] for at in positions]
