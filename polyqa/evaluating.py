"""Evaluates programs by name: puts program, index, reader and judge together and runs them."""

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.text import counted
from polyqa.evaluation.identity import ALCES_CUT, RunIdentity
from polyqa.evaluation.loading import questions_fingerprint
from polyqa.evaluation.records import Record
from polyqa.evaluation.runner import Answer, answer_one, run_answers
from polyqa.evaluation.runs import Run
from polyqa.evaluation.scoring import Scorer
from polyqa.extractive import MODEL_NAME
from polyqa.lm.assigned import names_of, own_lms, with_cache
from polyqa.metrics.embedded_judge import EmbeddedJudge
from polyqa.metrics.gold import Question
from polyqa.metrics.llm_judge import LLMJudge

from .cluster import Ray, for_workers, on_ray
from .language_models import Models, default_threads, judge_model, shared_encoder, shared_reader, split_address
from .loading import checked_program, default_program, index_of, over_own_documents, warm_up
from .question_sets import Given, as_questions
from .tracing import job


def make_scorer(models: Models = Models(), *, alce: bool = False) -> Scorer:
    """Return a scorer with the reader and the judge of some models, which scores what ALCE scores if wanted."""
    reader, judge = shared_reader(models.reader), models.judge
    if judge == "embedded":
        judge = EmbeddedJudge(reader, shared_encoder())
    elif isinstance(judge, str):
        judge = LLMJudge(judge_model(judge, models.settings))
    elif isinstance(judge, dspy.BaseLM):
        judge = LLMJudge(judge)
    return Scorer(reader, judge, alce=alce)


def evaluate(
    program: str | Path | dspy.Module | None = None,
    questions: Given = "homonyms/dev",
    *,
    models: Models | str | dspy.LM = Models(),
    folder: str | Path | None = None,
    threads: int | None = None,
    alce: bool = False,
    ray: Ray | None = None,
    **settings: Any,
) -> Run:
    """Run a program over questions and score it; a run that was stopped goes on.

    Parameters
    ----------
    program, settings
        See `polyqa.load`; or a program from it, which has its index, demos and settings. If not given,
        `polyqa.loading.default_program`.
    questions
        A name or a path, see `polyqa.evaluation.loading.load_questions`; questions; or `polyqa.Questions`, which
        says how they are loaded.
    models
        What answers (``lm``, ``helper_lm``) and what scores (``reader``, ``judge``), see `Models.of`.
    folder
        Of the run; by default ``runs/``, and there `run_name`.
    threads
        Questions at once; if not given 2 for the embedded engine, which shares this machine's cores, as many as a local
        model has slots, else 8.
    alce
        Score what ALCE scores: the first line of an answer, without citations.
    ray
        Answer and score on a cluster, ``threads`` questions at once in each worker; in this process if not given.

    Raises
    ------
    PolyqaError
        If something given is missing or does not fit, or the run's folder holds a run of something else: another
        program, other settings, another index, model, reader or judge, other questions.
    """
    models = Models.of(models)
    model = models.answering()
    program = default_program(model) if program is None else program
    make, label = checked_program(program, settings, models.helping())
    scorer = make_scorer(models, alce=alce)
    question_set = as_questions(questions)
    asked_questions = question_set.asked
    if not asked_questions:
        raise PolyqaError("There are no questions: give one at least.")
    if threads is not None and threads < 1:
        raise PolyqaError(f"threads is at least 1, not {threads}.")
    ready = make()
    # A reply from a cache has no tokens and no time; the run's folder keeps them.
    model, ready = model.copy(cache=False), with_cache(ready, False)
    warm_up(ready, model)
    scorer.reader.read([("warm up?", "warm up")])  # one that cannot be loaded should cost no call
    question_count = counted(len(asked_questions), "question")
    identity = RunIdentity.of(
        ready,
        model,
        name=label,
        index=index_of(ready),
        reader=scorer.reader.name + (ALCES_CUT if scorer.alce else ""),
        judge=scorer.judge.name if scorer.judge else None,
        questions=f"{question_set.described}, {question_count} ({questions_fingerprint(asked_questions)})",
        n=len(asked_questions),
    )
    each = threads or default_threads(model)
    name = run_name(label, question_set, model.model, settings.get("demos"), helper_lm=names_of(own_lms(ready)))
    place = Path(folder or Path("runs") / name)
    own_documents = question_set.own_documents
    for question in asked_questions if own_documents else ():
        over_own_documents(ready, question)  # what lacks should cost no call
    answer: Answer = partial(_answer, ready, lm=model, scorer=scorer, own_documents=own_documents)
    with job("evaluate", place.name) as report, ExitStack() as running:
        report.add(parameters=identity.model_dump())
        if ray is not None:
            worker_arguments = for_workers(program, settings, models, ray.workers)
            make_worker = partial(make_answer, *worker_arguments, alce, own_documents)
            workers = running.enter_context(on_ray(make_worker, ray, at_once=each))
            answer = workers.call
        threads = each * (ray.workers if ray else 1)
        run = run_answers(answer, asked_questions, folder=place, identity=identity, threads=threads)
        report.add(figures=figures_of(run), files=run.path)
    return run


def figures_of(run: Run) -> dict[str, float]:
    """Return a run's figures by name, each with the ends of its interval, and how many questions failed."""
    figures = {"failed": float(run.failed)}
    for name, value in run.summarized().items():
        ends = {"": value.value, ".low": value.low, ".high": value.high, ".n": float(value.n)}
        figures |= {f"{name}{end}": figure for end, figure in ends.items() if not isnan(figure)}
    return figures


def _answer(program: dspy.Module, question: Question, *, own_documents: bool, **with_: Any) -> Record:
    return answer_one(over_own_documents(program, question) if own_documents else program, question, **with_)


def make_answer(
    program: str, settings: Mapping[str, Any], models: Models, alce: bool, own_documents: bool
) -> Callable[[Question], Record]:
    """Return what answers and scores a question; called in every worker of a cluster."""
    make, _ = checked_program(program, settings, models.helping())
    model, ready = models.answering().copy(cache=False), with_cache(make(), False)
    warm_up(ready, model)
    scorer = make_scorer(models, alce=alce)
    return partial(_answer, ready, lm=model, scorer=scorer, own_documents=own_documents)


def run_name(
    program: str,
    questions: Given,
    lm: str = MODEL_NAME,
    demos: str | Path | None = None,
    *,
    helper_lm: str | None = None,
) -> str:
    """Return what the folder of a run is called: program, questions, language models and demos."""
    question_set = as_questions(questions)
    # A sample, or another split, has a folder of its own: the first try on a few questions is in nobody's way.
    parts = [program, question_set.short, *(str(part) for part in (question_set.split, question_set.limit) if part)]
    if question_set.limit and question_set.seed:
        parts.append(f"seed-{question_set.seed}")
    if lm != MODEL_NAME:
        parts.append(split_address(lm)[0])
    if helper_lm is not None:
        parts.append(f"helper-{split_address(helper_lm)[0]}")
    if demos is not None:
        parts.append(Path(demos).stem)
    return re.sub(r"[^\w.,-]", "-", ",".join(parts)).replace(",", "--")
