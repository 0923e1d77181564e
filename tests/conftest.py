"""Settings of all tests."""

import os

# Tests know what is compiled when; tests/test_background.py has other processes compile.
os.environ.setdefault("NUMBAGRAD_BACKGROUND", "0")
