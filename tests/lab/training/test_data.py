import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from lab.training.negatives import KINDS, Context, NegativeMiner
from lab.training.questions import Asked, drawn, read_pairs, read_questions, without_held_out
from lab.training.reader_data import app, best_place, over_sentences
from lab.training.squad import Example, read_squad, split_by_article, write_squad
from lab.training.unanswerable import alternatives, twist, twisted_examples
from polyqa.base.errors import PolyqaError
from polyqa.metrics.answer_match import has_answer

KIOSK = (
    "The kettle in the station kiosk is painted green. It was bought in 1987 at a flea market in Tarnville by "
    "Mrs Orla Venn, who ran the kiosk for eleven years. The kiosk sold tea, rolls and newspapers to the stokers."
)
LATER = "The station kiosk was closed in winter. The stationmaster Piet Holm kept bees behind the kettle shed."
FERRY = "The last ferry to the island leaves at seven in the evening. In winter the ferry does not run at all."


def example(question: str, answer: str = "", context: str = KIOSK, article: str = "kiosk") -> Example:
    answers = ((context.index(answer), answer),) if answer else ()
    return Example(f"{question} {context[:9]}", question, context, answers, article, article.title())


EXAMPLES = [
    example("When was the kettle in the kiosk bought?", "1987"),
    example("Who kept bees behind the kettle shed?", "Piet Holm", LATER),
    example("When does the last ferry leave?", "seven in the evening", FERRY, "ferry"),
    example("When was the ferry bought?", "", FERRY, "ferry"),
]


def test_squad_files_come_back_as_they_were(tmp_path: Path) -> None:
    write_squad(EXAMPLES, tmp_path / "questions.json")
    found = read_squad(tmp_path / "questions.json")
    assert [(e.question, e.context, e.answers, e.title) for e in found] == [
        (e.question, e.context, e.answers, e.title) for e in EXAMPLES
    ]
    assert [e.article == found[0].article for e in found] == [True, True, False, False]


@pytest.mark.parametrize("text", ["{", "[]", '{"data": [{"paragraphs": [{"context": "x"}]}]}', '{"data": 3}'])
def test_what_is_no_squad_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolyqaError, match=r"bad\.json.*SQuAD"):
        read_squad(path)
    with pytest.raises(PolyqaError, match=r"no file .*absent\.json"):
        read_squad(tmp_path / "absent.json")


def test_an_answer_that_does_not_stand_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "off.json"
    qas = [{"id": "q1", "question": "Which?", "answers": [{"text": "green", "answer_start": 3}]}]
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": KIOSK, "qas": qas}]}]}), encoding="utf-8")
    with pytest.raises(PolyqaError, match=r"'q1'.*green.*character 3"):
        read_squad(path)


def test_held_out_articles_have_unanswerable_questions_and_none_is_in_both() -> None:
    training, held = split_by_article(EXAMPLES, 0.5, seed=0)
    assert {e.article for e in held} == {"ferry"}
    assert training + held == EXAMPLES
    assert split_by_article(EXAMPLES, 0.0, seed=0) == (EXAMPLES, [])


@pytest.mark.parametrize("kind", KINDS)
def test_negatives_have_no_answer_and_are_not_the_positive(kind: str) -> None:
    corpus = [Context("A kettle was bought for the kiosk of the old bridge.", "corpus 1", "Old bridge")]
    miner = NegativeMiner(EXAMPLES, corpus)
    made = [miner.make(e, kind, random.Random(seed)) for e in EXAMPLES if e.answers for seed in range(4)]
    found = [negative for negative in made if negative is not None]
    assert found
    for negative in found:
        (own,) = [e for e in EXAMPLES if e.id == negative.id]
        assert not negative.answers
        assert (negative.question, negative.context) != (own.question, own.context)
        assert (negative.question == own.question) is (kind != "twisted")
        if kind != "twisted":
            assert not has_answer(own.texts, negative.context)
        if kind == "article":
            assert negative.article == own.article
        if kind == "lexical":
            assert negative.article != own.article


def test_the_same_seed_draws_the_same_negatives() -> None:
    one, other = NegativeMiner(EXAMPLES), NegativeMiner(EXAMPLES)
    for e in EXAMPLES:
        if e.answers:
            assert one.draw(e, random.Random(7)) == other.draw(e, random.Random(7))


SOLD = "It was sold to Orla Venn in 1911, and in 1924 to the Tarnville museum."


