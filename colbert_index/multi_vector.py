"""Checkpoints that `sentence_transformers.MultiVectorEncoder` loads: PyLate's, and its own.

Stanford's, and the embedded one, stay with colbert-ai (see `engine`), for two reasons. What pads a question has no
vector of its own there where the padding token serves as mask, as in the embedded checkpoint; `MultiVectorEncoder`
gives it one. And a search with such a checkpoint starts without either library (see `query_encoder`).
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyqa.base.errors import PolyqaError
from polyqa.models.loading import resolve_precision
from polyqa.models.running import keep_freed_memory, own_threads

from .settings import IndexSettings

if TYPE_CHECKING:
    import torch

MODULES = "modules.json"
_TRUSTED = ("sentence_transformers.", "pylate.models.")
_AT_ONCE = 256  # passages between two moves of a bar


def is_multi_vector(folder: Path) -> bool:
    """Return whether a checkpoint is one of those."""
    return (folder / MODULES).is_file() and not (folder / "artifact.metadata").is_file()


def checkpoint_files(folder: Path) -> list[Path]:
    """Return the files that decide what vectors such a checkpoint gives."""
    files = (path for kind in ("*.safetensors", "*.json") for path in folder.rglob(kind))
    return sorted(path for path in files if not any(part[0] == "." for part in path.relative_to(folder).parts))


def require_loadable(folder: Path) -> None:
    """Raise `PolyqaError` if such a checkpoint would run code of its own, or unpickle its weights."""
    for module in _modules(folder):
        if str(module["type"]).endswith(".Pooling"):  # `MultiVectorEncoder` would add a projection drawn at random
            raise PolyqaError(f"{folder} is no ColBERT checkpoint: it gives a text one vector, not one for each token.")
        if not str(module["type"]).startswith(_TRUSTED):
            raise PolyqaError(
                f"{folder / MODULES} names code of its own ({module['type']!r:.80}), which polyqa does not run."
            )
        part = folder / str(module["path"])
        if not part.resolve().is_relative_to(folder.resolve()):
            raise PolyqaError(f"{folder / MODULES} names a folder outside the checkpoint ({module['path']!r:.80}).")
        if [*part.glob("*.bin")] and not [*part.glob("*.safetensors")]:
            raise no_safetensors(part)


def no_safetensors(folder: Path) -> PolyqaError:
    """Return the error of a checkpoint, or a part of one, without weights that can be loaded."""
    return PolyqaError(
        f"{folder} has no weights as safetensors. ONNX files are not read, and others could run code: take one "
        "with model.safetensors."
    )


def dimensions(folder: Path) -> int:
    """Return how many dimensions a token vector of such a checkpoint has; nothing is loaded."""
    for module in reversed(_modules(folder)):
        if str(module["type"]).endswith(".Dense"):
            return int(read_json(folder / str(module["path"]) / "config.json")["out_features"])
    return int(read_json(folder / "config.json")["hidden_size"])


def _modules(folder: Path) -> list[dict[str, Any]]:
    modules = read_json(folder / MODULES)
    if not isinstance(modules, list) or not all(
        isinstance(module, dict) and {"type", "path"} <= module.keys() for module in modules
    ):
        raise PolyqaError(f"{folder / MODULES} does not list modules, each with its type and path.")
    return modules


def read_json(path: Path) -> Any:
    """Return what a file of a checkpoint holds; `PolyqaError` if it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PolyqaError(f"{path} cannot be read ({error}).") from error


class MultiVectorModel:
    """Such a checkpoint, loaded for inference; questions and passages are cut as the settings of the index say."""

    def __init__(self, folder: Path, settings: IndexSettings) -> None:
        import torch

        from .engine import quiet

        own_threads()
        keep_freed_memory()
        with quiet():
            from sentence_transformers import MultiVectorEncoder

            try:
                self._model = MultiVectorEncoder(str(folder), local_files_only=True, trust_remote_code=False)
            except (OSError, ValueError, KeyError, TypeError, ImportError, RuntimeError) as error:
                reason = " ".join(str(error).split())[:200]
                raise PolyqaError(f"{folder} cannot be loaded as a multi-vector checkpoint ({reason}).") from error
        transformer: Any = self._model[0]
        transformer.document_length, transformer.query_length = settings.doc_maxlen, settings.query_maxlen
        if (expansion := transformer.query_expansion) is not None:
            transformer.query_expansion = {**expansion, "length": settings.query_maxlen}
        self._batch_size = settings.batch_size
        bfloat16 = resolve_precision("auto") == "bfloat16" and not torch.cuda.is_available()
        self._precision = {"device_type": "cpu", "dtype": torch.bfloat16, "enabled": bfloat16}

    def queries(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return the token vectors of each question, shape (tokens, dimensions)."""
        return [vectors.float().cpu().numpy() for vectors in self._encoded(self._model.encode_query, texts)]

    def documents(
        self, texts: Sequence[str], advance: Callable[[int], None] | None = None
    ) -> "tuple[torch.Tensor, list[int]]":
        """Return what `engine.encode_documents` returns."""
        import torch

        parts: list[Any] = []
        for begin in range(0, len(texts), _AT_ONCE):
            rows = self._encoded(self._model.encode_document, texts[begin : begin + _AT_ONCE])
            parts += [row.half().cpu() for row in rows]
            if advance is not None:
                advance(len(rows))
        return torch.cat(parts), [len(part) for part in parts]

    def _encoded(self, encode: Callable[..., Any], texts: Sequence[str]) -> list[Any]:
        import torch

        with torch.autocast(**self._precision):
            rows: list[Any] = encode(
                list(texts), batch_size=self._batch_size, show_progress_bar=False, normalize_embeddings=True
            )
        return rows
