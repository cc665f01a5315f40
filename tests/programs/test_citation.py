import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.base.values import Interpretation, Passage
from polyqa.programs.citation import cite, with_marks

PASSAGES = [
    Passage(pid="film-1953", title="Titanic (1953 film)", text="It came out on April 16, 1953."),
    Passage(pid="film-1997", title="Titanic (1997 film)", text="It opened in 1997 and won 11 Oscars."),
    Passage(pid="ship", title="RMS Titanic", text="The ship sank in 1912. The 1997 film tells of it."),
]


def cited(answer: str, pid: str | None) -> str | None:
    reading = Interpretation(question="When did Titanic come out?", answer=answer, pid=pid)
    (result,) = cite([reading], PASSAGES)
    assert (result.question, result.answer) == (reading.question, answer)
    return result.pid


@pytest.mark.parametrize(
    ("answer", "pids", "source"),
    [
        ("1953", ["1", "[1]", "passage 1", " 1 ", "01"], "film-1953"),
        ("1997", ["3"], "ship"),  # a number that holds comes before an earlier passage that holds, too
        ("1997", ["2", "1"], "film-1997"),  # where it does not, the first passage with the answer
        ("1912", [None, "", "none", "the ship"], "ship"),
        ("1953", ["0", "4", "99", "1953", "9" * 5_000], "film-1953"),  # out of range
        ("in the spring", [None, "", "unknown", "0", "4", "7", "99"], None),
        ("the spring of that year", ["2"], "film-1997"),  # in other words than the passage's
        ("1912; 1997", [None, "2"], "ship"),  # all of several answers
        ("1912; 2012", [None], "ship"),  # or else one of them
        ("1953; 1912", [None], "film-1953"),
        ("1953; 1912", ["3"], "ship"),
        ("2012; 2013", ["1"], "film-1953"),
        ("2012; 2013", [None], None),
        ("april 16 1953", [None], "film-1953"),
        ("APRIL  16,\n1953.", [None], "film-1953"),
        ("195", [None], None),  # whole words
        ("Oscar", [None], None),
        ("RMS Titanic", [None], "ship"),  # in the title
        ("", [None], None),
        ("?!", ["2"], "film-1997"),
    ],
)
def test_a_citation_holds_where_one_can(answer: str, pids: list[str | None], source: str | None) -> None:
    assert {pid: cited(answer, pid) for pid in pids} == dict.fromkeys(pids, source)


def test_a_figure_stands_only_as_a_whole() -> None:
    old = Passage(pid="old", title="Old Bridge", text="It is 1.5 km long and cost 1,500 pounds.")
    new = Passage(pid="new", title="New Bridge", text="It is 5 km long and cost 500 pounds.")
    for answer in ("5 km", "500 pounds"):
        (found,) = cite([Interpretation(question="How long is it?", answer=answer)], [old, new])
        assert found.pid == "new"
    told = with_marks("It is 1.5 km long.", [found.model_copy(update={"answer": "5 km"})], [old, new])
    assert told == "It is 1.5 km long."


def test_no_passages_no_citations() -> None:
    readings = [Interpretation(question="When?", answer="1953", pid="1")]
    assert [reading.pid for reading in cite(readings, [])] == [None]
    assert cite([], PASSAGES) == []


def test_the_order_of_the_interpretations_is_kept_and_the_given_ones_are_not_changed() -> None:
    readings = [Interpretation(question="When?", answer=year) for year in ("1997", "1912", "1953")]
    assert [reading.pid for reading in cite(readings, PASSAGES)] == ["film-1997", "ship", "film-1953"]
    assert all(reading.pid is None for reading in readings)


@given(st.text(max_size=20), st.none() | st.text(max_size=12))
def test_a_citation_is_always_one_of_the_passages_or_none(answer: str, pid: str | None) -> None:
    assert cited(answer, pid) in {None, *(passage.pid for passage in PASSAGES)}


READINGS = [
    Interpretation(question="When did the 1953 film come out?", answer="April 16, 1953", pid="film-1953"),
    Interpretation(question="When did the 1997 film come out?", answer="1997", pid="film-1997"),
    Interpretation(question="When was the film about the ship made?", answer="1997", pid="ship"),
    Interpretation(question="When was it made?", answer="1912", pid=None),
]


WON = [Interpretation(question="When did Titanic win?", answer="1997; 11 Oscars", pid="film-1997")]


