"""A real HTTP server that has files as the hub and a page of packages have them: with ranges, faults and delays."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from serving import QuietHandler, serving


@dataclass
class ModelServer:
    """What it has and how it fails; changed while it runs.

    Attributes
    ----------
    files
        What is at each path. Of several answers each is given once, the last one for ever.
    breaks
        After how many bytes the next connections end, before their time.
    takes_ranges
        Whether it sends parts of files.
    hangs
        After how many bytes of a path it sends nothing more, until `released` is set.
    asked
        The paths that were asked for, with the first byte.
    """

    base: str
    files: dict[str, list[bytes]] = field(default_factory=dict)
    breaks: list[int] = field(default_factory=list)
    takes_ranges: bool = True
    hangs: dict[str, int] = field(default_factory=dict)
    released: threading.Event = field(default_factory=threading.Event)
    asked: list[tuple[str, int]] = field(default_factory=list)


@contextmanager
def serve_models() -> Iterator[ModelServer]:
    """Serve on localhost."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            first = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
            held.asked.append((self.path, first))
            answers = held.files.get(self.path)
            if answers is None:
                self.send_error(404)
                return
            data = answers.pop(0) if len(answers) > 1 else answers[0]
            is_part = held.takes_ranges and "Range" in self.headers
            data = data[first:] if is_part else data
            self.send_response(206 if is_part else 200)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/octet-stream")
            self.end_headers()
            with suppress(ConnectionError):
                if held.breaks:
                    self.wfile.write(data[: held.breaks.pop(0)])
                    self.close_connection = True
                    return
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
