"""Kernels of reductions: map every element, combine, finalise."""
