"""SIXPAQ's third step (section 3.1.4): a reader must find the answer that a question was made for."""

from collections.abc import Sequence

from polyqa.embedded_models import SpanReader
from polyqa.metrics.agreement import agree


def verified(pairs: Sequence[tuple[str, str]], context: str, reader: SpanReader) -> list[bool]:
    """Return, for each question with its answer, whether the reader gives that answer over the context.

    A reader that holds "no answer" to be likelier than its best span (the official null rule) gives none.
    The paper wants answers equal after normalisation; here they must agree (`polyqa.metrics.agreement.agree`), as
    a reader may cut a date or a title short.
    """
    readings = reader.read([(question, context) for question, _ in pairs])
    found = [reading.answer() for reading in readings]
    return [bool(span) and agree(span, [answer]) for span, (_, answer) in zip(found, pairs, strict=True)]
