"""A module whose calls run as compiled programs: forward, and the backward that belongs to it."""

from __future__ import annotations

from typing import Any

from ..nn.module import Module
from .function import CompiledFunction


class OptimizedModule(Module):
    """``compile(module)``: calls run compiled; everything else is the module's own.

    The parameters are those of ``_orig_mod``, and go by its name in a ``state_dict``, as in torch.
    """

    def __init__(self, module: Module, fullgraph: bool = False):
        super().__init__()
        self._orig_mod = module
        self.__dict__["_compiled"] = CompiledFunction(module.__call__, fullgraph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_compiled"](*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled module."""
        return self.__dict__["_compiled"](*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__["_modules"]
        if name == "_orig_mod":
            return modules["_orig_mod"]
        return getattr(modules["_orig_mod"], name)

    def train(self, mode: bool = True) -> OptimizedModule:
        """Set the mode of the module and of all inside it."""
        self._orig_mod.train(mode)
        return super().train(mode)

    def extra_repr(self) -> str:
        """Nothing to add: the module inside says what it is."""
        return ""


__all__ = ["OptimizedModule"]
