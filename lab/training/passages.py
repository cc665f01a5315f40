"""Makes what the reader of passages is trained on: ``python -m lab.training.passages --help``.

An example is a question, a passage, and the answers that the passage gives to it, in its own words; none where it has
none. Over a corpus nobody has said which passages answer a question: those that hold a gold answer count if the span
reader marks it there, too, and are left out otherwise.
"""

import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from lab.results import Seed
from polyqa import load
from polyqa.base.rows import read_lines
from polyqa.base.values import Passage
from polyqa.colbert_index import read_corpus
from polyqa.evaluation.homonyms import corpus_path
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.agreement import agree
from polyqa.metrics.gold import Question
from polyqa.metrics.text import normalize_answer, sentences, stems
from polyqa.programs.spanwise import Spanwise

from .commands import run_command
from .rows import held_out, not_held, write_rows
from .squad import Example, read_paragraphs, read_squad

_OF_A_PARAGRAPH = 3  # questions
_NEAREST = 5  # passages for a question over a corpus
_SILENT = 2  # passages without an answer, for each question over a corpus
_LONGEST = 15  # words of an answer
_TOLD = (20, 130)  # words of a long answer that is read as a passage
_SHARED = 0.5  # of a question's words that a passage over a corpus must have to answer it
_PEOPLE, _NAMESAKES = 1.5, 2.0  # weights of what is nearest to what will be asked


@dataclass(frozen=True)
class Read:
    """A question and a passage, the answers in it in their order, where it is from, its weight in training."""

    question: str
    title: str
    text: str
    answers: list[str]
    source: str
    weight: float = 1.0


def read_by(
    question: str, passage: Passage, answers: Iterable[Sequence[str]], source: str, weight: float = 1.0
) -> Read | None:
    """Return an example with the answers that stand in the passage; ``None`` if one of them does not.

    Parameters
    ----------
    answers
        The aliases of each answer that the passage gives.
    """
    places = [_place(passage.text, aliases) for aliases in answers]
    if not all(places):
        return None
    texts = [text for _, text in sorted(place for place in places if place) if len(text.split()) <= _LONGEST]
    once = {normalize_answer(text): " ".join(text.split()) for text in reversed(texts)}
    title, text = (" ".join(part.split()) for part in (passage.title, passage.text))
    return Read(" ".join(question.split()), title, text, list(once.values())[::-1], source, weight)


def _place(text: str, aliases: Sequence[str]) -> tuple[int, str] | None:
    """Return the first place of the longest alias that stands in a text."""
    found = [
        match for alias in aliases if alias and (match := re.search(rf"(?<!\w){re.escape(alias)}(?!\w)", text, re.I))
    ]
    best = max(found, key=lambda match: len(match.group()), default=None)
    return best and (best.start(), best.group())


def of_paragraphs(examples: Sequence[Example], source: str, chance: random.Random) -> list[Read | None]:
    """Return questions in their own paragraph, at most three of each; some in another one of their article, too."""
    paragraphs: dict[str, list[Example]] = {}
    articles: dict[str, set[str]] = {}
    for example in examples:
        paragraphs.setdefault(example.context, []).append(example)
        articles.setdefault(example.article, set()).add(example.context)
    made, words = [], cache(stems)
    for own in paragraphs.values():
        for example in chance.sample(own, min(_OF_A_PARAGRAPH, len(own))):
            title = "" if example.title.endswith("?") else example.title.replace("_", " ")
            answers = [example.texts[:1]] if example.texts else []
            made.append(read_by(example.question, Passage(pid="", title=title, text=example.context), answers, source))
            if not answers or chance.random() >= 1 / _NEAREST:
                continue
            if others := [text for text in articles[example.article] if not _place(text, example.texts)]:
                asked = stems(example.question)
                near = max(sorted(others), key=lambda text: len(asked & words(text)))
                made.append(read_by(example.question, Passage(pid="", title=title, text=near), [], "another paragraph"))
    return made


def of_periods(groups: Iterable[dict[str, Any]], chance: random.Random) -> list[Read | None]:
    """Return questions whose time is left out, with the answer of every period, and dated ones."""
    made = []
    for group in groups:
        readings = group["readings"]
        for text in sorted({text for reading in readings for text in reading["passages"]} - {""}):
            passage = Passage(pid="", title=group["title"], text=text)
            own = [reading for reading in readings if text in reading["passages"]]
            every = [reading["answers"] for reading in own]
            made.append(read_by(group["ambiguous_question"], passage, every, "periods", _PEOPLE))
            for reading in chance.sample(readings, min(2, len(readings))):
                if reading in own or not _place(text, reading["answers"]):
                    answers = [reading["answers"]] if reading in own else []
                    made.append(read_by(reading["question"], passage, answers, "one period"))
    return made


def of_namesakes(program: Spanwise) -> list[Read | None]:
    """Return the shipped training questions over the shipped corpus, where each reading says which passage has it."""
    corpus = {passage.pid: passage for passage in read_corpus(corpus_path())}
    made = []
    for question in load_questions("homonyms/train"):
        gold = [corpus[reading.pid] for reading in question.readings if reading.pid in corpus]
        for passage in {one.pid: one for one in (*program.retrieve(question.question), *gold)}.values():
            for asked, readings in ((question.question, question.readings), *_singly(question)):
                own = [reading.short_answers for reading in readings if reading.pid == passage.pid]
                if own or not _place(passage.text, [alias for one in readings for alias in one.short_answers]):
                    made.append(read_by(asked, passage, own, "namesakes", _NAMESAKES))
    return made


