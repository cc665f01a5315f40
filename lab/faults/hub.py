"""A Hugging Face hub of this machine that has one repository."""

import hashlib
import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from huggingface_hub import constants

from ..servers import send, start_server

_COMMIT = "c" * 40


def serve_repository(files: Mapping[str, bytes]) -> None:
    """Serve the files under whatever name is asked for until this process ends; its forks pull from there."""

    def respond(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        path = urlsplit(handler.path).path
        data = _about(files, path) if path.startswith("/api/") else files[path.rpartition("/")[2]]
        send(handler, 200, data, ETag=f'"{hashlib.sha1(data).hexdigest()}"', X_Repo_Commit=_COMMIT)

    server = start_server(respond)
    # As HF_ENDPOINT does when the client is imported.
    constants.ENDPOINT = f"http://127.0.0.1:{server.server_port}"
    constants.HUGGINGFACE_CO_URL_TEMPLATE = constants.ENDPOINT + "/{repo_id}/resolve/{revision}/{filename}"


def _about(files: Mapping[str, bytes], path: str) -> bytes:
    if "/tree/" in path:
        listed = [{"type": "file", "path": name, "size": len(data), "oid": "0" * 40} for name, data in files.items()]
        return json.dumps(listed).encode()
    siblings = [{"rfilename": name, "size": len(data)} for name, data in files.items()]
    return json.dumps({"id": "somebody/rac", "sha": _COMMIT, "siblings": siblings}).encode()
