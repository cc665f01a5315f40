"""Demos from a program's own good runs, as a pool; a killed run goes on."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import dspy
from pydantic import TypeAdapter

from polyqa.base.errors import PolyqaError
from polyqa.base.ledger import open_ledger
from polyqa.base.values import json_data
from polyqa.base.work import Failure, work_through
from polyqa.evaluation.identity import RunIdentity
from polyqa.evaluation.loading import questions_fingerprint
from polyqa.lm.recorder import recording
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import AnswerMetric

from .leave_one_out import leave_one_out

Demo = dict[str, Any]


def bootstrap_pool(
    program: dspy.Module,
    questions: Sequence[Question],
    *,
    lm: dspy.LM,
    metric: AnswerMetric,
    journal: Path,
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
    journal
        Keeps the run of each question, see `polyqa.base.ledger`; those in it are not run again, unless they failed. It
        belongs to this program, language model, metric and these questions.

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
    identity = {
        **RunIdentity.of(
            program, lm, reader=metric.reader.name, questions=questions_fingerprint(questions)
        ).model_dump(),
        "metric": [metric.measure, metric.threshold],
    }
    with leave_one_out(questions), open_ledger(journal, identity) as ledger:
        done = dict(ledger)

        def keep(question: Question, result: dict[str, Any]) -> Failure | None:
            ledger.keep(question.id, result)
            done[question.id] = result
            return _failure(result)

        left = [question for question in questions if question.id not in done or _failure(done[question.id])]
        run = partial(_run, program, lm=lm, metric=metric)
        work_through(left, run, keep, at_once=threads, things="training questions")
    failures = [failure for result in done.values() if (failure := _failure(result)) is not None]
    if failures and len(failures) == len(done):
        raise PolyqaError(
            f"Every run on the {len(failures)} training questions failed: {failures[-1]} Mend the cause and start "
            "again; they are run once more."
        )
    labels = {name: label_fields(predictor.signature) for name, predictor in program.named_predictors()}
    return _merge(labels, [done[question.id] for question in questions])


def _failure(result: Mapping[str, Any]) -> Failure | None:
    return Failure.model_validate(result["failed"]) if result["failed"] else None


def _run(program: dspy.Module, question: Question, *, lm: dspy.LM, metric: AnswerMetric) -> dict[str, Any]:
    """Run the program on a question; return its score and demos, or why it failed, as JSON data."""
    trace: list[Any] = []
    result: dict[str, Any] = {"score": 0.0, "failed": None, "demos": []}
    try:
        with recording(lm), dspy.context(trace=trace):
            prediction = program(question=question.question)
        result["score"] = float(metric(question.to_example(), prediction))
    except Exception as error:  # one bad reply must not end hours of compiling; it is kept, and run again
        return {**result, "failed": Failure.of(error).model_dump()}
    # After a fallback, the later calls of the run were given what the language model did not say.
    if result["score"] >= metric.threshold and not prediction.get("faults"):
        names = {id(predictor): name for name, predictor in program.named_predictors()}
        result["demos"] = [
            (names[id(one)], _demo(one, inputs, outputs)) for one, inputs, outputs in trace if id(one) in names
        ]
    return result


def _demo(predictor: dspy.Predict, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Demo:
    fields = predictor.signature.fields
    given = {**inputs, **outputs}
    return {name: json_data(value) for name, value in given.items() if name in fields and value is not None}


def label_fields(signature: type[dspy.Signature]) -> list[str]:
    """Return the outputs that are one of a few given values: yes or no, a grade, a mark."""
    schemas = {name: TypeAdapter(field.annotation).json_schema() for name, field in signature.output_fields.items()}
    return [name for name, schema in schemas.items() if _is_label(schema, schema.get("$defs", {}))]


def _is_label(schema: Mapping[str, Any], named: Mapping[str, Any]) -> bool:
    if "$ref" in schema:
        return _is_label(named.get(schema["$ref"].rpartition("/")[2], {}), named)
    if "anyOf" in schema:
        return all(part.get("type") == "null" or _is_label(part, named) for part in schema["anyOf"])
    return "enum" in schema or "const" in schema or schema.get("type") == "boolean"


def _merge(labels: Mapping[str, Sequence[str]], lines: Sequence[Mapping[str, Any]]) -> dict[str, list[Demo]]:
    """Return each predictor's demos: of those that a run gave, the first for each value of its labels."""
    pools: dict[str, list[Demo]] = {name: [] for name in labels}
    for line in lines:
        firsts: dict[tuple[str, str], Demo] = {}
        for name, demo in line["demos"]:
            firsts.setdefault((name, json.dumps([demo.get(label) for label in labels[name]])), demo)
        for (name, _), demo in firsts.items():
            pools[name].append(demo)
    return pools
