"""What adapting brought, as a page: the figures, whose readings changed, what stays wrong, and what to do next."""

from shlex import quote
from typing import TYPE_CHECKING

from markupsafe import Markup

from polyqa.base.html import plain, render
from polyqa.base.text import counted
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.records import Record
from polyqa.evaluation.verdicts import won_and_lost
from polyqa.metrics.agreement import agree
from polyqa.metrics.text import normalize_answer
from polyqa.optimizers.prompts import fenced

from .readme import handle_of, lm_option

if TYPE_CHECKING:
    from polyqa.adapting import Adapted

_MOST = 20
_NAMED = 6  # families in a sentence
WHAT_IT_MEASURES = {
    "dr": "DR, from 0 to 100, is high where an answer has every reading's short answer and is worded as the reference.",
    "disambig_f1": "D-F1, from 0 to 100, says how much of the readings' short answers a reader finds in the answer.",
    "f1_answer": "F1 ans, from 0 to 100, compares the short answers of the readings with the right ones.",
}


def adaptation_report(adapted: "Adapted") -> str:
    """Return the page as Markdown."""
    won, lost = won_and_lost(*adapted.test_runs, adapted.measure)
    other = changed_readings(adapted)
    wrong = [(record.question, _readings(record)) for record in still_wrong(adapted)]
    return render(
        "adaptation.md",
        adapted=adapted,
        label=COLUMNS[adapted.measure].label,
        measures=WHAT_IT_MEASURES[adapted.measure],
        kinds=kinds_of_questions(adapted),
        changed={"Won": won, "Lost": lost},
        other=[(old.question, _readings(old), _readings(new)) for old, new in other[:_MOST]],
        readings=len(other),
        wrong=wrong,
        most=_MOST,
        families=[(name, ", ".join(titles)) for name, titles in adapted.families.items()],
        dropped=[(reason, f"{count:,}") for reason, count in adapted.dropped.items()],
        folder=Markup(quote(str(adapted.made.path))),
        command=Markup(fenced(plain(ask_command(adapted)), "sh")),
    )


def kinds_of_questions(adapted: "Adapted") -> str:
    """Return in a sentence or two how many questions were ambiguous, and which names are shared."""
    total, ambiguous = len(adapted.questions), adapted.ambiguous
    readings = sum(len(question.readings) for question in ambiguous)
    sentence = f"{len(ambiguous)} of {counted(total, 'question')} are ambiguous"
    sentence += f", with {counted(readings, 'reading')}" * bool(ambiguous)
    sentence += "." if 2 * len(ambiguous) >= total else ": most of what is measured is about plain questions."
    if adapted.families:
        shared = sorted(adapted.families.items(), key=lambda pair: -len(pair[1]))
        names = ", ".join(f"{name} ({len(titles)})" for name, titles in shared[:_NAMED])
        not_named = f" and {len(shared) - _NAMED} more" if len(shared) > _NAMED else ""
        sentence += f" Names that several passages share: {names}{not_named}."
    return sentence


def changed_readings(adapted: "Adapted") -> list[tuple[Record, Record]]:
    """Return the held-out questions that have other readings now, before and after."""
    before, after = (run.records for run in adapted.test_runs)
    return [(old, new) for old, new in zip(before, after, strict=True) if _answers(old) != _answers(new)]


def still_wrong(adapted: "Adapted") -> list[Record]:
    """Return what the compiled program answers to the held-out questions of which it gives no right short answer.

    One in other words is right (*Delaware*, *Delaware County*), though F1 of answers counts it as none.
    """
    expected = {
        question.id: [answer for reading in question.readings for answer in reading.short_answers]
        for question in adapted.held_out
    }
    return [
        record
        for record in adapted.test_runs[1].records
        if not any(agree(reading.answer, expected[record.id]) for reading in record.interpretations)
    ]


def ask_command(adapted: "Adapted") -> str:
    """Return the command that asks the adapted program, with one of the questions."""
    question = (adapted.ambiguous or adapted.questions)[0].question
    program = quote(handle_of(adapted.made.path))
    return f"polyqa ask {quote(question)} --program {program}{lm_option(adapted.made.card)}"


def _answers(record: Record) -> set[str]:
    return {normalize_answer(reading.answer) for reading in record.interpretations}


def _readings(record: Record) -> str:
    return "; ".join(f"{reading.question} {reading.answer}" for reading in record.interpretations) or "none"
