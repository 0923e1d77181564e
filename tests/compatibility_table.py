"""The table of compatibility with torch: the rows of every section.

``test_compatibility.py`` runs each row with numbagrad, ``parity/test_compatibility.py`` with torch
beside it, and ``tools/write_compatibility.py`` writes ``docs/torch-compatibility.md`` from it.
"""

import compatibility_creation
import compatibility_function
import compatibility_legacy
import compatibility_nn

SECTIONS = {
    "The 2017 era": compatibility_legacy.ROWS,
    "Creation and conversion": compatibility_creation.ROWS,
    "The modern Function": compatibility_function.ROWS,
    "nn as the extending guides use it": compatibility_nn.ROWS,
}

ROWS = [row for rows in SECTIONS.values() for row in rows]
