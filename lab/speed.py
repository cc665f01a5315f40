"""How long a language model on this machine takes for a question, and what its settings are worth.

python -m lab.speed [--program spanwise] [--way "1 thread"] [--json lab/results/speed.json]

Each way runs llama.cpp in a process of its own. A question that is not counted comes first: it loads everything. No
reply comes from a cache, and what was kept of prompts on the disk is deleted before each way. The ratio is to the
first way of the program, in the same run.
"""

import statistics
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, NamedTuple

import typer

from polyqa import Result, ask, language_model, load
from polyqa.evaluation.loading import load_questions
from polyqa.lm.local.engine import LocalLM
from polyqa.models.gguf import kept_files

from .results import JsonFile, Programs, Questions, Table, report


class Way(NamedTuple):
    """Settings of the language model, and how many questions are asked at once."""

    settings: Mapping[str, Any]
    at_once: int = 1


WAYS = {
    "2 threads": Way({"threads": 2}),
    "2 threads, nothing kept of prompts": Way({"threads": 2, "prompt_cache": 0}),
    "1 thread": Way({"threads": 1}),
    "2 threads, 2 slots, 2 questions at once": Way({"threads": 2, "slots": 2}, 2),
    "2 threads, 4 slots, 4 questions at once": Way({"threads": 2, "slots": 4}, 4),
}
_HEADS = ["program", "way", "seconds a question", "ratio", "longest, s", "calls", "tokens in", "read", "out"]


class Measurement(NamedTuple):
    """The seconds of all questions together, their results, and the tokens of prompts that were really read."""

    seconds: float
    results: list[Result]
    read: int


def measured(program: str, questions: Sequence[str], way: Way) -> Measurement:
    """Ask questions in one way, the first of them uncounted."""
    lm = language_model("local", cache=False, **way.settings)
    assert isinstance(lm, LocalLM)
    for file in kept_files(lm.server.path):
        file.unlink()
    try:
        loaded = load(program)
        ask(questions[0], program=loaded, lm=lm)
        earlier, begun = len(lm.history), time.perf_counter()
        with ThreadPoolExecutor(way.at_once) as pool:
            results = list(pool.map(lambda question: ask(question, program=loaded, lm=lm), questions[1:]))
        seconds = time.perf_counter() - begun
        return Measurement(seconds, results, sum(_read(entry["usage"]) for entry in lm.history[earlier:]))
    finally:
        lm.server.stop()


def _read(usage: Mapping[str, Any]) -> int:
    """Return how many tokens of a prompt llama.cpp had not read before."""
    return int(usage["prompt_tokens"]) - int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)


def main(
    program: Programs = None,
    way: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(WAYS)}; repeat for more. All.")] = None,
    questions: Questions = "homonyms/dev",
    limit: Annotated[int, typer.Option(help="How many questions are counted, evenly drawn.", min=1)] = 6,
    json: JsonFile = None,
) -> None:
    """Measure."""
    first, *others = [question.question for question in load_questions(questions)]
    asked = [first, *others[:: len(others) // limit][:limit]]
    rows: list[list[str]] = []
    for name in program or ["spanwise", "rac"]:
        base = None
        for title in way or list(WAYS):
            found = measured(name, asked, WAYS[title])
            base = base or found.seconds
            rows.append(_row(name, title, found, base))
            typer.echo(" | ".join(rows[-1]), err=True)
    about = f"local/qwen2.5-coder-1.5b, {limit} questions of {questions}, on two cores with AVX2"
    report(about, Table(heads=_HEADS, rows=rows), json)


def _row(name: str, title: str, found: Measurement, base: float) -> list[str]:
    results, n = found.results, len(found.results)
    return [
        f"`{name}`",
        title,
        f"{found.seconds / n:.1f}",
        f"{found.seconds / base:.2f}",
        f"{max(result.seconds for result in results):.1f}",
        f"{statistics.mean(len(result.calls) for result in results):.1f}",
        f"{statistics.mean(result.input_tokens for result in results):,.0f}",
        f"{found.read / n:,.0f}",
        f"{statistics.mean(result.output_tokens for result in results):,.0f}",
    ]


if __name__ == "__main__":
    typer.run(main)
