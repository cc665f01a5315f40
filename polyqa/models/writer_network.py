"""The writer's network: MiniLM reads, three decoder layers write, and words may be copied from what was read.

Encoder and decoder start from all-MiniLM-L6-v2 (Rothe et al. 2020, "Leveraging Pre-trained Checkpoints for Sequence
Generation Tasks"); the gate between writing a word and copying it is that of See et al. 2017 ("Get To The Point",
equations 8 and 9).
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from .writing import LONGEST_WRITTEN

DECODER_LAYERS = (1, 3, 5)
"""Which of the encoder's layers the decoder's start from."""


class Attention(nn.Module):
    """Attention of several heads, from states to other states."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(size, size) for _ in range(4))

    def split(self, states: Tensor) -> Tensor:
        """Return states by head, shape (batch, heads, length, size / heads)."""
        batch, length, _ = states.shape
        return states.view(batch, length, self.heads, -1).transpose(1, 2)

    def forward(self, states: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
        """Attend to keys and values that are split by head."""
        attended = functional.scaled_dot_product_attention(
            self.split(self.query(states)), key, value, attn_mask=mask, is_causal=causal
        )
        return self.out(attended.transpose(1, 2).flatten(2))


class DecoderLayer(nn.Module):
    """A decoder layer of the post-norm kind, as BERT's layers are."""

    def __init__(self, size: int, heads: int, inner: int) -> None:
        super().__init__()
        self.own, self.cross = Attention(size, heads), Attention(size, heads)
        self.up, self.down = nn.Linear(size, inner), nn.Linear(inner, size)
        self.after_own, self.after_cross, self.after_inner = (nn.LayerNorm(size, eps=1e-12) for _ in range(3))

    def forward(
        self, states: Tensor, read: tuple[Tensor, Tensor], mask: Tensor, past: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the new states, and the keys and values of all positions so far."""
        key, value = self.own.split(self.own.key(states)), self.own.split(self.own.value(states))
        if past is not None:
            key, value = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)
        attended = self.own(states, key, value, None, causal=past is None and states.shape[1] > 1)
        states = self.after_own(states + attended)
        states = self.after_cross(states + self.cross(states, *read, mask, causal=False))
        inner = self.down(functional.gelu(self.up(states)))
        return self.after_inner(states + inner), (key, value)

    def read(self, encoded: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values of what was read."""
        return self.cross.split(self.cross.key(encoded)), self.cross.split(self.cross.value(encoded))


class WriterNetwork(nn.Module):
    """Gives, for every position of a question, the probability of every word piece.

    Parameters
    ----------
    encoder
        A `transformers.BertModel`, to be trained, or a `bert.Bert`; its word embeddings are the decoder's, too.
    vocabulary
        Ids of the word pieces that can be written; all others can only be copied. Shape (words,).
    """

    def __init__(self, encoder: Any, vocabulary: Tensor) -> None:
        super().__init__()
        config = encoder.config
        size = config.hidden_size
        self.encoder = encoder
        self.register_buffer("vocabulary", vocabulary)
        self.positions = nn.Embedding(LONGEST_WRITTEN, size)
        self.enter = nn.LayerNorm(size, eps=1e-12)
        self.layers = nn.ModuleList(
            DecoderLayer(size, config.num_attention_heads, config.intermediate_size) for _ in DECODER_LAYERS
        )
        self.leave = nn.Linear(size, size)
        self.leave_norm = nn.LayerNorm(size, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(len(vocabulary)))
        self.copy_query, self.copy_key = nn.Linear(size, size), nn.Linear(size, size)
        self.gate = nn.Linear(2 * size, 1)

    @property
    def words(self) -> Any:
        """The word embeddings."""
        return self.encoder.embeddings.word_embeddings

    def read(self, ids: Tensor, types: Tensor, mask: Tensor) -> "Read":
        """Encode sources; all shapes (batch, length)."""
        states = self.encoder(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
        return Read(ids, mask.bool(), states, [layer.read(states) for layer in self.layers], self.copy_key(states))

    def decode(
        self, tokens: Tensor, read: "Read", past: list[tuple[Tensor, Tensor]] | None = None
    ) -> tuple["Words", list[tuple[Tensor, Tensor]]]:
        """Return what follows each of some tokens, shape (batch, length), and the state to go on from."""
        first = past[0][0].shape[2] if past else 0
        places = torch.arange(first, first + tokens.shape[1], device=tokens.device)
        states = self.enter(self.words(tokens) + self.positions(places))
        mask = read.mask[:, None, None, :]
        after = []
        for number, layer in enumerate(self.layers):
            states, keys_and_values = layer(states, read.by_layer[number], mask, past[number] if past else None)
            after.append(keys_and_values)
        scores = self.copy_query(states) @ read.copy_keys.transpose(1, 2) / states.shape[-1] ** 0.5
        copied = torch.softmax(scores.masked_fill(~read.mask[:, None, :], -1e4), dim=-1)
        gate = torch.sigmoid(self.gate(torch.cat([states, copied @ read.states], dim=-1)))
        leaving = self.leave_norm(functional.gelu(self.leave(states)))
        written = torch.softmax(leaving @ self.words(self.vocabulary).T + self.bias, dim=-1)
        return Words(written * (1 - gate), copied * gate), after

    def places(self) -> Tensor:
        """Return for every word piece its place among those that can be written, -1 if it can only be copied."""
        place = torch.full((int(self.words.num_embeddings),), -1, device=self.vocabulary.device)
        place[self.vocabulary] = torch.arange(len(self.vocabulary), device=self.vocabulary.device)
        return place


class Read(NamedTuple):
    """Sources as the decoder sees them."""

    ids: Tensor
    mask: Tensor
    states: Tensor
    by_layer: list[tuple[Tensor, Tensor]]
    copy_keys: Tensor

    def chosen(self, rows: Tensor) -> "Read":
        """Return the sources at some rows; a row may be there several times."""
        layers = [(key[rows], value[rows]) for key, value in self.by_layer]
        return Read(self.ids[rows], self.mask[rows], self.states[rows], layers, self.copy_keys[rows])


class Words(NamedTuple):
    """Probabilities of what comes next: of written words, and of copying each place of the source; they add up to 1."""

    written: Tensor
    copied: Tensor


class Slots:
    """All that can come next, with its probability: the words that can be written, then the places of the source.

    What can be written counts as written where it is copied, too; a word piece that can only be copied counts at the
    first place that it stands at. These are a quarter as many as there are word pieces.

    Attributes
    ----------
    names
        The word piece of every slot, shape (batch, written words + length).
    """

    def __init__(self, network: WriterNetwork, ids: Tensor) -> None:
        words = network.vocabulary
        first = (ids.unsqueeze(2) == ids.unsqueeze(1)).int().argmax(dim=2) + len(words)
        at = network.places()[ids]
        self._at = torch.where(at >= 0, at, first)
        self.names = torch.cat([words.expand(len(ids), -1), ids], dim=1)

    def spread(self, words: Words) -> Tensor:
        """Return the probability of every slot at the last position, shape (batch, slots)."""
        empty = words.written.new_zeros(self._at.shape)
        return torch.cat([words.written[:, -1], empty], dim=1).scatter_add_(1, self._at, words.copied[:, -1])


def beam_search(
    network: WriterNetwork, read: Read, *, beams: int, start: int, end: int
) -> list[tuple[list[int], float]]:
    """Return for every source the likeliest question, without start and end, and its mean log-probability per token.

    Parameters
    ----------
    beams
        How many beginnings are followed at once.
    start, end
        Ids of the tokens that stand before and after every question.
    """
    count = read.ids.shape[0]
    device = read.ids.device
    wide = read.chosen(torch.arange(count, device=device).repeat_interleave(beams))
    slots = Slots(network, wide.ids)
    tokens = torch.full((count * beams, 1), start, device=device)
    scores = torch.full((count, beams), -torch.inf, device=device)
    scores[:, 0] = 0.0
    finished: list[tuple[list[int], float] | None] = [None] * count
    past: list[tuple[Tensor, Tensor]] | None = None
    for length in range(1, LONGEST_WRITTEN):
        words, past = network.decode(tokens[:, -1:], wide, past)
        step = torch.log(slots.spread(words) + 1e-9)
        step = _without_repeats(step, tokens, slots.names)
        total = scores.view(-1, 1) + step
        best, flat = total.view(count, -1).topk(2 * beams, dim=1)
        came = flat // step.shape[1]
        chosen = slots.names.view(count, -1).gather(1, flat)
        ends = chosen == end
        for row in range(count):
            for place in torch.nonzero(ends[row, :beams]).flatten().tolist():
                value = float(best[row, place]) / length
                earlier = finished[row]
                if earlier is None or value > earlier[1]:
                    finished[row] = (tokens[row * beams + int(came[row, place]), 1:].tolist(), value)
        order = torch.argsort(ends.long(), dim=1, stable=True)[:, :beams]
        scores = best.masked_fill(ends, -torch.inf).gather(1, order)
        came, chosen = came.gather(1, order), chosen.gather(1, order)
        rows = (torch.arange(count, device=device).unsqueeze(1) * beams + came).flatten()
        tokens = torch.cat([tokens[rows], chosen.view(-1, 1)], dim=1)
        past = [(key[rows], value[rows]) for key, value in past]
        if all(beam is not None and float(scores[row].max()) / length < beam[1] for row, beam in enumerate(finished)):
            break
    cut = [(tokens[row * beams, 1:].tolist(), float(scores[row, 0]) / length) for row in range(count)]
    return [beam or cut[row] for row, beam in enumerate(finished)]


def _without_repeats(step: Tensor, tokens: Tensor, names: Tensor) -> Tensor:
    """Bar a word piece that would make a run of three that is there already: small writers fall into loops."""
    if tokens.shape[1] < 4:
        return step
    last = tokens[:, -2:]
    for place in range(1, tokens.shape[1] - 2):
        rows = torch.nonzero((tokens[:, place : place + 2] == last).all(dim=1)).flatten()
        if len(rows):
            barred = names[rows] == tokens[rows, place + 2].unsqueeze(1)
            step[rows] = step[rows].masked_fill(barred, -1e9)
    return step
