"""Decompositions, systems of equations, functions and norms of matrices."""
