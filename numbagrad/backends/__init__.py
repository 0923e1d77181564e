"""``torch.backends``: what computes, and torch's switches of it.

Everything here is computed by kernels that Numba compiled, so other libraries are not available.
Switches keep what they are set to, and change nothing: programs set them at their top. Where a
module has switches, its class is ``Switches``, which keeps to the names that torch has.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..lazy import lazy_names

__all__ = ["ContextProp", "PropModule", "Switches", "cpu", "cuda", "cudnn", "flags_of", "mha",
           "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum", "quantized",
           "set_switches"]  # fmt: skip


class Switches:
    """Attributes that are kept and change nothing; others than torch's raise AttributeError."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"there is no such switch: {name!r}")
        self.__dict__[name] = value


@contextlib.contextmanager
def flags_of(module: Any, values: dict[str, Any]) -> Iterator[None]:
    """Set attributes of a module for a ``with`` block."""
    before = {name: getattr(module, name) for name in values}
    try:
        for name, value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def set_switches(module: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    """Set the attributes of a module for which a value is given, and return what all were."""
    before = tuple([getattr(module, name) for name in given])
    for name, value in given.items():
        if value is not None:
            setattr(module, name, value)
    return before


class ContextProp:
    """torch's descriptor of a switch, for programs that define some of their own."""

    def __init__(self, getter: Any, setter: Any) -> None:
        self.getter = getter
        self.setter = setter

    def __get__(self, obj: Any, objtype: Any) -> Any:
        return self.getter()

    def __set__(self, obj: Any, val: Any) -> None:
        self.setter(val)


PropModule = type(contextlib)

_NAMES = ("cpu", "cuda", "cudnn", "cusparselt", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp",
          "opt_einsum", "quantized")  # fmt: skip
__getattr__, __dir__ = lazy_names(__name__, {name: f".{name}" for name in _NAMES})
