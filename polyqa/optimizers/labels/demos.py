"""Demos from labels: what every predictor should have said to a training question.

Data sets give questions, readings, short and long answers, but not the passages that a prompt shows. They
are retrieved here as the program does it, so that a labelled demo looks like the prompt it stands in. Of those only the
cited ones and few others are shown: five whole prompts as demos would make the prompt six times as long.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import dspy

from polyqa import signatures
from polyqa.base.values import AmbiguityType, Grade, Passage, render_passages
from polyqa.metrics.agreement import agree
from polyqa.metrics.exact_presence import exact_presence
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.text import holds, sentences, sentences_by_shape
from polyqa.programs.sixpaq import render_candidates
from polyqa.programs.spanwise import Finding
from polyqa.questions.training_set import long_answer
from polyqa.signatures.lookup import find_by_fields

from .reasons import reason_of
from .shown import Demo, Held, Shown, cut, first_empty, held_readings

Maker: TypeAlias = Callable[[Question, Shown], list[Demo]]
"""Makes the demos of a predictor; one that does not say what is asked asks the training question itself."""
NO_DEMOS = (
    "The labels give the program no demos, and the recipe changes nothing: they are made for calls whose fields polyqa "
    "knows, from the passages of a method retrieve(question), or from the training questions' long answers. Take "
    "bootstrap-few-shot, which takes demos from runs."
)
_MAKERS: dict[type[dspy.Signature], Maker] = {}
_FROM_MEMORY: dict[type[dspy.Signature], Maker] = {}


def label_demos(program: dspy.Module, questions: Sequence[Question]) -> dict[str, list[Demo]]:
    """Return the demos that gold labels give to each predictor of a program.

    A predictor is known by the fields of its signature (`signatures.lookup.find_by_fields`), so that one of a
    user's own gets the demos of polyqa's signature whose fields it has.

    `AnswerClosedBook`, `RefineQuestion` and `AnswerRefined` are told from memory. Where only your corpus knows the
    facts, such demos may teach a language model to make facts up: name the other predictors in the recipe then.
    `CritiqueSegment` is left out: labels tell no usefulness. So is the verification of DIVA and `auto`, which the paper
    shows no demos: labelled ones cost more tokens than all others together, and it verified less with them.

    Where a question has no reference long answer, the sentences of passages that hold its readings' answers stand for
    one, except in what is told from memory.

    Parameters
    ----------
    program
        Retrieves the passages, see `Shown` for what it may offer; its language model is not called.

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
                complete_demo = {"question": question.question, **demo}
                demos[name].append({field: complete_demo[field] for field in fields if field in complete_demo})
    return demos


def _maker(signature: type[dspy.Signature]) -> Maker | None:
    inputs, outputs = signature.input_fields, signature.output_fields
    if set(inputs) == {"question"} and (recalled := find_by_fields(_FROM_MEMORY, inputs, outputs, exact=True)):
        return recalled
    return find_by_fields(_MAKERS, inputs, outputs)


def _demos_of(signature: type[dspy.Signature], *, from_memory: bool = False) -> Callable[[Maker], Maker]:
    """Register what makes the demos of a signature; those ``from_memory`` for predictors given a question only."""

    def register(make: Maker) -> Maker:
        (_FROM_MEMORY if from_memory else _MAKERS)[signature] = make
        return make

    return register


@_demos_of(signatures.TypeAmbiguity)
def _ambiguity_types(question: Question, shown: Shown) -> list[Demo]:
    """Only where the data set names the types, or the question is plain."""
    kinds = _kinds(question)
    return [{"reason": reason_of(question, kinds[0]), "ambiguity_types": list(map(str, kinds))}] if kinds else []


@_demos_of(signatures.InferPseudoInterpretations)
def _pseudo_interpretations(question: Question, shown: Shown) -> list[Demo]:
    """Give the gold readings' questions."""
    reason = reason_of(question, next(iter(_kinds(question)), None))
    return [{"reason": reason, "pseudo_interpretations": [reading.question for reading in question.readings]}]


def _kinds(question: Question) -> Sequence[AmbiguityType]:
    """Return the types that the data set names, and that of a plain question; none where nobody knows them."""
    plain = (AmbiguityType.NONE,) if len(question.readings) == 1 else ()
    return question.ambiguity_types or plain


@_demos_of(signatures.ExtractInterpretations)
def _extractions(question: Question, shown: Shown) -> list[Demo]:
    """Give the readings that the passages answer, each with its passage's number, beside one passage that has none."""
    return _over_passages(question, shown, spare=1)


@_demos_of(signatures.WriteLongFormAnswer)
def _long_answers(question: Question, shown: Shown) -> list[Demo]:
    """Give the long answer beside the passages that its readings cite: others teach nothing about writing."""
    return _told_over_passages(question, shown, spare=0)


