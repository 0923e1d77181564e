"""Argument words of kernels and the layouts of their operands.

Plain numbers, imported by kernels as constants and by everything that packs arguments for them.
This file must not import Numba.
"""

MAX_DIMENSIONS = 32
MAX_OPERANDS = 7

# --- packed arguments of a kernel over an iteration space (64-bit words) ---------------------
# word 0: number of dimensions; words 1..32: their sizes, outermost first; then for each operand
# its address and its strides in bytes, one a dimension.
ARGUMENT_DIMENSIONS = 0
ARGUMENT_SIZES = 1
ARGUMENT_OPERANDS = 1 + MAX_DIMENSIONS
OPERAND_WORDS = 1 + MAX_DIMENSIONS

# --- layout of an operand along the innermost dimension ---------------------------------------
UNIT = 0  # neighbours in memory
ZERO = 1  # one element for the whole dimension
STRIDED = 2  # any stride; then every operand of the kernel is taken as strided
ALIAS = 3  # the same memory as the output, element for element

#: Rows of fewer bytes are never streamed: too much of them is parts of lines.
STREAM_ROW_BYTES = 1024
