import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import dspy
import pytest
from dspy.clients.cache import Cache
from harness import fields, ledger_rows, scripted
from openai_server import serve
from scripted_engine import ScriptedEngine, last_message

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.cluster import Ray
from polyqa.extractive import ExtractiveEngine, embedded_lm
from polyqa.language_models import Models
from polyqa.metrics.agreement import agree
from polyqa.models import Reader, Reading, Span
from polyqa.question_building import reading_on_ray
from polyqa.questions import GeneratedQuestion, Generation, QuestionSettings, generate_questions
from polyqa.questions.generation import _question, read_passage, verified

Make = Callable[..., Generation]
DAM = Passage(pid="d", title="Orava Dam (upper)", text="It was built by Jan Hora in 1941. The dam is 41 metres tall.")


@pytest.fixture
def make(reader: Reader, tmp_path: Path) -> Make:
    """Make questions, with a journal of this test."""
    return partial(generate_questions, reader=reader, journal=tmp_path / "j.sqlite")


def writing(answers: str, question: str = "None", revised: str = "") -> Callable[[str], str]:
    """Return what writes the same at each step, whatever it is asked."""

    def reply(message: str) -> str:
        if "## question\n" in message:
            return fields(revised_question=revised)
        return fields(question=question) if "## answer\n" in message else fields(answers=answers)

    return reply


def test_every_answer_stands_in_its_passage_and_the_reader_confirms_it(
    generation: Generation, corpus: list[Passage], reader: Reader
) -> None:
    texts = {passage.pid: passage.text for passage in corpus}
    assert len(generation.questions) >= len(corpus)
    for one in generation.questions:
        assert re.match(r"(?:In what|On what|When|Who|Where|What|Which|How) .+\?$", one.question)
        for answer, pid in zip(one.answers, one.pids, strict=True):
            assert answer in texts[pid]
            (reading,) = reader.read([(one.question, texts[pid])])
            assert agree(reading.answer(reader.null_threshold), [answer]), one.question
            assert answer not in one.question


def test_questions_stand_on_their_own(generation: Generation, corpus: list[Passage]) -> None:
    words = {passage.pid: set(re.findall(r"\w{4,}", passage.title)) for passage in corpus}
    for one in generation.questions:
        assert not re.search(r"\b(?:it|this|that|these|he|she|they)\b", one.question)
        named = words[one.pids[0]] & set(re.findall(r"\w{4,}", one.question))
        person = re.match(r"When did [A-Z]\w+ [A-Z]\w+ die\?", one.question)
        assert named or person, one.question


def test_the_counts_shrink_from_step_to_step(generation: Generation, corpus: list[Passage]) -> None:
    counts = generation.counts
    assert counts.passages == len(corpus)
    assert counts.failed == 0
    assert counts.answers > counts.generated >= counts.verified >= counts.questions == len(generation.questions)
    assert 0 < counts.revised <= counts.verified
    assert f"{counts.verified:,} verified" in str(counts)


def test_passages_that_are_as_they_were_are_not_read_again(corpus: list[Passage], make: Make, tmp_path: Path) -> None:
    """The index may have changed since the journal was begun."""
    changed = corpus[1].model_copy(update={"text": f"{corpus[1].text} It is so."})
    now = [corpus[0], changed, corpus[3], corpus[4]]
    with serve(ExtractiveEngine()) as server:
        lm = dspy.LM("openai/one", api_base=server.base, api_key="none", cache=False)
        make(corpus[:4], lm=lm)
        server.requests.clear()
        again = make(now, lm=lm)
        asked = [str(request["messages"][-1]["content"]) for request in server.requests]
        fresh = make(now, lm=lm, journal=tmp_path / "fresh.sqlite")
    assert {passage.pid for passage in now if any(passage.text in one for one in asked)} == {changed.pid, corpus[4].pid}
    assert again.others == {corpus[2].pid}
    assert again.model_copy(update={"others": frozenset()}) == fresh


def by_hand(message: str) -> str:
    """Reply as a language model with habits of its own would."""
    if "## question\n" in message:
        named = re.sub(r"\bit\b", "Orava Dam", re.search(r"## question\n(.*)", message)[1])  # type: ignore[index]
        return fields(revised_question=f'"{named}"')
    if "## answer\n" in message:
        answer = re.search(r"## answer\n(.*)", message)[1]  # type: ignore[index]
        told = {
            "Jan Hora": "Who was the builder of it?",
            "1941": "When was it built by Jan Hora?",
            "Slovakia": "Where is it?",
        }
        return fields(question=told.get(answer, "None"))
    return fields(answers="1. Jan Hora\n2. 1941\n3. the 1941\n4. Slovakia\n5. Orava Dam (upper)\n6. 41 metres")


