"""The words of a program's tables, for Python that fills them and the compiled code that runs them.

Plain numbers; this file must not import Numba.
"""

from __future__ import annotations

# --- table of a program; word 0 is the runtime block, as in every table (``layout.py``) ----------
PROGRAM_LAUNCHES = 1  # number of launches, and the address of the first
PROGRAM_LAUNCHES_AT = 2
PROGRAM_PATCHES = 3  # number of patches, and the address of the first
PROGRAM_PATCHES_AT = 4
PROGRAM_LONG = 5  # 1 if the program is worth letting go of the GIL for
PROGRAM_FAILED = 6  # number of the launch that failed, from 1 on; 0 if none did
PROGRAM_CLOCK = 7  # address of clock_gettime while the program is timed, or 0
PROGRAM_CLOCK_ID = 8  # the clock it is asked for
PROGRAM_TIMES = 9  # where its answers go: before the first launch, and after each
PROGRAM_WORDS = 10

# --- a launch -------------------------------------------------------------------------------------
LAUNCH_KERNEL = 0
LAUNCH_ARGUMENTS = 1  # address of the packed arguments
LAUNCH_TOTAL = 2  # units of work
LAUNCH_GRAIN = 3  # units that are worth a thread of their own
LAUNCH_WORDS = 4

# --- the first words of a launch that may fail ----------------------------------------------------
FAILED = 0  # address of the word in which it notes that it did
FAILURE = 1  # what it writes there

# --- a patch: an address that changes from run to run ---------------------------------------------
PATCH_TARGET = 0  # where it is written
PATCH_ARGUMENT = 1  # which array it comes from
PATCH_OFFSET = 2  # bytes from the first element of that array
PATCH_WORDS = 3
