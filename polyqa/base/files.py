"""Files that survive a kill and a power cut: what was written is whole, and on the disk."""

import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from polyqa.base.errors import PolyqaError

_CANNOT_SYNC = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)  # pipes, and file systems without such a call


def sync(file: int) -> None:
    """Wait until what was written to an open file is on the disk, where the file system can tell."""
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


def sync_all(folder: Path) -> None:
    """Wait until everything in a folder is on the disk: before it is renamed, which may come there earlier."""
    for place, _, files in os.walk(folder):
        for name in files:
            with Path(place, name).open("rb") as file:
                sync(file.fileno())
        sync_folder(Path(place))


def opened_itself(path: str | Path, flags: int) -> int:
    """Open a file, unless it is a link: an ``opener`` for `open`, for files beside those that a user named."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def file_hash(path: Path) -> str:
    """Return the hash of what a file holds: 32 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def require_no_links(folder: Path) -> None:
    """Check before something is written or removed in a folder that neither it nor anything in it is a link.

    A folder from a stranger may hold links to folders of yours. Folders above it may be links. Where there is no such
    folder, all is well. The `PolyqaError` names the link and where it leads.
    """
    paths = (Path(place, name) for place, folders, files in os.walk(folder) for name in (*folders, *files))
    for path in (folder, *paths):
        if path.is_symlink():
            raise PolyqaError(
                f"{path} is a link to {path.resolve()}. Nothing was written or removed; remove the link, or name "
                "the folder that it leads to."
            )


def visible_files(
    folder: Path, on_error: Callable[[Path, OSError], object], skip: Callable[[Path], bool] = lambda folder: False
) -> list[Path]:
    """Return the files in a folder and its subfolders, and links to folders, which are not followed, by name.

    Hidden ones are left out, those in which Office notes who has a document open (``~$a.docx``, hidden on Windows), and
    the folders to ``skip``. What is gone before it is read, or may not be read, is passed to ``on_error``: whoever
    removes what a folder does not hold any more must know that it was read whole.
    """
    files, waiting = [], [folder]
    while waiting:
        place = waiting.pop()
        if skip(place):
            continue
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.name.startswith((".", "~$")):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    elif entry.is_symlink() or entry.is_file():
                        files.append(Path(entry.path))
        except OSError as error:
            on_error(place, error)
    return sorted(files)


def write_atomically(path: Path, data: str | bytes | Iterable[bytes], *, lasting: bool = True) -> None:
    """Write a file so that it is either the old or the whole new one.

    Parameters
    ----------
    data
        A text, which is written as UTF-8, bytes, or parts of the file one after the other.
    lasting
        Whether to wait until it is on the disk. If not, a power cut may leave the old file, or an empty one: for
        small files that are written many times a second.

    Raises
    ------
    PolyqaError
        If it cannot be written, such as on a full disk; then the old one stays.
    """
    draft = path.with_name(f".{path.name}.draft")
    content = data.encode() if isinstance(data, str) else data
    try:
        with open(draft, "wb", opener=opened_itself) as file:
            file.writelines([content] if isinstance(content, bytes) else content)
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


def unwritable(path: Path, error: Exception) -> PolyqaError:
    """Return the message for a file that could not be written."""
    why = getattr(error, "strerror", None) or error
    return PolyqaError(
        f"{path} cannot be written: {why}. What it held before is kept; mend the cause and run the same command again."
    )


@contextmanager
def locked(lock: Path, what: object, *, patience: float = 1.0) -> Iterator[None]:
    """Hold a lock file while the block runs: no other process may write meanwhile ``what`` the message names.

    `PolyqaError` if another process holds it for more than ``patience`` seconds (-1: for ever), or it cannot be made.
    """
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        file_lock = FileLock(lock)
        file_lock.acquire(timeout=patience)
    except Timeout:
        raise PolyqaError(f"{what} is being written by another process; wait until it is done.") from None
    except OSError as error:
        raise unwritable(lock, error) from error
    try:
        yield
    finally:
        file_lock.release()
