from collections.abc import Callable, Sequence

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.metrics.gold import Question, Reading
from polyqa.models import Encoder, Reader
from polyqa.questions import GeneratedQuestion, training_set
from polyqa.questions.namesakes import AskedOfNamesakes
from polyqa.questions.training_set import (
    TrainingSet,
    long_answer,
    pick_passages,
    split_questions,
    training_questions,
)

CORPUS = [
    Passage(
        pid="a", title="Mill Bridge (Ely)", text="It was opened in 1894 by Ida Berg. The bridge is 90 metres long."
    ),
    Passage(
        pid="b",
        title="Mill Bridge (Bath)",
        text="It opened on 3 May 1902. It was closed in 1950. Bath Abbey lies behind it.",
    ),
    Passage(pid="c", title="Mill Road Bridge", text="The Mill Road Bridge was opened in 1964."),
    Passage(pid="d", title="Dean Tunnel", text="Dean Tunnel was opened in 1771. It was designed by Max Moe."),
    Passage(pid="e", title="Sand Tunnel", text="Sand Tunnel was opened in 1802."),
]
TEXTS = {passage.pid: passage for passage in CORPUS}
Train = Callable[..., TrainingSet]


def made(question: str, answer: str, pid: str) -> GeneratedQuestion:
    return GeneratedQuestion(question=question, answers=(answer,), pids=(pid,))


ELY = made("When was Mill Bridge (Ely) opened?", "1894", "a")
BATH = made("When did Mill Bridge (Bath) open?", "3 May 1902", "b")
ROAD = made("When was the Mill Road Bridge opened?", "1964", "c")
DEAN = made("When was Dean Tunnel opened?", "1771", "d")
SAND = made("When was Sand Tunnel opened?", "1802", "e")


@pytest.fixture
def train(encoder: Encoder, reader: Reader) -> Train:
    return lambda generated, passages=CORPUS, **more: training_questions(
        generated, passages, encoder=encoder, reader=reader, **more
    )


def trusting(asked: Sequence[tuple[str, str, Passage]]) -> list[float]:
    return [1.0] * len(asked)


def doubtful(asked: Sequence[tuple[str, str, Passage]]) -> list[float]:
    return [0.1] * len(asked)


def ambiguous(questions: Sequence[Question]) -> list[Question]:
    return [question for question in questions if len(question.readings) > 1]


def test_same_questions_about_things_of_one_name_are_one_ambiguous_question(train: Train) -> None:
    (question,) = train([ELY, BATH, ROAD]).questions
    assert question.question == "When did Mill Bridge open?"
    assert [(one.question, one.short_answers, one.pid) for one in question.readings] == [
        (ELY.question, ("1894",), "a"),
        (BATH.question, ("3 May 1902",), "b"),
        (ROAD.question, ("1964",), "c"),
    ]
    assert question.long_answers == (
        "Mill Bridge (Ely) was opened in 1894 by Ida Berg. Mill Bridge (Bath) opened on 3 May 1902. "
        "The Mill Road Bridge was opened in 1964.",
    )
    assert question.ambiguity == "subject"
    assert question.reason == "“Mill Bridge” may stand for Mill Bridge (Ely), Mill Bridge (Bath), Mill Road Bridge."


def test_what_is_asked_in_the_same_words_of_documents_of_one_title_is_ambiguous(train: Train) -> None:
    fees = {"Acme": "4,200 euros", "Globex": "3,100 euros", "Hooli": "1,900 euros"}
    corpus = [
        Passage(
            pid=name, title=f"Service contract ({name}) › Fees", text=f"The monthly fee is {fee}, due on the first."
        )
        for name, fee in fees.items()
    ]
    asked = "What is the monthly fee?"
    generated = [GeneratedQuestion(question=asked, answers=tuple(fees.values()), pids=tuple(fees))]
    found = train(generated, corpus)
    (question,) = found.questions
    assert question.question == asked
    assert [(one.question, one.short_answers, one.pid) for one in question.readings] == [
        (f"{asked.rstrip('?')} ({name})?", (fee,), name) for name, fee in fees.items()
    ]
    assert found.dropped == ()
    untold = [passage.model_copy(update={"title": "Contract › Fees"}) for passage in corpus]
    assert train(generated, untold).questions == ()


