"""Answers many questions into a file of JSON lines, here or on a cluster; a batch that was stopped goes on.

answers.jsonl                  an answer a line, in the order of the questions
answers.jsonl.settings.json    the `RunIdentity` of what answered; a batch goes on only with the same
.answers.jsonl.ledger.sqlite   answers while the batch goes on, see `polyqa.base.ledger`
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import dspy

from polyqa.asking import awaited, check_confidence, check_question, result_of
from polyqa.base.errors import PolyqaError
from polyqa.base.files import locked, write_atomically
from polyqa.base.folders import expanded
from polyqa.base.ledger import Ledger, exporting, open_ledger, read_lines, remove_ledger
from polyqa.base.rows import exists, located
from polyqa.base.text import counted
from polyqa.base.work import Failure, work_through
from polyqa.cluster import Ray, for_workers, on_ray
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.identity import RunIdentity
from polyqa.evaluation.prices import Price, price_of
from polyqa.evaluation.progress import bar_of_answers
from polyqa.evaluation.records import Took
from polyqa.extractive import MODEL_NAME
from polyqa.language_models import Models
from polyqa.lm.assigned import own_lms
from polyqa.lm.recorder import Recorder, recording
from polyqa.lm.reply_cache import bound_cache
from polyqa.loading import checked_program, default_program, index_of, warm_up
from polyqa.programs.registry import limits_of
from polyqa.question_sets import Questions
from polyqa.spelling import as_read

from .asked import Asked, Given, read_asked

_SUMS = ("calls", "input_tokens", "output_tokens", "seconds")
_ELSEWHERE = "Choose another file, or have this one replaced (--overwrite)."


@dataclass(frozen=True)
class Batch:
    """How many questions are answered.

    Attributes
    ----------
    at_once
        How many are under way at once, on Ray in each worker; if not given 4 of the embedded engine, as many as a local
        model has slots, else 32.
    max_calls
        Upper limit on LM calls, counted across stopped commands: no question begins that might exceed it if all
        replies can be read; one that cannot is asked for once more.
    ray
        Answer on a cluster; in this process if not given.
    overwrite
        Begin again where there is a file already.

    Raises
    ------
    PolyqaError
        If ``at_once`` is below 1.
    """

    at_once: int | None = None
    max_calls: int | None = None
    ray: Ray | None = None
    overwrite: bool = False

    def __post_init__(self) -> None:
        if self.at_once is not None and self.at_once < 1:
            raise PolyqaError(f"At least 1 question is under way at once, not {self.at_once}.")


@dataclass(frozen=True)
class Outcome:
    """How a question ended: what it took, how sure its answer is, and why it has none if it has none."""

    took: Took
    failure: Failure | None = None
    standing: str | None = None

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> "Outcome":
        """Return the outcome that a line of the file tells; a `ValueError` if it is no such line."""
        error = line.get("error")
        if not isinstance(line.get("question"), str) or not (_failed(line) or isinstance(line.get("answer"), str)):
            raise ValueError("it has no question, or neither an answer nor an error")
        failure = Failure.model_validate(error) if isinstance(error, dict) else None
        sums = {name: line.get(name, 0) for name in _SUMS}
        return cls(Took(answers=1, failed=int(failure is not None), **sums), failure, line.get("standing"))


@dataclass(frozen=True)
class Answered:
    """A batch that is done.

    Attributes
    ----------
    path
        The file: a JSON object a line, in the order of the questions. An answer has ``id`` and the keys of
        `polyqa.Result.to_dict`; a question that failed has ``id``, ``question`` and ``error``. Calls, tokens and
        seconds are those of all attempts.
    outcomes
        By id, in the order of the file.
    dollars
        What the tokens cost by the list of prices; ``None`` if that does not tell.
    """

    path: Path
    outcomes: Mapping[str, Outcome]
    dollars: float | None

    def __len__(self) -> int:
        return len(self.outcomes)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the lines as dicts, read from the file one by one."""
        with self.path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)

    @property
    def failed(self) -> dict[str, str]:
        """Why questions have no answer, by id."""
        failures = {id: outcome.failure for id, outcome in self.outcomes.items()}
        return {id: failure.message or failure.kind for id, failure in failures.items() if failure is not None}

    @property
    def took(self) -> Took:
        """The sums over all questions."""
        return sum((outcome.took for outcome in self.outcomes.values()), Took())

    def __repr__(self) -> str:
        return f"Answered({str(self.path)!r}, {counted(len(self), 'question')}, {len(self.failed)} failed)"


