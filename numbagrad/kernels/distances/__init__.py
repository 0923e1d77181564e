"""Kernels of distances between rows of matrices."""
