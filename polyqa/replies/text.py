"""What all lenient parsers do with text first: leave out thoughts, find JSON in it, split it into items."""

import json
import re
from collections.abc import Mapping
from typing import Any

from polyqa.base.text import well_formed

# In tags, as Mistral's models do, or as gpt-oss does, where the server leaves thoughts in the reply.
_OPENED = r"(?:<(?i:think|thinking|thought)>|\[THINK\]|<\|channel\|>analysis<\|message\|>)"
_CLOSED = r"(?:</(?i:think|thinking|thought)>|\[/THINK\]|<\|channel\|>final<\|message\|>)"
_THOUGHT = re.compile(rf"{_OPENED}.*?{_CLOSED}", re.S)
_UNOPENED = re.compile(rf"\A.*{_CLOSED}", re.S)
_UNCLOSED = re.compile(rf"{_OPENED}.*\Z", re.S)
_END_OF_TURN = re.compile(
    r"(?:\s*(?:<\|(?:im_end|end|return|eot_id|endoftext|end_of_text)\|>|<end_of_turn>|</s>))+\s*\Z"
)
_LENTICULAR = re.compile(r"【(\d{1,3})(?:[:†][^【】\n]{0,60})?】")  # so OpenAI's models cite
_FENCE = re.compile(r"\A```[\w-]*[ \t]*\n?(.*?)\n?[ \t]*```\Z", re.S)
_BULLET = re.compile(
    r"\A\s*(?:[-*•–]\s+)?[*_]{0,2}(?:\(?\d{1,2}\s*[.):、\uff0e](?!\d)|\[\d{1,3}\])[*_]{0,2}\s*|\A\s*[-*•–]\s+"
)
# The number of a passage is a source, and stays.
_LEAD = re.compile(
    r"(?<![^\s\"“])(?:According to the passage, |"
    r"(?:This (?:interpretation|reading|answer) is (?:correct|right) because the |The )"
    r"(?:given |provided )?(?:passage|text|context)s? (?:(?:clearly|explicitly|also) )?"
    r"(?:states?|says?|mentions?) that )([\"“]?[^\W\d_])"
)
_RULE = re.compile(r"\s*(?:[-*_=#`~|+:]\s*)*")
_DRESS = re.compile(
    r"(?P<mark>[\"'`]|\*{1,4}|__?)((?:(?!(?P=mark)).)+)(?P=mark)|“([^“”]+)”|‘([^‘’]+)’|«([^«»]+)»", re.S
)
_BLOCK = re.compile(r"^```\w*[ \t]*\n(.*?)\n[ \t]*```", re.S | re.M)
_JSON = re.compile(r"^\s*(?:\{|\[\s*(?:[\"'{\[]|\Z))|\{\s*[\"']|\w\(\w+=[\"']")
_MOST_REPEATED = 64
_LONGEST_REPEATED = 24
_LOOP = re.compile(rf"(.{{1,{_LONGEST_REPEATED}}}?)\1{{{_MOST_REPEATED},}}", re.S)
_PROBE = 16  # characters, and two probes in the shortest loop
_GAP = re.compile(rf"(\s{{{_MOST_REPEATED}}})\s+")
_LONGEST = 100_000  # characters; a model that reasons has at most 16,000 tokens for a reply


def without_loops(text: str) -> str:
    """Return a text in which nothing of up to 24 characters follows itself more than 64 times.

    A language model that has lost its way repeats itself to the end of its tokens. What is read with regular
    expressions takes the square of the length of such a run.

    >>> len(without_loops("Yes" + 5000 * " " + "." + 300 * "na"))
    196
    """
    text = _GAP.sub(r"\1", text)
    return _LOOP.sub(lambda loop: loop[1] * _MOST_REPEATED, text) if _may_loop(text) else text


def _may_loop(text: str) -> bool:
    """Return whether any of some short pieces, one of which lies in every loop, comes again where it would in one.

    Most texts have no loop, and looking for one everywhere takes longer than reading the rest of a reply.
    """
    pieces = range(0, len(text) - _PROBE, 2 * _PROBE)
    return any(text.find(text[at : at + _PROBE], at + 1, at + _PROBE + _LONGEST_REPEATED) >= 0 for at in pieces)


def without_thoughts(text: str) -> str:
    """Return a reply without what a reasoning model thought aloud, loops, and the mark that ends a turn.

    A block that was never opened ends at its closing tag, one that was never closed ends with the reply. Citations
    are written as in the prompt.

    >>> without_thoughts("<think>Is it? No.</think>Yes"), without_thoughts("It may be No.</think>Yes")
    ('Yes', 'Yes')
    >>> without_thoughts("It came out in 1997 【3†source】.<|im_end|>")
    'It came out in 1997 [3].'
    """
    text = without_loops(well_formed(text).replace("\r\n", "\n"))
    if any(mark in text for mark in ("</", "[/THINK]", "<|")):  # else it would look for the end of each opened block
        text = _UNOPENED.sub("", _THOUGHT.sub("", text))
    return _LENTICULAR.sub(r"[\1]", _END_OF_TURN.sub("", _UNCLOSED.sub("", text))).strip()


