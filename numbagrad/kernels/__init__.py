"""The CPU backend: functions over machine addresses, compiled by Numba and loaded as objects.

Nothing here knows of Tensors. Modules of this package that import numba at their top
(``intrinsics``, ``threads``, ``launch``, ``matmul``, ...) are imported only when a kernel has to be
compiled, so that a process that finds its kernels in the disk cache never pays for importing Numba.
"""
