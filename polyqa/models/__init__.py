"""The small neural models that run in this process: encoder, span reader, writer, ColBERT checkpoint.

Importing this package loads no model; a model is read when it is first used.
"""

from .encoder import EMBEDDED_ENCODER, Encoder
from .reader import EMBEDDED_READER, Reader, SpanReader, reader_name
from .spans import Reading, Span
from .writer import EMBEDDED_WRITER, Writer, Written
from .writing import Task

__all__ = [
    "EMBEDDED_ENCODER",
    "EMBEDDED_READER",
    "EMBEDDED_WRITER",
    "Encoder",
    "Reader",
    "Reading",
    "Span",
    "SpanReader",
    "Task",
    "Writer",
    "Written",
    "reader_name",
]
