"""Runs shipped kernels for aarch64 under qemu, and compares their numbers with this machine's.

``python tools/emulate_aarch64.py`` needs qemu-aarch64 (Debian's qemu-user), apt-get and pip, which
bring a Python for aarch64 into a folder; and ``numbagrad/shipped/aarch64.kernels``, which
``tools/ship_kernels.py aarch64`` writes. Nothing is installed on this machine.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).parents[1]
FAMILIES = ROOT / "tools" / "aarch64_families.py"
#: Of Debian: the interpreter and what it loads.
_PACKAGES = (
    "libc6", "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "zlib1g",
    "libexpat1", "libssl3", "libffi8", "libbz2-1.0", "liblzma5", "libstdc++6", "libgcc-s1",
    "libuuid1",
)  # fmt: skip
#: Of PyPI.
_WHEELS = ("numpy", "llvmlite", "numba")


def prepare(folder: pathlib.Path) -> None:
    """Bring an interpreter for aarch64, and what the package needs, into a folder."""
    debs, lists, wheels = folder / "debs", folder / "lists", folder / "wheels"
    for path in (debs, lists / "partial", wheels, folder / "root", folder / "site"):
        path.mkdir(parents=True, exist_ok=True)
    apt = ["apt-get", "-oAPT::Architecture=arm64", "-oAPT::Architectures=arm64",
           f"-oDir::State::Lists={lists}"]  # fmt: skip
    subprocess.run([*apt, "update"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*apt, "download", *_PACKAGES], check=True, cwd=debs, stdout=subprocess.DEVNULL)
    for path in debs.glob("*.deb"):
        subprocess.run(["dpkg", "-x", path, folder / "root"], check=True)
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (17, 27, 28)]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
           "--python-version=3.11", "--implementation=cp", *platforms]  # fmt: skip
    subprocess.run([*pip, "-d", wheels, *_WHEELS], check=True)
    for path in wheels.glob("*.whl"):
        shutil.unpack_archive(path, folder / "site", "zip")


def emulate(folder: pathlib.Path, result: pathlib.Path) -> None:
    """Compute the families under the emulator."""
    variables = {
        "PYTHONPATH": f"{folder / 'site'}:{ROOT}",
        "NUMBAGRAD_CACHE_DIR": str(folder / "cache"),
        "NUMBAGRAD_NUM_THREADS": "1",
    }
    root = folder / "root"
    given = [word for name, value in variables.items() for word in ("-E", f"{name}={value}")]
    command = ["qemu-aarch64", "-L", root, *given, root / "usr/bin/python3.11", "-S", FAMILIES]
    subprocess.run([*command, result, "aarch64"], check=True, cwd=folder)


def compare(ours: pathlib.Path, theirs: pathlib.Path) -> None:
    """Raise unless all numbers agree to rounding; print how far each family differs.

    The difference is given over the largest number of the family: the gradients of a product of
    70 by 90 reach 16,000, where a last place of float32 is 1e-3.
    """
    one, other = np.load(ours), np.load(theirs)
    for name in one.files:
        np.testing.assert_allclose(other[name], one[name], rtol=2e-5, atol=2e-5, err_msg=name)
        difference = np.abs(other[name] - one[name]).max() / np.abs(one[name]).max()
        print(f"{name:20} {difference:.1e} of the largest number")


def main() -> None:
    """Prepare, compute twice, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "aarch64")
    folder = parser.parse_args().folder.resolve()
    if not (folder / "site" / "numba").is_dir():
        prepare(folder)
    here, there = folder / "here.npz", folder / "there.npz"
    subprocess.run([sys.executable, FAMILIES, here], check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    emulate(folder, there)
    compare(here, there)


if __name__ == "__main__":
    main()
