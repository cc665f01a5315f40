"""Reads what other systems answered, in the usual formats, so that it can be scored the same way."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from polyqa.base.errors import PolyqaError
from polyqa.base.rows import Record as Row
from polyqa.base.rows import Shape, as_id, excerpt, folded, problem, read_rows
from polyqa.base.values import Interpretation, Passage, Sources
from polyqa.base.work import AT_ONCE, Failure
from polyqa.metrics.gold import Question
from polyqa.metrics.text import normalize_answer
from polyqa.replies import parse_interpretations

from .loading.fields import IDS, answers, unpacked
from .records import Record
from .scoring import OF_READINGS, JudgeError, Output, Scored, Scorer

_ANSWER_KEYS = ("prediction", "output", "generated_answer")
_GOLD_KEYS = ("answer", "long_answer")
"""Beside one of the others these hold the gold answer, as in ALCE's results, be the output empty or not."""
_SHAPE = Shape(
    "outputs", frozenset({*IDS, *_ANSWER_KEYS, *_GOLD_KEYS, "interpretations"}), lambda _: None, "outputs", splits=False
)


def read_outputs(path: str | Path) -> dict[str, Output]:
    """Read outputs by question id.

    Parameters
    ----------
    path
        A file of rows, see `polyqa.base.rows.read_rows`. A row has an ``id`` and an ``answer`` (or ``prediction``,
        ``output``, ``generated_answer``; an ``answer`` beside these is the gold one), and if there are any
        ``interpretations`` (question and answer each), ``passages`` (or ``docs``: texts, or title and text) and
        ``universe`` (all passages that were retrieved, if these are not the same); so do polyqa's predictions.jsonl
        and ALCE's results. Or a JSON object from id to an answer. An answer is a long one (ASQA's script), a list of
        short ones (texts, or objects as KILT has them), or one of rewritten questions with answers (AmbigQA's script).

    Returns
    -------
    dict
        Without the questions that have none: an id or an output that is ``null``, or a record of polyqa that failed.

    Raises
    ------
    PolyqaError
        That shows the first bad record.
    """
    path = Path(path)
    if path.is_dir():
        raise problem(path, "this is a folder; name a file in it")
    outputs: dict[str, Output | None] = {}
    for record in read_rows(path, _SHAPE):
        try:
            question_id, output = _output(record)
        except (ValueError, TypeError) as error:
            raise problem(record.where, str(error), excerpt(record.value)) from error
        if question_id in outputs:
            raise problem(record.where, f"a second output for question {question_id!r}")
        outputs[question_id] = output
    present = {question_id: output for question_id, output in outputs.items() if output is not None}
    if not present:
        raise PolyqaError(f"{path} holds no output.")
    return present


def _output(record: Row) -> tuple[str, Output | None]:
    if record.key is not None and not isinstance(record.value, Mapping):
        return record.key, None if record.value is None else _answer(record.value)
    row = folded(record)
    question_id = _first(row, IDS)
    if question_id is None:
        raise ValueError(f"no id (one of {', '.join(IDS)})")
    question_id = as_id(question_id)
    columns = {str(name).strip().lower() for name in record.value}
    keys = [name for name in _ANSWER_KEYS if name in columns] or [name for name in _GOLD_KEYS if name in columns]
    if isinstance(row.get("error"), Mapping) and ({"gold_readings", "scores"} <= row.keys() or not keys):
        return question_id, None  # it failed: a `records.Record`, or a line of `polyqa answer`
    answer = _first(row, keys)
    if answer is None and "interpretations" not in row:
        if keys:
            return question_id, None
        raise ValueError(f"no answer (one of {', '.join(_ANSWER_KEYS + _GOLD_KEYS)}) and no interpretations")
    output = Output(None) if answer is None else _answer(answer)
    if readings := unpacked(row.get("interpretations")):
        output = replace(output, interpretations=_interpretations(readings))
    passages, universe = (
        _passages(row.get(name), name) for name in ("passages" if "passages" in row else "docs", "universe")
    )
    asked = row.get("question")
    return question_id, replace(
        output,
        passages=passages,
        universe=universe,
        sources=_sources(row.get("sources")),
        question=asked if isinstance(asked, str) else "",
    )


def _answer(value: Any) -> Output:
    value = unpacked(value)
    if isinstance(value, str | int | float):  # figures of a column, yes or no
        return Output(*answers(value))
    if isinstance(value, list):
        # KILT has an object for each answer.
        texts = answers(
            [item.get("answer") if isinstance(item, Mapping) and "question" not in item else item for item in value]
        )
        if all(isinstance(text, str) for text in texts):
            return Output(None, tuple(Interpretation(question="", answer=text) for text in texts))
    return Output(None, _interpretations(value))


