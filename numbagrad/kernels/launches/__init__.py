"""Kernels that run other launches: groups, chains, programs over unit vectors; and their tables."""
