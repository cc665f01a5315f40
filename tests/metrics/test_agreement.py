import pytest

from polyqa.metrics.agreement import agree, repeats, says


@pytest.mark.parametrize(
    ("answer", "other", "same"),
    [
        ("Nagano", "Nagano, Japan", True),
        ("Nagano", "Turin", False),
        ("4 November 2001", "16 November 2001", False),
        ("November 2001", "16 November 2001", True),
        ("May 4, 1987", "4 May 1987", True),
        ("3 seasons", "6 seasons", False),
        ("Queen Anne", "Anne", True),
        ("", "x", False),
        (";", "1953", False),
        ("1953; 1997", "1997", True),
        ("1953;1997", "1997; 1953", True),
        ("Nagano; Turin", "Nagano, Japan", True),
        ("Nagano; Turin", "Turin; Vancouver", False),
        ("Ann; Bob; Cid; Dan; Eve", "Eve", True),
        ("Steins;Gate", "Gate", False),
        ("ten", "10", True),
        ("eighth season", "season 8", True),
        ("the 8th", "eighth", True),
        ("First Republic", "Second Republic", False),
        ("two", "3", False),
        ("3 million", "3 billion", False),
        ("3 million", "3", False),
        ("1.5 million", "1,500,000", True),
        ("$3.25 billion", "3,250 million dollars", True),
        ("two hundred thousand", "200,000", True),
        ("1.2345 thousand", "1,234.5", True),
        ("Taylor_Swift", "Taylor Swift", True),
        ("Spider-Man", "spider man", True),
        ("png_free", "png_free_data", False),
        ("1 12", "11 2", False),
        ("4 May 1902", "4 June 1902", False),
        ("4 Sept 1902", "4 September 1902", True),
        ("2 Oct 2023", "2 Nov 2023", False),
        ("2023-10-02", "October 2, 2023", True),
        ("2023-10-02", "2023-11-02", False),
        ("02-Oct-2023", "2 October 2023", True),
        ("Jan Steen", "January Steen", True),
        ("Jan", "January", False),
        ("1.5 km", "15 km", False),
        ("$1.2 million", "$12 million", False),
        ("-5 °C", "5 °C", False),
        ("1.500 men", "1500 men", True),
        ("1990-1995", "1990–1995", True),
    ],
)
def test_answers_agree_in_words_and_numbers(answer: str, other: str, same: bool) -> None:
    assert agree(answer, [other]) is same
    assert agree(other, [answer]) is same


@pytest.mark.parametrize(
    ("text", "answer", "said"),
    [("It is 1.5 km long.", "5 km", False), ("It is 1.5 km long.", "1.5 km", True), ("Of 1,500 men", "1500 men", True)],
)
def test_a_sentence_says_whole_figures(text: str, answer: str, said: bool) -> None:
    assert says(text, answer) is said


def test_one_of_several_is_enough() -> None:
    assert agree("1997", ["1953", "in 1997"])
    assert not agree("1997", [])


@pytest.mark.parametrize(
    ("answer", "other", "repeated"),
    [
        ("Texas Giant", "Texas SkyScreamer", False),
        ("University of Oxford", "University of Cambridge", False),
        ("George Bush", "George Clinton", False),
        ("Glen Campbell", "Campbell", True),
        ("the eighth season", "season 8", True),
        ("16 November 2001", "2001", True),
        ("16 November 2001", "4 November 2001", False),
        ("Massimo_Stanzione", "Massimo Stanzione", True),
        ("1953; 1997", "1997", True),
        ("", "x", False),
    ],
)
def test_an_answer_repeats_another_if_only_one_has_words_of_its_own(answer: str, other: str, repeated: bool) -> None:
    assert repeats(answer, [other]) is repeated
    assert repeats(other, [answer]) is repeated
    assert not repeated or agree(answer, [other])
