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
        modules = self.__dict__.get("_modules", {})
        if "_orig_mod" not in modules:  # it is being made, as by a copy
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return modules[name] if name == "_orig_mod" else getattr(modules["_orig_mod"], name)

    def __getstate__(self) -> dict[str, Any]:
        """A copy, or what is unpickled, is compiled anew: programs know the tensors of this one."""
        state = dict(self.__dict__)
        state["_compiled"] = state["_compiled"].fullgraph
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        module = state["_modules"]["_orig_mod"]
        compiled = CompiledFunction(module.__call__, state["_compiled"])
        self.__dict__.update(state, _compiled=compiled)

    def train(self, mode: bool = True) -> OptimizedModule:
        """Set the mode of the module and of all inside it."""
        self._orig_mod.train(mode)
        return super().train(mode)

    def extra_repr(self) -> str:
        """Nothing to add: the module inside says what it is."""
        return ""


__all__ = ["OptimizedModule"]
