"""Control flow and sums under a function's name, and what torch says that it was built with.

``program_checks.py`` has the rest of what programs write for a tracer (``torch.sym_max``).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

from .tensor import Tensor

__all__ = [
    "compiled_with_cxx11_abi", "cond", "get_file_path", "has_lapack", "has_mkl", "has_openmp",
    "has_spectral", "init_num_threads", "is_vulkan_available", "sym_sqrt", "sym_sum", "while_loop",
]  # fmt: skip

#: NumPy's LAPACK and transforms are always there, MKL and OpenMP never needed.
has_lapack = True
has_spectral = True
has_mkl = False
has_openmp = False


def sym_sqrt(a: Any) -> float:
    """``math.sqrt(a)``."""
    return math.sqrt(a)


def sym_sum(args: Sequence[Any]) -> Any:
    """``sum(args)``."""
    return sum(args)


# --- what torch was built with --------------------------------------------------------------------


def compiled_with_cxx11_abi() -> bool:
    """Whether C++ extensions would use the newer ABI; there are none."""
    return True


def is_vulkan_available() -> bool:
    """Whether there is a device of Vulkan: never."""
    return False


def init_num_threads() -> None:
    """Nothing: threads are started when they are needed."""


def get_file_path(*path_components: str) -> str:
    """A path next to the package's folder, as torch has it."""
    return os.path.join(os.path.dirname(os.path.dirname(__file__)), *path_components)


# --- control flow ---------------------------------------------------------------------------------


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()
) -> Any:
    """``true_fn(*operands) if pred else false_fn(*operands)``.

    Raises:
        RuntimeError: if ``pred`` is a Tensor of several elements, or what is called no function.
    """
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(
            f"cond(): pred must be a bool or a Tensor of one element, but has shape "
            f"{list(pred.shape)}"
        )
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond(): true_fn and false_fn must be callable")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(
            f"cond(): operands must be a tuple or a list, but got {type(operands).__name__}"
        )
    return (true_fn if pred else false_fn)(*operands)


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any
) -> tuple[Any, ...]:
    """``carried = body_fn(*carried)`` as long as ``cond_fn(*carried)`` is true.

    Raises:
        RuntimeError: if the body does not return as many values as it takes.
    """
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        made = body_fn(*carried)
        made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        if len(made) != len(carried):
            raise RuntimeError(
                f"while_loop(): body_fn must return {len(carried)} values as it takes, but "
                f"returned {len(made)}"
            )
        carried = made
    return carried
