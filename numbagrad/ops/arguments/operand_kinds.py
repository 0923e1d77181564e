"""Which operands of pointwise operators have to be Tensors, as torch's signatures say.

A launcher takes numbers in the place of any operand, and misses the first time that it meets them;
``operators/pointwise_operator.py`` asks here then. An operator that refused a number has no kernel
for it, so the next one misses as well, and right calls pay nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...tensor import Tensor
from .requirements import require_tensor

__all__ = ["check_operands"]

_BOTH = ("input", "other")

#: By operator the names of its first operands, which take no numbers.
_TENSORS: dict[str, Sequence[str]] = {
    **dict.fromkeys(
        """
        maximum minimum fmin fmax hypot atan2 logical_and logical_or logical_xor logaddexp
        logaddexp2 nextafter isclose
        """.split(),
        _BOTH,
    ),
    **dict.fromkeys("eq ne lt le gt ge fmod copysign".split(), ("input",)),
    "heaviside": ("input", "values"),
    "rsub": ("input",),
    "lerp": ("input", "end"),
    "addcmul": ("input", "tensor1", "tensor2"),
    "addcdiv": ("input", "tensor1", "tensor2"),
    "clamp_tensor": ("input", "min", "max"),
    **dict.fromkeys("clamp clamp_min clamp_max clamp_min_tensor clamp_max_tensor".split(),
                    ("input",)),
}  # fmt: skip


def check_operands(operator: str, operands: Sequence[Any]) -> None:
    """Raise a TypeError for the first operand that no operator takes.

    That is an array of NumPy, or a number where torch takes a Tensor only.
    """
    for position, value in enumerate(operands):
        if isinstance(value, np.ndarray):
            require_tensor(operator, value, ("input", "other")[position > 0], position + 1)
    names = _TENSORS.get(operator)
    if names is not None:
        function = operator.removesuffix("_tensor")
        for position, name in enumerate(names):
            value = operands[position]
            if isinstance(value, (bool, int, float, complex)) and not isinstance(value, Tensor):
                require_tensor(function, value, name, position + 1)
