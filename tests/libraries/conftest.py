"""Tests of libraries run under torch's name: ``python -m numbagrad -m pytest tests/libraries``.

Elsewhere they are not collected, since ``torch`` would be another one; under that name a library
that is missing fails.
"""

import os
import sys

os.environ.setdefault("DDE_BACKEND", "pytorch")

if "numbagrad" not in sys.modules or sys.modules.get("torch") is not sys.modules["numbagrad"]:
    collect_ignore_glob = ["test_*.py"]
