"""Kernels of losses over classes and sequences, and the checks of what they are given."""