@pytest.mark.parametrize(
    ("question", "outcomes"),
    [
        ("Who won the first race?", {"Who won the last race?", "Who lost the first race?"}),
        ("When did Piet Holm buy it?", {"When did Orla Venn buy it?", "When did Anna Moor buy it?"}),
        ("Who bought it in 1911?", {"Who bought it in 1924?"}),
        ("What was sold?", {"What was not sold?", "What was never sold?"}),
        ("Which boats sank?", {None}),
    ],
)
def test_twisted_questions(question: str, outcomes: set[str | None]) -> None:
    found = {twist(question, SOLD, random.Random(seed), ["Anna Moor", "Ida"]) for seed in range(60)}
    assert found == outcomes


def test_a_year_that_no_other_can_stand_for_is_shifted() -> None:
    found = {twist("Who bought it in 1950?", "It was sold.", random.Random(seed)) for seed in range(60)}
    assert found == {f"Who bought it in {year}?" for year in (1940, 1947, 1949, 1951, 1952, 1957, 1960)}
    decades = {twist("Who came in the 1950s?", "In 1911 and the 1920s.", random.Random(seed)) for seed in range(9)}
    assert decades == {"Who came in the 1920s?"}


@given(st.text(max_size=80), st.text(max_size=200), st.integers(0, 5))
def test_whatever_is_asked_a_twisted_question_is_another_one(question: str, context: str, seed: int) -> None:
    assert twist(question, context, random.Random(seed)) != question


TWISTABLE = [
    example("Who bought the green kettle in Tarnville in 1987?", "Mrs Orla Venn"),
    example("Who bought the green kettle in Tarnville in 1988?", "Mrs Orla Venn"),
    example("What colour?", "green"),
    example("Who was the first owner of the kettle?"),
    example("Who was Piet Holm?", "The stationmaster", LATER),
]


def test_unanswerable_questions_come_from_answerable_ones_and_are_not_asked_already() -> None:
    for seed in range(20):
        made = twisted_examples(TWISTABLE, 1.0, seed)
        assert {one.id.removesuffix("-twisted") for one in made} <= {
            one.id for one in TWISTABLE if one.answers and one.question != "What colour?"
        }
        for one in made:
            assert not one.answers
            assert one.question not in {own.question for own in TWISTABLE}
    assert twisted_examples(TWISTABLE, 1.0, 3) == twisted_examples(TWISTABLE, 1.0, 3)
    assert twisted_examples(TWISTABLE, 0.0, 3) == []


def made_by(command: str, folder: Path, **options: str) -> tuple[list[Example], str]:
    """Return the file that a command makes, whose files lie in a folder, and what it prints."""
    files = [f"--{name.replace('_', '-')}={folder / value}" for name, value in options.items() if "." in value]
    others = [f"--{name}={value}" for name, value in options.items() if "." not in value]
    result = CliRunner().invoke(app, [command, *files, *others, f"--out={folder / 'made.json'}"])
    assert result.exit_code == 0, result.output
    return read_squad(folder / "made.json"), result.output


def test_a_file_of_unanswerable_questions(tmp_path: Path) -> None:
    write_squad(TWISTABLE, tmp_path / "own.json")
    made, told = made_by("unanswerable", tmp_path, questions="own.json", share="1", copies="2")
    people = [one for one in made if "-again-" in one.id]
    assert {one.question for one in people} == {"Who was the first owner of the kettle?"}
    assert len({one.id for one in people}) == 2
    assert len(made) > 2
    assert not any(one.answers for one in made)
    assert f"{len(made) - 2} changed questions and 2 copies" in told


def test_a_name_is_replaced_by_one_of_as_many_words() -> None:
    found = dict(alternatives("When did Holm die?", "Then came Orla Venn and Ida.", random.Random(0)))
    assert found == {"entity": "When did Ida die?"}


def test_where_an_answer_stands() -> None:
    text = "In 1987 it opened. It was sold, the records say, in 1987 to Anna. 19870 visitors came."
    assert best_place("When was it sold to Anna?", ("1987",), text) == (text.rindex("in 1987") + 3, "1987")
    assert best_place("When was it sold?", ("1990",), text) is None
    assert best_place("When was it sold?", (" ", "sold, THE"), text) == (text.index("sold"), "sold, the")
    assert best_place("Who came?", ("987",), text) is None


ASQA_LINE = {
    "id": 7,
    "ambiguous_question": "When did the boat sink?",
    "qa_pairs": [
        {"question": "When did the first boat sink?", "short_answers": ["1911", "in 1911"]},
        {"question": "When did the second boat sink?", "short_answers": ["1924"]},
    ],
    "long_answer": "The first boat sank in 1911, the second in May 1924.",
}
AMBIGNQ = [
    {
        "id": "a1",
        "question": "Who sang it?",
        "annotations": [
            {"type": "multipleQAs", "qaPairs": [{"question": "Who sang it first?", "answer": ["Ida"]}]},
            {"type": "singleAnswer", "answer": ["Ida", "Ida Moon"]},
        ],
    }
]


