"""``make gpu`` in the simulator: families go on behind one that fails, and a page is written."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

import numbagrad as torch
from numbagrad.cuda.driver import driver

ROOT = pathlib.Path(__file__).parents[3]


def run(*options):
    """The tool with options, in a process."""
    command = [sys.executable, "tools/cuda_parity.py", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_families_are_run_and_written_down(tmp_path):
    if not driver().is_simulated:  # on a GPU it is what runs this test
        return
    target = tmp_path / "page.md"
    made = run("--output", str(target), "--only", "random", "memory",
               "--few", "test_counts_of_memory", "--limit", "1", "--seconds", "400")  # fmt: skip
    text = target.read_text()
    assert made.returncode == 1, made.stdout + made.stderr
    assert re.search(r"\| random \| \d+ deselected in", text)  # none of its tests: a failure
    assert "| memory | 1 passed" in text
    # What ran to its end is not run again.
    record = tmp_path / "record.json"
    known = {"memory": {"summary": "as before", "details": [], "passed": True, "ended": True}}
    record.write_text(json.dumps(known))
    made = run("--output", str(target), "--only", "memory", "--record", str(record))
    assert made.returncode == 0, made.stdout + made.stderr


def test_the_parts_of_the_page():
    sys.path.insert(0, str(ROOT / "tools"))
    import cuda_parity as tool

    text = "FAILED a.py::b[c] - ValueError: this\nERROR a.py::d\n"
    found = tool.failures(text)
    assert found == ["- failed: `a.py::b[c]`: ValueError: this", "- failed: `a.py::d`"]
    outcomes = {"one": tool.Outcome("1 failed in 2s", found, False), "two": None}
    page = tool.page("a GPU", outcomes, 3.0)
    assert "| one | 1 failed in 2s |" in page and "| two | not run |" in page
    assert "## one" in page and found[0] in page
    assert set(tool.times(False, 1, 2)) == {"numbagrad"}
    listed = {x.partition("::")[0] for tests in tool.FAMILIES.values() for x in tests}
    files = {x.name for x in (ROOT / tool.TESTS).glob("test_*.py")}
    assert listed == files - {pathlib.Path(__file__).name}


def test_rows_are_compared_with_another_library(monkeypatch):
    """With this one in torch's place, and with one of whose results one is wrong."""
    sys.path.insert(0, str(ROOT / "tools"))
    import cuda_parity as tool

    monkeypatch.setattr(tool, "torch_with_cuda", lambda: torch)
    made = tool.beside_torch(4, 600)
    assert re.match(r"[1-9]\d* equal, 0 torch has no such row, 0 .*, 0 differ$", made.summary)
    assert made.passed and made.ended and not made.details
    results_of, calls = tool.results_of, []

    def wrong(*given):
        calls.append(given)
        found = results_of(*given)
        return [x + 1 for x in found] if len(calls) == 1 else found

    monkeypatch.setattr(tool, "results_of", wrong)
    made = tool.beside_torch(1, 600)
    assert made.summary.endswith("1 differ") and not made.passed and len(made.details) == 1


def test_a_family_whose_time_ends_says_what_it_found():
    sys.path.insert(0, str(ROOT / "tools"))
    import cuda_parity as tool

    few = "test_counts_of_memory or test_streams"
    made = tool.run("memory", 0.1, 1, few)
    assert made.summary.startswith("not done after 0 s") and not made.passed and not made.ended


def test_the_page_of_the_house_is_not_written_without_a_gpu():
    if not driver().is_simulated:
        return
    made = run()
    assert made.returncode == 1 and "there is no GPU here" in made.stderr
