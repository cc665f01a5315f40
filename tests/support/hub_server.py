"""A real HTTP server on localhost that speaks as much of the Hugging Face hub's API as its client needs.

Every commit is a folder of files on disk, named after a hash of its content and its parent:

ROOT/OWNER/NAME/COMMIT/FILE
ROOT/OWNER/NAME/refs.json      branches and tags, and the commit of each
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

from lab.servers import QuietHandler, serving

TOKEN = "hf_of_the_test"
Answer = tuple[int, bytes, dict[str, str]]


@dataclass
class Hub:
    """The hub: where it listens, where it keeps what it has, and what it was asked."""

    base: str
    root: Path
    asked: list[tuple[str, str]] = field(default_factory=list)
    twist: Callable[[str, Answer], Answer] = lambda path, answer: answer
    """Changes an answer to a path before it is sent."""

    def place(self, repo: str) -> Path:
        return self.root / repo

    def refs(self, repo: str) -> dict[str, str]:
        """Return the branches and tags of a repository, each with its commit."""
        refs: dict[str, str] = json.loads((self.place(repo) / "refs.json").read_text())
        return refs

    def files(self, repo: str, revision: str = "main") -> dict[str, bytes]:
        commit = self.commit_of(repo, revision)
        assert commit is not None
        return {path.name: path.read_bytes() for path in sorted((self.place(repo) / commit).iterdir())}

    def commit_of(self, repo: str, revision: str) -> str | None:
        place = self.place(repo)
        if re.fullmatch(r"[0-9a-f]{40}", revision):
            return revision if (place / revision).is_dir() else None
        return self.refs(repo).get(revision)

    def commit(self, repo: str, files: dict[str, bytes], *, tag: str = "main", parent: str = "") -> str:
        """Store files as a commit that a branch or a tag names."""
        place = self.place(repo)
        told = [parent, *(f"{name} {hashlib.sha1(data).hexdigest()}" for name, data in sorted(files.items()))]
        commit = hashlib.sha1("\n".join(told).encode()).hexdigest()
        (place / commit).mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (place / commit / name).write_bytes(data)
        refs = self.refs(repo) if (place / "refs.json").exists() else {}
        (place / "refs.json").write_text(json.dumps({**refs, "main": refs.get("main", commit), tag: commit}))
        return commit


@contextmanager
def serve_hub(root: Path) -> Iterator[Hub]:
    """Serve a hub that keeps its repositories in a folder."""

    class Handler(_Handler):
        pass

    with serving(Handler) as base:
        Handler.hub = hub = Hub(base, root)
        yield hub


def blob(data: bytes) -> str:
    """Return how git names a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _mode(path: str, held: dict[str, bytes]) -> dict[str, Any]:
    told = {"path": path, "uploadMode": "regular", "shouldIgnore": False}
    return told | ({"oid": blob(held[path])} if path in held else {})


def _json(data: Any, status: int = 200) -> Answer:
    return status, json.dumps(data).encode(), {"Content-Type": "application/json"}


def _error(status: int, code: str, message: str) -> Answer:
    return status, json.dumps({"error": message}).encode(), {"X-Error-Code": code, "X-Error-Message": message}


_BAD_TOKEN = _error(401, "", "Invalid credentials in Authorization header")
_API = re.compile(r"/api/models/([^/]+/[^/]+)(?:/(revision|tree|preupload|commit)/([^/]+))?")
_FILE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
_FRONT = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)


