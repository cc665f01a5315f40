"""The file of a recording: what was asked of a language model, and what it said.

It is gzipped JSON Lines: a first line with versions and settings, then one record a line, sorted by key. The same
records give the same bytes. While a process records, each reply is appended to a plain file beside it
(``FILE.new``), which is read, too, and becomes part of the file when the language model is no longer used: a kill loses
no reply.
"""

import gzip
import hashlib
import io
import json
import re
import threading
import warnings
import weakref
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import dspy
from dspy.clients.backend_selection import CLIENT_KEYS
from dspy.lm15 import Message, Response, TokenLogprob, TopLogprob
from pydantic import BaseModel, Field, field_validator

from polyqa.base.errors import PolyqaError
from polyqa.base.files import locked, opened_itself, unwritable, write_atomically
from polyqa.base.ledger import json_line
from polyqa.base.text import in_common

from .assigned import without_secrets

ENDING = ".jsonl.gz"
ABILITIES = ("takes_grammar", "gives_probabilities", "reads_passages")  # on which prompts and settings depend
FORMAT = 1  # of the file; a program that does not know a later one refuses it
_PATIENCE = 60.0  # seconds to wait for another process that is writing the same file
_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)  # raised for a line that is no record
_QUESTION = re.compile(r"^\W*question\W*\s(.+)", re.I | re.M)  # in any of DSPy's formats
_EXCERPT = 40  # characters on each side of a difference
_LONGEST_LINE = 1 << 25  # bytes
_LEAST_UNPACKED = 1 << 28  # bytes that every file may unpack to
_MOST_RATIO = 200  # of bytes unpacked to bytes packed: recordings have about 10


class DamageWarning(UserWarning):
    """Warns of a reply that was not written to its end: it is left out, and asked for again."""


