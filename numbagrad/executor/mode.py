"""How kernels run in this process, as two environment variables say when it starts.

``NUMBAGRAD_DISABLE_JIT=1`` runs every kernel as the Python function that it is, so that a debugger
can step through it; nothing is compiled. ``NUMBAGRAD_NATIVE=0`` runs compiled kernels, but calls
them from Python: no launcher that reads Python's objects from memory is compiled or used.
"""

from __future__ import annotations

import os

#: Whether kernels run as Python.
JIT_DISABLED = os.environ.get("NUMBAGRAD_DISABLE_JIT", "0") not in ("", "0")

#: Whether compiled launchers are used.
NATIVE = not JIT_DISABLED and os.environ.get("NUMBAGRAD_NATIVE", "1") not in ("", "0")
