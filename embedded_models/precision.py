"""Which floating-point type runs best on this machine."""

from functools import cache
from typing import Literal

Precision = Literal["auto", "float32", "bfloat16"]


@cache
def cpu_has_bfloat16() -> bool:
    """Return whether the CPU multiplies bfloat16 natively (AVX512-BF16 or AMX): 2 to 3 × faster."""
    import torch

    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def resolve_precision(precision: Precision) -> Literal["float32", "bfloat16"]:
    """Turn ``auto`` into bfloat16 where the CPU has it, else float32."""
    if precision == "auto":
        return "bfloat16" if cpu_has_bfloat16() else "float32"
    return precision
