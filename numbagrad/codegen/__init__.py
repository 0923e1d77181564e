"""From a Python function to machine code: Numba's front end, LLVM's passes, object files.

``compiler`` compiles, ``loader`` loads the result without Numba, and kernels are written in the
functions of ``intrinsics``. Modules that import Numba at their top are imported only to compile.
"""
