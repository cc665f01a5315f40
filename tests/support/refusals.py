"""What users are told where something is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from polyqa.base.errors import PolyqaError


def told(ask: Callable[..., Any], *given: Any, **settings: Any) -> str:
    """Return the message of a refusal, which must be one line that a terminal can write."""
    with pytest.raises(PolyqaError) as caught:
        ask(*given, **settings)
    message = str(caught.value)
    assert message.encode()
    assert message.splitlines() == [message]
    return message
