"""Self-RAG's steps: whether to retrieve, a segment from one passage, and its critique."""

from dataclasses import replace

from polyqa.signatures import Interpretation, Support
from polyqa.signatures.lenient import parse_interpretations, parse_yes_no

from .composing import tell
from .extracting import extract_interpretations
from .models import Models
from .prompt import Demo, Prompt, parse_passages
from .rewriting import settle
from .text import content_words, holds, sentences
from .thresholds import best_cut
from .tidying import tidy
from .verifying import best_support

_RELEVANT = 0.15
# A sentence is supported if at least this share of its content words stands in the passage.
_SAID = 0.8
# Support of the best answer that the segment gives, from mark 1 to 5.
_MARKS = (0.05, 0.15, 0.3, 0.5)


def decide_retrieval(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``needs_passages``: always Yes, for this engine knows nothing that is not in its prompt."""
    return {"needs_passages": "Yes"}


def draft_segment(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``relevant``, ``readings`` and ``segment``.

    The passage is relevant if its best answer is supported well enough; demos move that threshold. Its
    readings are extracted as from several passages, and the segment is the sentences that hold their
    answers.
    """
    question, shown = prompt.inputs["question"], prompt.inputs.get("passage", "")
    passages = [tidy(passage) for passage in parse_passages(shown)]
    if not passages or best_support(question, shown, models) < _threshold(prompt, models):
        return {"relevant": "No", "readings": [], "segment": "None"}
    readings = _readings(prompt, models)
    if len(readings) == 1:
        # Extraction leaves a lone reading as it was asked; here other passages answer others.
        settled = settle(question, passages[0].title) or question
        readings = [readings[0].model_copy(update={"question": settled})]
    told = dict.fromkeys(tell(reading, passages, models, named=True)[1] for reading in readings)
    return {
        "relevant": "Yes",
        "readings": [{"question": one.question, "answer": one.answer} for one in readings],
        "segment": " ".join(told) or "None",
    }


def _readings(prompt: Prompt, models: Models) -> list[Interpretation]:
    demos = tuple(
        Demo(demo.inputs, {"interpretations": demo.outputs["readings"]})
        for demo in prompt.demos
        if "readings" in demo.outputs
    )
    inputs = {"question": prompt.inputs["question"], "passages": prompt.inputs["passage"]}
    found = extract_interpretations(replace(prompt, inputs=inputs, demos=demos), models)
    return parse_interpretations(found["interpretations"])


def _threshold(prompt: Prompt, models: Models) -> float:
    labelled = [
        (
            best_support(demo.inputs["question"], demo.inputs["passage"], models),
            parse_yes_no(demo.outputs["relevant"]) == "Yes",
        )
        for demo in prompt.demos
        if {"question", "passage"} <= demo.inputs.keys() and "relevant" in demo.outputs
    ]
    return best_cut(labelled, _RELEVANT)


def critique_segment(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``support`` and ``usefulness``.

    Support counts the segment's sentences whose words stand in the passage; usefulness is how well
    supported an answer the segment itself gives to the question.
    """
    segment = prompt.inputs.get("segment", "")
    said = [_said(sentence.text, prompt.inputs.get("passage", "")) for sentence in sentences(segment)]
    support = Support.FULLY if said and all(said) else Support.PARTIALLY if any(said) else Support.NO
    useful = best_support(prompt.inputs["question"], segment, models)
    return {"support": support, "usefulness": 1 + sum(useful >= mark for mark in _MARKS)}


def _said(sentence: str, passage: str) -> bool:
    asserted = content_words(sentence)
    known = set(content_words(passage))
    return holds(passage, sentence) or sum(word in known for word in asserted) >= _SAID * max(1, len(asserted))