@pytest.mark.parametrize(
    ("readings", "answer", "marked"),
    [
        (READINGS, "It came out on April 16, 1953.", "It came out on April 16, 1953 [1]."),
        (READINGS, 'He said "in 1997." It won.', 'He said "in 1997 [2]." It won.'),
        (READINGS, "It opened in 1997 and won 11 Oscars.", "It opened in 1997 and won 11 Oscars [2]."),
        (READINGS, "The 1997 film tells of the ship", "The 1997 film tells of the ship [3]"),
        (
            READINGS,
            "On April 16, 1953 and in 1997 it opened!\n\nWhy?",
            "On April 16, 1953 and in 1997 it opened [1][2]!\n\nWhy?",
        ),
        (READINGS, "It opened in 1997 [9].", "It opened in 1997 [9]."),
        (READINGS, "It sank in 1912.", "It sank in 1912."),
        (READINGS, "", ""),
        # each of several answers marks its own sentence
        (
            WON,
            "It opened in 1997. It won 11 Oscars. It has 11 songs.",
            "It opened in 1997 [2]. It won 11 Oscars [2]. It has 11 songs.",
        ),
        # a sentence without a reading names the passage that says all of it
        ([], "The 1997 film tells of the RMS Titanic.", "The 1997 film tells of the RMS Titanic [3]."),
        ([], "RMS Titanic’s ship sank in 1912.", "RMS Titanic’s ship sank in 1912 [3]."),
        ([], "The 1997 film won 11 Oscars.", "The 1997 film won 11 Oscars [2]."),
        ([], "The ship won 11 Oscars in 1953.", "The ship won 11 Oscars in 1953."),
        ([], "It sank.", "It sank."),
        # what opens an answer says only what it is about
        (READINGS, "It can mean the 1953 film or one of 1997.", "It can mean the 1953 film or one of 1997."),
    ],
)
def test_sentences_name_their_sources(readings: list[Interpretation], answer: str, marked: str) -> None:
    assert with_marks(answer, readings, PASSAGES) == marked


@pytest.mark.parametrize(("cited", "mark"), [(("1995", "1940"), 1), (("1940",), 1)])
def test_a_sentence_is_not_of_a_namesake_of_whom_another_reading_tells_the_same(
    cited: tuple[str, ...], mark: int
) -> None:
    texts = {"1995": "Colin Firth was Darcy to the Elizabeth of Jennifer Ehle.", "1940": "Elizabeth was Greer Garson."}
    shown = [Passage(pid=pid, title=f"Pride and Prejudice ({pid})", text=text) for pid, text in texts.items()]
    answers = {"1995": "Colin Firth", "1940": "Elizabeth"}
    readings = [Interpretation(question="Who played Darcy?", answer=answers[pid], pid=pid) for pid in cited]
    sentence = texts["1995"].removesuffix(".")
    assert with_marks(f"{sentence}.", readings, shown) == f"{sentence} [{mark}]."


@given(st.text(alphabet='ab1997. \n"?!', max_size=60))
def test_marks_change_nothing_else(answer: str) -> None:
    marked = with_marks(answer, READINGS, PASSAGES)
    assert re.sub(r" (?:\[\d\])+", "", marked) == answer


@pytest.mark.parametrize(
    ("passages", "answers", "written", "marked"),
    [
        (
            ["长江大桥于1957年建成，位于武汉，全长1670米。", "电影《长江大桥》由李明执导，1962年上映。"],
            ["1957年", "1962年"],
            "问题可以指桥或电影。大桥于1957年建成，位于武汉！电影于1962年上映。",
            "问题可以指桥或电影。大桥于1957年建成，位于武汉[1]！电影于1962年上映[2]。",
        ),
        (
            ["بُني الجسر عام 1957.", "عرض الفيلم عام 1962."],
            ["1957", "1962"],
            "قد يعني السؤال الجسر أو الفيلم. بُني الجسر عام 1957. وعرض الفيلم عام 1962.",
            "قد يعني السؤال الجسر أو الفيلم. بُني الجسر عام 1957 [1]. وعرض الفيلم عام 1962 [2].",
        ),
        (
            ["पुल 1957 में बना।", "फ़िल्म 1962 में आई।"],
            ["1957", "1962"],
            "पुल 1957 में बना। फ़िल्म 1962 में आई।",
            "पुल 1957 में बना [1]। फ़िल्म 1962 में आई [2]।",
        ),
        (
            ["橋は1957年に武漢に完成した。", "映画は1962年に公開された。"],
            ["1957年", "1962年"],
            "橋は1957年に完成した。映画は1962年に公開された。",
            "橋は1957年に完成した[1]。映画は1962年に公開された[2]。",
        ),
        (
            ["Мост построен в 1957 году.", "Фильм вышел в 1962 году."],
            ["в 1957 году", "1962"],
            "Мост построили в 1957 году. Фильм вышел в 1962 году.",
            "Мост построили в 1957 году [1]. Фильм вышел в 1962 году [2].",
        ),
    ],
)
def test_marks_stand_where_they_belong_in_other_languages(
    passages: list[str], answers: list[str], written: str, marked: str
) -> None:
    shown = [Passage(pid=str(number), title="", text=text) for number, text in enumerate(passages)]
    readings = [Interpretation(question="?", answer=answer, pid=str(n)) for n, answer in enumerate(answers)]
    assert with_marks(written, readings, shown) == marked


@pytest.mark.parametrize(
    ("answer", "marked"),
    [
        ("It opened in Utah,[2] and later in 1997.[7][8]", "It opened in Utah, and later in 1997 [1]."),
        ("In 1997 [1] it opened.[8]", "In 1997 [1] it opened.[8]"),  # the language model's own
        ("It takes argv[1] in 1997.", "It takes argv[1] in 1997 [1]."),  # code, as the passage has it
    ],
)
def test_a_mark_that_stands_in_the_passage_is_no_citation(answer: str, marked: str) -> None:
    text = "It opened in Utah,[2] and later in\n1997.[7][8] It takes argv[1] in 1997."
    readings = [Interpretation(question="When did it open?", answer="1997", pid="web")]
    assert with_marks(answer, readings, [Passage(pid="web", text=text)]) == marked
