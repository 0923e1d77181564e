"""The words in which ``find_rows`` says where the rows of a strided kernel begin.

Plain numbers, imported by the kernel and by what writes its callers. This file must not import
Numba.
"""

PLANE_COLUMN = 0  # the element of the first row at which the range begins
PLANE_OPERANDS = 1  # for each operand: where the first row begins, bytes between rows and elements
PLANE_WORDS = 3
