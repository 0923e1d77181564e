"""The table of the launcher that writes at indices. This file must not import Numba."""

from ..codegen.record import Record, Word, Words
from .layout import TYPES, Table


class WriteTable(Table):
    kernels = Words(TYPES)  # addresses of those for elements of NumPy's types, or 0
    grain = Word()  # elements that are worth a thread of their own
    of_rows = Word()  # whether a vector of indices chooses whole entries


class WriteArguments(Record):
    """Packed arguments of the kernels of ``kernels/indexing/writes.py``."""

    output = Word()
    source = Word()
    index = Word()
    size = Word()
    count = Word()
    inner = Word()
    step = Word()
