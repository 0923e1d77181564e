"""Word layouts that Python, the launchers and the kernels agree on.

Plain numbers, imported by both sides: by the compiled launchers and kernels as constants, and by
the Python code that fills the tables they read. This file must not import Numba.
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

# --- codes of operands in a signature key -----------------------------------------------------
# A NumPy type number (0 to 23) for an array, or one of these for a Python number.
PYTHON_BOOL = 24
PYTHON_INT = 25
PYTHON_FLOAT = 26
FOREIGN = 27  # an array of a type, or in a byte order, that no kernel reads
CODE_BITS = 5
LAYOUT_BITS = 2
SCALAR_BIT = CODE_BITS + LAYOUT_BITS  # set for a 0-dim array among larger ones (promotion)
OPERAND_BITS = SCALAR_BIT + 1
#: Beside the operands: all of them run through one dimension, contiguous or repeated.
FLAT = 1 << (OPERAND_BITS * MAX_OPERANDS)
#: The output is too large for the caches.
STREAMED = FLAT << 1

# --- table of an operator ---------------------------------------------------------------------
TABLE_RUNTIME = 0  # address of the runtime block
TABLE_OUTPUTS = 1  # number of outputs
TABLE_GRAIN = 2  # elements that are worth a thread of their own
TABLE_MASK = 3  # number of slots minus one; a power of two minus one
TABLE_SLOTS = 4  # address of the slots
TABLE_INTO = 5  # 1 if the last argument is the output to write
TABLE_WORDS = 6
SLOT_KEY = 0
SLOT_KERNEL = 1
SLOT_OUTPUT_TYPES = 2  # NumPy type numbers, CODE_BITS each
SLOT_SCALAR_TYPES = 3  # for each operand, the type number a Python number is written as
SLOT_WORDS = 4
EMPTY_KEY = -1
HASH_MULTIPLIER = 0x9E3779B97F4A7C15 - (1 << 64)
HASH_SHIFT = 40

# --- table of the matrix product ----------------------------------------------------------------
MATMUL_KERNELS = 1  # addresses of the kernels, by method and type number
MATMUL_TYPES = 24
MATMUL_WORDS = MATMUL_KERNELS + 3 * MATMUL_TYPES

#: Rows of fewer bytes are never streamed: too much of them is parts of lines.
STREAM_ROW_BYTES = 1024

# --- runtime block: addresses and facts of this process ---------------------------------------
RUNTIME_ARRAY_TYPE = 0
RUNTIME_FLOAT_TYPE = 1
RUNTIME_INT_TYPE = 2
RUNTIME_BOOL_TYPE = 3
RUNTIME_TRUE = 4
RUNTIME_NONE = 5
RUNTIME_NEW_ARRAY = 6  # NumPy's PyArray_New
RUNTIME_MISS = 7  # the exception type raised when a launcher cannot go on
RUNTIME_POOL = 8  # control block of the thread pool
RUNTIME_GENERAL = 9  # the general launcher of formulas, or 0 before it is needed
RUNTIME_STREAM_BYTES = 10  # outputs of so many bytes are streamed
RUNTIME_ITEM_SIZES = 16  # bytes an element, by type number
RUNTIME_WORDS = 64

# --- why a launcher gave up (the argument of LaunchMiss; a key is not negative) ---------------
MISS_OPERAND = -1  # an operand that is neither an ndarray nor a Python number
MISS_SHAPES = -2  # shapes that cannot be broadcast together
MISS_OVERLAP = -3  # the output overlaps an input, or itself
MISS_LIMIT = -4  # too many dimensions or operands
MISS_GENERAL = -6  # the general launcher is not compiled yet
MISS_NUMBER = -5  # a Python number that does not fit the dtype

# --- fields of NumPy's PyArrayObject and CPython's PyObject (stable ABI offsets, in bytes) ----
OBJECT_TYPE = 8
ARRAY_DATA = 16
ARRAY_DIMENSIONS = 24
ARRAY_SHAPE = 32
ARRAY_STRIDES = 40
ARRAY_DESCRIPTOR = 56
ARRAY_FLAGS = 64
DESCRIPTOR_BYTE_ORDER = 26
DESCRIPTOR_TYPE_NUMBER = 28
FLAG_CONTIGUOUS = 1
