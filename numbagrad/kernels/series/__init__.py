"""Kernels that sum series whose coefficients are given."""
