"""The card of a repository: YAML for the hub, then Markdown for people."""

import re
from typing import Any

from polyqa.artifacts import Artifact
from polyqa.artifacts.store import README
from polyqa.base.errors import PolyqaError
from polyqa.base.html import markdown

from .contents import ARTIFACT, Kind

_FRONT = re.compile(r"\A---\r?\n.*?^---\r?\n+", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"[^a-z0-9]+")
_LICENSE = re.compile(r"[a-z0-9][a-z0-9.-]{1,40}")


def artifact_card(artifact: Artifact, repo: str, license: str | None) -> str:
    """Return the README.md of an artifact's repository: its own, under the data that the hub reads."""
    own = artifact.path / README
    # A link in a stranger's folder may name any file of the user's, and what is pushed is public.
    is_own = own.is_file() and not own.is_symlink()
    body = own.read_text(encoding="utf-8", errors="replace") if is_own else artifact.to_markdown()
    tags = ["dspy", "polyqa", "ambiguity", *map(_tag, (artifact.card.program, str(artifact.card.recipe.get("name"))))]
    data = {"library_name": "polyqa", "pipeline_tag": "question-answering", "tags": tags}
    return _front(data, license) + f"{_how_to_get(ARTIFACT, repo)}\n\n{_FRONT.sub('', body)}"


def questions_card(kind: Kind, name: str, repo: str, count: int, license: str | None) -> str:
    """Return the README.md of a question set's repository."""
    data = {"tags": ["polyqa", "ambiguity"], "task_categories": ["question-answering"]}
    title = f"# {markdown(repo.split('/')[-1])}\n\n{count:,} question{'s' * (count != 1)}, in `{name}`.\n"
    return f"{_front(data, license)}{title}\n{_how_to_get(kind, repo)}\n"


def _how_to_get(kind: Kind, repo: str) -> str:
    option = "" if kind is ARTIFACT else " --questions"
    return f"`polyqa pull {repo}{option}` gets this {kind.told}."


def _tag(text: str) -> str:
    return _TAG.sub("-", text.lower()).strip("-")[:40]


def _front(data: dict[str, Any], license: str | None) -> str:
    import yaml

    if license is not None and not _LICENSE.fullmatch(license):
        raise PolyqaError(f"{license!r:.60} is no licence of the hub: name one like apache-2.0 or cc-by-4.0.")
    told = {key: list(dict.fromkeys(filter(None, value))) if key == "tags" else value for key, value in data.items()}
    return f"---\n{yaml.safe_dump(told | ({'license': license} if license else {}), sort_keys=False)}---\n\n"
