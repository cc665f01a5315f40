import itertools
import math
from pathlib import Path

import pytest
import torch

from lab.training.train_writer import likelihood
from lab.training.weights import load_network, new_network, save_writer
from polyqa.base.errors import PolyqaError
from polyqa.models.writer import Writer, padded, source_tokenizer
from polyqa.models.writer_network import Slots, beam_search
from polyqa.models.writing import LONGEST_WRITTEN, Task, ends, read_tasks

TEXT = "The SS Marrow was launched on 4 May 1911 by Orla Venn, and it sank in 1923 off Tarnville."
TASKS = [
    Task(TEXT, TEXT.index(answer), TEXT.index(answer) + len(answer), "Marrow (ship)", question)
    for answer, question in (("4 May 1911", "When did Marrow come out?"), ("1923", ""), ("Orla Venn", ""))
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    words = source_tokenizer().encode("when was launched sank who what did ? the", add_special_tokens=True).ids
    network = new_network(torch.tensor(sorted(set(words))))
    folder = tmp_path_factory.mktemp("writer")
    save_writer(network, folder)
    return folder


@pytest.fixture(scope="module")
def writer(folder: Path) -> Writer:
    return Writer(str(folder))


def test_probabilities_of_what_comes_next_add_up_to_one(writer: Writer) -> None:
    sources = read_tasks(TASKS, writer.tokenizer)
    with torch.inference_mode():
        read = writer.network.read(*padded(sources, max(len(source.ids) for source in sources)))
        words, _ = writer.network.decode(torch.full((len(TASKS), 1), 101), read)
        slots = Slots(writer.network, read.ids)
        every = slots.spread(words)
    assert every.sum(dim=1).tolist() == pytest.approx([1.0] * len(TASKS), abs=1e-4)
    assert float(every.min()) >= 0
    for names, chances in zip(slots.names.tolist(), every.tolist(), strict=True):
        possible = [name for name, chance in zip(names, chances, strict=True) if chance > 0]
        assert len(possible) == len(set(possible)), "a word piece has one slot"


def test_likelihood_is_what_decoding_step_by_step_says(writer: Writer) -> None:
    (tokens,) = (writer.tokenizer.encode("when was the marrow launched ?", add_special_tokens=True).ids,)
    (source,) = read_tasks(TASKS[:1], writer.tokenizer)
    total = 0.0
    with torch.inference_mode():
        read = writer.network.read(*padded([source], len(source.ids)))
        slots = Slots(writer.network, read.ids)
        past = None
        for now, following in itertools.pairwise(tokens):
            words, past = writer.network.decode(torch.tensor([[now]]), read, past)
            total += math.log(float(slots.spread(words)[slots.names == following].sum()) + 1e-7)
        values = likelihood(writer.network, torch.tensor([tokens]), read)
    assert float(values.mean()) == pytest.approx(total / (len(tokens) - 1), abs=1e-3)


def test_a_question_does_not_depend_on_its_batch(folder: Path) -> None:
    together = Writer(str(folder)).write(TASKS)
    single = [Writer(str(folder)).write([task])[0] for task in TASKS]
    assert [one.question for one in together] == [one.question for one in single]
    assert [one.score for one in together] == pytest.approx([one.score for one in single], abs=1e-3)
    assert all(one.question.endswith("?") and one.score <= 0 for one in together)


@pytest.mark.parametrize("beams", [1, 3])
def test_a_question_found_by_beams_is_as_likely_as_it_says(writer: Writer, beams: int) -> None:
    start, end = ends(writer.tokenizer)
    for source in read_tasks(TASKS, writer.tokenizer):
        with torch.inference_mode():
            read = writer.network.read(*padded([source], len(source.ids)))
            ((tokens, score),) = beam_search(writer.network, read, beams=beams, start=start, end=end)
            whole = [start, *tokens, *([end] if len(tokens) < LONGEST_WRITTEN - 1 else [])]
            values = likelihood(writer.network, torch.tensor([whole]), read)
        assert score == pytest.approx(float(values.mean()), abs=1e-3)


def test_a_network_comes_back_as_it_was_but_for_rounding(folder: Path, tmp_path: Path) -> None:
    first = load_network(folder)
    save_writer(first, tmp_path)
    again = load_network(tmp_path).state_dict()
    for name, weight in first.state_dict().items():
        assert torch.allclose(weight.float(), again[name].float(), atol=2e-2), name
    assert (tmp_path / "weights.int8.safetensors").stat().st_size < 12e6


def test_a_folder_without_a_writer_is_told(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match="holds no writer"):
        Writer(str(tmp_path)).write(TASKS)
