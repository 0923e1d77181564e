"""The workloads in processes of their own, each with one library and one number of threads.

XLA and OpenMP settle their threads when they start, and idle threads of one library would disturb
another in the same process. ``bench_compile.py`` starts a ``Process`` for each pair and asks it, in
turns with the others, to run a step for a while; only one of them runs at a time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from .race import calls_in_a_turn, time_of_calls
from .workloads import WORKLOADS

#: Steps before any timing, whose results tell whether all contestants compute the same.
FIRST_STEPS = 3


class Process:
    """A process that runs workloads with one library; each method is one question to it."""

    def __init__(self, library: str, threads: int):
        count = str(threads)
        environment = {
            **os.environ,
            **{f"{name}_NUM_THREADS": count for name in ("OMP", "MKL", "OPENBLAS", "NUMBAGRAD")},
            "OPENBLAS_THREAD_TIMEOUT": "20",
            # XLA: threads inside an operation, and the size of its pool.
            "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}",
            "NPROC": count,
            "JAX_PLATFORMS": "cpu",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.contestant", library, count],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True,
        )  # fmt: skip

    def ask(self, *question: Any) -> None:
        """Send a question; the answer is read by ``answer``."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """The answer to the question asked first."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args} ended with {self._process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


class _Steps:
    """The side that is asked: the steps of one library."""

    def __init__(self, library: str, threads: int):
        self._library = __import__(library)
        self._ready: dict[tuple[str, bool], tuple[Callable[[], Any], int]] = {}
        if library != "jax":
            self._library.set_num_threads(threads)

    def prepare(self, workload: str, compiled: bool) -> list[float]:
        """Make a step and warm it up; the mean of what each of the first steps returned."""
        run = self._make(workload, compiled)
        found = [_mean(run()) for _ in range(FIRST_STEPS)]
        self._ready[workload, compiled] = run, 0
        return found

    def turn(self, workload: str, compiled: bool) -> float:
        """Seconds a step."""
        run, calls = self._ready[workload, compiled]
        if not calls:
            calls = calls_in_a_turn(run)
            self._ready[workload, compiled] = run, calls
        run()
        return time_of_calls(run, calls)

    def drop(self) -> None:
        """Forget the steps made so far."""
        self._ready.clear()

    def _make(self, workload: str, compiled: bool) -> Callable[[], Any]:
        library = self._library
        if library.__name__ == "jax":
            return WORKLOADS[workload].make_jax()
        task = WORKLOADS[workload].make(library)
        step = library.compile(task.step) if compiled else task.step
        return lambda: step(*task.arguments)


def _mean(result: Any) -> float:
    import numpy as np

    first = result[0] if isinstance(result, tuple) else result
    if hasattr(first, "detach"):
        first = first.detach().numpy()
    return float(np.mean(np.asarray(first), dtype=np.float64))


def main(library: str, threads: int) -> None:
    """Answer questions, one a line; what libraries print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    steps = _Steps(library, threads)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        answers.write(json.dumps(getattr(steps, name)(*arguments)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