class Answerer:
    """Answers questions with a program and a language model; an error becomes part of the answer's line."""

    def __init__(self, program: dspy.Module, lm: dspy.LM, label: str, min_confidence: float | None = None) -> None:
        self.program, self.lm, self.label, self.min_confidence = program, lm, label, min_confidence

    async def __call__(self, asked: Asked) -> dict[str, Any]:
        """Return the line of a question, without its id."""
        recorder = Recorder()
        try:
            read = await asyncio.to_thread(as_read, check_question(asked.question), self.program)
            with recording(self.lm, self.program) as recorder:
                prediction = await awaited(self.program, read.question)
            result = await asyncio.to_thread(
                result_of, read, prediction, self.label, self.program, self.lm, recorder, self.min_confidence
            )
            return {**result.to_dict(), "question": asked.question}
        except Exception as error:
            return {
                "question": asked.question,
                "error": Failure.of(error, recorder.calls[-1].reply if recorder.calls else "").model_dump(),
                "calls": len(recorder.calls),
                "input_tokens": recorder.input_tokens,
                "output_tokens": recorder.output_tokens,
                "seconds": round(recorder.seconds, 3),
            }


@dataclass
class CallLimit:
    """How many calls a batch may make; a question is begun only if it cannot go over.

    Attributes
    ----------
    most
        The limit, the calls of earlier, stopped commands included; ``None`` if there is none.
    per_question
        How many a question takes at most; of a program that does not tell, the most that one took so far.
    made
        So many were made.
    """

    most: int | None
    per_question: int
    made: int = 0

    def add(self, calls: int) -> None:
        """Count the calls of a question that has ended."""
        self.made += calls
        self.per_question = max(self.per_question, calls)

    def allows(self, running: int) -> bool:
        """Return whether one more may begin while so many are running."""
        return self.most is None or self.made + (running + 1) * self.per_question <= self.most

    def error(self, path: Path) -> PolyqaError:
        """Return the message when no more may begin."""
        return PolyqaError(
            f"Stopped: {self.made:,} calls of language models were made, a question may take {self.per_question:,}, "
            f"and the limit (--max-calls) is {self.most or 0:,}. What was answered is kept in {path}; the same command "
            "with a larger --max-calls goes on from there."
        )


