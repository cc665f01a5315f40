"""The published systems as DSPy programs: a question goes in, one answer that covers every reading comes out."""

from .closed_book import ClosedBook
from .diva import DIVA
from .knn import KNNPredict, set_knn_demos
from .rac import RAC
from .registry import PROGRAMS, program_class

__all__ = ["DIVA", "PROGRAMS", "RAC", "ClosedBook", "KNNPredict", "program_class", "set_knn_demos"]
