"""Operator definitions by family: the one place where it says what an operator computes and what
its gradient is. Importing this package installs the operators as methods of Tensor."""

import importlib
import sys
import types
from typing import Any, NoReturn


def __getattr__(name: str) -> Any:
    """``ops.aten``, the names of operators, and the spaces of those that users have made."""
    if name == "aten":
        return importlib.import_module(".aten", __name__)
    library = sys.modules.get("numbagrad.library")  # without which there are none
    if library is not None and (found := library.operators_of(name)):
        return types.SimpleNamespace(**found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_library(path: Any) -> NoReturn:
    """Operators of a library in C++, which needs torch itself.

    Raises:
        OSError: always, as torch does for what cannot be loaded; libraries that have other ways
            take these.
    """
    raise OSError(
        f"torch.ops.load_library: {path} has operators written in C++ against torch, which "
        "numbagrad cannot load"
    )
