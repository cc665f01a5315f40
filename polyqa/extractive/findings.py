"""The calls of `Spanwise` and `MadamRAG`: what one passage gives, and the answer that tells what several gave."""

import json
from collections import Counter
from dataclasses import replace

from polyqa.base.values import Interpretation
from polyqa.metrics.text import with_title
from polyqa.models import Span

from .evidence import Evidence, Models, best_support, gather, same_answer, telling
from .long_answers import compose_answer, tell, tidy
from .prompt import Prompt, PromptPassage
from .readings import NULL
from .wordings import phrase

_HOLDS = 0.2  # support
_ANSWERS = 0.1  # support of a document's answer; low, for the aggregator has other documents to hold against it
_UNKNOWN = "unknown"


def verify_finding(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``holds``: Yes iff the finding's title and sentence support an answer to the question."""
    title, sentence, _ = _parts(prompt.inputs.get("finding", ""))
    support = best_support(prompt.question, [PromptPassage(1, title, sentence)], models)
    return {"holds": "Yes" if support >= _HOLDS else "No"}


def tell_findings(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``interpretations`` and ``answer``: the question with what the title adds, the sentences one by one."""
    readings, lines = [], []
    for finding in prompt.passages("findings"):
        title, sentence, answer = _parts(f"{finding.title} | {finding.text}")
        question = with_title(prompt.question, title)
        readings.append({"question": question, "answer": answer, "pid": str(finding.number)})
        lines.append(sentence)
    return {"interpretations": readings, "answer": "\n".join(lines)}


def read_document(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``short_answer`` and ``explanation``: the best answer of the document, and its sentence; else null.

    What other documents say changes nothing: this engine does not misread a document less for it.
    """
    passages = [tidy(passage) for passage in prompt.passages("passage")]
    answers = telling(prompt.question, gather(prompt.question, passages, models))
    if not answers or answers[0].support < _ANSWERS:
        return {"short_answer": NULL, "explanation": NULL}
    reading = Interpretation(question=prompt.question, answer=answers[0].answer)
    return {"short_answer": answers[0].answer, "explanation": tell(reading, passages, models)}


def aggregate_answers(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``interpretations`` and ``answer``: each distinct answer of the replies, those of more replies first."""
    replies = []
    for line in prompt.passages("replies"):
        title, sentence, answer = _parts(f"{line.title} | {line.text}")
        if answer.strip().lower() not in (_UNKNOWN, NULL, ""):
            start = max(sentence.find(answer), 0)
            span = Span(answer, start, start + len(answer), 0.0)
            passage = PromptPassage(line.number, title, sentence)
            replies.append(Evidence(passage, span, answer, 1.0))
    votes = Counter(
        next(at for at, first in enumerate(replies) if same_answer(first.answer, one.answer)) for one in replies
    )
    chosen = [replies[at] for at, _ in votes.most_common()]
    readings = [
        {"question": question, "answer": one.answer, "pid": str(one.passage.number)}
        for one, question in phrase(prompt.question, chosen)
    ]
    passages = "\n".join(f"[{one.passage.number}] «{one.passage.title} | {one.passage.text}»" for one in replies)
    inputs = {**prompt.inputs, "passages": passages, "interpretations": json.dumps(readings, ensure_ascii=False)}
    return {"interpretations": readings, **compose_answer(replace(prompt, inputs=inputs), models)}


def _parts(finding: str) -> tuple[str, str, str]:
    """Return title, sentence and answer of a finding's line; a passage may have no title."""
    head, _, answer = finding.rpartition(" | ")
    title, mark, sentence = head.partition(" | ")
    return (title, sentence, answer) if mark else ("", head, answer)
