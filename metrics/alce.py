"""ALCE's variant of ASQA's metrics: the same formulas over another text."""

import re

_CITATION = re.compile(r" ?\[\d+")


def alce_text(output: str) -> str:
    r"""Return the part of an output that ALCE scores: its first line, without citations.

    ALCE (Gao et al., 2023) cuts an output at its first line break and strips citations such as ``[2]``
    before it computes STR-EM, QA-F1 and ROUGE-L. A long answer of several paragraphs therefore scores
    lower there, and one with citations higher, than by ASQA's own script: the two are not comparable.

    >>> alce_text("It came out in 1997 [1][2] and again in 2012 [3].\nMore.")
    'It came out in 1997 and again in 2012.'
    """
    lines = output.strip().split("\n")
    return _CITATION.sub("", lines[0]).replace(" |", "").replace("]", "")
