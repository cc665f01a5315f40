"""A result as a page wants it: its answer in pieces, its evidence with what is marked, how sure each reading is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from polyqa.asking import Result
from polyqa.lm.recorder import Call
from polyqa.reports.marks import parts, pieces
from polyqa.reports.readings import opening, sure, titles_of
from polyqa.reports.result import cautions, cited_numbers
from polyqa.reports.why import stages


def answered(result: Result, steps: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the JSON of a result.

    It is that of `Result.to_dict`, and beside it ``pieces`` (the answer cut at its marks), ``evidence`` (each passage
    with what is marked in it), ``opening`` (the sentence before the readings), ``titles`` (what each reading differs
    in), ``sure`` (each one's confidence in words), ``why`` (what each stage kept and dropped), ``cautions``, and
    ``log`` (the calls). ``steps`` are what happened on the way, as `polyqa.watching.Watch` reports it.
    """
    readings = [reading.question for reading in result.interpretations]
    return {
        **result.to_dict(),
        "pieces": _pieces(result.cited_answer, result),
        "evidence": list(_evidence(result)),
        "opening": opening(result.question, readings),
        "titles": titles_of(result),
        "sure": [None if share is None else sure(share) for share in result.confidence],
        "why": [asdict(stage) for stage in stages(result, steps)],
        "cautions": cautions(result),
        "log": [_call_data(call) for call in result.calls],
    }


def _call_data(call: Call) -> dict[str, Any]:
    return {
        "name": call.predictor,
        "messages": call.messages,
        "reply": call.reply,
        "input_tokens": call.input_tokens,
        "output_tokens": call.output_tokens,
        "seconds": None if call.seconds is None else round(call.seconds, 3),
    }


def _pieces(text: str, result: Result) -> list[dict[str, Any]]:
    cut = pieces(text, len(result.passages))
    return [{"text": piece} if isinstance(piece, str) else {"cites": list(piece)} for piece in cut if piece]


def _evidence(result: Result) -> Iterator[dict[str, Any]]:
    cited = cited_numbers(result)
    for number, passage in enumerate(result.passages, 1):
        readings = [at for at, r in enumerate(result.interpretations, 1) if r.pid == passage.pid]
        answers = {at: result.interpretations[at - 1].answer for at in readings}
        yield {
            "number": number,
            "cited": number in cited,
            "readings": readings,
            "title": _parts(passage.title, answers),
            "place": passage.place,
            "text": _parts(passage.text, answers),
        }


def _parts(text: str, answers: Mapping[int, str]) -> list[dict[str, Any]]:
    """Return a text in parts: those that are answers are marked, with the numbers of the readings they answer."""
    numbers = list(answers)
    return [
        {"text": part, "mark": True, "readings": [numbers[at] for at in marked]}
        if marked
        else {"text": part, "mark": False}
        for part, marked in parts(text, [*answers.values()])
        if part
    ]
