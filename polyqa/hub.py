"""Compiled programs on the Hugging Face hub: data only, checked before they leave and when they come."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from polyqa.artifacts.scores import read_scores
from polyqa.artifacts.store import CARD, README, SCORES, STATE, find_artifact, read_artifact
from polyqa.base.errors import PolyqaError
from polyqa.base.html import shortened
from polyqa.colbert_index.writing import replacing
from polyqa.loading import outline

ORIGIN = "hub.json"
"""Written beside what was pulled: where it came from, and which commit."""
TIMEOUT = 20.0
"""Seconds without a byte after which the hub counts as silent; its client tries again what is worth it."""
_FILES = (README, STATE, CARD, SCORES)
_MOST_MB = 64
"""Of each file."""
_OF_THE_HUB = ".gitattributes"
_PULLS = re.compile(r"\A(?:`polyqa pull [^`\n]+` gets this compiled program\.\n+)+")
_FRONT = re.compile(r"\A---\r?\n.*?^---\r?\n+", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Pushed:
    """What was pushed: the repository, its address, and the commit that holds it."""

    repo: str
    url: str
    commit: str


@dataclass(frozen=True)
class Pulled:
    """What was pulled: the folder, the repository, and the commit it is of."""

    path: Path
    repo: str
    commit: str


def push(what: str | Path, repo: str, *, private: bool = False, license: str | None = None) -> Pushed:
    """Bring a compiled program to the Hugging Face hub, as a model repository.

    The repository is made if there is none; one that holds anything else is left alone. Log in with ``hf auth login``,
    or set ``HF_TOKEN``.

    Parameters
    ----------
    what
        Name or folder of a compiled program.
    repo
        ``OWNER/NAME``.
    private
        Whether a repository that is made is private.
    license
        As the hub names it, such as ``apache-2.0``; nothing is said of one if not given.

    Raises
    ------
    PolyqaError
        If there is nothing to push, it is damaged, the repository holds anything else, or the hub cannot be reached
        or refuses.
    """
    from huggingface_hub import HfApi

    _check_name(repo)
    with tempfile.TemporaryDirectory(prefix="polyqa-push-") as folder:
        _gather(what, repo, license, Path(folder))
        with _hub_errors(repo, "pushed"):
            api = HfApi(library_name="polyqa")
            api.create_repo(repo, private=private or None, exist_ok=True)
            repository = api.repo_info(repo, timeout=TIMEOUT)
            if strange := sorted({file.rfilename for file in repository.siblings or ()} - {_OF_THE_HUB, *_FILES}):
                raise PolyqaError(
                    f"{repo} holds {strange[0]!r:.80}, which no compiled program has: push to a repository of its own."
                )
            commit = api.upload_folder(
                repo_id=repo,
                folder_path=folder,
                commit_message="Upload compiled program with polyqa",
                delete_patterns=[*_FILES],  # those that it does not have any more
                parent_commit=repository.sha,
            )
    return Pushed(repo, str(commit.repo_url), commit.oid)


def _gather(what: str | Path, repo: str, license: str | None, folder: Path) -> None:
    """Put what is pushed into a folder, with its card, and check it there: this is what is sent."""
    import yaml

    if find_artifact(what) is None:
        raise PolyqaError(f"There is nothing to push at {str(what)!r:.200}: name a compiled program, or its folder.")
    artifact = read_artifact(what)
    for file in (STATE, CARD, *([SCORES] if read_scores(artifact) is not None else [])):
        shutil.copyfile(artifact.path / file, folder / file)
    readme = artifact.path / README
    # A link in a stranger's folder may name any file of the user's, and what is pushed is public.
    regular = readme.is_file() and not readme.is_symlink()
    text = readme.read_text(encoding="utf-8", errors="replace") if regular else ""
    kinds = (artifact.card.program, str(artifact.card.recipe.get("name")))
    names = (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] for name in kinds)
    tags = list(dict.fromkeys(["dspy", "polyqa", "ambiguity", *filter(None, names)]))
    front = {"library_name": "polyqa", "pipeline_tag": "question-answering", "tags": tags}
    header = yaml.safe_dump(front | ({"license": license} if license else {}), sort_keys=False)  # for the hub
    body = f"`polyqa pull {repo}` gets this compiled program.\n\n{_PULLS.sub('', _FRONT.sub('', text))}"
    (folder / README).write_text(f"---\n{header}---\n\n{body}", encoding="utf-8")
    check(folder)


def pull(repo: str, to: str | Path | None = None, *, revision: str = "main") -> Pulled:
    """Get a compiled program from the Hugging Face hub.

    Only files of known names are downloaded, up to 64 MB each. They are checked as everything is that a stranger made:
    data only, nothing that runs code or names a language model. The folder appears when all is well, or not at all;
    its ``hub.json`` names the commit.

    Parameters
    ----------
    repo
        ``OWNER/NAME``.
    to
        The folder to make; by default the repository's name, here. One that is there is not replaced.
    revision
        A branch, a tag, or a commit hash, which pins what is got.

    Raises
    ------
    PolyqaError
        If there is no such repository or revision, it holds no such thing, what it holds is damaged or not to be
        trusted, the folder is there already, or the hub cannot be reached.
    """
    _check_name(repo)
    target = Path(to) if to is not None else Path(repo.rsplit("/", 1)[-1])
    if os.path.lexists(target):
        raise PolyqaError(f"{target} is there already: take another folder, or remove it first.")
    commit, names = _listed(repo, revision)
    try:
        with replacing(target) as draft:
            _download(repo, commit, names, draft)
            try:
                check(draft)
            except PolyqaError as error:
                raise PolyqaError(f"{repo} at {commit} is not taken: {str(error).replace(f'{draft}/', '')}") from error
            origin = {"repo": repo, "revision": revision, "commit": commit}
            (draft / ORIGIN).write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise PolyqaError(f"{target} cannot be written: {error.strerror or error}.") from error
    return Pulled(target, repo, commit)


def _listed(repo: str, revision: str) -> tuple[str, list[str]]:
    """Return the commit that a revision names, and its files that are to be downloaded."""
    from huggingface_hub import HfApi
    from huggingface_hub.constants import REGEX_COMMIT_OID

    with _hub_errors(repo, "pulled"):
        info = HfApi(library_name="polyqa").repo_info(repo, revision=revision, files_metadata=True, timeout=TIMEOUT)
        if not REGEX_COMMIT_OID.fullmatch(info.sha or ""):
            raise ValueError(f"a commit called {info.sha!r:.60}")
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
        if not {STATE, CARD} <= sizes.keys():
            raise PolyqaError(f"{repo} holds no compiled program of polyqa: it must have {STATE} and {CARD}.")
        names = [name for name in _FILES if name in sizes]
        for name in names:
            if sizes[name] > _MOST_MB << 20:
                raise PolyqaError(f"{name} of {repo} is larger than {_MOST_MB} MB, which no such file is.")
    return str(info.sha), names


def _download(repo: str, commit: str, names: list[str], folder: Path) -> None:
    """Download files of a commit into an empty folder."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    with _hub_errors(repo, "pulled"):
        try:
            snapshot_download(repo, revision=commit, local_dir=folder, allow_patterns=names, library_name="polyqa")
        except LocalEntryNotFoundError as error:  # says only that the hub gave no answer; its cause says which
            raise error.__cause__ or error from None
    shutil.rmtree(folder / ".cache", ignore_errors=True)  # the client's own notes


def check(folder: Path) -> None:
    """Check the files of a folder as they are checked when they are used."""
    outline(folder)
    read_scores(read_artifact(folder))


def _check_name(repo: str) -> None:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(repo)
    except HFValidationError as error:
        raise PolyqaError(f"{repo!r:.120} is no name on the hub: give OWNER/NAME.") from error
    if "/" not in repo:
        raise PolyqaError(f"{repo!r:.120} has no owner: give OWNER/NAME.")


@contextmanager
def _hub_errors(repo: str, doing: str) -> Iterator[None]:
    """Turn what the hub's client raises into a `PolyqaError` of one line; a silent hub is not waited for."""
    import httpx
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    client = get_session()
    before, client.timeout = client.timeout, httpx.Timeout(TIMEOUT)  # its own is none: it would wait for ever
    try:
        yield
    except (httpx.HTTPError, OSError, ValueError, LookupError, TypeError) as error:
        why = (shortened(error, 400) or type(error).__name__).rstrip(".")
        raise PolyqaError(
            f"{repo} could not be {doing} at {constants.ENDPOINT}: {why}. Check the name and the network, and log in "
            "with hf auth login, or set HF_TOKEN."
        ) from error
    finally:
        client.timeout = before
