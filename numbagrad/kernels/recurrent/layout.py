"""The words of recurrences: what ``executor/families/recurrent.py`` writes and the kernels read.

Sizes and distances count elements. Rows are those of sequences: *elements* are the rows of all
times, one time behind the other. Imports neither Numba nor LLVM.
"""

from __future__ import annotations

# Arguments of ``run_forward``: arrays that are written, those that are read, the plan, a formula.
HIDDEN, EXTRA, LAST_HIDDEN, LAST_CELL, SUMS, GATES = range(6)
FIRST_HIDDEN, FIRST_CELL, WEIGHTS, BIAS = range(6, 10)
# Arguments of ``run_backward``.
GATES_GRAD, SUMS_GRAD, PREVIOUS, HIDDEN_GRAD, CELL_GRAD = range(5)
BACK_HIDDEN, BACK_EXTRA, BACK_GATES, BACK_FIRST_HIDDEN, BACK_FIRST_CELL = range(5, 10)
BACK_WEIGHTS, RESULT_GRAD = 10, 11
#: Arguments of both.
PLAN, FORMULA = 12, 13
ARGUMENTS = 14

# The plan.
STEPS = 0
REVERSE = 1  # whether the last time is the first step
WIDTH = 2  # of the hidden state
DEPTH = 3  # rows of the recurrent weights: the width of all gates
PRODUCT = 4  # the argument that the product of a step is written to, or read from
ROWS_APART = 5  # whether that has a row for each sequence, not for each element
ACCUMULATES = 6  # whether the product is added to what is there
HAS_CELL = 7
COUNT = 8  # operands of the formula
OPERANDS = 9

#: An operand: its argument, the argument for rows without a previous state, its first column, what
#: its rows are, and how many elements lie between them.
ARRAY, BEGINNING, COLUMN, ROWS, PITCH = range(5)
OPERAND_WORDS = 5

#: The kind of the rows of an operand.
OF_ELEMENTS, OF_PREVIOUS, OF_SEQUENCES, REPEATED = range(4)

#: Behind the operands: the number of sequences at each time, and its first element.
