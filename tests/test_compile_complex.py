"""Complex tensors that a compiled function makes, fills and copies: compiled and uncompiled agree.

Programs compute with real numbers. What has no arithmetic in it, a constant or a copy, goes part by
part; arithmetic of complex numbers sends the function back to Python.
"""

from __future__ import annotations

import warnings

import pytest
from compile_checks import lockstep

import numbagrad as torch


def written(x):
    z = x.to(torch.complex64).reshape(2, 2).clone()
    z[0] = 1j
    z[:, 1].fill_(2 - 1j)
    return z, z.real, torch.zeros_like(z).imag


FUNCTIONS = {
    "zeros_like": lambda x: (torch.zeros_like(x, dtype=torch.complex64), x * 2),
    "full": lambda x: (torch.full((2, 2), 1 + 2j), x * 2),
    "ones and zeros of other kinds": lambda x: (
        torch.ones(2, dtype=torch.complex64),
        torch.zeros(3, dtype=torch.complex128),
        x.exp(),
    ),
    "nothing": lambda x: (torch.zeros(0, dtype=torch.complex64), x * 2),
    "a transposed copy": lambda x: (x.to(torch.complex128).reshape(2, 2).t().contiguous(),),
    "an expanded copy": lambda x: (
        torch.full((4,), 2j).expand(3, 4).contiguous(),
        x.to(torch.complex64).expand(2, 4).clone(),
    ),
    "a stack": lambda x: (
        torch.stack([x.to(torch.complex64), torch.zeros(4, dtype=torch.complex64)]),
    ),
    "copy_": lambda x: (torch.zeros(4, dtype=torch.complex64).copy_(x), x + 1),
    "cat, flip and roll": lambda x: (
        torch.cat([x.to(torch.complex64), x.to(torch.complex64)]).flip(0).roll(1),
    ),
    "writes": written,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_tensors_in_compiled_functions(name):
    function = FUNCTIONS[name]
    compiled = torch.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of arithmetic that runs uncompiled
        for call in range(5):
            x = torch.tensor([1.0 * call, 2.0, 3.0, -call])
            for found, expected in zip(compiled(x), function(x), strict=True):
                assert found.dtype == expected.dtype
                assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scans(name, dim):
    """Forward, and with the gradient, which scans from the other end."""
    scan = getattr(torch, name)

    def walked(x):
        (made,) = torch.autograd.grad(scan(x, dim).real.square().sum(), x)
        return made.abs()

    def arguments(k):
        return (torch.randn(2, 3, dtype=torch.complex128, requires_grad=True),)

    lockstep(lambda: lambda x: scan(x.detach(), dim).real, arguments, 4)
    lockstep(lambda: walked, arguments, 4)
