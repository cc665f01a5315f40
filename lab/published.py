"""Figures that papers report on ASQA's dev set (948 questions), to set ours beside."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """One row of a paper's table, in per cent.

    Attributes
    ----------
    system, lm
        As the paper names them.
    metrics
        By the names of `columns.COLUMNS`; what a paper does not report is absent.
    source
        Where it stands.
    """

    system: str
    lm: str
    metrics: Mapping[str, float]
    source: str


_DIVA = "DIVA, table 1 (In et al., 2024)"
_TOC = "Tree of Clarifications, table 1 (Kim et al., 2023)"
_SIXPAQ = "SIXPAQ, table 3"
_VERDICT = "VERDICT, table 2"


def _row(system: str, lm: str, source: str, **metrics: float) -> Published:
    return Published(system, lm, metrics, source)


ASQA = (
    _row("JPR, 5 passages, supervised", "T5-large", _SIXPAQ, str_em=41.0, rouge_l=43.0, disambig_f1=26.4, dr=33.7),
    _row("SIXPAQ, 5 passages, 10 questions", "T5-large", _SIXPAQ, str_em=42.4, rouge_l=43.8, disambig_f1=28.9, dr=35.6),
    _row("ToC, pruned", "GPT-3", _TOC, rouge_l=39.7, disambig_f1=33.7, dr=36.6),
    _row("closed-book", "GPT-4", _DIVA, rouge_l=39.0, disambig_f1=38.5, dr=38.7),
    _row("vanilla RAG (RAC)", "GPT-4", _DIVA, rouge_l=41.5, disambig_f1=39.6, dr=40.6),
    _row("query refinement", "GPT-4", _DIVA, rouge_l=39.6, disambig_f1=39.3, dr=39.4),
    _row("Self-RAG", "Self-RAG-13B", _DIVA, rouge_l=35.4, disambig_f1=26.0, dr=30.4),
    _row("CRAG", "GPT-4", _DIVA, rouge_l=40.1, disambig_f1=39.6, dr=39.9),
    _row("ToC, not pruned", "GPT-4", _DIVA, rouge_l=38.5, disambig_f1=41.8, dr=40.1),
    _row("DIVA", "GPT-4", _DIVA, rouge_l=42.4, disambig_f1=42.0, dr=42.2),
    _row("human", "–", "Stelmakh et al., 2022", str_em=98.4, rouge_l=49.4, disambig_f1=77.4, dr=61.8),
    _row("DtV", "LLaMA 3.3 70B", _VERDICT, readings=2.06, g_precision=69.89, g_recall=36.55, g_f1=48.00),
    _row("RAC", "LLaMA 3.3 70B", _VERDICT, readings=3.78, g_precision=76.71, g_recall=50.29, g_f1=60.75),
    _row("VERDICT", "LLaMA 3.1 8B", _VERDICT, readings=3.78, g_precision=61.51, g_recall=54.77, g_f1=57.94),
    _row("VERDICT", "LLaMA 3.3 70B", _VERDICT, readings=3.70, g_precision=81.50, g_recall=58.04, g_f1=67.80),
    _row("VERDICT", "GPT-4o", _VERDICT, readings=3.16, g_precision=92.82, g_recall=57.25, g_f1=70.82),
)
