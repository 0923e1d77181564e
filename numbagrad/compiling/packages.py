"""Where modules and classes come from: this package, NumPy, an installed package, or a user.

``reachable_state.py`` looks into what users wrote as a whole, and into the rest where code names
it.
"""

from __future__ import annotations

import sys
import types

from ..program.running_code import is_library
from .classes import by_identity, dict_of_module, is_a, module_of, name_of_module
from .origins import is_installed_file

#: Where a module or a class comes from. Python's own library counts as installed.
USER, INSTALLED, NUMPY, LIBRARY = "user", "installed", "numpy", "library"


@by_identity
def origin_of(module: types.ModuleType | None) -> str:
    """Where a module comes from; one that was made while the program runs is the user's.

    So is whatever else lies in ``sys.modules`` in the place of a module.
    """
    if not is_a(module, types.ModuleType):
        return USER
    assert module is not None
    root = name_of_module(module).split(".")[0]
    path = dict_of_module(module).get("__file__")
    if type(path) is not str:
        is_of_python = root in sys.builtin_module_names or root in sys.stdlib_module_names
        return INSTALLED if is_of_python and root != "__main__" else USER
    if is_library(path):
        return LIBRARY
    if not is_installed_file(path):
        return USER
    return NUMPY if root == "numpy" else INSTALLED


def origin_of_class(kind: type) -> str:
    """Where the module of a class comes from."""
    return origin_of(sys.modules.get(module_of(kind)))


__all__ = ["INSTALLED", "LIBRARY", "NUMPY", "USER", "origin_of", "origin_of_class"]
