"""What a document and a notebook show of an artifact: its card, in words."""

from typing import TYPE_CHECKING

from polyqa.base.html import html_block, html_facts, html_table, markdown, markdown_facts, markdown_rows, tag

from .card import Card, Figure, Gain

if TYPE_CHECKING:
    from .store import Artifact

_HEAD = ("questions", "n", "metric", "uncompiled", "compiled", "difference", "p")
_NOTE = "Differences: 95% paired bootstrap interval, two-sided permutation test."


def figure_text(figure: Figure) -> str:
    """Return a corpus value with its interval, if it has one."""
    return f"{figure.value:.1f}" + ("" if figure.low is None else f" [{figure.low:.1f}, {figure.high:.1f}]")


def change_text(difference: float, low: float | None, high: float | None) -> str:
    """Return a difference with its interval, if it has one."""
    return f"{difference:+.1f}" + ("" if low is None else f" [{low:+.1f}, {high:+.1f}]")


def artifact_repr(artifact: "Artifact") -> str:
    """Return one line: where it lies, what it is, and what compiling brought on the questions reported last."""
    card = artifact.card
    gain = card.test_gain or card.dev_gain
    told = f", {gain.metric:.40} {_change(gain)}" if gain is not None and gain.tells else ""
    recipe = str(card.recipe.get("name"))[:60]
    return f"Artifact({str(artifact.path)!r:.200}, program={card.program!r:.60}, recipe={recipe!r}{told})"


def artifact_markdown(artifact: "Artifact") -> str:
    """Return the card as Markdown: what was compiled how, and what it brought."""
    card = artifact.card
    shown = markdown_facts(card.name, _facts(card))
    rows = [list(map(markdown, row)) for row in _gains(card)]
    return f"{shown}\n{markdown_rows(_HEAD, rows)}\n\n{_NOTE}\n" if rows else shown


def artifact_html(artifact: "Artifact") -> str:
    """Return the card as HTML without scripts."""
    card = artifact.card
    rows = _gains(card)
    gains = [html_table(_HEAD, rows, numbers=(1,)), tag("p", _NOTE, class_="quiet")] if rows else []
    return html_block(tag("p", tag("b", card.name)), html_facts(_facts(card)), *gains)


def _facts(card: Card) -> dict[str, str]:
    given = card.settings | ({"reranker": card.reranker} if card.reranker else {})
    index = card.index
    lms = {"": card.lm, "helper ": card.helper_lm, "instructions by ": card.prompt_lm}
    return {
        "program": f"{card.program} ({', '.join(f'{name}={value}' for name, value in given.items()) or 'defaults'})",
        "recipe": f"{card.recipe.get('name')}: {card.recipe.get('summary') or card.recipe.get('optimizer')}",
        "metric": f"{card.measure}, reader {card.reader}",
        "language model": "; ".join(f"{role}{name}" for role, name in lms.items() if name),
        "train": f"{card.train.source}, {card.train.n} questions",
        "dev": f"{card.dev.source}, {card.dev.n} questions" if card.dev else "none",
        "index": f"{index.name} ({index.passages:,} passages, {index.fingerprint})" if index else "none",
        "made": f"{card.date}, polyqa {card.versions.get('polyqa', '?')}, DSPy {card.versions.get('dspy', '?')}",
    }


def _gains(card: Card) -> list[tuple[str, ...]]:
    return [
        (
            f"{title}: {gain.data.source}",
            str(gain.before.n),
            gain.metric,
            figure_text(gain.before),
            figure_text(gain.after),
            _change(gain) if gain.tells else gain.failures,
            f"{gain.p:.3f}" if gain.tells else "",
        )
        for title, gain in (("dev", card.dev_gain), ("test", card.test_gain))
        if gain is not None
    ]


def _change(gain: Gain) -> str:
    return change_text(gain.difference, gain.low, gain.high)
