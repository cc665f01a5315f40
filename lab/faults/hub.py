"""A Hugging Face hub of this machine that has one repository."""

import hashlib
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from huggingface_hub import constants

_PART = 4_096  # bytes
_COMMIT = "c" * 40


def serve_repository(files: Mapping[str, bytes]) -> None:
    """Serve the files under whatever name is asked for until this process ends; its forks pull from there."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            data = _about(files, path) if path.startswith("/api/") else files[path.rpartition("/")[2]]
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Content-Type", "application/json")
            self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
            self.send_header("X-Repo-Commit", _COMMIT)
            self.end_headers()
            for begin in range(0, len(data) if self.command == "GET" else 0, _PART):
                self.wfile.write(data[begin : begin + _PART])

        do_HEAD = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # As HF_ENDPOINT does when the client is imported.
    constants.ENDPOINT = f"http://127.0.0.1:{server.server_port}"
    constants.HUGGINGFACE_CO_URL_TEMPLATE = constants.ENDPOINT + "/{repo_id}/resolve/{revision}/{filename}"


def _about(files: Mapping[str, bytes], path: str) -> bytes:
    if "/tree/" in path:
        listed = [{"type": "file", "path": name, "size": len(data), "oid": "0" * 40} for name, data in files.items()]
        return json.dumps(listed).encode()
    siblings = [{"rfilename": name, "size": len(data)} for name, data in files.items()]
    return json.dumps({"id": "somebody/rac", "sha": _COMMIT, "siblings": siblings}).encode()
