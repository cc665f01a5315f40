"""Where polyqa keeps what it builds on this machine."""

import os
import sys
from pathlib import Path

from polyqa.base.errors import PolyqaError

_CHECKOUT = Path(__file__).resolve().parents[2]


def expanded(path: str | Path) -> Path:
    """Return a path with a home folder in the place of its ``~``; `PolyqaError` if it is not known where that is."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise PolyqaError(f"{path}: {error} Set HOME (on Windows USERPROFILE), or give the whole path.") from error


def home_folder(folder: str, *, in_checkout: str) -> Path:
    """Return a folder of indexes, checkpoints or the like: in ``$POLYQA_HOME``, the checkout, or the user's data."""
    if home := os.environ.get("POLYQA_HOME"):
        return expanded(home) / folder
    if (_CHECKOUT / "pyproject.toml").is_file():
        return _CHECKOUT / in_checkout
    return user_folder() / folder


def index_home() -> Path:
    """Return the folder of all indexes: ``$POLYQA_HOME/indexes``, or the checkout's, or the user's."""
    return home_folder("indexes", in_checkout="colbert_index/indexes")


def user_folder() -> Path:
    """Return polyqa's folder among the user's data: ``~/.local/share/polyqa`` or what the system has in its place."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return expanded(base) / "polyqa"
