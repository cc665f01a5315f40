"""Question revision: the subject's name for a pronoun, then the title's qualifier behind the name."""

import re

from polyqa.metrics.text import split_title

from .models import Models
from .naming import named, topic_nouns
from .prompt import Prompt, parse_passages
from .text import content_words, holds

_PRONOUN = re.compile(r"\b(?:it|this)\b(?= (?:[a-z]+|\?)|\?)")


def revise_question(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``revised_question``: one thing that is missing is added at a time, nothing if none is.

    First "it" or "the bridge" becomes the title's name; when the name stands there, its qualifier follows
    in brackets. A word that would tell the answer is not added.
    """
    question = prompt.inputs["question"]
    passage = parse_passages(prompt.inputs.get("passage", ""))[0]
    answer = prompt.inputs.get("answer", "")
    name, qualifier = split_title(passage.title)
    revised = question
    if name and not holds(question, name):
        nouns = "|".join(sorted(map(re.escape, topic_nouns(passage))))
        pattern = re.compile(rf"\b(?:the|this) (?:{nouns})\b(?! [A-Z])") if nouns else _PRONOUN
        for one in (_PRONOUN, pattern):
            if one.search(question):
                revised = one.sub(lambda _: named(passage), question, count=1)
                break
    elif name and qualifier and not set(content_words(qualifier)) <= set(content_words(question)):
        place = re.search(re.escape(name), question)
        if place:
            revised = f"{question[: place.end()]} ({qualifier}){question[place.end() :]}"
    return {"revised_question": question if answer and holds(revised, answer) else revised}
