"""Makes an index follow a folder: what is new is encoded, what is gone is removed, the rest stays as it is.

Beside the versions of the index lies ``.documents.json``: of which folder it was built, and what was read of each file
with its hash, so that a file is converted again only if it has changed. Without it, or if polyqa now reads documents in
another way, all files are converted again; no passage is encoded again that is in the index already. So does a sync go
on that was interrupted.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.base.rows import exists, located
from polyqa.base.text import counted, well_formed
from polyqa.base.values import MetadataValue, Passage
from polyqa.colbert_index import ColBERTIndex
from polyqa.colbert_index.corpus import read_corpus, same_passage
from polyqa.colbert_index.trust import trusted_checkpoint
from polyqa.colbert_index.update import change_passages

from .folder import Documents, ReadFile, holds_documents
from .splitting import Splitter, split_passages

_STATE = ".documents.json"
_READING = 14  # raised whenever documents are read in another way: the next sync then converts all files again
_AT_ONCE = 2_000  # passages that an interrupted sync loses at most


@dataclass(frozen=True)
class Synced:
    """What a sync changed.

    Attributes
    ----------
    index
        The index after it, opened.
    added, removed, moved, unchanged
        How many passages are new, gone, stand at another place than before, and stayed as they were.
    summary
        What was read of the folder, in one line.
    """

    index: ColBERTIndex
    added: int
    removed: int
    moved: int
    unchanged: int
    summary: str

    def __str__(self) -> str:
        moved = f", {self.moved:,} stand elsewhere" if self.moved else ""
        return (
            f"added {counted(self.added, 'passage')}, removed {self.removed:,}{moved}, {self.unchanged:,} unchanged; "
            f"{self.index.name} holds {len(self.index):,}"
        )


def sync_index(index: str | Path | ColBERTIndex, folder: str | Path) -> Synced:
    """Bring an index up to date with the folder that it was built of.

    Passages that name no ``source`` are left alone if the folder holds documents. Those of a file that cannot be read
    now stay as they were. Documents, and passages that were too long, are split as at the last sync, or build by the
    command line. A build in Python is not noted: then documents are split to what the index reads, without overlap.

    Parameters
    ----------
    index
        An index, or its name or path.
    folder
        The folder; of a corpus with several splits, the one that the index was built of is read.

    Raises
    ------
    PolyqaError
        If there is no such index or folder, the index is a filtered handle, or documents are to be split for a
        checkpoint that nobody here has named (see `colbert_index.trust`), nothing in the folder can be read, two
        different passages share an id, or passages would go as the folder is another one; then nothing is changed.
    """
    opened = index if isinstance(index, ColBERTIndex) else ColBERTIndex(index)
    state = _read_state(opened)
    folder, split = located(folder, state.part)
    is_corpus = exists(folder) and (split is not None or not holds_documents(folder))
    splitter, documents = None, None
    if state.split or not is_corpus:
        checkpoint = trusted_checkpoint(opened.manifest, opened.path)
        splitter = Splitter(state.tokens or opened.settings.doc_maxlen, state.overlap, checkpoint)
    passages: Iterable[Passage]
    if is_corpus:
        passages = read_corpus(f"{folder}@{split}" if split else folder)
        passages = split_passages(passages, splitter) if splitter else passages
    else:
        before = state.read if state.reading == _READING else {}
        passages = documents = Documents(folder, splitter, before=before)
    present = opened.stored
    at_hand = {passage.pid: passage for passage in passages}
    new = [passage for pid, passage in at_hand.items() if not same_passage(present.get(pid), passage)]
    rewritten = {passage.pid for passage in new} & present.keys()
    left_out = {*documents.left_out} if documents else set()
    moved: dict[str, Mapping[str, MetadataValue]] = {}
    gone: list[str] = []
    for pid, old in present.items():
        places = accumulate(str(old.metadata.get("source", "")).split("/"), "{}/{}".format)  # folders, then the file
        if pid in rewritten or not left_out.isdisjoint(places):
            continue
        if pid in at_hand:
            if old.metadata != at_hand[pid].metadata:
                moved[pid] = at_hand[pid].metadata
        elif documents is None or "source" in old.metadata:
            gone.append(pid)
    _require_own(opened, folder, state, gone, documents.files if documents else ())
    waiting = new
    while len(waiting) > _AT_ONCE:
        opened, waiting = change_passages(opened, waiting[:_AT_ONCE]), waiting[_AT_ONCE:]
    opened = change_passages(opened, waiting, metadata=moved, gone={*gone})
    if documents:
        remember(opened, documents)
    else:
        remember_corpus(opened, folder, splitter, split)
    stayed = len(present) - len(gone) - len(rewritten) - len(moved)
    summary = documents.summary() if documents else f"read {counted(len(at_hand), 'passage')}"
    return Synced(opened, len(new), len(gone) + len(rewritten), len(moved), stayed, summary)


def _require_own(
    index: ColBERTIndex, folder: Path, state: "_State", gone: Sequence[str], files: Collection[str]
) -> None:
    """Raise a `PolyqaError` if passages would go as the folder is another one; an index may not know its own.

    One that has half of the files or more, or of a corpus the passages, is the same folder at another place.
    """
    if state.folder in (None, _located(folder)) or not gone:
        return
    passages = index.manifest.passages
    had, lost = (len(state.read), len(state.read.keys() - files)) if state.read else (passages, len(gone))
    if 2 * lost > had:
        raise PolyqaError(
            f"{index.name} was built of {state.folder}; a sync with {folder} would remove "
            f"{counted(len(gone), 'passage')} of {passages:,}. To replace the index, build it with overwrite "
            "(--overwrite)."
        )


def _located(folder: Path) -> str:
    return well_formed(os.path.normpath(folder.absolute()))  # not what a link leads to, which changes


def remember(index: ColBERTIndex, documents: Documents) -> None:
    """Note beside an index what it was built of, so that the first sync converts only what has changed."""
    _note(index, documents.path, documents.splitter, read=documents.files)


def remember_corpus(index: ColBERTIndex, corpus: Path, splitter: Splitter | None, part: str | None = None) -> None:
    """Note beside an index of which corpus and split it was built, and how long passages were split, if at all."""
    _note(index, corpus, splitter, split=splitter is not None, part=part)


def _note(index: ColBERTIndex, folder: Path, splitter: Splitter | None, **fields: Any) -> None:
    if splitter is not None:
        fields |= {"tokens": splitter.tokens, "overlap": splitter.overlap}
    state = _State(reading=_READING, folder=_located(folder), **fields)
    if state != _read_state(index):  # else who watches a folder that the index lies in would see it change for ever
        write_atomically(index.path / _STATE, state.model_dump_json(exclude_defaults=True))


class _State(BaseModel):
    """What `_STATE` holds; an index may come from a stranger."""

    folder: str | None = None
    tokens: int | None = Field(default=None, ge=32, le=512)
    overlap: int = Field(default=0, ge=0, le=256)
    reading: int = 1
    split: bool = False  # long passages were
    part: str | None = None  # the split of the corpus
    read: dict[str, ReadFile] = Field(default_factory=dict)


def _read_state(index: ColBERTIndex) -> _State:
    with suppress(FileNotFoundError, ValueError):
        return _State.model_validate_json((index.path / _STATE).read_bytes())
    return _State()
