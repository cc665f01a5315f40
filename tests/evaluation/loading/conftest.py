import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file: bytes and text as they are, anything else as JSON or, under a name in .jsonl, a record a line."""

    def write_file(data: Any, name: str = "questions.json") -> Path:
        path = tmp_path / name
        if not isinstance(data, bytes | str):
            lines = name.endswith("l")
            data = "".join(json.dumps(record) + "\n" for record in data) if lines else json.dumps(data)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write_file
