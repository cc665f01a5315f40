"""Demos from a program's own good runs, as a pool; a killed run goes on."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dspy
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from polyqa.artifacts.identity import identity_hash
from polyqa.base.errors import PolyqaError
from polyqa.base.journal import appending, read_journal
from polyqa.base.keys import error_line
from polyqa.base.outage import Outage
from polyqa.base.working import work_through
from polyqa.evaluation.loading import questions_fingerprint
from polyqa.lm.assigned import describe_lms, sampling
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
    questions
        Training questions.
    lm
        Runs the program.
    metric
        A run counts if its score reaches ``metric.threshold``.
    journal
        JSON lines, one per question that was run; those in it are not run again, unless they failed. It
        belongs to this program, language model, metric and these questions.
    threads
        Questions at once.

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
    names = {id(predictor): name for name, predictor in program.named_predictors()}
    settings = {
        "lm": str(lm.model),
        "lm settings": to_jsonable_python(sampling(lm), fallback=str),
        "own lms": to_jsonable_python(describe_lms(program), fallback=str),
        "program": identity_hash(program),
        "metric": [metric.reader.name, metric.measure, metric.threshold],
        "left out": "a question's own demos",
        "questions": questions_fingerprint(questions),
    }
    done = {line["id"]: line for line in read_journal(journal, settings) if not line["failed"]}
    open_questions = [question for question in questions if question.id not in done]

    def run(question: Question) -> dict[str, Any]:
        trace: list[Any] = []
        demos: list[tuple[str, Demo]] = []
        score = 0.0
        failed = ""
        try:
            with recording(lm), dspy.context(trace=trace):
                prediction = program(question=question.question)
            value = metric(question.to_example(), prediction)
            score = float(value)
        except Exception as error:  # one bad reply must not end hours of compiling; it is kept, and run again
            failed = f"{type(error).__name__}: {error_line(error)}"
        # After a reply that something stands in for, the later calls of the run were given what nobody said.
        if not failed and score >= metric.threshold and not prediction.get("faults"):
            demos = [(names[id(predictor)], _demo(predictor, inputs, outputs)) for predictor, inputs, outputs in trace]
        return to_jsonable_python({"id": question.id, "score": score, "failed": failed, "demos": demos})

    outage = Outage("training questions")
    if open_questions:
        with leave_one_out(questions), appending(journal, settings) as append:

            def keep(line: dict[str, Any]) -> None:
                append(line)
                done[line["id"]] = line
                kind, _, why = line["failed"].partition(": ")
                outage.ended(why or kind, kind)

            work_through(open_questions, run, keep, threads=threads, check=outage.check)
    failures = [line["failed"] for line in done.values() if line["failed"]]
    if failures and len(failures) == len(done):
        raise PolyqaError(
            f"Every run on the {len(failures)} training questions failed: {failures[-1]} Mend the cause and start "
            "again; they are run once more."
        )
    labels = {name: label_fields(predictor.signature) for name, predictor in program.named_predictors()}
    return _merge(labels, [done[question.id] for question in questions])


def _demo(predictor: dspy.Predict, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Demo:
    fields = predictor.signature.fields
    return {name: value for name, value in {**inputs, **outputs}.items() if name in fields and value is not None}


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
        shown: set[tuple[str, str]] = set()
        for name, demo in line["demos"]:
            said = json.dumps([demo.get(label) for label in labels[name]])
            if (name, said) not in shown:
                shown.add((name, said))
                pools[name].append(demo)
    return pools
