"""The matrix product. Begin with ``product.matmul``, the kernel: its docstring has the blocking.

``product`` cuts units of work into rectangles of C; ``blocks`` computes these by the micro-kernels
of ``tile``, from what ``packing`` packs; ``joining`` adds up parts of a depth that threads share,
and ``division`` says how they share it. ``layout`` has the argument words, and chooses the method.
Modules but ``layout`` are imported only to compile.
"""
