"""Gets an artifact or a set of questions from the hub: checked as what a stranger made, then put in place at once."""

import json
import os
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from polyqa.base.errors import PolyqaError

from . import client
from .client import download, require_name, require_same, told
from .contents import ARTIFACT, ORIGIN, QUESTION_SET, Kind, check

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Pulled:
    """What was pulled: the kind in words, the folder, the repository, and the commit it is of."""

    kind: str
    path: Path
    repo: str
    commit: str


def pull(
    repo: str,
    to: str | Path | None = None,
    *,
    questions: bool = False,
    revision: str = "main",
    overwrite: bool = False,
) -> Pulled:
    """Get a compiled program or a set of questions from the Hugging Face hub.

    Only files of known names are downloaded, up to 64 MB each. They are checked as everything is that a stranger made:
    data only, nothing that runs code or names a language model. The folder appears when all is well, or not at all;
    its ``hub.json`` names the commit.

    Parameters
    ----------
    repo
        ``OWNER/NAME``.
    to
        The folder to make; by default the repository's name, here.
    questions
        Whether it is a set of questions, which the hub calls a data set.
    revision
        A branch, a tag, or a commit hash, which pins what is got.
    overwrite
        Whether a folder that holds nothing but what was pulled before may be replaced.

    Raises
    ------
    PolyqaError
        If there is no such repository or revision, it holds no such thing, what it holds is damaged or not to be
        trusted, the folder is there already, or the hub cannot be reached.
    """
    require_name(repo)
    kind = QUESTION_SET if questions else ARTIFACT
    target = Path(to) if to is not None else Path(repo.rsplit("/", 1)[-1])
    _require_free(kind, target, overwrite)
    files, commit = _fetched(kind, repo, revision)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise PolyqaError(f"{target} cannot be written: {error.strerror or error}.") from error
    try:
        for name, data in files.items():
            (draft / name).write_bytes(data)
        try:
            check(kind, draft)
        except PolyqaError as error:
            raise PolyqaError(f"{repo} at {commit} is not taken: {str(error).replace(f'{draft}/', '')}") from error
        origin = {"repo": repo, "repo_type": kind.repo_type, "revision": revision, "commit": commit}
        (draft / ORIGIN).write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")
        draft.chmod(0o777 & ~_umask())
        _require_free(kind, target, overwrite)  # what was there at first may not be what is there now
        _put(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Pulled(kind.told, target, repo, commit)


def _fetched(kind: Kind, repo: str, revision: str) -> tuple[dict[str, bytes], str]:
    """Return the files of a revision, and the commit that it names."""
    from huggingface_hub import HfApi

    with told(repo, "pull"):
        info = HfApi(library_name="polyqa").repo_info(
            repo, repo_type=kind.repo_type, revision=revision, files_metadata=True, timeout=client.TIMEOUT
        )
        listed = {one.rfilename: one for one in info.siblings or ()}
        if not _COMMIT.fullmatch(info.sha or ""):
            raise ValueError(f"a commit called {info.sha!r:.60}")
        names = kind.chosen(listed)
        if names is None:
            wanted = " and ".join(kind.required) or f"one of {', '.join(kind.one_of)}"
            raise PolyqaError(f"{repo} holds no {kind.told} of polyqa: it must have {wanted}.")
        files: dict[str, bytes] = {}
        for name in names:
            most = kind.limits[name]
            if (listed[name].size or 0) > most:
                raise PolyqaError(f"{name} of {repo} is larger than {most >> 20} MB, which no such file is.")
            files[name] = download(repo, kind.repo_type, name, commit=info.sha, most=most)
            require_same(repo, name, files[name], listed[name])
    return files, info.sha


def _require_free(kind: Kind, target: Path, overwrite: bool) -> None:
    """Check that nothing of anybody's is lost."""
    if target.name in ("", ".", ".."):
        raise PolyqaError(f"{str(target)!r:.200} is no folder to make: name a new one.")
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise PolyqaError(f"{target} is there already: take another folder, or say --overwrite.")
    if target.is_symlink() or not target.is_dir():
        raise PolyqaError(f"{target} is no folder, and is not replaced: take another one.")
    if strange := sorted({file.name for file in target.iterdir()} - {ORIGIN, *kind.limits}):
        raise PolyqaError(f"{target} holds {strange[0]!r:.80}, too, and is not replaced: take another folder.")


def _put(draft: Path, target: Path) -> None:
    """Put a folder in place; if that fails, what was there is there again."""
    if not target.exists():
        draft.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent)) / target.name
    target.rename(old)
    try:
        draft.rename(target)
    except BaseException:
        with suppress(OSError):
            old.rename(target)
        raise
    finally:
        if target.exists():
            shutil.rmtree(old.parent, ignore_errors=True)


def _umask() -> int:
    """Return the bits that new files lack; a temporary folder is its owner's alone, what is pulled is not."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
