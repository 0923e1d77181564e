"""Operator definitions by family: the one place where it says what an operator computes and what
its gradient is. Importing this package installs the operators as methods of Tensor."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """``ops.aten``: the names of operators, which few programs ask for."""
    if name == "aten":
        return importlib.import_module(".aten", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
