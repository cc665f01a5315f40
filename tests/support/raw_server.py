"""A server that says what a test wants, byte by byte, to whoever connects."""

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

Said = Iterable[bytes | float]
"""What is sent, in order; a number is a pause of so many seconds."""


@contextmanager
def serve_bytes(say: Callable[[], Said]) -> Iterator[str]:
    """Reply to each request with what ``say`` returns, then nothing more, until the block ends; give the address."""
    listening = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def reply(connection: socket.socket) -> None:
        with connection:
            asked = b""
            while b"\r\n\r\n" not in asked:
                asked += connection.recv(65_536)
            with suppress(OSError):  # who asked may have closed the connection
                for piece in say():
                    if isinstance(piece, bytes):
                        connection.sendall(piece)
                    elif over.wait(piece):
                        return
                over.wait()

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=reply, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        over.set()
        listening.close()
