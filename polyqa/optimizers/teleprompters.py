"""DSPy's own optimizers, called with what each of them wants."""

import random
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from typing import Any

import dspy
from dspy.utils import magicattr
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import AdapterParseError

from polyqa.lm.adapter import configured_adapter
from polyqa.lm.assigned import own_lms, set_lms
from polyqa.metrics.feedback import FeedbackMetric

from .examples import PlainMetric
from .labels import label_demos
from .leave_one_out import leave_one_out
from .plan import Plan, parameters
from .recipes import MINIBATCH
from .rules import search_rules


def run_teleprompter(program: dspy.Module, plan: Plan, gepa_callbacks: Sequence[object] = ()) -> dspy.Module:
    """Compile with one of DSPy's optimizers, under the language model of the context.

    Parameters
    ----------
    program
        It is not changed.
    plan
        The recipe's ``settings`` go to the optimizer, or to its ``compile``. Predictors that the recipe does not
        name, if it names any, are left as they are. The metric says yes from the recipe's threshold on while demos
        are gathered. The bootstrapping optimizers take no seed, but go through the trainset in its order: with
        another seed than 0 it is shuffled. COPRO makes no random choice.
    gepa_callbacks
        Told what GEPA does, see `gepa.core.callbacks.GEPACallback`.
    """
    recipe = plan.recipe
    program = program.deepcopy()
    program._compiled = False  # by an earlier optimizer, which DSPy's bootstrapping refuses
    frozen = freeze(program, recipe.predictors) if recipe.predictors else []
    if plan.teacher is not None:
        teacher = plan.teacher.deepcopy()
        teacher._compiled = True  # else the optimizers take its demos away
        if recipe.predictors:
            freeze(teacher, recipe.predictors)
        plan = replace(plan, teacher=teacher)
    lms = own_lms(program)  # those of the frozen ones are not found, and stay
    callbacks = [*(dspy.settings.callbacks or ()), LeanWriting(), *([KeepLMs(program, lms)] if lms else [])]
    # A question that fails scores 0, as in polyqa's own runs; DSPy ends after ten, or scores the whole candidate 0.
    most_errors = len(plan.trainset) + len(plan.devset) + 1
    with dspy.context(callbacks=callbacks, max_errors=most_errors), leave_one_out(plan.trainset):
        compiled = _run(program, plan, gepa_callbacks)
    set_lms(compiled, lms)
    thaw(compiled, frozen)
    return compiled


class KeepLMs(BaseCallback):
    """Gives the copies of a program their predictors' own language models back when they are called.

    DSPy's bootstrapping makes students and teachers with ``reset_copy``, which takes them away: their runs would be
    made with, and their scores would be those of, another model. A callback, as DSPy hands those on to the threads
    that its optimizers start. A copy is a module of the program's class; ``lms`` are those of `own_lms`.
    """

    def __init__(self, program: dspy.Module, lms: Mapping[str, dspy.LM]) -> None:
        self._kind = type(program)
        self._lms = lms

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Restore what is missing."""
        if type(instance) is self._kind:
            set_lms(instance, {name: lm for name, lm in self._lms.items() if name not in own_lms(instance)})


class LeanWriting(BaseCallback):
    """Has the optimizers' own predictors ask through polyqa's adapter, if the user has not configured another.

    Its grammar holds a small model to replies that can be read, up to the token limit; one that cannot be read is asked
    for again, twice at most. The program keeps the adapter that it runs with.
    """

    def __init__(self) -> None:
        self._adapter = configured_adapter()

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Change a predictor that was not seen before."""
        if not isinstance(instance, dspy.Predict) or "forward" in vars(instance):
            return
        if instance.signature.__module__.startswith(("dspy.propose.", "dspy.teleprompt.", __package__)):

            def forward(**inputs: Any) -> dspy.Prediction:
                with dspy.context(adapter=self._adapter):
                    for rollout in (1, 2):
                        with suppress(AdapterParseError):
                            return dspy.Predict.forward(instance, **inputs)
                        inputs = {**inputs, "config": {"rollout_id": rollout}}  # else the cache repeats the reply
                    return dspy.Predict.forward(instance, **inputs)

            instance.forward = forward


