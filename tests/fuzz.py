"""Random programs in torch and numbagrad: ``make fuzz EXAMPLES=20000``.

Prints what it finds, each as a short program, and how many operators were called: how many
statements ran in numbagrad, and how many nodes of the graph their gradients went through. The same
programs come again with the same ``--seed``; ``parity/test_fuzz.py`` runs a few.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import fuzz_check
import fuzz_compile
import hypothesis
from fuzz_programs import Program, programs

#: So many times is one kind of statement looked at that differs, since causes may be several.
REPORTS = 5


class Fuzzer:
    """Counts, and prints once, what differs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
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

    def chunk(self, seed: int, examples: int, compiled: bool) -> None:
        """Run some programs."""
        check: Callable[[Program], None] = self.compiled if compiled else self.eager

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(programs(compiled, 8 if compiled else 14))
        def run(program: Program) -> None:
            fuzz_check.counts["programs"] += 1
            try:
                check(program)
            except Exception:  # counted as found, so that the others are run
                self.failed(program)

        run()


def main() -> int:
    """Run as many programs as were asked for, one of twenty through compile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--compiled", type=int, help="how many of them; one of twenty else")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    compiled = asked.examples // 20 if asked.compiled is None else asked.compiled
    started = time.perf_counter()
    parts = [(k, False) for k in range(0, asked.examples - compiled, 250)]
    parts += [(k, True) for k in range(0, compiled, 50)]
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(Path(folder))
        for begin, through_compile in parts:
            count = min(50, compiled - begin) if through_compile else min(
                250, asked.examples - compiled - begin)  # fmt: skip
            fuzzer.chunk(asked.seed + begin, count, through_compile)
            passed = time.perf_counter() - started
            print(f"[{passed:.0f} s] {dict(fuzz_check.counts)}", flush=True)
    for kind, count in fuzzer.found.most_common():
        print(f"{count:6} x {kind}")
    return 1 if fuzzer.found else 0


if __name__ == "__main__":
    sys.exit(main())
