"""The planner: from an operation on views of memory to launches of kernels.

``result_forms`` says what arrays a call makes, ``operations`` describes what is computed, and
``lowering`` turns that into kernels, packed arguments and units of work. ``direct`` runs one
operation without compiled launchers; programs and recordings are lowered by the same functions.
"""
