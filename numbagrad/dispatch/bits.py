"""The bits of the layers below the launchers, see ``descent.py``."""

#: A Tensor is under a transformation: a batch, a tangent, a history of its own, a pending change.
TRANSFORMED = 1
#: There are complex operands.
COMPLEX = 2
#: Somebody decides for each operator of this thread whether it is computed.
INTERCEPTED = 4
#: There are operands of float16 or bfloat16.
HALF = 8
#: There are sparse Tensors: of all operators, whatever layers these ask for.
SPARSE = 16

__all__ = ["COMPLEX", "HALF", "INTERCEPTED", "SPARSE", "TRANSFORMED"]
