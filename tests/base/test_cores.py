"""Threads are counted by the cores that the process may use."""

import subprocess
import sys

import pytest

from polyqa.base.cores import usable_cores

COUNTED = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from polyqa.base.event_loops import AT_WORK
from polyqa.colbert_index.index import _CORES
from polyqa.lm.local import physical_cores
print(AT_WORK, _CORES, physical_cores())
"""


def test_there_is_one_at_least() -> None:
    assert usable_cores()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process may use every core")
def test_on_one_core_there_is_one_of_everything() -> None:
    counted = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True).stdout
    assert counted.split() == ["8", "1", "1"]
