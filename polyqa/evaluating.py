"""Evaluates programs by name: puts program, index, reader and judge together and runs them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from math import isnan
from pathlib import Path
from typing import Any

import dspy

from polyqa.artifacts.identity import identity_hash
from polyqa.base.counts import counted
from polyqa.base.errors import PolyqaError
from polyqa.evaluation.loading import questions_fingerprint
from polyqa.evaluation.records import Record
from polyqa.evaluation.runner import answer_one, run_answers
from polyqa.evaluation.runs import Run, RunSettings
from polyqa.evaluation.scoring import Scorer
from polyqa.extractive import MODEL_NAME
from polyqa.lm.adapter import adapter_name
from polyqa.lm.assigned import describe_lms, names_of, own_lms, sampling, with_cache
from polyqa.metrics.embedded_judge import EmbeddedJudge
from polyqa.metrics.gold import Question
from polyqa.metrics.judges import Judge
from polyqa.metrics.llm_judge import LLMJudge
from polyqa.models import EMBEDDED_READER, SpanReader

from .cluster import Ray, programs_on_ray
from .helper_lm import give_helper
from .language_models import LMSettings, Models, default_threads, judge_model, shared_encoder, shared_reader
from .loading import DEFAULT_PROGRAM, check_settings, index_of, load, split_settings, warm_up
from .question_sets import Given, as_questions
from .tracing import job

DEFAULT_RUNS = "runs"


def make_scorer(
    reader: str | SpanReader = EMBEDDED_READER,
    judge: str | Judge | None = "embedded",
    *,
    alce: bool = False,
    api_base: str | None = None,
    settings: LMSettings = LMSettings(),
) -> Scorer:
    """Return a scorer.

    Parameters
    ----------
    reader, judge
        See `polyqa.language_models.Models`.
    alce
        Score what ALCE scores.
    api_base
        Address of the judge's server.
    settings
        The limits of the judge's calls.

    Raises
    ------
    PolyqaError
        If the judge is no language model and an address is given, or it needs a key and there is none.
    """
    if api_base and judge in (None, "embedded"):
        raise PolyqaError(
            f"--judge {judge or 'none'} asks no server, so it takes no --judge-api-base; name the server's model "
            "with --judge provider/model."
        )
    own_reader = shared_reader(reader)
    if judge == "embedded":
        judge = EmbeddedJudge(own_reader, shared_encoder())
    elif isinstance(judge, str):
        judge = LLMJudge(judge_model(judge, api_base=api_base, settings=settings))
    return Scorer(own_reader, judge, alce=alce)


def evaluate(
    program: str | Path | dspy.Module = DEFAULT_PROGRAM,
    questions: Given = "homonyms/dev",
    *,
    models: Models = Models(),
    folder: str | Path | None = None,
    threads: int | None = None,
    retry_failed: bool = True,
    alce: bool = False,
    ray: Ray | None = None,
    **settings: Any,
) -> Run:
    """Run a program over questions and score it; a run that was stopped goes on.

    Parameters
    ----------
    program, settings
        See `polyqa.load`; or a program from it, which has its index, demos and settings.
    questions
        A name or a path, see `polyqa.evaluation.loading.load_questions`; questions; or `polyqa.Questions`, which
        says how they are loaded.
    models
        What answers (``lm``, ``helper_lm``) and what scores (``reader``, ``judge``).
    folder
        Of the run; by default ``runs/``, and there `run_name`.
    threads
        Questions at once: 2 for the embedded engine, which shares this machine's cores, else 8.
    retry_failed
        See `polyqa.evaluation.runner.run_program`.
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
    if isinstance(program, dspy.Module):
        _refuse(settings)
    else:
        check_settings(program, split_settings(settings)[1], demos=settings.get("demos"))
    model = models.answering()
    helper = models.helping()
    scorer = make_scorer(
        models.reader, models.judge, alce=alce, api_base=models.judge_api_base, settings=models.settings
    )
    given = as_questions(questions)
    asked = given.asked
    if isinstance(program, dspy.Module):
        ready = program
        if helper is not None:
            ready = program.deepcopy()
            give_helper(ready, helper)
    else:
        ready = load(program, **{"helper_lm": helper, **settings})
    # A reply from a cache has no tokens and no time; the run's folder keeps them.
    model, ready = model.copy(cache=False), with_cache(ready, False)
    warm_up(ready, model)
    scorer.reader.read([("warm up?", "warm up")])  # one that cannot be loaded should cost no call
    opened = index_of(ready)
    label = type(program).__name__ if isinstance(program, dspy.Module) else str(program)
    made = RunSettings(
        program=label,
        program_state=identity_hash(ready),
        lm=model.model,
        lm_settings=sampling(model),
        own_lms=describe_lms(ready),
        adapter=adapter_name(),
        reader=scorer.reader.name + (", ALCE's cut" if scorer.alce else ""),
        judge=scorer.judge.name if scorer.judge else None,
        index=f"{opened.name} ({opened.fingerprint})" if opened else None,
        questions=f"{given.described}, {counted(len(asked), 'question')} ({questions_fingerprint(asked)})",
        n=len(asked),
        versions={package: version(package) for package in ("polyqa", "dspy")},
    )
    each = threads or default_threads(model)
    name = run_name(label, given, model.model, settings.get("demos"), helper_lm=names_of(own_lms(ready)))
    place = Path(folder or Path(DEFAULT_RUNS) / name)
    with job("evaluate", place.name) as report, _answering(program, settings, models, ray, each, alce) as answer:
        report.add(parameters=made.model_dump())
        run = run_answers(
            answer or partial(answer_one, ready, lm=model, scorer=scorer),
            asked,
            folder=place,
            settings=made,
            threads=each * (ray.workers if ray else 1),
            retry_failed=retry_failed,
        )
        report.add(figures=figures_of(run), files=run.path)
    return run


