"""Readers beside writers: an index is a row of versions, and a version never changes.

::

    NAME/current                          the name of the version in force, replaced at once
    NAME/versions/000007-<fingerprint>/   everything that is searched; who searches holds a shared lock on the folder
    NAME/versions/…/shards/0003/          a part of it, if it was built in shards
    NAME/questions/                       what is made from the index lies beside

Who opens an index holds the version that is in force, and searches it until the handle is gone, whatever is written
meanwhile. Who writes makes a new version beside and names it in ``current``. A version that is out of force goes when
nobody holds it any more: with its last handle, or, if that process was killed, with the next change. A kill leaves the
old version in force, or the new one.

The locks are those of `fcntl.flock`, which end with their process. Where there are none (Windows, some network file
systems) a version is kept for a day after the next one came, and nobody is told whether it is still read.
"""

import errno
import os
import re
import shutil
import time
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from polyqa.base.errors import PolyqaError
from polyqa.base.files import require_no_links, sync_all, sync_folder, write_atomically

from .files import IndexFaultError, is_damage, no_index, read_manifest
from .writing import one_writer

with suppress(ImportError):  # on Windows, where no folder can be opened to be locked
    import fcntl

CURRENT = "current"
VERSIONS = "versions"
QUESTIONS = "questions"
_GONE = ".gone-"
_NAME = re.compile(r"(\d{6,12})-([0-9a-f]{16})")
_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE)
_PATIENCE = 5.0  # seconds
_PAUSE = 0.005
_UNLOCKED_FOR = 24 * 3600.0  # seconds


class Held:
    """The files of one version of an index, which stay as long as this object does.

    Attributes
    ----------
    folder
        Where they lie; its name is that of the version.
    """

    def __init__(self, folder: Path, lock: int | None = None) -> None:
        self.folder = folder
        if lock is not None:
            weakref.finalize(self, _release, lock, folder)


def is_index(index: Path) -> bool:
    """Return whether a folder holds an index, whole or not."""
    return (index / CURRENT).is_file()


def is_half_made(index: Path) -> bool:
    """Return whether a folder holds nothing but what a killed first build of an index may leave."""
    names = {path.name for path in index.iterdir()} if index.is_dir() else set()
    return VERSIONS in names and names <= {VERSIONS, f".{CURRENT}.draft"}  # see `write_atomically`


