"""What compiling will take: calls, tokens and money, before it starts."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dspy
from dspy.teleprompt.gepa.gepa import AUTO_RUN_SETTINGS as GEPA_SETTINGS
from dspy.teleprompt.mipro_optimizer_v2 import AUTO_RUN_SETTINGS as MIPRO_SETTINGS
from dspy.teleprompt.mipro_optimizer_v2 import MIN_MINIBATCH_SIZE

from polyqa.base.files import write_atomically
from polyqa.evaluation.identity import RunIdentity
from polyqa.evaluation.prices import price_of
from polyqa.lm.assigned import with_cache
from polyqa.lm.recorder import recording
from polyqa.metrics.gold import Question
from polyqa.programs.registry import most_calls

from .calls import CallCounter
from .clauses.fitted import MOST_FITTED
from .clauses.library import MOST_CLAUSES
from .clauses.search import CHALLENGERS, HELD_OUT, ROUNDS, START
from .plan import EMBEDDED, SIMBA_BATCH, Plan
from .recipes import Recipe

# Tokens of one call that writes an instruction, as seen with DSPy's proposers: they show the program,
# examples and earlier tries.
_WRITING_INPUT, _WRITING_OUTPUT = 3_000, 400


@dataclass(frozen=True)
class PerQuestion:
    """What one run of a program takes.

    Attributes
    ----------
    calls, input_tokens, output_tokens
        Measured on one question. Demos make prompts longer, so input tokens are a lower bound.
    made
        How many calls had gone out when it was measured, by whatever came before and by measuring.
    most
        How many calls a run takes at most, see `polyqa.programs.registry.most_calls`; ``None`` if that is not known.
    tokens_of
        Name of a language model to its input and output tokens, where a program asks several.
    """

    calls: float
    input_tokens: float
    output_tokens: float
    made: int = 0
    most: int | None = None
    tokens_of: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Forecast:
    """What a compilation takes: runs and calls at most, tokens and money roughly.

    Attributes
    ----------
    questions
        How often the program is run on a question.
    calls, input_tokens, output_tokens
        Of the language model; instruction writing included.
    dollars
        ``None`` if the price of the model is not known.
    limited
        Whether it is known how many calls a run takes at most; else ``calls`` is rough, too.
    """

    questions: int
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None
    limited: bool = True

    def __str__(self) -> str:
        money = "price unknown" if self.dollars is None else f"${self.dollars:.2f}"
        calls = f"{self.calls:,} calls, about" if self.limited else f"about {self.calls:,} calls,"
        return (
            f"{self.questions:,} runs of the program, {calls} {self.input_tokens:,} + {self.output_tokens:,} tokens, "
            f"{money}"
        )


def measure_question(
    program: dspy.Module, question: Question, lm: dspy.LM, kept: Path, counter: CallCounter | None = None
) -> PerQuestion:
    """Run the program once and return what it took.

    Parameters
    ----------
    program, question, lm
        What is run. No cache answers: its replies would cost nothing.
    kept
        A JSON file. It keeps what was measured, so that a command that goes on need not measure again.
    counter
        Of the calls that went out.
    """
    of = {**RunIdentity.of(program, lm).model_dump(), "question": question.question}
    if kept.exists():
        earlier = json.loads(kept.read_text(encoding="utf-8"))
        if earlier["of"] == of:
            return PerQuestion(**earlier["took"], most=most_calls(program))
    with recording(lm.copy(cache=False)) as recorder:
        with_cache(program, False)(question=question.question)
    made = counter.made if counter is not None else 0
    took: dict[str, Any] = {
        "calls": len(recorder.calls),
        "input_tokens": recorder.input_tokens,
        "output_tokens": recorder.output_tokens,
        "made": made,
        "tokens_of": recorder.tokens_of,
    }
    write_atomically(kept, json.dumps({"of": of, "took": took}, ensure_ascii=False))
    return PerQuestion(**took, most=most_calls(program))


def runs_and_writings(
    recipe: Recipe, train: int, dev: int, predictors: int, clauses: int | None = None
) -> tuple[int, int]:
    """Return how often a recipe runs the program, and how many instructions are written, at most.

    Sources: the loops of DSPy's optimizers. Evaluation on dev before and after is not counted here, nor is what
    is asked again: a reply that cannot be parsed, a question that DSPy takes for stuck (after two minutes).

    Parameters
    ----------
    recipe
        Its settings decide.
    train, dev, predictors
        How many; of the predictors only those that the recipe names count, if it names any.
    clauses
        How many a search over clauses tries in a round; as many as there may be if not given.
    """
    own = len(set(recipe.predictors)) or predictors
    match recipe.optimizer:
        case "labels":
            return 0, 0
        case "bootstrap":
            return train, 0
        case "clauses":
            return _clauses(recipe, train, own * (MOST_CLAUSES + MOST_FITTED) if clauses is None else clauses), 0
        case "few-shot":
            return train * recipe.number("max_rounds", 1), 0
        case "few-shot-search":
            # On dev: no demos, labelled ones, those of the trainset's order, and each candidate. The first two
            # are not bootstrapped.
            candidates = recipe.number("num_candidate_programs", 16)
            return (candidates + 3) * dev + (candidates + 1) * train * recipe.number("max_rounds", 1), 0
        case "copro":
            return _copro(recipe, train, own)
        case "mipro":
            return _mipro(recipe, train, dev, own)
        case "simba":
            return _simba(recipe, train)
        case "gepa":
            return _gepa(recipe, train, dev, own)
        case "chain":
            parts = [runs_and_writings(step, train, dev, predictors, clauses) for step in recipe.parts]
            return sum(runs for runs, _ in parts), sum(writings for _, writings in parts)


def _clauses(recipe: Recipe, train: int, candidates: int) -> int:
    # A round: all candidates on the first questions, then half of those left on as many more as there were, and so on;
    # what wins, and the program so far, on all.
    few, size = recipe.number("challengers", CHALLENGERS), recipe.number("start", START)
    choosing = train - round(HELD_OUT * train)
    asked, runs = min(size, choosing), candidates * min(size, choosing)
    while asked < choosing:
        candidates = max(few, math.ceil(candidates / 2))
        more = min(asked, choosing - asked)
        runs, asked = runs + candidates * more, asked + more
    return train + recipe.number("rounds", ROUNDS) * (runs + few * (train - choosing))


def _copro(recipe: Recipe, train: int, predictors: int) -> tuple[int, int]:
    breadth, depth = recipe.number("breadth", 10), recipe.number("depth", 3)
    # With several predictors each depth tries the instructions of all depths so far again.
    tried = breadth * (depth * (depth + 1) // 2 if predictors > 1 else depth)
    return tried * predictors * train, breadth * depth * predictors


def _mipro(recipe: Recipe, train: int, dev: int, predictors: int) -> tuple[int, int]:
    candidates = recipe.number("num_candidates", 0)
    bare = recipe.number("max_bootstrapped_demos", 4) == recipe.number("max_labeled_demos", 4) == 0
    size = recipe.number("minibatch_size", 35)
    if candidates:  # given, together with the number of trials
        proposed, trials = candidates, recipe.number("num_trials", 0)
        minibatch = dev >= size and recipe.settings.get("minibatch") is not False
    else:
        auto = _preset(recipe, MIPRO_SETTINGS)
        candidates, dev = auto["n"], min(dev, auto["val_size"])
        proposed = candidates if bare else candidates // 2
        parameters = predictors if bare else 2 * predictors
        trials = int(max(2 * parameters * math.log2(candidates), 1.5 * candidates))
        minibatch = dev > MIN_MINIBATCH_SIZE
    whole = trials // max(1, recipe.number("minibatch_full_eval_steps", 5)) + 2
    tried = dev + (trials * size + whole * dev if minibatch else trials * dev)
    # One of the sets of demos is empty. An instruction takes three calls, as program and module are described
    # for each; the trainset is summarized in steps of ten questions.
    return max(0, candidates - 1) * train + tried, 3 * proposed * predictors + 2 + min(9, train // 10)


def _simba(recipe: Recipe, train: int) -> tuple[int, int]:
    steps, size = recipe.number("max_steps", 8), recipe.number("bsize", SIMBA_BATCH)
    candidates = recipe.number("num_candidates", 6)
    # Each step: as many runs of every question as there are candidates, then the new programs, one more. In the
    # end the winners of the steps on the whole trainset.
    runs = steps * size * (2 * candidates + 1) + (min(steps, candidates) + 1) * train
    return runs, steps * (candidates + 1)


def _gepa(recipe: Recipe, train: int, dev: int, predictors: int) -> tuple[int, int]:
    budget = recipe.number("max_metric_calls", 0) or recipe.number("max_full_evals", 0) * (train + dev)
    if not budget:
        # DSPy's own sum; it reads nothing of the optimizer, which could not be made without its models.
        budget = dspy.GEPA.auto_budget(
            None,
            num_preds=predictors,
            num_candidates=_preset(recipe, GEPA_SETTINGS)["n"],
            valset_size=dev,
        )
    size = recipe.number("reflection_minibatch_size", 3)
    # The budget is looked at before a round: the last one may go over it by two minibatches (or the five questions
    # of a merged program) and the whole of dev. A round that writes an instruction takes two minibatches at least.
    runs = max(dev, budget - 1 + max(2 * size, 5) + dev)
    updated = predictors if recipe.settings.get("component_selector") == "all" else 1
    return runs, updated * math.ceil(max(0, budget - dev) / (2 * size))


def _preset(recipe: Recipe, presets: Mapping[str, Mapping[str, int]]) -> Mapping[str, int]:
    return presets.get(str(recipe.settings.get("auto")), presets["light"])


def forecast(
    plan: Plan, per_question: PerQuestion, *, predictors: int, clauses: int | None = None, further: int = 0
) -> Forecast:
    """Return what a compilation takes at most, with the two evaluations on dev.

    Parameters
    ----------
    plan
        Its recipe and the sizes of its sets decide; the names of its language models have the prices.
    per_question
        From `measure_question`.
    predictors
        How many the program has.
    clauses
        See `runs_and_writings`.
    further
        Runs of the program besides: evaluations on other questions.
    """
    train, dev = len(plan.trainset), len(plan.devset)
    runs, writings = runs_and_writings(plan.recipe, train, dev, predictors, clauses)
    runs += 2 * dev + further
    run_in, run_out = runs * per_question.input_tokens, runs * per_question.output_tokens
    write_in, write_out = writings * _WRITING_INPUT, writings * _WRITING_OUTPUT
    tokens_of = per_question.tokens_of or {str(plan.lm.model): (per_question.input_tokens, per_question.output_tokens)}
    prices = [_price(lm, runs * taken, runs * given) for lm, (taken, given) in tokens_of.items()]
    prices += [_price(str(plan.writer.model), write_in, write_out)] if writings else []
    known = [one for one in prices if one is not None]
    most = per_question.most
    return Forecast(
        questions=runs,
        calls=round(runs * (per_question.calls if most is None else most)) + writings,
        input_tokens=round(run_in + write_in),
        output_tokens=round(run_out + write_out),
        dollars=sum(known) if len(known) == len(prices) else None,
        limited=most is not None,
    )


def _price(model: str, input_tokens: float, output_tokens: float) -> float | None:
    if model.startswith(EMBEDDED):
        return 0.0
    price = price_of(model)
    return None if price is None else price.of(input_tokens, output_tokens)
