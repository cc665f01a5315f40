"""MLflow's runs: the settings, figures and files of a long command, and what is lost on the way there."""

import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyqa.base.keys import error_line, is_secret, without_keys

if TYPE_CHECKING:
    from mlflow import MlflowClient

_LONGEST = 500  # characters of a parameter, as MLflow's stores have it
_LONGEST_REASON = 200  # characters
_LOGGERS = ("mlflow", "mlflow.tracing.export", "opentelemetry", "urllib3.connectionpool")
_UNNAMED = re.compile(r"[^\w\-. /:]")  # what MLflow's names may not have


class TracingWarning(UserWarning):
    """Traces are lost; the work goes on."""


class Losses(logging.Handler):
    """Warns of the first loss, and of no other; as a handler of logs it takes warnings for losses."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._warned = False

    def emit(self, record: logging.LogRecord) -> None:
        """Take a log record for a loss."""
        self.warn(record.getMessage())

    def warn(self, why: str) -> None:
        """Warn, if it is the first time."""
        if self._warned:
            return
        self._warned = True
        line = without_keys(" ".join(why.split()))[:_LONGEST_REASON]
        warnings.warn(f"MLflow does not take what it is told ({line}); the work goes on.", TracingWarning, stacklevel=2)

    @contextmanager
    def forgiven(self) -> Iterator[None]:
        """Warn of an error of MLflow's inside the block instead of raising it."""
        from mlflow.exceptions import MlflowException

        try:
            yield
        except (MlflowException, OSError) as error:
            self.warn(error_line(error))

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Take what MLflow's threads log inside the block for losses, and keep it out of the command's output."""
        import mlflow  # noqa: F401  which sets its loggers up when it is imported

        loggers = [logging.getLogger(name) for name in _LOGGERS]
        before = [(logger, logger.handlers, logger.propagate) for logger in loggers]
        for logger in loggers:
            logger.handlers, logger.propagate = [self], False
        try:
            yield
        finally:
            for logger, handlers, propagate in before:
                logger.handlers, logger.propagate = handlers, propagate


@dataclass
class Report:
    """Takes what a long command has to tell, for an MLflow run if there is one, of which the id is given.

    What MLflow does not take is a loss: what the command made is in its files.
    """

    client: "MlflowClient | None" = None
    losses: Losses = field(default_factory=Losses)
    id: str | None = None

    def add(
        self,
        *,
        parameters: Mapping[str, Any] | None = None,
        figures: Mapping[str, float] | None = None,
        files: Path | None = None,
    ) -> None:
        """Log settings, figures and a folder of results as MLflow's parameters, metrics and artifacts."""
        if self.client is None or self.id is None:
            return
        with self.losses.forgiven():
            for name, value in _flat(parameters or {}):
                self.client.log_param(self.id, _named(name), str(value)[:_LONGEST])
            for name, figure in (figures or {}).items():
                self.client.log_metric(self.id, _named(name), figure)
            for path in sorted(files.rglob("*")) if files is not None else ():
                inside = path.relative_to(files or path)
                if path.is_file() and not any(part.startswith(".") for part in inside.parts):
                    folder = inside.parent.as_posix()
                    self.client.log_artifact(self.id, str(path), None if folder == "." else folder)

    def end(self, status: str) -> None:
        """Say how it ended: FINISHED, KILLED or FAILED."""
        if self.client is not None and self.id is not None:
            with self.losses.forgiven():
                self.client.set_terminated(self.id, status)


def _named(name: str) -> str:
    """Return a name as MLflow takes it.

    >>> _named("mrecall@5.low")
    'mrecall_at_5.low'
    """
    return _UNNAMED.sub("_", name.replace("@", "_at_"))


def _flat(data: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested values by dotted names, without secrets and what is not given."""
    for name, value in data.items():
        if is_secret(name) or value is None or value in ({}, []):
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
