"""Windows with start and end labels, in batches of like length."""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer

from polyqa.models.reader import Windows

from .squad import Example

_LENGTH_STEP = 32  # oneDNN compiles a kernel for every new shape: batches are padded to few lengths


class Feature(NamedTuple):
    """One window: token ids, token types, and the labels (0, 0 if the answer is not in it)."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    start: int
    end: int


def make_features(examples: Sequence[Example], tokenizer: Any, *, max_length: int, stride: int) -> list[Feature]:
    """Cut question and context into windows as the reader does, with the first answer's tokens as labels.

    Parameters
    ----------
    tokenizer
        A fast tokenizer of `transformers`.
    max_length, stride
        Tokens per window, and tokens that neighbours share.
    """
    fast = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    windows = Windows(fast, max_length=max_length, stride=stride)
    encoded = windows.encode([(example.question, example.context) for example in examples])
    return [
        Feature(tuple(window.ids), tuple(window.type_ids), *_labels(example, window))
        for example, own in zip(examples, encoded, strict=True)
        for window in own
    ]


def _labels(example: Example, window: Any) -> tuple[int, int]:
    """Return the first and the last token of the answer; 0, 0 unless the window holds all of it."""
    inside = [position for position, part in enumerate(window.sequence_ids) if part == 1]
    for begin, text in example.answers[:1]:
        end = begin + len(text)
        if inside and window.offsets[inside[0]][0] <= begin and end <= window.offsets[inside[-1]][1]:
            touched = [at for at in inside if window.offsets[at][0] < end and window.offsets[at][1] > begin]
            return (touched[0], touched[-1]) if touched else (0, 0)
    return 0, 0


def bucketed(lengths: Sequence[int], batch_size: int, chance: random.Random) -> list[list[int]]:
    """Return batches of positions: alike in length within a batch, in random order among batches.

    Within a step of 32 tokens the order is drawn, so that batches differ between epochs.
    """
    order = sorted(range(len(lengths)), key=lambda position: (stepped(lengths[position]), chance.random()))
    batches = [order[begin : begin + batch_size] for begin in range(0, len(order), batch_size)]
    chance.shuffle(batches)
    return batches


def stepped(length: int) -> int:
    """Return a length that is padded to."""
    return -(-length // _LENGTH_STEP) * _LENGTH_STEP


def collate(features: Sequence[Feature], tokenizer: Any) -> dict[str, torch.Tensor]:
    """Return the tensors that a question-answering model of `transformers` takes, labels included."""
    rows = {"input_ids": [[*one.ids] for one in features], "token_type_ids": [[*one.types] for one in features]}
    return {
        **tokenizer.pad(rows, pad_to_multiple_of=_LENGTH_STEP, return_tensors="pt"),
        "start_positions": torch.tensor([one.start for one in features]),
        "end_positions": torch.tensor([one.end for one in features]),
    }
