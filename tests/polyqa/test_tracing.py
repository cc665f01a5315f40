"""Traces: OpenTelemetry's to a real collector over HTTP, MLflow's to a real server with SQLite."""

import asyncio
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dspy
import pytest
from openai_server import Wire, serve
from until import until

import polyqa
from lab.servers import QuietHandler, serving
from polyqa.base.errors import PolyqaError
from polyqa.language_models import embedded_engine
from polyqa.tracing import TracingWarning, traced

pytest.importorskip("mlflow", reason="MLflow is an extra: pip install 'polyqa[mlflow]'")
QUESTION = "When did Titanic come out?"
SECRET = "sk-very-secret-0123456789"


@dataclass
class Collector:
    """OpenTelemetry's collector, as far as traces go."""

    bodies: list[bytes] = field(default_factory=list)

    @property
    def spans(self) -> list[Any]:
        """All spans that came."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        every = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        return [s for one in every for r in one.resource_spans for scope in r.scope_spans for s in scope.spans]

    @property
    def roots(self) -> list[Any]:
        return [span for span in self.spans if not span.parent_span_id]

    @property
    def text(self) -> str:
        return b"".join(self.bodies).decode(errors="replace")


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    collector = Collector()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.path == "/v1/traces"
            collector.bodies.append(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with serving(Handler) as base:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{base}/v1/traces")
        yield collector


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: one.value.string_value for one in span.attributes}


def test_a_question_is_one_trace_of_nested_spans(collector: Collector) -> None:
    with traced("otel"):
        result = polyqa.ask(QUESTION, program="diva")
    spans = {span.span_id: span for span in collector.spans}
    assert len({span.trace_id for span in spans.values()}) == 1
    (root,) = [span for span in spans.values() if not span.parent_span_id]
    assert all(span.parent_span_id in spans for span in spans.values() if span is not root)
    names = [span.name for span in spans.values()]
    assert root.name == "DIVA"
    assert {"search", "rerank", "classify", "infer", "clarify", "polyqa/extractive"} <= {*names}
    assert names.count("polyqa/extractive") == len(result.calls)
    kinds = {span.name: json.loads(attributes(span)["mlflow.spanType"]) for span in spans.values()}
    assert (kinds["search"], kinds["rerank"], kinds["polyqa/extractive"]) == ("RETRIEVER", "RERANKER", "CHAT_MODEL")
    found = json.loads(next(attributes(s)["mlflow.spanOutputs"] for s in spans.values() if s.name == "search"))
    assert {"page_content", "id", "metadata"} <= found[0].keys()
    assert json.loads(attributes(root)["mlflow.spanInputs"])["question"] == QUESTION
    usage = json.loads(attributes(root)["mlflow.chat.tokenUsage"])
    assert (usage["input_tokens"], usage["output_tokens"]) == (result.input_tokens, result.output_tokens)


def test_what_mlflow_logs_by_itself_makes_no_second_span(collector: Collector) -> None:
    import mlflow.dspy

    before = dspy.settings.track_usage
    mlflow.dspy.autolog(silent=True)
    try:
        with traced("otel"):
            result = polyqa.ask(QUESTION, program="closed-book")
    finally:
        mlflow.dspy.autolog(disable=True, silent=True)
        dspy.settings.configure(track_usage=before)
    names = [span.name for span in collector.spans]
    assert sorted(names) == sorted(["ClosedBook", "recall", *["polyqa/extractive"] * len(result.calls)])


def test_questions_at_once_are_a_trace_each_in_threads_and_in_a_loop(collector: Collector) -> None:
    program = polyqa.load("diva")

    async def both() -> None:
        await asyncio.gather(*(polyqa.aask(q, program=program) for q in (QUESTION, "Who founded Alexandria?")))

    with traced("otel"):
        asyncio.run(both())
        with ThreadPoolExecutor(2) as pool:
            for question in (QUESTION, "What is Mercury?"):
                pool.submit(copy_context().run, lambda q=question: polyqa.ask(q, program=program))
    assert [span.name for span in collector.roots] == ["DIVA"] * 4
    assert len({span.trace_id for span in collector.roots}) == 4
    for root in collector.roots:
        own = [span for span in collector.spans if span.trace_id == root.trace_id]
        assert len(own) > 8
        assert {span.parent_span_id for span in own} <= {b"", *(span.span_id for span in own)}


def test_an_error_ends_its_trace_and_no_key_is_sent(collector: Collector) -> None:
    lm = polyqa.language_model(
        "openai/m", api_base="http://127.0.0.1:9/v1", api_key=SECRET, retries=0, timeout=5, cache=False
    )
    with traced("otel"), pytest.raises(Exception, match=r"connect|refused"):
        polyqa.ask(QUESTION, program="rac", lm=lm)
    with serve(embedded_engine()) as server, traced("otel"):
        hidden = {"Authorization": f"Bearer {SECRET}"}
        lm = polyqa.language_model("openai/m", api_base=server.base, api_key=SECRET, extra_headers=hidden, cache=False)
        polyqa.ask(QUESTION, program="rac", lm=lm)
    assert [span.status.code for span in collector.roots] == [2, 1]
    assert SECRET not in collector.text
    assert "openai/m" in collector.text


def test_a_key_that_an_error_repeats_is_not_sent(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "0f9a6b1e-7d31-44c5"  # looks like no key, but the environment has it under a key's name
    monkeypatch.setenv("SOME_PROVIDER_API_KEY", other)

    class Repeating:
        def complete(self, request: Any) -> Any:
            raise Wire(json.dumps({"error": {"message": f"Wrong key: {SECRET} or {other}"}}), status=401)

    with serve(Repeating()) as server, traced("otel"):
        lm = polyqa.language_model("openai/m", api_base=server.base, api_key=SECRET, retries=0, cache=False)
        with pytest.raises(Exception, match="Wrong key"):
            polyqa.ask(QUESTION, program="rac", lm=lm)
    assert "Wrong key: [key] or [key]" in collector.text
    assert SECRET not in collector.text
    assert other not in collector.text


def test_the_base_address_of_a_collector_is_enough(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    address = os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address.removesuffix("/v1/traces"))
    with traced("otel"):
        polyqa.ask(QUESTION, program="closed-book")
    assert collector.spans


def test_nothing_is_sent_outside_the_block_and_the_settings_are_as_before(collector: Collector) -> None:
    before = dict(os.environ), dspy.settings.callbacks, dspy.settings.track_usage
    with traced("otel"):
        polyqa.ask(QUESTION, program="closed-book")
        assert dspy.settings.track_usage is before[2]
    sent = len(collector.bodies)
    assert sent > 0
    polyqa.ask(QUESTION, program="closed-book")
    with traced(None):
        polyqa.ask(QUESTION, program="closed-book")
    assert len(collector.bodies) == sent
    assert dict(os.environ) == before[0]
    assert list(dspy.settings.callbacks or ()) == list(before[1] or ())
    assert dspy.settings.track_usage is before[2]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("otel", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT; none is set"),
        ("mlflow.db", r"takes the address of a server, such as http://127\.0\.0\.1:5000, not 'mlflow\.db'"),
        ("http://127.0.0.1:9", r"No MLflow server answers at http://127\.0\.0\.1:9 .*`mlflow server"),
        ("http://[", "No MLflow server answers"),
    ],
)
def test_an_address_that_is_none_is_told_before_anything_is_asked(
    address: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", raising=False)
    with pytest.raises(PolyqaError, match=message) as caught, traced(address):
        pytest.fail("it began")
    assert "\n" not in str(caught.value)


def test_another_server_is_told_from_mlflow() -> None:
    with (
        serve(embedded_engine()) as other,
        pytest.raises(PolyqaError, match="No MLflow server answers"),
        traced(other.base.removesuffix("/v1")),
    ):
        pytest.fail("it began")


@dataclass
class Mlflow:
    """A real server with SQLite."""

    address: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@contextmanager
def running(folder: Path) -> Iterator[Mlflow]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--port", str(port)]
    command += ["--backend-store-uri", f"sqlite:///{folder}/m.db"]
    command += ["--artifacts-destination", str(folder / "artifacts")]
    quick = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    found = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # it starts uvicorn by its name
    environment = {**os.environ, **quick, "PATH": found}
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    server = Mlflow(f"http://127.0.0.1:{port}", subprocess.Popen(command, cwd=folder, env=environment, **quiet))
    try:
        until(lambda: connects(port))
        yield server
    finally:
        server.stop()


def connects(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@pytest.fixture(scope="module")
def mlflow_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mlflow]:
    with running(tmp_path_factory.mktemp("mlflow")) as server:
        yield server


@pytest.mark.slow
def test_questions_evaluations_and_compilations_on_a_server(mlflow_server: Mlflow, tmp_path: Path) -> None:
    import mlflow

    questions = polyqa.Questions("homonyms/dev", limit=3)
    sets = polyqa.Sets(train=polyqa.Questions("homonyms/train", limit=6), dev=questions)
    with traced(mlflow_server.address, experiment="tried"):
        polyqa.ask(QUESTION, program="rac")
        run = polyqa.evaluate("rac", questions, models=polyqa.Models(judge=None), folder=tmp_path / "run")
        made = polyqa.compile("rac", recipe="labeled-few-shot", sets=sets, out=tmp_path / "made")
    assert made is not None
    client = mlflow.MlflowClient(mlflow_server.address)
    (place,) = [one for one in client.search_experiments() if one.name == "tried"]
    traces = client.search_traces([place.experiment_id])
    assert len(traces) == 4  # the many questions of the compilation are none
    (asked,) = [one for one in traces if QUESTION in str(one.data.spans[0].inputs)]
    assert {span.name for span in asked.data.spans} >= {"RAC", "search", "rerank", "clarify"}
    runs = {one.data.tags["polyqa.kind"]: one for one in client.search_runs([place.experiment_id])}
    assert {kind: one.info.status for kind, one in runs.items()} == {"evaluate": "FINISHED", "compile": "FINISHED"}
    figures = runs["evaluate"].data.metrics
    expected = run.summarized()["disambig_f1"]
    assert figures["disambig_f1"] == pytest.approx(expected.value)
    assert figures["disambig_f1.low"] == pytest.approx(expected.low)
    assert runs["evaluate"].data.params["program"] == "rac"
    assert "spent.calls" in runs["compile"].data.metrics
    files = {kind: {a.path for a in client.list_artifacts(one.info.run_id)} for kind, one in runs.items()}
    assert {"predictions.jsonl", "summary.json"} <= files["evaluate"]
    assert {"card.json", "program.json", "report.html"} <= files["compile"]
    with pytest.raises(PolyqaError), traced(mlflow_server.address, experiment="tried"):
        polyqa.evaluate("rac", questions, models=polyqa.Models(judge=None), folder=tmp_path / "run", passages=2)
    assert client.search_runs([place.experiment_id])[0].info.status == "FAILED"


@pytest.mark.slow
def test_a_collector_and_a_server_get_both_and_the_experiment_is_as_before(
    mlflow_server: Mlflow, collector: Collector
) -> None:
    import mlflow

    mlflow.set_tracking_uri(mlflow_server.address)
    own = mlflow.set_experiment("of the user").experiment_id
    with traced(mlflow_server.address, experiment="both"):
        polyqa.ask(QUESTION, program="closed-book")
    client = mlflow.MlflowClient(mlflow_server.address)
    found = client.get_experiment_by_name("both")
    assert found is not None
    assert len(client.search_traces([found.experiment_id])) == 1
    assert len(collector.roots) == 1
    with mlflow.start_run() as run:
        assert run.info.experiment_id == own


@pytest.mark.slow
def test_a_server_that_goes_away_costs_no_answer(tmp_path: Path) -> None:
    program = polyqa.load("rac")
    with running(tmp_path) as mlflow_server, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with traced(mlflow_server.address):
            polyqa.ask(QUESTION, program=program)
            mlflow_server.stop()
            questions = polyqa.Questions("homonyms/dev", limit=2)
            run = polyqa.evaluate(program, questions, models=polyqa.Models(judge=None), folder=tmp_path / "run")
    assert run.failed == 0
    assert (tmp_path / "run" / "summary.json").exists()
    lost = [one for one in told if issubclass(one.category, TracingWarning)]
    assert 1 <= len(lost) <= 4
    assert all("the work goes on" in str(one.message) for one in lost)
