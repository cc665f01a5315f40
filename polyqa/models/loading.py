"""How weights are loaded: without noise, in the floating-point type that runs best on this machine."""

import contextlib
import os
import threading
from collections.abc import Iterator
from functools import cache
from typing import Literal, get_args

from polyqa.base.errors import PolyqaError

Precision = Literal["auto", "float32", "bfloat16"]
PRECISION = "POLYQA_PRECISION"
LOADING = threading.RLock()
"""Held while weights are loaded: transformers cannot be imported by two threads at once."""


@cache
def cpu_has_bfloat16() -> bool:
    """Return whether the CPU multiplies bfloat16 clearly faster than float32.

    With AMX it is 2 to 3 × as fast, and 2 × on an AMD EPYC with AVX512-BF16. That instruction set alone does not tell:
    on another processor that has it PyTorch's float32 was 1.4 × as fast. So it counts on AMD's processors only.
    """
    import torch

    able = torch.cpu.get_capabilities()
    amd = bool(able.get("avx512_bf16")) and str(able.get("cpu_name", "")).startswith("AMD")
    return bool(able.get("amx_bf16")) or amd


def resolve_precision(precision: Precision) -> Literal["float32", "bfloat16"]:
    """Turn ``auto`` into what ``$POLYQA_PRECISION`` says, else bfloat16 where the CPU has it, else float32.

    Raises
    ------
    PolyqaError
        If the variable says something else.
    """
    if precision != "auto":
        return precision
    choice = os.environ.get(PRECISION) or "auto"
    if choice not in get_args(Precision):
        raise PolyqaError(f"{PRECISION} is {', '.join(get_args(Precision))}, not {choice!r}.")
    if choice == "auto":
        choice = "bfloat16" if cpu_has_bfloat16() else "float32"
    return choice  # type: ignore[return-value]


@contextlib.contextmanager
def without_progress_bars() -> Iterator[None]:
    """Keep transformers from drawing a bar for weights that load in a fraction of a second."""
    from transformers.utils import logging

    bars_enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if bars_enabled:
            logging.enable_progress_bar()
