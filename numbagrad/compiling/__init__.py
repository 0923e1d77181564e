"""``compile``: whole functions, training steps included, as programs."""

from .function import CompiledFunction, CompileError, compile

__all__ = ["CompileError", "CompiledFunction", "compile"]
