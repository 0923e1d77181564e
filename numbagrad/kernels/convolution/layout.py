"""The words of a plan of a convolution: ``executor/plan/windows.py`` makes what kernels read.

The *source* is what windows lie in: the input, or the gradient of the output for a transposed
convolution. *Positions* are the places of windows, counted from 0 in each of three spatial
dimensions, of which the first are 1 where there are fewer. They are cut into blocks. All sizes and
offsets count elements. A plan is for any strides of the two: where images are small, the third
dimension is that of the images. Imports neither Numba nor LLVM.
"""

from __future__ import annotations

BATCH, GROUPS = 0, 1
CHANNELS, ROWS = 2, 3  # of a group: of the source, and of the result
SOURCE, RESULT = 4, 7  # spatial sizes
POSITIONS, BLOCK, BLOCKS = 10, 13, 16  # how many, in a block, and how many blocks
STEP = 19  # from a position to the next, in the source
PLANE = 22  # sizes of a plane of a block in scratch memory
CHANNEL_STEP = 25  # of scratch memory for a channel: all planes, and room for whole vectors behind
LENGTH = 26  # elements from the first position of a block to its last, in whole vectors
ROW_BLOCK, ROW_BLOCKS = 27, 28  # rows of the result in a unit of work
DEPTH_CHANNELS = 29  # channels that are summed up at a time
PLANES = 30  # how many
PLANES_AT = 31  # where in the plan: the first source element of position 0, three words a plane
RESULT_STEP = 32  # from a position to the next, in the result
PHASES = 35  # of the result: each has taps of its own
PHASES_AT = 36  # where in the plan: PHASE_WORDS for each
IMAGES = 37  # whose copies lie in scratch memory together, for a gradient of weights
PARTS = 38  # of the batch and the blocks, which have sums of their own in a gradient of weights
KERNEL = 39  # elements of the kernel of a channel
SOURCE_STRIDES, RESULT_STRIDES = 40, 45  # to the next image, channel, and in each dimension
WORDS = 50

#: A phase of the result.
TAPS = 0  # elements of the kernel that reach it
OFFSETS_AT = 1  # where in the plan: for DEPTH_CHANNELS channels, each tap's distance in scratch
NUMBERS_AT = 2  # where in the plan: which elements of the kernel they are
WEIGHTS_AT = 3  # the first element of its weights
FIRST = 4  # where position 0 lies in the result, three words
PHASE_WORDS = 7

#: Elements of scratch memory: copies of the source, and sums or the gradient of the output.
SOURCE_ELEMENTS, SUM_ELEMENTS = 1 << 18, 1 << 17

#: Elements behind each part of scratch memory, that whole vectors may reach.
SLACK = 256

#: Bytes of scratch memory, for elements of 8 bytes; pages that smaller ones leave are not touched.
BYTES = 8 * (SOURCE_ELEMENTS + SUM_ELEMENTS + 3 * SLACK)

#: Elements of the longest block: twelve rows of sums of it stay in the second-level cache.
LONGEST = 2048

#: Rows of sums that are complete before they are written to the result.
PANEL = 12
