"""The calls of `polyqa.programs.Passagewise`: which spans of a passage answer, what holds, and the answer."""

from polyqa.metrics.text import content_words, split_title
from polyqa.replies import parse_numbers

from .evidence import Models, best_support, gather, same_answer
from .prompt import Prompt, PromptPassage, evidence_in
from .readings import supported

_HOLDS = 0.2  # support


def choose_answers(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``chosen``: the candidates that are the best supported answers of the passage."""
    found = supported(prompt.question, gather(prompt.question, prompt.passages("passage"), models))
    candidates = [line.partition(". ") for line in prompt.inputs.get("candidates", "").splitlines()]
    return {
        "chosen": [
            number
            for mark, _, candidate in candidates
            for number in parse_numbers(mark)
            if any(same_answer(candidate, evidence.answer) for evidence in found)
        ]
    }


def verify_finding(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``holds``: Yes iff the finding's title and sentence support an answer to the question."""
    title, sentence, _ = _parts(prompt.inputs.get("finding", ""))
    support = best_support(prompt.question, [PromptPassage(1, title, sentence)], models)
    return {"holds": "Yes" if support >= _HOLDS else "No"}


def tell_findings(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``interpretations`` and ``answer``: the question with what the title adds, the sentences one by one."""
    readings, told = [], []
    for finding in evidence_in(prompt.inputs.get("findings", "")):
        title, sentence, answer = _parts(f"{finding.title} | {finding.text}")
        name, qualifier = split_title(title, commas=True)
        more = qualifier if set(content_words(name)) <= set(content_words(prompt.question)) else title
        question = f"{prompt.question.rstrip('?')} ({more})?" if more else prompt.question
        readings.append({"question": question, "answer": answer, "pid": str(finding.number)})
        told.append(sentence)
    return {"interpretations": readings, "answer": " ".join(dict.fromkeys(told))}


def _parts(finding: str) -> tuple[str, str, str]:
    """Return title, sentence and answer of a finding's line; a passage may have no title."""
    head, _, answer = finding.rpartition(" | ")
    title, mark, sentence = head.partition(" | ")
    return (title, sentence, answer) if mark else ("", head, answer)
