"""What importing polyqa settles for a script, a notebook and a worker, as it does for a command."""

import os
import subprocess
import sys

import pytest

SETTLED = {"OMP_WAIT_POLICY": "PASSIVE", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
SCRIPT = "import os, sys, polyqa; print(os.environ[sys.argv[1]], 'torch' in sys.modules, 'litellm' in sys.modules)"


@pytest.mark.parametrize("name", SETTLED)
@pytest.mark.parametrize("own", [None, "mine"])
def test_what_torch_and_litellm_read_once_is_set_before_they_are_loaded(name: str, own: str | None) -> None:
    surroundings = {key: value for key, value in os.environ.items() if key != name}
    surroundings |= {} if own is None else {name: own}
    words = [sys.executable, "-c", SCRIPT, name]
    done = subprocess.run(words, capture_output=True, text=True, env=surroundings, check=True)
    assert done.stdout.split() == [own or SETTLED[name], "False", "False"]
