"""Kernels that resample images."""
