"""A result as Markdown, for a document or an issue."""

from typing import TYPE_CHECKING

from polyqa.base.html import markdown, markdown_rows

from .citing import cited, pieces
from .places import all_places, excerpt
from .words import cautions, numbers_of, took

if TYPE_CHECKING:
    from polyqa.asking import Result


def result_markdown(result: "Result") -> str:
    """Return the question, the answer with its marks, the readings, and the passages that are cited."""
    numbers, answer = numbers_of(result.passages), result.cited_answer
    parts = [f"## {markdown(result.question)}", _answer(answer, len(result.passages))]
    if result.interpretations:
        rows = [
            [markdown(one.question), markdown(one.answer), f"[{numbers[one.pid]}]" if one.pid in numbers else "none"]
            for one in result.interpretations
        ]
        parts.append(markdown_rows(["reading", "answer", "source"], rows))
    named = cited(answer, len(result.passages))
    named |= {numbers[one.pid] for one in result.interpretations if one.pid in numbers}
    for number in sorted(named):
        passage = result.passages[number - 1]
        answers = [one.answer for one in result.interpretations if one.pid == passage.pid]
        start, end = excerpt(passage.text, all_places(passage.text, answers))
        told = f"{'… ' * (start > 0)}{passage.text[start:end]}{' …' * (end < len(passage.text))}"
        title = f"**{markdown(passage.title)}** " if passage.title.strip() else ""
        parts.append(f"[{number}] {title}({markdown(passage.pid)}): {markdown(told)}")
    parts += [f"Careful: {markdown(caution)}" for caution in cautions(result)]
    return "\n\n".join([*parts, markdown(" · ".join(took(result)))]) + "\n"


def _answer(answer: str, passages: int) -> str:
    """Return an answer in which only the marks of passages are left as they are."""
    # A private character keeps the places of the marks while the text around them is escaped.
    marks = []
    text = ""
    for piece in pieces(answer.replace("\ue000", ""), passages):
        if isinstance(piece, str):
            text += piece
        else:
            marks.append("".join(f"[{number}]" for number in piece))
            text += "\ue000"
    shown, *rest = markdown(text).split("\ue000")
    for mark, after in zip(marks, rest, strict=True):
        # A bracket or a colon behind a mark would make a link of it.
        shown += mark + (f"\\{after}" if after[:1] in ("(", ":") else after)
    return shown
