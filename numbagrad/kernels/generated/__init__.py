"""Generated kernels as the library prints and compiles them: to read, call and step through.

Kernels of formulas and reductions are printed when a program first needs them, for its dtypes and
layouts: ``kernels/pointwise/source.py`` and ``kernels/reduction/source.py`` do that, and
``executor.explain`` shows the text. These are the most usual ones, for contiguous float32.
``tools/write_kernels.py`` writes the files; a test says that they are what is compiled. The
library imports none of them.
"""
