"""The writer: the question that a passage answers with a given answer, alone or in a user's words."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError

from .compact import COMPACT_FILE, encoder_weights, minilm_path, read_compact, writer_path
from .memory import Memory, SharedModel
from .running import by_padded_length, own_threads, padded_rows
from .writing import LONGEST_SOURCE, Source, Task, as_text, ends, read_tasks

EMBEDDED_WRITER = "polyqa-minilm-writer"
VOCABULARY_FILE = "vocabulary.json"
_BEAMS = 3
"""How many beginnings of a question are followed at once."""
_BATCH = 32  # tasks per forward pass
_LENGTH_STEP = 32
_MEMORY = 20_000
"""How many questions are kept."""


@dataclass(frozen=True, slots=True)
class Written:
    """A written question, and the mean log-probability of its tokens (at most 0)."""

    question: str
    score: float


class Writer(SharedModel):
    """Writes questions, in batches, always the same for the same task.

    Parameters
    ----------
    name
        ``polyqa-minilm-writer`` (the default, shipped), or a folder that `lab.training.train_writer` wrote
        (``shipped``).
    """

    def __init__(self, name: str = EMBEDDED_WRITER) -> None:
        self.name = name
        self._memory: Memory[Written] = Memory(_MEMORY)

    @cached_property
    def network(self) -> Any:
        """The network, see `writer_network.WriterNetwork`."""
        return load_writer(writer_path() if self.name == EMBEDDED_WRITER else Path(self.name))

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer of the sentence encoder."""
        return source_tokenizer()

    def write(self, tasks: Sequence[Task]) -> list[Written]:
        """Write a question for each task, in their order."""
        own_threads()
        return self._memory.get(tasks, self._write_fresh)

    def _write_fresh(self, tasks: Sequence[Task]) -> list[Written]:
        import torch

        from .writer_network import beam_search

        sources = read_tasks(tasks, self.tokenizer)
        start, end = ends(self.tokenizer)
        written = [Written("", 0.0)] * len(tasks)
        for batch, length in self._batches(sources):
            with torch.inference_mode():
                read = self.network.read(*padded([sources[index] for index in batch], length))
                best = beam_search(self.network, read, beams=_BEAMS, start=start, end=end)
            for index, (tokens, score) in zip(batch, best, strict=True):
                written[index] = Written(as_text(tokens, sources[index], self.tokenizer), score)
        return written

    def _batches(self, sources: Sequence[Source]) -> Any:
        lengths = [len(source.ids) for source in sources]
        return by_padded_length(lengths, _BATCH, step=_LENGTH_STEP, longest=LONGEST_SOURCE)


def source_tokenizer() -> Any:
    """Return the sentence encoder's tokenizer, which neither cuts nor pads."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(minilm_path() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def padded(sources: Sequence[Source], length: int) -> tuple[Any, Any, Any]:
    """Return ids, types and mask of sources, each of shape (sources, length)."""
    return (
        padded_rows([source.ids for source in sources], length),
        padded_rows([source.types for source in sources], length),
        padded_rows([(1,) * len(source.ids) for source in sources], length),
    )


def load_writer(folder: Path) -> Any:
    """Load a trained network, without `transformers`. `PolyqaError` if the folder holds none."""
    import torch

    from .bert import Bert, read_config
    from .writer_network import WriterNetwork

    vocabulary = read_vocabulary(folder)
    weights = read_compact(folder / COMPACT_FILE)  # what is not there is as the sentence encoder has it
    config = read_config(minilm_path())
    encoder = Bert(config, encoder_weights() | weights, prefix="bert.", dtype=torch.float32)
    decoder = {name: weight for name, weight in weights.items() if not name.startswith("bert.")}
    return load_parts(WriterNetwork(encoder, vocabulary), decoder, folder)


def read_vocabulary(folder: Path) -> Any:
    """Return the ids of the word pieces that a writer can write. `PolyqaError` if the folder holds no writer."""
    import torch

    if not (folder / COMPACT_FILE).is_file() or not (folder / VOCABULARY_FILE).is_file():
        raise PolyqaError(f"{folder} holds no writer. Give a folder that lab.training.train_writer wrote (shipped/).")
    return torch.tensor(json.loads((folder / VOCABULARY_FILE).read_text(encoding="utf-8")))


def load_parts(network: Any, weights: Mapping[str, Any], folder: Path) -> Any:
    """Load weights into all parts of a network but its encoder. `PolyqaError` if they do not fit."""
    missing, unknown = network.load_state_dict(weights, strict=False)
    lost = [name for name in missing if not name.startswith("encoder.") and name != "vocabulary"]
    if lost or unknown:
        raise PolyqaError(f"{folder} holds another network than the writer's ({', '.join([*lost, *unknown][:3])}).")
    return network.eval()