def answer_many(
    questions: Given,
    out: str | Path,
    *,
    program: str | Path | dspy.Module | None = None,
    index: str | Path | ColBERTIndex | None = None,
    models: Models | str | dspy.LM = Models(),
    min_confidence: float | None = None,
    batch: Batch = Batch(),
    **settings: Any,
) -> Answered:
    """Answer many questions; a batch that was stopped goes on, and one to whose questions some were added, too.

    Parameters
    ----------
    questions
        See `read_asked`: a file, texts, or `polyqa.Questions`.
    out
        The file of answers, see `Answered`. While the batch goes on it is written every few seconds.
    program, index, settings
        See `polyqa.load`; or a program from it, which has its index and settings. If not given, `default_program`.
    models
        What answers (``lm``, ``helper_lm``), see `Models.of`.
    min_confidence
        See `polyqa.ask`. It belongs to the file: answers of another one are not mixed with these.
    batch
        How it is done.

    Raises
    ------
    PolyqaError
        If something given is missing or does not fit; if the file is of something else, or holds answers of questions
        that are not asked now; if the limit is reached, or questions fail one after the other (what was answered is
        kept, and the same call goes on).
    """
    models = Models.of(models)
    check_confidence(min_confidence)
    bound_cache()
    path = expanded(out)
    asked = read_asked(questions)
    source = questions.source if isinstance(questions, Questions) else questions
    file = located(source)[0] if isinstance(source, str | Path) else None
    if file is not None and exists(file) and path.exists() and file.samefile(path):
        raise PolyqaError(f"{path} is the file of the questions; choose another for the answers.")
    given = {"index": index, **settings}
    ray = batch.ray
    program = default_program(models.chosen_lm) if program is None else program
    if ray is not None:
        travelling = for_workers(program, given, models, ray.workers)  # refuses before anything is loaded
    make, label = checked_program(program, given, models.helping())
    lm = models.answering()
    here = Answerer(make(), lm, label, min_confidence)
    limits = limits_of(here.program)
    price, limit = _price(lm, here.program), CallLimit(batch.max_calls, limits.calls if limits else 1)
    identity = RunIdentity.of(here.program, lm, name=label, index=index_of(here.program), min_confidence=min_confidence)
    with ExitStack() as opened:
        ledger, outcomes = opened.enter_context(_opened(path, asked, identity, batch))
        ids = [question.id for question in asked]
        export = opened.enter_context(exporting(ledger, path, ids))
        spent = {id: outcome.took for id, outcome in outcomes.items() if outcome.failure is not None}
        pending = [question for question in asked if question.id not in outcomes or question.id in spent]

        def keep(one: Asked, line: dict[str, Any]) -> Failure | None:
            took = Outcome.of(line).took
            if earlier := spent.get(one.id):  # what failed attempts took stays counted
                # Not in place: after Ctrl-C the same line may come once more.
                line = line | {name: round(getattr(earlier, name) + line.get(name, 0), 3) for name in _SUMS}
            ledger.keep(one.id, line)
            outcome = outcomes[one.id] = Outcome.of(line)
            export()
            limit.add(took.calls)
            show(took)
            return outcome.failure

        if pending:
            slots = getattr(lm, "at_once", None)  # of a model on this machine, which the engine shares
            each = batch.at_once or slots or (4 if lm.model == MODEL_NAME else 32)
            at_once = each * (ray.workers if ray else 1)
            with ExitStack() as running, bar_of_answers(len(ids), price) as show:
                work: Callable[[Asked], Awaitable[dict[str, Any]]] = here
                if ray is None:
                    warm_up(here.program, lm)
                else:
                    answerer = partial(make_answerer, *travelling, label, min_confidence)
                    work = running.enter_context(on_ray(answerer, ray, at_once=each)).call
                for id, outcome in outcomes.items():
                    if id in spent:  # the calls of several attempts are not those of one question
                        limit.made += outcome.took.calls
                    else:
                        limit.add(outcome.took.calls)
                        show(outcome.took)
                if not work_through(pending, work, keep, at_once=at_once, things="questions", may_begin=limit.allows):
                    raise limit.error(path)
    answered = Answered(path, {id: outcomes[id] for id in ids}, None)
    took = answered.took
    return replace(answered, dollars=None if price is None else price.of(took.input_tokens, took.output_tokens))


def unanswered(asked: Sequence[Asked], path: Path) -> list[Asked]:
    """Return the questions that have no answer in a file yet, or failed."""
    path = expanded(path)
    begun = path.is_file() and _settings_of(path).is_file()  # what else is wrong with them is told by `answer_many`
    lines = _by_new_ids(read_lines(path, _line) if begun else [], asked)
    return [question for question in asked if question.id not in lines or _failed(lines[question.id])]


