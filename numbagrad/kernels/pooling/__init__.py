"""Kernels of pooling: largest elements and sums of windows, and their gradients."""
