"""The words of a program that is run for blocks of unit vectors, one table for each worker.

Plain numbers, for Python that fills them and ``repeated.py``; this file must not import Numba.
"""

from __future__ import annotations

# --- a worker: the program in memory of its own ---------------------------------------------------
WORKER_BUSY = 0  # 1 while a thread is in it
WORKER_PROGRAM = 1  # address of the table of the program (``program_layout.py``)
WORKER_ARRAYS = 2  # address of two words for each array of it: address, bytes from row to row
WORKER_BASES = 3  # number of arrays that get unit vectors
WORKER_BASES_AT = 4  # address of the first of them
WORKER_WORDS = 32  # so far apart that the first words of two share no line of the cache

# --- an array, as the program counts them ---------------------------------------------------------
ARRAY_ADDRESS = 0  # of the row of the first unit vector
ARRAY_ROW_BYTES = 1  # 0 for what is the same for all blocks
ARRAY_WORDS = 2

# --- an array of unit vectors ---------------------------------------------------------------------
BASIS_ADDRESS = 0
BASIS_FIRST = 1  # number of the unit vector whose one is its first element
BASIS_SIZE = 2  # elements of a row
BASIS_ITEM = 3  # bytes of an element: a float of four or eight
BASIS_WORDS = 4
