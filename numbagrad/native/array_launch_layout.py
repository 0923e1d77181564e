"""Word layouts of the launchers of views, of word kernels, and of those that read by an index.

Plain numbers; this file must not import Numba.
"""

# --- table of the launcher strided_view: addresses --------------------------------------------
VIEW_NEW_FROM_DESCRIPTOR = 0  # NumPy's PyArray_NewFromDescr
VIEW_SET_BASE = 1  # NumPy's PyArray_SetBaseObject
VIEW_ARRAY_TYPE = 2  # numpy.ndarray
VIEW_WORDS = 3
VIEW_DIMENSIONS = 32  # most dimensions of a view
VIEW_FRAME_WORDS = 2 * VIEW_DIMENSIONS  # sizes, then strides

# --- table of the launcher launch_words -------------------------------------------------------
LAUNCH_RUNTIME = 0  # address of the runtime block
LAUNCH_KERNEL = 1  # address of the kernel
LAUNCH_TABLE_WORDS = 2
LAUNCH_WORDS = 16  # most packed arguments of a kernel

# --- table of the launchers that read by an index array, and of join --------------------------
READ_RUNTIME = 0  # address of the runtime block
READ_KERNELS = 1  # addresses of the kernels for elements of 1, 2, 4, 8 and 16 bytes, or 0
READ_GRAIN = 6  # elements that are worth a thread of their own
READ_TABLE_WORDS = 7
ALL_IN_A_ROW = -1  # in the place of a dimension: the array counts as a vector
