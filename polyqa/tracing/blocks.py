"""`traced` and `job`: the blocks in which questions become traces, and long commands runs."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.keys import error_line

from .addresses import OTEL, environment, require_address
from .losses import Losses
from .runs import Report, Run

EXPERIMENT = "polyqa"
TERMINATED = 128 + signal.SIGTERM
"""The exit code after SIGTERM, as shells have it."""


@dataclass(frozen=True)
class _Tracker:
    """The experiment that runs go to, if any, the callback that makes spans, and what was lost."""

    experiment: str
    callback: Any
    losses: Losses = field(default_factory=Losses)


_CURRENT: ContextVar[_Tracker | None] = ContextVar("polyqa_tracker", default=None)
_PARENT: ContextVar[str | None] = ContextVar("polyqa_parent_run", default=None)


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
    with ExitStack() as stack:
        tracker = stack.enter_context(_mlflow(address, experiment))
        token = _CURRENT.set(tracker)
        stack.callback(_CURRENT.reset, token)
        stack.enter_context(_callbacks(with_=tracker.callback))
        yield


@contextmanager
def job(kind: str, name: str, *, trace: bool = True) -> Iterator[Report]:
    """Give what takes the results of a long command: an MLflow run inside `traced`, else nothing.

    Its status is FINISHED when the block ends, KILLED after Ctrl-C or SIGTERM, FAILED after an error.

    Parameters
    ----------
    kind, name
        What the command does, which becomes a tag, and the run's name.
    trace
        Whether questions inside the block are traced.
    """
    tracker = _CURRENT.get()
    if tracker is None or not tracker.experiment:
        yield Report()
        return
    with _told_of_the_end() as heed:
        run = Run(tracker.experiment, kind, name, _PARENT.get(), tracker.losses)
        token = _PARENT.set(run.id or _PARENT.get())
        status = "FAILED"
        try:
            with ExitStack() as stack:
                if not trace:
                    stack.enter_context(_callbacks(without=tracker.callback))
                heed()
                yield run
            status = "FINISHED"
        except (KeyboardInterrupt, SystemExit):
            status = "KILLED"
            raise
        finally:
            _PARENT.reset(token)
            run.end(status)


@contextmanager
def _told_of_the_end() -> Iterator[Callable[[], None]]:
    """Have SIGTERM end the block as an exception does, where nobody has said what it should do.

    A signal that comes before the function that is given is called ends the block then: while a run is made on a
    server, nobody here knows yet how to end it.
    """
    own = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if not own:
        yield lambda: None
        return
    heeded = ended = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        ended = True
        if heeded:
            raise SystemExit(TERMINATED)

    def heed() -> None:
        nonlocal heeded
        heeded = True
        if ended:
            raise SystemExit(TERMINATED)

    signal.signal(signal.SIGTERM, end)
    try:
        yield heed
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def _mlflow(address: str, experiment: str) -> Iterator[_Tracker]:
    """Set MLflow up for the block: its settings belong to the process, and are as before when it ends."""
    with ExitStack() as stack:
        stack.enter_context(_environment(environment(address)))
        import mlflow
        import mlflow.dspy

        from .callback import make_callback

        losses = Losses()
        stack.enter_context(losses.heard())
        own = ""
        if address != OTEL:
            stack.enter_context(_experiment_kept())
            before = mlflow.get_tracking_uri()
            mlflow.set_tracking_uri(address)
            stack.callback(mlflow.set_tracking_uri, before)
            try:
                own = mlflow.set_experiment(experiment).experiment_id
            except mlflow.exceptions.MlflowException as error:
                raise PolyqaError(
                    f"What answers at {address} is no MLflow server, or refuses: {error_line(error, 200)}"
                ) from error
        counted = dspy.settings.track_usage
        mlflow.dspy.autolog(silent=True)  # its callbacks make no span unless this was called
        dspy.settings.configure(track_usage=counted)  # which it switches on; polyqa counts for itself
        stack.callback(mlflow.dspy.autolog, disable=True, silent=True)
        mlflow.tracing.reset()  # spans go where the environment says now
        stack.callback(mlflow.tracing.reset)  # which sends what is left
        stack.callback(mlflow.flush_trace_async_logging)
        yield _Tracker(own, make_callback(), losses)


@contextmanager
def _environment(changed: Mapping[str, str | None]) -> Iterator[None]:
    """Set variables for the block, and take those away that are ``None``."""
    before = {name: os.environ.get(name) for name in changed}
    _set(changed)
    try:
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def _experiment_kept() -> Iterator[None]:
    """Have the block leave MLflow's experiment as it was: by itself the last one that was set stays for the process."""
    from mlflow.environment_variables import MLFLOW_EXPERIMENT_ID
    from mlflow.tracking import fluent

    earlier, variable = fluent._active_experiment_id, MLFLOW_EXPERIMENT_ID.name
    with _environment({variable: os.environ.get(variable)}):
        try:
            yield
        finally:
            fluent._active_experiment_id = earlier


@contextmanager
def _callbacks(*, with_: Any = None, without: Any = None) -> Iterator[None]:
    from mlflow.dspy.callback import MlflowCallback

    # Not MLflow's own, which autolog sets: ours makes the same spans, and those of searches as MLflow knows them.
    own = [one for one in dspy.settings.callbacks or () if type(one) is not MlflowCallback and one is not without]
    with dspy.context(callbacks=[*own, *([with_] if with_ is not None else [])]):
        yield