def of_documents(file: Path, corpus: Path) -> list[Read | None]:
    """Return questions over documents of which each has its answer, or is noise (RAMDocs); planted ones are read."""
    passages = {passage.pid: passage for passage in read_corpus(corpus)}
    (questions,) = json.loads(file.read_text(encoding="utf-8")).values()
    return [
        read_by(one["ambiguous_question"], passages[pid], [] if kind == "noise" else [[answer]], "documents", 2.0)
        for one in questions.values()
        for pid, kind, answer in one["documents"]
    ]


def of_readings(program: Spanwise, questions: Sequence[Question], chance: random.Random) -> list[Read | None]:
    """Return ambiguous questions over an index, and single readings of them."""
    made: list[Read | None] = []
    for question in questions:
        silent = 0
        for passage in program.retrieve(question.question)[:_NEAREST]:
            held = [one.short_answers for one in question.readings if _place(passage.text, one.short_answers)]
            if not held and silent < _SILENT:
                made.append(read_by(question.question, passage, [], "ambiguous"))
                silent += 1
            asked = stems(question.question)
            marks = [finding.answer for finding in program.mark(question.question, [passage])] if held else []
            if not held or len(asked & stems(passage.indexed_text)) < _SHARED * len(asked):
                continue
            if all(any(agree(mark, answers) for mark in marks) for answers in held):
                made.append(read_by(question.question, passage, held, "ambiguous"))
                for wording, (reading,) in chance.sample(singly := _singly(question), min(2, len(singly))):
                    own = [reading.short_answers] if reading.short_answers in held else []
                    made.append(read_by(wording, passage, own, "one reading"))
    return made


def of_long_answers(questions: Iterable[Question], chance: random.Random) -> list[Read | None]:
    """Return ambiguous questions that are asked of their own long answer, and of its beginning and its end.

    A long answer has the answers of all readings in one text, which few passages have. One reading is asked of it, too.
    """
    made = []
    for question in questions:
        held = [reading.short_answers for reading in question.readings]
        whole = " ".join(question.long_answers[0].split()) if question.long_answers else ""
        if len(held) < 2 or not all(_place(whole, answers) for answers in held):
            continue
        told = [sentence.text for sentence in sentences(whole)]
        cut = chance.randrange(len(told))
        for text in {whole, " ".join(told[:cut]), " ".join(told[cut:])}:
            if _TOLD[0] <= len(text.split()) <= _TOLD[1]:
                own = [answers for answers in held if _place(text, answers)]
                source = "long answer" if text == whole else "part of a long answer"
                made.append(read_by(question.question, Passage(pid="", title="", text=text), own, source))
        wording, (reading,) = chance.choice(_singly(question))
        if len(whole.split()) <= _TOLD[1]:
            made.append(read_by(wording, Passage(pid="", title="", text=whole), [reading.short_answers], "one reading"))
    return made


def _singly(question: Question) -> list[tuple[str, Sequence[Any]]]:
    return [(reading.question, [reading]) for reading in question.readings[:4]] if len(question.readings) > 1 else []


def main(
    out: Annotated[Path, typer.Option(help="JSON lines to write.")],
    squad: Annotated[list[Path] | None, typer.Option(help="SQuAD 2.0 file; repeat for more.")] = None,
    paragraphs: Annotated[list[Path] | None, typer.Option(help="JSON lines of paragraphs; repeat for more.")] = None,
    periods: Annotated[Path | None, typer.Option(help="JSON lines of questions whose time was left out.")] = None,
    documents: Annotated[tuple[Path, Path] | None, typer.Option(help="Questions with documents, and corpus.")] = None,
    ambiguous: Annotated[list[Path] | None, typer.Option(help="Ambiguous questions, over --index.")] = None,
    long_answers: Annotated[list[Path] | None, typer.Option(help="The same, with long answers that are read.")] = None,
    index: Annotated[str, typer.Option(help="Index for them.")] = "homonyms",
    most: Annotated[int, typer.Option(help="At most so many of them, drawn.")] = 6000,
    held: Annotated[list[str] | None, typer.Option(help="Questions that stay out; repeat for more.")] = None,
    seed: Seed = 0,
) -> None:
    """Make examples for the reader of passages."""
    left_out = held_out(held or ())
    chance = random.Random(seed)
    made = of_namesakes(load("spanwise"))
    for path in squad or ():
        made += of_paragraphs(not_held(read_squad(path), left_out), path.stem, chance)
    for path in paragraphs or ():
        examples = read_paragraphs(path, least_confidence=0.9, translated=0.5, seed=seed)
        made += of_paragraphs(not_held(examples, left_out), path.name.partition(".")[0], chance)
    if periods is not None:
        made += of_periods((json.loads(line) for _, line in read_lines(periods)), chance)
    if documents is not None:
        made += of_documents(*documents)
    if ambiguous:
        questions = [question for path in ambiguous for question in load_questions(path)]
        drawn = chance.sample(questions, min(most, len(questions)))
        made += of_readings(load("spanwise", index=index), drawn, chance)
    for path in long_answers or ():
        made += of_long_answers(load_questions(path), chance)
    kept = [one for one in made if one is not None and normalize_answer(one.question) not in left_out]
    chance.shuffle(kept)
    write_rows(out, kept)
    typer.echo(f"{len(kept):,} examples, {sum(bool(one.answers) for one in kept):,} with answers: {out}")


if __name__ == "__main__":
    run_command(lambda: typer.run(main))
