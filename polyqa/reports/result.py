"""What a notebook, a document and a terminal show of an answer: its readings, their sources, what it took."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from polyqa.base.html import markdown, render
from polyqa.base.languages import MODELS_READ, foreign_language
from polyqa.base.text import counted
from polyqa.base.values import Passage, Sources
from polyqa.extractive import MODEL_NAME
from polyqa.programs.tree import ClarificationNode

from .marks import cited, parts, pieces

if TYPE_CHECKING:
    from polyqa.asking import Result

_ESCAPED_MARK = re.compile(r"\\\[(\d{1,4}(?:, ?\d{1,4})*)\\\]([(:]?)")


def result_html(result: "Result") -> str:
    """Return the answer with links to its evidence, the readings, the tree if there is one, and the evidence."""
    numbers = numbers_of(result.passages)
    # Several results stand in one notebook: each needs names of its own for what is linked.
    contents = "\0".join([result.question, result.answer, *numbers])
    tree = result.extra.get("tree")
    return render(
        "result.html",
        **_shown(result),
        anchor=f"polyqa-{hashlib.sha256(contents.encode(errors='replace')).hexdigest()[:10]}",
        pieces=pieces(result.cited_answer, len(result.passages)),
        sources=[list(pieces(text, len(result.passages))) for text in sources_of(result)],
        tree=tree if isinstance(tree, ClarificationNode) else None,
    )


def result_markdown(result: "Result") -> str:
    """Return the question, the answer with its marks, the readings, and the passages that are cited."""
    return render(
        "result.md",
        **_shown(result),
        answer=Markup("\n\n").join(
            _markdown_answer(line, len(result.passages)) for line in result.cited_answer.splitlines()
        ),
        sources=[_markdown_answer(text, len(result.passages)) for text in sources_of(result)],
    )


def _shown(result: "Result") -> dict[str, Any]:
    """Return what both pages show in the same way."""
    cited_passages, evidence = cited_numbers(result), list(_evidence(result))
    return {
        "result": result,
        "sure": ["–" if sure is None else f"{sure:.0%}" for sure in result.confidence],
        "evidence": [passage for passage in evidence if passage[0] in cited_passages],
        "others": [passage for passage in evidence if passage[0] not in cited_passages],
        "cautions": cautions(result),
        "took": took(result),
    }


def cited_numbers(result: "Result") -> set[int]:
    """Return the numbers of the passages that the answer or a reading names."""
    numbers = numbers_of(result.passages)
    from_marks = cited(result.cited_answer, len(result.passages))
    contradicting = [pid for one in result.sources for other in one.otherwise for pid in other.pids]
    backing = [pid for source in result.sources for pid in source.pids]
    pids = [*(reading.pid for reading in result.interpretations), *backing, *contradicting]
    return from_marks | {numbers[pid] for pid in pids if pid in numbers}


def _evidence(
    result: "Result",
) -> Iterator[tuple[int, Passage, list[tuple[str, list[int]]], list[tuple[str, list[int]]]]]:
    """Yield each passage with its number, and its title and text in `parts`."""
    for number, passage in enumerate(result.passages, 1):
        answers = [reading.answer for reading in result.interpretations if reading.pid == passage.pid]
        yield number, passage, list(parts(passage.title, answers)), list(parts(passage.text, answers))


def _markdown_answer(answer: str, passages: int) -> Markup:
    """Return an answer in which only the marks of passages are left as they are."""

    def mark(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match[1].split(",")]
        if not all(1 <= number <= passages for number in numbers):
            return match[0]
        # A bracket or a colon behind a mark would make a link of it.
        return "".join(f"[{number}]" for number in numbers) + (f"\\{match[2]}" if match[2] else "")

    return Markup(_ESCAPED_MARK.sub(mark, markdown(answer)))


def numbers_of(passages: Sequence[Passage]) -> dict[str, int]:
    """Return the number under which each passage is cited, from 1, by its id."""
    return {passage.pid: number for number, passage in enumerate(passages, 1)}


def sources_of(result: "Result") -> list[str]:
    """Return the sources of each reading as text: the passages that back it, then other answers with theirs.

    ``[1][3]; 1885 [2]`` says that two independent passages back it, and that the second says 1885.
    """
    numbers = numbers_of(result.passages)

    def marks(pids: Sequence[str | None]) -> str:
        return "".join(f"[{number}]" for number in sorted(numbers[pid] for pid in pids if pid in numbers))

    reading_sources = [*result.sources, *[Sources()] * len(result.interpretations)]
    return [
        "; ".join(
            [
                marks(source.pids or [reading.pid]) or "none",
                *(f"{other.answer} {marks(other.pids)}" for other in source.otherwise),
            ]
        )
        for reading, source in zip(result.interpretations, reading_sources, strict=False)
    ]


def cautions(result: "Result") -> list[str]:
    """Return what a reader should know before trusting a result, a line each."""
    lines = read_otherwise(result.respelled)
    if result.lm == MODEL_NAME and (language := foreign_language(result.question)):
        lines.append(f"The question looks {language}: {MODELS_READ}")
    if result.faults:
        times = Counter(map(str, result.faults))
        each = "; ".join(f"{fault} ({count} times)" if count > 1 else fault for fault, count in times.items())
        replies = counted(len(result.calls), "reply", "replies")
        lines.append(f"{len(result.faults)} of {replies} could not be had, or not whole: {each}.")
    if result.unheeded:
        total = counted(sum(map(len, result.unheeded.values())), "sentence")
        first = next(sentence for sentences in result.unheeded.values() for sentence in sentences)
        of = ", ".join(result.unheeded)
        lines.append(f"{result.lm} passes over {total} of the instructions of {of}, such as “{first}”.")
    return lines


def read_otherwise(respelled: Mapping[str, str]) -> list[str]:
    """Return what is said of misspelt words, a line each."""
    return [f"“{typed}” stands {_looked_for(typed)}; read as “{word}”." for typed, word in respelled.items()]


def _looked_for(typed: str) -> str:
    """Return where a word stands nowhere; a date is looked for only in what is found for the question."""
    return "in no passage found" if any(map(str.isdigit, typed)) else "nowhere in the corpus"


def _sourced(result: "Result") -> str:
    """Return how many of the readings that are told have a source; coverage is of those that were verified."""
    pids = {passage.pid for passage in result.passages}
    cited = [reading.pid in pids for reading in result.interpretations]
    if all(cited):
        return "every reading has a source"
    return "some readings have a source" if any(cited) else "no reading has a source"


def took(result: "Result") -> list[str]:
    """Return what answered, and what it took, part by part."""
    return [
        *([_sourced(result)] if result.coverage and result.standing == "answered" else []),
        result.program,
        f"{result.lm} + {result.helper_lm}" if result.helper_lm else result.lm,
        counted(len(result.calls), "call"),
        f"{result.input_tokens:,} tokens in, {result.output_tokens:,} out",
        f"{result.seconds:.1f} s",
    ]
