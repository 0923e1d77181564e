"""The words of the tables of ``native/replay.py``. This file must not import Numba."""

from __future__ import annotations

# --- table; word 0 is the runtime block, as in every table (``layout.py``) -----------------------
# Each list is the number of its entries and the address of the first.
REPLAY_ARGUMENTS = 1
REPLAY_TENSORS = 3
REPLAY_ROOTS = 5  # arrays that own the memory of what is not an argument
REPLAY_KEPT = 7
REPLAY_RESULTS = 9
REPLAY_PASSED = 11
REPLAY_VERSIONS = 13
REPLAY_ARRAYS = 15  # what the program is called with: filled in but for arguments and results
REPLAY_PROGRAM = 17  # address of ``run_program``, or 0 if there is nothing to run
REPLAY_PROGRAM_TABLE = 18  # the ndarray that is its self
REPLAY_WORDS = 19

# --- an argument ----------------------------------------------------------------------------------
ARGUMENT_OBJECT = 0  # the only object it may be, or 0 for any tensor of the form that follows
ARGUMENT_TYPE = 1
ARGUMENT_FLAG = 2  # its ``requires_grad``
ARGUMENT_KIND = 3  # 1 if it has no ``grad_fn``, and 2 more for an inference tensor
ARGUMENT_RANK = 4
ARGUMENT_SIZES = 5  # address of its shape, then its strides
ARGUMENT_DTYPE = 6
ARGUMENT_WORDS = 7

# --- a tensor that is no argument -----------------------------------------------------------------
TENSOR_OBJECT = 0
TENSOR_FLAG = 1
TENSOR_ARRAY = 2
TENSOR_GRADIENT = 3  # its gradient, or None
TENSOR_GRADIENT_FLAG = 4
TENSOR_GRADIENT_ARRAY = 5
TENSOR_WORDS = 6

# --- a gradient that may be written if only its tensor and its keeper hold it ---------------------
KEPT_TENSOR = 0
KEPT_GRADIENT = 1
KEPT_ARRAY = 2
KEPT_WORDS = 3

# --- a result -------------------------------------------------------------------------------------
RESULT_KEPT = 0  # the array that is written if gradients may be, or 0
RESULT_TYPE = 1  # NumPy's type number
RESULT_RANK = 2
RESULT_SIZES = 3  # address of its shape, then its strides
RESULT_PLACE = 4  # where among the arrays of the program, or -1
RESULT_WORDS = 5

# --- an argument that the program is given --------------------------------------------------------
PASSED_ARGUMENT = 0
PASSED_PLACE = 1
PASSED_WORDS = 2

# --- a count of writes ----------------------------------------------------------------------------
VERSION_ARGUMENT = 0  # which argument, or -1
VERSION_TENSOR = 1  # else the tensor
VERSION_OF_GRADIENT = 2  # 1 if it is that of its gradient
VERSION_WRITES = 3
VERSION_WORDS = 4

#: A kept gradient is held by its tensor and by the one who keeps it; its array by the gradient,
#: the one who keeps it, and the one who found that it lies as it should.
OWNERS_OF_GRADIENT = 2
OWNERS_OF_ARRAY = 3
