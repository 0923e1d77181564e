"""Convolutions without a matrix of columns. Begin with ``product.convolve``, the kernel.

``copies`` puts an image with its padding into scratch memory, one plane for each phase of a
stride: there every place of a window is a constant distance away from its output. ``tile`` has the
micro-kernels of a product that reads windows at these distances; ``product`` and ``weights`` are
the kernels of outputs and of gradients of weights. ``layout`` has the words of a plan, which
``executor/plan/windows.py`` makes. Modules but ``layout`` are imported only to compile.
"""
