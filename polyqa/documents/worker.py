"""Converts files in processes of their own, with limits: one that hangs, crashes or fills the memory costs itself.

Run as ``python -m polyqa.documents.worker LOCATION TOKENS OVERLAP``, it reads lines of JSON, ``[path, source]``, and
answers each with one: ``{"passages": …}`` or ``{"reason": …}``.
"""

import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from polyqa.base.errors import PolyqaError
from polyqa.base.text import well_formed
from polyqa.base.values import Passage

from .splitting import Splitter

MOST_BYTES = 256 << 20
MOST_UNPACKED = 1 << 30
MOST_RATIO = 200
MOST_SECONDS = 120.0
_RATIO_FROM = 32 << 20  # bytes; what unpacks to less does no harm
_MEMORY = 4 << 30
_ARCHIVES = (".docx", ".docm", ".pptx", ".pptm", ".ppsx", ".xlsx", ".xlsm", ".odt", ".epub")


def reason_against(path: Path, root: Path) -> str | None:
    """Return why a file is not even opened by a converter, or ``None``."""
    try:
        if not path.resolve().is_relative_to(root.resolve()):
            return "is a link out of the folder"
        size = path.stat().st_size
        if size == 0:
            return "is empty"
        if size > MOST_BYTES:
            return f"has {size >> 20:,} MB; at most {MOST_BYTES >> 20} MB are read"
        return _archive_fault(path) if path.suffix.lower() in _ARCHIVES else None
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    except RuntimeError:  # what pathlib says of it before Python 3.13
        return "is a link that leads back to itself"


def _archive_fault(path: Path) -> str | None:
    with path.open("rb") as file:
        if file.read(8) == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
            return "is protected by a password, or of an Office before 2007"
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        return f"is damaged ({error})"
    if any(entry.flag_bits & 1 for entry in entries):
        return "is protected by a password"
    unpacked, packed = sum(entry.file_size for entry in entries), sum(entry.compress_size for entry in entries)
    if unpacked > MOST_UNPACKED or (unpacked > _RATIO_FROM and unpacked > MOST_RATIO * packed):
        return f"unpacks from {packed / 1e6:,.1f} to {unpacked / 1e6:,.0f} MB, which is refused"
    return None


class Worker:
    """A process that converts one file after the other; a new one when it had to be ended."""

    def __init__(self, splitter: Splitter) -> None:
        # -P: nothing is imported from the folder that the user stands in, which may be a stranger's.
        self._command = [sys.executable, "-P", "-m", __spec__.name]
        self._command += [splitter.location, str(splitter.tokens), str(splitter.overlap)]
        self._process: subprocess.Popen[str] | None = None

    def passages(self, path: Path, source: str) -> list[Passage] | str:
        """Return the passages of a file, or the reason why there are none.

        Those of a ready corpus have ids.
        """
        process = self._process = self._process or subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env={**os.environ, "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false",
                 "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(MOST_SECONDS, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps([str(path.absolute()), source]) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except (BrokenPipeError, ValueError):  # half a character
            line = ""
        finally:
            late = not timer.is_alive()
            timer.cancel()
        if not line.endswith("\n"):  # killed before or while it answered
            self.close()
            return (
                f"took more than {MOST_SECONDS:g} seconds" if late else "ended its converter (memory, or a fault in it)"
            )
        answer = json.loads(line)
        return answer.get("reason") or [Passage(**passage) for passage in answer["passages"]]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            with suppress(BrokenPipeError), self._process:  # of what it was still to be told
                self._process.kill()
            self._process = None


def _answer(path: Path, source: str, splitter: Splitter) -> dict[str, object]:
    from polyqa.colbert_index.corpus import read_corpus

    from .converting import UnreadableError, convert, is_ready

    try:
        if is_ready(path):
            try:
                ready = read_corpus(path)
            except PolyqaError as error:
                return {"reason": f"cannot be read as a corpus ({error})"}
            passages = [
                passage.model_copy(update={"metadata": {**passage.metadata, "source": source}}) for passage in ready
            ]
        else:
            passages = [passage for document in convert(path) for passage in splitter.passages(document, source)]
    except UnreadableError as error:
        return {"reason": str(error)}
    except MemoryError:
        return {"reason": "needs too much memory"}
    except BaseException as error:  # a fault in a converter costs its file; a panic of Rust is no Exception
        return {"reason": f"cannot be read ({type(error).__name__}: {' '.join(str(error).split())[:120]})"}
    if not passages:
        return {"reason": "holds no text"}
    return {"passages": [passage.model_dump(exclude={"score"}) for passage in passages]}


def main(arguments: Sequence[str]) -> None:
    """Answer until the input ends."""
    location, tokens, overlap = arguments
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a converter prints is no answer
    try:
        import resource
    except ImportError:  # Windows
        pass
    else:
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    splitter = Splitter(int(tokens), int(overlap), location)
    for line in sys.stdin:
        path, source = json.loads(line)
        answer = json.dumps(_answer(Path(path), source, splitter), ensure_ascii=False)
        print(well_formed(answer), file=answers, flush=True)  # half a character would be an error wherever it comes to


if __name__ == "__main__":
    main(sys.argv[1:])
