"""Runs a program over questions: every result is kept as it ends, and a run that was stopped goes on."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.event_loops import called
from polyqa.base.files import locked, require_no_links, write_atomically
from polyqa.base.ledger import exporting, open_ledger
from polyqa.base.values import as_passages, json_data, pop_sources, told_by
from polyqa.base.work import Failure, work_through
from polyqa.lm.recorder import Recorder, recording
from polyqa.lm.reply_cache import bound_cache
from polyqa.metrics.gold import Question

from .identity import RunIdentity
from .progress import bar_of_records
from .records import Record
from .runs import LEDGER, PREDICTIONS, SETTINGS, Run, read_identity, read_records, write_summary
from .scoring import OF_READINGS, JudgeError, Output, Scorer

Answer = Callable[[Question], Record] | Callable[[Question], Awaitable[Record]]
"""Answers and scores a question, as `answer_one` does, here or on a cluster; see `polyqa.base.work.work_through`."""
_NOTHING: tuple[Output, dict[str, Any]] = (Output(""), {})
_ELSEWHERE = "Choose another name, or delete the folder."


def run_answers(
    answer: Answer,
    questions: Sequence[Question],
    *,
    folder: str | Path,
    identity: RunIdentity,
    threads: int = 8,
) -> Run:
    """Have every question answered and scored; go on where an earlier run of the same folder stopped or failed.

    Parameters
    ----------
    answer
        See `Answer`.
    questions
        With distinct ids.
    folder
        Of the run, see `runs`. It is locked while the run goes on.
    identity
        Must equal that of the earlier run.

    Returns
    -------
    Run
        Records in the order of the questions.

    Raises
    ------
    PolyqaError
        If two questions share an id; if the folder holds another run, or another process runs it; if
        questions fail one after the other, see `polyqa.base.work` (they stay recorded).
    """
    folder = Path(folder)
    ids = [question.id for question in questions]
    require_no_links(folder)
    bound_cache()
    with locked(folder / ".lock", folder):
        records = _earlier_records(folder, ids, identity)
        with open_ledger(folder / LEDGER, identity.model_dump()) as ledger:
            records |= {id: Record.model_validate(value) for id, value in ledger}
            ledger.replace({id: record.model_dump() for id, record in records.items()})
            with exporting(ledger, folder / PREDICTIONS, ids) as export:
                failed = {id for id, record in records.items() if record.error is not None}
                remaining = [question for question in questions if question.id not in records or question.id in failed]

                def keep(question: Question, record: Record) -> Failure | None:
                    ledger.keep(record.id, record.model_dump())
                    records[record.id] = record
                    export()
                    show(record)
                    return record.error

                if remaining:
                    with bar_of_records(len(questions)) as show:
                        for id, record in records.items():
                            if id not in failed:
                                show(record)
                        work_through(remaining, answer, keep, at_once=threads, things="questions")
        run = Run(folder, identity, [records[id] for id in ids])
        write_summary(run)
        return run


def _earlier_records(folder: Path, ids: Sequence[str], identity: RunIdentity) -> dict[str, Record]:
    """Return what a folder holds of the same run, by id; write down which run it is if it holds none yet."""
    if len(set(ids)) < len(ids):
        raise PolyqaError(f"Two questions have the id {next(id for id in ids if ids.count(id) > 1)!r}.")
    earlier = read_identity(folder)
    if earlier is None:
        if (folder / PREDICTIONS).exists():
            raise PolyqaError(f"{folder} holds predictions but no {SETTINGS}: outputs of another system. {_ELSEWHERE}")
        write_atomically(folder / SETTINGS, identity.model_dump_json(indent=2) + "\n")
        return {}
    if changed := identity.changed_since(earlier):
        raise PolyqaError(f"{folder} holds another run: {changed}. {_ELSEWHERE}")
    records = {record.id: record for record in read_records(folder / PREDICTIONS)}
    if strange := records.keys() - set(ids):
        raise PolyqaError(f"{folder} has predictions for questions that are not asked, such as {min(strange)!r}.")
    return records


def answer_one(
    program: dspy.Module,
    question: Question,
    lm: dspy.LM,
    scorer: Scorer,
    metric: Callable[[dspy.Example, dspy.Prediction], float] | None = None,
) -> Record:
    """Answer and score one question, also by a ``metric`` of a user's own if it is given.

    If the program or the metric raised, or the judge failed, the record has the error, and the scores of an empty
    answer; the metric gives it 0.
    """
    own_score = 0.0
    failure: Failure | None = None
    recorder = Recorder()
    output, extra = _NOTHING
    unscored: Collection[str] = ()
    try:
        with recording(lm) as recorder:
            prediction = called(program, question=question.question)
        if metric is not None:
            own_score = float(metric(question.to_example(), prediction))
        output, extra = _output(prediction, type(program).__name__)
        unscored = () if "interpretations" in prediction else OF_READINGS
    except Exception as error:
        failure = Failure.of(error, recorder.calls[-1].reply if recorder.calls else "")
    try:
        scores = scorer.score(question, output)
    except JudgeError as error:
        failure = Failure.of(error)
        output, extra = _NOTHING
        scores = scorer.score(question, output)
    kept = {name: score for name, score in scores.items() if name not in unscored}
    if metric is not None:
        kept["metric"] = 0.0 if failure else own_score
    return Record.of(
        question,
        output,
        extra=extra,
        scores=kept,
        calls=len(recorder.calls),
        input_tokens=recorder.input_tokens,
        output_tokens=recorder.output_tokens,
        seconds=round(recorder.seconds, 3),
        cached=recorder.cached,
        error=failure,
    )


def _output(prediction: Any, name: str) -> tuple[Output, dict[str, Any]]:
    """Return what is scored, and what else a program reports."""
    fields, answer, readings, passages = told_by(prediction, name)
    output = Output(
        answer=answer.encode("utf-8", errors="replace").decode(),  # readers cannot read half a character
        interpretations=readings,
        passages=passages,
        universe=as_passages(fields.pop("universe", None) or ()),
        sources=pop_sources(fields),
    )
    if not fields.get("faults", True):
        del fields["faults"]  # of nearly all questions
    return output, {name: json_data(value) for name, value in fields.items()}
