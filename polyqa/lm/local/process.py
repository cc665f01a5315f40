"""Starts llama.cpp's server once for all who ask it, and says why where it does not start."""

import atexit
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import IO, Any

from polyqa.base.cores import usable_cores
from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs
from polyqa.models.gguf import kept_folder, lora_files

from .kept import KeptPrompts
from .slots import Slots

_STARTS_IN = 300.0  # seconds that a model may take to load: from a slow disk it is minutes
_ANSWERS_IN = 5.0  # seconds after which a server that does not even say how it is counts as hung
_DIES_IN = 0.5  # seconds from the end of a connection to that of the process
_MANY_CORES = 4
# Measured with 1.5B parameters: bytes that llama.cpp takes beside the model's file and contexts, and
# those that a token of a slot's context takes.
_BESIDE_THE_MODEL = 500 * 2**20
_CONTEXT = 28 * 2**10
_KILLED = " (the system ends the largest process where memory is short)"
# What llama.cpp writes into its log, and what it means.
_CAUSES = (
    (r"invalid magic characters", "it is no language model of llama.cpp (GGUF)"),
    (r"unknown model architecture: '([^']*)'", "llama.cpp does not know its architecture, {0}"),
    (r"(?:failed to allocate|unable to allocate|std::bad_alloc|cannot allocate memory)", "there is not enough memory"),
    (r"data is not within the file bounds|failed to read|unexpectedly reached end|corrupted", "the file is damaged"),
    (r"(?:error loading model|failed to load model)[^:]*: ([^\n]{1,200})", "{0}"),
)


@dataclass(frozen=True)
class LocalSettings:
    """How a local model runs.

    Attributes
    ----------
    threads
        Cores that compute. More than there are slows everything down: each layer waits for the slowest.
    slots
        Calls that are computed at once. Each slot keeps the prompt of its last call, so that a call which begins
        with the same text does not pay for it again.
    context
        Tokens of prompt and reply of one call together.
    prompt_cache
        MiB on the disk for prompts that have left their slot (`polyqa.lm.local.kept`); 0 for none.
    """

    threads: int
    slots: int = 1
    context: int = 8192
    prompt_cache: int = 512

    def __post_init__(self) -> None:
        limits = {"threads": 1, "slots": 1, "context": 256, "prompt_cache": 0}
        for name, least in limits.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise PolyqaError(f"{name} of a local model is a whole number of at least {least}, not {value!r}.")


def local_settings(**chosen: int) -> LocalSettings:
    """Return how a local model runs on this machine, but for what is chosen otherwise.

    A second slot reads the unchanging beginning of prompts a second time, which two cores feel.
    """
    cores = physical_cores()
    return LocalSettings(**{"threads": cores, "slots": 1 if cores < _MANY_CORES else 2, **chosen})


def physical_cores() -> int:
    """Return how many physical cores this process may use, at least 1.

    Two threads of one core slow llama.cpp down, so do cores that the process may not use.
    """
    siblings = set()
    for cpu in usable_cores():
        place = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        siblings.add(place.read_text() if place.is_file() else str(cpu))
    return max(1, len(siblings))


