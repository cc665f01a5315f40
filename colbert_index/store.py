"""Where things that are built on this machine live: indexes and checkpoints."""

import os
import re
import shlex
from pathlib import Path

from polyqa.base.errors import PolyqaError
from polyqa.base.folders import expanded, home_folder
from polyqa.base.folders import index_home as index_home

from .versions import is_index

SHIPPED = "homonyms"
"""The index that set-up makes, of the shipped corpus."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def checkpoint_home() -> Path:
    """Return the folder of the checkpoints that set-up makes."""
    return home_folder("checkpoints", in_checkout="polyqa/models/checkpoints")


def index_path(name_or_path: str | Path) -> Path:
    """Return the folder of an index: a bare name lies in `index_home`, anything else is a path.

    `PolyqaError` if a bare name holds characters that do not belong into a folder name.
    """
    if isinstance(name_or_path, Path) or os.sep in name_or_path:
        return expanded(name_or_path)
    if not _NAME.fullmatch(name_or_path):
        raise PolyqaError(
            f"{name_or_path!r} is no index name: use letters, digits, '.', '_' and '-', or give a path with '/'."
        )
    return index_home() / name_or_path


def told_name(path: Path) -> str:
    """Return what a command wants to be given for an index: its name if it lies in `index_home`, else its path."""
    return path.name if path.absolute().parent == index_home().absolute() else shlex.quote(str(path.absolute()))


def index_names() -> list[str]:
    """Return the names of the indexes in `index_home`, sorted."""
    home = index_home()
    return sorted(p.name for p in home.glob("*") if is_index(p) and not p.name.startswith("."))
