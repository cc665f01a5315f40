"""Long answers are cleaned, and asked again where they refuse although there is something to tell."""

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError

from polyqa.base.values import Interpretation
from polyqa.evaluation.loading import load_questions
from polyqa.lm.long_answers import REFUSED, clean_reply
from polyqa.replies import clean_answer, tells_nothing
from polyqa.signatures import AnswerClosedBook, ExtractInterpretations, LocateAnswer, WriteLongFormAnswer

QUESTION = "When did Titanic come out?"
READINGS = [Interpretation(question="When did the film Titanic come out?", answer="19 December 1997")]
REFUSALS = [
    "I'm sorry, I cannot assist with that.",
    "As an AI language model, I do not have access to release dates.",
    "**I'm sorry, but I can't help with that.**",
    "Regrettably, no passage answers the question.",
    "Apologies, but I can't say.",
    # as models write them about passages, not about themselves
    "The passages do not contain information about when Titanic came out.",
    "The given passages don't mention a release date for Titanic.",
    "Based on the provided passages, I cannot determine when Titanic came out.",
    "Based on the passages provided, there is no information about the release date.",
    "According to the passages, there is no mention of a release date.",
    "There is no information in the passages about when Titanic came out.",
    "There isn't enough information in the passages to answer this question.",
    "None of the passages mention when Titanic came out.",
    "None of the provided passages answer the question.",
    "No information about the release is provided.",
    "No answer can be found in the passages.",
    "The answer cannot be determined from the given passages.",
    "It is not clear from the passages when Titanic came out.",
    "The question cannot be answered with the given information.",
    "Unable to answer based on the provided passages.",
    "Unable to determine the release date.",
    "Insufficient information to answer the question.",
    "I regret that I can't answer that.",
    "I don't know when Titanic came out.",
    "The text does not specify the date.",
    "Neither of the passages mentions the release date.",
    "Looking at the passages, I don't find any information about the release date.",
    "After reviewing the passages, I could not find the answer.",
    "I need more context to answer this question.",
    "Could you please provide more context?",
    "I’m sorry, but I can’t answer that.",
    "I do not have access to the passages.",
    "The passages provided are not relevant to the question.",
    "My sources say nothing about a date.",
    "The retrieved passages fail to mention any release date.",
    "Sorry, I couldn't find that in the passages you gave me.",
    "I'm afraid the context doesn't say.",
    "The passages only discuss the ship and do not mention a release date.",
    "Nothing in the passages answers this question.",
    "As of my last knowledge update in October 2023, I don't have information on that.",
    "Although the passages mention the film, none of them gives a release date.",
    "The provided information is insufficient to answer the question.",
    "The passages lack information about the release.",
    "Without more context, I cannot answer this question.",
    "Not enough information.",
    "Thank you for your question. Unfortunately, the passages do not say when it came out.",
    "Passages [1], [2] and [3] do not mention the date.",
]
ANSWERS = [
    "The film came out in December 1997.",
    "I'm Sorry came out in 1960, the film in 1997.",
    "Sorry, Wrong Number is a film of 1948.",
    "No Country for Old Men came out in 2007.",
    "No passage names the musical; the film came out in 1997.",
    "Unknown Pleasures came out in 1979.",
    "It cannot be told from the title alone: there are a film and a musical.",
    "The passages do not name the year of the musical, but the film came out in 1997.",
    "I, Robot came out in 2004.",
    "We Can't Stop is a song of 2013.",
    "Unfortunately for the studio, the film came out late, in 1997.",
    "I'm sorry, but the musical is not in the passages; the film came out on 19 December 1997.",
    "I cannot say when the musical opened. The film came out on 19 December 1997.",
    "Not all agree: the film came out on 1 November 1997 in Tokyo.",
    "As an aide in the film says, it came out in 1997.",
    "N/A is an album of 2003.",
    'No. 1 in 1998 was "My Heart Will Go On".',
    "No team has won it more often than Brazil, with five titles.",
    "No information about the crew survived; the captain was Edward Smith.",
    "No answer was given by Caesar; Brutus struck him in 44 BC.",
    "None of the Beatles was born in London; all four are from Liverpool.",
    "None of the passages across the Alps is open in January, so the race starts in May.",
    "The text of the Second Amendment does not mention hunting.",
    "The Constitution does not contain the word slavery; the Thirteenth Amendment of 1865 does.",
    "It is not known who wrote Beowulf; the manuscript dates from about 1000.",
    "There is no capital of Nauru; its government is in Yaren.",
    "There is no answer key to the Voynich manuscript, now at Yale.",
    "Not mentioned in the will, Cordelia marries the King of France.",
    "Insufficient evidence led the jury to acquit O. J. Simpson on 3 October 1995.",
    "Unable to pay its debts, Lehman Brothers filed for bankruptcy on 15 September 2008.",
    "I Don't Know How to Love Him is sung by Yvonne Elliman.",
    "Unfortunately, there was only room for 1,178 in the lifeboats.",
    "I cannot tell a lie, said George Washington in the tale by Weems.",
    "Based on the novel by Puzo, the film won in 1972.",
    "Could You Be Loved is a song of 1980.",
]


