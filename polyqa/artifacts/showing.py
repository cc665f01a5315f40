"""What documents and commands show of an artifact: its card, in words."""

from polyqa.base.text import p_text

from .card import Card, Gain


def gain_texts(gain: Gain) -> tuple[str, str, str, str]:
    """Return the values before and after, the difference, and p; where these say nothing, the failures."""
    change = (gain.change, p_text(gain.p)) if gain.tells else (gain.failures, "")
    return str(gain.before), str(gain.after), *change


def artifact_facts(card: Card) -> dict[str, str]:
    """Return what was compiled from what, how and when, by names."""
    settings = card.settings | ({"reranker": card.reranker} if card.reranker else {})
    index, spent = card.index, card.spent
    where = f", where {index.condition}" if index and index.condition else ""
    lms = {"": card.lm, "helper ": card.helper_lm, "instructions by ": card.prompt_lm, "demos by ": card.teacher_lm}
    by = f", demos by {card.teacher}" if card.teacher else ""
    return {
        "program": f"{card.program} ({', '.join(f'{name}={value}' for name, value in settings.items()) or 'defaults'})",
        "recipe": f"{card.recipe.get('name')}: {card.recipe.get('summary') or card.recipe.get('optimizer')}{by}",
        "metric": f"{card.measure}, reader {card.reader}",
        "language model": "; ".join(f"{role}{name}" for role, name in lms.items() if name),
        "train": f"{card.train.source}, {card.train.n} questions",
        "dev": f"{card.dev.source}, {card.dev.n} questions" if card.dev else "none",
        "index": f"{index.name} ({index.passages:,} passages, {index.fingerprint}){where}" if index else "none",
        "encoder that finds demos": card.encoder,
        "spent": f"{spent.calls:,} calls, {spent.input_tokens:,} + {spent.output_tokens:,} tokens, "
        f"{spent.seconds:,.0f} s",
        "made": f"{card.date}, polyqa {card.versions.get('polyqa', '?')}, DSPy {card.versions.get('dspy', '?')}",
    }
