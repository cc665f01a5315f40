"""Demos from labels: what every predictor should have said to a training question.

Data sets give questions, readings, short and long answers, but not the passages that a prompt shows. They
are retrieved here as the program does it, so that a labelled demo looks like the prompt it stands in.
"""

from collections.abc import Callable, Mapping, Sequence

import dspy

from polyqa.metrics.gold import Question
from polyqa.signatures import (
    AnswerClosedBook,
    AnswerRefined,
    ClarifyQuestion,
    DraftSegment,
    ExtractInterpretations,
    GradePassage,
    InferPseudoInterpretations,
    InterpretPassage,
    LocateAnswer,
    RefineQuestion,
    SelectPassages,
    SelectQuestions,
    TypeAmbiguity,
    VerifyInterpretation,
    VerifyInterpretations,
    VerifyReadings,
    WriteLongFormAnswer,
)
from polyqa.signatures.lookup import find_by_fields

from . import judgements, readings
from .shown import Demo, Shown

_MAKERS: Mapping[type[dspy.Signature], Callable[[Question, Shown], list[Demo]]] = {
    TypeAmbiguity: readings.ambiguity_types,
    InferPseudoInterpretations: readings.pseudo_interpretations,
    ExtractInterpretations: readings.extractions,
    WriteLongFormAnswer: readings.long_answers,
    ClarifyQuestion: readings.clarifications,
    LocateAnswer: readings.located_answers,
    InterpretPassage: readings.interpreted_passages,
    AnswerRefined: readings.refined_answers,
    VerifyInterpretation: judgements.verdicts,
    VerifyInterpretations: judgements.answered_candidates,
    VerifyReadings: judgements.readings_that_hold,
    GradePassage: judgements.grades,
    DraftSegment: judgements.drafts,
    SelectPassages: judgements.selected_passages,
    SelectQuestions: judgements.selected_questions,
}


_FROM_MEMORY: Mapping[type[dspy.Signature], Callable[[Question, Shown], list[Demo]]] = {
    AnswerClosedBook: readings.recalled_answers,
    RefineQuestion: readings.refinements,
}


def label_demos(program: dspy.Module, questions: Sequence[Question]) -> dict[str, list[Demo]]:
    """Return the demos that gold labels give to each predictor of a program.

    A predictor is known by the fields of its signature (`signatures.lookup.find_by_fields`), so that one of a
    user's own gets the demos of polyqa's signature whose fields it has:

    - `ExtractInterpretations`: the gold readings whose answers stand in the passages, each with the number of its
      passage, beside one passage that holds none (five whole prompts as demos would make the prompt six times as
      long);
    - `WriteLongFormAnswer`: the reference long answer, beside the passages that the readings cite;
    - `InferPseudoInterpretations`: the gold readings' questions;
    - `ClarifyQuestion`: both of the above in one, where a reference long answer is given;
    - `TypeAmbiguity`: where the data set names the types, or the question is plain;
    - `VerifyInterpretation`: each gold reading over two passages, in turn with its answer and without;
    - `VerifyInterpretations`: all gold readings over passages that answer about half of them;
    - `VerifyReadings`: gold readings, every other one with another's answer;
    - `InterpretPassage`: for each reading the passage that answers it, and as many of the best passages that answer
      none, with null;
    - `LocateAnswer`: the first gold reading that the passages answer, settled if they answer no other;
    - `GradePassage`: the best passage that holds an answer, Correct, and the best that holds none, Incorrect;
    - `DraftSegment`: the same two passages, the segment being the sentences of the reference answer that give the
      passage's answers;
    - `SelectPassages`: of the shortlist the first passage of each gold reading, then the best-ranked;
    - `SelectQuestions`: of the candidates the first with an answer of each gold reading;
    - `AnswerClosedBook`: the reference long answer (the five examples of DIVA's Table 12 are such), where the
      signature takes nothing but the question;
    - `RefineQuestion`: the gold readings, likewise;
    - `AnswerRefined`: the reference long answer, from the gold readings.

    The last three are told from memory. Where only your corpus knows the facts, such demos may teach a language model
    to make facts up: name the other predictors in the recipe then. `CritiqueSegment` is left out: labels tell no
    usefulness.

    Parameters
    ----------
    program
        Retrieves the passages, see `Shown` for what it may offer; its language model is not called.
    questions
        Training questions.

    Returns
    -------
    dict
        Predictor name to demos, in the order of the questions; each demo has fields of the predictor's
        signature only. A predictor that labels cannot fill has none.
    """
    predictors = program.named_predictors()
    demos: dict[str, list[Demo]] = {name: [] for name, _ in predictors}
    for question in questions:
        shown = Shown(program, question.question)
        for name, predictor in predictors:
            fields = predictor.signature.fields
            make = _maker(predictor.signature)
            for demo in make(question, shown) if make else ():
                demos[name].append({field: value for field, value in demo.items() if field in fields})
    return demos


def _maker(signature: type[dspy.Signature]) -> Callable[[Question, Shown], list[Demo]] | None:
    inputs, outputs = signature.input_fields, signature.output_fields
    if set(inputs) == {"question"} and (recalled := find_by_fields(_FROM_MEMORY, inputs, outputs, exact=True)):
        return recalled
    return find_by_fields(_MAKERS, inputs, outputs)
