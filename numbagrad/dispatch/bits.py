"""The bits of the layers below the launchers, see ``descent.py``."""

#: A Tensor is under a transformation: a batch, a tangent, a history of its own, a pending change.
TRANSFORMED = 1
#: There are complex operands.
COMPLEX = 2
#: Somebody decides for each operator of this thread whether it is computed.
INTERCEPTED = 4
#: There are operands of float16 or bfloat16.
HALF = 8

__all__ = ["COMPLEX", "HALF", "INTERCEPTED", "TRANSFORMED"]
