"""The span reader with a null answer: embedded, or any Hugging Face question-answering model."""

import hashlib
import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from polyqa.base.text import well_formed

from .batching import by_padded_length
from .compact import reader_path
from .excerpts import excerpts
from .forks import own_threads
from .heap import keep_freed_memory
from .loading import LOADING, Precision, resolve_precision
from .memory import Memory, SharedModel
from .spans import Reading, Window, read_windows

if TYPE_CHECKING:
    from .span_network import SpanNetwork
    from .windows import Windows

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
    def network(self) -> "SpanNetwork":
        """What reads, see `span_network`."""
        with LOADING:
            import torch

            from .span_network import load_span_network

            keep_freed_memory()
            location = str(reader_path()) if self.name == EMBEDDED_READER else self.name
            return load_span_network(location, getattr(torch, resolve_precision(self.precision)))

    @cached_property
    def _windowed(self) -> "Windows":
        from .windows import Windows

        return Windows(self.network.tokenizer, max_length=self.max_length, stride=self.stride)

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
        return self._windowed.count(well_formed(text))

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

        cut = self._windowed.encode(pairs)
        every = [window for own in cut for window in own]
        lengths = [len(window.ids) for window in every]
        read: dict[int, Window] = {}
        for batch, length in by_padded_length(lengths, self.batch_size, step=_LENGTH_STEP, longest=self.max_length):
            ids = torch.full((len(batch), length), self.network.padding)
            mask, types = torch.zeros_like(ids), torch.zeros_like(ids)
            for row, index in enumerate(batch):
                ids[row, : lengths[index]] = torch.tensor(every[index].ids)
                types[row, : lengths[index]] = torch.tensor(every[index].type_ids)
                mask[row, : lengths[index]] = 1
            with torch.inference_mode():
                starts, ends = (logits.numpy() for logits in self.network.logits(ids, mask, types))
            for row, index in enumerate(batch):
                offsets = [
                    offset if part == 1 else None
                    for offset, part in zip(every[index].offsets, every[index].sequence_ids, strict=True)
                ]
                real = slice(lengths[index])
                read[index] = Window(starts[row, real].copy(), ends[row, real].copy(), offsets)
        order = itertools.count()
        return [[read[next(order)] for _ in own] for own in cut]


def _key(question: str, context: str, keep: int) -> bytes:
    parts = f"{keep} {len(question)} {question}{context}"
    return hashlib.blake2b(parts.encode(errors="surrogatepass"), digest_size=16).digest()
