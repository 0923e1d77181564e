"""Run the tests of ``cuda`` on a GPU, family by family, and write what they said.

    make gpu
    python tools/cuda_parity.py --seconds 480

The tests are those that run in Numba's simulator otherwise (``tests/cuda/simulated``): against the
CPU, float64 as well. Rows of the operator table are compared with torch's CUDA where that is
installed, and the two-layer net is timed beside it. Each family is a process of its own, so that
one that fails, hangs or loses the GPU takes no other with it; the page, bench/RESULTS-cuda.md, is
written after each. Nothing is downloaded. What does not fit into ``--seconds`` is named as not run;
a family whose time ends says what it found until then. With ``--record FILE`` a later call goes on
where one ended: families that ran to their end are not run again.
Without a GPU nothing is written, but for ``--output`` in the simulator, which tries this file.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

ROOT = pathlib.Path(__file__).parent.parent
TARGET = ROOT / "bench" / "RESULTS-cuda.md"
TESTS = "tests/cuda/simulated"
STEPS, ROUNDS = 200, 5

#: Families in the order of what is most worth knowing: what they are, and the tests that they run.
FAMILIES: dict[str, list[str]] = {
    "memory": ["test_memory.py", "test_streams.py"],
    "training": ["test_training.py", "test_optimizers.py"],
    "net": [],
    "formulas": ["test_operators.py::test_formulas"],
    "operators": ["test_operators.py::test_other_operators_or_the_name_of_what_is_missing"],
    "torch": [],  # whose kernels were compiled by the two before, in several processes
    "asserts": ["test_asserts.py", "test_synchronisations.py"],
    "layers": ["test_losses.py", "test_recurrent.py", "test_attention.py", "test_windows.py"],
    "random": ["test_random.py"],
    "programs": ["test_programs_of_users.py", "test_interchange.py"],
    "complex numbers": ["test_operators.py::test_complex_numbers"],
    "half precision": ["test_operators.py::test_half_precision"],
    "functions": ["test_counting.py", "test_decompositions.py"],
    "second formulas": ["test_operators.py::test_gradients_of_gradients_of_formulas"],
    "second operators": ["test_operators.py::test_gradients_of_gradients_of_other_operators"],
}


@dataclasses.dataclass
class Outcome:
    """What a family said: one line, and lines below it."""

    summary: str
    details: list[str]
    passed: bool
    ended: bool = True


# --- families that are no tests -------------------------------------------------------------------


def step_of(library: Any, compiled: bool, width: int = 64) -> Callable[[], None]:
    """A training step of the two-layer net of a library with torch's names, on its GPU."""
    library.manual_seed(0)
    net = library.nn.Sequential(
        library.nn.Linear(width, 2 * width), library.nn.ReLU(), library.nn.Linear(2 * width, 10)
    ).to("cuda")
    steps = library.optim.SGD(net.parameters(), lr=0.01)
    batch = 4 * width
    x, y = library.randn(batch, width, device="cuda"), library.randn(batch, 10, device="cuda")

    def step() -> None:
        steps.zero_grad()
        library.nn.functional.mse_loss(net(x), y).backward()
        steps.step()

    made: Callable[[], None] = library.compile(step) if compiled else step
    return made


