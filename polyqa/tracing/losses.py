"""What is lost on the way to MLflow: it is told once, and the work goes on."""

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from polyqa.base.keys import error_line, without_keys

_LONGEST = 200  # characters of a reason


class TracingWarning(UserWarning):
    """Traces are lost; the work goes on."""


class Losses:
    """Tells of the first loss, and keeps the others to itself."""

    def __init__(self) -> None:
        self._told = threading.Event()

    def tell(self, why: str) -> None:
        """Warn, if it is the first time."""
        if self._told.is_set():
            return
        self._told.set()
        line = without_keys(" ".join(why.split()))[:_LONGEST]
        warnings.warn(f"MLflow does not take what it is told ({line}); the work goes on.", TracingWarning, stacklevel=2)

    @contextmanager
    def forgiven(self) -> Iterator[None]:
        """Tell of an error of MLflow's inside the block instead of raising it."""
        from mlflow.exceptions import MlflowException

        try:
            yield
        except (MlflowException, OSError) as error:
            self.tell(error_line(error))

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Take what MLflow's threads log inside the block for losses, and keep it out of the command's output."""
        import mlflow  # noqa: F401  which sets its loggers up when it is imported

        names = ("mlflow", "mlflow.tracing.export", "opentelemetry", "urllib3.connectionpool")
        loggers = [logging.getLogger(name) for name in names]
        before = [(logger, list(logger.handlers), logger.propagate) for logger in loggers]
        listener = _Listener(self)
        for logger in loggers:
            logger.handlers, logger.propagate = [listener], False
        try:
            yield
        finally:
            for logger, handlers, propagate in before:
                logger.handlers, logger.propagate = handlers, propagate


class _Listener(logging.Handler):
    def __init__(self, losses: Losses) -> None:
        super().__init__(logging.WARNING)
        self._losses = losses

    def emit(self, record: logging.LogRecord) -> None:
        self._losses.tell(record.getMessage())
