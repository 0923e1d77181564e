"""Words of the tables that compiled launchers read, and where fields of objects lie.

Plain numbers, imported by the launchers as constants and by the Python code that fills the tables.
This file must not import Numba.
"""

from ..kernels.layout import MAX_OPERANDS

# --- codes of operands in a signature key -----------------------------------------------------
# A NumPy type number (0 to 23) for an array, or one of these for a Python number.
PYTHON_BOOL = 24
PYTHON_INT = 25
PYTHON_FLOAT = 26
BFLOAT16 = 20  # NumPy's number of the void type, of which no other is in a tensor
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
TABLE_LAUNCHER = 6  # address of the launcher that computes on ndarrays
TABLE_RECIPES = 7  # address of the recipes for nodes, or 0 before the first
TABLE_PLACES = 8  # of a gradient: what each input gets, PLACE_BITS each
TABLE_INPUTS = 9  # of a gradient: number of inputs
TABLE_RECORDED = 10  # 1 if results may require grad
TABLE_TANGENTS = 11  # address of the tables of the value and the tangent, or 0 before the first
TABLE_WORDS = 12
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
MATMUL_DIVIDE = MATMUL_KERNELS + 3 * MATMUL_TYPES  # what divides a product for threads, or 0
MATMUL_WORDS = MATMUL_DIVIDE + 1

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
RUNTIME_LARGE_BYTES = 11  # arrays of so many bytes come from the pool of buffers
RUNTIME_NEW_LARGE_ARRAY = 12  # the function that makes them, or 0 before there is the pool
RUNTIME_BUFFERS = 13  # control block of that pool
RUNTIME_CAPTURE = 14  # thread state of the thread whose launches are being recorded, or 0
RUNTIME_NEW_FROM_DESCRIPTOR = 15  # NumPy's PyArray_NewFromDescr
RUNTIME_ITEM_SIZES = 16  # bytes an element, by type number
RUNTIME_TENSOR_TYPE = 40
RUNTIME_BFLOAT16 = 41  # the dtype object of bfloat16, which no number stands for
RUNTIME_SAVED_INPUT_TYPE = 42
RUNTIME_SAVED_OUTPUT_TYPE = 43
RUNTIME_FALSE = 44
RUNTIME_ZERO = 45
RUNTIME_SEQUENCE = 46  # the iterator that numbers nodes
RUNTIME_SET_BASE = 47  # NumPy's PyArray_SetBaseObject
# Where the slots of Tensors, nodes and saved tensors lie, in bytes from the start of the object.
FIELD_ARRAY = 48
FIELD_REQUIRES_GRAD = 49
FIELD_GRAD_FN = 50
FIELD_OUTPUT_NR = 51
FIELD_VERSION_CELL = 52
FIELD_NEXT_EDGES = 53
FIELD_HOOKS = 54
FIELD_SAVED = 55
FIELD_SEQUENCE_NR = 56
FIELD_RULE = 57
FIELD_NUMBERS = 58
FIELD_RESTORE = 59
FIELD_INPUT_TENSOR = 60
FIELD_INPUT_CELL = 61
FIELD_INPUT_VERSION = 62
FIELD_KEPT_ARRAY = 63
FIELD_KEPT_CELL = 64
FIELD_KEPT_VERSION = 65
FIELD_KEPT_OUTPUT_NR = 66
FIELD_GRAD = 67
FIELD_PLAN = 68
FIELD_VALUES = 69
FIELD_OUTPUT_COUNT = 70
RUNTIME_LIST_TYPE = 71
RUNTIME_TUPLE_TYPE = 72
RUNTIME_GRAD_MODE = 73  # the switches of the thread: ``autograd.grad_mode.state``
RUNTIME_NAME_ENABLED = 74  # names of attributes, and what they are set to
FIELD_BASE = 75
RUNTIME_NAME_VIEW_ORIGIN = 76
RUNTIME_NO_GRAD = 77
RUNTIME_PRUNE = 78  # the function that drops references to dead views from a version cell
RUNTIME_PRUNE_FROM = 79  # how many entries it has then
RUNTIME_MULTIPLE = 80
RUNTIME_WATCHED = 81  # how many watch nodes being made (``autograd.watching``): Python makes them
RUNTIME_INFERENCE_THREADS = 82  # how many threads are in inference mode
RUNTIME_NAME_INFERENCE = 83
RUNTIME_INFERENCE_CELL = 84  # the version cell of all inference tensors
RUNTIME_INFERENCE_ORIGIN = 85  # why views made in inference mode may not be written
RUNTIME_ATTACH = 86  # the function that does what ``attach`` does
RUNTIME_NAME_UNRECORDED_AT = 87
# Of forward mode (``native/duals.py``).
RUNTIME_TRANSFORMED_TYPE = 88  # the type of arrays under a transformation
RUNTIME_DUAL_TYPE = 89
RUNTIME_FORWARD_MODE = 90  # the kind of its levels
RUNTIME_DUAL_POINTWISE = 91  # addresses of its launchers, or 0 before they are needed
RUNTIME_DUAL_OPERATOR = 92
RUNTIME_DUAL_VIEW = 93
FIELD_STATE = 94
FIELD_DUAL_LEVEL = 95
FIELD_DUAL_PRIMAL = 96
FIELD_DUAL_TANGENT = 97
FIELD_LEVEL_KIND = 98
FIELD_LEVEL_ALIVE = 99
FIELD_LEVEL_PAUSED = 100
FIELD_DUAL_CELL = 101
RUNTIME_LEVEL_TYPE = 102
RUNTIME_LEVEL_STACK = 103  # the levels of this thread: ``transforms.levels.stack``
RUNTIME_NAME_LEVELS = 104
RUNTIME_NAME_TANGENTS_ENABLED = 105
RUNTIME_RANDOMNESS = 106  # what a level says of random operators that is asked for nothing else
RUNTIME_CLOSE_LEVEL = 107  # the function that closes a level, or says why it may not be
FIELD_LEVEL_DEPTH = 108
FIELD_LEVEL_EXPLICIT = 109
FIELD_LEVEL_HISTORY = 110
FIELD_LEVEL_SIZE = 111
FIELD_LEVEL_RANDOMNESS = 112
FIELD_OWN_LEVEL = 113  # of an array that has the slots of a ``Dual`` itself
RUNTIME_OWN_STATE = 114  # how much further into such an array they lie than in a ``Dual``
RUNTIME_PAIR = (
    115  # 1 while a launcher is called that leaves its second output here, not in a tuple
)
RUNTIME_SECOND = 116
RUNTIME_PREPARE_POOL = 117  # the Python function that makes the pool when that pays
RUNTIME_MADE_WITHOUT = 118  # bytes of the large arrays that were made without it
RUNTIME_DELETED_ERROR = 119  # what is raised for a slot that somebody deleted
RUNTIME_DELETED_TEXT = 120
RUNTIME_UNRECORDED = 121  # the producer of views that were not recorded
RUNTIME_DESCRIPTORS = 122  # the dtype objects, by type number
RUNTIME_TYPES = 24  # type numbers below this are those of NumPy's own dtypes
RUNTIME_WORDS = RUNTIME_DESCRIPTORS + RUNTIME_TYPES

