"""How many lines a Fourier transform takes together, and how long they may be.

This file must not import Numba.
"""

VECTOR_BYTES = 64

#: Elements of a vector, which hold one place of as many lines.
LANES = {"float32": 16, "float64": 8}

#: The longest line. Its parts before and after a stage lie on the stack, each with room for one
#: place more: of real numbers there is half and one.
LONGEST = 1024
SCRATCH_WORDS = 4 * (LONGEST + 1) * VECTOR_BYTES // 8

#: Numbers that lengths are products of.
RADICES = (4, 2, 3, 5)
