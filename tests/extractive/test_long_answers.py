import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from solaris import PASSAGES, extract, predict

from polyqa.base.values import Interpretation
from polyqa.extractive.long_answers import opening_of, tidy
from polyqa.extractive.prompt import PromptPassage
from polyqa.signatures import WriteLongFormAnswer


def compose(readings: list[Interpretation], passages: list[str] = PASSAGES, **more: object) -> str:
    return str(predict(WriteLongFormAnswer, passages=passages, interpretations=readings, **more).answer)


def test_the_long_answer_holds_every_reading() -> None:
    readings = extract()
    answer = compose(readings)
    assert all(reading.answer in answer for reading in readings)


def test_the_same_sentence_of_two_passages_is_told_of_both() -> None:
    passages = [f"Annual report {year} | It was signed by Irene Castle." for year in (2019, 2021)]
    readings = [
        Interpretation(question=f"Who signed the annual report of {year}?", answer="Irene Castle", pid=pid)
        for year, pid in ((2019, "1"), (2021, "2"))
    ]
    answer = compose(readings, passages, question="Who signed the annual report?")
    assert "Annual report 2019: It was signed by Irene Castle. Annual report 2021: It was signed" in answer


def test_a_sentence_that_names_its_section_has_no_path_before_it() -> None:
    passages = [
        "Prices › Lake Cabin | The lake cabin costs 80 euros.",
        "Prices › Forest Cabin | The forest cabin costs 95 euros.",
        "Prices › Tent | It costs 20 euros.",
    ]
    readings = [
        Interpretation(question="How much?", answer=f"{price} euros", pid=str(pid))
        for pid, price in enumerate((80, 95, 20), 1)
    ]
    told = "The lake cabin costs 80 euros. The forest cabin costs 95 euros. Prices › Tent: It costs 20 euros."
    assert compose(readings, passages, question="How much is a night?").endswith(told)


def test_parts_of_one_section_have_its_title_before_the_first_sentence() -> None:
    texts = ("Head: Oversees all of it.", "Head: Approves what it costs.")
    passages = [f"Titles › Support Leadership | {text}" for text in texts]
    readings = [
        Interpretation(question="What is the role?", answer=answer, pid=str(pid))
        for pid, answer in enumerate(("Oversees all of it", "Approves what it costs"), 1)
    ]
    told = f"Titles › Support Leadership: {' '.join(texts)}"
    assert compose(readings, passages, question="What is the role of the head?").endswith(told)


def test_a_sentence_that_shares_only_the_qualifier_says_what_it_is_about() -> None:
    passages = [
        "Dune (1984 film) | Dune is a film. Its premiere was at the Eisenhower Center in December 1984.",
        "Dune (2021 film) | Of the films of 2021 this Dune won most awards. It opened in Venice on 3 September 2021.",
    ]
    readings = [
        Interpretation(question="Where did Dune open in 1984?", answer="Eisenhower Center", pid="1"),
        Interpretation(question="Which film won most awards?", answer="most awards", pid="2"),
    ]
    answer = compose(readings, passages)
    assert "Dune (1984 film): Its premiere was at" in answer
    assert "Dune (2021 film): Of the films" in answer


def test_demos_show_how_long_an_answer_is() -> None:
    def demo(words: int) -> dspy.Example:
        return dspy.Example(question="Which?", passages=["A | b"], interpretations=[], answer="word " * words)

    readings = extract()
    bare, short, long = compose(readings), compose(readings, demos=[demo(15)]), compose(readings, demos=[demo(200)])
    assert short == bare
    assert len(bare.split()) < len(long.split()) <= 200
    assert long.startswith(bare)


def test_the_long_answer_states_readings_that_no_passage_holds() -> None:
    answer = compose([Interpretation(question="When did the opera Solaris come out?", answer="2015")])
    assert "2015" in answer
    assert "When did the opera Solaris come out?" in answer


def test_the_long_answer_says_when_nothing_was_found() -> None:
    assert "do not answer" in compose([])


@pytest.mark.parametrize(
    ("title", "text", "tidied"),
    [
        ("Ruble", "The ruble () is a currency. == History == It was struck", "The ruble is a currency. It was struck"),
        ("Franc", "The franc (; ; sign: F) was a currency.", "The franc (sign: F) was a currency."),
        ("Tower Bridge", "Tower Bridge Tower Bridge is a bridge.", "Tower Bridge: Tower Bridge is a bridge."),
        ("Texans", "Texans The Houston Texans play.", "Texans: The Houston Texans play."),
        ("Paris", "Paris Hilton sings.", "Paris Hilton sings."),  # the title opens a name, not a heading
        ("Titanic", "Titanic sank in 1912.", "Titanic sank in 1912."),
        ("FAQ", "## Question: Is C## old? ## Answer: No.", "Question: Is C## old? Answer: No."),
        ("Cast", "== Cast ==\nA star.\n\n== Plot == === Act I === He ran.” == End ==", "A star. He ran.”"),
    ],
)
def test_what_the_web_left_is_left_out(title: str, text: str, tidied: str) -> None:
    passage = tidy(PromptPassage(3, title, text))
    assert (passage.number, passage.title, passage.text) == (3, title, tidied)


@pytest.mark.parametrize(
    "text",
    [
        "An equation: a = b == c holds (1912).",
        "Install torch==2.1.0 and numpy==1.26.4 first.",
        "Use if x == 1 or y == 2 here.",
        "It holds if f(x) == 1 and g(x) == 2.",
        "Call client.get() and then client.close() at the end.",
    ],
)
def test_code_in_a_sentence_stays(text: str) -> None:
    assert tidy(PromptPassage(3, "", text)).text == text


