"""What compiling will take: calls, tokens and money, before it starts."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import dspy

from benchmarks.runs import write_atomically
from metrics.gold import Question
from programs.recording import recording
from programs.state import program_hash

from .recipe import Recipe

# Tokens of one call that writes an instruction, as seen with DSPy's proposers: they show the program,
# examples and earlier tries.
_WRITING_INPUT, _WRITING_OUTPUT = 3_000, 400


@dataclass(frozen=True)
class PerQuestion:
    """What one question takes, measured on one question."""

    calls: float
    input_tokens: float
    output_tokens: float


@dataclass(frozen=True)
class Estimate:
    """What a compilation takes at most, roughly.

    Attributes
    ----------
    questions
        How often the program is run on a question.
    calls, input_tokens, output_tokens
        Of the language model; instruction writing included.
    dollars
        ``None`` if the price of the model is not known.
    """

    questions: int
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None

    def __str__(self) -> str:
        money = "price unknown" if self.dollars is None else f"about ${self.dollars:.2f}"
        return (
            f"{self.questions:,} runs of the program, about {self.calls:,} calls, {self.input_tokens:,} + "
            f"{self.output_tokens:,} tokens, {money}"
        )


def measure_question(program: dspy.Module, question: Question, lm: dspy.LM, kept: Path) -> PerQuestion:
    """Run the program once and return what it took.

    Parameters
    ----------
    program, question, lm
        What is run. No cache answers: its replies would cost nothing.
    kept
        A JSON file. It keeps what was measured, so that a command that goes on need not measure again.
    """
    of = {"program": program_hash(program), "question": question.question, "lm": str(lm.model)}
    if kept.exists():
        earlier = json.loads(kept.read_text(encoding="utf-8"))
        if earlier["of"] == of:
            return PerQuestion(**earlier["took"])
    with recording(lm.copy(cache=False)) as recorder:
        program(question=question.question)
    took = PerQuestion(len(recorder.calls), recorder.input_tokens, recorder.output_tokens)
    write_atomically(kept, json.dumps({"of": of, "took": asdict(took)}, ensure_ascii=False))
    return took


def runs_and_writings(recipe: Recipe, train: int, dev: int, predictors: int) -> tuple[int, int]:
    """Return how often a recipe runs the program, and how many instructions are written, at most.

    Sources: the loops of DSPy's optimizers. Evaluation on dev before and after is not counted here.
    """
    settings = recipe.settings

    def number(name: str, default: int) -> int:
        value = settings.get(name)
        return int(value) if isinstance(value, (int, float)) else default

    match recipe.optimizer:
        case "labels":
            return 0, 0
        case "bootstrap" | "few-shot":
            return train * number("max_rounds", 1), 0
        case "few-shot-search":
            candidates = number("num_candidate_programs", 16)
            return (candidates + 3) * dev + (candidates + 1) * train, 0
        case "copro":
            breadth, depth = number("breadth", 10), number("depth", 3)
            return breadth * depth * predictors * predictors * train, breadth * depth * predictors
        case "mipro":
            candidates = number(
                "num_candidates", {"light": 6, "medium": 12, "heavy": 18}.get(str(settings.get("auto", "light")), 6)
            )
            trials = number("num_trials", 2 * candidates * max(1, predictors))
            return candidates * train + (trials + 2) * dev, candidates * predictors + predictors + 5
        case "simba":
            steps, size = number("max_steps", 8), number("bsize", 32)
            candidates = number("num_candidates", 6)
            return steps * size * 2 * candidates + (steps + 1) * train, steps * candidates
        case "gepa":
            per_full = train + dev
            budget = number("max_metric_calls", 0) or number("max_full_evals", 0) * per_full
            budget = budget or {"light": 6, "medium": 12, "heavy": 18}.get(str(settings.get("auto")), 6) * 4 * max(
                dev, 1
            )
            return budget, max(1, budget // max(1, number("reflection_minibatch_size", 3) * 2 + 1))
        case "chain":
            parts = [runs_and_writings(step, train, dev, predictors) for step in recipe.steps]
            return sum(runs for runs, _ in parts), sum(writings for _, writings in parts)


def estimate(
    recipe: Recipe, per_question: PerQuestion, *, train: int, dev: int, predictors: int, lm: str, prompt_lm: str
) -> Estimate:
    """Return what a compilation takes at most, with the two evaluations on dev.

    Parameters
    ----------
    recipe
        Its settings decide.
    per_question
        From `measure_question`. Demos make prompts longer, so input tokens are a lower bound.
    train, dev, predictors
        How many.
    lm, prompt_lm
        Names, for the price.
    """
    runs, writings = runs_and_writings(recipe, train, dev, predictors)
    runs += 2 * dev
    run_in, run_out = runs * per_question.input_tokens, runs * per_question.output_tokens
    write_in, write_out = writings * _WRITING_INPUT, writings * _WRITING_OUTPUT
    prices = [_price(lm, run_in, run_out), _price(prompt_lm, write_in, write_out) if writings else 0.0]
    known = [one for one in prices if one is not None]
    return Estimate(
        questions=runs,
        calls=round(runs * per_question.calls) + writings,
        input_tokens=round(run_in + write_in),
        output_tokens=round(run_out + write_out),
        dollars=sum(known) if len(known) == len(prices) else None,
    )


def _price(model: str, input_tokens: float, output_tokens: float) -> float | None:
    if model.startswith("polyqa/"):
        return 0.0
    import litellm

    entry = litellm.model_cost.get(model) or litellm.model_cost.get(model.partition("/")[2])
    if not entry or entry.get("input_cost_per_token") is None:
        return None
    return float(
        input_tokens * entry["input_cost_per_token"] + output_tokens * (entry.get("output_cost_per_token") or 0.0)
    )
