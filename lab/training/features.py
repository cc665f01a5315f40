"""Windows with start and end labels, in batches of like length."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from polyqa.models.reader import Windows

from .squad import Example

_LENGTH_STEP = 32  # oneDNN compiles a kernel for every new shape: batches are padded to few lengths


@dataclass(frozen=True, slots=True)
class Feature:
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
    pairs = [(example.question, example.context) for example in examples]
    windows = Windows(
        Tokenizer.from_str(tokenizer.backend_tokenizer.to_str()), max_length=max_length, stride=stride
    ).encode(pairs)
    features = []
    for example, own in zip(examples, windows, strict=True):
        for window in own:
            begin, end = _labels(example, window.offsets, window.sequence_ids)
            features.append(Feature(tuple(window.ids), tuple(window.type_ids), begin, end))
    return features


def _labels(example: Example, offsets: Sequence[tuple[int, int]], parts: Sequence[int | None]) -> tuple[int, int]:
    if not example.answers:
        return 0, 0
    begin, text = example.answers[0]
    end = begin + len(text)
    inside = [position for position, part in enumerate(parts) if part == 1]
    if not inside or offsets[inside[0]][0] > begin or offsets[inside[-1]][1] < end:
        return 0, 0
    touched = [position for position in inside if offsets[position][0] < end and offsets[position][1] > begin]
    return (touched[0], touched[-1]) if touched else (0, 0)


def bucketed(lengths: Sequence[int], batch_size: int, chance: random.Random) -> list[list[int]]:
    """Return batches of positions: alike in length within a batch, in random order among batches.

    Within a step of 32 tokens the order is drawn, so that batches differ between epochs.
    """
    order = sorted(range(len(lengths)), key=lambda position: (-(-lengths[position] // _LENGTH_STEP), chance.random()))
    batches = [order[begin : begin + batch_size] for begin in range(0, len(order), batch_size)]
    chance.shuffle(batches)
    return batches


def collate(features: Iterable[Feature], padding: int) -> dict[str, Any]:
    """Return the tensors that a question-answering model of `transformers` takes, labels included."""
    import torch

    rows = list(features)
    longest = -(-max(len(row.ids) for row in rows) // _LENGTH_STEP) * _LENGTH_STEP
    ids = torch.full((len(rows), longest), padding)
    types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    for number, row in enumerate(rows):
        size = len(row.ids)
        ids[number, :size] = torch.tensor(row.ids)
        types[number, :size] = torch.tensor(row.types)
        mask[number, :size] = 1
    return {
        "input_ids": ids,
        "token_type_ids": types,
        "attention_mask": mask,
        "start_positions": torch.tensor([row.start for row in rows]),
        "end_positions": torch.tensor([row.end for row in rows]),
    }
