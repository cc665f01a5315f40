"""Query refinement, JPR, CRAG and Self-RAG: the real index, the embedded engine, and scripted replies."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import dspy
import numpy as np
import pytest
from scripted_engine import ScriptedEngine, scripted_lm

from polyqa.base.values import Grade, Passage, Support
from polyqa.colbert_index import BiEncoderReranker, FusedRetriever
from polyqa.extractive.prompt import Prompt
from polyqa.metrics.exact_presence import exact_presence
from polyqa.metrics.gold import Question
from polyqa.metrics.text import sentences_by_shape
from polyqa.optimizers.labels import label_demos
from polyqa.programs import JPR, RAC
from polyqa.programs.crag import refine_passages

QUESTION = "When did Titanic come out?"
Parts = tuple[FusedRetriever, BiEncoderReranker]
Fields = Mapping[str, object]


def replying(**replies: Fields | Callable[[Prompt], Fields]) -> ScriptedEngine:
    """Return a language model with one reply per kind of call; the call is known by its first output field."""
    known = {"interpretations": {"interpretations": []}, "answer": {"answer": "An answer."}, **replies}

    def reply(prompt: Prompt) -> Fields:
        given = known[prompt.output_fields[0]]
        return given(prompt) if callable(given) else given

    return ScriptedEngine(reply)


def ask(program: dspy.Module, engine: ScriptedEngine) -> dspy.Prediction:
    with dspy.context(lm=scripted_lm(engine)):
        return program(question=QUESTION)


# --- query refinement ----------------------------------------------------------------------------


def test_refinements_are_answered_from_memory_and_cite_nothing(make: Any) -> None:
    refined = [
        {"question": f"When did film {number} come out?", "answer": str(1990 + number), "pid": "7"}
        for number in range(12)
    ]
    engine = replying(
        refinements={"refinements": refined},
        answer=lambda prompt: {"answer": f"Told: {prompt.inputs['refinements']}"},
    )
    result = ask(make("query-refinement"), engine)
    assert [reading.answer for reading in result.interpretations] == [str(year) for year in range(1990, 2000)]
    assert all(reading.pid is None for reading in result.interpretations)
    assert result.passages == []
    assert "1999" in result.answer
    assert "2000" not in result.answer
    assert len(engine.seen) == 2


# --- JPR -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "chosen"),
    [
        ("[7, 3, 7, 99, 0, 12]", [7, 3, 12]),
        ("Passages 2 and 19.", [2, 19]),
        ("[]", []),
        ("none", []),
        ("1, 2, 3, 4, 5, 6, 7, 8", [1, 2, 3, 4, 5]),
    ],
)
def test_numbers_choose_and_the_best_of_the_rest_fill_up(written: str, chosen: list[int], make: Any) -> None:
    program = make("jpr", preset="paper")
    shortlist = [passage.pid for passage in program.shortlisted(QUESTION)]
    assert len(shortlist) == 20
    engine = replying(selected={"selected": written})
    result = ask(program, engine)
    rest = [number for number in range(1, 21) if number not in chosen]
    assert [passage.pid for passage in result.passages] == [shortlist[n - 1] for n in sorted([*chosen, *rest][:5])]
    assert result.selected == [shortlist[number - 1] for number in chosen]
    assert [passage.pid for passage in result.universe] == shortlist
    assert len(engine.seen) == 3


def test_the_selection_sees_the_shortlist_best_first_and_how_many_are_wanted(make: Any) -> None:
    program = make("jpr", preset="paper", passages=2, shortlist=3)
    engine = replying(selected={"selected": "[3]"})
    ask(program, engine)
    (prompt,) = engine.asked("selected")
    shown = [f"{passage.title} | {passage.text}" for passage in prompt.passages()]
    assert shown == [passage.render() for passage in program.shortlisted(QUESTION)]
    assert prompt.inputs["count"] == "2"


def test_nothing_is_chosen_where_there_is_no_choice(parts: Parts) -> None:
    program = JPR(*parts, preset="paper", passages=5, shortlist=5)
    engine = replying()
    result = ask(program, engine)
    assert len(engine.seen) == 2
    assert result.selected == []
    assert [passage.pid for passage in result.passages] == [passage.pid for passage in RAC(*parts).retrieve(QUESTION)]


# --- CRAG ----------------------------------------------------------------------------------------


def graded(program: Any, *grades: str, query: str = "Titanic film release") -> ScriptedEngine:
    """Return a model that grades passages in the order of the retrieval, and rewrites the question."""
    by_passage = {one.render(): grade for one, grade in zip(program.retrieve(QUESTION), grades, strict=True)}
    return replying(
        grade=lambda prompt: {"grade": by_passage[prompt.inputs["passage"]]}, search_query={"search_query": query}
    )


def pids(passages: list[Passage]) -> set[str]:
    return {passage.pid for passage in passages}


def test_one_correct_passage_keeps_the_retrieval_and_refines_it(make: Any) -> None:
    program = make("crag", preset="paper")
    first = program.retrieve(QUESTION)
    engine = graded(program, "Incorrect", "Correct", "Incorrect", "Ambiguous", "Incorrect")
    result = ask(program, engine)
    assert result.action is Grade.CORRECT
    assert result.grades[:2] == [Grade.INCORRECT, Grade.CORRECT]
    assert result.graded == [passage.pid for passage in first]
    assert list(result.universe) == first
    assert result.search_query == ""
    assert len(engine.seen) == 5 + 2
    texts = {passage.pid: passage.text for passage in first}
    assert pids(result.passages) <= set(texts)
    for passage in result.passages:
        kept, whole = ([one.text for one in sentences_by_shape(text)] for text in (passage.text, texts[passage.pid]))
        assert [sentence for sentence in whole if sentence in kept] == kept
    assert sum(len(passage.text) for passage in result.passages) < sum(map(len, texts.values()))


def test_only_incorrect_passages_are_discarded_and_others_found(make: Any) -> None:
    program = make("crag", preset="paper")
    first = pids(program.retrieve(QUESTION))
    engine = graded(program, *["Incorrect"] * 5, query="Titanic\nocean liner launch")
    result = ask(program, engine)
    assert result.action is Grade.INCORRECT
    assert [prompt.inputs["question"] for prompt in engine.asked("search_query")] == [QUESTION]
    assert result.search_query == "Titanic ocean liner launch"
    assert result.passages
    assert not pids(result.passages) & first
    assert first | pids(result.passages) <= pids(result.universe)
    assert len(result.universe) == 10
    assert len(engine.seen) == 5 + 1 + 2


@pytest.mark.parametrize("query", [" ", "null", "I'm sorry, but I cannot rewrite the question."])
def test_ambiguous_grades_keep_both_and_the_question_is_searched_with_where_no_query_is_written(
    query: str, make: Any
) -> None:
    program = make("crag", preset="paper")
    first = program.retrieve(QUESTION)
    result = ask(program, graded(program, *["Ambiguous"] * 2, *["Incorrect"] * 3, query=query))
    assert result.action is Grade.AMBIGUOUS
    assert result.search_query == QUESTION
    assert pids(result.passages) & pids(first)
    assert pids(result.passages) - pids(first)
    assert len({passage.pid for passage in result.passages}) == len(result.passages)


def test_strips_are_chosen_across_passages_and_keep_title_id_and_order(parts: Parts) -> None:
    passages = [
        Passage(pid="a", title="Comet (ship)", text="A new ship. It came out in 1812. It was sold. It sank in 1820."),
        Passage(pid="b", title="Bread", text="Bread is baked. Ovens are hot."),
        Passage(pid="c", title="Comet (film)", text="Comet is a film. The film Comet came out in 2014."),
    ]
    refined = refine_passages(parts[1], "When did Comet come out?", passages, keep=2)
    assert [passage.pid for passage in refined] == ["a", "c"]
    assert "1812" in refined[0].text
    assert "2014" in refined[1].text
    assert refined[0].title == "Comet (ship)"
    assert "1820" not in refined[0].text
    assert sum(len(sentences_by_shape(passage.text)) for passage in refined) == 4


@pytest.mark.parametrize(("score", "kept"), [(-0.5, 1), (-0.51, 0)])
def test_strips_below_the_papers_threshold_are_dropped(score: float, kept: int) -> None:
    reranker = SimpleNamespace(score=lambda queries, passages: np.full((len(queries), len(passages)), score))
    passages = [Passage(pid="a", title="Comet", text="A ship.")]
    assert len(refine_passages(reranker, "When?", passages, keep=3)) == kept


# --- Self-RAG ------------------------------------------------------------------------------------


def title(prompt: Prompt) -> str:
    return prompt.inputs["passage"].partition(" | ")[0]


def drafting(
    judgements: dict[str, tuple[str, str]], *, needs: str = "Yes", relevant: tuple[str, ...] = ()
) -> ScriptedEngine:
    """Return a model that drafts "About TITLE." from each passage, and judges it by its title."""

    def draft(prompt: Prompt) -> Fields:
        name = title(prompt)
        if relevant and name not in relevant:
            return {"relevant": "No", "readings": [], "segment": "None"}
        reading = {"question": f"When did {name} come out?", "answer": f"in {name}", "pid": "3"}
        return {"relevant": "Yes", "readings": [reading], "segment": f"About {name}."}

    def critique(prompt: Prompt) -> Fields:
        support, usefulness = judgements.get(title(prompt), ("No support", "1"))
        return {"support": support, "usefulness": usefulness}

    memory = {"answer": "From memory."}
    return replying(needs_passages={"needs_passages": needs}, relevant=draft, support=critique, answer=memory)


def test_the_best_rated_segments_make_the_answer_best_first(make: Any) -> None:
    program = make("self-rag")
    titles = {passage.pid: passage.title for passage in program.retrieve(QUESTION)}
    one, two, three, four, five = titles.values()
    judgements = {
        one: ("Partially supported", "4"),  # 1 + 0.5 + 0.25
        two: ("Fully supported", "4"),  # 1 + 1 + 0.25
        three: ("Fully", "5"),  # 1 + 1 + 0.5
        four: ("No support", "5"),
        five: ("Fully", "1"),  # 1 + 1 - 0.5
    }
    engine = drafting(judgements)
    result = ask(program, engine)
    assert result.answer == f"About {three}. About {two}."
    assert [titles[pid] for pid in result.kept] == [three, two]
    assert [reading.pid for reading in result.interpretations] == result.kept
    assert result.scores == [1.75, 2.25, 2.5, 1.5, 1.5]
    assert result.supports[0] is Support.PARTIALLY
    assert result.usefulness == [4, 4, 5, 5, 1]
    assert result.retrieved is True
    assert len(engine.seen) == 5 + 5


def test_irrelevant_passages_are_not_criticised(make: Any) -> None:
    program = make("self-rag")
    wanted = program.retrieve(QUESTION)[3]
    engine = drafting({wanted.title: ("Fully", "3")}, relevant=(wanted.title,))
    result = ask(program, engine)
    assert result.kept == [wanted.pid]
    assert result.scores == [None, None, None, 2.0, None]
    assert len(engine.seen) == 5 + 1


@pytest.mark.parametrize(
    ("preset", "needs", "passages", "calls"),
    [("lean", "No", 5, 5 + 5 + 1), ("paper", "Yes", 5, 1 + 5 + 5 + 1), ("paper", "No.", 0, 2)],
)
def test_without_support_or_passages_the_answer_comes_from_memory(
    preset: str, needs: str, passages: int, calls: int, make: Any
) -> None:
    engine = drafting({}, needs=needs)
    program = make("self-rag", preset=preset)
    result = ask(program, engine)
    assert calls <= program.call_limits.calls
    assert result.answer == "From memory."
    assert result.kept == result.interpretations == []
    assert (len(result.passages), len(result.scores), result.retrieved) == (passages, passages, passages > 0)
    assert len(engine.seen) == calls


@pytest.mark.parametrize(
    ("first", "others", "kept"),
    [
        ("April 1912", "april  1912", 1),
        ("April 1912; May 1912", "May 1912", 1),
        ("April 1912; May 1912", "May 1912;April 1912", 1),
        ("April 1912; May 1912", "May 1912; June 1912", 2),
    ],
)
def test_a_segment_that_says_nothing_new_is_dropped(make: Any, first: str, others: str, kept: int) -> None:
    program = make("self-rag")
    best = program.retrieve(QUESTION)[0]

    def draft(prompt: Prompt) -> Fields:
        readings = [{"question": "When?", "answer": first if title(prompt) == best.title else others}]
        return {"relevant": "yes", "readings": readings, "segment": f"In April 1912, {title(prompt)}."}

    judged = {"support": "Fully", "usefulness": "5/5"}
    result = ask(program, replying(needs_passages={"needs_passages": "Yes"}, relevant=draft, support=judged))
    assert result.kept[0] == best.pid
    assert [one.answer for one in result.interpretations] == [first, others][:kept]


def test_a_reading_that_two_segments_tell_is_one_reading(make: Any) -> None:
    program = make("self-rag")
    best = program.retrieve(QUESTION)[0]

    def draft(prompt: Prompt) -> Fields:
        years = ["1912"] if title(prompt) == best.title else ["1912", "1997"]
        readings = [{"question": f"When did it come out, in {year}?", "answer": year} for year in years]
        return {"relevant": "yes", "readings": readings, "segment": f"In 1912, {title(prompt)}."}

    judged = {"support": "Fully", "usefulness": "5/5"}
    result = ask(program, replying(relevant=draft, support=judged))
    assert len(result.kept) == 2
    assert [one.answer for one in result.interpretations] == ["1912", "1997"]
    assert [one.pid for one in result.interpretations] == result.kept


# --- demos ---------------------------------------------------------------------------------------


def test_labels_fill_the_baselines(make: Any, training: Callable[[str], list[Question]]) -> None:
    questions = training("crag")
    by_question = {question.question: question for question in questions}

    refinement = label_demos(make("query-refinement"), questions)
    for demo in refinement["refine"]:
        gold = by_question[demo["question"]].readings
        assert [one["question"] for one in demo["refinements"]] == [one.question for one in gold]
    assert len(refinement["refine"]) == len(questions)
    assert len(refinement["write"]) == len(questions)

    grades = label_demos(make("crag", preset="paper"), questions)
    assert {demo["grade"] for demo in grades["grade"]} == {"Correct", "Incorrect"}
    assert grades["rewrite"] == []
    for demo in grades["grade"]:
        answers = [one for reading in by_question[demo["question"]].readings for one in reading.short_answers]
        assert exact_presence(answers, demo["passage"]) == (demo["grade"] == "Correct")

    drafts = label_demos(make("self-rag", preset="paper"), questions)
    assert drafts["critique"] == drafts["decide"] == []
    assert {demo["relevant"] for demo in drafts["draft"]} == {"Yes", "No"}
    for demo in drafts["draft"]:
        assert (demo["segment"] == "None") == (demo["relevant"] == "No") == (demo["readings"] == [])
        for reading in demo["readings"]:
            assert exact_presence([reading["answer"]], demo["passage"])

    program = make("jpr", preset="paper")
    chosen = label_demos(program, questions)
    assert chosen["select"]
    for demo in chosen["select"]:
        assert demo["count"] == len(demo["selected"]) == len(set(demo["selected"])) == 5
        assert len(demo["passages"]) == 20
        texts = [demo["passages"][number - 1] for number in demo["selected"]]
        readings = by_question[demo["question"]].readings
        held = [reading for reading in readings if exact_presence(reading.short_answers, "\n".join(demo["passages"]))]
        assert all(exact_presence(reading.short_answers, "\n".join(texts)) for reading in held[:5])