@dataclass(frozen=True)
class RecordedRequest:
    """What decides a reply: keys, addresses, timeouts and retries do not.

    Attributes
    ----------
    model
        Its name.
    settings
        As sent, such as ``temperature``. Three more tell replies to the same request apart: ``rollout_id`` where
        DSPy wants another one, ``candidate`` for the second and later of several (``n``), ``attempt`` for the second
        after one that could not be read. Of a grammar only that there is one is kept.
    messages
        Role and text (``content``) of each.
    """

    model: str
    settings: Mapping[str, Any]
    messages: Sequence[Mapping[str, str]]

    @cached_property
    def key(self) -> str:
        """SHA-256 of the request as JSON with sorted names, in hex digits."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class RecordedReply:
    """A reply with its request.

    Attributes
    ----------
    request
        What was asked.
    reply
        The text. Thoughts of a model that reasons are left out.
    finish
        Why it ended: ``stop``, or ``length`` if it broke off.
    usage
        Tokens, by the names of `dspy.lm15.Usage`; only those that the provider reported.
    seconds
        How long the call took, with its retries.
    tokens
        Where the probabilities of its tokens were asked for: of each token the text, the logarithm of its probability,
        and the likeliest tokens in its place with theirs.
    """

    request: RecordedRequest
    reply: str
    finish: str
    usage: Mapping[str, int]
    seconds: float
    tokens: Sequence[Any] = ()

    def line(self) -> str:
        """Return the record as a line of the file."""
        reply_fields = {"reply": self.reply, "finish": self.finish, "usage": self.usage, "seconds": self.seconds}
        if self.tokens:
            reply_fields["tokens"] = self.tokens
        return json_line({"key": self.request.key, **asdict(self.request), **reply_fields})

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> "RecordedReply":
        """Return the record of a line.

        Raises
        ------
        ValueError, LookupError, TypeError
            If it is none, or its key is not that of its request.
        """
        request = RecordedRequest(
            data["model"], dict(data["settings"]), [dict(message) for message in data["messages"]]
        )
        if data["key"] != request.key:
            raise ValueError("its key is not that of its request, which was changed")
        request = replace(request, settings=telling(request.settings))
        usage, tokens = dict(data["usage"]), tuple(data.get("tokens", ()))
        record = cls(request, data["reply"], data["finish"], usage, float(data["seconds"]), tokens)
        record.response()
        return record

    def response(self) -> Response:
        """Return the reply as an engine does."""
        message, usage = Message.assistant(self.reply), dspy.lm15.Usage(**self.usage)
        tokens = [
            TokenLogprob(token, logprob, top=tuple(TopLogprob(*other) for other in top))
            for token, logprob, top in self.tokens
        ]
        return Response(None, self.request.model, message, self.finish, usage, tuple(tokens) or None)


class Described(BaseModel, strict=True):
    """What the first line says of a model; the file may come from a stranger.

    What it was recorded with, which settings of these its user chose, the API that it was asked by, what it can do.
    """

    settings: dict[str, Any] = Field(default_factory=dict)
    kept: list[str] = Field(default_factory=list)
    model_type: Literal["chat", "text", "responses"] = "chat"
    abilities: list[str] = Field(default_factory=list)

    @classmethod
    def of(cls, lm: dspy.LM) -> "Described":
        """Return what a file says of a language model."""
        settings = json.loads(json.dumps(without_secrets(lm.kwargs), default=str))
        return cls(
            settings={name: value for name, value in settings.items() if value is not None},
            kept=sorted(getattr(lm, "polyqa_keeps", ())),
            model_type=lm.model_type,
            abilities=[name for name in ABILITIES if getattr(lm, name, False)],
        )

    @field_validator("settings")
    @classmethod
    def _of_replies(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """Leave out what decides no reply: addresses and keys."""
        return {name: value for name, value in settings.items() if name not in CLIENT_KEYS}


class Recording:
    """The records of a file. Threads and processes may record into the same file at once.

    Raises
    ------
    PolyqaError
        If the file is damaged, was written by a later version of polyqa, or has another ending.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.name.endswith(ENDING):
            raise PolyqaError(f"A recording is a file such as replies{ENDING}, not {path}.")
        self.models: dict[str, Described] = {}
        self._records: dict[str, RecordedReply] = {}
        self._lock = threading.Lock()
        self._packing: weakref.finalize[..., Recording] | None = None
        self._read()

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[RecordedReply]:
        """Yield the records by their keys."""
        with self._lock:
            return iter([self._records[key] for key in sorted(self._records)])

    def get(self, request: RecordedRequest) -> RecordedReply | None:
        """Return the reply to a request; ``None`` if it is not recorded."""
        return self._records.get(request.key)

    def add(self, record: RecordedReply, lm: dspy.LM | None = None) -> RecordedReply:
        """Write down a reply, and of what language model it is; return it, or the one that was recorded meanwhile.

        Raises
        ------
        PolyqaError
            If the file cannot be written.
        """
        with self._lock:
            request = record.request
            if (earlier := self._records.get(request.key)) is not None:
                return earlier
            new = {request.model: Described.of(lm)} if lm is not None and request.model not in self.models else {}
            lines = [_head(new)] * bool(new) + [record.line()]
            with _locked(self.path):
                try:
                    with open(_unpacked(self.path), "ab", opener=opened_itself) as file:
                        # A line that a kill cut off ends here, not in the middle of the next.
                        file.write("".join(["\n", *lines]).encode())
                except OSError as error:
                    raise unwritable(_unpacked(self.path), error) from error
            self._packing = self._packing or weakref.finalize(self, _pack_quietly, self.path)
            self.models |= new
            self._records[request.key] = record
            return record

    def missing(self, request: RecordedRequest) -> str:
        """Return in words what is not recorded, how the nearest recorded request differs, and how to record it."""
        name = self.path.name
        last = request.messages[-1]["content"].strip()
        question = _QUESTION.search(last)
        about = question[1] if question else last.partition("\n")[0]
        text = _written(request)
        recorded_texts = [_written(record.request) for record in self if record.request.model == request.model]
        nearest = max(recorded_texts, key=lambda other: in_common(text, other), default=None)
        differs = f"It has none of {request.model}."
        if nearest is not None:
            at = in_common(text, nearest)
            cut = slice(max(0, at - _EXCERPT), at + _EXCERPT)
            differs = f"The nearest that is recorded differs here: recorded {nearest[cut]!r}, asked {text[cut]!r}."
        return (
            f"{name} has no reply of {request.model} to a request about {about[:80]!r}. "
            f"{differs} Record it with --lm {request.model} --record {self.path}, in Python polyqa.recorded(FILE, lm)."
        )

    def _read(self) -> None:
        # First what is beside the file: another process may make it part of the file meanwhile.
        beside = _unpacked(self.path)
        new = b""
        with suppress(FileNotFoundError, NotADirectoryError):
            new = beside.read_bytes()
        for number, line in enumerate(_unpacked_lines(self.path), 1):
            try:
                self._take(line)
            except _DAMAGE as error:
                raise PolyqaError(
                    f"{self.path}, line {number} is damaged, or is not of polyqa ({error}). Take the file from where "
                    f"it came, or remove the line and record it again: {line[:120].decode(errors='replace')}"
                ) from error
        for line in new.split(b"\n"):
            try:
                self._take(line)
            except _DAMAGE:
                message = f"{beside}: a reply was not written to its end. It is left out."
                warnings.warn(message, DamageWarning, stacklevel=3)

    def _take(self, line: bytes) -> None:
        if not line:
            return
        data = json.loads(line)
        if "models" not in data:
            record = RecordedReply.parse(data)
            self._records.setdefault(record.request.key, record)
            return
        if data.get("recording", FORMAT) != FORMAT:
            raise PolyqaError(f"{self.path} was written by another polyqa ({data.get('polyqa')}); take that one.")
        self.models = {name: Described.model_validate(entry) for name, entry in data["models"].items()} | self.models

    def packed(self) -> bytes:
        """Return what the file holds."""
        versions = {package: version(package) for package in ("polyqa", "dspy")}
        head = _head(self.models, recording=FORMAT, **versions)
        packed = io.BytesIO()
        with gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as file:
            file.writelines(line.encode() for line in (head, *(record.line() for record in self)))
        return packed.getvalue()


