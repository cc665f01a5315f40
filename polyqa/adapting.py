"""Adapts a program to another corpus: index, training questions, compilation, and what it brought."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.base.languages import MODELS_READ, corpus_language
from polyqa.base.text import counted
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, build_index, read_corpus
from polyqa.colbert_index.store import index_path
from polyqa.documents import Documents, holds_documents
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.comparison import difference_in
from polyqa.evaluation.progress import bar, shows
from polyqa.evaluation.runs import Run
from polyqa.evaluation.statistics import Difference
from polyqa.evaluation.verdicts import verdict
from polyqa.extractive import MODEL_NAME, ExtractiveEngine
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import Measure
from polyqa.optimizers.calls import kept_calls, remove_work
from polyqa.optimizers.compiler import check_work
from polyqa.optimizers.plan import check_measurable, check_recipe
from polyqa.optimizers.recipes import Recipe
from polyqa.programs.passages_read import JUDGED, trust_in_questions
from polyqa.programs.registry import REGISTRY, registered
from polyqa.questions import Counts, QuestionSettings, generate_questions
from polyqa.questions.namesakes import AskedOfNamesakes, ask_namesakes, namesakes
from polyqa.questions.training_set import (
    TRUSTED,
    Trust,
    connected,
    pick_passages,
    split_questions,
    training_questions,
)
from polyqa.reports.adaptation import adaptation_report

from .compiling import Budget, Made, check_program, chosen_recipe, compile, require_free
from .language_models import (
    Models,
    default_threads,
    embedded_engine,
    ready_reader,
    shared_encoder,
    shared_reader,
)
from .loading import default_program, load
from .question_sets import Given, Questions, Sets, as_questions
from .tracing import job

QUESTIONS, DROPPED, REPORT = "questions.json", "dropped.json", "report.md"
JOURNAL = "generated.sqlite"
_PARTS = 3  # train, dev, held out
_DEV = 0.25  # of the train part: what a recipe picks by
_MOST_QUESTIONS = 6  # of a passage
_MOST_CALLS_IN_STEPS = 1 + 8 + 2 * 8  # detection, and for eight answers a question and two revisions
_CALLS_OF_A_PAIR = 3  # of namesakes: a question, and its answers once more


@dataclass(frozen=True)
class Adapted:
    """What adapting gave.

    Attributes
    ----------
    index
        Of the corpus.
    counts
        Of the generation; ``None`` if questions were given.
    train, dev, held_out
        The questions.
    dropped
        How many generated questions were not used, by reason.
    families
        The names that several passages share, each with their titles.
    made
        The artifact; its test gain is on the held-out questions.
    """

    index: ColBERTIndex
    counts: Counts | None
    train: Sequence[Question]
    dev: Sequence[Question]
    held_out: Sequence[Question]
    dropped: Mapping[str, int]
    made: Made
    families: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def questions(self) -> Sequence[Question]:
        """All of them."""
        return [*self.train, *self.dev, *self.held_out]

    @property
    def ambiguous(self) -> Sequence[Question]:
        """The questions that have several readings."""
        return [question for question in self.questions if len(question.readings) > 1]

    @cached_property
    def difference(self) -> Difference:
        """The measure of the compiled program minus that of the uncompiled one, on the held-out questions."""
        return difference_in(*self.test_runs, self.measure)

    @property
    def measure(self) -> str:
        """What was optimized and is reported, see `polyqa.metrics.optimizing.AnswerMetric`."""
        return self.made.card.measure

    @property
    def test_runs(self) -> tuple[Run, Run]:
        """The uncompiled and the compiled program on the held-out questions."""
        assert self.made.test_runs is not None
        return self.made.test_runs

    @property
    def verdict(self) -> str:
        """Whether adapting helped, in one sentence."""
        gain = self.made.card.test_gain
        if gain is not None and not gain.tells:
            return f"Whether adapting helped cannot be told: {gain.failures}."
        return verdict(self.difference, what="Adapting", metric=COLUMNS[self.measure].label)


def adapt(
    corpus: str | Path,
    program: str | None = None,
    *,
    out: str | Path,
    questions: Given | None = None,
    recipe: str | Recipe = "knn",
    models: Models | str | dspy.LM = Models(),
    limit_passages: int | None = None,
    measure: Measure | None = None,
    budget: Budget = Budget(),
) -> Adapted | None:
    """Compile a program for a corpus; a stopped adaptation goes on.

    Parameters
    ----------
    corpus
        What `polyqa.colbert_index.read_corpus` reads, or a folder of `polyqa.documents.Documents`. Files that cannot be
        read are left out with a warning.
    program, recipe
        See `polyqa.compile`.
    out
        The artifact's folder; the index gets the folder's name. It keeps the questions that were made
        (``questions.json``), those that were not used with the reasons (``dropped.json``), and what adapting brought
        (``report.md``).
    questions
        Training questions of yours, see `polyqa.evaluate`; made from the corpus if not given.
    models
        What makes the questions and runs the program (``lm``), helps it (``helper_lm``), writes instructions, verifies
        and scores (``reader``).
    limit_passages
        Make questions from so many passages at most (all are indexed).
    measure
        What is optimized and reported, see `polyqa.compile`. If not given DR, and Disambig-F1 where some question of
        yours has no reference answer, which DR needs.
    budget
        For all steps together. Each long step is confirmed; the seed decides which 40% of the questions are held out
        and reported, a quarter of the rest is dev.

    Raises
    ------
    PolyqaError
        If something given is missing or does not fit, the corpus gives too few questions, or the limit of calls is
        reached.
    """
    models = Models.of(models)
    out = Path(out)
    require_free(out)
    name = out.resolve().name
    try:
        index_path(name)
    except PolyqaError as error:
        raise PolyqaError(
            f"The index gets the name of the folder {out}, and {name!r} is no name of an index: call the folder by "
            "letters, digits, '.', '_' and '-'."
        ) from error
    if limit_passages is not None and limit_passages < 1:
        raise PolyqaError(f"limit_passages is at least 1, not {limit_passages}.")
    with job("adapt", name, trace=False) as report:
        passages = _passages(corpus)
        if questions is None and len(passages) < _PARTS:
            raise PolyqaError(
                f"{corpus} holds {len(passages)} passages; to train, to pick and to report needs {_PARTS} at least, "
                "and some dozens to tell anything. Give a larger corpus, or questions of your own (--questions)."
            )
        program = default_program(models.chosen_lm) if program is None else program
        check_program(program)
        if not _adaptable(program):
            fitting = ", ".join(filter(_adaptable, REGISTRY))
            raise PolyqaError(f"{program} cannot be adapted, only programs that search passages: {fitting}.")
        models = replace(models.instantiated(), reader=ready_reader(models.reader), judge=None)
        lm = models.answering()
        # What does not fit should not cost the making of questions.
        chosen = chosen_recipe(recipe, models.writing(lm))
        question_set = as_questions(questions) if questions is not None else None
        measure = _measure(measure, question_set)
        budget = replace(budget, threads=budget.threads or default_threads(models.lm))
        index = ready_index(passages, name)
        check_recipe(chosen, load(program, index=index, helper_lm=models.helper_lm))
        with kept_calls(out / ".work", budget.max_calls):
            described = (
                question_set.described if question_set is not None else f"made from {limit_passages or 'all'} passages"
            )
            same = {
                "corpus": index.fingerprint,
                "questions": described,
                "lm": str(lm.model),
                "seed": budget.seed,
            }
            check_work(out / ".work" / "adaptation.json", same, "adaptation")
            if question_set is not None:
                source = _Source(question_set.asked, described, described, advice="Give more")
            else:
                picked = passages
                if limit_passages is not None:
                    picked = pick_passages(passages, limit_passages, budget.seed)
                if not budget.confirm(_expected(picked, lm)):
                    return None
                source = _made_questions(picked, models, out, budget, Path(corpus).name)
            sets = _split(source, budget.seed, None if question_set is not None else out)
            train, dev, held_out = (questions.asked for questions in sets.by_name().values())
            compiled = compile(
                program,
                recipe=chosen,
                sets=sets,
                out=out,
                models=models,
                measure=measure,
                budget=replace(budget, max_calls=None),
                index=index.path,
            )
            if compiled is None:
                return None
        adapted = Adapted(index, source.counts, train, dev, held_out, source.dropped, compiled, source.families)
        write_atomically(out / REPORT, adaptation_report(adapted))
        if not compiled.failed:
            remove_work(out / ".work")
        parameters = {"corpus": Path(corpus).name, "index": index.fingerprint, "program": program}
        report.add(parameters=parameters, figures={f"{adapted.measure}.difference": adapted.difference.difference})
        return adapted


def _adaptable(program: str) -> bool:
    """Return whether a program searches passages, and nothing that is made from them beforehand."""
    needs = registered(program).needs
    return "index" in needs and "questions" not in needs


def _passages(corpus: str | Path) -> list[Passage]:
    """Return the passages of a corpus, or of documents, which are converted."""
    if not holds_documents(Path(corpus)):
        return read_corpus(corpus)
    documents = Documents(corpus)
    passages = list(documents)
    if documents.left_out:
        warnings.warn(documents.summary(), stacklevel=3)
    return passages


def _measure(measure: Measure | None, questions: Questions | None) -> Measure:
    """Return what is optimized, after checking that there is such a measure and given questions can be scored by it."""
    if measure is None:
        has_references = questions is None or all(question.long_answers for question in questions.asked)
        measure = "dr" if has_references else "disambig_f1"
    check_measurable(measure, {questions.described: questions.asked} if questions is not None else {})
    return measure


def ready_index(passages: Sequence[Passage], name: str) -> ColBERTIndex:
    """Return the index of a name that holds exactly these passages; it is built if there is none."""
    path = index_path(name)
    if not path.exists():
        return build_index(passages, name, encoder=shared_encoder(), progress=shows())
    index = ColBERTIndex(name)
    # In any order: `polyqa index sync` puts what is new behind the rest.
    if sorted(index.passages, key=attrgetter("pid")) != sorted(passages, key=attrgetter("pid")):
        raise PolyqaError(
            f"The index {name!r} holds other passages than this corpus. Choose another --out, or, if it was built from "
            f"a folder, bring it up to date: `polyqa index sync {name} FOLDER`."
        )
    return index


@dataclass(frozen=True)
class _Source:
    """Questions before they are split, what cards say of their source in full and in short, how they were made."""

    questions: Sequence[Question]
    full: str
    short: str
    counts: Counts | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    families: Mapping[str, Sequence[str]] = field(default_factory=dict)
    advice: str = "Give a larger corpus, or"
    """What to do if they are too few, up to the words "questions of your own"."""


def _made_questions(passages: Sequence[Passage], models: Models, out: Path, budget: Budget, name: str) -> _Source:
    """Return the questions made of some passages that training can use; write down these, and the others."""
    lm, reader = models.answering(), shared_reader(models.reader)
    engine = getattr(lm, "engine", None)
    trust: Trust | None = engine.trust if isinstance(engine, ExtractiveEngine) else None
    threads = budget.threads or default_threads(lm)
    with bar(len(passages), "passages") as step:
        journal = out / ".work" / JOURNAL
        settings = QuestionSettings(at_once=lm.model != MODEL_NAME)
        generated = generate_questions(
            passages, lm=lm, reader=reader, journal=journal, settings=settings, threads=threads, step=step
        )
    asked_of_namesakes: list[AskedOfNamesakes] = []
    trusted = TRUSTED
    if trust is None:
        keeping = lm.copy(cache=True)  # with all others of this folder: what was asked is not asked again
        pairs = namesakes(passages)
        with bar(len(pairs), "namesakes") as step:
            asked_of_namesakes = ask_namesakes(pairs, keeping, threads=threads, step=step)
        if getattr(lm, "reads_passages", False):
            trust, trusted = partial(_judged, lm=keeping), JUDGED
    usable = training_questions(
        generated.questions,
        passages,
        encoder=shared_encoder(),
        reader=reader,
        trust=trust,
        trusted=trusted,
        seed=budget.seed,
        asked=asked_of_namesakes,
        trust_read=embedded_engine().trust,
    )
    dropped = [asdict(question) for question in usable.dropped]
    for file, value in ((QUESTIONS, _records(usable.questions)), (DROPPED, dropped)):
        write_atomically(out / file, json.dumps(value, ensure_ascii=False, indent=1) + "\n")
    ambiguous = sum(len(question.readings) > 1 for question in usable.questions)
    described = f"{ambiguous} ambiguous questions, {len(usable.questions) - ambiguous} plain"
    advice = _Source.advice
    if language := corpus_language([passage.text for passage in passages]):
        advice = f"The passages look {language}: {MODELS_READ} Or give"
    elif lm.model == MODEL_NAME:
        advice = f"{lm.model} asks little of prose: have a language model write them (--lm), give a larger corpus, or"
    full = f"generated from {name} by {lm.model}: {generated.counts}; {described}"
    return _Source(list(usable.questions), full, name, generated.counts, usable.reasons, usable.families, advice)


def _judged(questions: Sequence[tuple[str, str, Passage]], lm: dspy.BaseLM) -> list[float]:
    with bar(len(questions), "questions judged") as step:
        return trust_in_questions(questions, lm, step=step)


def _expected(passages: Sequence[Passage], lm: dspy.BaseLM) -> str:
    """Return what making questions is expected to take."""
    most = _MOST_CALLS_IN_STEPS if lm.model == MODEL_NAME else 1 + _MOST_QUESTIONS  # and their answers once more
    most += _MOST_QUESTIONS * bool(getattr(lm, "reads_passages", False))  # which judges them
    calls = most * len(passages) + _CALLS_OF_A_PAIR * len(namesakes(passages))
    return f"{counted(len(passages), 'passage')} to make questions from, at most {calls:,} calls"


def _split(source: _Source, seed: int, out: Path | None) -> Sets:
    """Split questions in three; ``out`` is where the generated ones were written down."""
    groups = len(connected(source.questions))
    if groups < _PARTS:
        where = "" if out is None else f" ({out / QUESTIONS}; {out / DROPPED} says why others were not used)"
        n = len(source.questions)
        raise PolyqaError(
            f"There are {n} questions about {groups} separate matters{where}; to train, to pick and to report needs "
            f"{_PARTS - groups} more. {source.advice} questions of your own (--questions)."
        )
    remaining, held_out = split_questions(source.questions, seed=seed)
    if len(connected(remaining)) < _PARTS - 1:  # of few matters one may have nearly all questions
        held_out = min(connected(source.questions), key=len)
        remaining = [question for question in source.questions if question not in held_out]
    train, dev = split_questions(remaining, _DEV, seed=seed)
    return Sets(
        train=Questions(train, name=source.full),
        dev=Questions(dev, name=f"part of train: {source.short}"),
        test=Questions(held_out, name=f"held out: {source.short}"),
    )


def _records(questions: Sequence[Question]) -> dict[str, Any]:
    """Return questions in the format of the shipped ones, so that they can be read, edited and given again."""
    return {
        question.id: {
            "ambiguous_question": question.question,
            "ambiguity": question.ambiguity,
            "reason": question.reason,
            "qa_pairs": [
                {"question": reading.question, "short_answers": list(reading.short_answers), "pid": reading.pid}
                for reading in question.readings
            ],
            "annotations": [{"long_answer": text} for text in question.long_answers],
        }
        for question in questions
    }
