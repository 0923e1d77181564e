"""Run the tests of ``cuda`` on a GPU, and write what they said to bench/RESULTS-cuda.md.

    make gpu

The tests are those that run in Numba's simulator otherwise (``tests/cuda/simulated``): the operator
table against the CPU, transfers, training. Then the two-layer net is timed, eager and compiled, and
beside torch where torch with CUDA is installed. Nothing is written without a GPU.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
from typing import Any

ROOT = pathlib.Path(__file__).parent.parent
TARGET = ROOT / "bench" / "RESULTS-cuda.md"
STEPS, ROUNDS = 200, 5


def step_of(library: Any, compiled: bool) -> Any:
    """A training step of the two-layer net of a library with torch's names, on its GPU."""
    library.manual_seed(0)
    net = library.nn.Sequential(
        library.nn.Linear(64, 128), library.nn.ReLU(), library.nn.Linear(128, 10)
    ).to("cuda")
    steps = library.optim.SGD(net.parameters(), lr=0.01)
    x, y = library.randn(256, 64, device="cuda"), library.randn(256, 10, device="cuda")

    def step() -> None:
        steps.zero_grad()
        library.nn.functional.mse_loss(net(x), y).backward()
        steps.step()

    return library.compile(step) if compiled else step


def microseconds(library: Any, compiled: bool) -> float:
    """The median time of a step, the GPU waited for at the end of each round."""
    step = step_of(library, compiled)
    for _ in range(20):
        step()
    library.cuda.synchronize()
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(STEPS):
            step()
        library.cuda.synchronize()
        rounds.append((time.perf_counter() - start) / STEPS * 1e6)
    return statistics.median(rounds)


def torch_with_cuda() -> Any:
    """torch, if it is installed and sees a GPU; else None."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch if torch.cuda.is_available() else None


def main() -> None:
    """Run the tests, then the net, and write both down."""
    import numbagrad

    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") != "0" or not numbagrad.cuda.is_available():
        sys.exit("there is no GPU here: nothing was run, and nothing is written")
    properties = numbagrad.cuda.get_device_properties()
    command = [sys.executable, "-m", "pytest", "-q", "tests/cuda/simulated"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    print(made.stdout[-4000:], made.stderr[-2000:])
    summary = re.findall(r"^=*\s*(\d+ .*? in [\d.]+s.*?)=*$", made.stdout, re.M)
    failed = re.findall(r"^FAILED (\S+)", made.stdout, re.M)
    lines = [
        "# On a GPU",
        "",
        f"Written by `make gpu` on {properties.name} "
        f"(compute capability {properties.major}.{properties.minor}).",
        "",
        f"Tests of `tests/cuda/simulated` on it: {summary[-1].strip() if summary else '?'}",
        *[f"- failed: `{name}`" for name in failed],
        "",
        "| two-layer net, a step | microseconds |",
        "| --- | --- |",
    ]
    libraries = [("numbagrad", numbagrad), ("torch", torch_with_cuda())]
    for name, library in libraries:
        for compiled in (False, True):
            shown = f"{microseconds(library, compiled):.1f}" if library is not None else ""
            lines.append(f"| {name}, {'compiled' if compiled else 'eager'} | {shown} |")
    TARGET.write_text("\n".join([*lines, ""]))
    sys.exit(made.returncode)


if __name__ == "__main__":
    main()