def cleaned(answer: str, readings: list[Interpretation]) -> str:
    reply = dspy.Prediction(answer=answer)
    clean_reply(WriteLongFormAnswer, {"interpretations": readings}, reply, answer)
    return str(reply.answer)


@pytest.mark.parametrize("answer", REFUSALS)
def test_a_refusal_is_no_answer_where_there_is_something_to_tell(answer: str) -> None:
    with pytest.raises(AdapterParseError, match=REFUSED):
        cleaned(answer, READINGS)
    assert cleaned(answer, []) == answer.strip("*"), "and an honest one where there is not"


def test_readings_told_again_and_copied_passages_are_left_out() -> None:
    won = Interpretation(question="Who won in 1998?", answer="France", pid="1")
    again = won.model_copy(update={"question": "who won in 1998?", "pid": "2"})
    copied = (
        "Brazil (1958)?",
        "Brazil (football) - The team of Brazil won five titles. The last of them was that of 2002, in Yokohama?",
        "Brazil (football): its team won the last of five titles in Yokohama in thesummerof2002,beforeacrowdof?",
    )
    passages = [Interpretation(question=question, answer="Brazil", pid="3") for question in copied]
    reply = dspy.Prediction(interpretations=[won, *passages, again])
    clean_reply(ExtractInterpretations, {}, reply, "")
    assert reply.interpretations == [won]


@pytest.mark.parametrize(
    "question",
    [
        "1998年世界杯冠军是谁？",
        "NBA历史得分王是谁?",
        "Ab wann muss man für ein neues Auto in Deutschland eine Kraftfahrzeughaftpflichtversicherung nachweisen?",
    ],
)
def test_a_question_with_few_spaces_is_neither_a_heading_nor_a_passage(question: str) -> None:
    reading = Interpretation(question=question, answer="法国", pid="1")
    reply = dspy.Prediction(interpretations=[reading])
    clean_reply(ExtractInterpretations, {}, reply, "")
    assert reply.interpretations == [reading]


class AnswerFromPassage(dspy.Signature):
    """Answer from the passage, or say none."""

    passage: str = dspy.InputField()
    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


@pytest.mark.parametrize("answer", ["None", "none", "**N/A**", "Answer: 1997"])
def test_an_answer_of_a_users_own_signature_is_left_as_it_is(answer: str) -> None:
    reply = dspy.Prediction(answer=answer)
    clean_reply(AnswerFromPassage, {}, reply, answer)
    assert reply.answer == answer
    with pytest.raises(AdapterParseError):
        cleaned("None", READINGS)


def test_an_answer_from_memory_is_cleaned() -> None:
    reply = dspy.Prediction(answer="Answer: In 1997.")
    clean_reply(AnswerClosedBook, {"question": "When?"}, reply, "")
    assert reply.answer == "In 1997."


@pytest.mark.parametrize("answer", ANSWERS)
def test_what_begins_alike_is_an_answer(answer: str) -> None:
    assert cleaned(answer, READINGS) == answer


@pytest.mark.parametrize(
    "answer",
    [
        *("Answer: In 1997.", "In 1997.\n\nNote: I used the passages.", "```\nIn 1997.\n```"),
        *("In 1997.\nNote: The passages do not say where.", "In 1997.\n\n---\n**Note:** See the passages."),
        *("Here is the long-form answer:\n\nIn 1997.", "Sure! Here's a comprehensive answer: In 1997."),
    ],
)
def test_what_stands_around_it_is_left_out(answer: str) -> None:
    assert cleaned(answer, READINGS) == "In 1997."


