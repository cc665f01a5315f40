"""Reads transcripts of meetings and subtitles, in WebVTT and SubRip: who said what, without the times."""

import html
import re
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

from .blocks import Block

_TIMES = re.compile(r"\s*(?:\d+:)?\d{1,2}:\d\d[.,]\d{1,3}\s+-->\s")
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s+([^<>]+)>")
_TAG = re.compile(r"</?[a-z](?:[.\s][^<>]*)?>|<[\d:.]+>|\{\\[^{}]*\}", re.IGNORECASE)
_NAMED = re.compile(r"(?:>>\s*)?([^\W\d_][\w.'’-]*(?: [\w.'’()-]+){0,4}): +(?=\S)")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)]*\Z")
_PARAGRAPH = 300  # characters, from which on the end of a sentence ends it where nobody is named


class _Cue(NamedTuple):
    line: int  # of the file, from 1
    speaker: str
    text: str


def transcript_blocks(text: str) -> list[Block]:
    r"""Return what one speaker after the other says, each turn as a paragraph that begins with the name.

    Where no speakers are named, as in subtitles, paragraphs end with sentences.

    >>> cue = "00:01.000 --> 00:03.000\n<v Ada Berg>"
    >>> [block.text for block in transcript_blocks(f"WEBVTT\n\n{cue}We open\n\n{cue}in May.")]
    ['Ada Berg: We open in May.']
    """
    blocks = []
    for speaker, turn in groupby(_cues(text), key=lambda cue: cue.speaker):
        texts: list[str] = []
        line = 0
        for cue in turn:
            line = line if texts else cue.line
            texts.append(cue.text)
            if not speaker and len(" ".join(texts)) > _PARAGRAPH and _SENTENCE_END.search(cue.text):
                blocks.append(Block(" ".join(texts), line=line))
                texts = []
        if texts:
            blocks.append(Block(f"{speaker}: {' '.join(texts)}" if speaker else " ".join(texts), line=line))
    return blocks


def _cues(text: str) -> Iterator[_Cue]:
    """Yield the cues; of captions that roll, each line once."""
    lines = text.split("\n")
    begins = [at for at, line in enumerate(lines) if _TIMES.match(line)]
    before: list[str] = []
    speaker = ""
    for begin, end in pairwise([*begins, len(lines)]):
        cue_lines = lines[begin + 1 : end]
        cue_lines = cue_lines[: next((at for at, line in enumerate(cue_lines) if not line.strip()), len(cue_lines))]
        head, *voiced = _VOICE.split("\n".join(cue_lines))
        shown: list[str] = []
        for voice, said in (("", head), *zip(voiced[::2], voiced[1::2], strict=True)):
            texts = [html.unescape(_TAG.sub("", line)).strip() for line in said.split("\n")]
            new = " ".join(line for line in texts if line and line not in before)
            shown += texts
            if voice:
                speaker = " ".join(html.unescape(voice).split())
            elif match := _NAMED.match(new):
                speaker, new = match[1], new[match.end() :]
            if new:
                yield _Cue(begin + 2, speaker, new)
        before = shown
