"""Pointwise kernels: a formula in a loop over any number of strided operands, as printed source."""
