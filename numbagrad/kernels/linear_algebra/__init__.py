"""Kernels of linear algebra that NumPy does not show: triangles and elimination."""
