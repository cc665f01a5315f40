"""Starts the server: who may ask, how much at once, threads bounded, a stop that finishes what runs."""

import re
import socket
from collections.abc import Callable

import dspy

from polyqa.base.cores import usable_cores
from polyqa.base.errors import PolyqaError
from polyqa.lm.reply_cache import bound_cache
from polyqa.lm.servers import TIMEOUT
from polyqa.web.app import make_app
from polyqa.web.guard import LOCAL, Guard, host_name
from polyqa.web.limits import WebLimits
from polyqa.web.run import server
from polyqa.web.service import Service
from polyqa.web.shelf import Shelf

from .language_models import MODEL_NAME, ready_reader

SHORTEST_TOKEN = 16
_REMOTE_AT_ONCE = 64
_EVERY_ADDRESS = ("", "0.0.0.0", "::")


def guard_of(host: str, token: str | None = None, hosts: tuple[str, ...] = (), origins: tuple[str, ...] = ()) -> Guard:
    """Return who may ask a server that listens on an address; others never without a token."""
    local = host in ("127.0.0.1", "localhost", "::1")
    if not local and token is None:
        raise PolyqaError(
            f"--host {host} lets other machines ask: set a token for them, POLYQA_TOKEN or --token, such as "
            '`export POLYQA_TOKEN=$(python -c "import secrets; print(secrets.token_urlsafe())")`.'
        )
    if token is not None and not re.fullmatch(rf"[!-~]{{{SHORTEST_TOKEN},}}", token):
        raise PolyqaError(
            f"A token has at least {SHORTEST_TOKEN} characters, all of them ASCII and none a space; a shorter one can "
            "be guessed."
        )
    for origin in origins:
        scheme, _, address = origin.partition("://")
        if scheme not in ("http", "https") or not address or "/" in address or "*" in address:
            raise PolyqaError(f"{origin!r} is no origin: write it as https://chat.example, without a path.")
    if hosts and host not in _EVERY_ADDRESS:
        hosts = (*hosts, host)
    names = [host_name(f"[{host}]" if host.count(":") > 1 and host[0] != "[" else host) for host in hosts]
    if None in names:
        raise PolyqaError(f"{hosts[names.index(None)]!r} is no host name: write it as qa.example.org.")
    host_names = tuple(dict.fromkeys([*(LOCAL if local or hosts else ()), *names]))
    return Guard(host_names, tuple(map(_as_sent, origins)), token)


def _as_sent(origin: str) -> str:
    """Return an origin as browsers send it: in lower case, without the port that its scheme has anyway."""
    scheme, _, address = origin.lower().partition("://")
    return f"{scheme}://{address.removesuffix({'http': ':80', 'https': ':443'}[scheme])}"


def limits_of(lm: dspy.LM, at_once: int | None = None, seconds: float | None = None) -> WebLimits:
    """Return a server's limits.

    The embedded engine shares the CPU, a model on this machine has slots, another one answers many at once. A model
    whose calls may take longer than usual, as one on this machine's, has as long for a question.
    """
    most = len(usable_cores()) if lm.model == MODEL_NAME else getattr(lm, "at_once", None) or _REMOTE_AT_ONCE
    patience = getattr(lm, "timeout", None) or 0
    seconds = seconds or (patience if patience > TIMEOUT else WebLimits.seconds)
    return WebLimits(at_once or most, seconds=seconds)


def serve(
    shelf: Shelf,
    guard: Guard,
    limits: WebLimits,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    say: Callable[[str], None] = print,
) -> None:
    """Serve until Ctrl-C or SIGTERM; then finish what runs."""
    _bound_threads(limits.at_once)
    bound_cache()
    with _listening(host, port) as listening:
        shelf.program(*shelf.names(None, None))  # the first question takes no longer than the next
        ready_reader()
        service = Service(shelf, limits)
        address = f"[{host}]" if ":" in host else host
        token = ", with the token" if guard.token else ""
        say(f"polyqa is at http://{address}:{listening.getsockname()[1]}{token}. Ctrl-C stops it.")
        server(make_app(service, guard), host, port).run(sockets=[listening])


def _bound_threads(at_once: int) -> None:
    """Give each question its share of the cores: threads of torch that wait for each other take all of them."""
    import torch
    from threadpoolctl import threadpool_limits

    threads = max(1, len(usable_cores()) // at_once)
    torch.set_num_threads(threads)
    threadpool_limits(threads)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise PolyqaError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}. Choose another --port."
        ) from None
