"""Functions that users wrote in Numba, as kernels of programs."""
