"""Kernels of attention by blocks, which keep no matrix of scores."""
