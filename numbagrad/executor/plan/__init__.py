"""The planner: from the forms of operands to the forms of results, and to launches of kernels.

A form is a shape, strides and a dtype: an ndarray has one, a view of memory, or an array that is
still to be made. ``forms``, ``dtypes`` and ``spaces`` hold the rules: broadcasting, strides of
results and who shares memory; promotion; merged dimensions. ``result_forms`` answers with them for
a kind of kernel, ``operations`` describes what is computed on views of memory, and ``lowering``
turns that into kernels, packed arguments and units of work. ``direct`` runs one operation without
compiled launchers; programs and recordings are lowered by the same functions.
"""
