"""Tests of libraries run under torch's name: ``python -m numbagrad -m pytest tests/libraries``.

Elsewhere they are not collected, since ``torch`` would be another one; under that name a library
that is missing fails.
"""

import os
import sys

os.environ.setdefault("DDE_BACKEND", "pytorch")

if getattr(sys.modules.get("torch"), "__name__", "") != "numbagrad":
    collect_ignore = ["test_libraries.py"]