def times(compiled: bool, steps: int, width: int = 64) -> dict[str, float]:
    """Microseconds of a step of each library, measured in turn: the median of rounds."""
    import numbagrad

    libraries = {"numbagrad": numbagrad}
    if (torch := torch_with_cuda()) is not None:
        libraries["torch"] = torch
    calls = {name: step_of(library, compiled, width) for name, library in libraries.items()}
    found: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(ROUNDS + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(steps):
                call()
            libraries[name].cuda.synchronize()
            if turn:  # the first one compiles
                found[name].append((time.perf_counter() - start) / steps * 1e6)
    return {name: statistics.median(values) for name, values in found.items()}


def net(limit: int, seconds: float) -> Outcome:
    """The two-layer net, eager and compiled."""
    rows = ["", "| two-layer net, microseconds a step | numbagrad | torch |", "| --- | --- | --- |"]
    for compiled in (False, True):
        made = times(compiled, limit or STEPS)
        shown = [f"{made[name]:.1f}" if name in made else "" for name in ("numbagrad", "torch")]
        rows.append(f"| {'compiled' if compiled else 'eager'} | {' | '.join(shown)} |")
    return Outcome("timed", rows, True)


def torch_with_cuda() -> Any:
    """torch, if it is installed and sees a GPU; else None."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch if torch.cuda.is_available() else None


def beside_torch(limit: int, seconds: float) -> Outcome:
    """Results and gradients of rows of the operator table, beside torch's on the same GPU."""
    end = time.monotonic() + 0.8 * seconds  # the rest is for imports, and what a row takes
    torch = torch_with_cuda()
    if torch is None:
        return Outcome("torch with CUDA is not installed: not compared", [], True)
    torch.backends.cudnn.allow_tf32 = False  # by default its convolutions round to ten bits
    sys.path.insert(0, str(ROOT / "tests"))
    from operator_table import ENTRIES, POINTWISE_ENTRIES

    import numbagrad

    entries = [*POINTWISE_ENTRIES, *ENTRIES][: limit or None]
    counts = {"equal": 0, "torch has no such row": 0, "differ as on the CPU": 0}
    differing = []
    for number, entry in enumerate(entries):
        if time.monotonic() > end:
            counts["rows were not reached"] = len(entries) - number
            break
        for dtype in [x for x in ("float32", "float64") if entry.admits(x)]:
            arrays = entry.draw(dtype)
            expected = results_of(torch, entry, arrays)
            if isinstance(expected, Exception):
                counts["torch has no such row"] += 1
                continue
            found = results_of(numbagrad, entry, arrays)
            why = difference(found, expected, 1e-4 if dtype == "float32" else 1e-8)
            if why and entry.name in OTHERWISE:
                counts["differ as on the CPU"] += 1
            elif why:
                differing.append(f"- `{entry.name}` of {dtype}: {why}")
            else:
                counts["equal"] += 1
    summary = ", ".join([f"{count} {what}" for what, count in counts.items()])
    done = "rows were not reached" not in counts
    return Outcome(f"{summary}, {len(differing)} differ", differing, done and not differing, done)


def results_of(library: Any, entry: Any, arrays: Any, device: str = "cuda") -> Any:
    """Results of a row and gradients of their sum, as ndarrays; or the exception."""
    try:
        inputs = [library.tensor(x).to(device) for x in arrays]
        inputs = [x.requires_grad_() if entry.differentiable and x.is_floating_point() else x
                  for x in inputs]  # fmt: skip
        with library.device(device):
            made = entry.call(library, *inputs)
        made = list(made) if isinstance(made, tuple | list) else [made]
        made = [x for x in made if isinstance(x, library.Tensor)]
        roots = [x for x in made if x.requires_grad]
        leaves = [x for x in inputs if x.requires_grad]
        grads: Any = []
        if roots and leaves:
            weights = [library.ones_like(x) for x in roots]
            grads = library.autograd.grad(roots, leaves, weights, allow_unused=True)
        return [None if x is None else x.numpy(force=True) for x in (*made, *grads)]
    except Exception as error:
        return error


def difference(found: Any, expected: Any, tolerance: float) -> str:
    """In which way results differ; empty if they do not."""
    import numpy as np

    if isinstance(found, Exception):
        return f"{type(found).__name__}: {str(found)[:150]}"
    if len(found) != len(expected):
        return f"{len(found)} results where torch has {len(expected)}"
    for number, (own, other) in enumerate(zip(found, expected, strict=True)):
        if own is None or other is None:
            continue
        if own.shape != other.shape:
            return f"result {number} has shape {own.shape} where torch has {other.shape}"
        if not np.allclose(own, other, tolerance, tolerance, equal_nan=True):
            away = np.abs(np.subtract(own, other, dtype=np.complex128)).max()
            return f"result {number} is {away:.2g} away"
    return ""


#: Rows that differ from torch's on the CPU as well, and why.
OTHERWISE = {
    "as_strided_scatter": "torch gives the elements beside those written a gradient of 0",
}

OWN = {"net": net, "torch": beside_torch}


# --- running --------------------------------------------------------------------------------------


def command_of(family: str, seconds: float, limit: int, few: str) -> list[str]:
    """The command that runs a family."""
    if family in OWN:
        own = ["--family", family, "--limit", str(limit), "--seconds", str(seconds)]
        return [sys.executable, __file__, *own]
    tests = [f"{TESTS}/{x}" for x in FAMILIES[family]]
    command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", *tests]
    if not few and importlib.util.find_spec("xdist") is not None:
        # Kernels are compiled by the processes, which share what they have on disk, and the GPU.
        command += ["--numprocesses", str(min(8, os.cpu_count() or 1)), "--dist", "worksteal"]
    return [*command, *(["-k", few] if few else [])]


def run(family: str, seconds: float, limit: int, few: str) -> Outcome:
    """A family in a process, which is asked to end when its time is over, and then is ended."""
    command, pipe = command_of(family, seconds, limit, few), subprocess.PIPE
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )
    late, (said, errors) = "", ("", "")
    for signalled, more in ((signal.SIGINT, seconds), (signal.SIGKILL, 20), (signal.SIGKILL, 20)):
        try:
            said, errors = process.communicate(timeout=more)
            break
        except subprocess.TimeoutExpired:
            late = f"not done after {seconds:.0f} s"
            # To all processes of the tests: pytest then says what it has found until now.
            os.killpg(process.pid, signalled)
    print(said[-3000:], errors[-2000:], flush=True)
    if family in OWN:
        if late or process.returncode:
            last = (errors.strip().splitlines() or ["no output"])[-1]
            return Outcome(
                late or f"ended with {process.returncode}: {last[:200]}", [], False, not late
            )
        return Outcome(**json.loads(said.strip().splitlines()[-1]))
    found = re.findall(r"^=*\s*((?:\d+ \w+(?:, )?)+ in [\d.]+s)", said, re.M)
    summary = found[-1] if found else "" if late else f"ended with {process.returncode}, no summary"
    summary = ": ".join([x for x in (late, summary) if x])
    return Outcome(summary, failures(said), process.returncode == 0 and not late, not late)


