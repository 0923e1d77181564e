"""How kernels run in this process: decided when it starts, for good.

``NUMBAGRAD_DISABLE_JIT=1`` runs every kernel as the Python function that it is, so that a debugger
can step through it; nothing is compiled. ``NUMBAGRAD_NATIVE=0`` runs compiled kernels, but calls
them from Python: no launcher that reads Python's objects from memory is compiled or used. So it is,
with a line of log, where objects do not lie as launchers expect (``native/probes.py``).
"""

from __future__ import annotations

import logging
import os

from ..native.probes import disagreement

#: Whether kernels run as Python.
JIT_DISABLED = os.environ.get("NUMBAGRAD_DISABLE_JIT", "0") not in ("", "0")

#: Whether compiled launchers are used.
NATIVE = not JIT_DISABLED and os.environ.get("NUMBAGRAD_NATIVE", "1") not in ("", "0")

if NATIVE and (found := disagreement()) is not None:
    NATIVE = False
    logging.getLogger("numbagrad").warning(
        "%s: compiled launchers are off, and small operators take longer", found
    )
