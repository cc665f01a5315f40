"""Logs of a server as JSON lines: how each request and question ended and what it took; texts only if wanted."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

from polyqa.base.keys import without_keys

_LOGGERS = ("polyqa", "uvicorn")
_OTHERS = ("", "py.warnings")


class JsonFormatter(logging.Formatter):
    """Writes a record as one JSON object: ``time``, ``level``, ``logger``, ``message``, and what the record tells.

    Parameters
    ----------
    questions
        Whether the texts of questions are written.
    """

    def __init__(self, *, questions: bool = False) -> None:
        super().__init__()
        self._questions = questions

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        told: dict[str, Any] = dict(getattr(record, "told", {}))
        if not self._questions:
            told.pop("question", None)
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **told,
        }
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            # The error's own text may quote a question or a reply; where it happened never does.
            line["error"] = type(error).__name__
            line["trace"] = [
                f"{one.filename}:{one.lineno} {one.name}" for one in traceback.extract_tb(error.__traceback__)
            ]
            if self._questions:
                line["why"] = without_keys(str(error))
        return json.dumps(line, ensure_ascii=False, default=str).encode("utf-8", errors="replace").decode()


def log_json(*, questions: bool = False, stream: TextIO | None = None) -> None:
    """Have logs and warnings written as JSON lines, to standard error if nothing else is given.

    Parameters
    ----------
    questions
        Whether the texts of questions, and of errors, which may quote them, are written.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(questions=questions))
    logging.captureWarnings(True)
    for name in (*_LOGGERS, *_OTHERS):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name in _LOGGERS else logging.WARNING)
