"""Brings an artifact or a set of questions to the hub."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from polyqa.artifacts import find_artifact, read_artifact
from polyqa.artifacts.store import README
from polyqa.base.errors import PolyqaError
from polyqa.evaluation.loading.files import SUFFIXES

from . import client
from .card import artifact_card, questions_card
from .client import require_name, told
from .contents import ARTIFACT, QUESTION_SET, Kind, check, count_questions

_OF_THE_HUB = ".gitattributes"


@dataclass(frozen=True)
class Pushed:
    """What was pushed: the kind in words, the repository, its address, and the commit that holds it."""

    kind: str
    repo: str
    url: str
    commit: str


def push(what: str | Path, repo: str, *, private: bool = False, license: str | None = None) -> Pushed:
    """Bring a compiled program or a set of questions to the Hugging Face hub.

    A program becomes a model repository, questions become a data set. The repository is made if there is none; one
    that holds anything else is left alone. Log in with ``hf auth login``, or set ``HF_TOKEN``.

    Parameters
    ----------
    what
        Name or folder of a compiled program, or a ``.json``, ``.jsonl`` or ``.ndjson`` file of questions.
    repo
        ``OWNER/NAME``.
    private
        Whether a repository that is made is private.
    license
        As the hub names it, such as ``apache-2.0``; nothing is said of one if not given.

    Raises
    ------
    PolyqaError
        If there is nothing to push, what there is is damaged, the repository holds anything else, or the hub cannot be
        reached or refuses.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    require_name(repo)
    with tempfile.TemporaryDirectory(prefix="polyqa-push-") as place:
        kind = _gather(what, repo, license, Path(place))
        with told(repo, "push"):
            api = HfApi(library_name="polyqa")
            api.create_repo(repo, repo_type=kind.repo_type, private=private or None, exist_ok=True)
            held = api.repo_info(repo, repo_type=kind.repo_type, timeout=client.TIMEOUT)
            names = {one.rfilename for one in held.siblings or ()}
            if strange := sorted(names - {_OF_THE_HUB, *kind.limits}):
                raise PolyqaError(
                    f"{repo} holds {strange[0]!r:.80}, which no {kind.told} has: push to a repository of its own."
                )
            files = sorted(Path(place).iterdir())
            done = api.create_commit(
                repo,
                [CommitOperationAdd(file.name, file.read_bytes()) for file in files],
                repo_type=kind.repo_type,
                commit_message=f"Upload {kind.told} with polyqa",
                parent_commit=held.sha,
            )
    return Pushed(kind.told, repo, str(done.repo_url), done.oid)


def _gather(what: str | Path, repo: str, license: str | None, place: Path) -> Kind:
    """Put what is pushed into a folder, and check it there: it is what is sent."""
    path = Path(what)
    if path.suffix.lower() in SUFFIXES and not path.is_dir():
        count = count_questions(path)
        name = f"questions{path.suffix.lower()}"
        shutil.copyfile(path, place / name)
        (place / README).write_text(questions_card(QUESTION_SET, name, repo, count, license), encoding="utf-8")
        kind = QUESTION_SET
    else:
        if find_artifact(what) is None:
            raise PolyqaError(
                f"There is nothing to push at {str(what)!r:.200}: name a compiled program, its folder, or a file of "
                f"questions ({', '.join(SUFFIXES)})."
            )
        artifact = read_artifact(what)
        for file in ARTIFACT.required:
            shutil.copyfile(artifact.path / file, place / file)
        (place / README).write_text(artifact_card(artifact, repo, license), encoding="utf-8")
        kind = ARTIFACT
    check(kind, place)
    for file, most in kind.limits.items():
        if (place / file).is_file() and (place / file).stat().st_size > most:
            raise PolyqaError(f"{file} of {str(what)!r:.200} is larger than {most >> 20} MB.")
    return kind
