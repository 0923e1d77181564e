"""Operator definitions by family: the one place where it says what an operator computes and what
its gradient is. Importing this package installs the operators as methods of Tensor."""

import importlib
import pathlib
import sys
import types
from typing import Any


def __getattr__(name: str) -> Any:
    """``ops.aten``, the names of operators, and the spaces of those that users have made."""
    if name == "aten":
        return importlib.import_module(".aten", __name__)
    library = sys.modules.get("numbagrad.library")  # without which there are none
    if library is not None and (found := library.operators_of(name)):
        return types.SimpleNamespace(**found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_library(path: Any) -> None:
    """Define the operators of a C++ extension, of those that ``numbagrad.extensions`` has.

    Raises:
        OSError: for other extensions, which need torch itself; torch raises it for what cannot be
            loaded, and libraries that have other ways take these.
    """
    from ..extensions import FILES

    found = pathlib.Path(path)
    file = FILES.get((found.parent.name, found.name.partition(".")[0]))
    if file is None:
        raise OSError(
            f"torch.ops.load_library: {path} has operators written in C++ against torch, which "
            "numbagrad cannot load"
        )
    importlib.import_module(f"numbagrad.extensions.{file}")
