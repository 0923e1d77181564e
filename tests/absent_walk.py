"""Which public names of torch this package has not, found by walking torch's namespaces.

``parity/test_absent_names.py`` compares them with ``absent_names.py``, where each has its reason.
"""

from __future__ import annotations

import importlib
import types
import warnings
from typing import Any

from numbagrad.absent import _Absent
from numbagrad.ops.methods import on_demand

#: Modules whose names a namespace happens to show because its file imports them.
_PYTHON = frozenset(
    "abc builtins collections contextlib enum functools logging math operator types typing "
    "typing_extensions warnings weakref bisect _bisect".split()
)


def _object(path: str, package: str) -> Any:
    """What stands under a dotted path of torch, in torch or in this package."""
    names = path.split(".")
    for count in range(len(names), 0, -1):
        try:
            found = importlib.import_module(".".join([package, *names[1:count]]))
        except ImportError:
            continue
        for name in names[count:]:
            found = getattr(found, name)
        return found
    raise ImportError(path)


def _is_torchs(value: Any) -> bool:
    """Whether a value is torch's own, no module, and nothing of Python's that a file imported."""
    if isinstance(value, types.ModuleType):
        return False  # which of them a namespace shows depends on what was imported before
    module = getattr(value, "__module__", None)
    return not (isinstance(module, str) and module.split(".")[0] in _PYTHON)


def is_absent(value: Any) -> bool:
    """Whether a name stands for one that is not here: a class of such, or a method that raises."""
    text = getattr(value, "__doc__", None) or ""
    return isinstance(value, _Absent) or text.startswith("Raises NotImplementedError")


def absent_of(path: str) -> set[str]:
    """The public names of a namespace that are not here, or here raise where they are used."""
    on_demand.load_all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, own = _object(path, "torch"), _object(path, "numbagrad")
        found = set()
        for name in dir(theirs):
            if name.startswith("_") or name == "TYPE_CHECKING":
                continue
            is_torchs = isinstance(theirs, type) or _is_torchs(getattr(theirs, name, None))
            if is_torchs and is_absent(getattr(own, name, _Absent("", (), {}))):
                found.add(name)
    return found