# --- tables of the value and the tangent, by the mask of the operands that have a tangent --------
TANGENT_OPERANDS = 3  # the tangents of operators with more operands are left to Python

# --- recipes: how the node of an operator is made, by which of its operands need a gradient -----
# A recipe is found by the mask of those operands, and of those of them that are the first again.
RECIPE_OPERANDS = 3  # operators with more operands are recorded in Python
RECIPES = 1 << (2 * RECIPE_OPERANDS)
RECIPE_RULE = 0  # the gradient rule, or 0 if there is no recipe
RECIPE_NODE_TYPE = 1
RECIPE_USES = 2  # places of the operands that are saved, plus one, PLACE_BITS each
RECIPE_USES_RESULT = 3
RECIPE_WORDS = 4
PLACE_BITS = 4
PLACE_NOTHING = 0
PLACE_PASSED = 1  # the incoming gradient itself
PLACE_OUTPUT = 2  # the first output of the kernel; others follow

# --- nodes of operators that are no formula ----------------------------------------------------
# The recipe of a node, in places of arguments plus one, PLACE_BITS each; a view has a single one.
NODE_RUNTIME = 0
NODE_TYPE = 1
NODE_PLAN = 2  # the gradient plan, or 0 if there is no recipe
NODE_INPUTS = 3  # places that have edges
NODE_SAVES = 4  # places of the Tensors that are saved
NODE_KEEPS = 5  # places of what else is kept, KEPT_BITS each
NODE_RESULTS = 6  # numbers of the outputs that are saved
NODE_PYTHON = 7  # of a view: the function that does the same
NODE_FORWARD = 8  # of a view that is linear: the function on ndarrays; else 0
NODE_WORDS = 9
KEPT_BITS = 5
KEPT_PLACE = 15
KEPT_AS_SHAPE = 16  # the shape of the argument is kept, not the argument
NOT_RECORDED = -1

