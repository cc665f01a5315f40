"""Self-RAG's steps: whether to retrieve, a segment from one passage, and its critique."""

from dataclasses import replace

from polyqa.base.values import Support
from polyqa.metrics.text import content_words, holds, sentences
from polyqa.replies import parse_interpretations

from .evidence import Models, best_support
from .long_answers import tell, tidy
from .prompt import Prompt
from .readings import extract_interpretations
from .titles import settle

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

    The passage is relevant if its best answer is supported well enough. Its readings are extracted as from several
    passages, and the segment is the sentences that hold their answers.
    """
    prompt_passages = prompt.passages("passage")
    if best_support(prompt.question, prompt_passages, models) < _RELEVANT:
        return {"relevant": "No", "readings": [], "segment": "None"}
    passages = list(map(tidy, prompt_passages))
    inputs = {"question": prompt.question, "passages": prompt.inputs["passage"]}
    extracted = extract_interpretations(replace(prompt, inputs=inputs), models)
    readings = parse_interpretations(extracted["interpretations"])
    if len(readings) == 1:
        # Extraction leaves a lone reading as it was asked; here other passages answer others.
        settled = settle(prompt.question, passages[0].title) or prompt.question
        readings = [readings[0].model_copy(update={"question": settled})]
    sentences_told = dict.fromkeys(tell(reading, passages, models) for reading in readings)
    return {
        "relevant": "Yes",
        "readings": [{"question": one.question, "answer": one.answer} for one in readings],
        "segment": " ".join(sentences_told) or "None",
    }


def critique_segment(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``support`` and ``usefulness``.

    Support counts the segment's sentences whose words stand in the passage; usefulness is how well
    supported an answer the segment itself gives to the question.
    """
    segment = prompt.inputs.get("segment", "")
    backed = [_said(sentence.text, prompt.inputs.get("passage", "")) for sentence in sentences(segment)]
    support = Support.FULLY if backed and all(backed) else Support.PARTIALLY if any(backed) else Support.NO
    useful = best_support(prompt.question, prompt.passages("segment"), models)
    return {"support": support, "usefulness": 1 + sum(useful >= mark for mark in _MARKS)}


def _said(sentence: str, passage: str) -> bool:
    asserted = content_words(sentence)
    passage_words = set(content_words(passage))
    return holds(passage, sentence) or sum(word in passage_words for word in asserted) >= _SAID * max(1, len(asserted))
