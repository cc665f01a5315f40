"""The embedded engine hears plain clauses in an instruction, in other words than its own, and does what they say."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import dspy
import pytest
from scripted_engine import ScriptedEngine, scripted_lm
from solaris import PASSAGES, QUESTION, predict

from polyqa.extractive import ExtractiveEngine
from polyqa.extractive.clauses import CLAUSES, Clauses, hear, parts_of
from polyqa.extractive.engine import TASKS
from polyqa.extractive.evidence import gather
from polyqa.extractive.obeying import worded
from polyqa.extractive.prompt import parse_passages
from polyqa.lm.adapter import LeanAdapter
from polyqa.optimizers.clauses import LIBRARY
from polyqa.signatures import ClarifyQuestion, VerifyInterpretation, WriteLongFormAnswer

OWN = ClarifyQuestion.instructions
# Words that are none of the engine's wordings.
HEARD: Mapping[str, dict[str, Any]] = {
    "Never list more than three readings.": {"most": 3},
    "Return a single interpretation.": {"most": 1},
    "No more than 4 interpretations, please.": {"most": 4},
    "One answer is enough: limit yourself to the single likeliest reading.": {"most": 1},
    "At least two readings are wanted.": {"least": 2},
    "We expect three or more readings.": {"least": 3},
    "Leave out any reading you are not sure about.": {"certainty": "certain"},
    "Only include an interpretation if the evidence is strong.": {"certainty": "certain"},
    "If a reading is only weakly supported, include it anyway.": {"certainty": "possible"},
    "List all plausible interpretations, even unlikely ones.": {"certainty": "possible"},
    "The long answer should have about 60 words.": {"words": 60},
    "Use no more than fifty words.": {"words": 50},
    "Quote the passage verbatim.": {"manner": "quote"},
    "Simply state each question and its answer.": {"manner": "state"},
    "Years are enough for dates: give only the year.": {"years": True},
    "If in doubt, say No.": {"doubt": "no"},
    "When you are unsure, answer Yes.": {"doubt": "yes"},
    "If two passages agree on an answer, rank it higher.": {"agreed": True},
    "Answers found in more than one passage are better.": {"agreed": True},
}
NO_CLAUSES = (
    "You are a helpful expert in question answering.",
    "Think step by step.",
    "Use only the passages.",
    "Copy the answer from the passage.",
    "Write in a friendly tone.",
    "Each reading keeps the wording of the question.",
    "Give the number of the passage.",
    "Do not add facts.",
    "Find all readings of the ambiguous question that the passages answer.",
    "For each reading write a question of its own and a short answer.",
    "The long answer has at least three sentences.",
    "Do not quote the passages.",
    "Do not give only one reading.",
    "The user may be a student.",
    "The newest one counts as any other.",
    "Give the newest reading first.",
    "Answer in at most 3 sentences.",
    "Give full dates, with day and month.",
    "Keep each short answer as short as possible: the bare name or figure, without roles or descriptions.",
    "Prefer passages whose title matches the question.",
    "Call a question ambiguous only if two readings have different answers.",
)


@pytest.mark.parametrize("text", HEARD)
def test_a_clause_is_heard_in_other_words_wherever_it_stands(text: str, engine: ExtractiveEngine) -> None:
    encoder = engine.models.encoder
    for instruction in (f"{OWN}\n{text}", f"{text} {OWN}", f"{OWN}\n- {text}\n- Think step by step.", text):
        assert vars(hear(instruction, OWN, encoder).clauses).items() >= HEARD[text].items(), instruction


@pytest.mark.parametrize("text", NO_CLAUSES)
def test_what_is_no_clause_is_told_and_changes_nothing(text: str, engine: ExtractiveEngine) -> None:
    heard = hear(f"{OWN}\n{text}", OWN, engine.models.encoder)
    assert (heard.told, heard.unheeded(())) == (((text, {}),), (text,))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_the_task_itself_holds_no_clause(task: type[dspy.Signature], engine: ExtractiveEngine) -> None:
    assert hear(task.instructions, task.instructions, engine.models.encoder).told == ()
    assert engine.unheeded(task) == ()


def test_the_last_of_two_that_contradict_each_other_holds(engine: ExtractiveEngine) -> None:
    heard = hear(f"{OWN}\nGive at most two readings. Give at most four readings.", OWN, engine.models.encoder)
    assert heard.clauses.most == 4


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.name)
def test_each_clause_knows_its_own_wordings(clause: Any, engine: ExtractiveEngine) -> None:
    for wording in clause.wordings:
        (heard,) = hear(wording, OWN, engine.models.encoder).told
        assert heard[1] == clause.value([int(number) for number in re.findall(r"\d+", wording)]), wording


KNOWN = [(task, one) for task, clauses in LIBRARY.items() if task in TASKS and TASKS[task].obeys for one in clauses]
FOR_LANGUAGE_MODELS = {
    *("search-words", "newest-first", "oldest-first", "full-dates", "brief", "full-names", "distinguish", "titles")
}


@pytest.mark.parametrize(("task", "one"), KNOWN, ids=lambda value: getattr(value, "name", value.__class__.__name__))
def test_the_engine_obeys_the_clauses_of_the_library(task: Any, one: Any, engine: ExtractiveEngine) -> None:
    unheeded = engine.unheeded(task.with_instructions(f"{task.instructions}\n{one.text}"))
    assert bool(unheeded) == (one.name in FOR_LANGUAGE_MODELS)


def test_a_clause_of_another_task_is_told(engine: ExtractiveEngine) -> None:
    asked = WriteLongFormAnswer.with_instructions(f"{WriteLongFormAnswer.instructions}\nSay No when in doubt.")
    assert engine.unheeded(asked) == ("Say No when in doubt.",)


def test_lists_and_semicolons_part_an_instruction() -> None:
    text = "Do this:\n- Give two readings.\n* Quote; be brief.\nSome words\nthat go on."
    assert parts_of(text) == ["Do this:", "Give two readings.", "Quote", "be brief.", "Some words", "that go on."]


def clarified(clause: str = "", passages: list[str] = PASSAGES, question: str = QUESTION) -> dspy.Prediction:
    return predict(ClarifyQuestion.with_instructions(f"{OWN}\n{clause}"), passages=passages, question=question)


def answers(clause: str = "", **given: Any) -> list[str]:
    return [reading.answer for reading in clarified(clause, **given).interpretations]


def test_how_many_readings() -> None:
    assert [len(answers(f"Give at most {most} readings.")) for most in ("one", "two", "five")] == [1, 2, 3]
    assert len(answers("Give every possible reading, also those that are not certain.")) >= len(answers()) == 3
    assert 0 < len(answers("Leave out every reading that you are not certain of.")) <= 3


def test_at_least_as_many_as_the_passages_hold() -> None:
    few = ["Ann Lee | Ann Lee painted boats.", "Ann Lee (singer) | Ann Lee was born in Leeds in 1901."]
    assert len(answers("Give at least two readings.", passages=few, question="When was Ann Lee born?")) == 1
    assert len(answers("Give at least four readings.")) >= len(answers())


def test_dates() -> None:
    passages = ["Old Hall | Old Hall was opened on 4 May 1901 by the king."]
    asked = {"passages": passages, "question": "When was Old Hall opened?"}
    assert answers("Give only the year of a date.", **asked) == ["1901"]


def test_the_long_answer() -> None:
    short, long = (clarified(f"Write about {words} words.").answer for words in (40, 130))
    assert len(short.split()) < len(long.split())
    quoted = clarified("Quote the passages word for word.").answer
    sentences = quoted.split("“")[1:]
    assert sentences
    assert all(any(one.partition("”")[0] in passage for passage in PASSAGES) for one in sentences)
    stated = clarified("State each reading with its answer and nothing else.")
    assert all(f"? {one.answer.rstrip('.')}." in stated.answer for one in stated.interpretations)


def test_what_several_passages_say_counts_for_more(engine: ExtractiveEngine) -> None:
    passages = parse_passages(
        "[1] «Old Hall | Old Hall was designed by Robert Mills in 1901.»\n"
        "[2] «Halls | Old Hall was designed by Orla Venn.»\n[3] «Orla Venn | Venn designed Old Hall.»"
    )
    found = [
        replace(one, support=0.5 if "Mills" in one.answer else 0.4)
        for one in gather("Who designed Old Hall?", passages, engine.models, keep=1)
    ]
    plain, told = (worded("Who designed Old Hall?", found, clauses) for clauses in (Clauses(), Clauses(agreed=True)))
    assert [(one.answer, one.support) for one in plain] == [(one.answer, one.support) for one in found]
    assert [one.answer for one in told] == ["Orla Venn", "Venn", "Robert Mills"]
    # 1 - 0.6 * (1 - 0.4 / 2) = 0.52
    assert [one.support for one in told] == pytest.approx([0.52, 0.52, 0.5])


def test_doubt_moves_a_verdict() -> None:
    passages = ["Solaris (novel) | Lem wrote it before 1961, and others read it."]

    def verdict(clause: str) -> str:
        told = VerifyInterpretation.with_instructions(f"{VerifyInterpretation.instructions}\n{clause}")
        return str(predict(told, passages=passages).answerable)

    assert (verdict("Say Yes when in doubt."), verdict("Say No when in doubt.")) == ("Yes", "No")


def test_it_is_the_text_of_the_clause_that_a_language_model_gets() -> None:
    """A model that knows nothing of clauses heeds the sentence: what is compiled here is of use there."""
    scripted = ScriptedEngine(
        lambda prompt: {
            "interpretations": [
                {"question": f"{letter}?", "answer": "b", "pid": "1"}
                for letter in ("ab" if "at most two readings" in prompt.instructions else "abcd")
            ],
            "answer": "b",
        }
    )
    with dspy.context(lm=scripted_lm(scripted), adapter=LeanAdapter()):
        assert [len(answers(clause)) for clause in ("", "Give at most two readings.")] == [4, 2]
