"""What to say where a disk takes nothing more: Python, torch, Lance and Rust's libraries each say it in another way."""

import errno
import re
from collections.abc import Iterator

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_SAID = re.compile(
    r"no space left|disk quota exceeded|file too large|os error (?:28|122|27)\b|database or disk is full|"
    r"disk i/o error|PytorchStreamWriter failed writing",
    re.I,
)
_REFUSED = {errno.EROFS: "is on a disk that takes no writing", errno.EACCES: "may not be read or written by you"}


def disk_error(error: BaseException) -> str | None:
    """Return in a line what is wrong with a disk, ``None`` if an error is about something else.

    >>> disk_error(OSError(errno.ENOSPC, "No space left on device", "runs/a/run.json"))
    'the disk is full, or a file may not grow any more (runs/a/run.json). Free some space; the same command goes on.'
    >>> disk_error(RuntimeError("I/O error: No space left on device (os error 28)"))
    'the disk is full, or a file may not grow any more. Free some space; the same command goes on.'
    >>> disk_error(PermissionError(errno.EACCES, "Permission denied", "runs"))
    'runs may not be read or written by you. Name another place, or have its rights changed.'
    """
    for one in _chain(error):
        number, name = (one.errno, one.filename) if isinstance(one, OSError) else (None, None)
        if number in _FULL or (not isinstance(one, OSError) and _SAID.search(str(one))):
            where = f" ({name})" if name else ""
            return (
                f"the disk is full, or a file may not grow any more{where}. Free some space; the same command goes on."
            )
        if number in _REFUSED and name:
            return f"{name} {_REFUSED[number]}. Name another place, or have its rights changed."
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what it was made of."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
