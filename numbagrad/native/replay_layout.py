"""The table of ``replay.py``, and the lists in it. This file must not import Numba."""

from __future__ import annotations

from ..codegen.record import List, Nested, Record, Word, list_of
from .layout import Table


class Argument(Record):
    """An argument that the program was recorded for."""

    object = Word()  # the only object it may be, or 0 for any tensor of the form that follows
    type = Word()
    flag = Word()  # its ``requires_grad``
    kind = Word()  # 1 if it has no ``grad_fn``, and 2 more for an inference tensor
    rank = Word()
    sizes = Word()  # address of its shape, then its strides
    dtype = Word()
    gradient = Word()  # address of an ``Argument`` with the form of its gradient; 0 without one


class Known(Record):
    """A tensor that is no argument."""

    object = Word()
    flag = Word()
    array = Word()
    gradient = Word()  # its gradient, or None
    gradient_flag = Word()
    gradient_array = Word()


class Kept(Record):
    """A gradient that may be written if only its tensor and its keeper hold it."""

    tensor = Word()
    gradient = Word()
    array = Word()


class Result(Record):
    """An array that the program makes."""

    kept = Word()  # the array that is written if gradients may be, or 0
    type = Word()  # NumPy's type number
    rank = Word()
    sizes = Word()  # address of its shape, then its strides
    position = Word()  # where among the arrays of the program, or -1


class Passed(Record):
    """An argument that the program is given."""

    argument = Word()
    position = Word()


class TensorPosition(Record):
    """Where a call finds a tensor that it can reach."""

    argument = Word()  # which argument, or -1
    tensor = Word()  # else the tensor
    of_gradient = Word()  # 1 if it is the gradient of that


class Version(TensorPosition):
    """A count of writes."""

    writes = Word()


class ReplayTable(Table):
    """A recorded call."""

    arguments = list_of(Argument)
    tensors = list_of(Known)
    roots = Nested(List)  # arrays that own the memory of what is not an argument
    kept = list_of(Kept)
    results = list_of(Result)
    passed = list_of(Passed)
    versions = list_of(Version)
    arrays = Nested(List)  # what the program is called with, but for arguments and results
    program = Word()  # address of ``run_program``, or 0 if there is nothing to run
    program_table = Word()  # the ndarray that is its self


#: A kept gradient is held by its tensor and by the one who keeps it; its array by the gradient,
#: the one who keeps it, and the one who found that it lies as it should.
OWNERS_OF_GRADIENT = 2
OWNERS_OF_ARRAY = 3
