"""What is computed is no view, against torch: writes to a result change nothing else."""

import pytest
import torch

import numbagrad


def _factors(t):
    return t.linalg.lu_factor(t.eye(3) * 2)


#: Each returns a result, and an input of it.
CALLS = {
    "vander": lambda t, x: t.vander(x),
    "vander of one column": lambda t, x: t.vander(x, 1),
    "vander of no column": lambda t, x: t.vander(x, 0),
    "vander of two columns": lambda t, x: t.vander(x, 2),
    "vander increasing": lambda t, x: t.vander(x, increasing=True),
    "vander increasing of one column": lambda t, x: t.vander(x, 1, increasing=True),
    "linalg.vander": lambda t, x: t.linalg.vander(x),
    "lu_solve": lambda t, x: t.lu_solve(x.unsqueeze(1), *_factors(t)),
    "lu_solve from the right": lambda t, x: t.linalg.lu_solve(*_factors(t), x[None], left=False),
    "lu_solve adjoint": lambda t, x: t.linalg.lu_solve(*_factors(t), x[:, None], adjoint=True),
    "solve": lambda t, x: t.linalg.solve(t.eye(3), x),
    "solve from the right": lambda t, x: t.linalg.solve(t.eye(3), x[None], left=False),
    "solve_triangular": lambda t, x: t.linalg.solve_triangular(t.eye(3), x[:, None], upper=True),
    "solve_triangular from the right": lambda t, x: t.linalg.solve_triangular(
        t.eye(3), x[None], upper=True, left=False
    ),
    "cholesky_solve": lambda t, x: t.cholesky_solve(x[:, None], t.eye(3)),
    "cholesky": lambda t, x: t.linalg.cholesky(x.diag()),
    "cholesky, upper": lambda t, x: t.linalg.cholesky(x.diag(), upper=True),
    "chain_matmul of one": lambda t, x: t.chain_matmul(x.diag()),
    "matrix_power 1": lambda t, x: t.linalg.matrix_power(x.diag(), 1),
    "inv": lambda t, x: t.linalg.inv(x.diag()),
    **{
        f"fft.{name}": lambda t, x, name=name: getattr(t.fft, name)(x.diag())
        for name in (
            "fft", "rfft", "irfft", "hfft", "ihfft", "fft2", "rfft2", "irfft2", "ihfft2", "hfft2",
            "fftn", "rfftn", "irfftn", "ihfftn", "hfftn", "fftshift",
        )
    },
}  # fmt: skip


def seen(library, call):
    x = library.arange(1.0, 4.0)
    made = call(library, x)
    found = [made._is_view(), made._base is None, made is x]
    before = made._version  # not always 0: some of torch's write their results in place
    made.mul_(2)
    found += [made._version - before, x.tolist()]
    y = library.arange(1.0, 4.0).requires_grad_()
    with library.no_grad():
        made = call(library, y)
    made.mul_(2)
    return [*found, made.requires_grad, made.grad_fn is None]


@pytest.mark.parametrize("name", CALLS)
def test_results_are_no_views(name):
    assert seen(numbagrad, CALLS[name]) == seen(torch, CALLS[name])


def test_a_product_of_one_matrix_is_a_copy():
    for library in (torch, numbagrad):
        x = library.ones(2, 2)
        library.chain_matmul(x).zero_()
        assert x.sum() == 4


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("shape", [(40,), (3, 40)])
@pytest.mark.parametrize("center", [False, True])
def test_spectra_are_no_views_but_of_their_parts(shape, center, requires_grad):
    for return_complex in (True, False):
        found = []
        for t in (torch, numbagrad):
            x = t.ones(shape, requires_grad=requires_grad)
            made = t.stft(x, 8, window=t.ones(8), center=center, return_complex=return_complex)
            found.append((made.shape, made.stride(), made._is_view(), made._base is None))
        assert found[0] == found[1]
