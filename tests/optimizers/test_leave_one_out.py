"""No run over the training set sees the demos that were made from its own question; every other call sees all."""

import asyncio
from collections.abc import Callable, Sequence

import dspy
import pytest
from harness import questions
from scripted_engine import ScriptedEngine, prompt_of, scripted_lm
from two_steps import StepsEngine, TwoSteps

from polyqa.extractive import ExtractiveEngine
from polyqa.extractive.prompt import Prompt
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.models import Encoder, Reader
from polyqa.optimizers import Compiled, recipe
from polyqa.optimizers.labels import label_demos
from polyqa.optimizers.leave_one_out import leave_one_out
from polyqa.optimizers.pool import bootstrap_pool
from polyqa.programs import set_knn_demos
from polyqa.programs.knn import LEFT_OUT


@pytest.fixture
def watched(encoder: Encoder) -> ScriptedEngine:
    """The extractive engine, which remembers what it is asked."""
    return ScriptedEngine(ExtractiveEngine(encoder=encoder).complete, given=lambda request: request)


def prompts(watched: ScriptedEngine) -> list[Prompt]:
    return [prompt_of(request) for request in watched.seen]


def shown(prompt: Prompt) -> list[str]:
    return [demo.inputs["question"] for demo in prompt.demos]


def own(question: Question) -> set[str]:
    return {question.question, *(reading.question for reading in question.readings)}


@pytest.mark.parametrize("name", ["rac", "diva"])
def test_a_run_for_demos_sees_none_of_its_own_question_nor_of_its_readings(
    name: str,
    train: list[Question],
    watched: ScriptedEngine,
    reader: Reader,
    request: pytest.FixtureRequest,
) -> None:
    program = request.getfixturevalue(name).deepcopy()
    demos = label_demos(program, train)
    if name == "diva":  # demos of verification are about readings, and come from runs
        asked = [reading.question for question in train for reading in question.readings]
        demos["verify"] = [{"passages": ["A text."], "question": one, "answerable": "No"} for one in asked]
    set_knn_demos(program, demos, 3)
    verifications = 0
    for question in train:
        watched.seen.clear()
        lm, metric = scripted_lm(watched), AnswerMetric(reader)
        bootstrap_pool(program, [question], lm=lm, metric=metric, threads=2)
        assert len(watched.seen) >= 2
        for prompt in prompts(watched):
            assert not own(question) & set(shown(prompt))
            if "passages" in prompt.input_fields:
                assert len(prompt.demos) == 3
            verifications += "answerable" in prompt.output_fields
    assert bool(verifications) == (name == "diva")
    assert program.extract.nearest(train[0].question)[-1]["question"] == train[0].question  # when it is asked


def test_a_chain_leaves_out_on_train_and_shows_all_on_dev(
    rac: dspy.Module, train: list[Question], watched: ScriptedEngine, compiled: Callable[..., Compiled]
) -> None:
    made = compiled(rac, recipe("knn-then-bootstrap").with_options(threshold=0.0), lm=scripted_lm(watched))
    texts = [question.question for question in train]
    on_train = [prompt for prompt in prompts(watched) if prompt.inputs["question"] in texts]
    assert len(on_train) >= len(train)
    for prompt in on_train:
        assert prompt.inputs["question"] not in shown(prompt)
        assert len(shown(prompt)) == 5
    assert [demo["question"] for demo in made.program.extract.demos] == texts
    on_dev = [prompt for prompt in prompts(watched) if prompt.inputs["question"] not in texts]
    assert max(len(shown(prompt)) for prompt in on_dev) == 5


# --- wherever a program runs ---------------------------------------------------------------------

TRAIN = questions(6)


@pytest.fixture
def taught(encoder: Encoder) -> TwoSteps:
    program = TwoSteps(encoder)
    demos = [{"question": one.question, "hint": f"hint of {one.id}", "answer": f"answer of {one.id}"} for one in TRAIN]
    set_knn_demos(program, {"hint": demos, "answer": demos}, 3)
    return program


def leaks(seen: Sequence[Prompt]) -> int:
    """Return how many prompts show a demo of what they ask; each must show as many demos as it can."""
    assert all(len(prompt.demos) >= 3 for prompt in seen)
    return sum(prompt.inputs["question"] in shown(prompt) for prompt in seen)


@pytest.mark.parametrize("k", [3, None])
def test_in_threads_that_dspy_starts(taught: TwoSteps, k: int | None) -> None:
    taught.hint.set_k(k)
    examples = [question.to_example() for question in TRAIN]
    for leaving, expected in ((True, 0), (False, 12)):
        engine = StepsEngine()
        evaluate = dspy.Evaluate(devset=examples, metric=lambda *given: 0.0, num_threads=3, display_progress=False)
        with dspy.context(lm=scripted_lm(engine)), leave_one_out(TRAIN if leaving else ()):
            evaluate(taught)
        assert len(engine.seen) == 12
        assert leaks(engine.seen) == expected


def test_in_asynchronous_calls(taught: TwoSteps) -> None:
    engine = StepsEngine()

    async def ask() -> None:
        await asyncio.gather(*(taught.acall(question=question.question) for question in TRAIN))

    with dspy.context(lm=scripted_lm(engine)):
        with leave_one_out(TRAIN):
            asyncio.run(ask())
        assert (len(engine.seen), leaks(engine.seen)) == (12, 0)
        asyncio.run(ask())
    assert leaks(engine.seen) == 12


def test_other_questions_and_later_ones_see_every_demo(taught: TwoSteps) -> None:
    engine = StepsEngine()
    with dspy.context(lm=scripted_lm(engine)):
        with leave_one_out(TRAIN[:1]):
            taught(question=TRAIN[1].question)
            taught(question=TRAIN[0].question)
        taught(question=TRAIN[0].question)
    seen = [prompt.inputs["question"] in shown(prompt) for prompt in engine.seen]
    assert seen == [True, True, False, False, True, True]


def test_a_run_that_fails_leaves_nothing_behind(taught: TwoSteps) -> None:
    with leave_one_out(TRAIN), pytest.raises(ValueError, match="No LM is loaded"):
        taught(question=TRAIN[0].question)
    assert LEFT_OUT.get() == frozenset()
