"""Kernels of Fourier transforms along lines of arrays."""