def _run(program: dspy.Module, plan: Plan, gepa_callbacks: Sequence[object]) -> dspy.Module:
    recipe, metric, seed = plan.recipe, plan.metric_of_recipe(), plan.seed
    train, dev = ([question.to_example() for question in questions] for questions in (plan.trainset, plan.devset))
    if seed and recipe.optimizer in ("BootstrapFewShot", "BootstrapFewShotWithRandomSearch"):
        random.Random(seed).shuffle(train)
    # Optimizers print what they do, and their progress bars, where the user's command prints its result.
    if recipe.optimizer == "InferRules":
        evaluate = dspy.Evaluate(devset=dev, metric=metric, num_threads=plan.threads, display_progress=True)
        with redirect_stdout(sys.stderr):
            return search_rules(program, recipe, label_demos(program, plan.trainset), plan.writer, evaluate, seed)
    make: Callable[..., Any] = getattr(dspy, recipe.optimizer)
    arguments: dict[str, Any] = {"metric": metric, "prompt_model": plan.writer, "num_threads": plan.threads}
    arguments |= {"trainset": train, "valset": dev, "seed": seed}
    if recipe.gathers:
        arguments["max_labeled_demos"] = 0  # the examples have no outputs: these are questions without answers
        arguments["teacher"] = plan.teacher
        arguments["teacher_settings"] = {"lm": plan.teacher_lm} if plan.teacher_lm is not None else None
    match recipe.optimizer:
        case "COPRO":
            arguments["eval_kwargs"] = {"num_threads": plan.threads, "display_progress": False}
        case "MIPROv2":
            # Its proposer would show the writer the source of `KNNPredict`, a class of this house, and have it
            # described: 1.5B then writes instructions about nearest neighbours, at three times the tokens.
            # Seed 0 silently becomes 9; any other is taken as it is.
            arguments |= {"program_aware_proposer": False, "auto": recipe.auto, "seed": seed or 9}
        case "GEPA":
            own_metric = metric.with_feedback if isinstance(metric, PlainMetric) else None
            arguments["metric"] = own_metric or FeedbackMetric(metric.reader, measure=metric.measure)
            arguments["reflection_lm"] = plan.writer
    arguments |= recipe.settings
    if recipe.optimizer == "SIMBA":
        arguments["bsize"] = min(recipe.number("bsize", 32), len(train))  # which it does not check itself
    if recipe.optimizer == "MIPROv2" and len(dev) < recipe.number("minibatch_size", MINIBATCH):
        arguments["minibatch"] = False  # also where the settings want them: it would end with an error
    if recipe.optimizer == "GEPA":
        arguments["track_stats"] = True  # else it keeps no candidate, and what it rejected has no parent to be told of
        arguments["gepa_kwargs"] = {"callbacks": list(gepa_callbacks), **(arguments.get("gepa_kwargs") or {})}
    of_making, of_compiling = parameters(recipe.optimizer)
    with redirect_stdout(sys.stderr):
        optimizer = make(**{name: value for name, value in arguments.items() if name in of_making})
        return optimizer.compile(program, **{name: value for name, value in arguments.items() if name in of_compiling})


class Frozen(dspy.Module):
    """A predictor that is called as ever, but that no optimizer finds.

    DSPy's optimizers take every predictor that `named_predictors` tells, which passes over compiled
    sub-modules.
    """

    def __init__(self, predictor: dspy.Predict) -> None:
        super().__init__()
        self.predictor = predictor
        self._compiled = True

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Call the predictor."""
        return self.predictor(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """See `forward`."""
        return await self.predictor.acall(**inputs)

    def __getattr__(self, name: str) -> Any:
        # A program may read its predictor's signature or demos. What copying asks for is not the predictor's.
        if name.startswith("_") or "predictor" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.predictor, name)


def freeze(program: dspy.Module, visible: Collection[str]) -> list[str]:
    """Hide the predictors of a program from optimizers, but for those named; return the names of the hidden."""
    hidden = [(name, predictor) for name, predictor in program.named_predictors() if name not in visible]
    for name, predictor in hidden:
        magicattr.set(program, name, Frozen(predictor))
    return [name for name, _ in hidden]


def thaw(program: dspy.Module, names: Collection[str]) -> None:
    """Undo `freeze` in a program, or in a copy of it."""
    for name in names:
        magicattr.set(program, name, magicattr.get(program, name).predictor)