class _Handler(QuietHandler):
    hub: Hub

    def handle(self) -> None:
        """Answer requests until the client hangs up, which it may do in the middle."""
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        self._send(self._read() if self._token in (None, TOKEN) else _BAD_TOKEN)

    @property
    def _token(self) -> str | None:
        told = self.headers.get("Authorization")
        return told.removeprefix("Bearer ") if told else None

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self._token == TOKEN:
            self._send(self._write(body))
        else:
            self._send(_error(401, "", "Invalid username or password.") if self._token is None else _BAD_TOKEN)

    def _send(self, answer: Answer) -> None:
        path = urlsplit(self.path).path
        self.hub.asked.append((self.command, path))
        status, body, headers = self.hub.twist(path, answer)
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = "Content-Length" in headers  # the length was a lie

    def _found(self, repo: str, revision: str) -> str | Answer:
        """Return the commit of a revision, or the answer that there is none."""
        if not (self.hub.place(repo) / "refs.json").exists():
            # The hub does not tell strangers whether there is a private one.
            if self._token is None:
                return _error(401, "", "Invalid username or password.")
            return _error(404, "RepoNotFound", "Repository not found")
        commit = self.hub.commit_of(repo, unquote(revision))
        return commit or _error(404, "RevisionNotFound", f"Invalid rev id: {revision}")

    def _read(self) -> Answer:
        path = urlsplit(self.path).path
        if api := _API.fullmatch(path):
            repo, what, revision = api.groups()
            commit = self._found(repo, revision or "main")
            if not isinstance(commit, str):
                return commit
            if what == "tree":
                files = self.hub.files(repo, commit).items()
                return _json([{"type": "file", "path": n, "size": len(data), "oid": blob(data)} for n, data in files])
            siblings = [
                {"rfilename": name, "size": len(data), "blobId": blob(data)}
                for name, data in self.hub.files(repo, commit).items()
            ]
            return _json(
                {"_id": "1", "id": repo, "modelId": repo, "private": False, "sha": commit, "siblings": siblings}
            )
        if file := _FILE.fullmatch(path):
            repo, revision, name = file.groups()
            commit = self._found(repo, revision)
            if not isinstance(commit, str):
                return commit
            data = self.hub.files(repo, commit).get(unquote(name))
            if data is None:
                return _error(404, "EntryNotFound", "Entry not found")
            return 200, data, {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": commit}
        return _error(404, "", "Not Found")

    def _write(self, body: bytes) -> Answer:
        path = urlsplit(self.path).path
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if path == "/api/validate-yaml":
            return _validated(json.loads(body)["content"])
        api = _API.fullmatch(path)
        if api is None or api[2] not in ("preupload", "commit"):
            return _error(404, "", "Not Found")
        repo, action, revision = api.groups()
        commit = self._found(repo, revision)
        if not isinstance(commit, str):
            return commit
        if action == "preupload":
            held = self.hub.files(repo, commit)
            return _json({"files": [_mode(one["path"], held) for one in json.loads(body)["files"]]})
        return self._commit(repo, commit, [json.loads(line) for line in body.splitlines()])

    def _create(self, wanted: dict[str, Any]) -> Answer:
        repo = f"{wanted['organization']}/{wanted['name']}"
        if wanted["organization"] == "strangers":
            return _error(403, "", "You don't have the rights to create a model under the namespace strangers")
        if (self.hub.place(repo) / "refs.json").exists():
            return _json({"error": "You already created this repo", "url": f"{self.hub.base}/{repo}"}, 409)
        self.hub.commit(repo, {".gitattributes": b"*.safetensors filter=lfs diff=lfs merge=lfs -text\n"})
        return _json({"url": f"{self.hub.base}/{repo}", "name": repo, "id": "1"})

    def _commit(self, repo: str, parent: str, lines: list[dict[str, Any]]) -> Answer:
        assert lines[0]["key"] == "header"
        if lines[0]["value"].get("parentCommit", parent) != parent:
            return _error(412, "", "A commit has happened since. Please refresh and try again.")
        files = self.hub.files(repo)
        for line in lines[1:]:
            if line["key"] == "deletedFile":
                del files[line["value"]["path"]]
                continue
            assert (line["key"], line["value"]["encoding"]) == ("file", "base64")
            files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        made = self.hub.commit(repo, files, parent=parent)
        url = f"{self.hub.base}/{repo}/commit/{made}"
        return _json({"success": True, "commitOid": made, "commitUrl": url, "hookOutput": ""})


def _validated(readme: str) -> Answer:
    front = _FRONT.match(readme)
    try:
        data = yaml.safe_load(front[1]) if front else {}
    except yaml.YAMLError as error:
        return _json({"errors": [{"message": str(error)}], "warnings": []}, 400)
    told = [] if isinstance(data, dict) and data else [{"message": "empty or missing yaml metadata in repo card"}]
    return _json({"errors": [], "warnings": told})
