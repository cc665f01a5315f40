import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer, BertConfig

from lab.training.backbone import freeze, load_for_training
from lab.training.card import colbert_card, draw_curve, reader_card
from lab.training.features import bucketed, collate, make_features
from lab.training.loop import LOG, STATE, Schedule, train
from lab.training.negatives import NegativeMiner
from lab.training.scoring import best_threshold, crossed_score, score
from lab.training.squad import Example, read_squad, write_squad
from lab.training.train_reader import Data, Setup, epoch_examples, read_with, run, titled
from polyqa.base.errors import PolyqaError
from polyqa.models import Reader
from polyqa.models.minilm import minilm_path
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

    def batches(epoch: int) -> list[int]:
        return random.Random(epoch).sample(range(10), 10)

    def loss(batch: int) -> Any:
        seen.append(batch)
        if len(seen) == die_at:
            raise Killed
        inputs = torch.randn(6, 4, generator=torch.Generator().manual_seed(batch))
        return (model(inputs) - inputs.sum(dim=1, keepdim=True)).square().mean()

    schedule = Schedule(epochs=2, peak=0.01, bfloat16=False)
    train(model, batches, loss, schedule, folder, identity=identity, save_every=4, log_every=2)
    return model, seen


@pytest.mark.parametrize("die_at", [1, 6, 11, 16, 20])
def test_a_run_that_is_killed_ends_where_an_undisturbed_one_does(tmp_path: Path, die_at: int) -> None:
    undisturbed, _ = train_tiny(tmp_path / "whole")
    with pytest.raises(Killed):
        train_tiny(tmp_path / "killed", die_at=die_at)
    resumed, seen = train_tiny(tmp_path / "killed")
    assert len(seen) == 20 - 4 * ((die_at - 1) // 4) if die_at < 10 else len(seen) < 12
    for one, other in zip(undisturbed.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, other)
    logs = [(tmp_path / name / LOG).read_text().splitlines() for name in ("whole", "killed")]
    whole, killed = ([{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in log] for log in logs)
    assert whole == killed
    assert [line["seen"] for line in whole] == list(range(2, 21, 2))
    assert len(list((tmp_path / "killed").iterdir())) == 2  # nothing half-written is left


def test_a_finished_run_is_not_done_again(tmp_path: Path) -> None:
    first, _ = train_tiny(tmp_path)
    again, seen = train_tiny(tmp_path)
    assert seen == []
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))


def test_the_state_of_another_run_is_refused(tmp_path: Path) -> None:
    train_tiny(tmp_path)
    with pytest.raises(PolyqaError, match=r"other data or settings.*--out"):
        train_tiny(tmp_path, identity="y")


def test_the_rate_rises_then_falls_to_nothing() -> None:
    schedule = Schedule(peak=1.0, warmup=0.1)
    assert [schedule.rate(p) for p in (0, 0.05, 0.1, 0.55, 1)] == pytest.approx([0, 0.5, 1, 0.5, 0])


def test_features_mark_the_answer() -> None:
    tokenizer = AutoTokenizer.from_pretrained(minilm_path())
    context = (
        "Long ago, well before the flood, the mayor Orla Venn bought a kettle. " * 8 + "She sold it in 1987 to Anna."
    )
    answers = ((context.index("1987"), "1987"),)
    found = make_features(
        [Example("q", "When was it sold?", context, answers, "a"), Example("n", "Why?", context, (), "a")],
        tokenizer,
        max_length=64,
        stride=16,
    )
    marked = [feature for feature in found if feature.start]
    assert len(found) > 6
    assert 1 <= len(marked) <= 2
    for feature in marked:
        assert tokenizer.decode(feature.ids[feature.start : feature.end + 1]) == "1987"
    assert all(feature.end == 0 for feature in found if not feature.start)
    batch = collate(found, tokenizer.pad_token_id)
    assert batch["input_ids"].shape == (len(found), 64)
    assert batch["attention_mask"].sum() == sum(len(feature.ids) for feature in found)


def test_a_question_longer_than_a_window_is_cut() -> None:
    tokenizer = AutoTokenizer.from_pretrained(minilm_path())
    found = make_features([Example("q", "why " * 500, "It is so.", (), "a")], tokenizer, max_length=64, stride=16)
    assert [len(feature.ids) <= 64 for feature in found] == [True]


