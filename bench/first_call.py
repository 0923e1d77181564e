"""A script: seconds of the first and of the first three calls of the compiled two-layer step.

``python -m bench.first_call numbagrad|torch``. Started by ``bench_compile_process.py`` with a
cache that is empty or that an earlier process has filled. Importing the library does not count.
"""

from __future__ import annotations

import sys
import time

from .workloads import WORKLOADS


def main(library: str) -> None:
    """Print both times."""
    torch = __import__(library)
    task = WORKLOADS["two_layer"].make(torch)
    start = time.perf_counter()
    step = torch.compile(task.step)
    seconds = []
    for _ in range(3):
        step(*task.arguments)
        seconds.append(time.perf_counter() - start)
    print(seconds[0], seconds[-1])


if __name__ == "__main__":
    main(sys.argv[1])
