"""One process of a job: what ``numbagrad.distributed.run`` has MPI start on each rank.

It sets the variables that ``torchrun`` sets, runs the script as Python would, and ends the job if
that raises or exits with a code.
"""

from __future__ import annotations

import os
import runpy
import sys

from ..executor.threads.cpus import available_cpus
from ..executor.threads.pool import set_num_threads
from . import failure
from .communicator import Communicator

__all__ = ["main"]


def _set_environment(ranks: Communicator) -> None:
    from . import mpi

    position, count = mpi.local_position()
    os.environ.update({
        "RANK": str(ranks.rank), "WORLD_SIZE": str(ranks.size), "LOCAL_RANK": str(position),
        "LOCAL_WORLD_SIZE": str(count), "GROUP_RANK": str(ranks.rank // count),
        "GROUP_WORLD_SIZE": str(-(-ranks.size // count)), "ROLE_RANK": str(ranks.rank),
        "ROLE_WORLD_SIZE": str(ranks.size), "ROLE_NAME": "default",
    })  # fmt: skip
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")
    os.environ.setdefault("TORCHELASTIC_RUN_ID", "numbagrad")
    if "NUMBAGRAD_NUM_THREADS" not in os.environ and "OMP_NUM_THREADS" not in os.environ:
        # As many threads as the cores of this machine give each of its processes.
        os.environ["NUMBAGRAD_NUM_THREADS"] = str(max(1, available_cpus() // count))
        set_num_threads(max(1, available_cpus() // count))


def _run(arguments: list[str]) -> None:
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.realpath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")


def main(arguments: list[str]) -> None:
    """Run a script, or a module behind ``-m``, with its arguments."""
    from . import mpi

    ranks = mpi.ranks_of_job()
    _set_environment(ranks)
    failure.end_job_on_error(ranks.rank)
    try:
        _run(arguments)
    except SystemExit as error:
        _exit(ranks.rank, error)


def _exit(rank: int, error: SystemExit) -> None:
    """Exit as a script asked for; with a code other than 0 the job ends."""
    if error.code in (None, 0):
        raise error
    if not isinstance(error.code, int):
        print(error.code, file=sys.stderr)
    failure.end_job(rank, error.code if isinstance(error.code, int) else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