@pytest.mark.parametrize(
    "answer",
    ["Here is the song that won: Fly on the Wings of Love.", "Note: a note is a tone.", "In 1997. Note: not here."],
)
def test_what_only_looks_like_talk_around_it_stays(answer: str) -> None:
    assert cleaned(answer, READINGS) == answer


def test_a_refusal_with_the_names_of_the_question_is_one_and_with_others_is_none() -> None:
    asked = [Interpretation(question="When did James Cameron's film Titanic come out?", answer="1997")]
    said = "The passages do not say when James Cameron's Titanic came out."
    with pytest.raises(AdapterParseError, match=REFUSED):
        cleaned(said, asked)
    other = "The passages do not say when the film came out; Kate Winslet is in it."
    assert cleaned(other, asked) == other


def test_every_gold_answer_is_one() -> None:
    questions = [one for split in ("train", "dev", "test") for one in load_questions(f"homonyms/{split}")]
    answers = [(answer, one.question) for one in questions for answer in one.long_answers]
    assert len(answers) > 300
    assert [answer for answer, asked in answers if tells_nothing(answer, asked)] == []
    assert [answer for answer, _ in answers if clean_answer(answer) != answer] == []


@pytest.mark.parametrize("answer", ["null", "N/A", "Answer:"])
def test_a_word_for_nothing_is_no_answer(answer: str) -> None:
    with pytest.raises(AdapterParseError, match="Failed to parse field answer"):
        cleaned(answer, [])


def test_other_replies_are_left_alone() -> None:
    reply = dspy.Prediction(short_answer="Answer: 1997", source="1", settled="Yes")
    clean_reply(LocateAnswer, {"question": QUESTION}, reply, "")
    assert reply.short_answer == "Answer: 1997"


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (
            "It came out in 1997 (Passage 1), in Japan earlier (see passages 2 and 3).",
            "It came out in 1997 [1], in Japan earlier [2, 3].",
        ),
        ("It opened. " * 5 + "It op\nIn 1997.", "It opened.\nIn 1997."),
        ("Passage 1 is a book. C# | Java, #1 in the charts.", "Passage 1 is a book. C# | Java, #1 in the charts."),
        (
            'The passage states that "it came out in 1997". The text says that it was long.',
            '"It came out in 1997". It was long.',
        ),
    ],
)
def test_loops_and_named_passages_are_read_as_prose(reply: str, told: str) -> None:
    assert clean_answer(reply) == told


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("answer (George Bush went to war in 2003.)", "George Bush went to war in 2003."),
        (
            "answer (It flew first (with guests) in 1976.)",
            "It flew first (with guests) in 1976.",
        ),
        ("answer (The long-form answer)\nBush beat Gore in 2000. [1]", "Bush beat Gore in 2000. [1]"),
        (
            "The answer is Harris.\nThis reading is correct because the passage clearly states that it is a novel.",
            "The answer is Harris.\nIt is a novel.",
        ),
        ('It came in 1995, as told by the passage about "Saturn". It sold.', "It came in 1995. It sold."),
        ('It was Greenway. This can be determined from passage [1], which states "Greenway." ', "It was Greenway."),
        ("It came in 1848, as stated in the passage about the novel by Dumas.", "It came in 1848."),
        ("It opened in 1957, as stated in passage [1]. It closed.", "It opened in 1957 [1]. It closed."),
        ("The passage clearly states that Lovell replaced him.", "Lovell replaced him."),
        ("The long-form answer is:\nHarris wrote it.", "Harris wrote it."),
        ("The answer (1902) is old.", "The answer (1902) is old."),
        ("Answers (two of them) are right.", "Answers (two of them) are right."),
        ("The passage about him is long, as stated.", "The passage about him is long, as stated."),
        ("This is evident from the coins.", "This is evident from the coins."),
    ],
)
def test_why_an_answer_is_right_is_left_out(reply: str, told: str) -> None:
    """Such replies a model of 1.5B parameters wrote without demos."""
    assert clean_answer(reply) == told
