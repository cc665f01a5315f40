"""Runs a program over questions: every question is written down as it ends, a killed run goes on."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import dspy
from filelock import FileLock, Timeout
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from polyqa.artifacts.identity import changes
from polyqa.base.errors import PolyqaError
from polyqa.base.lines import appending_lines
from polyqa.base.outage import Outage
from polyqa.base.values import Interpretation, Passage
from polyqa.base.working import work_through
from polyqa.lm.recorder import Recorder, recording
from polyqa.metrics.gold import Question

from .progress import display
from .records import Failure, Record
from .runs import (
    PREDICTIONS,
    SETTINGS,
    Run,
    RunSettings,
    line_of,
    read_records,
    read_settings,
    rewrite_in_order,
    write_atomically,
    write_summary,
)
from .scoring import JudgeError, Output, Scorer

_NOTHING: tuple[Output, dict[str, Any]] = (Output(""), {})
_ELSEWHERE = "Choose another name, or delete the folder."


def run_program(
    program: dspy.Module,
    questions: Sequence[Question],
    *,
    lm: dspy.LM,
    scorer: Scorer,
    folder: str | Path,
    settings: RunSettings,
    threads: int = 8,
    retry_failed: bool = True,
) -> Run:
    """Answer and score every question; go on where an earlier run of the same folder stopped.

    Parameters
    ----------
    program
        Called with ``question=…`` from several threads at once.
    questions
        With distinct ids.
    lm
        The language model.
    scorer
        Scores each answer as it comes.
    folder
        Of the run, see `runs`. It is locked while the run goes on.
    settings
        Must equal those of the earlier run.
    threads
        How many questions are answered at once.
    retry_failed
        Whether questions that failed in an earlier run are asked again.

    Returns
    -------
    Run
        Records in the order of the questions. A question whose program raised, or on which the judge
        failed, is recorded with its error and scores as an empty answer.

    Raises
    ------
    PolyqaError
        If two questions share an id; if the folder holds another run, or another process runs it; if
        questions fail one after the other, see `polyqa.base.outage` (they stay recorded).
    """
    answer = partial(answer_one, program, lm=lm, scorer=scorer)
    return run_answers(answer, questions, folder=folder, settings=settings, threads=threads, retry_failed=retry_failed)


def run_answers(
    answer: Callable[[Question], Record],
    questions: Sequence[Question],
    *,
    folder: str | Path,
    settings: RunSettings,
    threads: int = 8,
    retry_failed: bool = True,
) -> Run:
    """Have every question answered and scored, here or on a cluster; see `run_program`.

    Parameters
    ----------
    answer
        Answers and scores a question, as `answer_one` does; called from several threads at once.
    questions, folder, settings, threads, retry_failed
        See `run_program`.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0):
            done = _earlier_records(folder, [question.id for question in questions], settings, retry_failed)
            open_questions = [question for question in questions if question.id not in done]
            if open_questions:
                with display().questions(len(questions)) as show:
                    for record in done.values():
                        show(record)
                    _run(open_questions, answer, folder / PREDICTIONS, threads, done, show)
            records = rewrite_in_order(folder / PREDICTIONS, [question.id for question in questions], done)
            write_summary(folder, settings, records)
            return Run(folder, settings, records)
    except Timeout:
        raise PolyqaError(f"{folder} is being run by another process.") from None


def _earlier_records(folder: Path, ids: list[str], settings: RunSettings, retry_failed: bool) -> dict[str, Record]:
    """Return what earlier runs of a folder recorded, by id, after checking that they were runs of the same."""
    if len(set(ids)) < len(ids):
        raise PolyqaError(f"Two questions have the id {next(one for one in ids if ids.count(one) > 1)!r}.")
    _check_settings(folder, settings)
    done = {record.id: record for record in read_records(folder / PREDICTIONS, repair=True)}
    strange = done.keys() - set(ids)
    if strange:
        raise PolyqaError(f"{folder} has predictions for questions that are not asked, such as {min(strange)!r}.")
    if retry_failed:
        done = {one: record for one, record in done.items() if record.error is None}
        rewrite_in_order(folder / PREDICTIONS, [one for one in ids if one in done], done)
    return done


def _check_settings(folder: Path, settings: RunSettings) -> None:
    earlier = read_settings(folder)
    if earlier is None:
        if (folder / PREDICTIONS).exists():
            raise PolyqaError(f"{folder} holds predictions but no {SETTINGS}: outputs of another system. {_ELSEWHERE}")
        write_atomically(folder / SETTINGS, settings.model_dump_json(indent=2) + "\n")
        return
    if changed := changes(earlier.model_dump(), settings.model_dump()):
        raise PolyqaError(f"{folder} holds another run: {changed}. {_ELSEWHERE}")


def _run(
    questions: Sequence[Question],
    answer: Callable[[Question], Record],
    path: Path,
    threads: int,
    done: dict[str, Record],
    show: Callable[[Record], None],
) -> None:
    """Fill ``done``; the file has every record before ``done`` has it.

    When it is stopped by an error, the questions that are being answered are still answered and kept; after Ctrl-C
    those that are answered at once (`polyqa.base.working`).
    """
    outage = Outage("questions")

    def keep(record: Record) -> None:
        if record.id not in done:
            file.append(line_of(record))
            done[record.id] = record
            error = record.error
            outage.ended(*(error.message or error.kind, error.kind) if error else ())
            show(record)

    with appending_lines(path) as file:
        work_through(questions, answer, keep, threads=threads, check=outage.check)


def answer_one(program: dspy.Module, question: Question, lm: dspy.LM, scorer: Scorer) -> Record:
    """Answer and score one question; an error of the program or the judge becomes part of the record."""
    failure: Failure | None = None
    recorder = Recorder()
    output, extra = _NOTHING
    try:
        with recording(lm) as recorder:
            prediction = program(question=question.question)
        output, extra = _output(prediction)
    except Exception as error:
        failure = Failure.of(error, recorder.calls[-1].reply if recorder.calls else "")
    try:
        scores = scorer.score([question], [output])[0]
    except JudgeError as error:
        failure = Failure.of(error)
        output, extra = _NOTHING
        scores = scorer.score([question], [output])[0]
    return Record.of(
        question,
        output,
        extra=extra,
        scores=scores,
        calls=len(recorder.calls),
        input_tokens=recorder.input_tokens,
        output_tokens=recorder.output_tokens,
        seconds=round(recorder.seconds, 3),
        error=failure,
    )


_INTERPRETATIONS, _PASSAGES = TypeAdapter(tuple[Interpretation, ...]), TypeAdapter(tuple[Passage, ...])


def _output(prediction: dspy.Prediction) -> tuple[Output, dict[str, Any]]:
    """Return what is scored, and what else a program reports."""
    fields = dict(prediction.items())
    answer = str(fields.pop("answer", None) or "")
    output = Output(
        answer=answer.encode("utf-8", errors="replace").decode(),  # readers cannot read half a character
        interpretations=_INTERPRETATIONS.validate_python(fields.pop("interpretations", None) or ()),
        passages=_PASSAGES.validate_python(fields.pop("passages", None) or ()),
        universe=_PASSAGES.validate_python(fields.pop("universe", None) or ()),
    )
    if not fields.get("faults", True):
        del fields["faults"]  # of nearly all questions
    return output, {name: _json_data(value) for name, value in fields.items()}


def _json_data(value: Any) -> Any:
    try:
        return to_jsonable_python(value, fallback=str)
    except ValueError:  # bytes that are no text, or a value that holds itself
        return str(value)
