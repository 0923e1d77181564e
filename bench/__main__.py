"""Run every benchmark with 1 and with 2 threads and write ``bench/RESULTS.md``.

``python -m bench [--threads 1 2] [-k EXPRESSION]``. Each thread count gets a process of its own,
since OpenBLAS and XLA read theirs only when they start.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
from collections import defaultdict
from importlib.metadata import version

import numbagrad

from .race import Row

HERE = pathlib.Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
#: Tables whose values are printed as they are.
NOT_TIMES = ("Fresh processes", "Peak memory of whole steps, KiB beyond what stays")


def measure(threads: int, expression: str) -> list[Row]:
    """The rows of one thread count."""
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder) / "rows.json"
        environment = {
            **os.environ,
            "BENCH_THREADS": str(threads),
            **{f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "MKL", "OPENBLAS")},
            # Else OpenBLAS's idle threads spin for 0.1 s and take the CPU from the next contestant.
            "OPENBLAS_THREAD_TIMEOUT": "20",
        }
        command = [
            sys.executable, "-m", "pytest", str(HERE), "-q", "-s", "--benchmark-disable-gc",
            "-o", "python_files=bench_*.py", "--rows", str(rows), "-k", expression,
        ]  # fmt: skip
        subprocess.run(command, env=environment, check=True)
        return [Row(**row) for row in json.loads(rows.read_text())]


def cpu_name() -> str:
    path = pathlib.Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def heading() -> list[str]:
    """What was measured, where and how."""
    packages = ("numpy", "numba", "llvmlite", "torch", "jax")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    versions = f"numbagrad {numbagrad.__version__}, {versions}"
    return [
        "# Results",
        "",
        f"Machine: {cpu_name()}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}. {versions}.",
        "",
        "Command: `make bench`. Contestants run in turns in one process (fresh processes in turn",
        "where the row says so), all with the same number of threads; times are medians, and the",
        "ratio is our time over that of the fastest rival in the row, so below 1 is faster.",
    ]


def seconds_text(value: float) -> str:
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def table_text(name: str, rows: list[Row]) -> list[str]:
    contestants = list(dict.fromkeys(n for row in rows for n in row.seconds))
    plain = name in NOT_TIMES
    lines = ["", f"## {name}", ""]
    lines.append("| what | threads | " + " | ".join(contestants) + " | ratio | bar | |")
    lines.append("| --- | --- |" + " --- |" * (len(contestants) + 3))
    for row in rows:
        cells = []
        for contestant in contestants:
            value = row.seconds.get(contestant)
            if value is None:
                cells.append("")
            elif row.work:
                cells.append(f"{row.work / value / 1e9:.1f} GFLOP/s")
            else:
                cells.append(f"{value:.3g}" if plain else seconds_text(value))
        bar = "" if row.bar is None else f"≤ {row.bar:g}"
        met = "" if row.bar is None else ("met" if row.ratio <= row.bar else "**missed**")
        lines.append(
            f"| {row.name} | {row.threads} | {' | '.join(cells)} | {row.ratio:.2f} | {bar} "
            f"| {met} |"
        )
    if len(rows) > 3 and not plain:
        for threads in sorted({row.threads for row in rows}):
            ratios = [row.ratio for row in rows if row.threads == threads]
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            lines.append("")
            lines.append(f"Geometric mean of the ratios, {threads} threads: {mean:.3f}.")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("-k", default="", help="run only benchmarks that match, write no file")
    options = parser.parse_args()
    tables: dict[str, list[Row]] = defaultdict(list)
    for threads in options.threads:
        for row in measure(threads, options.k):
            tables[row.table].append(row)
    text = heading()
    for name, rows in tables.items():
        text += table_text(name, rows)
    print("\n".join(text))
    if not options.k:
        RESULTS.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