def test_sections_are_told_apart_by_their_headings_and_no_reading_comes_twice(train: Train) -> None:
    corpus = [
        Passage(pid=kind, title=f"Prices › {place} › Canoe, {kind}", text=f"The {kind} canoe costs {price} a day.")
        for place, kind, price in (("Lake", "small", "40 euros"), ("River", "large", "60 euros"))
    ]
    asked = GeneratedQuestion(
        question="What does the canoe cost?",
        answers=("40 euros", "60 euros", "40 euros"),
        pids=("small", "large", "small"),
    )
    (question,) = train([asked], corpus).questions
    assert [(one.question, one.short_answers) for one in question.readings] == [
        ("What does the canoe cost (small)?", ("40 euros",)),
        ("What does the canoe cost (large)?", ("60 euros",)),
    ]


def test_passages_without_titles_are_no_namesakes(reader: Reader) -> None:
    """All their questions would be compared with each other, which nobody has the memory for."""
    untitled = [passage.model_copy(update={"title": ""}) for passage in CORPUS]

    class NoEncoder:
        def similarity(self, *texts: Sequence[str]) -> None:
            raise AssertionError("compared")

    found = training_questions([DEAN, SAND], untitled, encoder=NoEncoder(), reader=reader)
    assert [one.question for one in found.questions] == [DEAN.question, SAND.question]


def test_other_names_and_other_matters_stay_apart(train: Train, encoder: Encoder) -> None:
    closed = made("When was Mill Bridge (Bath) closed?", "1950", "b")
    assert ambiguous(train([DEAN, SAND]).questions) == []
    assert ambiguous(train([ELY, closed]).questions) == []
    assert float(encoder.similarity(["When was Mill Bridge opened?"], ["When was Mill Bridge closed?"])[0, 0]) > 0.8


def test_one_answer_makes_no_ambiguous_question(train: Train) -> None:
    offices = [one.model_copy(update={"text": one.text.replace("2013", "2019")}) for one in OFFICES]
    found = train([OSLO], offices, trust_read=trusting)
    assert [len(one.readings) for one in found.questions] == [1]


def test_plain_questions_are_kept_however_few_are_ambiguous(train: Train) -> None:
    questions = train([DEAN, SAND]).questions
    assert [one.question for one in questions] == [DEAN.question, SAND.question]
    assert all(one.ambiguity == "none" and one.readings[0].question == one.question for one in questions)


def test_beyond_a_number_there_are_half_as_many_plain_ones_again(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_set, "_PLAIN", 0)
    length = made("How long is Mill Bridge (Ely)?", "90 metres", "a")
    maker = made("Who designed Dean Tunnel?", "Max Moe", "d")
    drawn = [train([ELY, BATH, DEAN, SAND, length, maker], seed=seed).questions for seed in range(6)]
    for questions in drawn:
        assert [len(one.readings) for one in questions] == [2, 1]
    assert len({questions[1].question for questions in drawn}) > 1
    assert train([ELY, BATH, DEAN, SAND], seed=3).questions == train([ELY, BATH, DEAN, SAND], seed=3).questions


OTHERS = [
    Passage(
        pid="f",
        title="2014 Lakeland Games",
        text="The 2014 Lakeland Games were held in Perth. The 2014 Lakeland Games were opened by Ida Berg.",
    ),
    Passage(pid="g", title="2018 Lakeland Games", text="The 2018 Lakeland Games were held in Leeds."),
    Passage(pid="h", title="Ada Lind", text="Ada Lind (born 3 May 1909) was a singer. She died in Oslo."),
    Passage(pid="i", title="Max Lind", text="Max Lind (born 8 June 1951) was a painter. He died in Rome."),
    Passage(pid="j", title="Cove Railway Society", text="The Cove Railway Society (CRS) was founded in 1931."),
    Passage(pid="k", title="Crown Road Singers", text="The Crown Road Singers (CRS) were founded in 1977."),
    Passage(
        pid="l",
        title="Leeds",
        text="The population of Leeds was 12,000 in 1801. The population of Leeds was 90,000 in 1901.",
    ),
]


