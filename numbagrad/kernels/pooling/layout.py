"""The geometry of windows, as the executor packs it and the kernels of pooling read it.

Three entries each, for up to three spatial dimensions. Plain numbers; this file must not import
Numba.
"""

SIZES = 0
COUNTS = 3
KERNEL = 6
STRIDE = 9
PADDING = 12
DILATION = 15
