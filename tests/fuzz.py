"""Random programs in torch and numbagrad: ``make fuzz EXAMPLES=20000``.

Prints what it finds, each as a short program, and how many operators were called: how many
statements ran in numbagrad, and how many nodes of the graph their gradients went through. The same
programs come again with the same ``--seed``; ``parity/test_fuzz.py`` runs a few, drawn with
hypothesis. Most of the time goes into compiling the kernels of every combination of dtypes, so each
program runs with ``--inputs`` sets of elements and sizes, which need no others; with
``NUMBAGRAD_DISABLE_JIT=1`` kernels run as Python, and a cold cache is no hindrance.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import fuzz_check
import fuzz_compile
from fuzz_programs import Program, written_program

#: So many times is one kind of statement looked at that differs, since causes may be several.
REPORTS = 5


class Fuzzer:
    """Counts, and prints once, what differs."""

    def __init__(self, folder: Path, inputs: int) -> None:
        self.folder = folder
        self.inputs = inputs
        self.number = itertools.count()
        self.found: Counter[str] = Counter()
        self.seen: set[str] = set()

    def failed(self, program: Program) -> None:
        """The comparison itself does not get through a program."""
        self.found["not compared"] += 1
        if self.found["not compared"] <= REPORTS:
            traceback.print_exc()
            print(program, flush=True)

    def eager(self, program: Program) -> None:
        deviation = fuzz_check.deviation(program.lines)
        if deviation is None:
            return
        self.found[deviation.kind()] += 1
        if self.found[deviation.kind()] <= REPORTS:
            text, consists = fuzz_check.report(program.lines)
            if consists not in self.seen:
                self.seen.add(consists)
                print(text, flush=True)

    def compiled(self, program: Program) -> None:
        what = fuzz_compile.compiled_deviation(program, self.folder, next(self.number))
        if what:
            self.found["compiled"] += 1
            print(what, fuzz_compile.source(program, "numbagrad"), sep="\n", flush=True)

    def run(self, seed: int, number: int, compiled: bool) -> None:
        """Write one program and run it; the seed and its number say which it is."""
        draw = random.Random(f"{seed} {number} {compiled}")
        program = written_program(draw.randint, compiled, 8 if compiled else 14)
        fuzz_check.counts["programs"] += 1
        if compiled:
            self.checked(self.compiled, program)
            return
        self.checked(self.eager, program)
        for step in range(1, self.inputs):
            self.checked(self.eager, program.with_other_inputs(step))

    def checked(self, check: Callable[[Program], None], program: Program) -> None:
        try:
            check(program)
        except Exception:  # counted as found, so that the others are run
            self.failed(program)


def main() -> int:
    """Run as many programs as were asked for, one of twenty through compile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--compiled", type=int, help="how many of them; one of twenty else")
    parser.add_argument("--inputs", type=int, default=8, help="sets of elements for a program")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    compiled = asked.examples // 20 if asked.compiled is None else asked.compiled
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(Path(folder), asked.inputs)
        for number in range(asked.examples):
            fuzzer.run(asked.seed, number, compiled=number >= asked.examples - compiled)
            if (number + 1) % 250 == 0:
                passed = time.perf_counter() - started
                print(f"[{passed:.0f} s] {dict(fuzz_check.counts)}", flush=True)
    passed = time.perf_counter() - started
    print(f"[{passed:.0f} s] {dict(fuzz_check.counts)}", flush=True)
    for kind, count in fuzzer.found.most_common():
        print(f"{count:6} x {kind}")
    return 1 if fuzzer.found else 0


if __name__ == "__main__":
    sys.exit(main())