def test_batches_hold_every_position_once_and_like_lengths() -> None:
    lengths = [random.Random(n).randrange(10, 250) for n in range(100)]
    batches = bucketed(lengths, 8, random.Random(0))
    assert sorted(position for batch in batches for position in batch) == list(range(100))
    spread = [max(lengths[p] for p in batch) - min(lengths[p] for p in batch) for batch in batches]
    assert sum(spread) / len(spread) < 60
    assert batches != bucketed(lengths, 8, random.Random(1))


def test_the_title_goes_before_the_context() -> None:
    one = Example("q", "What?", "It is red.", ((6, "red"),), "a", "Old_kettle")
    found = titled(one)
    assert found.context == "Old kettle | It is red."
    assert [found.context[s : s + len(t)] for s, t in found.answers] == ["red"]


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


def test_shared_dropout_drops_features_only_while_training(tiny: str) -> None:
    model = load_for_training(AutoModelForQuestionAnswering, tiny, dropout=0.5)
    inputs = {"input_ids": torch.arange(1000, 1012)[None]}
    model.train()
    with torch.no_grad():
        one, other = model(**inputs).start_logits, model(**inputs).start_logits
        assert not torch.equal(one, other)
        model.eval()
        assert torch.equal(model(**inputs).start_logits, model(**inputs).start_logits)


def test_frozen_layers_stay(tiny: str) -> None:
    model = load_for_training(AutoModelForQuestionAnswering, tiny, dropout=0.0)
    freeze(model, 1)
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert any("layer.1." in name for name in trained)
    assert not any("layer.0." in name or "embeddings" in name for name in trained)
    with pytest.raises(PolyqaError, match="2 layers, not 3"):
        freeze(model, 3)


def reading(text: str, margin: float) -> Reading:
    return Reading((Span(text, 0, len(text), margin),), 0.0)


def test_scores_and_the_threshold() -> None:
    examples = small_examples()[:3]
    examples = [examples[0], examples[1], examples[2]]  # red, green, without an answer
    readings = [reading("red", 3.0), reading("the green", -1.0), reading("harbour", -2.0)]
    at_zero = score(examples, readings, 0.0)
    assert (at_zero.questions, at_zero.without_answer) == (3, 1)
    assert at_zero.answerable_f1 == at_zero.answerable_em == 100
    assert (at_zero.kept_f1, at_zero.null_accuracy) == (50, 100)
    best = best_threshold(examples, readings)
    assert 1 < best < 2
    assert score(examples, readings, best).overall_f1 == 100
    assert best_threshold(examples[:2], readings[:2]) == 0.0
    half = score(examples[:1], [reading("old red kettle", 3.0)], 0.0)
    assert (half.answerable_em, half.answerable_f1) == (0, pytest.approx(50))


def test_crossed_scores_take_each_articles_threshold_from_the_others() -> None:
    def asked(article: str, answer: str, margin: float) -> tuple[Example, Reading]:
        answers = ((0, answer),) if answer else ()
        return Example(f"{article} {margin}", "Which?", "red boats", answers, article), reading("red", margin)

    # In article a 3 and above are answers, in b 1 and above.
    pairs = [asked("a", "red", 4), asked("a", "", 2), asked("b", "red", 2), asked("b", "", 0)]
    examples, readings = [example for example, _ in pairs], [reading for _, reading in pairs]
    found = crossed_score(examples, readings)
    assert found.threshold == -2  # the mean of -1, which b gives a, and -3, which a gives b
    assert (found.kept_f1, found.null_accuracy, found.overall_f1, found.answerable_f1) == (50, 50, 50, 100)
    alone = crossed_score(examples[:2], readings[:2])
    assert alone == score(examples[:2], readings[:2], 0.0)