def failures(text: str) -> list[str]:
    """The tests that failed, with the first words of why."""
    found = re.findall(r"^(?:FAILED|ERROR) (\S+)(?: - (.*))?$", text, re.M)
    return [f"- failed: `{name}`{f': {why[:150]}' if why else ''}" for name, why in found]


def page(where: str, outcomes: dict[str, Outcome | None], seconds: float) -> str:
    """The page, with what is known by now."""
    lines = ["# On a GPU", "", f"Written by `tools/cuda_parity.py` on {where}, in {seconds:.0f} s.",
             "", "| family | what it said |", "| --- | --- |"]  # fmt: skip
    for family, outcome in outcomes.items():
        lines.append(f"| {family} | {'not run' if outcome is None else outcome.summary} |")
    for family, outcome in outcomes.items():
        if outcome is not None and outcome.details:
            lines += ["", f"## {family}", "", *outcome.details]
    return "\n".join([*lines, ""])


def main() -> None:
    """Run the families and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3600.0, help="for all families together")
    parser.add_argument("--output", type=pathlib.Path, default=TARGET)
    parser.add_argument("--only", nargs="*", choices=FAMILIES, help="these families alone")
    parser.add_argument("--record", type=pathlib.Path, help="what families said, to go on from")
    parser.add_argument("--few", default="", help="of the tests those that pytest's -k names")
    parser.add_argument("--limit", type=int, default=0, help="rows beside torch; steps of the net")
    parser.add_argument("--family", choices=OWN, help=argparse.SUPPRESS)
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT))  # for where the package is not installed
    if given.family:
        print(json.dumps(dataclasses.asdict(OWN[given.family](given.limit, given.seconds))))
        return
    import numbagrad

    simulated = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
    if not numbagrad.cuda.is_available() or (simulated and given.output == TARGET):
        sys.exit("there is no GPU here: nothing was run, and nothing is written")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    found = numbagrad.cuda.get_device_properties()
    where = f"{found.name} (compute capability {found.major}.{found.minor})"
    started = time.monotonic()
    outcomes: dict[str, Outcome | None] = dict.fromkeys(given.only or FAMILIES)
    if given.record and given.record.exists():
        known = json.loads(given.record.read_text())
        outcomes |= {name: Outcome(**known[name]) for name in outcomes if name in known}
    for family in [name for name, known in outcomes.items() if known is None or not known.ended]:
        left = given.seconds - (time.monotonic() - started)
        if left < 5:
            break
        # No family takes what belongs to those behind it, but for what these are sure to leave.
        outcomes[family] = run(
            family, min(left, max(given.seconds / 4, 60)), given.limit, given.few
        )
        given.output.write_text(page(where, outcomes, time.monotonic() - started))
        if given.record:
            said = {x: dataclasses.asdict(made) for x, made in outcomes.items() if made is not None}
            given.record.write_text(json.dumps(said))
    sys.exit(0 if all([x is not None and x.passed for x in outcomes.values()]) else 1)


if __name__ == "__main__":
    main()
