"""The tables that launchers read, as records, and the codes in them.

Launchers find fields by their names, and so does the Python code that fills the tables; see
``codegen/record.py``. How objects of CPython and NumPy begin is in ``object_heads.py``. This file
must not import Numba.
"""

from ..codegen.record import Nested, Pointer, Record, Word, Words
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
EMPTY_KEY = -1
HASH_MULTIPLIER = 0x9E3779B97F4A7C15 - (1 << 64)
HASH_SHIFT = 40
TYPES = 24  # type numbers below this are those of NumPy's own dtypes

# --- where the slots of objects lie, in bytes from the start of the object --------------------


class TensorSlots(Record):
    """Slots of Tensors."""

    array = Word()
    requires_grad = Word()
    grad_fn = Word()
    output_nr = Word()
    version_cell = Word()
    grad = Word()
    base = Word()


class NodeSlots(Record):
    """Slots of nodes."""

    next_edges = Word()
    hooks = Word()
    saved = Word()
    sequence_nr = Word()


class PointwiseNodeSlots(Record):
    """Slots of the nodes of pointwise operators, beyond those of all nodes."""

    rule = Word()
    numbers = Word()
    restore = Word()


class OperatorNodeSlots(Record):
    """Slots of the nodes of operators that are no formula, beyond those of all nodes."""

    plan = Word()
    values = Word()
    output_count = Word()


class SavedInputSlots(Record):
    """Slots of a saved tensor that is an input of its node."""

    tensor = Word()
    cell = Word()
    version = Word()


class SavedOutputSlots(Record):
    """Slots of a saved tensor that is an output of its node."""

    array = Word()
    cell = Word()
    version = Word()
    output_nr = Word()


# --- runtime block: addresses and facts of this process ---------------------------------------


class Runtime(Record):
    """Facts of this process for launchers; there is one such record, which all tables name."""

    array_type = Word()
    float_type = Word()
    int_type = Word()
    bool_type = Word()
    list_type = Word()
    tuple_type = Word()
    true = Word()
    false = Word()
    none = Word()
    zero = Word()
    new_array = Word()  # NumPy's PyArray_New
    new_from_descriptor = Word()  # NumPy's PyArray_NewFromDescr
    set_base = Word()  # NumPy's PyArray_SetBaseObject
    miss = Word()  # the exception type raised when a launcher cannot go on
    pool = Word()  # control block of the thread pool
    general = Word()  # the general launcher of formulas, or 0 before it is needed
    awake = Word()  # who may have to see a call: the bits of ``awake.py``, 0 most of the time
    capture = Word()  # thread state of the thread whose launches are being recorded, or 0
    pair = Word()  # 1 while a launcher is called that leaves its second output here, in no tuple
    second = Word()
    # Large arrays.
    stream_bytes = Word()  # outputs of so many bytes are streamed
    large_bytes = Word()  # arrays of so many bytes come from the pool of buffers
    new_large_array = Word()  # the function that makes them, or 0 before there is the pool
    buffers = Word()  # control block of that pool
    prepare_pool = Word()  # the Python function that makes the pool when that pays
    made_without = Word()  # bytes of the large arrays that were made without it
    # Element types, by their numbers.
    item_sizes = Words(TYPES)  # bytes
    descriptors = Words(TYPES)  # the dtype objects
    bfloat16 = Word()  # the dtype object of bfloat16, which no number stands for
    # Tensors and nodes.
    tensor_type = Word()
    saved_input_type = Word()
    saved_output_type = Word()
    sequence = Word()  # the iterator that numbers nodes
    grad_mode = Word()  # the switches of the thread: ``autograd.grad_mode.state``
    attach = Word()  # the function that does what ``attach`` does
    prune = Word()  # the function that drops references to dead views from a version cell
    prune_from = Word()  # how many entries it has then
    deleted_error = Word()  # what is raised for a slot that somebody deleted
    deleted_text = Word()
    inference_cell = Word()  # the version cell of all inference tensors
    unrecorded = Word()  # the producer of views that were not recorded
    # Why views may not be written.
    no_grad = Word()
    multiple = Word()
    inference_origin = Word()
    # Names of attributes.
    name_enabled = Word()
    name_inference = Word()
    name_view_origin = Word()
    name_unrecorded_at = Word()
    # Slots.
    tensor = Nested(TensorSlots)
    node = Nested(NodeSlots)
    pointwise_node = Nested(PointwiseNodeSlots)
    operator_node = Nested(OperatorNodeSlots)
    saved_input = Nested(SavedInputSlots)
    saved_output = Nested(SavedOutputSlots)