# The table of an operator: its recipes are found by the mask of arguments that need a gradient.
OPERATOR_RUNTIME = 0
OPERATOR_FORWARD = 1  # the function on ndarrays
OPERATOR_PYTHON = 2  # the function that does what the launcher cannot
OPERATOR_FINISH = 3  # the function that makes Tensors of results of other types
OPERATOR_VARIADIC = 4  # 1 if lists among the arguments are lists of Tensors
OPERATOR_RECIPES = 5
# Of an operator that is linear in each Tensor:
OPERATOR_ADD = 6  # the function that adds an array to another one
OPERATOR_BOTH = 7  # the function that makes the value and the tangent, or None; 0 if there is none
OPERATOR_BOTH_BUILTIN = 8  # address of a word with a builtin that does so or misses, or with 0
OPERATOR_TAKES_HALF = 9  # 1 if forward takes arrays of float16 and bfloat16 as they are
OPERATOR_WORDS = 10
OPERATOR_ARGUMENTS = 6  # operators with more arguments are recorded in Python
MAX_VALUES = 12
MAX_RESULTS = 8

# --- why a launcher gave up (the argument of LaunchMiss; a key is not negative) ---------------
MISS_OPERAND = -1  # an operand that is neither an ndarray nor a Python number
MISS_SHAPES = -2  # shapes that cannot be broadcast together
MISS_OVERLAP = -3  # the output overlaps an input, or itself
MISS_LIMIT = -4  # too many dimensions or operands
MISS_GENERAL = -6  # the general launcher is not compiled yet
MISS_NUMBER = -5  # a Python number that does not fit the dtype
MISS_CAPTURE = -7  # this thread records what it launches

# --- fields of NumPy's PyArrayObject and CPython's PyObject (stable ABI offsets, in bytes) ----
OBJECT_TYPE = 8
ARRAY_DATA = 16
ARRAY_DIMENSIONS = 24
ARRAY_SHAPE = 32
ARRAY_STRIDES = 40
ARRAY_BASE = 48
ARRAY_DESCRIPTOR = 56
ARRAY_FLAGS = 64
ARRAY_HANDLER = 88  # the capsule of the functions that free the memory of the array (NEP 49)
DESCRIPTOR_BYTE_ORDER = 26
DESCRIPTOR_TYPE_NUMBER = 28
FLAG_CONTIGUOUS = 1
FLAG_OWNS_DATA = 4
FLAG_ALIGNED_WRITEABLE = 0x100 | 0x400
