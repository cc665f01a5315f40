"""Memory that was freed is taken again without the system, unless the environment says otherwise."""

import os
import platform
import subprocess
import sys

import pytest

from polyqa.models.running import MALLOC_VARIABLES

PROGRAM = """
import ctypes, resource
import torch
from polyqa.models.running import keep_freed_memory
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE: a huge page would be one fault for 512 pages
keep_freed_memory()
def batch():
    kept = [torch.ones(12 << 18) for _ in range(4)]  # 12 MB each
for _ in range(3):
    batch()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    batch()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library keeps memory its own way")
@pytest.mark.parametrize(
    ("environment", "kept"),
    [
        ({}, True),
        ({"MALLOC_TRIM_THRESHOLD_": "1000"}, False),
        ({"MALLOC_MMAP_THRESHOLD_": "1000000"}, False),
    ],
)
def test_a_batch_takes_the_memory_of_the_one_before(environment: dict[str, str], kept: bool) -> None:
    # What glibc does by itself is no row: it depends on what lies above an array on the heap.
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={name: said for name, said in os.environ.items() if name not in MALLOC_VARIABLES} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    pages = 5 * 4 * 12 * 256  # of 4 kB
    assert (int(told.stdout) < pages / 10) is kept, told.stdout
