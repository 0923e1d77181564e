"""Tables of the launchers of views, of word kernels, and of those that read by an index.

This file must not import Numba.
"""

from ..codegen.record import Record, Word, Words
from .layout import Table

VIEW_DIMENSIONS = 32  # most dimensions of a view


class ViewTable(Record):
    """The table of ``strided_view``: addresses."""

    new_from_descriptor = Word()  # NumPy's PyArray_NewFromDescr
    set_base = Word()  # NumPy's PyArray_SetBaseObject
    array_type = Word()  # numpy.ndarray


class ViewFrame(Record):
    """The memory of ``strided_view`` on the stack."""

    sizes = Words(VIEW_DIMENSIONS)
    strides = Words(VIEW_DIMENSIONS)


WORD_ARGUMENTS = 16  # most packed arguments of a kernel


class HandWrittenTable(Table):
    """The table of ``launch_hand_written``."""

    kernel = Word()


class ReadTable(Table):
    """The table of the launchers that read by an index array."""

    kernels = Words(5)  # addresses of those for elements of 1, 2, 4, 8 and 16 bytes, or 0
    grain = Word()  # elements that are worth a thread of their own


class ReadArguments(Record):
    """Packed arguments of kernels that read by index arrays (``kernels/indexing/reads.py``)."""

    output = Word()
    array = Word()
    index = Word()
    size = Word()
    count = Word()
    inner = Word()


ALL_IN_A_ROW = -1  # in the place of a dimension: the array counts as a vector