def test_questions_of_both_formats(tmp_path: Path) -> None:
    (tmp_path / "asqa.jsonl").write_text(json.dumps(ASQA_LINE) + "\n\n", encoding="utf-8")
    (tmp_path / "asqa.json").write_text(json.dumps({"dev": {"7": ASQA_LINE}}), encoding="utf-8")
    (tmp_path / "ambignq.json").write_text(json.dumps(AMBIGNQ), encoding="utf-8")
    long = ASQA_LINE["long_answer"]
    asqa = [
        Asked("7", "When did the boat sink?", (("1911", "in 1911"), ("1924",)), long),
        Asked("7", "When did the first boat sink?", (("1911", "in 1911"),), long),
        Asked("7", "When did the second boat sink?", (("1924",),), long),
    ]
    assert read_questions([tmp_path / "asqa.jsonl"]) == read_questions([tmp_path / "asqa.json"]) == asqa
    ambignq = [
        Asked("a1", "Who sang it?", (("Ida",), ("Ida", "Ida Moon"))),
        Asked("a1", "Who sang it first?", (("Ida",),)),
    ]
    assert read_questions([tmp_path / "asqa.json", tmp_path / "ambignq.json"]) == [*asqa, *ambignq]
    assert read_questions([tmp_path / "asqa.json", tmp_path / "ambignq.json"], [tmp_path / "asqa.jsonl"]) == ambignq
    (tmp_path / "other.json").write_text('[{"what": 1}]', encoding="utf-8")
    with pytest.raises(PolyqaError, match=r"other\.json"):
        read_questions([tmp_path / "other.json"])


@pytest.mark.parametrize("line", ['{"question": "Who?"}', '{"question": " ", "passage": "x"}', "[1]", "{"])
def test_pairs_of_question_and_sentence(tmp_path: Path, line: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"question": " Who? ", "passage": "Ida."}\n', encoding="utf-8")
    assert read_pairs(path) == [("Who?", "Ida.")]
    path.write_text(f'{{"question": "Who?", "passage": "Ida."}}\n{line}\n', encoding="utf-8")
    with pytest.raises(PolyqaError, match=r"pairs\.jsonl: line 2"):
        read_pairs(path)


def test_items_that_share_a_question_or_an_id_with_held_out_ones_are_dropped() -> None:
    asked = [Asked("1", "Who sang it?", ()), Asked("1", "Who sang it first?", ()), Asked("2", "Who?", ())]
    asked.append(Asked("3", "Where?", ()))
    held = [Asked("9", "who SANG it", ()), Asked("3", "elsewhere", ())]
    assert without_held_out(asked, held) == [asked[2]]


def test_readings_over_the_long_answer(tmp_path: Path) -> None:
    (tmp_path / "asqa.jsonl").write_text(json.dumps(ASQA_LINE) + "\n", encoding="utf-8")
    (tmp_path / "ambignq.json").write_text(json.dumps(AMBIGNQ), encoding="utf-8")
    examples, told = made_by("long-answers", tmp_path, questions="asqa.jsonl", held_out="ambignq.json")
    assert [(e.question, e.texts) for e in examples] == [
        ("When did the first boat sink?", ("1911",)),
        ("When did the second boat sink?", ("1924",)),
    ]
    assert "2 questions over long answers" in told


def test_sentence_pairs_stand_among_others(tmp_path: Path) -> None:
    pairs = [
        ("When was the kettle bought?", "The kettle was bought in 1987."),
        ("Who mended the kettle?", "The kettle was mended by Orla."),
        ("Where is the boat?", "The boat is in the shed."),
    ]
    examples = over_sentences(pairs, [(25, "1987"), None, (15, "the shed")], seed=0)
    assert [e.texts for e in examples] == [("1987",), ("the shed",)]
    assert pairs[1][1] in examples[0].context
    write_squad(examples, tmp_path / "pairs.json")
    assert len(read_squad(tmp_path / "pairs.json")) == 2
    lines = [json.dumps({"question": question, "passage": text}) + "\n" for question, text in pairs]
    (tmp_path / "pairs.jsonl").write_text("".join(lines), encoding="utf-8")
    marked, told = made_by("pairs", tmp_path, pairs="pairs.jsonl", share="1")
    assert {text for one in marked for text in one.texts} == {"1987", "Orla", "shed"}
    assert "3 of 3 pairs" in told
    assert drawn(examples, 1, seed=3) == drawn(examples, 1, seed=3)
    assert drawn(examples, None, seed=0) == examples