@given(st.text(alphabet="Ab .,;:()'’=\n", max_size=60), st.sampled_from(["", "A", "Ab A"]))
def test_words_stay_but_those_of_headings(text: str, title: str) -> None:
    kept = tidy(PromptPassage(1, title, text)).text
    if "==" not in text:
        assert [c for c in kept if c in "Ab"] == [c for c in text if c in "Ab"]
    assert "  " not in kept


MEANT = "The answer depends on what is meant:"


@pytest.mark.parametrize(
    ("titles", "opening"),
    [
        (("Marrow (1953 film)", "Marrow (ship)"), "Marrow can mean the 1953 film or the ship."),
        (("Marrow (1953 film)", "Marrow (NASA)", "Marrow (ship)"), "Marrow can mean the 1953 film, NASA or the ship."),
        (("Marrow Cup", "Marrow (ship)"), "The answer depends on what is meant: Marrow Cup or the ship Marrow."),
        (("Shop › Marrow (ship)", "Shop › Marrow (NASA)"), "Marrow can mean the ship or NASA."),
        (("Contract (Acme) › Fees", "Contract (Globex) › Fees"), "Contract can mean Acme or Globex."),
        (("pip install › Examples", "pip freeze › Examples"), f"{MEANT} pip install or pip freeze."),
        (("pip › Cache", "pip › Files › Proxy"), f"{MEANT} Cache or “Proxy” in Files."),
        (
            ("Falcon › Falcon 3", "Falcon › Falcon 2", "Plan › Falcon 2"),
            f"{MEANT} Falcon 3, Falcon 2 or “Falcon 2” in Plan.",
        ),
        (("Marrow (ship) › Sale", "Cup"), f"{MEANT} “Sale” in the ship Marrow or Cup."),
        (("Marrow (ship)", "Marrow (ship)"), "The answer depends on what is meant: in 1950 or in 1951."),
        ((), "The answer depends on what is meant: in 1950 or in 1951."),
    ],
)
def test_the_opening_says_what_the_question_may_mean(titles: tuple[str, ...], opening: str) -> None:
    cited = [PromptPassage(number, title, "") for number, title in enumerate(titles, 1)]
    readings = [
        Interpretation(question=f"Who sold Marrow in {1950 + place}?", answer="Orla Venn")
        for place in range(max(2, len(titles)))
    ]
    assert opening_of("Who sold Marrow?", readings, cited) == opening


def test_where_nothing_tells_what_is_meant_there_is_no_opening() -> None:
    readings = [Interpretation(question="Who sold Marrow?", answer=name) for name in ("Orla", "Venn")]
    assert not opening_of("Who sold Marrow?", readings)


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("It was sold in 1911.", "Marrow (ship): It was sold in 1911."),
        ("In May 1911 it was sold.", "Marrow (ship): In May 1911 it was sold."),
        ("Its owner in 1911 was Orla Venn.", "Marrow (ship): Its owner in 1911 was Orla Venn."),
        ("Orla Venn sold it in 1911.", "Marrow (ship): Orla Venn sold it in 1911."),
        ("Orla Venn sold the ship Marrow in 1911.", " Orla Venn sold the ship Marrow in 1911."),
    ],
)
def test_evidence_names_its_subject(sentence: str, told: str) -> None:
    passages = [f"Marrow (ship) | Marrow is a ship. {sentence} It is blue.", "Marrow (song) | Marrow was sung in 1950."]
    readings = [
        Interpretation(question="When was the ship Marrow sold?", answer="1911", pid="1"),
        Interpretation(question="When was the song Marrow sung?", answer="1950", pid="2"),
    ]
    assert told in compose(readings, passages)


@pytest.mark.parametrize(
    ("passages", "question", "answers", "told"),
    [
        pytest.param(
            ["Leave | Staff have 27 days of leave. It is paid. In Oslo it is 25 days."],
            *("What is leave?", ["paid"], "Leave: It is paid."),
            id="the title stands before a pronoun",
        ),
        pytest.param(
            ["Tarn Bridge (Marrow) | Tarn Bridge was opened in 1911. It is green.", "Tarn Bridge (Venn) | It is red."],
            *("When was Tarn Bridge opened?", ["1911"], "Tarn Bridge was opened in 1911."),
            id="nothing but the readings",
        ),
        pytest.param(
            ["Tern | Tern came out for phones in April 2017 and for desks in May 2017."],
            *("When did Tern come out?", ["April 2017", "May 2017"]),
            "Tern came out for phones in April 2017 and for desks in May 2017.",
            id="a sentence that answers two readings is told once",
        ),
        pytest.param(
            ["Ida Berg | Ida Berg is a lawyer. She came in 2019 and is the safety officer."],
            *("Who is the safety officer?", ["Ida Berg"], "Ida Berg: She came in 2019 and is the safety officer."),
            id="the title is the answer",
        ),
        pytest.param(
            [f"Old Pier | Home {'Search Contact ' * 40} built 1902."],
            *("When was Old Pier built?", ["1902"], "When was Old Pier built? 1902."),
            id="a menu is no sentence",
        ),
    ],
)
def test_readings_are_told_each_by_its_sentence(
    passages: list[str], question: str, answers: list[str], told: str
) -> None:
    readings = [Interpretation(question=question, answer=answer, pid="1") for answer in answers]
    assert compose(readings, passages, question=question) == told
