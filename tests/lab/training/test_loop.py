import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer, BertConfig

from lab.training.commands import model_card
from lab.training.loop import LOG, Schedule, train
from lab.training.negatives import NegativeMiner
from lab.training.scoring import best_threshold, score
from lab.training.squad import Example, write_squad
from lab.training.train_reader import Data, Setup, epoch_examples, run
from polyqa.base.errors import PolyqaError
from polyqa.models import Reader
from polyqa.models.compact import minilm_path
from polyqa.models.spans import Reading, Span

COLOURS = ("red", "green", "blue", "yellow", "black", "white")
THINGS = ("kettle", "boat", "door", "lamp", "chair", "wagon")


def small_examples() -> list[Example]:
    examples = []
    for number, thing in enumerate(THINGS):
        context = f"The {thing} is {COLOURS[number]}. It stands in the old shed near the harbour of the town."
        start = context.index(COLOURS[number])
        examples.append(
            Example(
                f"q{number}", f"What colour is the {thing}?", context, ((start, COLOURS[number]),), f"a{number // 2}"
            )
        )
        if number % 2:
            examples.append(Example(f"n{number}", f"Who sold the {thing}?", context, (), f"a{number // 2}"))
    return examples


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A random model of two layers with the embedded encoder's tokenizer."""
    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = AutoTokenizer.from_pretrained(minilm_path())
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
    )
    AutoModelForQuestionAnswering.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


class Killed(Exception):
    pass


def tiny_model() -> Any:
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))


def train_tiny(folder: Path, *, die_at: int | None = None, identity: str = "x") -> tuple[Any, list[int]]:
    model, seen = tiny_model(), []

    def batches(chance: random.Random) -> list[int]:
        return chance.sample(range(10), 10)

    def loss(batch: int) -> Any:
        seen.append(batch)
        if len(seen) == die_at:
            raise Killed
        inputs = torch.randn(6, 4, generator=torch.Generator().manual_seed(batch))
        return (model(inputs) - inputs.sum(dim=1, keepdim=True)).square().mean()

    schedule = Schedule(epochs=2, rate=0.01, bfloat16=False)
    train(model, batches, loss, schedule, folder, identity=identity)
    return model, seen


@pytest.mark.parametrize("die_at", [6, 16])
def test_a_run_that_is_killed_ends_where_an_undisturbed_one_does(tmp_path: Path, die_at: int) -> None:
    undisturbed, _ = train_tiny(tmp_path / "whole")
    with pytest.raises(Killed):
        train_tiny(tmp_path / "killed", die_at=die_at)
    resumed, seen = train_tiny(tmp_path / "killed")
    assert len(seen) == (20 if die_at < 10 else 10)  # from the last whole epoch
    for one, other in zip(undisturbed.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, other)
    logs = [(tmp_path / name / LOG).read_text().splitlines() for name in ("whole", "killed")]
    whole, killed = ([{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in log] for log in logs)
    assert whole == killed
    assert [line["epoch"] for line in whole] == [0] * 10 + [1] * 10
    assert len(list((tmp_path / "killed").iterdir())) == 2  # nothing half-written is left


def test_the_state_of_another_run_is_refused(tmp_path: Path) -> None:
    train_tiny(tmp_path)
    with pytest.raises(PolyqaError, match=r"other data or settings.*--out"):
        train_tiny(tmp_path, identity="y")


def test_an_epoch_shows_negatives_and_repeats_what_people_wrote() -> None:
    examples = small_examples()
    miner = NegativeMiner(examples)
    shown = epoch_examples(examples, miner, random.Random(0), Setup(negatives=1.0, null_copies=3, titles=0.0))
    assert [e for e in shown if e.answers] == [e for e in examples if e.answers]
    written = [e for e in examples if not e.answers]
    assert [sum(e == one for e in shown) for one in written] == [3] * len(written)
    assert len(shown) > len(examples) + 2 * len(written)
    plain = epoch_examples(examples, miner, random.Random(0), Setup(negatives=0.0, null_copies=1, titles=0.0))
    assert plain == examples


def reading(text: str, margin: float) -> Reading:
    return Reading((Span(text, 0, len(text), margin),), 0.0)


def test_scores_and_the_threshold() -> None:
    examples = small_examples()[:3]
    examples = [examples[0], examples[1], examples[2]]  # red, green, without an answer
    readings = [reading("red", 3.0), reading("the green", -1.0), reading("harbour", -2.0)]
    at_zero = score(examples, readings, 0.0)
    assert (at_zero["questions"], at_zero["without_answer"]) == (3, 1)
    assert at_zero["answerable_f1"] == at_zero["answerable_em"] == 100
    assert (at_zero["kept_f1"], at_zero["null_accuracy"]) == (50, 100)
    best = best_threshold(examples, readings)
    assert 1 < best < 2
    assert score(examples, readings, best)["overall_f1"] == 100
    assert best_threshold(examples[:2], readings[:2]) == 0.0
    half = score(examples[:1], [reading("old red kettle", 3.0)], 0.0)
    assert (half["answerable_em"], half["answerable_f1"]) == (0, pytest.approx(50))
    assert "null_accuracy" not in half


@pytest.mark.slow
def test_a_reader_is_trained_written_and_read(tiny: str, tmp_path: Path) -> None:
    write_squad(small_examples(), tmp_path / "train.json")
    schedule = Schedule(epochs=2, rate=1e-3, bfloat16=False)
    out = tmp_path / "out"
    data = Data([tmp_path / "train.json"], [tmp_path / "train.json"], calibration=0.3)
    setup = Setup(init=tiny, batch_size=4, max_length=64, stride=16)
    report = run(data, setup, schedule, out)
    assert report == json.loads((out / "report.json").read_text())
    assert report["calibration"]["questions"] == 3
    assert report["evaluation"]["questions"] == 9
    assert report["evaluation"]["threshold"] == report["null_threshold"]
    assert report["evaluation"]["seconds_per_1000_pairs"] > 0
    assert report["evaluation_float16"].keys() == report["evaluation"].keys()
    uncalibrated = run(replace(data, calibration=0), setup, schedule, tmp_path / "other")
    assert "calibration" not in uncalibrated
    assert uncalibrated["null_threshold"] == 0
    for folder in ("model", "shipped"):
        made = Reader(str(out / folder))
        assert made.read([("What colour is the boat?", "The boat is green.")])[0].spans
        assert made.null_threshold == report["null_threshold"]
    assert not list((out / "shipped").glob("model*"))
    weights = torch.nn.Module.state_dict(AutoModelForQuestionAnswering.from_pretrained(out / "model", dtype="auto"))
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    before = (out / "model" / "model.safetensors").read_bytes()
    run(replace(data, evaluate=[]), setup, schedule, out)  # the same training again
    assert (out / "model" / "model.safetensors").read_bytes() == before
    write_squad([e for e in small_examples() if not e.answers], tmp_path / "none.json")
    with pytest.raises(PolyqaError, match="No training question has an answer"):
        run(Data([tmp_path / "none.json"]), setup, schedule, tmp_path / "none")


def test_the_card_names_figures_and_command_and_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["/somewhere/secret/lab/training/train_reader.py", "--train", "/somewhere/secret/train.json"]
    monkeypatch.setattr("sys.argv", words)
    card = model_card("Reader", {"null_threshold": 0.5, "evaluation": {"questions": 3}})
    assert '"null_threshold": 0.5' in card
    assert "python -m lab.training.train_reader --train train.json" in card
    assert "secret" not in card