def _first(value: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)


def _interpretations(value: Any) -> tuple[Interpretation, ...]:
    try:
        return _INTERPRETATIONS.validate_python(value)  # as polyqa writes them, empty texts and all
    except ValidationError:
        return tuple(parse_interpretations(value))


_INTERPRETATIONS = TypeAdapter(tuple[Interpretation, ...])


def _sources(value: Any) -> tuple[Sources, ...]:
    try:
        return _SOURCES.validate_python(value or ())
    except ValidationError:  # another system's, which mean something else
        return ()


_SOURCES = TypeAdapter(tuple[Sources, ...])


def _passages(value: Any, name: str) -> tuple[Passage, ...]:
    items = unpacked(value) or []
    if not isinstance(items, list):
        raise ValueError(f"{name} must be a list")
    passages = []
    for number, item in enumerate(items, 1):
        record = {"text": item} if isinstance(item, str) else item
        if not isinstance(record, Mapping) or not isinstance(record.get("text"), str):
            raise ValueError(f"{name}: passage {number} has no text")
        pid = _first(record, ("pid", "id"))
        passages.append(
            Passage(pid=str(number if pid is None else pid), title=str(record.get("title") or ""), text=record["text"])
        )
    return tuple(passages)


def score_outputs(outputs: Mapping[str, Output], questions: Sequence[Question], scorer: Scorer) -> list[Record]:
    """Score outputs in batches.

    Parameters
    ----------
    outputs
        By question id.
    questions
        A question without an output is recorded as failed, and so is one on which the judge fails; both score
        as an empty answer. What no output has is not scored: readings, or questions of them.

    Raises
    ------
    PolyqaError
        If an output belongs to none of the questions or names another one, or the judge fails on the first outputs, one
        and all.
    """
    strange = sorted(outputs.keys() - {question.id for question in questions})
    if strange:
        raise PolyqaError(
            f"{len(strange)} of {len(outputs)} outputs have ids that no question has, such as {strange[0]!r}; "
            f"the questions have ids such as {questions[0].id!r}. Name the questions that were answered."
        )
    for question in questions:
        asked = outputs[question.id].question if question.id in outputs else ""
        # The id may be the number of a line, and the questions be in another order.
        if asked and normalize_answer(asked) != normalize_answer(question.question):
            raise PolyqaError(
                f"The output of {question.id!r} answers {asked!r:.99}, but that question is {question.question!r:.99}. "
                "Name the questions that were answered; if only words differ, leave `question` out of the outputs."
            )
    short = all(output.answer is None for output in outputs.values())
    completed = [_given(outputs.get(question.id), short) for question in questions]
    unscored = _unscored(outputs.values())
    records: list[Record] = []
    judged: list[Scored] = []
    for question, output, scores in zip(questions, completed, scorer.score_each(questions, completed), strict=True):
        if output.passages or output.universe:  # only these are shown to the judge
            judged.append(scores)
            _give_up_early(judged)
        if isinstance(scores, JudgeError):
            nothing = _given(None, short)
            empty = _kept(scorer.score(question, nothing), unscored)
            records.append(Record.of(question, nothing, scores=empty, error=Failure.of(scores)))
        else:
            missing = None if question.id in outputs else Failure(kind="Missing", message="there is no output for it")
            records.append(Record.of(question, output, scores=_kept(scores, unscored), error=missing))
    return records


def _unscored(outputs: Iterable[Output]) -> Collection[str]:
    """Return the scores that would be 0 for a system only because it gives no readings, or no questions of them."""
    readings = [reading for output in outputs for reading in output.interpretations]
    if not readings:
        return OF_READINGS
    return () if any(reading.question for reading in readings) else ("edit_f1",)


def _kept(scores: Mapping[str, float], unscored: Collection[str]) -> dict[str, float]:
    return {name: value for name, value in scores.items() if name not in unscored}


def _give_up_early(judged: Sequence[Scored]) -> None:
    errors = [one for one in judged if isinstance(one, JudgeError)]
    if len(errors) == len(judged) == AT_ONCE:
        last = Failure.of(errors[-1]).message
        raise PolyqaError(
            f"The judge failed on the first {AT_ONCE} outputs that it was shown, at last: {last} "
            "Mend the cause, or score without a judge (--judge none)."
        )


def _given(output: Output | None, short: bool) -> Output:
    """Return what is scored: only where a system gives no long answers at all, a missing one is none."""
    if output is None:
        return Output(None if short else "")
    return output if short or output.answer is not None else replace(output, answer="")
