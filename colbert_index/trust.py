"""Which models an index may load: polyqa's own, and those that somebody on this machine has named himself.

An index folder may come from a stranger, and its manifest names a ColBERT checkpoint and a sentence encoder. A model
of somebody else's is loaded only if its name and the hash of its files were named here: by building an index with it,
or with ``polyqa index info NAME --trust``.
"""

import json
from pathlib import Path

from pydantic import TypeAdapter

from polyqa.base.errors import PolyqaError
from polyqa.base.files import locked, write_atomically
from polyqa.base.keys import error_line
from polyqa.models import EMBEDDED_ENCODER

from .checkpoint import EMBEDDED_CHECKPOINT, checkpoint_hash, resolve_checkpoint
from .settings import Manifest
from .store import checkpoint_home, told_name

_FILE = "trusted.json"
_NAMED = TypeAdapter(dict[str, str])
_ENCODER = "encoder:"  # before the name of one: a model may be a checkpoint, too, and has a hash as that


def trust(manifest: Manifest) -> list[str]:
    """Trust the models that a manifest names, as they are now; return their names.

    `PolyqaError` if the checkpoint is not there, would run code of its own, or is another one than the manifest's.
    """
    foreign = _foreign_models(manifest)
    if manifest.checkpoint in foreign:
        _location(manifest)
    if foreign:
        path = checkpoint_home() / _FILE
        with locked(path.with_name(f".{_FILE}.lock"), path):
            write_atomically(path, json.dumps({**_trusted(), **foreign}, indent=1) + "\n")
    return list(dict.fromkeys(key.removeprefix(_ENCODER) for key in foreign))


def trusted_checkpoint(manifest: Manifest, index: Path) -> str:
    """Return the folder of an index's checkpoint.

    `PolyqaError` if nobody on this machine has named it, or its files are not those that the index was made with.
    """
    _require_trusted(manifest, manifest.checkpoint, index)
    return _location(manifest)


def trusted_encoder(manifest: Manifest, index: Path) -> str:
    """Return the name of the encoder whose vectors an index holds; for errors see `trusted_checkpoint`."""
    name = str(manifest.encoder)
    _require_trusted(manifest, _ENCODER + name, index)
    return name


def _foreign_models(manifest: Manifest) -> dict[str, str]:
    """Return the models that are not polyqa's own, each with the hash that it must have; an encoder has none."""
    hashes = {manifest.checkpoint: manifest.checkpoint_hash}
    if manifest.encoder is not None:
        hashes[_ENCODER + manifest.encoder] = ""
    shipped = (EMBEDDED_CHECKPOINT, _ENCODER + EMBEDDED_ENCODER)
    return {key: hashed for key, hashed in hashes.items() if key not in shipped}


def _require_trusted(manifest: Manifest, key: str, index: Path) -> None:
    expected = _foreign_models(manifest).get(key)
    if expected is not None and _trusted().get(key) != expected:
        raise PolyqaError(
            f"The index at {index} wants the model {key.removeprefix(_ENCODER)!r:.200}, which is not polyqa's own. If "
            f"you know whose it is, say so with `polyqa index info {told_name(index)} --trust`."
        )


def _location(manifest: Manifest) -> str:
    location = resolve_checkpoint(manifest.checkpoint)
    hashed = checkpoint_hash(location)
    if hashed != manifest.checkpoint_hash:
        raise PolyqaError(
            f"The index was made with other weights of {manifest.checkpoint!r:.200} ({manifest.checkpoint_hash:.40}, "
            f"now {hashed}). Build it again."
        )
    return location


def _trusted() -> dict[str, str]:
    path = checkpoint_home() / _FILE
    if not path.is_file():
        return {}
    try:
        return _NAMED.validate_json(path.read_bytes())
    except OSError as error:
        raise PolyqaError(f"{path} cannot be read: {error.strerror}. Mend that, and try again.") from error
    except ValueError as error:
        raise PolyqaError(
            f"{path} cannot be read ({error_line(error)}); delete it, and name the models again."
        ) from error
