"""Each rank of an MPI job runs these tests; a test that fails on one rank ends the job."""

from __future__ import annotations

import os
import sys

import pytest
from mpi4py import MPI

from numbagrad import distributed


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if MPI.COMM_WORLD.size < 2:
        pytest.exit("start these tests with mpiexec -n 2, or -n 4: see `make mpi`", returncode=2)
    if MPI.COMM_WORLD.rank:  # rank 0 speaks for all
        config.get_terminal_writer()._file = open(os.devnull, "w")


def pytest_internalerror(excrepr):
    sys.__stderr__.write(f"{excrepr}\n")
    MPI.COMM_WORLD.Abort(2)


def pytest_runtest_logreport(report):
    if report.failed:
        sys.__stderr__.write(f"rank {MPI.COMM_WORLD.rank}: {report.nodeid}\n{report.longrepr}\n")
        sys.__stderr__.flush()
        MPI.COMM_WORLD.Abort(1)


@pytest.fixture(autouse=True)
def world():
    """A default group for each test; returns the rank, and how many ranks there are."""
    distributed.init_process_group("mpi")
    yield distributed.get_rank(), distributed.get_world_size()
    distributed.destroy_process_group()
