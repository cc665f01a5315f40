"""The small neural models that run in this process: encoder, span reader, writer, ColBERT checkpoint.

Importing this package loads no model; a model is read when it is first used.
"""

from .encoder import EMBEDDED_ENCODER as EMBEDDED_ENCODER
from .encoder import Encoder as Encoder
from .reader import EMBEDDED_READER as EMBEDDED_READER
from .reader import Reader as Reader
from .reader import SpanReader as SpanReader
from .reader import reader_name as reader_name
from .spans import Reading as Reading
from .spans import Span as Span
from .writer import EMBEDDED_WRITER as EMBEDDED_WRITER
from .writer import Writer as Writer
from .writer import Written as Written
from .writing import Task as Task
