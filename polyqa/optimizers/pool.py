"""Demos from a program's own good runs, as a pool."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import dspy
from pydantic import TypeAdapter

from polyqa.base.errors import PolyqaError
from polyqa.base.values import json_data
from polyqa.base.work import Failure, work_through
from polyqa.lm.recorder import recording
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import AnswerMetric

from .labels import Demo
from .leave_one_out import leave_one_out


@dataclass(frozen=True)
class _Result:
    """What a run gave: demos with the names of their predictors, or why it failed."""

    demos: Sequence[tuple[str, Demo]] = ()
    failure: Failure | None = None


def bootstrap_pool(
    program: dspy.Module,
    questions: Sequence[Question],
    *,
    lm: dspy.LM,
    metric: AnswerMetric,
    threads: int = 8,
) -> dict[str, list[Demo]]:
    """Run a program on training questions and keep what its predictors said where the metric accepts.

    Parameters
    ----------
    program
        Its current demos and instructions make the runs; those demos that were made from the very question that
        is run are left out.
    metric
        A run counts if its score reaches ``metric.threshold``.

    Returns
    -------
    dict
        Predictor name to demos, in the order of the questions. A predictor that was called several times in one
        run gives its first demo for each distinct label (verification's Yes and No, a grade, marks); one that
        gives no labels, only its first.

    Raises
    ------
    PolyqaError
        If every question failed: the cause is not the questions.
    """
    results: dict[str, _Result] = {}

    def keep(question: Question, result: _Result) -> Failure | None:
        results[question.id] = result
        return result.failure

    with leave_one_out(questions):
        run = partial(_run, program, lm=lm, metric=metric)
        work_through(questions, run, keep, at_once=threads, things="training questions")
    failures = [result.failure for result in results.values() if result.failure is not None]
    if failures and len(failures) == len(results):
        raise PolyqaError(
            f"Every run on the {len(failures)} training questions failed: {failures[-1]} Mend the cause and start "
            "again; they are run once more."
        )
    labels = {name: label_fields(predictor.signature) for name, predictor in program.named_predictors()}
    return _merge(labels, [results[question.id].demos for question in questions])


def _run(program: dspy.Module, question: Question, *, lm: dspy.LM, metric: AnswerMetric) -> _Result:
    """Run the program on a question; return its demos if the metric accepts it, or why it failed."""
    trace: list[Any] = []
    try:
        with recording(lm), dspy.context(trace=trace):
            prediction = program(question=question.question)
        good = float(metric(question.to_example(), prediction)) >= metric.threshold
    except Exception as error:  # one bad reply must not end hours of compiling
        return _Result(failure=Failure.of(error))
    # After a fallback, the later calls of the run were given what the language model did not say.
    if not good or prediction.get("faults"):
        return _Result()
    names = {id(predictor): name for name, predictor in program.named_predictors()}
    return _Result(
        [
            (names[id(predictor)], _demo(predictor, inputs, outputs))
            for predictor, inputs, outputs in trace
            if id(predictor) in names
        ]
    )


def _demo(predictor: dspy.Predict, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Demo:
    fields = predictor.signature.fields
    values = {**inputs, **outputs}
    return {name: json_data(value) for name, value in values.items() if name in fields and value is not None}


def label_fields(signature: type[dspy.Signature]) -> list[str]:
    """Return the outputs that are one of a few given values: yes or no, a grade, a mark."""
    schemas = {name: TypeAdapter(field.annotation).json_schema() for name, field in signature.output_fields.items()}
    return [name for name, schema in schemas.items() if _is_label(schema, schema.get("$defs", {}))]


def _is_label(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    if "$ref" in schema:
        return _is_label(definitions.get(schema["$ref"].rpartition("/")[2], {}), definitions)
    if "anyOf" in schema:
        return all(part.get("type") == "null" or _is_label(part, definitions) for part in schema["anyOf"])
    return "enum" in schema or "const" in schema or schema.get("type") == "boolean"


def _merge(labels: Mapping[str, Sequence[str]], runs: Sequence[Sequence[tuple[str, Demo]]]) -> dict[str, list[Demo]]:
    """Return each predictor's demos: of those that a run gave, the first for each value of its labels."""
    pools: dict[str, list[Demo]] = {name: [] for name in labels}
    for run in runs:
        firsts: dict[tuple[str, str], Demo] = {}
        for name, demo in run:
            firsts.setdefault((name, json.dumps([demo.get(label) for label in labels[name]])), demo)
        for (name, _), demo in firsts.items():
            pools[name].append(demo)
    return pools
