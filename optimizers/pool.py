"""Demos from a program's own good runs, as a pool; a killed run goes on."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from pathlib import Path
from typing import Any

import dspy
from pydantic_core import to_jsonable_python

from metrics.gold import Question
from metrics.optimizing import AnswerMetric
from programs.recording import recording

Demo = dict[str, Any]


def bootstrap_pool(
    program: dspy.Module,
    questions: Sequence[Question],
    *,
    lm: dspy.LM,
    metric: AnswerMetric,
    journal: Path,
    threads: int = 8,
    step: Callable[[], None] = lambda: None,
) -> dict[str, list[Demo]]:
    """Run a program on training questions and keep what its predictors said where the metric accepts.

    Parameters
    ----------
    program
        Its current demos and instructions make the runs.
    questions
        Training questions.
    lm
        Runs the program.
    metric
        A run counts if its score reaches ``metric.threshold``.
    journal
        JSON lines, one per question that was run; those in it are not run again.
    threads, step
        Questions at once; called after each question.

    Returns
    -------
    dict
        Predictor name to demos, in the order of the questions. A predictor that was called several
        times in one run (verification) gives its first demo for each distinct reply.
    """
    names = {id(predictor): name for name, predictor in program.named_predictors()}
    done = _read(journal)
    open_questions = [question for question in questions if question.id not in done]
    for _ in done:
        step()

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
        except Exception as error:  # one bad reply must not end hours of compiling; it is kept and counted
            failed = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        if not failed and score >= metric.threshold:
            demos = [(names[id(predictor)], _demo(predictor, inputs, outputs)) for predictor, inputs, outputs in trace]
        return {"id": question.id, "score": score, "failed": failed, "demos": demos}

    if open_questions:
        journal.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        pool = ThreadPoolExecutor(threads)
        futures = [pool.submit(copy_context().run, run, question) for question in open_questions]
        try:
            for future in as_completed(futures):
                line = to_jsonable_python(future.result())
                os.write(file, (json.dumps(line, ensure_ascii=False) + "\n").encode())
                done[line["id"]] = line
                step()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            os.close(file)
    return _merge([name for name, _ in program.named_predictors()], [done[question.id] for question in questions])


def _demo(predictor: dspy.Predict, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Demo:
    fields = predictor.signature.fields
    return {name: value for name, value in {**inputs, **outputs}.items() if name in fields and value is not None}


def _read(journal: Path) -> dict[str, dict[str, Any]]:
    if not journal.exists():
        return {}
    data = journal.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):  # killed while writing
        with journal.open("r+b") as file:
            file.truncate(len(whole))
    return {line["id"]: line for line in map(json.loads, whole.splitlines())}


def _merge(names: Sequence[str], lines: Sequence[Mapping[str, Any]]) -> dict[str, list[Demo]]:
    pools: dict[str, list[Demo]] = {name: [] for name in names}
    for line in lines:
        shown: set[tuple[str, str]] = set()
        for name, demo in line["demos"]:
            verdict = json.dumps(demo.get("answerable"), sort_keys=True)
            if (name, verdict) not in shown:
                shown.add((name, verdict))
                pools[name].append(demo)
    return pools
