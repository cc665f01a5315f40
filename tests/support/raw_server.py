"""A server that says what a test wants, byte by byte, to whoever connects."""

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Said = Iterable[bytes | float]
"""What is sent, in order; a number is a pause of so many seconds."""


@dataclass
class RawServer:
    """Where the server listens, and what became of its replies.

    Attributes
    ----------
    base
        Its address.
    connections
        How many it had.
    sent
        Bytes that the system took from it, to all connections.
    closed
        Set when a reply ended early because who asked had closed the connection.
    """

    base: str
    connections: int = 0
    sent: int = 0
    closed: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serve_bytes(say: Callable[[], Said]) -> Iterator[RawServer]:
    """Reply to each request with what ``say`` returns, then say nothing more, until the block ends."""
    listening = socket.create_server(("127.0.0.1", 0))
    state = RawServer(base=f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
    over = threading.Event()

    def reply(connection: socket.socket) -> None:
        with connection:
            asked = b""
            while b"\r\n\r\n" not in asked:
                asked += connection.recv(65_536)
            try:
                for piece in say():
                    if isinstance(piece, bytes):
                        connection.sendall(piece)
                        state.sent += len(piece)
                    elif over.wait(piece):
                        return
            except OSError:
                state.closed.set()
                return
            over.wait()

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                state.connections += 1
                threading.Thread(target=reply, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield state
    finally:
        over.set()
        listening.close()
