"""Answers the questions of a batch."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dspy

from polyqa.artifacts.identity import identity_hash
from polyqa.base.errors import PolyqaError
from polyqa.base.event_loops import run_to_end
from polyqa.base.outage import Outage
from polyqa.cluster import Ray, for_workers, programs_on_ray
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.prices import Price, price_of
from polyqa.evaluation.progress import display
from polyqa.extractive import MODEL_NAME
from polyqa.helper_lm import give_helper
from polyqa.language_models import Models
from polyqa.lm.adapter import adapter_name
from polyqa.lm.assigned import describe_lms, own_lms, sampling
from polyqa.loading import DEFAULT_PROGRAM, check_settings, index_of, load, split_settings, warm_up
from polyqa.programs.registry import most_calls

from .asked import Asked, Given, read_asked
from .lines import Answered, Answers, open_answers
from .work import Answerer, CallLimit, Fields, work_on


def default_at_once(lm: dspy.LM) -> int:
    """Return how many questions are under way at once: 4 of the embedded engine, which shares this machine, else 32."""
    return 4 if lm.model == MODEL_NAME else 32


@dataclass(frozen=True)
class Batch:
    """How many questions are answered.

    Attributes
    ----------
    at_once
        How many are under way at once, on Ray in each worker: `default_at_once` if not given.
    max_calls
        Begin no question that might take the calls over this number, those of earlier, stopped commands included.
    ray
        Answer on a cluster; in this process if not given.
    retry_failed
        Whether questions that failed in an earlier, stopped command are asked again.
    overwrite
        Begin again where there is a file already.

    Raises
    ------
    PolyqaError
        If ``at_once`` is below 1.
    """

    at_once: int | None = None
    max_calls: int | None = None
    ray: Ray | None = None
    retry_failed: bool = True
    overwrite: bool = False

    def __post_init__(self) -> None:
        if self.at_once is not None and self.at_once < 1:
            raise PolyqaError(f"At least 1 question is under way at once, not {self.at_once}.")


def answer_many(
    questions: Given,
    out: str | Path,
    *,
    program: str | Path | dspy.Module = DEFAULT_PROGRAM,
    index: str | Path | ColBERTIndex | None = None,
    models: Models = Models(),
    batch: Batch = Batch(),
    **settings: Any,
) -> Answered:
    """Answer many questions; a batch that was stopped goes on, and one to whose questions some were added, too.

    Parameters
    ----------
    questions
        See `read_asked`: a file, or texts.
    out
        The file of answers, see `Answered`: each is written as it comes.
    program, index, settings
        See `polyqa.load`; or a program from it, which has its index and settings.
    models
        What answers (``lm``, ``helper_lm``).
    batch
        How it is done.

    Raises
    ------
    PolyqaError
        If something given is missing or does not fit; if the file is of something else; if the limit is reached, or
        questions fail one after the other (what was answered is kept, and the same call goes on).
    """
    path = Path(out).expanduser()
    asked = read_asked(questions)
    given = {"index": index, **settings}
    ray = batch.ray
    if ray is not None:
        for_workers(program, given, models)  # refuses what cannot travel before anything is loaded
    ready, label, lm = _program(program, given, models)
    price = _price(lm, ready)
    with open_answers(
        path, asked, _identity(ready, label, lm), retry_failed=batch.retry_failed, overwrite=batch.overwrite
    ) as answers:
        left = [one for one in asked if one.id not in answers.outcomes]
        if left:
            each = batch.at_once or default_at_once(lm)
            answering = (
                _here(ready, label, lm) if ray is None else _on_cluster(program, given, models, label, ray, each)
            )
            limit = CallLimit(batch.max_calls, most_calls(ready) or 1)
            with answering as work:
                _work(left, work, answers, each * (ray.workers if ray else 1), limit, total=len(asked), price=price)
    outcomes = {one.id: answers.outcomes[one.id] for one in asked}
    answered = Answered(path, outcomes, None)
    took = answered.took
    return replace(answered, dollars=None if price is None else price.of(took.input_tokens, took.output_tokens))


def _program(
    program: str | Path | dspy.Module, given: dict[str, Any], models: Models
) -> tuple[dspy.Module, str, dspy.LM]:
    """Return the program, its name and the language model."""
    lm, helper = models.answering(), models.helping()
    if isinstance(program, dspy.Module):
        if names := [name for name, value in given.items() if value is not None]:
            raise PolyqaError(f"The program is made already: {', '.join(names)} cannot be given. Hand over its name.")
        ready = program
        if helper is not None:
            ready = program.deepcopy()
            give_helper(ready, helper)
        return ready, type(program).__name__, lm
    check_settings(program, split_settings(given)[1], demos=given.get("demos"))
    return load(program, **{"helper_lm": helper, **given}), str(program), lm


def make_answerer(program: str | Path, given: dict[str, Any], models: Models, label: str) -> Answerer:
    """Return what answers questions; called in every worker of a cluster."""
    lm = models.answering()
    ready = load(program, **{"helper_lm": models.helping(), **given})
    warm_up(ready, lm)
    return Answerer(ready, lm, label)


@contextmanager
def _here(ready: dspy.Module, label: str, lm: dspy.LM) -> Iterator[Answerer]:
    warm_up(ready, lm)
    yield Answerer(ready, lm, label)


@contextmanager
def _on_cluster(
    program: str | Path | dspy.Module, given: dict[str, Any], models: Models, label: str, ray: Ray, each: int
) -> Iterator[Callable[[Asked], Any]]:
    with programs_on_ray(make_answerer, program, given, models, label, ray=ray, at_once=each) as workers:
        yield workers.call


def _work(
    left: Sequence[Asked],
    work: Callable[[Asked], Any],
    answers: Answers,
    at_once: int,
    limit: CallLimit,
    *,
    total: int,
    price: Price | None,
) -> None:
    outage = Outage("questions")
    with display().answers(total, price) as show:
        for outcome in answers.outcomes.values():
            limit.add(outcome.took.calls)
            show(outcome.took)

        def keep(asked: Asked, fields: Fields) -> None:
            outcome = answers.keep(asked.id, fields)
            limit.add(outcome.took.calls)
            if outcome.error:
                outage.ended(outcome.error, fields["error"]["kind"])
            else:
                outage.ended()
            show(outcome.took)

        job = work_on(left, work, keep, at_once=at_once, limit=limit.allows, check=outage.check)
        finished = run_to_end(job)
    if not finished:
        raise limit.error(answers.path)


def _identity(ready: dspy.Module, label: str, lm: dspy.LM) -> dict[str, Any]:
    """Return what two commands must have in common to write one file."""
    opened = index_of(ready)
    return {
        "program": label,
        "program_state": identity_hash(ready),
        "lm": lm.model,
        "lm_settings": sampling(lm),
        "own_lms": describe_lms(ready),
        "adapter": adapter_name(),
        "index": f"{opened.name} ({opened.fingerprint})" if opened else None,
        "versions": {package: version(package) for package in ("polyqa", "dspy")},
    }


def _price(lm: dspy.LM, program: dspy.Module) -> Price | None:
    """Return what tokens cost; it is not known of which model they are where there are several."""
    others = {one.model for one in own_lms(program).values()} - {lm.model}
    return None if others else price_of(lm.model)
