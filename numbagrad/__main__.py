"""``python -m numbagrad script.py``: a program in which ``import torch`` finds this package."""

import sys

from .running import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
