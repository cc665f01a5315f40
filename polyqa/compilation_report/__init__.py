"""What a compilation did, as one page: whether it helped, what was tried, what changed, what it cost."""

from .page import compilation_report
from .reading import read_report

__all__ = ["compilation_report", "read_report"]