def figures_of(run: Run) -> dict[str, float]:
    """Return a run's figures by name, each with the ends of its interval, and how many questions failed."""
    found = {"failed": float(run.failed)}
    for name, value in run.summarized().items():
        ends = {"": value.value, ".low": value.low, ".high": value.high, ".n": float(value.n)}
        found |= {f"{name}{end}": figure for end, figure in ends.items() if not isnan(figure)}
    return found


@contextmanager
def _answering(
    program: str | Path | dspy.Module,
    settings: Mapping[str, Any],
    models: Models,
    ray: Ray | None,
    each: int,
    alce: bool,
) -> Iterator[Callable[[Question], Record] | None]:
    """Give what answers and scores a question on a cluster; ``None`` if there is none."""
    if ray is None:
        yield None
        return
    with programs_on_ray(make_answer, program, settings, models, alce, ray=ray, at_once=each) as workers:
        yield workers.wait


def make_answer(program: str, settings: Mapping[str, Any], models: Models, alce: bool) -> Callable[[Question], Record]:
    """Return what answers and scores a question; called in every worker of a cluster."""
    model = models.answering().copy(cache=False)
    ready = with_cache(load(program, **{"helper_lm": models.helping(), **settings}), False)
    scorer = make_scorer(
        models.reader, models.judge, alce=alce, api_base=models.judge_api_base, settings=models.settings
    )
    warm_up(ready, model)
    return partial(answer_one, ready, lm=model, scorer=scorer)


def _refuse(given: Mapping[str, Any]) -> None:
    """Refuse what only a program's name can be given with."""
    if names := [name for name, value in given.items() if value is not None]:
        raise PolyqaError(
            f"The program is made already: {', '.join(names)} cannot be given. Hand its name to evaluate, or make it "
            f"with polyqa.load(…, {names[0]}=…)."
        )


def run_name(
    program: str,
    questions: Given,
    lm: str = MODEL_NAME,
    demos: str | Path | None = None,
    *,
    helper_lm: str | None = None,
) -> str:
    """Return what the folder of a run is called: program, questions, language models and demos."""
    parts = [program, as_questions(questions).short]
    if lm != MODEL_NAME:
        parts.append(lm)
    if helper_lm is not None:
        parts.append(f"helper-{helper_lm}")
    if demos is not None:
        parts.append(Path(demos).stem)
    kept = "".join(letter if letter.isalnum() or letter in "-_.," else "-" for letter in ",".join(parts))
    return kept.replace(",", "--")
