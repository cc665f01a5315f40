"""Deletes an index, and nothing else."""

from pathlib import Path

from polyqa.base.errors import PolyqaError

from .files import no_index
from .shards import forget_shards, shards_home
from .store import index_path
from .versions import CURRENT, QUESTIONS, VERSIONS, is_half_made, is_held, is_index
from .writing import one_writer


def delete_index(index: str | Path) -> None:
    """Delete an index with all of its versions, and the database of questions in its folder.

    Parameters
    ----------
    index
        A name in `store.index_home`, or a path. A damaged index can be deleted, too, and the shards that a build left
        which was stopped.

    Raises
    ------
    PolyqaError
        If there is no index, the folder holds something of yours, the index is open in this process or another one
        (where the file system knows locks), or another process is writing it. Then nothing is deleted.
    """
    target = deletable(index)
    with one_writer(target) as work:
        deletable(index)  # as it may have been deleted meanwhile
        forget_shards(target)
        if target.is_dir():
            # Out of the way at once; a kill from here on leaves what the next writer in this folder removes.
            target.rename(work / "deleted")


def deletable(index: str | Path) -> Path:
    """Return the folder of an index that may be deleted; see `delete_index` for the errors."""
    target = index_path(index).absolute()
    if not target.is_dir():
        if shards_home(target).is_dir():
            return target
        raise no_index(target)
    if target.is_symlink():
        raise PolyqaError(
            f"{target} is a link to {target.resolve()}: remove the link, or delete that index by its path."
        )
    if not is_index(target) and not is_half_made(target):
        raise PolyqaError(f"{target} is not a polyqa index; it is left alone.")
    expected = {CURRENT, VERSIONS, QUESTIONS}
    if strange := sorted(path.name for path in target.iterdir() if path.name not in expected and path.name[0] != "."):
        raise PolyqaError(f"{target} holds {strange[0]}, which is no part of an index; move it away first.")
    if is_held(target):
        raise PolyqaError(f"{target} is open, here or in another process; end what searches it first.")
    return target
