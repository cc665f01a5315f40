"""The span reader with a null answer: embedded, or any Hugging Face question-answering model."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from polyqa.base.errors import PolyqaError
from polyqa.base.text import well_formed

from .compact import COMPACT_FILE, encoder_weights, read_compact, reader_path
from .loading import LOADING, Precision, resolve_precision, without_progress_bars
from .memory import Memory, SharedModel
from .running import by_padded_length, keep_freed_memory, own_threads, padded_rows
from .spans import Reading, Window, read_windows

if TYPE_CHECKING:
    import torch
    from tokenizers import Encoding, Tokenizer
    from torch import Tensor

EMBEDDED_READER = "polyqa-minilm-reader"
LONGEST_CONTEXT = 28_800
"""Characters of a text that are read."""
MAX_LENGTH, STRIDE = 384, 128
"""Tokens of a window, and tokens that neighbouring windows share, as in the official scripts."""
_LENGTH_STEP = 32
_MEMORY = 20_000  # readings that are kept: verification and extraction ask about the same pairs


def reader_name(name: str) -> str:
    """Return the name that figures of a reader carry: ``embedded`` is short for the shipped one's."""
    return EMBEDDED_READER if name == "embedded" else name


class SpanReader(Protocol):
    """Reads short answers out of contexts; every figure made with one carries its name."""

    @property
    def name(self) -> str:
        """What the figures are labelled with: a path, a hub name, or the embedded reader's name."""

    @property
    def null_threshold(self) -> float:
        """From which null score − best span score on this reader is best taken to say that there is no answer.

        Published metrics use 0, the official rule's default; `Reading.answer` takes either.
        """

    def read(self, pairs: Sequence[tuple[str, str]], *, keep: int = 1) -> list[Reading]:
        """Return the best spans and the null score of every (question, context) pair, in order."""


class Reader(SharedModel):
    """Answers questions with spans of contexts, in batches, and says when a context has no answer.

    Windows and the null rule are those of the official SQuAD 2.0 scripts (see `spans.read_windows`).

    Parameters
    ----------
    name
        ``polyqa-minilm-reader`` or ``embedded`` (the default, shipped: no network), a path, or a hub name such as
        ``deepset/roberta-large-squad2``.
    precision
        ``float32`` for figures, ``auto`` (bfloat16 where the CPU has it) for speed.
    batch_size
        Windows per forward pass.
    """

    def __init__(
        self,
        name: str = EMBEDDED_READER,
        *,
        precision: Precision = "float32",
        batch_size: int = 16,
    ) -> None:
        self.name = reader_name(name)
        self.precision = precision
        self.batch_size = batch_size
        self._memory: Memory[Reading] = Memory(_MEMORY)

    @cached_property
    def network(self) -> "SpanNetwork":
        """What reads."""
        with LOADING:
            import torch

            keep_freed_memory()
            location = str(reader_path()) if self.name == EMBEDDED_READER else self.name
            return load_span_network(location, getattr(torch, resolve_precision(self.precision)))

    @cached_property
    def _windowed(self) -> "Windows":
        return Windows(self.network.tokenizer, max_length=MAX_LENGTH, stride=STRIDE)

    @property
    def null_threshold(self) -> float:
        """The null threshold of the model's configuration, which training chose on held-out articles; else 0."""
        return self.network.null_threshold

    def read(self, pairs: Sequence[tuple[str, str]], *, keep: int = 1) -> list[Reading]:
        """Read every (question, context) pair.

        Parameters
        ----------
        pairs
            Questions with the context each is asked of; contexts longer than a window are read in
            overlapping windows, of very long ones the first `LONGEST_CONTEXT` characters.
        keep
            How many non-overlapping spans to return per pair.

        Returns
        -------
        list of Reading
            In the order of ``pairs``. An empty context, or an empty question, has no span and a
            null score of 0.
        """
        own_threads()
        pairs = [(well_formed(question), well_formed(context[:LONGEST_CONTEXT])) for question, context in pairs]
        return self._memory.get(pairs, lambda missing: self._read_fresh(missing, keep), kind=keep)

    def count_tokens(self, text: str) -> int:
        """Return the number of word pieces of a text, special tokens not counted."""
        return self._windowed.count(well_formed(text))

    def _read_fresh(self, pairs: Sequence[tuple[str, str]], keep: int) -> list[Reading]:
        readable = [index for index, (question, context) in enumerate(pairs) if question.strip() and context.strip()]
        results = [Reading((), 0.0) for _ in pairs]
        if not readable:
            return results
        for index, windows in zip(readable, self._windows([pairs[index] for index in readable]), strict=True):
            results[index] = read_windows(pairs[index][1], windows, keep=keep)
        return results

    def _windows(self, pairs: Sequence[tuple[str, str]]) -> list[list[Window]]:
        import torch

        cut = self._windowed.encode(pairs)
        all_windows = [window for windows in cut for window in windows]
        lengths = [len(window.ids) for window in all_windows]
        read: dict[int, Window] = {}
        for batch, length in by_padded_length(lengths, self.batch_size, step=_LENGTH_STEP, longest=MAX_LENGTH):
            together = [all_windows[index] for index in batch]
            ids = padded_rows([window.ids for window in together], length, self.network.padding)
            types = padded_rows([window.type_ids for window in together], length)
            mask = padded_rows([window.attention_mask for window in together], length)
            with torch.inference_mode():
                starts, ends = (logits.numpy() for logits in self.network.logits(ids, mask, types))
            for row, index in enumerate(batch):
                offsets = [
                    offset if part == 1 else None
                    for offset, part in zip(all_windows[index].offsets, all_windows[index].sequence_ids, strict=True)
                ]
                real = slice(lengths[index])
                read[index] = Window(starts[row, real].copy(), ends[row, real].copy(), offsets)
        order = itertools.count()
        return [[read[next(order)] for _ in windows] for windows in cut]


