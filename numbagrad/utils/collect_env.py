"""``torch.utils.collect_env``: what a report of a bug should say of this machine."""

from __future__ import annotations

import platform
import sys

import llvmlite
import numpy

from .._version import __version__
from ..executor.threads.cpus import available_cpus
from ..torch_alias import TORCH_VERSION

__all__ = ["get_pretty_env_info", "main"]


def get_pretty_env_info() -> str:
    """Versions and the processor, a line each."""
    import numba

    return "\n".join(
        (
            f"numbagrad version: {__version__} (as torch {TORCH_VERSION})",
            f"NumPy version: {numpy.__version__}",
            f"Numba version: {numba.__version__}, llvmlite {llvmlite.__version__}",
            f"Python version: {sys.version.split()[0]} ({platform.python_implementation()})",
            f"OS: {platform.platform()}",
            f"CPU: {platform.processor() or platform.machine()}, {available_cpus()} usable",
            "CUDA available: False",
        )
    )


def main() -> None:
    """Print it."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