def _head(models: Mapping[str, Described], **fields: Any) -> str:
    return json_line({**fields, "models": {name: models[name].model_dump() for name in sorted(models)}})


def pack(path: Path) -> None:
    """Make what was recorded beside a file part of it; if it cannot be written, nothing is lost."""
    with _locked(path):
        if _unpacked(path).exists():
            write_atomically(path, Recording(path).packed())
            _unpacked(path).unlink()


def _pack_quietly(path: Path) -> None:
    with suppress(PolyqaError, OSError):  # the file beside stays, and is read as well
        pack(path)


def _unpacked(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


def _locked(path: Path) -> Any:
    return locked(path.with_name(f".{path.name}.lock"), path, patience=_PATIENCE)


def _unpacked_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, which may come from a stranger: one at a time, and not without end."""
    try:
        if not path.exists():
            return
        most = max(_LEAST_UNPACKED, _MOST_RATIO * path.stat().st_size)
        with gzip.open(path) as file:
            while line := file.readline(_LONGEST_LINE):
                if len(line) == _LONGEST_LINE or file.tell() > most:
                    raise OSError("it unpacks to far more than a recording does")
                yield line
    except (OSError, EOFError, zlib.error) as error:
        raise PolyqaError(f"{path} cannot be read: {error}. Take it from where it came, or record it again.") from error


def telling(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that tell replies apart; a better grammar need not make a recording worthless."""
    extensions = settings.get("extensions") or {}
    if "grammar" not in (metadata := extensions.get("metadata") or {}):
        return dict(settings)
    return {**settings, "extensions": {**extensions, "metadata": {**metadata, "grammar": True}}}


def _written(request: RecordedRequest) -> str:
    """Return the messages and settings of a request as a text for people."""
    messages = [f"{message['role']}: {message['content']}" for message in request.messages]
    return "\n".join([*messages, *(f"{name}: {value}" for name, value in sorted(request.settings.items()))])