def told(text: str) -> str:
    """Return what a reply says after its thoughts.

    A ValueError if there is nothing else, as when the limit of tokens cut the reply off, or more than can be read.
    """
    reply = without_thoughts(text)
    if len(reply) > _LONGEST:
        raise ValueError(f"{len(reply):,} characters where at most {_LONGEST:,} are read: {shown(reply)}")
    if text.strip() and not reply:
        raise ValueError(f"nothing but thoughts: {text!r:.200}")
    return reply


def shown(value: Any) -> str:
    """Return the beginning of a value as an error message shows it."""
    return f"{value!r:.200}"


def without_fence(text: str) -> str:
    r"""Return what stands in a code fence that is around the whole text.

    >>> without_fence("```json\n[1]\n```")
    '[1]'
    """
    match = _FENCE.match(text.strip())
    return match[1].strip() if match and "```" not in match[1] else text.strip()


def strip_dress(text: str) -> str:
    """Return a text without the quotes, bold marks and back-ticks around the whole of it; those around parts stay.

    >>> strip_dress("**`Nagano`**"), strip_dress("**Nagano** and **Tokyo**"), strip_dress("M*A*S*H")
    ('Nagano', '**Nagano** and **Tokyo**', 'M*A*S*H')
    """
    text = text.strip()
    while match := _DRESS.fullmatch(text):
        text = next(inner for inner in match.groups()[1:] if inner).strip()
    return text


def without_lead(text: str) -> str:
    """Return an answer without the words that only say that a passage says it.

    >>> without_lead("The passage states that the film came out in 1997."), without_lead("The text is long.")
    ('The film came out in 1997.', 'The text is long.')
    """
    return _LEAD.sub(lambda lead: lead[1].upper(), text)


def out_of_brackets(text: str, field: str, words: str = "") -> str:
    """Return what stands in the brackets behind a field's name, and after them; any other text as it is.

    Small models copy how a prompt describes a field, "answer (the long-form answer)", with the answer in the place of
    these words, or in front of the answer.

    >>> out_of_brackets("search_query (Titanic, 1912)", "search_query"), out_of_brackets("answer (b) is it", "query")
    ('Titanic, 1912', 'answer (b) is it')
    """
    opened = re.match(rf"\s*{re.escape(field).replace('_', '[_ ]')}\s*\(", text, re.I)
    if not opened:
        return text
    rest, depth = text[opened.end() :], 1
    for at, mark in enumerate(rest):
        depth += (mark == "(") - (mark == ")")
        if not depth:
            inside = rest[:at]
            return f"{'' if inside.casefold() == words.casefold() else inside}{rest[at + 1 :]}".strip()
    return rest.strip()


def is_item(line: str) -> bool:
    """Return whether a line has a bullet or a number in front."""
    return bool(_BULLET.match(line))


def is_rule(line: str) -> bool:
    """Return whether a line is empty, or only drawn."""
    return bool(_RULE.fullmatch(line))


def without_bullet(line: str) -> str:
    """Return a line without the bullet or number in front of it.

    >>> without_bullet("- **2.** Who won?"), without_bullet("1998 was what?")
    ('Who won?', '1998 was what?')
    """
    return _BULLET.sub("", line).strip()


def parse_lines(text: str) -> list[str]:
    r"""Return the items of a numbered or bulleted list, or all lines if no line is an item, without quotes.

    >>> parse_lines("Two of them:\n1. Who won in 1998?\n- Who won in 2002?")
    ['Who won in 1998?', 'Who won in 2002?']
    """
    lines = [line for line in text.splitlines() if not is_rule(line)]
    marked = [line for line in lines if is_item(line)]
    return [item for line in (marked or lines) if (item := strip_dress(without_bullet(line)))]


def json_in(text: str) -> Any:
    r"""Return the JSON list or object of a reply, ``None`` if it has none. Prose may stand around its block of code.

    >>> json_in('Two:\n```json\n["a", "b"]\n```\nDone.'), json_in("[1] Nagano")
    (['a', 'b'], None)

    JSON that breaks off, or stands beside other text, is a ValueError.
    """
    blocks = _BLOCK.findall(text)
    body = blocks[0] if len(blocks) == 1 else text
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        if _JSON.search(body):
            raise ValueError(f"JSON that is not complete: {shown(text)}") from None
        return None
    return parsed if isinstance(parsed, (list, dict)) else None


def listed(value: Any) -> Any:
    """Return the only list of a mapping; every other value as it is.

    >>> listed({"covered": [1, 3]}), listed([1])
    ([1, 3], [1])
    """
    lists = [item for item in value.values() if isinstance(item, list)] if isinstance(value, Mapping) else []
    return lists[0] if len(lists) == 1 else value