def hold(index: Path, fingerprint: str | None = None) -> Held:
    """Hold the version of an index that is in force.

    Parameters
    ----------
    fingerprint
        If given, an older version of this fingerprint is held if it is still there, and the one in force is another.

    Raises
    ------
    IndexFaultError
        If there is no index.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        name = _wanted(index, fingerprint)
        if name is None:
            if index.is_dir() and not is_half_made(index):
                raise IndexFaultError(f"{index} is not a polyqa index: it has no file called {CURRENT}.")
            raise no_index(index)
        folder = index / VERSIONS / name
        if (version := _held(folder)) is not None:
            return version
        if not folder.is_dir() and _wanted(index, fingerprint) == name:
            raise IndexFaultError(
                f"The index at {index} is incomplete: {folder.relative_to(index)} missing, which {CURRENT} names. "
                "Build it again."
            )
        if time.monotonic() > end:
            raise IndexFaultError(f"The index at {index} changes too often to be opened; try again.")
        time.sleep(_PAUSE)


def version_in_force(index: Path) -> str | None:
    """Return the name of the version that ``current`` names; ``None`` if there is no index.

    Raises
    ------
    IndexFaultError
        If ``current`` is damaged.
    """
    try:
        with (index / CURRENT).open(encoding="utf-8") as file:
            name = file.read(100).strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        if not is_damage(error):
            raise
        name = ""
    if not _NAME.fullmatch(name):
        raise IndexFaultError(f"{index / CURRENT} is damaged: it names no version. Build the index again.")
    return name


def _wanted(index: Path, fingerprint: str | None) -> str | None:
    name = version_in_force(index)
    if name is None or fingerprint is None or name.endswith(f"-{fingerprint}"):
        return name
    older = [name for name in versions(index) if name.endswith(f"-{fingerprint}")]
    return older[-1] if older else name


def versions(index: Path) -> list[str]:
    """Return the names of all versions that are there, oldest first."""
    names = (path.name for path in (index / VERSIONS).glob("*"))
    return sorted((name for name in names if _NAME.fullmatch(name)), key=_number)


def _number(name: str) -> int:
    return int(name.partition("-")[0])


def _release(lock: int, folder: Path) -> None:
    """Let a version go; whoever is the last to hold one that is out of force removes it.

    What a killed process has begun to remove goes with it: no command may write to this index ever again.
    """
    os.close(lock)  # not unlocked: a fork may go on with it
    index = folder.parent.parent
    with suppress(OSError, PolyqaError):  # such as where nothing may be written: then the next writer removes it
        current = version_in_force(index)
        outdated = current is not None and _number(folder.name) < _number(current)
        if outdated or _begun_to_remove(index):
            require_no_links(index / VERSIONS)
            _finish_removing(index)
        if current is not None and outdated:
            _remove_unless_held(folder, index / VERSIONS / current)


def _begun_to_remove(index: Path) -> list[Path]:
    return list((index / VERSIONS).glob(f"{_GONE}*"))


def _finish_removing(index: Path) -> None:
    for leftover in _begun_to_remove(index):
        shutil.rmtree(leftover, ignore_errors=True)


def _held(folder: Path) -> Held | None:
    """Hold a version; ``None`` if it is just being removed, or gone."""
    with ExitStack() as opened:
        try:
            lock = os.open(folder, os.O_RDONLY)
            opened.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(lock), folder.stat()):
                return None
        except (BlockingIOError, FileNotFoundError):
            return None
        except OSError as error:  # a file system without locks
            if error.errno in _NO_MORE_FILES:
                raise
            return Held(folder)
        opened.pop_all()
        return Held(folder, lock)


@contextmanager
def new_version(index: Path) -> Iterator[Path]:
    """Yield an empty folder, which becomes the version in force when the block ends without error.

    Only one process at a time writes to an index. Leftovers of killed processes are removed, and versions that nobody
    holds.

    Raises
    ------
    PolyqaError
        If another process is writing there, or something in the index is a link.
    """
    index = index.resolve()  # a link to an index: the index is changed
    with one_writer(index) as work:
        require_no_links(index)
        _remove_old(index)
        yield work
        number = 1 + max(map(_number, versions(index)), default=0)
        name = f"{number:06}-{read_manifest(work).fingerprint}"
        sync_all(work)
        (index / VERSIONS).mkdir(parents=True, exist_ok=True)
        work.rename(index / VERSIONS / name)
        sync_folder(index / VERSIONS)
        sync_folder(index.parent)
        write_atomically(index / CURRENT, f"{name}\n".encode())
        _remove_old(index)


def _remove_old(index: Path) -> None:
    """Remove versions that are neither in force nor held."""
    _finish_removing(index)
    try:
        current = version_in_force(index)
    except (IndexFaultError, OSError):
        return  # it cannot be told which one is good
    if current is None:
        return
    names = versions(index)
    for name, following in zip(names, [*names[1:], None], strict=True):
        if name != current:
            _remove_unless_held(index / VERSIONS / name, index / VERSIONS / (following or current))


def _remove_unless_held(folder: Path, following: Path) -> None:
    with suppress(FileNotFoundError), _alone(folder) as alone:
        if alone is None:  # without locks its age tells
            alone = not following.is_dir() or time.time() - following.stat().st_mtime >= _UNLOCKED_FOR
        if alone:
            gone = folder.with_name(f"{_GONE}{folder.name}")
            folder.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)


def is_held(index: Path) -> bool:
    """Return whether somebody has a version of an index open; no where the file system knows no locks."""
    for name in versions(index):
        with suppress(FileNotFoundError), _alone(index / VERSIONS / name) as alone:
            if alone is False:
                return True
    return False


@contextmanager
def _alone(folder: Path) -> Iterator[bool | None]:
    """Keep others from holding a version while the block runs; give whether nobody does, ``None`` without locks."""
    with ExitStack() as opened:
        alone: bool | None = None
        try:
            lock = os.open(folder, os.O_RDONLY)
            opened.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone = True
        except BlockingIOError:
            alone = False
        except FileNotFoundError:
            raise
        except OSError as error:  # a file system without locks
            if error.errno in _NO_MORE_FILES:
                alone = False  # it cannot be told
        yield alone
