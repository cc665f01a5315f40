"""A real HTTP server that has files as the hub and a page of packages have them: with ranges, faults and delays."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from lab.servers import QuietHandler, send_head, serving


@dataclass
class ModelServer:
    """What it has and how it fails; changed while it runs.

    Attributes
    ----------
    files
        What is at each path. Of several answers each is given once, the last one for ever.
    hangs
        After how many bytes of a path it sends nothing more, until `released` is set.
    asked
        The paths that were asked for, with the first byte.
    """

    base: str
    files: dict[str, list[bytes]] = field(default_factory=dict)
    hangs: dict[str, int] = field(default_factory=dict)
    released: threading.Event = field(default_factory=threading.Event)
    asked: list[tuple[str, int]] = field(default_factory=list)


@contextmanager
def serve_models() -> Iterator[ModelServer]:
    class Handler(QuietHandler):
        def do_HEAD(self) -> None:
            data = held.files.get(self.path, [None])[0]
            if data is None:
                self.send_error(404)
                return
            self._head(200, data)

        def _head(self, status: int, data: bytes) -> None:
            kind = "text/html" if self.path.endswith("/") else "application/octet-stream"
            tag = f'"{hashlib.sha1(held.files[self.path][0]).hexdigest()}"'
            send_head(self, status, len(data), Content_Type=kind, ETag=tag, X_Repo_Commit="0" * 40)

        def do_GET(self) -> None:
            first = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
            held.asked.append((self.path, first))
            answers = held.files.get(self.path)
            if answers is None:
                self.send_error(404)
                return
            data = answers.pop(0) if len(answers) > 1 else answers[0]
            data = data[first:]
            self._head(206 if first else 200, data)
            with suppress(ConnectionError):
                if self.path in held.hangs:
                    at = held.hangs[self.path]
                    self.wfile.write(data[:at])
                    held.released.wait(60)
                    data = data[at:]
                self.wfile.write(data)

    with serving(Handler) as base:
        held = ModelServer(base)
        try:
            yield held
        finally:
            held.released.set()
