"""Finds ColBERT checkpoints by name and makes the embedded one from all-MiniLM-L6-v2."""

import hashlib
import json
import shutil
from collections.abc import Collection
from pathlib import Path

from polyqa.base.errors import PolyqaError
from polyqa.base.files import sync_all
from polyqa.base.folders import expanded
from polyqa.models import EMBEDDED_ENCODER
from polyqa.models.compact import colbert_weights_path, minilm_path, read_compact

from .multi_vector import checkpoint_files, is_multi_vector, no_safetensors, read_json, require_loadable
from .store import checkpoint_home
from .writing import one_writer

EMBEDDED_CHECKPOINT = "polyqa-minilm-colbert"
_DIMENSIONS = 128
_SETTINGS = (
    "dim", "query_maxlen", "doc_maxlen", "query_token_id", "doc_token_id", "query_token", "doc_token",
    "similarity", "interaction", "mask_punctuation", "attend_to_mask_tokens",
)  # fmt: skip
_FILES = ["*.json", "*.safetensors", "*.txt", "*.model", "artifact.*"]


def checkpoint_name(name: str) -> str:
    """Return the name that an index keeps of its checkpoint: ``embedded`` is short for the embedded one's."""
    return EMBEDDED_CHECKPOINT if name == "embedded" else model_name(name)


def model_name(name: str) -> str:
    """Return the name that an index keeps of a model: of a folder its whole path, which is right in every other."""
    if name in (EMBEDDED_CHECKPOINT, EMBEDDED_ENCODER):
        return name
    folder = expanded(name)
    return str(folder.absolute()) if folder.is_dir() else name


def resolve_checkpoint(name: str) -> str:
    """Return the whole path of a checkpoint's folder; makes the embedded one if need be, fetches one of the hub.

    Raises
    ------
    PolyqaError
        If there is no checkpoint, it would run code of its own, or its weights are not safetensors.
    """
    if checkpoint_name(name) == EMBEDDED_CHECKPOINT:
        return str(embedded_checkpoint())
    path = expanded(name)
    if not path.is_dir():
        if name.startswith((".", "/", "~")) or name.count("/") > 1:
            raise PolyqaError(f"There is no ColBERT checkpoint at {path}.")
        path = _fetched(name)
    if not (path / "config.json").is_file():
        raise PolyqaError(f"{path} is no ColBERT checkpoint: it has no config.json.")
    for part in ("config.json", "tokenizer_config.json"):
        _refuse_code(path / part)
    if is_multi_vector(path):
        require_loadable(path)
    if not (weights := [*path.glob("*.safetensors")]):
        raise no_safetensors(path)
    if not is_multi_vector(path) and not any("linear.weight" in _names(file) for file in weights):
        raise PolyqaError(f"{path} is no ColBERT checkpoint: its weights lack the projection (linear.weight).")
    return str(path.absolute())  # else colbert-ai would look for one of this name on the hub


def _names(weights: Path) -> Collection[str]:
    """Return the names of the tensors of a file; colbert-ai draws at random what is missing, anew in each process."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights, framework="numpy") as file:
            return list(file.keys())
    except (OSError, SafetensorError) as error:
        raise PolyqaError(f"{weights} cannot be read ({error}).") from error


def _fetched(name: str) -> Path:
    """Return the folder of a checkpoint of the hub, from the hub's cache if it is there."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=_FILES))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError) as error:
        reason = " ".join(str(error).split())[:200]
        raise PolyqaError(f"There is no ColBERT checkpoint {name!r:.200}, here or on the hub ({reason}).") from error


def _refuse_code(path: Path) -> None:
    settings = read_json(path) if path.is_file() else {}
    if not isinstance(settings, dict):
        raise PolyqaError(f"{path} holds no settings.")
    if "auto_map" in settings:
        raise PolyqaError(f"{path} names code of its own (auto_map), which polyqa does not run.")


def checkpoint_hash(location: str) -> str:
    """Return a hash of the weights and the configuration in a checkpoint's folder: 16 hexadecimal digits."""
    folder = Path(location)
    digest = hashlib.sha256()
    stanford = sorted([*folder.glob("*.safetensors"), folder / "config.json"])
    for path in checkpoint_files(folder) if is_multi_vector(folder) else stanford:
        digest.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16]


def embedded_checkpoint() -> Path:
    """Return the folder of the embedded checkpoint; it is made on first use, in about 5 seconds.

    It is all-MiniLM-L6-v2 with the shipped weights, trained for late interaction, in the place of its own; the
    folder's name tells the version of those. ``[CLS]`` serves as both markers and queries are padded with
    ``[PAD]``: trained on few questions, new markers and ``[MASK]`` vectors would mean little.
    """
    shipped = colbert_weights_path()
    version = hashlib.sha256(shipped.read_bytes()).hexdigest()[:8]
    target = checkpoint_home() / f"{EMBEDDED_CHECKPOINT}-{version}"
    metadata_file = target / "artifact.metadata"
    if not metadata_file.is_file():
        with one_writer(target, patience=-1) as work:
            if not metadata_file.is_file():
                _make(shipped, work)
                shutil.rmtree(target, ignore_errors=True)
                sync_all(work)
                work.rename(target)
    return target


def _make(shipped: Path, work: Path) -> None:
    import torch

    from .engine import prepare_colbert, quiet

    prepare_colbert()
    from colbert.infra import ColBERTConfig
    from colbert.modeling.base_colbert import BaseColBERT

    config = ColBERTConfig(
        dim=_DIMENSIONS, query_maxlen=32, doc_maxlen=180, query_token_id="[CLS]", doc_token_id="[CLS]"
    )
    with quiet(), torch.random.fork_rng():
        model = BaseColBERT(str(minilm_path()), colbert_config=config)
        trained = read_compact(shipped)
        unknown = model.model.load_state_dict(trained, strict=False).unexpected_keys
        if unknown or "linear.weight" not in trained:
            raise PolyqaError(f"{shipped} is no set of ColBERT weights: install polyqa again.")
        model.raw_tokenizer.mask_token = "[PAD]"
        settings = {name: getattr(model.colbert_config, name) for name in _SETTINGS}
        # Not `model.save`: it looks for a git repository around the working folder, fails where
        # there is none, and records host name, user and command.
        model.model.save_pretrained(work)
        model.raw_tokenizer.save_pretrained(work)
        (work / "artifact.metadata").write_text(json.dumps(settings, indent=2) + "\n")
