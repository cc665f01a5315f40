"""Demos from labels: what every predictor should have said to a training question.

Data sets give questions, readings, short and long answers, but not the passages that a prompt shows. They
are retrieved here as the program does it, so that a labelled demo looks like the prompt it stands in.
"""

from collections.abc import Callable, Sequence

import dspy

from polyqa.metrics.gold import Question
from polyqa.programs.jpr import JPR
from polyqa.programs.sixpaq import SIXPAQ, candidate_readings
from polyqa.signatures import Passage

from .ambiguity import clarifying, typing
from .choosing import keeping, selecting
from .held import Demo
from .judging import drafting, grading, verifying
from .readings import extraction, interpreting, locating, refined, writing

_SHOWN = 5  # passages of a demo, for programs that have no K of their own


def label_demos(program: dspy.Module, questions: Sequence[Question]) -> dict[str, list[Demo]]:
    """Return the demos that gold labels give to each predictor of a program.

    A predictor is known by the fields of its signature:

    - ``interpretations`` from passages: the gold readings whose answers stand in the passages, each with
      the number of its passage, beside one passage that holds none (five whole prompts as demos would make
      the prompt six times as long);
    - ``answer`` from passages and interpretations: the reference long answer, beside the passages that the
      readings cite;
    - ``pseudo_interpretations``: the gold readings' questions;
    - ``ambiguity_types`` with ``reason``: where the data set names the type;
    - ``answerable``: each gold reading over two passages, Yes if its answer stands in the retrieved ones;
    - ``interpretation`` with ``short_answer`` from one passage: for each reading the passage that answers it,
      and as many of the best passages that answer none, with null;
    - ``short_answer`` with ``source`` and ``settled``: the first gold reading that the passages answer, settled
      if they answer no other;
    - ``grade``: the best passage that holds an answer, Correct, and the best that holds none, Incorrect;
    - ``segment`` with ``relevant`` and ``readings``: the same two passages, the segment being the sentences of the
      reference answer that give the passage's answers;
    - ``selected``: of JPR's shortlist the first passage of each gold reading, then the best-ranked;
    - ``kept``: of SIXPAQ's candidates the first with an answer of each gold reading;
    - ``answer`` from refinements: the reference long answer, from the gold readings.

    A closed-book ``answer``, and closed-book ``refinements``, are left out: labels of a corpus would teach a
    language model to make facts up. So is a critique of a segment: labels tell no usefulness.

    Parameters
    ----------
    program
        Retrieves the passages; its language model is not called.
    questions
        Training questions.

    Returns
    -------
    dict
        Predictor name to demos, in the order of the questions; each demo has fields of the predictor's
        signature only. A predictor that labels cannot fill has none.
    """
    demos: dict[str, list[Demo]] = {name: [] for name, _ in program.named_predictors()}
    for question in questions:
        universe = program.retrieve(question.question) if hasattr(program, "retrieve") else []
        for name, predictor in program.named_predictors():
            if isinstance(program, JPR) and "selected" in predictor.signature.output_fields:
                demos[name] += selecting(question, program.shortlisted(question.question), program.passages)
                continue
            if isinstance(program, SIXPAQ) and "kept" in predictor.signature.output_fields:
                demos[name] += keeping(question, candidate_readings(program.similar_questions(question.question)))
                continue
            single = "passages" not in predictor.signature.input_fields
            passages = universe if single else universe[: getattr(program, "passages", _SHOWN)]
            for demo in _demos(predictor.signature, question, passages):
                demos[name].append(demo)
    return demos


def _demos(signature: type[dspy.Signature], question: Question, passages: Sequence[Passage]) -> list[Demo]:
    outputs, inputs = set(signature.output_fields), set(signature.input_fields)
    makers: tuple[tuple[bool, Callable[..., list[Demo]]], ...] = (
        ("interpretations" in outputs and "passages" in inputs, extraction),
        ("answer" in outputs and {"passages", "interpretations"} <= inputs, writing),
        ("pseudo_interpretations" in outputs, clarifying),
        ("ambiguity_types" in outputs, typing),
        ("answerable" in outputs, verifying),
        ("grade" in outputs and "passage" in inputs, grading),
        ({"relevant", "readings", "segment"} <= outputs and "passage" in inputs, drafting),
        ("answer" in outputs and "refinements" in inputs, refined),
        ({"interpretation", "short_answer"} <= outputs and "passage" in inputs, interpreting),
        ({"short_answer", "source", "settled"} <= outputs and "passages" in inputs, locating),
    )
    make = next((own for fits, own in makers if fits), None)
    if make is None:
        return []
    fields = inputs | outputs
    return [{name: value for name, value in demo.items() if name in fields} for demo in make(question, passages)]
