"""What importing polyqa settles for a script, a notebook and a worker, as it does for a command."""

import os
import subprocess
import sys

import pytest

SETTLED = {"OMP_WAIT_POLICY": "PASSIVE", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
SCRIPT = (
    "import os, sys, polyqa; "
    "print(*map(os.environ.get, sys.argv[1:]), 'torch' in sys.modules, 'litellm' in sys.modules)"
)


@pytest.mark.parametrize("own", [{}, dict.fromkeys(SETTLED, "mine")], ids=["ours", "theirs"])
def test_what_torch_and_litellm_read_once_is_set_before_they_are_loaded(own: dict[str, str]) -> None:
    surroundings = {name: value for name, value in os.environ.items() if name not in SETTLED} | own
    words = [sys.executable, "-c", SCRIPT, *SETTLED]
    done = subprocess.run(words, capture_output=True, text=True, env=surroundings, check=True)
    assert done.stdout.split() == [*(SETTLED | own).values(), "False", "False"]
