"""What a question costs with a program, before anything is sent: calls, depth, tokens, money."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.event_loops import called
from polyqa.base.text import counted
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.prices import price_of
from polyqa.evaluation.tokens import Tokenizer, tokenizer
from polyqa.lm.assigned import give_helper, own_lms
from polyqa.lm.recorder import Call, recording
from polyqa.programs.registry import limits_of

from .asking import check_question, ready_program
from .language_models import check_name, language_model
from .loading import default_program
from .question_sets import Given, Questions, as_questions

SAMPLE = Questions("homonyms/dev", limit=5)


class Spread(NamedTuple):
    """A figure over the questions: its mean, the lowest and the highest."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, figures: Sequence[Any]) -> Any:
        """Return the spread of some figures, of which there is at least one; ``None`` if one is not known."""
        return None if None in figures else cls(fmean(figures), min(figures), max(figures))


class StepCost(NamedTuple):
    """Means per question of the calls that one predictor, the ``step``, makes to a language model.

    ``lm`` is ``None`` if that is not named, and ``dollars`` if its price is not known.
    """

    step: str
    lm: str | None
    calls: float
    input_tokens: float
    output_tokens: float
    dollars: float | None


_FIGURES = ("calls", "input_tokens", "output_tokens", "dollars")


@dataclass(frozen=True)
class Cost:
    """What a question costs with a program.

    Attributes
    ----------
    program, lm, tokenizer
        Names; ``lm`` is the language model that answers, ``None`` if none was named.
    source, questions
        Where the questions are from, and their texts.
    calls, input_tokens, output_tokens
        Per question, over all language models.
    dollars
        US dollars per question; ``None`` if the price of one of the models is not known.
    depth
        Round trips that a question waits for at most, one after the other, as the registry declares it; ``None`` if
        that depends on the replies.
    most_calls
        How many calls the program makes at most; ``None`` likewise.
    steps
        Means by predictor, in the order of their first calls.
    """

    program: str
    lm: str | None
    tokenizer: str
    source: str
    questions: Sequence[str] = field(repr=False)
    calls: Spread
    input_tokens: Spread
    output_tokens: Spread
    dollars: Spread | None
    depth: int | None
    most_calls: int | None
    steps: Sequence[StepCost] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as JSON data."""
        spreads = {name: value._asdict() for name, value in vars(self).items() if isinstance(value, Spread)}
        return {**vars(self), **spreads, "steps": [step._asdict() for step in self.steps]}


@dataclass(frozen=True)
class Estimate:
    """What a long command is expected to take: some runs of a program, each like the measured question.

    Attributes
    ----------
    parts
        How often a program is run, and what one run of it takes; for a teacher a second pair.
    not_counted
        What comes on top that cannot be told beforehand; empty if there is nothing.
    """

    parts: Sequence[tuple[int, Cost]]
    not_counted: str = ""

    @property
    def runs(self) -> int:
        """How often a program is run in all."""
        return sum(times for times, _ in self.parts)

    def __str__(self) -> str:
        calls = sum(times * part.calls.mean for times, part in self.parts)
        read = sum(times * part.input_tokens.mean for times, part in self.parts)
        written = sum(times * part.output_tokens.mean for times, part in self.parts)
        paid = [times * part.dollars.mean for times, part in self.parts if part.dollars is not None]
        money = f"${sum(paid):,.2f}" if len(paid) == len(self.parts) else "price unknown"
        return (
            f"{counted(self.runs, 'run')} of the program, about {calls:,.0f} calls, "
            f"{read:,.0f} + {written:,.0f} tokens, {money}"
            + (f"; not counted: {self.not_counted}" if self.not_counted else "")
        )


def cost(
    program: str | Path | dspy.Module | None = None,
    questions: Given = SAMPLE,
    *,
    question: str | Sequence[str] | None = None,
    lm: str | dspy.LM | None = None,
    helper_lm: str | dspy.LM | None = None,
    index: str | Path | ColBERTIndex | None = None,
    **settings: Any,
) -> Cost:
    """Return what a question costs; nothing is sent.

    The program is run with the embedded engine in the place of every language model, and its prompts and replies are
    counted. Prompts are those that would be sent; later prompts hold the engine's earlier replies, which may be shorter
    or longer than another model's. The thoughts of a reasoning model are not counted.

    Parameters
    ----------
    program
        A name or path that `polyqa.load` takes, or a program from it. If not given, `default_program`.
    questions
        Questions of the kind that you will ask of your index; by default five of the shipped ones.
    question
        One question, or several, in place of those.
    lm
        Whose price and tokenizer count, such as ``openai/gpt-4o-mini``, or a `dspy.LM`. A predictor that has one of its
        own is priced by that.
    helper_lm
        A second language model for the calls that it would make (`polyqa.lm.assigned.give_helper`), by name: it needs
        no key here.
    index, settings
        See `polyqa.load`; a program from it has its own.

    Raises
    ------
    PolyqaError
        If something the user gave is missing or wrong.
    """
    lm = str(lm.model) if isinstance(lm, dspy.BaseLM) else lm
    counting = tokenizer(lm)
    question_set = as_questions(questions)
    own_questions = [question] if isinstance(question, str) else question
    if own_questions is None:
        texts = [item.question for item in question_set.asked]
    else:
        texts = [check_question(text) for text in own_questions]
    if not texts:
        raise PolyqaError("There is no question to reckon with: give one at least.")
    ready, name = ready_program(default_program(lm) if program is None else program, index, settings)
    rehearsed = ready.deepcopy()
    if isinstance(helper_lm, str):
        check_name(helper_lm)
        helper_lm = dspy.LM(helper_lm, api_key="none")
    if helper_lm is not None:
        give_helper(rehearsed, helper_lm)
    lm_names = _without_lms(rehearsed)
    calls = [_calls_of(rehearsed, text) for text in texts]
    taken = [[_taken(call, lm_names.get(call.predictor, lm), counting) for call in run] for run in calls]
    limits = limits_of(ready)
    return Cost(
        program=name,
        lm=lm,
        tokenizer=counting.name,
        source="your question" if question is not None else question_set.described,
        questions=texts,
        depth=limits and limits.depth,
        most_calls=limits and limits.calls,
        steps=_steps([call for run in taken for call in run], len(texts)),
        **{name: Spread.of([_sum(run, name) for run in taken]) for name in _FIGURES},
    )


def _without_lms(program: dspy.Module) -> Mapping[str, str]:
    """Take the predictors' own language models away, so that nothing is sent; return their names by predictor."""
    for _, part in program.named_sub_modules():
        part._compiled = False  # DSPy's named_predictors passes over the predictors of compiled parts
    lm_names = {name: str(lm.model) for name, lm in own_lms(program).items()}
    for _, predictor in program.named_predictors():
        predictor.lm = None
    return lm_names


