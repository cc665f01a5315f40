"""Files that tests hold results against: the golden vectors, and the public data sets where they are at hand."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

_TESTS = Path(__file__).parent.parent


def golden(name: str) -> dict[str, Any]:
    """Return made-up inputs with what an official scorer or released code gave for them."""
    return json.loads((_TESTS / "golden" / f"{name}.json").read_text(encoding="utf-8"))


def public_data(name: str) -> Path:
    """Return a file of a public data set; the test is skipped where there is none."""
    folder = Path(os.environ.get("POLYQA_DATA", _TESTS.parent.parent / "shared" / "data"))
    if not (folder / name).is_file():
        pytest.skip(f"set POLYQA_DATA to the folder that holds {name}")
    return folder / name
