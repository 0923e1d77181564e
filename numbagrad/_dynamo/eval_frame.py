"""``torch._dynamo.eval_frame``: the class of compiled modules, which libraries take apart."""

from ..compiling.module import OptimizedModule

__all__ = ["OptimizedModule"]
