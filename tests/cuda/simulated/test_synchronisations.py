"""What waits for the device: reading a scalar, and the operators of a list that has the reason.

``docs/cuda.md`` has the list as a table, which ``tools/write_cuda_table.py`` writes.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from device_cases import on
from operator_entry import as_tuple
from operator_table import ENTRIES

import numbagrad as torch
from numbagrad.cuda import library
from numbagrad.cuda.driver import driver

#: Why operators wait, and the rows of the operator table that do, without what follows a "-".
WAITS = {
    "the size of the result depends on values": "bincount segment_reduce",
    "a number is read, as in torch": "istft matrix_exp",
    "the gradient depends on whether a matrix is singular": "det",
    "it is asked whether a matrix has a result, full rank, or a gradient of phases": (
        "linalg_cholesky_ex linalg_cond linalg_eig linalg_eigvals linalg_inv_ex linalg_lstsq "
        "linalg_solve_ex linalg_svd lu_solve"
    ),
}


def waits_of(entry):
    """How often the host waits in a call of a row, and in its backward."""
    dtype = next(x for x in ("float32", "float64", "int64", "bool") if entry.admits(x))
    inputs = on("cuda", entry.draw(dtype), entry.differentiable)
    before = driver().waits
    with torch.device("cuda"):
        made = as_tuple(entry.call(torch, *inputs))
    forward = driver().waits - before
    roots = [x for x in made if isinstance(x, torch.Tensor) and x.requires_grad]
    leaves = [x for x in inputs if x.requires_grad]
    if roots and leaves:
        weights = [torch.ones_like(x) for x in roots]
        torch.autograd.grad(roots, leaves, weights, allow_unused=True)
    return forward, driver().waits - before - forward


@pytest.mark.parametrize("part", range(6))
def test_what_waits_is_listed(part):
    """CuPy may wait inside of its functions, as those of linear algebra and ``nonzero`` do."""
    waiting = set()
    known = {x for names in WAITS.values() for x in names.split()}
    entries = ENTRIES[part::6]
    for entry in entries:
        if waits_of(entry) != (0, 0):
            waiting.add(entry.name.partition("-")[0])
    assert waiting <= known


def test_reading_waits_once():
    x = torch.arange(4.0, device="cuda")
    for read in (lambda: x[0].item(), lambda: bool(x[1]), x.tolist, x.cpu, lambda: float(x[2])):
        before = driver().waits
        read()
        assert driver().waits == before + 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("compiled", [False, True])
def test_a_step_of_training_waits_for_nothing(compiled):
    """Eager and compiled, with indices, classes, dropout and a scheduler."""
    torch.manual_seed(0)
    nn = torch.nn
    net = nn.Sequential(nn.Embedding(7, 4), nn.LayerNorm(4), nn.Flatten(), nn.Linear(8, 3)).cuda()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)

    def step(x, y):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    run = torch.compile(step) if compiled else step
    x = torch.randint(7, (5, 2), device="cuda")
    y = torch.randint(3, (5,), device="cuda")
    for turn in range(6):
        before = driver().waits
        run(x, y)
        schedule.step()
        assert driver().waits == before or (compiled and turn < 4)


def test_the_page_of_the_docs_has_these_tables():
    if not driver().is_simulated:  # it tells of what is defined, wherever
        return
    command = [sys.executable, "tools/write_cuda_table.py", "--check"]
    subprocess.run(command, cwd=pathlib.Path(__file__).parents[3], check=True)


def test_the_library_refuses_nothing_that_is_left_to_it():
    assert library.refused == set()
