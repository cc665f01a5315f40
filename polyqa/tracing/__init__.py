"""Traces for MLflow, and through it for OpenTelemetry: every question a trace, every long command a run.

Nothing of MLflow is imported unless `traced` is given an address. It is an extra: ``pip install 'polyqa[mlflow]'``.
"""

from .blocks import EXPERIMENT, OTEL, job, traced
from .runs import Report, TracingWarning

__all__ = ["EXPERIMENT", "OTEL", "Report", "TracingWarning", "job", "traced"]