@pytest.mark.parametrize(
    ("pairs", "question", "ambiguity"),
    [
        (
            [
                ("Where were the 2014 Lakeland Games held?", "Perth", "f"),
                ("Where were the 2018 Lakeland Games held?", "Leeds", "g"),
            ],
            "Where were the Lakeland Games held?",
            "subject",
        ),
        (
            [("When was Ada Lind born?", "3 May 1909", "h"), ("When was Max Lind born?", "8 June 1951", "i")],
            "When was Lind born?",
            "subject",
        ),
        (
            [
                ("When was the Cove Railway Society founded?", "1931", "j"),
                ("When were the Crown Road Singers founded?", "1977", "k"),
            ],
            None,
            "subject",
        ),
        (
            [
                ("What was the population of Leeds in 1801?", "12,000", "l"),
                ("What was the population of Leeds in 1901?", "90,000", "l"),
            ],
            "What was the population of Leeds?",
            "time",
        ),
    ],
)
def test_what_questions_may_share(
    pairs: list[tuple[str, str, str]], question: str | None, ambiguity: str, train: Train
) -> None:
    """Editions of one thing, a surname, an abbreviation, two times."""
    generated = [made(*pair) for pair in pairs]
    found = train(generated, [*CORPUS, *OTHERS])
    (one,) = ambiguous(found.questions)
    assert one.ambiguity == ambiguity
    assert [(r.question, r.short_answers[0], r.pid) for r in one.readings] == pairs
    assert one.question in ((question,) if question else ("When was the CRS founded?", "When were the CRS founded?"))


def test_no_ambiguous_question_takes_the_place_of_another(train: Train) -> None:
    cups = [
        Passage(pid="y", title="Cup (Ely)", text="Ida Lind won the Cup (Ely)."),
        Passage(pid="z", title="Cup (Bath)", text="Tom Rye won the Cup (Bath)."),
        Passage(pid="t", title="Sport", text="Ada Berg won the Cup in 2008. Max Moe won the Cup in 2012."),
    ]
    pairs = [("(Ely)", "Ida Lind", "y"), ("(Bath)", "Tom Rye", "z")]
    pairs += [("in 2008", "Ada Berg", "t"), ("in 2012", "Max Moe", "t")]
    found = train([made(f"Who won the Cup {which}?", answer, pid) for which, answer, pid in pairs], [*CORPUS, *cups])
    (one,) = ambiguous(found.questions)
    assert (one.question, one.ambiguity) == ("Who won the Cup?", "subject")
    assert found.reasons == {"asks what another ambiguous question asks": 2}


def test_what_is_dropped_is_told_with_the_reason(train: Train) -> None:
    bad = [
        made("What is the name of Dean Tunnel?", "Dean", "d"),
        made("When was Dean Funnel opened?", "1771", "d"),
        made("When was Sand Tunnel opened in 1771?", "1802", "e"),
    ]
    found = train([DEAN, *bad])
    assert [one.question for one in found.questions] == [DEAN.question]
    told = {one.question: one.why for one in found.dropped}
    assert told[bad[0].question] == "asks for a name only"
    assert told[bad[1].question] == "has a name that its passage lacks: Funnel"
    assert bad[2].question in told
    assert found.reasons["has a name that its passage lacks"] == 1
    assert sum(found.reasons.values()) == len(found.dropped) == 3


def test_what_asks_the_same_of_one_thing_twice_is_dropped_with_the_reason(train: Train) -> None:
    again = made("When was the Mill Bridge (Ely) opened?", "1894", "a")
    found = train([ELY, again, BATH, ROAD])
    assert [len(one.readings) for one in found.questions] == [3]
    assert [(one.question, one.why) for one in found.dropped] == [(again.question, "is asked already")]
    rules = [
        Passage(pid=pid, title=f"Contract ({name}) › Fees", text=f"The monthly fee is {fee} euros.")
        for pid, name, fee in (("f", "Acme", 42), ("g", "Globex", 31), ("h", "Acme", 42))
    ]
    asked = GeneratedQuestion(
        question="What is the monthly fee?", answers=("42 euros", "31 euros", "42 euros"), pids=("f", "g", "h")
    )
    assert [(one.pid, one.why) for one in train([asked], rules).dropped] == [("h", "is asked already")]


