"""Where traces go: the address is looked at before anything is asked."""

import os

from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs

START_ONE = "Start one with `mlflow server --backend-store-uri sqlite:///mlflow.db`."
OTEL = "otel"
"""In the place of an address: traces go to OpenTelemetry's collector only, whose address is in the environment."""
_TRACES, _BASE = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
# A server that has gone should not hold up the work: by itself the client tries for minutes. Nor should addresses of
# runs stand among the results of a command.
_MANNERS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    # MLflow tells its makers how it is used, over the network, unless it is asked not to.
    "MLFLOW_DISABLE_TELEMETRY": "true",
}


def require_address(address: str) -> None:
    """Check that an address is one to which traces can go.

    Raises
    ------
    PolyqaError
        If the extra is not installed, or the address is none.
    """
    needs("mlflow", extra="mlflow", for_="Tracing (--mlflow)")
    if address == OTEL:
        if not _collector():
            raise PolyqaError(f"--mlflow otel sends traces to the address in {_TRACES} or {_BASE}; none is set.")
        return
    if not address.startswith(("http://", "https://")):
        raise PolyqaError(
            f"--mlflow takes the address of a server, such as http://127.0.0.1:5000, not {address!r}. {START_ONE}"
        )


def environment(address: str) -> dict[str, str | None]:
    """Return the variables that MLflow should find, or not find (``None``)."""
    wanted = {name: value for name, value in _MANNERS.items() if name not in os.environ}
    changed: dict[str, str | None] = {}
    if collector := _collector():
        # From the base address alone MLflow would send metrics, too, and go on after the block.
        changed = {_TRACES: collector, _BASE: None}
        if address != OTEL:
            wanted["MLFLOW_TRACE_ENABLE_OTLP_DUAL_EXPORT"] = "true"  # else the server gets none
        if not any(os.environ.get(name) for name in _PROTOCOLS):
            wanted[_PROTOCOLS[0]] = "http/protobuf"  # MLflow would choose gRPC, which the extra does not bring
    return changed | wanted


def _collector() -> str | None:
    """Return where a collector takes traces."""
    if named := os.environ.get(_TRACES):
        return named
    base = os.environ.get(_BASE)
    return f"{base.rstrip('/')}/v1/traces" if base else None