# --- tables of launchers -----------------------------------------------------------------------


class Table(Record):
    """How every table begins that is the ``self`` of a launcher."""

    runtime = Pointer(Runtime)


class Slot(Record):
    """A kernel, by its signature."""

    key = Word()
    kernel = Word()
    output_types = Word()  # NumPy type numbers, CODE_BITS each
    scalar_types = Word()  # for each operand, the type number a Python number is written as


class Slots(Record):
    """A hash table of kernels."""

    mask = Word()  # number of slots minus one; a power of two minus one
    first = Pointer(Slot)


class Recipe(Record):
    """How the node of a pointwise operator is made.

    It is found by the mask of the operands that need a gradient, and of those of them that are the
    first operand again.
    """

    rule = Word()  # the gradient rule, or 0 if there is no recipe
    node_type = Word()
    uses = Word()  # places of the operands that are saved, plus one, POSITION_BITS each
    uses_result = Word()


RECIPE_OPERANDS = 3  # operators with more operands are recorded in Python
RECIPES = 1 << (2 * RECIPE_OPERANDS)
POSITION_BITS = 4
SOURCE_NOTHING = 0
SOURCE_PASSED = 1  # the incoming gradient itself
SOURCE_OUTPUT = 2  # the first output of the kernel; others follow


class LaunchTable(Table):
    """The table of an operator with kernels."""

    outputs = Word()  # number of outputs
    grain = Word()  # elements that are worth a thread of their own
    slots = Nested(Slots)
    into = Word()  # 1 if the last argument is the output to write
    # Of a pointwise operator:
    launcher = Word()  # address of the launcher that computes on ndarrays
    recipes = Pointer(Recipe)  # or 0 before the first
    positions = Word()  # of a gradient: what each input gets, POSITION_BITS each
    inputs = Word()  # of a gradient: number of inputs
    recorded = Word()  # 1 if results may require grad


MATMUL_TYPES = 24


class MatmulTable(Table):
    """The table of the matrix product."""

    kernels = Words(3 * MATMUL_TYPES)  # addresses, by method and type number
    divide = Word()  # what divides a product for threads, or 0


class DrawTable(Table):
    """The table of a launcher of random numbers."""

    kernel = Word()


# --- nodes of operators that are no formula ----------------------------------------------------


class NodeRecipe(Table):
    """How the node of an operator is made that is no formula; the table of the launcher of a view.

    It speaks of places of arguments plus one, POSITION_BITS each.
    """

    node_type = Word()
    plan = Word()  # the gradient plan, or 0 if there is no recipe
    inputs = Word()  # places that have edges
    saves = Word()  # places of the Tensors that are saved
    keeps = Word()  # places of what else is kept, KEPT_BITS each
    results = Word()  # numbers of the outputs that are saved
    python = Word()  # of a view: the function that does the same


KEPT_BITS = 5
KEPT_POSITION = 15
KEPT_AS_SHAPE = 16  # the shape of the argument is kept, not the argument
NOT_RECORDED = -1


class OperatorTable(Table):
    """The table of an operator that is no formula."""

    forward = Word()  # the function on ndarrays
    python = Word()  # the function that does what the launcher cannot
    finish = Word()  # the function that makes Tensors of results of other types
    variadic = Word()  # 1 if lists among the arguments are lists of Tensors
    recipes = Pointer(NodeRecipe)  # by the mask of arguments that need a gradient
    takes_half = Word()  # 1 if forward takes arrays of float16 and bfloat16 as they are


OPERATOR_ARGUMENTS = 6  # operators with more arguments are recorded in Python
MAX_VALUES = 12
MAX_RESULTS = 8

# --- why a launcher gave up (the argument of LaunchMiss; a key is not negative) ---------------
MISS_OPERAND = -1  # an operand that is neither an ndarray nor a Python number
MISS_SHAPES = -2  # shapes that cannot be broadcast together
MISS_OVERLAP = -3  # the output overlaps an input, or itself
MISS_LIMIT = -4  # too many dimensions or operands
MISS_NUMBER = -5  # a Python number that does not fit the dtype
MISS_GENERAL = -6  # the general launcher is not compiled yet
MISS_CAPTURE = -7  # this thread records what it launches
