"""Files that survive a kill and a power cut: what was told to be on the disk is on the disk."""

import errno
import os
from contextlib import suppress
from pathlib import Path

from polyqa.base.errors import PolyqaError

_CANNOT_SYNC = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)  # pipes, and file systems that know nothing of it


def sync(file: int) -> None:
    """Wait until what was written to an open file is on the disk.

    Raises
    ------
    OSError
        If the disk could not take it. Where a file system knows no such wish, nothing is waited for.
    """
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk: a new file's name is not part of the file."""
    with suppress(PermissionError):  # Windows opens no folders, and writes down their names by itself
        opened = os.open(folder, os.O_RDONLY)
        try:
            sync(opened)
        finally:
            os.close(opened)


def write_whole(path: Path, data: bytes, *, lasting: bool = True) -> None:
    """Write a file so that it is either the old or the whole new one.

    Parameters
    ----------
    lasting
        Whether to wait until it is on the disk. If not, a power cut may leave the old one, or an empty one: for
        what is written many times a second and can be done without.

    Raises
    ------
    PolyqaError
        If it cannot be written, such as on a full disk; then the old one stays.
    """
    draft = path.with_name(f".{path.name}.draft")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            if lasting:
                sync(file.fileno())
        draft.replace(path)
        if lasting:
            sync_folder(path.parent)
    except BaseException as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise unwritable(path, error) from error
        raise


def unwritable(path: Path, error: OSError) -> PolyqaError:
    """Return what a user is told of a file that could not be written."""
    return PolyqaError(
        f"{path} cannot be written: {error.strerror or error}. What it held before is kept; mend the cause and run "
        "the same command again."
    )
