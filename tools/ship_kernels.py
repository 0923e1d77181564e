"""Compiles the kernels that come with the package, for every level of CPUs, ahead of a wheel.

``python tools/ship_kernels.py [level ...]`` runs the programs of ``numbagrad/warming.py`` in
processes that compile for x86-64-v3 and record what they look up, and compiles that for each level
(``codegen/loader.py``). Other vectors are printed other kernels: x86-64-v4 has a run of its own, on
a CPU that has these. Writes ``numbagrad/shipped/<level>.kernels``.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

from numbagrad.codegen import loader
from numbagrad.executor.cache import shipped
from numbagrad.executor.cache.library import Kernel, shared_kernels, shipped_key
from numbagrad.warming import PROGRAMS

_RECORD = """
import pickle, sys
from numbagrad.executor.cache import library
from numbagrad.warming import run_program
found = []
library.listener = found.append
run_program(sys.argv[1])
with open(sys.argv[2], "wb") as file:
    pickle.dump(found, file)
"""

_COMPILE = """
import pickle, sys
from numbagrad.executor.cache import library
with open(sys.argv[1], "rb") as file:
    kernels = pickle.load(file)
with open(sys.argv[2], "wb") as file:
    pickle.dump(dict(map(library.compile_ahead, kernels)), file)
"""


def _start(code: str, level: str, folder: pathlib.Path, *arguments: object) -> subprocess.Popen:
    """A process that compiles for a level, with a cache of its own."""
    environment = {
        **os.environ,
        "NUMBAGRAD_TARGET": level,
        "NUMBAGRAD_CACHE_DIR": str(folder / level),
        "NUMBAGRAD_SHIPPED": "0",
    }
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, env=environment)


def _finish(processes: list[subprocess.Popen]) -> None:
    for process in processes:
        if process.wait():
            raise SystemExit(f"{process.args!r} failed with status {process.returncode}")


def _in_turn(starts: list[tuple]) -> None:
    """Run processes, as many at a time as there are CPUs."""
    count = os.cpu_count() or 1
    for first in range(0, len(starts), count):
        _finish([_start(*arguments) for arguments in starts[first : first + count]])


def recorded(level: str, folder: pathlib.Path) -> list[Kernel]:
    """The kernels that the programs look up in processes that compile for ``level``."""
    paths = {name: folder / f"{level}-{name}.recorded" for name in PROGRAMS}
    _in_turn([(_RECORD, level, folder, name, path) for name, path in paths.items()])
    found = [kernel for path in paths.values() for kernel in pickle.loads(path.read_bytes())]
    found += shared_kernels()
    unique = {(k.name, k.source, k.signature, k.module, k.fastmath, k.code): k for k in found}
    return list(unique.values())


def compiled(level: str, kernels: list[Kernel], folder: pathlib.Path) -> dict[str, bytes]:
    """The object files of kernels for ``level``, by their keys there."""
    count = os.cpu_count() or 1
    starts, results = [], []
    for part in range(count):
        given, result = folder / f"{level}-{part}.given", folder / f"{level}-{part}.objects"
        given.write_bytes(pickle.dumps(kernels[part::count]))
        starts.append((_COMPILE, level, folder, given, result))
        results.append(result)
    _in_turn(starts)
    return {
        shipped_key(content, level): data
        for path in results
        for content, data in pickle.loads(path.read_bytes()).items()
    }


def main(arguments: list[str]) -> None:
    """Write the files of the levels that the command line names, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("levels", nargs="*", metavar="level", help=", ".join(loader.LEVELS))
    levels = parser.parse_args(arguments).levels or list(loader.LEVELS)
    unknown = [level for level in levels if level not in loader.LEVELS]
    if unknown:
        parser.error(f"no level {unknown[0]!r}; there are {', '.join(loader.LEVELS)}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        usual = recorded("x86-64-v3", folder)
        for level in levels:
            wide = level == "x86-64-v4"
            if wide and loader.host_level() != level:
                print(f"{level}: this CPU does not run it; left out")
                continue
            kernels = recorded(level, folder) if wide else usual
            objects = compiled(level, kernels, folder)
            path = shipped.FOLDER / f"{level}.kernels"
            shipped.write(path, objects)
            print(f"{path.name}: {len(objects)} kernels, {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
