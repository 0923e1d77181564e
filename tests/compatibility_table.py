"""The table of compatibility with torch: the rows of every section.

``test_compatibility.py`` runs each row with numbagrad, ``parity/test_compatibility.py`` with torch
beside it, and ``tools/write_compatibility.py`` writes ``docs/torch-compatibility.md`` from it.
"""

import compatibility_creation
import compatibility_function
import compatibility_function_gradient
import compatibility_function_memory
import compatibility_gradcheck
import compatibility_graph
import compatibility_inplace
import compatibility_legacy_function
import compatibility_legacy_program
import compatibility_legacy_tensor
import compatibility_nn

SECTIONS = {
    "Functions of 2017": compatibility_legacy_function.ROWS,
    "Tensors of 2017": compatibility_legacy_tensor.ROWS,
    "Programs of 2017": compatibility_legacy_program.ROWS,
    "Creation and conversion": compatibility_creation.ROWS,
    "The modern Function": compatibility_function.ROWS,
    "The gradient of a Function": compatibility_function_gradient.ROWS,
    "What a Function saves and writes": compatibility_function_memory.ROWS,
    "Writing in place": compatibility_inplace.ROWS,
    "Tensors and nodes of a graph": compatibility_graph.ROWS,
    "Checks of gradients": compatibility_gradcheck.ROWS,
    "nn as the extending guides use it": compatibility_nn.ROWS,
}

ROWS = [row for rows in SECTIONS.values() for row in rows]
