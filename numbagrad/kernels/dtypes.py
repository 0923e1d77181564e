"""The dtypes that kernels are made for: what stands for ``element`` and ``real`` in their text.

Elements of half precision are computed with as float32. Imported by hand-written kernels, therefore
only to compile.
"""

from __future__ import annotations

from typing import Any

from ..codegen.intrinsics import (
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)

_TYPES = {
    "float16": (float16, float32), "bfloat16": (bfloat16, float32),
    "float32": (float32, float32), "float64": (float64, float64),
    "int8": (int8, int8), "int16": (int16, int16), "int32": (int32, int32),
    "int64": (int64, int64), "uint8": (uint8, uint8),
}  # fmt: skip


def dtypes(names: str) -> dict[str, dict[str, Any]]:
    """Variants of a kernel for the dtypes of these names, by name."""
    return {
        name: dict(zip(("element", "real"), _TYPES[name], strict=True)) for name in names.split()
    }


#: For losses and layers, whose elements are floats.
FLOATS = dtypes("float16 bfloat16 float32 float64")

#: For sums of elements.
NUMBERS = dtypes("float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8")
