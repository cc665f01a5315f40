"""Makes what the verifier of findings is trained on: ``python -m lab.training.findings --help``.

A finding is an answer that the span reader marks in a passage, as `polyqa.programs.spanwise` shows it to a language
model. It is right if it says the same as a gold answer of the question. So passages that lie beside the right one,
questions without an answer, and readings of one ambiguous question all come as the program will meet them.
"""

import json
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from lab.nearest import nearest_by_words
from lab.results import Seed
from polyqa import load
from polyqa.base.rows import read_lines
from polyqa.base.values import Passage
from polyqa.colbert_index import read_corpus
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.agreement import agree
from polyqa.metrics.text import normalize_answer
from polyqa.programs.spanwise import Spanwise

from .commands import run_command
from .rows import held_out, not_held, write_rows
from .squad import Example, read_paragraphs, read_squad

_NEAREST = 5  # passages for a question over a corpus
_OF_A_PARAGRAPH = 3  # questions
_LONGEST = 900  # characters of a finding
_HOMONYMS = 2.0


@dataclass(frozen=True)
class Labelled:
    """A question and finding as the prompt has them, whether it is right, where it is from, its weight in training."""

    question: str
    finding: str
    right: bool
    source: str
    weight: float = 1.0


def of_paragraphs(program: Spanwise, examples: Sequence[Example], source: str, chance: random.Random) -> list[Labelled]:
    """Return findings of questions in their own paragraph, of at most three questions each."""
    by_paragraph: dict[str, list[Example]] = {}
    for example in examples:
        by_paragraph.setdefault(example.context, []).append(example)
    made = []
    for own in by_paragraph.values():
        for example in chance.sample(own, min(_OF_A_PARAGRAPH, len(own))):
            passage = Passage(pid="1", title=example.title.replace("_", " "), text=example.context)
            made += labelled(program, example.question, example.texts, [passage], source)
    return made


def of_periods(program: Spanwise, groups: Sequence[dict[str, Any]]) -> list[Labelled]:
    """Return findings of questions whose time is left out, where each period's answer is right, and of dated ones."""
    made = []
    for group in groups:
        texts = {text for reading in group["readings"] for text in reading["passages"]} | {group["lead"]}
        passages = [
            Passage(pid=str(at), title=group["title"], text=text) for at, text in enumerate(sorted(texts)) if text
        ]
        every = [answer for reading in group["readings"] for answer in reading["answers"]]
        made += labelled(program, group["ambiguous_question"], every, passages, "periods")
        for reading in group["readings"][:3]:
            made += labelled(program, reading["question"], reading["answers"], passages, "periods")
    return made


def of_readings(
    program: Spanwise, questions: Sequence[Any], passages: Sequence[Passage], chance: random.Random
) -> list[Labelled]:
    """Return findings of ambiguous questions over a corpus, and the right ones again for each single reading."""
    texts = [passage.indexed_text for passage in passages]
    nearest = nearest_by_words(texts, [question.question for question in questions], _NEAREST)
    made = []
    for question, places in zip(questions, nearest, strict=True):
        every = [answer for reading in question.readings for answer in reading.short_answers]
        found = labelled(program, question.question, every, [passages[place] for place in places], "ambiguous")
        right = [one for one in found if one.right]
        wrong = [one for one in found if not one.right]
        made += right + chance.sample(wrong, min(len(wrong), 2 * len(right) + 1))
        for reading in question.readings[:4] if len(question.readings) > 1 else ():
            for one in right:
                fits = agree(one.finding.rpartition(" | ")[2], reading.short_answers)
                made.append(Labelled(reading.question, one.finding, fits, "one reading"))
    return made


def of_homonyms(program: Spanwise) -> list[Labelled]:
    """Return findings of the shipped training questions over the shipped index."""
    made = []
    for question in load_questions("homonyms/train"):
        every = [answer for reading in question.readings for answer in reading.short_answers]
        found = labelled(program, question.question, every, program.retrieve(question.question), "homonyms")
        made += [replace(one, weight=_HOMONYMS) for one in found]
        for reading in question.readings[:4]:
            for passage in program.retrieve(reading.question):
                found = labelled(program, reading.question, reading.short_answers, [passage], "one homonym")
                # Elsewhere the same answer may be of another thing.
                made += [one for one in found if passage.pid == reading.pid or not one.right]
    return made


def labelled(
    program: Spanwise, question: str, answers: Sequence[str], passages: Sequence[Passage], source: str
) -> list[Labelled]:
    """Return the findings of a question in some passages."""
    question = " ".join(question.split())
    return [
        Labelled(question, finding.render(), bool(answers) and agree(finding.answer, answers), source)
        for finding in program.mark(question, passages)
    ]


def without(made: Sequence[Labelled], left_out: Collection[str], chance: random.Random) -> list[Labelled]:
    """Return findings once each, in an order that is drawn, without long ones and those of questions held out."""
    kept = {
        (one.question, one.finding): one
        for one in reversed(made)
        if len(one.finding) <= _LONGEST and normalize_answer(one.question) not in left_out
    }
    shuffled = list(kept.values())
    chance.shuffle(shuffled)
    return shuffled


def main(
    out: Annotated[Path, typer.Option(help="JSON lines to write.")],
    squad: Annotated[list[Path] | None, typer.Option(help="SQuAD 2.0 file; repeat for more.")] = None,
    paragraphs: Annotated[list[Path] | None, typer.Option(help="JSON lines of paragraphs; repeat for more.")] = None,
    periods: Annotated[Path | None, typer.Option(help="JSON lines of questions whose time was left out.")] = None,
    ambiguous: Annotated[list[Path] | None, typer.Option(help="Ambiguous questions, over --corpus.")] = None,
    corpus: Annotated[Path | None, typer.Option(help="corpus.jsonl.")] = None,
    most: Annotated[int, typer.Option(help="At most so many ambiguous questions, drawn.")] = 1500,
    held: Annotated[list[str] | None, typer.Option(help="Questions that stay out; repeat for more.")] = None,
    seed: Seed = 0,
) -> None:
    """Make findings with labels from questions with answers."""
    left_out = held_out(held or ())
    chance, program = random.Random(seed), load("spanwise")
    made = of_homonyms(program)
    for path in squad or ():
        made += of_paragraphs(program, not_held(read_squad(path), left_out), path.stem, chance)
    for path in paragraphs or ():
        made += of_paragraphs(program, not_held(read_paragraphs(path), left_out), path.name.partition(".")[0], chance)
    if periods is not None:
        made += of_periods(program, [json.loads(line) for _, line in read_lines(periods)])
    if ambiguous and corpus is not None:
        questions = [question for path in ambiguous for question in load_questions(path)]
        drawn = chance.sample(questions, min(most, len(questions)))
        made += of_readings(program, drawn, list(read_corpus(corpus)), chance)
    kept = without(made, left_out, chance)
    write_rows(out, kept)
    typer.echo(f"{len(kept):,} findings, {sum(one.right for one in kept):,} right: {out}")


if __name__ == "__main__":
    run_command(lambda: typer.run(main))