@_demos_of(signatures.ClarifyQuestion)
def _clarifications(question: Question, shown: Shown) -> list[Demo]:
    """Give the readings that the passages answer, and the long answer."""
    return _told_over_passages(question, shown, spare=1)


def _told_over_passages(question: Question, shown: Shown, *, spare: int) -> list[Demo]:
    answer = _told(question, held_readings(question, shown.passages), shown.passages)
    return [{**demo, "answer": answer} for demo in _over_passages(question, shown, spare=spare) if answer]


def _told(question: Question, citations: Sequence[Held], passages: Sequence[Passage]) -> str:
    """Return the reference long answer, or the passages' sentences if there is none.

    It is empty where these do not tell every answer: some stand in a title only.
    """
    if question.long_answers:
        return question.long_answers[0]
    readings = [replace(reading, short_answers=(alias,), pid=str(number)) for reading, number, alias in citations]
    answer = long_answer(readings, {str(number): passage for number, passage in enumerate(passages, 1)})
    return answer if all(exact_presence([alias], answer) for _, _, alias in citations) else ""


def _over_passages(question: Question, shown: Shown, *, spare: int) -> list[Demo]:
    citations = held_readings(question, shown.passages)
    if not citations:
        return []
    passages, citations = cut(shown.passages, citations, spare=spare, mixed_by=question.question)
    return [{"passages": render_passages(passages), "interpretations": _rendered(citations)}]


def _rendered(citations: Sequence[Held]) -> list[Demo]:
    return [{"question": reading.question, "answer": alias, "pid": str(number)} for reading, number, alias in citations]


def _with_answer(question: Question, demos: Sequence[Demo]) -> list[Demo]:
    return [{**demo, "answer": answer} for demo in demos for answer in question.long_answers[:1]]


@_demos_of(signatures.LocateAnswer)
def _located_answers(question: Question, shown: Shown) -> list[Demo]:
    """Give the answer of the first passage that holds one, settled if the passages answer no other reading."""
    citations = held_readings(question, shown.passages)
    if not citations:
        return []
    passages, citations = cut(shown.passages, citations, spare=1)
    _, number, alias = min(citations, key=lambda reading: reading[1])
    settled = "Yes" if len(citations) == 1 else "No"
    source = {"short_answer": alias, "source": str(number), "settled": settled}
    return [{"passages": render_passages(passages), **source}]


@_demos_of(signatures.InterpretPassage)
def _interpreted_passages(question: Question, shown: Shown) -> list[Demo]:
    """Give for each reading the passage that answers it, and as many of the best that answer none, with null."""
    citations = held_readings(question, shown.retrieved)
    answered = {number: (reading.question, alias) for reading, number, alias in reversed(citations)}
    empty = [
        number
        for number, passage in enumerate(shown.retrieved, 1)
        if not any(exact_presence(reading.short_answers, passage.render()) for reading in question.readings)
    ]
    return [
        {"passage": shown.retrieved[number - 1].render(), "interpretation": interpretation, "short_answer": answer}
        for number in sorted([*answered, *empty[: len(answered)]])
        for interpretation, answer in [answered.get(number, ("null", "null"))]
    ]


@_demos_of(signatures.ReadDocument)
def _read_documents(question: Question, shown: Shown) -> list[Demo]:
    """Give for each reading the passage that answers it with the sentence that says so, and one that answers none."""
    demos = []
    for _, number, alias in held_readings(question, shown.retrieved):
        passage = shown.retrieved[number - 1]
        answer_sentences = (one.text for one in sentences_by_shape(passage.text) if exact_presence([alias], one.text))
        if sentence := next(answer_sentences, ""):
            demos.append({"passage": passage.render(), "short_answer": alias, "explanation": sentence})
    empty = first_empty(question, shown.retrieved)
    if demos and empty is not None:
        demos.append({"passage": empty.render(), "short_answer": "null", "explanation": "null"})
    return demos


@_demos_of(signatures.AnswerClosedBook, from_memory=True)
def _recalled_answers(question: Question, shown: Shown) -> list[Demo]:
    """Give the reference answer (the five examples of DIVA's Table 12 are such)."""
    return _with_answer(question, [{}])


@_demos_of(signatures.RefineQuestion, from_memory=True)
def _refinements(question: Question, shown: Shown) -> list[Demo]:
    """Give the gold readings."""
    readings = [{"question": reading.question, "answer": reading.short_answers[0]} for reading in question.readings]
    return [{"refinements": readings}]


@_demos_of(signatures.AnswerRefined)
def _refined_answers(question: Question, shown: Shown) -> list[Demo]:
    """Give the reference answer from the gold readings."""
    return _with_answer(question, _refinements(question, shown))