def test_what_is_not_trusted_is_dropped_but_the_best(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str, Passage]] = []

    def trust(asked: Sequence[tuple[str, str, Passage]]) -> list[float]:
        seen.extend(asked)
        return [{"d": 0.5, "e": 0.3, "c": 0.9}[passage.pid] for _, _, passage in asked]

    def kept(few: int) -> set[str]:
        monkeypatch.setattr(training_set, "_FEW", few)
        found = train([ROAD, DEAN, SAND], trust=trust)
        dropped = {one.question for one in found.dropped}
        assert {one.why for one in found.dropped} <= {"the model that asked it does not trust it"}
        assert dropped | {one.question for one in found.questions} == {ROAD.question, DEAN.question, SAND.question}
        return {one.question for one in found.questions}

    assert kept(1) == {ROAD.question}
    assert kept(2) == {ROAD.question, DEAN.question}
    assert kept(9) == {ROAD.question, DEAN.question, SAND.question}
    assert seen[:2] == [(ROAD.question, "1964", TEXTS["c"]), (DEAN.question, "1771", TEXTS["d"])]
    assert train([], trust=trust).questions == ()


@pytest.mark.parametrize(
    ("asked", "answer", "reading"),
    [
        # the reader does not find that answer
        ("When did Mill Bridge (Bath) open?", "Bath Abbey", []),
        # with the shared name alone it is about the thing of its passage
        ("When did Mill Bridge open?", "3 May 1902", [("When did Mill Bridge (Bath) open?", "b")]),
    ],
)
def test_a_reading_of_several(asked: str, answer: str, reading: list[tuple[str, str]], train: Train) -> None:
    (question,) = train([ELY, made(asked, answer, "b"), ROAD]).questions
    readings = [(one.question, one.pid) for one in question.readings]
    assert readings == [(ELY.question, "a"), *reading, (ROAD.question, "c")]


OFFICES = [
    Passage(pid="m", title="Office in Oslo", text="The office in Oslo was opened in 2019. It has 35 employees."),
    Passage(pid="n", title="Office in Gdansk", text="The office in Gdansk was opened in 2013. It is red."),
]
OSLO = made("When was the Office in Oslo opened?", "2019", "m")
GDANSK = made("When was the Office in Gdansk opened?", "2013", "n")
EMPLOYEES = made("How many employees does the Office in Oslo have?", "35", "m")


def test_namesakes_that_nothing_was_asked_of_are_read(train: Train) -> None:
    generated = [OSLO, EMPLOYEES]
    assert not ambiguous(train(generated, OFFICES).questions)
    found = train(generated, OFFICES, trust_read=trusting)
    (one,) = ambiguous(found.questions)
    assert one.question == "When was the office opened?"
    assert [(r.question, r.short_answers[0], r.pid) for r in one.readings] == [
        ("When was the office in Oslo opened?", "2019", "m"),
        ("When was the office in Gdansk opened?", "2013", "n"),
    ]
    assert [len(question.readings) for question in found.questions] == [2, 1], "the other gives no number"
    moved = Passage(pid="o", title="Office in Gdansk", text="The office in Gdansk was opened again in 2016.")
    (one,) = ambiguous(train(generated, [*OFFICES, moved], trust_read=trusting).questions)
    assert [r.pid for r in one.readings] == ["m", "n"], "nobody could tell two readings about one thing apart"
    doubting = train(generated, OFFICES, trust_read=doubtful)
    assert not ambiguous(doubting.questions)
    assert found.families == {"the office": ("Office in Oslo", "Office in Gdansk")}


def test_the_same_words_are_compared_once(encoder: Encoder, reader: Reader) -> None:
    compared: list[int] = []

    class Watched:
        def similarity(self, *texts: Sequence[str]) -> object:
            compared.append(len(texts[0]))
            return encoder.similarity(*texts)

    found = training_questions([OSLO, GDANSK], OFFICES, encoder=Watched(), reader=reader)
    assert ([len(one.readings) for one in found.questions], compared) == ([2], [1])


def test_what_a_language_model_asked_of_namesakes_is_used(train: Train) -> None:
    asked = AskedOfNamesakes("When was the office opened?", (("2019", "m"), ("2013", "n")))
    twice = AskedOfNamesakes("When was the office first opened?", (("2019", "m"), ("2013", "n")))
    found = train([], OFFICES, asked=[asked, twice])
    (one,) = found.questions
    assert [r.question for r in one.readings] == [
        "When was the office in Oslo opened?",
        "When was the office in Gdansk opened?",
    ]


def test_what_two_namesakes_were_asked_is_trusted(train: Train) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_set, "_FEW", 0)
        found = train([OSLO, GDANSK, EMPLOYEES], OFFICES, trust=doubtful)
    assert [len(one.readings) for one in found.questions] == [2]
    assert [one.why for one in found.dropped] == ["the model that asked it does not trust it"]


