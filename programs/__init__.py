"""The published systems as DSPy programs: a question goes in, one answer that covers every reading comes out."""

from typing import TYPE_CHECKING

from polyqa.base.lazy import lazy_names

if TYPE_CHECKING:
    from .auto import Auto as Auto
    from .base import GroundedProgram as GroundedProgram
    from .base import Program as Program
    from .base import RetrievingProgram as RetrievingProgram
    from .closed_book import ClosedBook as ClosedBook
    from .closed_book import QueryRefinement as QueryRefinement
    from .crag import CRAG as CRAG
    from .diva import DIVA as DIVA
    from .diversify import DiversifyingProgram as DiversifyingProgram
    from .dtv import DiversifyThenVerify as DiversifyThenVerify
    from .jpr import JPR as JPR
    from .knn import KNNPredict as KNNPredict
    from .knn import set_knn_demos as set_knn_demos
    from .madam_rag import MadamRAG as MadamRAG
    from .rac import RAC as RAC
    from .registry import PROGRAMS as PROGRAMS
    from .self_rag import SelfRAG as SelfRAG
    from .sixpaq import SIXPAQ as SIXPAQ
    from .spanwise import Spanwise as Spanwise
    from .steps import Steps as Steps
    from .steps import adrive as adrive
    from .steps import ask as ask
    from .steps import ask_all as ask_all
    from .steps import ask_while as ask_while
    from .steps import drive as drive
    from .steps import work as work
    from .toc import TreeOfClarifications as TreeOfClarifications
    from .tree import ClarificationNode as ClarificationNode
    from .verdict import VERDICT as VERDICT

__getattr__, __dir__, __all__ = lazy_names(__name__)