class LocalServer:
    """llama.cpp's server in a process of its own, started at the first call and shared by all threads and loops.

    In a process of its own a damaged model, too little memory or an error of llama.cpp ends that process and not the
    one that holds the user's work, and Ctrl-C reaches only polyqa. In replies the model has the name that is given.
    """

    def __init__(self, path: Path, name: str, settings: LocalSettings) -> None:
        self.path, self.name, self.settings = path, name, settings
        # The weights that are added for calls which ask for them, by the name that is `lora` in their `metadata`.
        self.loras = lora_files(path)
        # Those for calls without added weights, from 0; that for calls with them comes after.
        self.slots = Slots(settings.slots)
        self.key = secrets.token_urlsafe()
        self._kept: KeptPrompts | None = None
        self._address: str | None = None
        self._process: subprocess.Popen[str] | None = None
        self._log: IO[bytes] | None = None
        self._lock = threading.Lock()

    def address(self) -> str:
        """Return the server's address; start it where it does not run.

        Raises
        ------
        PolyqaError
            If the file is no model, the model cannot be loaded, or there is too little memory for it.
        """
        with self._lock:
            if self._address is None or self.pid is None:
                self._address = self._start()
            return self._address

    def stop(self) -> None:
        """End the process, and keep what its slots have read for the next one."""
        with self._lock:
            if self._kept is not None and self.pid is not None:
                for slot, prompt in self.slots.idle():  # nobody waits for the end of a call
                    self._kept.keep(slot, prompt)
            self._stop()

    def turn(self, slot: int, before: str, prompt: str) -> None:
        """Have a slot that has read a prompt read another one, on from what is kept of it; see `Slots.take`."""
        kept_prompts = self._kept
        if kept_prompts is not None and slot < len(self.slots.read):
            kept_prompts.turn(slot, before, prompt)

    def _stop_at_exit(self) -> None:
        """Stop, but end a process that is still loading its model at once: `stop` would wait until that is done."""
        if self._address is None and self._process is not None:
            self._process.kill()
        self.stop()

    def ended(self) -> str:
        """Return why the process has ended by itself; empty if it runs, or ran again already."""
        with self._lock:
            if self._process is None:
                return ""
            try:
                self._process.wait(_DIES_IN)
            except subprocess.TimeoutExpired:
                return ""
            return self._cause()

    def end_if_hung(self) -> bool:
        """End the process if it does not even answer how it is, and return whether it was so."""
        address, process = self._address, self._process
        if address is None or process is None or _status(address, "GET", "/health"):
            return False
        process.kill()
        return True

    @property
    def pid(self) -> int | None:
        """The number of the process; ``None`` if it does not run."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def _start(self) -> str:
        self._stop()
        needs("xllamacpp", extra="local", for_="A language model on this machine")
        self._check_memory()
        self._log = tempfile.TemporaryFile(prefix="polyqa-llama-")  # noqa: SIM115 - read when the process ends
        self._process = subprocess.Popen(
            # As a file, and -P: so it imports nothing of polyqa, and nothing from this folder.
            [sys.executable, "-P", str(Path(__file__).with_name("server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        atexit.register(self._stop_at_exit)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        settings = asdict(self.settings) | {
            "path": str(self.path),
            "name": self.name,
            "key": self.key,
            "loras": [str(file) for file in self.loras.values()],
            "kept": f"{kept_folder()}{os.sep}",
        }
        late = threading.Timer(_STARTS_IN, self._process.kill)
        late.start()
        try:
            self._process.stdin.write(json.dumps(settings) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            in_time = late.is_alive()
            late.cancel()
        if not line:
            self._process.wait()
            cause = self._cause() if in_time else f"it took longer than {_STARTS_IN:,.0f} seconds"
            self._stop()
            raise PolyqaError(f"{self.path} cannot be loaded: {cause}.")
        address: str = json.loads(line)["address"]
        self.slots.read[:] = [""] * len(self.slots.read)
        limit = self.settings.prompt_cache * 2**20
        self._kept = KeptPrompts(self.path, self.settings.context, limit, partial(self._slot, address))
        return address

    def _stop(self) -> None:
        if self._process is not None:
            with suppress(OSError), self._process:  # which closes its pipes, and waits for its end
                self._process.kill()
        if self._log is not None:
            self._log.close()
        self._address = self._process = self._log = self._kept = None
        atexit.unregister(self._stop_at_exit)

    def _slot(self, address: str, slot: int, action: str, file: str) -> bool:
        """Have the server save or restore what a slot has read, and return whether it did."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        body = json.dumps({"filename": file})
        return _status(address, "POST", f"/slots/{slot}?action={action}", body, headers) == HTTPStatus.OK

    def _check_memory(self) -> None:
        tokens = (self.settings.slots + bool(self.loras)) * self.settings.context
        need = self.path.stat().st_size + _BESIDE_THE_MODEL + tokens * _CONTEXT
        free = free_memory()
        if free is not None and need > free:
            raise PolyqaError(
                f"{self.path.name} needs about {need / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} GiB are free. "
                "End other programs, give it fewer slots or a shorter context (--lm-set), or take a smaller model "
                "(polyqa model)."
            )

    def _cause(self) -> str:
        """Return in words why the process ended: by llama.cpp's log, else by its status."""
        assert self._log is not None
        assert self._process is not None
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 100_000))
        text = self._log.read().decode(errors="replace")
        for pattern, words in _CAUSES:
            if match := re.search(pattern, text, re.I):
                return words.format(*match.groups())
        status = self._process.returncode
        return f"it ended with status {status}" + _KILLED * (status == -9)


def _status(address: str, *request: Any) -> int:
    """Return the status of the server's reply to a request; 0 if none comes in time."""
    with closing(HTTPConnection(address.rpartition("/")[2], timeout=_ANSWERS_IN)) as connection:
        try:
            connection.request(*request)
            return connection.getresponse().status
        except (OSError, HTTPException):
            return 0


def free_memory() -> int | None:
    """Return the bytes of memory that are free on this machine; ``None`` where the system does not tell."""
    with suppress(OSError, IndexError):
        return int(re.findall(r"MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text())[0]) * 1024
    return None