def test_sentences_of_the_reference_answer_are_understood_by_themselves() -> None:
    readings = [
        Reading("How long is Mill Bridge (Ely)?", ("90 metres",), "a"),
        Reading("When was Mill Bridge (Bath) closed?", ("1950",), "b"),
    ]
    assert long_answer(readings, TEXTS) == "Mill Bridge (Ely) is 90 metres long. Mill Bridge (Bath) was closed in 1950."


def test_a_section_is_named_by_its_heading_or_its_document_where_that_tells_it_apart() -> None:
    texts = {
        "Prices › Lake Cabin": "The lake cabin costs 80 euros.",
        "Prices › Forest Cabin": "It costs 95 euros.",
        "Acme › Fees": "Fees are 10 euros.",
        "Globex › Fees": "Fees are 20 euros, says Globex.",
    }
    corpus = {title: Passage(pid=title, title=title, text=text) for title, text in texts.items()}
    prices = dict(zip(texts, (80, 95, 10, 20), strict=True))
    readings = [Reading("How much is it?", (f"{price} euros",), title) for title, price in prices.items()]
    assert long_answer(readings, corpus) == (
        "The lake cabin costs 80 euros. Prices › Forest Cabin: It costs 95 euros. "
        "Acme › Fees: Fees are 10 euros. Fees are 20 euros, says Globex."
    )


@pytest.mark.parametrize(
    ("title", "text", "asked"),
    [
        # without an article
        ("Rest › Award leave", "Award leave is granted by Ida Berg. The leave is paid.", "Who grants award leave?"),
        # a part of a longer name is no shared name
        (
            "Rest › Using sick leave",
            "The advanced sick leave is granted by Ida Berg.",
            "Who grants the advanced sick leave?",
        ),
    ],
)
def test_what_is_asked_of_a_section_stays_as_it_was_asked(title: str, text: str, asked: str, train: Train) -> None:
    sick = Passage(pid="s", title="Rest › Sick leave", text="The sick leave needs a form. The leave is paid.")
    corpus = [sick, Passage(pid="a", title=title, text=text)]
    (question,) = train([made(asked, "Ida Berg", "a")], corpus).questions
    assert question.question == question.readings[0].question == asked


def test_passages_that_share_a_name_are_picked_first() -> None:
    assert {passage.pid for passage in pick_passages(CORPUS, 3)} == {"a", "b", "c"}
    assert len(pick_passages(CORPUS, 4)) == 4
    assert pick_passages(CORPUS, 99) == CORPUS


def test_a_long_section_is_no_family_and_its_third_part_comes_last() -> None:
    section = [Passage(pid=f"s{at}", title="Rules", text=f"Rule {at}.") for at in range(9)]
    others = [
        Passage(pid=f"o{at}", title=title, text="It is.") for at, title in enumerate(("Ale", "Bee", "Cow", "Dog"))
    ]
    for seed in range(5):
        picked = {passage.pid for passage in pick_passages([*section, *others], 6, seed)}
        assert picked == {"s0", "s1", "o0", "o1", "o2", "o3"}


def plain(id: str, *pids: str) -> Question:
    return Question(id, f"What is {id}?", tuple(Reading(f"What is {id}?", ("it",), pid) for pid in pids))


def test_questions_about_one_passage_stay_on_one_side() -> None:
    questions = [plain("q1", "a", "b"), plain("q2", "c"), plain("q3", "b"), plain("q4", "d"), plain("q5", "d", "c")]
    for seed in range(10):
        train, held_out = split_questions(questions, seed=seed)
        assert {one.id for one in train} | {one.id for one in held_out} == {"q1", "q2", "q3", "q4", "q5"}
        sides = [{reading.pid for one in side for reading in one.readings} for side in (train, held_out)]
        assert not sides[0] & sides[1]
        assert train
        assert held_out
    without = [Question(f"q{n}", f"What is {n}?", (Reading("What?", ("it",)),)) for n in range(10)]
    train, held_out = split_questions(without)
    assert (len(train), len(held_out)) == (6, 4)
    assert split_questions(without, seed=1) != split_questions(without, seed=2)
    with pytest.raises(PolyqaError, match="cannot be split"):
        split_questions([plain("q1", "a"), plain("q2", "a")])