@pytest.mark.slow
def test_a_reader_is_trained_written_and_read(tiny: str, tmp_path: Path) -> None:
    write_squad(small_examples(), tmp_path / "train.json")
    schedule = Schedule(epochs=2, peak=1e-3, bfloat16=False)
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
    evaluated = read_squad(tmp_path / "train.json")
    readings, _ = read_with(tmp_path / "other" / "shipped", evaluated)
    assert uncalibrated["null_threshold"] == best_threshold(evaluated, readings)
    assert uncalibrated["evaluation"]["overall_f1"] == crossed_score(evaluated, readings).overall_f1
    for folder in ("model", "shipped"):
        made = Reader(str(out / folder))
        assert made.read([("What colour is the boat?", "The boat is green.")])[0].spans
        assert made.null_threshold == report["null_threshold"]
    assert not list((out / "shipped").glob("model*"))
    weights = torch.nn.Module.state_dict(AutoModelForQuestionAnswering.from_pretrained(out / "model", dtype="auto"))
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    before = (out / "model" / "model.safetensors").read_bytes()
    run(replace(data, evaluate=()), setup, schedule, out)  # the same training again
    assert (out / "model" / "model.safetensors").read_bytes() == before
    write_squad([e for e in small_examples() if not e.answers], tmp_path / "none.json")
    with pytest.raises(PolyqaError, match="No training question has an answer"):
        run(Data([tmp_path / "none.json"]), setup, schedule, tmp_path / "none")


@pytest.mark.slow
def test_the_command_goes_on_after_kill_9(tiny: str, tmp_path: Path) -> None:
    write_squad(small_examples() * 3, tmp_path / "train.json")

    def start(out: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "lab.training.train_reader", "--train", str(tmp_path / "train.json")]
        command += ["--out", str(tmp_path / out), "--init", tiny, "--epochs", "12", "--batch-size", "2"]
        command += ["--max-length", "64", "--stride", "16", "--calibration", "0", "--save-every", "5"]
        command += ["--no-bfloat16", "--threads", "1"]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    killed = start("killed")
    while killed.poll() is None and not (tmp_path / "killed" / STATE).is_file():
        pass
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    for out in ("killed", "whole"):
        process = start(out)
        output, _ = process.communicate()
        assert process.returncode == 0, output.decode()
    weights = [(tmp_path / out / "model" / "model.safetensors").read_bytes() for out in ("killed", "whole")]
    assert weights[0] == weights[1]


def test_the_curve_is_the_same_file_for_the_same_log(tmp_path: Path) -> None:
    train_tiny(tmp_path)
    for name in ("one.svg", "other.svg"):
        draw_curve(tmp_path / LOG, tmp_path / name, "tiny")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()
    assert 5_000 < (tmp_path / "one.svg").stat().st_size < 200_000
    with pytest.raises(PolyqaError, match="no line to draw"):
        draw_curve(tmp_path / "absent.jsonl", tmp_path / "none.svg", "tiny")


def test_the_card_names_figures_and_command_and_no_folder(tmp_path: Path) -> None:
    for name, size in (("shipped/weights.int8.safetensors", 1_200_000), ("model/model.safetensors", 2_500_000)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"0" * size)
    scores = score(small_examples()[:3], [reading("red", 3.0), reading("blue", -1.0), reading("x", -2.0)], 0.5)
    report = {
        "schedule": {"epochs": 2, "peak": 1e-4, "warmup": 0.1, "seed": 0},
        "settings": {"init": "/somewhere/secret/base"},
        "null_threshold": 0.5,
        "evaluation": asdict(scores) | {"seconds_per_1000_pairs": 12.34},
    }
    card = reader_card(report, tmp_path, ["python", "-m", "x", "--train", "/somewhere/secret/train.json"])
    assert "| evaluation | 3 | 1 | 0.50 | 50.0 | 50.0 |" in card
    assert "0.50 was chosen on the evaluation's questions; each article's figures" in card
    held = report | {"calibration": asdict(scores)}
    assert "0.50 was chosen on the calibration questions" in reader_card(held, tmp_path, ["python"])
    assert "1.2 MB (float16: 2.5 MB)" in card
    assert "12.3 s" in card
    assert "python -m x --train train.json" in card
    assert "secret" not in card
    report |= {"before": {"questions": 9, "ac_at_5": 50, "mrecall_at_5": 25}, "queries": {"pairs": 7}}
    report["after"] = report["before"] | {"ac_at_5": 61.25}
    report["after_int8"] = report["after"] | {"ac_at_5": 60.75}
    card = colbert_card(report, tmp_path, ["python"])
    assert "| after training, float32 | 9 | 61.2 | 25.0 |" in card
    assert "| after training, int8 | 9 | 60.8 | 25.0 |" in card
    assert "1.2 MB" in card
    assert "7 pairs" in card
