"""`traced` and `job`: the blocks in which questions become traces, and long commands runs."""

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.keys import error_line
from polyqa.lm.recorder import Events, listening

from .addresses import OTEL, START_ONE, environment, require_address
from .runs import Losses, Report

EXPERIMENT = "polyqa"


@dataclass(frozen=True)
class _Tracker:
    """The experiment that runs go to, if any, what makes spans, what takes losses, and the run that is under way."""

    experiment: str | None
    spans: Events
    losses: Losses
    run: str | None = None


_CURRENT: ContextVar[_Tracker | None] = ContextVar("polyqa_tracker", default=None)


@contextmanager
def traced(address: str | None, *, experiment: str = EXPERIMENT) -> Iterator[None]:
    """Send what happens inside the block to MLflow.

    Every question is a trace, with spans for the program, its predictors, the calls of language models, searches and
    reranking. `polyqa.evaluate`, `polyqa.compile` and `polyqa.adapt` are runs with their settings, figures and files;
    the many calls of a compilation are not traced. **Questions, prompts, passages and replies are sent**; keys are not.

    Parameters
    ----------
    address
        Of an MLflow server, such as ``http://127.0.0.1:5000``; ``otel`` for OpenTelemetry's collector only, whose
        address is in ``OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`` or ``OTEL_EXPORTER_OTLP_ENDPOINT``. Where one of these is
        set traces go to both. ``None`` sends nothing.
    experiment
        Name of MLflow's experiment; made if it is not there.

    Raises
    ------
    PolyqaError
        If the extra is not installed, the address is none, or nobody answers there.
    """
    if address is None:
        yield
        return
    require_address(address)
    with ExitStack() as stack:  # MLflow's settings belong to the process, and are as before when it ends
        stack.enter_context(_environment(environment(address)))
        import mlflow
        from mlflow.dspy.callback import MlflowCallback

        from .spans import Spans

        losses = Losses()
        stack.enter_context(losses.heard())
        place = None
        if address != OTEL:
            stack.callback(mlflow.set_tracking_uri, mlflow.get_tracking_uri())
            try:
                mlflow.set_tracking_uri(address)
                client = mlflow.MlflowClient()
                with warnings.catch_warnings(action="ignore"):  # of a first attempt that failed
                    known = client.get_experiment_by_name(experiment)
                place = known.experiment_id if known is not None else client.create_experiment(experiment)
            except (mlflow.exceptions.MlflowException, ValueError) as error:
                raise PolyqaError(
                    f"No MLflow server answers at {address} ({error_line(error, 200)}). Check the address. {START_ONE}"
                ) from error
        mlflow.tracing.reset()  # spans go where the environment says now
        stack.callback(mlflow.tracing.reset)  # which sends what is left
        stack.callback(mlflow.flush_trace_async_logging)
        # Where the user has called `mlflow.dspy.autolog`, its callback would make the same spans again.
        others = [one for one in dspy.settings.callbacks or () if not isinstance(one, MlflowCallback)]
        stack.enter_context(dspy.context(callbacks=others))
        tracker = _Tracker(place, stack.enter_context(listening(Spans(place))), losses)
        stack.callback(_CURRENT.reset, _CURRENT.set(tracker))
        yield


@contextmanager
def job(kind: str, name: str, *, trace: bool = True) -> Iterator[Report]:
    """Give what takes the results of a long command: an MLflow run inside `traced`, else nothing.

    Its status is FINISHED when the block ends, KILLED after Ctrl-C, FAILED after an error. What the command does
    (``kind``) becomes a tag. Questions inside the block are traced unless ``trace`` is False.
    """
    tracker = _CURRENT.get()
    if tracker is None or tracker.experiment is None:
        yield Report()
        return
    from mlflow import MlflowClient

    client = MlflowClient()
    report = Report(client, tracker.losses)
    tags = {"polyqa.kind": kind, **({"mlflow.parentRunId": tracker.run} if tracker.run else {})}
    with tracker.losses.forgiven():
        report.id = client.create_run(tracker.experiment, tags=tags, run_name=name).info.run_id
    token = _CURRENT.set(replace(tracker, run=report.id or tracker.run))
    status = "FAILED"
    try:
        callbacks = [one for one in dspy.settings.callbacks or () if trace or one is not tracker.spans]
        with dspy.context(callbacks=callbacks):
            yield report
        status = "FINISHED"
    except (KeyboardInterrupt, SystemExit):
        status = "KILLED"
        raise
    finally:
        _CURRENT.reset(token)
        report.end(status)


@contextmanager
def _environment(changed: Mapping[str, str | None]) -> Iterator[None]:
    """Set variables for the block, and take those away that are ``None``."""
    before = {name: os.environ.pop(name) for name in changed if name in os.environ}
    os.environ.update({name: value for name, value in changed.items() if value is not None})
    try:
        yield
    finally:
        for name in changed:
            os.environ.pop(name, None)
        os.environ.update(before)