def _calls_of(program: dspy.Module, question: str) -> Sequence[Call]:
    # Nothing is sent, so neither a limit of calls nor a trace is to see it.
    with dspy.context(callbacks=[], usage_tracker=None), recording(language_model(), program) as recorder:
        called(program, question=question)
    return recorder.calls


def _taken(call: Call, lm: str | None, counting: Tokenizer) -> StepCost:
    """Return what one call takes."""
    input_tokens = sum(counting.count(str(message["content"])) for message in call.messages)
    output_tokens = counting.count(call.reply)
    price = price_of(lm) if lm else None
    dollars = None if price is None else price.of(input_tokens, output_tokens)
    return StepCost(call.predictor, lm, 1, input_tokens, output_tokens, dollars)


def _sum(calls: Sequence[StepCost], name: str) -> Any:
    """Return the sum of a figure; ``None`` if one is not known."""
    figures = [getattr(call, name) for call in calls]
    return None if None in figures else sum(figures)


def _steps(calls: Sequence[StepCost], questions: int) -> list[StepCost]:
    """Return the means per question, by predictor and language model."""
    by_step: dict[tuple[str, str | None], list[StepCost]] = {}
    for call in calls:
        by_step.setdefault((call.step, call.lm), []).append(call)
    steps = []
    for (step, lm), same in by_step.items():
        sums = {name: _sum(same, name) for name in _FIGURES}
        steps.append(StepCost(step, lm, **{name: sums[name] and sums[name] / questions for name in _FIGURES}))
    return steps
