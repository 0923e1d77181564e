"""Kernels that sort and select: the order of elements as integers, the first of rows, ranks."""