@_demos_of(signatures.GradePassage)
def _grades(question: Question, shown: Shown) -> list[Demo]:
    """Give a passage that is correct and one that is incorrect: labels tell of none that it is ambiguous."""
    # One of each: the nearest demos would otherwise all be passages of one training question.
    numbers = [number for _, number, _ in held_readings(question, shown.retrieved)]
    chosen = [
        (shown.retrieved[min(numbers) - 1] if numbers else None, Grade.CORRECT),
        (first_empty(question, shown.retrieved), Grade.INCORRECT),
    ]
    return [{"passage": passage.render(), "grade": str(grade)} for passage, grade in chosen if passage is not None]


@_demos_of(signatures.DraftSegment)
def _drafts(question: Question, shown: Shown) -> list[Demo]:
    """Give a passage that answers, with the sentences of the long answer that say so, and one that does not."""
    citations = held_readings(question, shown.retrieved)
    demos: list[Demo] = []
    for number in sorted({number for _, number, _ in citations}):
        answered = [(reading, alias) for reading, at, alias in citations if at == number]
        segment = [
            sentence.text
            for sentence in sentences_by_shape(_told(question, citations, shown.retrieved))
            if any(exact_presence(reading.short_answers, sentence.text) for reading, _ in answered)
        ]
        if segment:
            readings = [{"question": reading.question, "answer": alias} for reading, alias in answered]
            passage = shown.retrieved[number - 1].render()
            demos.append({"passage": passage, "relevant": "Yes", "readings": readings, "segment": " ".join(segment)})
            break
    empty = first_empty(question, shown.retrieved)
    if empty is not None:
        demos.append({"passage": empty.render(), "relevant": "No", "readings": [], "segment": "None"})
    return demos


@_demos_of(signatures.SelectPassages)
def _selected_passages(question: Question, shown: Shown) -> list[Demo]:
    """Give of a shortlist the first passage of each gold reading, then the best."""
    shortlist, count = shown.shortlist, shown.count
    numbers = [number for _, number, _ in held_readings(question, shortlist)]
    if not numbers or len(shortlist) <= count:
        return []
    chosen = list(dict.fromkeys([*numbers, *range(1, len(shortlist) + 1)]))[:count]
    return [{"passages": render_passages(shortlist), "count": count, "selected": chosen}]


@_demos_of(signatures.SelectQuestions)
def _selected_questions(question: Question, shown: Shown) -> list[Demo]:
    """Give of the candidates the first with an answer of each gold reading."""
    candidates = shown.candidates
    if not candidates:
        return []
    firsts = (
        next((number for number, one in enumerate(candidates, 1) if agree(one.answer, reading.short_answers)), None)
        for reading in question.readings
    )
    numbers = sorted({number for number in firsts if number is not None})
    return [{"candidates": render_candidates(candidates), "kept": numbers}]


@_demos_of(signatures.VerifyFinding)
def _findings_that_hold(question: Question, shown: Shown) -> list[Demo]:
    """Give the finding of a gold reading, and of those that answer none the one that seems likeliest."""
    right = [one for one in shown.findings if any(_answers(one, reading) for reading in question.readings)]
    wrong = [
        one
        for one in shown.findings
        if not any(agree(one.answer, reading.short_answers) for reading in question.readings)
    ]
    likeliest = sorted(wrong, key=lambda finding: -finding.probability(0.5))
    chosen = [*((one, "Yes") for one in right[:1]), *((one, "No") for one in likeliest[:1])]
    return [{"finding": finding.render(), "holds": holds} for finding, holds in chosen]


@_demos_of(signatures.TellFindings)
def _told_findings(question: Question, shown: Shown) -> list[Demo]:
    """Give the gold readings and the long answer's sentences, if there is a finding and a sentence for each.

    Otherwise a language model would learn to tell what no finding says.
    """
    findings: list[Finding] = []
    citations: list[Held] = []
    for reading in question.readings:
        finding = next((one for one in shown.findings if _answers(one, reading)), None)
        if finding is None or finding in findings:
            return []
        findings.append(finding)
        citations.append((reading, len(findings), finding.answer))
    lines = _lines(_told(question, citations, [finding.passage for finding in findings]), findings)
    if not all(lines):
        return []
    readings = _rendered(citations) if len(citations) > 1 else []
    return [
        {
            "findings": [finding.render() for finding in findings],
            "interpretations": readings,
            "answer": "\n".join(lines),
        }
    ]


def _lines(answer: str, findings: Sequence[Finding]) -> list[str]:
    """Return for each finding the sentences of a long answer that tell it and none before it."""
    lines: list[list[str]] = [[] for _ in findings]
    for sentence in sentences(answer):
        matching_lines = (line for line, one in zip(lines, findings, strict=True) if holds(sentence.text, one.answer))
        next(matching_lines, []).append(sentence.text)
    return [" ".join(line) for line in lines]


def _answers(finding: Finding, reading: Reading) -> bool:
    """Say whether a finding answers a reading: part of a name alone (``agree``) might be of a namesake."""
    return agree(finding.answer, reading.short_answers) and exact_presence(reading.short_answers, finding.render())
