"""How error messages name what was given in the place of a Tensor, and say what to do about it."""

from __future__ import annotations

from typing import Any

import numpy as np


def type_name(value: Any) -> str:
    """The class of a value as error messages show it: ``list``, ``numpy.ndarray``."""
    kind = type(value)
    if kind.__module__.partition(".")[0] in ("numbagrad", "torch"):
        return "torch.dtype" if kind.__qualname__ == "dtype" else kind.__qualname__
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def given_for_tensor(value: Any) -> str:
    """The end of a message about a value that is no Tensor: its class, and how to make a Tensor."""
    name = type_name(value)
    if isinstance(value, np.ndarray):
        return f"{name}; make one with from_numpy()"
    if isinstance(value, (bool, int, float, complex, list, tuple, np.generic)):
        return f"{name}; make one with tensor()"
    if type(value).__name__ == "Tensor" and hasattr(value, "numpy"):
        return f"{name} of another library; make one with from_numpy(x.numpy())"
    return name
