"""CPU kernels by family: functions over machine addresses, compiled by ``codegen``.

Nothing here knows of Tensors, or of any object of Python. A kernel takes the address of its packed
arguments and a range of work. Modules that import ``codegen.intrinsics`` are imported only when a
kernel has to be compiled, so that a process that finds its kernels on disk never imports Numba.
"""
