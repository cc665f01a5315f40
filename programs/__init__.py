"""The published systems as DSPy programs: a question goes in, one answer that covers every reading comes out."""

from typing import TYPE_CHECKING

from polyqa.base.lazy import lazy_names

if TYPE_CHECKING:
    from .auto import Auto
    from .base import GroundedProgram, Program, RetrievingProgram
    from .closed_book import ClosedBook, QueryRefinement
    from .crag import CRAG
    from .diva import DIVA
    from .diversify import DiversifyingProgram
    from .dtv import DiversifyThenVerify
    from .jpr import JPR
    from .knn import KNNPredict, set_knn_demos
    from .madam_rag import MadamRAG
    from .rac import RAC
    from .registry import PROGRAMS, program_class
    from .self_rag import SelfRAG
    from .sixpaq import SIXPAQ
    from .spanwise import Spanwise
    from .steps import Steps, adrive, ask, ask_all, ask_while, drive, work
    from .toc import TreeOfClarifications
    from .tree import ClarificationNode
    from .verdict import VERDICT

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".auto": "Auto",
        ".base": "GroundedProgram Program RetrievingProgram",
        ".closed_book": "ClosedBook QueryRefinement",
        ".crag": "CRAG",
        ".diva": "DIVA",
        ".diversify": "DiversifyingProgram",
        ".dtv": "DiversifyThenVerify",
        ".jpr": "JPR",
        ".knn": "KNNPredict set_knn_demos",
        ".madam_rag": "MadamRAG",
        ".spanwise": "Spanwise",
        ".rac": "RAC",
        ".registry": "PROGRAMS program_class",
        ".self_rag": "SelfRAG",
        ".sixpaq": "SIXPAQ",
        ".steps": "Steps adrive ask ask_all ask_while drive work",
        ".toc": "TreeOfClarifications",
        ".tree": "ClarificationNode",
        ".verdict": "VERDICT",
    },
)
__all__ = [
    "CRAG",
    "DIVA",
    "JPR",
    "PROGRAMS",
    "RAC",
    "SIXPAQ",
    "VERDICT",
    "Auto",
    "ClarificationNode",
    "ClosedBook",
    "DiversifyThenVerify",
    "DiversifyingProgram",
    "GroundedProgram",
    "KNNPredict",
    "MadamRAG",
    "Program",
    "QueryRefinement",
    "RetrievingProgram",
    "SelfRAG",
    "Spanwise",
    "Steps",
    "TreeOfClarifications",
    "adrive",
    "ask",
    "ask_all",
    "ask_while",
    "drive",
    "program_class",
    "set_knn_demos",
    "work",
]
