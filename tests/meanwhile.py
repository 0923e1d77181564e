"""A program: digests of what operators and their gradients compute, with launchers or without.

``python meanwhile.py with|without`` prints a line for each entry of the operator table. Without
launchers Python does the same until another process has compiled one (``builtin.at_hand``).
"""

import hashlib
import sys

import numpy as np
from operator_entry import as_tuple
from operator_table import ENTRIES
from test_run_single import CALLS

import numbagrad as torch
from numbagrad.executor import hand_written
from numbagrad.executor.families import indexing, matmul, pointwise, reduction, rowwise
from numbagrad.ops.operators import program_call

#: Where launchers are asked for.
FAMILIES = hand_written, indexing, matmul, pointwise, program_call, reduction, rowwise


def digest(function, inputs=()):
    """The digest of results and of the gradients of inputs; the text of what is raised."""
    torch.manual_seed(0)
    found = hashlib.sha256()
    results = [x for x in as_tuple(function()) if isinstance(x, torch.Tensor)]
    grown = [x for x in results if x.requires_grad]
    if grown:
        grads = [torch.ones_like(x) for x in grown]
        results += torch.autograd.grad(grown, inputs, grads, allow_unused=True)
    for x in results:
        if x is not None:
            x = x.float() if x.dtype is torch.bfloat16 else x  # which NumPy has no dtype for
            form = x.dtype, tuple(x.shape), x.stride()
            found.update(str(form).encode() + np.ascontiguousarray(x.detach()).tobytes())
    return found.hexdigest()


def tensors_of(entry):
    """Inputs of an entry, of the first dtype that it takes; floats require grad if it has some."""
    dtype = next(x for x in ("float32", "float64", "int64", "bool") if entry.admits(x))
    tensors = [torch.from_numpy(x) for x in entry.draw(dtype)]
    for x in tensors:
        if entry.differentiable and x.is_floating_point():
            x.requires_grad_()
    return tensors


def main(way):
    """Print the digests."""
    if way == "without":
        for family in FAMILIES:
            family.at_hand = lambda *launcher: False
    for entry in ENTRIES:
        tensors = tensors_of(entry)
        inputs = [x for x in tensors if x.requires_grad]
        print(entry.name, digest(lambda e=entry, x=tensors: e.call(torch, *x), inputs))
    for name, (call, _) in CALLS.items():
        print(name, digest(call))


if __name__ == "__main__":
    main(sys.argv[1])
