"""Memory that was freed is taken again without the system, unless the environment says otherwise."""

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import torch
from polyqa.embedded_models.heap import keep_freed_memory
if "keep" in sys.argv:
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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library keeps memory its own way")
@pytest.mark.parametrize(
    ("keep", "environment", "kept"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"MALLOC_TRIM_THRESHOLD_": "1000"}, False),
    ],
)
def test_a_batch_takes_the_memory_of_the_one_before(keep: bool, environment: dict[str, str], kept: bool) -> None:
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, *(["keep"] if keep else [])],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    pages = 5 * 4 * 12 * 256  # of 4 kB
    assert (int(told.stdout) < pages / 10) is kept, told.stdout
