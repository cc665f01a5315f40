"""The span reader with a null answer: embedded, or any Hugging Face question-answering model."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from polyqa.signatures.unicode import well_formed

from .batching import by_padded_length
from .compact import load_model, reader_path
from .excerpts import excerpts
from .forks import own_threads
from .heap import keep_freed_memory
from .loading import LOADING, Precision, resolve_precision, without_progress_bars
from .memory import Memory, SharedModel
from .spans import Reading, Window, read_windows

EMBEDDED_READER = "polyqa-minilm-reader"
_LENGTH_STEP = 32


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
    max_length, stride
        Tokens per window, and tokens that neighbouring windows share (official: 384 and 128).
    batch_size
        Windows per forward pass.
    memory
        How many readings to keep: verification and extraction ask about the same pairs.
    """

    def __init__(
        self,
        name: str = EMBEDDED_READER,
        *,
        precision: Precision = "float32",
        max_length: int = 384,
        stride: int = 128,
        batch_size: int = 16,
        memory: int = 50_000,
    ) -> None:
        self.name = reader_name(name)
        self.precision = precision
        self.max_length = max_length
        self.stride = stride
        self.batch_size = batch_size
        self._memory: Memory[Reading] = Memory(memory)

    @cached_property
    def parts(self) -> tuple[Any, Any]:
        """The tokenizer and the model, as `transformers` loads them."""
        with LOADING:
            import torch
            from transformers import AutoModelForQuestionAnswering, AutoTokenizer

            keep_freed_memory()
            path = str(reader_path()) if self.name == EMBEDDED_READER else self.name
            dtype = getattr(torch, resolve_precision(self.precision))
            with without_progress_bars():
                tokenizer = AutoTokenizer.from_pretrained(path)
            return tokenizer, load_model(AutoModelForQuestionAnswering, path, dtype=dtype).eval()

    @property
    def null_threshold(self) -> float:
        """The null threshold of the model's configuration, which training chose on held-out articles; else 0."""
        return float(getattr(self.parts[1].config, "null_threshold", 0.0))

    def read(self, pairs: Sequence[tuple[str, str]], *, keep: int = 1) -> list[Reading]:
        """Read every (question, context) pair.

        Parameters
        ----------
        pairs
            Questions with the context each is asked of; contexts longer than a window are read in
            overlapping windows, and of very long ones only what `excerpts.excerpts` returns.
        keep
            How many non-overlapping spans to return per pair.

        Returns
        -------
        list of Reading
            In the order of ``pairs``. An empty context, or an empty question, has no span and a
            null score of 0.
        """
        own_threads()
        pairs = [(well_formed(question), well_formed(context)) for question, context in pairs]
        keys = [_key(question, context, keep) for question, context in pairs]
        return self._memory.get(keys, pairs, lambda missing: self._read_fresh(missing, keep), kind=keep)

    def count_tokens(self, text: str) -> int:
        """Return the number of word pieces of a text, special tokens not counted."""
        return len(self._tokenizer.encode(well_formed(text), add_special_tokens=False).ids)

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(self.parts[0].backend_tokenizer.to_str())
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _read_fresh(self, pairs: Sequence[tuple[str, str]], keep: int) -> list[Reading]:
        readable = [index for index, (question, context) in enumerate(pairs) if question.strip() and context.strip()]
        results = [Reading((), 0.0) for _ in pairs]
        if not readable:
            return results
        parts = [(index, *part) for index in readable for part in excerpts(*pairs[index])]
        read = self._windows([(pairs[index][0], text) for index, _, text in parts])
        windows: dict[int, list[Window]] = {index: [] for index in readable}
        for (index, start, _), own in zip(parts, read, strict=True):
            windows[index] += [window.moved(start) for window in own]
        for index, own in windows.items():
            results[index] = read_windows(pairs[index][1], own, keep=keep)
        return results

    def _windows(self, pairs: Sequence[tuple[str, str]]) -> list[list[Window]]:
        import torch

        tokenizer, model = self.parts
        encoded = encode_windows(tokenizer, pairs, max_length=self.max_length, stride=self.stride)
        owners = encoded["overflow_to_sample_mapping"]
        ids = encoded["input_ids"]
        windows: list[list[tuple[int, Window]]] = [[] for _ in pairs]
        lengths = [len(own) for own in ids]
        for batch, length in by_padded_length(lengths, self.batch_size, step=_LENGTH_STEP, longest=self.max_length):
            padded = tokenizer.pad(
                {
                    name: [encoded[name][index] for index in batch]
                    for name in ("input_ids", "attention_mask", "token_type_ids")
                    if name in encoded
                },
                padding="max_length",
                max_length=length,
                return_tensors="pt",
            )
            with torch.inference_mode():
                output = model(**padded.to(model.device))
            starts = output.start_logits.float().cpu().numpy()
            ends = output.end_logits.float().cpu().numpy()
            for row, index in enumerate(batch):
                real = lengths[index]
                sequence = encoded.sequence_ids(index)
                offsets = [
                    (int(start), int(end)) if part == 1 else None
                    for (start, end), part in zip(encoded["offset_mapping"][index], sequence, strict=True)
                ]
                window = Window(np.array(starts[row, :real]), np.array(ends[row, :real]), offsets)
                windows[owners[index]].append((index, window))
        return [[window for _, window in sorted(own, key=lambda item: item[0])] for own in windows]


def encode_windows(tokenizer: Any, pairs: Sequence[tuple[str, str]], *, max_length: int, stride: int) -> Any:
    """Return the tokens of (question, context) pairs, cut into overlapping windows as the official scripts do.

    Parameters
    ----------
    tokenizer
        A fast tokenizer of `transformers`.
    max_length, stride
        Tokens per window, and tokens that neighbouring windows share. A question that would leave no room for the
        context is cut; the tokenizer panics on it.
    """
    most = max(16, max_length - 2 * stride)
    return tokenizer(
        [_cut(question.strip(), tokenizer, most) for question, _ in pairs],
        [context for _, context in pairs],
        truncation="only_second",
        max_length=max_length,
        stride=stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )


def _cut(question: str, tokenizer: Any, most: int) -> str:
    if len(question) <= most:  # a token has at least one character
        return question
    encoded = tokenizer(question, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    offsets = encoded["offset_mapping"]
    return question[: offsets[most - 1][1]] if len(offsets) > most else question


def _key(question: str, context: str, keep: int) -> bytes:
    parts = f"{keep} {len(question)} {question}{context}"
    return hashlib.blake2b(parts.encode(errors="surrogatepass"), digest_size=16).digest()
