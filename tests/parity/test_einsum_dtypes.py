"""``einsum`` of two dtypes: torch multiplies where nothing is contracted, else it refuses."""

import itertools

import numpy as np
import pytest
import torch as oracle

import numbagrad

#: Equations, and the sizes of their operands.
EQUATIONS = {
    "i,j->ij": ((3,), (4,)),
    "ij,jk->ijk": ((3, 2), (2, 4)),
    "ij,ij->ij": ((3, 2), (3, 2)),
    "ij,ij->": ((3, 2), (3, 2)),
    "ij,jk->ik": ((3, 2), (2, 4)),
    "ij,jk->ki": ((3, 1), (1, 4)),
    "ij,jk": ((3, 1), (2, 4)),
    "bij,bjk->bik": ((2, 3, 1), (2, 4, 5)),
    "bij,bjk->bki": ((2, 3, 4), (2, 1, 5)),
    "aij,aij->a": ((2, 1, 3), (2, 4, 1)),
    "ij,j->i": ((3, 1), (1,)),
}
DTYPES = ["int32", "int64", "float32", "float64", "complex64"]


def outcome(torch, equation, dtypes, gradients=False):
    operands = [
        torch.tensor((np.arange(np.prod(size)).reshape(size) % 5 - 1.5).astype(dtype))
        for size, dtype in zip(EQUATIONS[equation], dtypes, strict=True)
    ]
    if gradients:
        operands = [x.requires_grad_() for x in operands]
    try:
        result = torch.einsum(equation, *operands)
    except RuntimeError:
        return None
    found = [result.detach()]
    if gradients:
        found += torch.autograd.grad(result.square().sum(), operands)
    return [(str(x.dtype), x.tolist()) for x in found]


@pytest.mark.parametrize("dtypes", itertools.product(DTYPES, DTYPES), ids="-".join)
@pytest.mark.parametrize("equation", EQUATIONS)
def test_dtypes(equation, dtypes):
    found, expected = [outcome(torch, equation, dtypes) for torch in (numbagrad, oracle)]
    assert found == expected


@pytest.mark.parametrize("equation", EQUATIONS)
def test_gradients(equation):
    dtypes = ("float64", "float64")
    found, expected = [outcome(torch, equation, dtypes, True) for torch in (numbagrad, oracle)]
    assert found == expected