def make_answerer(
    program: str | Path, given: dict[str, Any], models: Models, label: str, min_confidence: float | None = None
) -> Answerer:
    """Return what answers questions; called in every worker of a cluster."""
    make, _ = checked_program(program, given, models.helping())
    answerer = Answerer(make(), models.answering(), label, min_confidence)
    warm_up(answerer.program, answerer.lm)
    return answerer


@contextmanager
def _opened(
    path: Path, asked: Sequence[Asked], identity: RunIdentity, batch: Batch
) -> Iterator[tuple[Ledger, dict[str, Outcome]]]:
    """Open the ledger of a file of answers for this process; give the outcomes of earlier answers that it has, by id.

    A question that is asked under another id now, such as another number, keeps its answer.
    """
    if path.is_dir():  # "." has no name
        raise PolyqaError(f"{path} is a folder; name a file, such as {path / 'answers.jsonl'}.")
    written, store = _settings_of(path), path.with_name(f".{path.name}.ledger.sqlite")
    with locked(path.with_name(f".{path.name}.lock"), path):
        if batch.overwrite:
            path.unlink(missing_ok=True)
            written.unlink(missing_ok=True)
            remove_ledger(store)
        _check(path, written, identity)
        lines = read_lines(path, _line)
        with open_ledger(store, identity.model_dump()) as ledger:
            lines += [{**line, "id": id} for id, line in ledger]
            now = {question.question for question in asked}
            not_asked = {line["question"]: None for line in lines if not _failed(line) and line["question"] not in now}
            if not_asked:
                raise PolyqaError(
                    f"{path} holds answers to {counted(len(not_asked), 'question')} that are not asked now, such as "
                    f"{next(iter(not_asked))!r:.100}. Choose another file, take their lines out of it, or start over "
                    "(--overwrite)."
                )
            answered = _by_new_ids(lines, asked)
            ledger.replace(answered)
            outcomes = {id: Outcome.of(line) for id, line in answered.items()}
            del lines, answered  # there may be many
            yield ledger, outcomes


def _settings_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.settings.json")


def _by_new_ids(lines: Sequence[dict[str, Any]], asked: Sequence[Asked]) -> dict[str, dict[str, Any]]:
    """Return lines by the ids that their questions have now; of a question on several lines an answer counts."""
    lines = sorted(lines, key=_failed, reverse=True)
    same = {(line["id"], line["question"]): line for line in lines if not _failed(line)}
    by_question = {line["question"]: line for line in lines}
    return {
        one.id: {**same.get((one.id, one.question), by_question[one.question]), "id": one.id}
        for one in asked
        if one.question in by_question
    }


def _failed(line: Mapping[str, Any]) -> bool:
    return isinstance(line.get("error"), dict)


def _line(data: bytes) -> dict[str, Any]:
    line = json.loads(data)
    if not isinstance(line, dict) or not isinstance(line.get("id"), str):
        raise ValueError("it is no object with an id")
    Outcome.of(line)
    return line


def _check(path: Path, written: Path, identity: RunIdentity) -> None:
    """Check that a file of answers was begun with the same, or begin it."""
    if not written.exists():
        if path.exists():
            raise PolyqaError(f"{path} is there already, and {written.name} is not. {_ELSEWHERE}")
        write_atomically(written, identity.model_dump_json(indent=2, exclude_defaults=True) + "\n")
        return
    try:
        earlier = RunIdentity.model_validate_json(written.read_bytes())
    except ValueError as error:
        raise PolyqaError(f"{written} is damaged ({error}). {_ELSEWHERE}") from error
    if changed := identity.changed_since(earlier.model_copy(update={"questions": ""})):  # earlier versions named them
        raise PolyqaError(f"{path} was begun with something else: {changed}. {_ELSEWHERE}")


def _price(lm: dspy.LM, program: dspy.Module) -> Price | None:
    """Return what tokens cost; it is not known of which model they are where there are several."""
    further_models = {own_lm.model for own_lm in own_lms(program).values()} - {lm.model}
    return None if further_models else price_of(lm.model)