class Windows:
    """Cuts pairs of a question and a context into overlapping windows, as the official SQuAD scripts do.

    Parameters
    ----------
    tokenizer
        A model's own, which adds its special tokens; it stays as it is.
    max_length, stride
        Tokens per window, and tokens that neighbouring windows share.
    """

    def __init__(self, tokenizer: "Tokenizer", *, max_length: int, stride: int) -> None:
        self._whole, self._cut = (type(tokenizer).from_str(tokenizer.to_str()) for _ in range(2))
        for copied in (self._whole, self._cut):
            copied.no_padding()
        self._whole.no_truncation()
        self._cut.enable_truncation(max_length, stride=stride, strategy="only_second")
        # A longer question leaves no room for the context; the tokenizer panics on it.
        self._longest_question = max(16, max_length - 2 * stride)

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[list["Encoding"]]:
        """Return the windows of each pair, in order, at least one."""
        cut = [(self._question(question.strip()), context) for question, context in pairs]
        return [[first, *first.overflowing] for first in self._cut.encode_batch(cut)]

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, special tokens not counted."""
        return len(self._whole.encode(text, add_special_tokens=False).ids)

    def _question(self, question: str) -> str:
        if len(question) <= self._longest_question:  # a token has at least one character
            return question
        offsets = self._whole.encode(question, add_special_tokens=False).offsets
        return question[: offsets[self._longest_question - 1][1]] if len(offsets) > self._longest_question else question


@dataclass(frozen=True)
class SpanNetwork:
    """What reads, and how its texts become numbers.

    Attributes
    ----------
    tokenizer
        That of the model; pairs of texts get its special tokens.
    padding
        What stands behind the tokens of a text that is shorter than others.
    null_threshold
        See `SpanReader`.
    logits
        Returns the start and the end logits, each of shape (texts, tokens), float32, for ids, mask and token types of
        the same shape.
    """

    tokenizer: "Tokenizer"
    padding: int
    null_threshold: float
    logits: "Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]"


def load_span_network(location: str, dtype: "torch.dtype") -> SpanNetwork:
    """Load a reader from a folder, compact or not (see `compact`), or by its hub name.

    A compact BERT is computed by `bert.Bert`, every other model by `transformers`.
    """
    from tokenizers import Tokenizer

    from .bert import Bert, is_bert, read_config

    folder = Path(location)
    if not (folder / COMPACT_FILE).is_file():
        return _from_transformers(location, dtype)
    config = read_config(folder)
    if not is_bert(config):
        raise PolyqaError(f"{folder} names a model that is no BERT, which compact weights are of.")
    weights = encoder_weights() | read_compact(folder / COMPACT_FILE)
    return SpanNetwork(
        Tokenizer.from_file(str(folder / "tokenizer.json")),
        config.pad_token_id,
        float(getattr(config, "null_threshold", 0.0)),
        _bert_logits(Bert(config, weights, prefix="bert.", dtype=dtype), weights, dtype),
    )


def _bert_logits(bert: Any, weights: dict[str, Any], dtype: "torch.dtype") -> Any:
    from torch.nn import functional

    head = [weights[f"qa_outputs.{kind}"].to(dtype) for kind in ("weight", "bias")]

    def logits(ids: "Tensor", mask: "Tensor", types: "Tensor") -> tuple["Tensor", "Tensor"]:
        states = bert(ids, mask, types).last_hidden_state
        starts, ends = functional.linear(states, *head).float().unbind(dim=-1)
        return starts, ends

    return logits


def _from_transformers(location: str, dtype: "torch.dtype") -> SpanNetwork:
    from tokenizers import Tokenizer
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    with without_progress_bars():
        tokenizer = AutoTokenizer.from_pretrained(location)
        model = AutoModelForQuestionAnswering.from_pretrained(location, dtype=dtype).eval()
    typed = "token_type_ids" in tokenizer.model_input_names

    def logits(ids: "Tensor", mask: "Tensor", types: "Tensor") -> tuple["Tensor", "Tensor"]:
        extra_inputs = {"token_type_ids": types.to(model.device)} if typed else {}
        output = model(input_ids=ids.to(model.device), attention_mask=mask.to(model.device), **extra_inputs)
        return output.start_logits.float().cpu(), output.end_logits.float().cpu()

    return SpanNetwork(
        Tokenizer.from_str(tokenizer.backend_tokenizer.to_str()),
        tokenizer.pad_token_id,
        float(getattr(model.config, "null_threshold", 0.0)),
        logits,
    )
