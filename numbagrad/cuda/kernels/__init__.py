"""Kernels for GPUs by family, under the names that the CPU's have in ``numbagrad.kernels``.

Each module prints the text of kernels of its family (``driver/source.py``): functions of int64
words, whose threads walk the work in strides of the grid. Formulas come printed; nothing here
defines an operator. Results do not depend on the order in which blocks run.
"""
