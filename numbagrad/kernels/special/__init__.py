"""Kernels of special functions that are loops over a number of terms that no one knows before."""
