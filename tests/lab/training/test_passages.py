"""What the reader of passages is trained on, and with: answers as they stand in passages, and how it learns them."""

import json
import random
from pathlib import Path

import pytest
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from lab.training.loop import LOG
from lab.training.lora import add_lora, fit
from lab.training.passages import Read, of_documents, of_long_answers, of_paragraphs, of_periods, read_by
from lab.training.squad import Example
from lab.training.train_passages import Told, batches, loss_of, main
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.metrics.gold import Question, Reading

THINGS = {"novel": "1912", "film": "1997"}
SHIP = Passage(pid="1", title="RMS Titanic", text="She was launched on 31 May\n1911 in Belfast. She sank in 1912.")


def test_answers_are_written_as_they_stand_in_the_passage_and_once() -> None:
    made = read_by("When was\nit?", SHIP, [["1912"], ["belfast", "Cork"], ["in 1912", "1912"]], "here", 2.0)
    text = "She was launched on 31 May 1911 in Belfast. She sank in 1912."
    assert made == Read("When was it?", "RMS Titanic", text, ["Belfast", "in 1912", "1912"], "here", 2.0)
    assert read_by("When?", SHIP, [], "here") == Read("When?", "RMS Titanic", text, [], "here")
    assert read_by("When?", SHIP, [["1912"], ["1997"]], "here") is None


def test_a_question_is_also_asked_of_another_paragraph_of_its_article() -> None:
    texts = ["It was made in 1997.", "It was shown in Japan.", "It was made for a long time."]
    answers = ((15, "1997"),)
    examples = [Example(str(at), "When was it made?", texts[0], answers, "a", "Titanic") for at in range(2)]
    examples += [Example("n", "Who?", text, (), "a", "Titanic") for text in texts[1:]]
    made = [one for seed in range(20) for one in of_paragraphs(examples, "squad", random.Random(seed)) if one]
    assert {(one.text, *one.answers) for one in made if one.source == "squad" and one.question != "Who?"} == {
        (texts[0], "1997")
    }
    others = [one for one in made if one.source == "another paragraph"]
    assert {(one.text, *one.answers) for one in others} == {(texts[2],)}  # the nearest in words


def test_without_its_time_a_question_has_the_answer_of_every_period() -> None:
    texts = ["Ann led it until 1950, then Bob.", "Cid leads it."]
    people = [("Ann", 0), ("Bob", 0), ("Cid", 1)]
    readings = [{"question": f"Who led, {name}?", "answers": [name], "passages": [texts[at]]} for name, at in people]
    group = {"ambiguous_question": "Who led?", "title": "Club", "readings": readings}
    made = [one for one in of_periods([group], random.Random(0)) if one]
    assert [(one.text, *one.answers) for one in made if one.source == "periods"] == [
        (texts[0], "Ann", "Bob"),
        (texts[1], "Cid"),
    ]
    assert all(one.answers in ([], [one.question[9:-1]]) for one in made if one.source == "one period")


def test_a_document_says_what_it_says_and_noise_says_nothing(tmp_path: Path) -> None:
    documents = [["a", "correct", "1911"], ["b", "misinfo", "1950"], ["c", "noise", "unknown"]]
    texts = {"a": "Launched in 1911.", "b": "Launched in 1950.", "c": "It is cold."}
    (tmp_path / "asked.json").write_text(
        json.dumps({"dev": {"1": {"ambiguous_question": "?", "documents": documents}}})
    )
    rows = [json.dumps({"id": pid, "title": "", "text": text}) for pid, text in texts.items()]
    (tmp_path / "corpus.jsonl").write_text("\n".join(rows))
    made = of_documents(tmp_path / "asked.json", tmp_path / "corpus.jsonl")
    assert [one and one.answers for one in made] == [["1911"], ["1950"], []]


def test_a_long_answer_is_a_passage_with_the_answer_of_every_reading() -> None:
    told = [f"The {thing} of that name, which many know by now, came out in {year}." for thing, year in THINGS.items()]
    readings = tuple(Reading(f"When did the {thing} come out?", (year,)) for thing, year in THINGS.items())
    questions = [
        Question("1", "When did it come out?", readings, long_answers=(" ".join(told * 2),)),
        Question("2", "When did it begin?", readings, long_answers=("In 1912, some say.",)),
        Question("3", "When?", readings[:1], long_answers=(" ".join(told),)),
        Question("4", "When?", readings),
    ]
    made = [one for seed in range(9) for one in of_long_answers(questions, random.Random(seed)) if one]
    of_all = {tuple(one.answers) for one in made if one.source == "long answer"}
    assert of_all == {("1912", "1997")}
    parts = [one for one in made if one.source == "part of a long answer"]
    assert parts
    assert all(sorted(one.answers) == [year for year in THINGS.values() if year in one.text] for one in parts)
    assert all(one.question == questions[0].question for one in parts)
    assert {(one.question, *one.answers) for one in made if one.source == "one reading"} == {
        (f"When did the {thing} come out?", year) for thing, year in THINGS.items()
    }


class Letters:
    """A tokenizer of letters."""

    eos_token_id = 1

    def encode(self, text: str) -> list[int]:
        return [2 + ord(letter) % 60 for letter in text]

    def apply_chat_template(self, messages: list[dict[str, str]], **_: object) -> list[int]:
        return self.encode(messages[-1]["content"])


def told(question: str, *answers: str) -> Told:
    return Told(Letters(), Read(question, "RMS", "It sank.", list(answers), "here"))


def test_what_is_to_be_written_is_told_from_what_is_shown() -> None:
    one, none = told("When?", "1912", "1911"), told("When?")
    assert one.ids[one.begin :] == [*Letters().encode("1912\n1911"), 1]
    assert none.ids == [*one.ids[: one.begin], *Letters().encode("none"), 1]


def test_every_example_is_in_one_batch_of_an_epoch() -> None:
    some = [told("When?" * length, "1912") for length in range(1, 90)]
    made = list(batches(some, random.Random(3)))
    assert sorted(id(one) for batch in made for one in batch) == sorted(map(id, some))
    assert all(len(batch) * max(len(one.ids) for one in batch) <= 10_000 for batch in made)


def test_it_learns_what_is_to_be_written_and_nothing_else(tmp_path: Path) -> None:
    torch.manual_seed(1)
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "initializer_range": 0.1}
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=70, num_attention_heads=4, num_key_value_heads=2, **sizes))
    some = [told("When?", "1912"), told("Who was it?")]
    with torch.no_grad():
        padded, alone = loss_of(model, some), [loss_of(model, [one]) for one in some]
    counts = [len(one.ids) - one.begin for one in some]
    assert float(padded) == pytest.approx(
        sum(float(loss) * count for loss, count in zip(alone, counts, strict=True)) / sum(counts), abs=1e-4
    )
    with torch.no_grad():
        assert float(loss_of(model, some, shared=10)) == pytest.approx(float(padded), abs=1e-4)
    before = model.model.layers[0].mlp.up_proj.weight.detach().clone()
    add_lora(model, rank=8, alpha=16.0)
    fit(model, ((loss_of(model, some), 2) for _ in range(60)), 120, tmp_path / LOG, 0.02)
    losses = [json.loads(line)["loss"] for line in (tmp_path / LOG).read_text().splitlines()]
    assert losses[-1] < losses[0] / 2
    assert torch.equal(before, model.model.layers[0].mlp.up_proj.layer.weight)


def test_a_mean_is_of_two_weights(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match="--start"):
        main(tmp_path / "train.jsonl", tmp_path, mean=True)