def test_what_a_language_model_writes_is_checked(make: Make) -> None:
    with scripted(by_hand) as (lm, _):
        made = make([DAM], lm=lm)
    # "Slovakia" does not stand in the passage, "the 1941" neither; for 41 metres there was no question.
    assert {(one.question, one.answers) for one in made.questions} == {
        ("Who was the builder of Orava Dam?", ("Jan Hora",)),
        ("When was Orava Dam built by Jan Hora?", ("1941",)),
    }
    assert made.counts.answers == 3
    assert made.counts.generated == made.counts.verified == made.counts.revised == 2


@pytest.mark.parametrize(
    ("written", "question"),
    [
        ('"Who built it?"', "Who built it?"),
        ("**Who built\nit?**", "Who built it?"),
        ('Who wrote "Dune"', 'Who wrote "Dune"?'),
        ("“Dune” was written by whom?", "“Dune” was written by whom?"),
        ("Who built it.", "Who built it?"),
        ("谁写了这本书？", "谁写了这本书？"),
        ("None.", ""),
    ],
)
def test_only_marks_around_all_of_a_question_go(written: str, question: str) -> None:
    assert _question(written) == question


@pytest.mark.parametrize(
    ("revisions", "asked", "revised"),
    [(0, "When was it built?", 0), (1, "When was it built again?", 1), (2, "When was it built again again?", 1)],
)
def test_a_question_is_revised_as_often_as_is_said(make: Make, revisions: int, asked: str, revised: int) -> None:
    def reply(message: str) -> str:
        question = re.search(r"## question\n(.*)\?", message)
        return writing("1941", "When was it built?", f"{question and question[1]} again?")(message)

    with scripted(reply) as (lm, server):
        made = make([DAM], lm=lm, settings=QuestionSettings(revisions=revisions))
        assert len(server.requests) == 2 + revisions
    assert [one.question for one in made.questions] == [asked]
    assert (made.counts.verified, made.counts.revised, made.origin.revisions) == (1, revised, revisions)


@pytest.mark.parametrize(
    ("settings", "told", "kept"),
    [
        (QuestionSettings(), "At most eight,", 8),
        (QuestionSettings(spans=14), "At most 14,", 14),
        (QuestionSettings(spans=1), "At most 1,", 1),
    ],
)
def test_so_many_spans_are_asked_for_and_no_more_are_kept(
    make: Make, settings: QuestionSettings, told: str, kept: int
) -> None:
    names = [f"Jan {letter}oe" for letter in "ABCDEFGHIJKLMNOPQRST"]
    passage = Passage(pid="crew", title="Crew", text=f"Aboard were {', '.join(names)}.")
    with scripted(writing(json.dumps(names))) as (lm, server):
        made = make([passage], lm=lm, settings=settings)
    assert told in json.dumps(server.requests[0])
    assert (made.counts.answers, made.origin.spans) == (kept, settings.spans)
    assert len(server.requests) == 1 + kept


@pytest.mark.parametrize("values", [{"revisions": 3}, {"revisions": -1}, {"spans": 0}, {"spans": 33}])
def test_settings_out_of_range_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(values))):
        QuestionSettings(**values)


@pytest.mark.parametrize("other", [QuestionSettings(revisions=0), QuestionSettings(spans=14)])
def test_a_journal_goes_on_only_with_the_settings_that_it_was_begun_with(
    corpus: list[Passage], lm: dspy.LM, make: Make, other: QuestionSettings
) -> None:
    first = make(corpus[:1], lm=lm)
    with pytest.raises(PolyqaError, match=r"other settings \((?:revisions was 2, is 0|spans was 8, is 14)\)"):
        make(corpus[:1], lm=lm, settings=other)
    assert make(corpus[:1], lm=lm) == first


def test_a_language_model_asks_all_of_a_passage_in_one_call(make: Make) -> None:
    """The reader answers the first two, the model the third one again, and the fourth otherwise."""
    written = (
        "1. When was the Orava Dam built? | 1941\n2. Who built the Orava Dam? | Jan Hora\n"
        "3. Why so tall? | The dam is\n4. Why so old? | It was built by\n"
        "5. Who built it in 1941? | 1941\n6. How tall is it? | 50 metres"
    )

    def reply(message: str) -> str:
        if "## question\n" not in message:
            return fields(questions=written)
        return fields(answer="The dam is" if "tall" in message else "None")

    with scripted(reply) as (lm, server):
        made = make([DAM], lm=lm, settings=QuestionSettings(at_once=True))
        assert len(server.requests) == 3
    assert [(one.question, one.answers) for one in made.questions] == [
        ("When was the Orava Dam built?", ("1941",)),
        ("Who built the Orava Dam?", ("Jan Hora",)),
        ("Why so tall?", ("The dam is",)),
    ]
    counts = made.counts
    assert (counts.answers, counts.generated, counts.verified, counts.revised) == (6, 4, 3, 0)


