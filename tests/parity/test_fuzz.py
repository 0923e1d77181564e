"""A fixed number of random programs beside live torch; ``make fuzz`` runs as many as one likes.

``fuzz_programs.py`` writes them, ``fuzz_check.py`` and ``fuzz_compile.py`` run and compare them. A
failure prints the shortest program that shows it.
"""

from __future__ import annotations

import itertools

import fuzz_check
import fuzz_compile
import hypothesis
from fuzz_programs import Program, programs
from hypothesis import HealthCheck

#: What fails is made short by ``fuzz_check.report``, which knows what a line is.
the_same_each_time = {
    "phases": [hypothesis.Phase.generate],
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
}


@hypothesis.settings(max_examples=400, **the_same_each_time)
@hypothesis.given(programs())
def test_random_programs(program: Program) -> None:
    if fuzz_check.deviation(program.lines) is not None:
        raise AssertionError(fuzz_check.report(program.lines)[0])


def test_random_programs_compiled(tmp_path) -> None:
    number = itertools.count()
    before = fuzz_check.counts["programs of compile"]

    @hypothesis.settings(max_examples=40, **the_same_each_time)
    @hypothesis.given(programs(for_compile=True, longest=8))
    def run(program: Program) -> None:
        what = fuzz_compile.compiled_deviation(program, tmp_path, next(number))
        assert not what, what + "\n" + fuzz_compile.source(program, "numbagrad")

    run()
    assert fuzz_check.counts["programs of compile"] > before