def test_one_answer_in_two_forms_answers_two_questions(make: Make) -> None:
    mill = Passage(pid="k", title="Ida Berg", text="Ida Berg designed the Kestrel mill. Kestrel mill has two wheels.")
    asked = ("What did Ida Berg design?", "What has two wheels?")
    written = f"1. {asked[0]} | the Kestrel mill\n2. {asked[1]} | Kestrel mill"

    def reply(message: str) -> str:
        return fields(answer="Kestrel mill") if "## question\n" in message else fields(questions=written)

    with scripted(reply) as (lm, _):
        made = make([mill], lm=lm, settings=QuestionSettings(at_once=True))
    assert tuple(one.question for one in made.questions) == asked


def test_a_question_with_another_answer_is_dropped(reader: Reader) -> None:
    pairs = [("When was the dam built?", "1941"), ("When was the dam built?", "Jan Hora"), ("Who sang there?", "1941")]
    assert verified(pairs, DAM.text, reader) == [True, False, False]


def test_the_same_question_of_two_passages_has_both_answers(make: Make) -> None:
    other = DAM.model_copy(update={"pid": "e", "text": DAM.text.replace("1941", "1953").replace("Jan", "Eva")})
    asked = "When was the dam built?"
    with scripted(writing('["1941", "1953"]', asked, asked)) as (lm, _):
        made = make([DAM, other], lm=lm)
    assert made.questions == (GeneratedQuestion(question=asked, answers=("1941", "1953"), pids=("d", "e")),)


def test_failures_are_counted_and_tried_again(make: Make, corpus: list[Passage], tmp_path: Path) -> None:
    broken = True

    def reply(message: str) -> str:
        if broken and "Smeaton" in message:
            return '{"spans": 3}'
        return fields(answers="[]")

    with scripted(reply) as (lm, _):
        first = make(corpus[:4], lm=lm, threads=2)
        assert first.counts.failed >= 1
        assert len(ledger_rows(tmp_path / "j.sqlite")) == 4 - first.counts.failed
        broken = False
        again = make(corpus[:4], lm=lm, threads=2)
    assert again.counts.failed == 0


def test_what_could_not_be_read_is_asked_for_again_past_the_cache(
    reader: Reader, corpus: list[Passage], own_cache: Cache
) -> None:
    engine = ScriptedEngine(lambda message: '{"spans": 3}', given=last_message)
    with serve(engine) as server:
        lm = dspy.LM("openai/writer", api_base=server.base, api_key="none", num_retries=0)
        assert read_passage(corpus[0], lm, reader)["failed"]
        engine.reply = lambda message: "none"
        assert read_passage(corpus[0], lm, reader)["failed"] is None
    assert len(server.requests) == 2


def test_a_dead_language_model_ends_it_early(make: Make, corpus: list[Passage], tmp_path: Path) -> None:
    with scripted(lambda _: "") as (lm, _), pytest.raises(PolyqaError, match="passages fail one after the other"):
        make(corpus, lm=lm, threads=1)
    assert ledger_rows(tmp_path / "j.sqlite") == {}


@pytest.mark.parametrize(("threshold", "kept"), [(0.0, False), (0.85, True)])
def test_a_question_is_verified_by_the_readers_own_null_threshold(threshold: float, kept: bool) -> None:
    class Unsure:
        name, null_threshold = "unsure", threshold

        def read(self, pairs: Sequence[tuple[str, str]], *, keep: int = 1) -> list[Reading]:
            return [Reading((Span("1941", 0, 4, 2.0),), null_score=2.5) for _ in pairs]

    assert verified([("When was it built?", "1941")], DAM.text, Unsure()) == [kept]


@pytest.mark.slow
def test_two_workers_make_the_same_questions_and_go_on_from_the_journal(
    corpus: list[Passage], generation: Generation, make: Make, tmp_path: Path
) -> None:
    """The journal begins as a local one that was stopped after three passages, and ends as one of Ray."""
    pytest.importorskip("ray", reason="Ray is an extra: pip install 'polyqa[ray]'")
    journal = tmp_path / "j.sqlite"
    kept: list[int] = []

    def stop() -> None:
        kept.append(1)
        if len(kept) > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(corpus, lm=embedded_lm(), threads=1, step=stop)
    before = list(ledger_rows(journal))
    assert 3 < len(before) < len(corpus)
    steps: list[int] = []

    def generate(step: Callable[[], None], settings: QuestionSettings = QuestionSettings()) -> Generation:
        elsewhere = reading_on_ray(Models(), settings, Ray(2), at_once=1)
        return make(corpus, lm=embedded_lm(), settings=settings, threads=2, step=step, elsewhere=elsewhere)

    with pytest.raises(PolyqaError, match="revisions was 2, is 1"):
        generate(stop, QuestionSettings(revisions=1))
    made = generate(lambda: steps.append(1))
    assert made == generation
    assert len(steps) == len(corpus)
    every = list(ledger_rows(journal))
    assert every[: len(before)] == before
    assert sorted(every) == sorted(one.pid for one in corpus)
    again = generate(lambda: None)
    assert again == generation
    assert list(ledger_rows(journal)) == every
