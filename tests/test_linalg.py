"""torch.linalg and products of matrices: what the table of operators does not say.

Values and gradients of every function are in ``operator_table.py``; here are errors, ``out``,
singular matrices and the reading of arguments.
"""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.autograd import gradcheck, gradgradcheck

NAN = float("nan")


def matrix(*rows):
    return torch.tensor(rows, dtype=torch.float64, requires_grad=True)


SINGULAR = [[1.0, 2.0], [2.0, 4.0]]


class TestSingular:
    @pytest.mark.parametrize(
        "call",
        [
            lambda a: torch.linalg.inv(a),
            lambda a: torch.linalg.solve(a, torch.ones(2, dtype=torch.float64)),
            lambda a: torch.linalg.matrix_power(a, -1),
            lambda a: torch.linalg.cholesky(-a),
        ],
    )
    def test_raises(self, call):
        with pytest.raises(torch.linalg.LinAlgError, match="is singular|not positive-definite"):
            call(torch.tensor(SINGULAR, dtype=torch.float64))

    def test_gradient_of_a_determinant_of_zero(self):
        """The cofactors, which need no inverse."""
        a = torch.zeros(2, 2, dtype=torch.float64).fill_diagonal_(0)
        a[0, 0] = 3
        a.requires_grad_()
        torch.det(a).backward()
        np.testing.assert_allclose(a.grad.numpy(), [[0, 0], [0, 3]], atol=1e-12)

    @pytest.mark.parametrize("imaginary", [0, 1j])
    @pytest.mark.parametrize("rank", [0, 1, 2, 3])
    def test_two_gradients_of_a_determinant_near_zero(self, rank, imaginary):
        """Matrices of whole numbers, whose computed determinant is 0, or nothing but rounding."""
        draw = np.random.default_rng(rank)
        left, right = (draw.integers(-3, 4, (2, 4, rank)) for _ in range(2))
        left = left + imaginary * draw.integers(-3, 4, left.shape) + 0.0
        a = torch.from_numpy(left @ right.swapaxes(1, 2)).requires_grad_()
        others = [[k for k in range(4) if k != left_out] for left_out in range(4)]
        minors = [
            (-1) ** (i + j) * torch.det(a[:, others[i]][:, :, others[j]])
            for i in range(4)
            for j in range(4)
        ]
        cofactors = torch.stack(minors, -1).reshape(2, 4, 4)
        (first,) = torch.autograd.grad(
            torch.det(a), a, torch.ones(2, dtype=a.dtype), create_graph=True
        )
        torch.testing.assert_close(first, cofactors.conj(), rtol=1e-10, atol=1e-9)
        weights = torch.from_numpy(draw.normal(size=(2, 4, 4)) + 0 * left[:, :, :1].sum())
        found, expected = [
            torch.autograd.grad(x, a, weights, retain_graph=True)[0]
            for x in (first, cofactors.conj())
        ]
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-8)

    def test_its_third_gradient_is_refused(self):
        a = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
        (first,) = torch.autograd.grad(torch.det(a), a, create_graph=True)
        with pytest.raises(RuntimeError, match="singular"):
            torch.autograd.grad(first.sum(), a, create_graph=True)

    def test_logdet_of_a_negative_determinant(self):
        assert np.isnan(torch.logdet(matrix([0.0, 1.0], [1.0, 0.0])).item())


class TestRefused:
    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: torch.linalg.inv(torch.ones(2, 3)), "square matrices.*2 by 3"),
            (lambda: torch.linalg.inv(torch.ones(3)), "at least 2 dimensions"),
            (lambda: torch.linalg.inv(torch.eye(2).long()), "float32 or float64"),
            (lambda: torch.linalg.solve(torch.eye(2), torch.ones(3)), "Incompatible shapes"),
            (lambda: torch.linalg.multi_dot([torch.eye(2)]), "at least 2 tensors"),
            (lambda: torch.linalg.matrix_norm(torch.eye(2), 3), "Order 3 not supported"),
            (lambda: torch.cross(torch.ones(2), torch.ones(2)), "size 3"),
            (lambda: torch.trace(torch.ones(2)), "expected a matrix"),
            (lambda: torch.cdist(torch.ones(2, 3), torch.ones(2, 4)), "same number of columns"),
            (lambda: torch.cdist(torch.ones(2, 3), torch.ones(2, 3), -1), "non-negative p"),
            (lambda: torch.pdist(torch.ones(2, 3, 4)), "only supports 2D tensors, got: 3D"),
            (lambda: torch.pdist(torch.ones(2, 3), -1), "non-negative p"),
            (lambda: torch.pdist(torch.ones(2, 3).long()), "only supports floating-point"),
            (lambda: torch.linalg.qr(torch.ones(2, 3), "full"), "unrecognized mode 'full'"),
            (lambda: torch.linalg.qr(torch.ones(2)), "at least 2 dimensions"),
            (lambda: torch.einsum("ij,jk", torch.ones(2, 3)), "2 terms, but 1 operands"),
            (lambda: torch.einsum("ij", torch.ones(2)), "number of dimensions"),
            (lambda: torch.einsum("ij->k", torch.ones(2, 3)), "output subscript 'k'"),
            (lambda: torch.einsum("i1", torch.ones(2, 3)), "invalid subscript '1'"),
            (lambda: torch.einsum("i,i", torch.ones(2), torch.ones(3)), "does not broadcast"),
            (lambda: torch.quantile(torch.ones(2), 1.5), "range \\[0, 1\\]"),
            (lambda: torch.bincount(torch.tensor([-1])), "non-negative"),
            (lambda: torch.bincount(torch.tensor([2**63 - 1])), "maximum value of input overflow"),
        ],
    )
    def test_says_why(self, call, message):
        with pytest.raises(RuntimeError, match=message):
            call()


class TestReading:
    def test_einsum_takes_lists(self):
        a, b = torch.ones(2, 3), torch.ones(3, 4)
        assert torch.einsum(a, [0, 1], b, [1, 2], [2, 0]).shape == (4, 2)
        assert torch.einsum("ij,jk", [a, b]).shape == (2, 4)
        assert torch.einsum("...j->...", a).tolist() == [3, 3]

    def test_chains_are_multiplied_in_the_cheapest_order(self):
        """From the left the second product would need 10^12 multiplications."""
        tall, wide = torch.ones(10000, 1), torch.ones(1, 10000)
        made = torch.chain_matmul(tall, wide, tall)
        assert made.shape == (10000, 1) and made[0].item() == 10000

    def test_one_triangle_is_read(self):
        a = torch.tensor([[2.0, NAN], [1.0, 4.0]])
        x = torch.linalg.solve_triangular(a, torch.tensor([[2.0], [9.0]]), upper=False)
        assert x.tolist() == [[1], [2]]
        x = torch.linalg.solve_triangular(
            a, torch.tensor([[2.0], [9.0]]), upper=False, unitriangular=True
        )
        assert x.tolist() == [[2], [7]]

    def test_what_only_full_matrices_have_is_arbitrary_and_without_gradient(self):
        a = matrix([1.0, 2.0, 3.0], [0.0, 1.0, 5.0])
        u, s, vh = torch.linalg.svd(a, full_matrices=False)
        assert (u.shape, s.shape, vh.shape) == ((2, 2), (2,), (2, 3))
        full = torch.linalg.svd(a)
        assert full.Vh.shape == (3, 3)
        np.testing.assert_allclose((full.Vh @ full.Vh.mT).detach().numpy(), np.eye(3), atol=1e-12)
        with pytest.raises(RuntimeError, match="no gradient through them; pass full_matrices"):
            full.Vh.sum().backward()

    @pytest.mark.parametrize("p", [1, 1.5, 2, 3, float("inf")])
    def test_coinciding_points_have_no_distance_and_no_gradient(self, p):
        x = torch.ones(2, 3, requires_grad=True)
        for distances in (torch.cdist(x, x.detach(), p), torch.pdist(x, p)):
            (gradient,) = torch.autograd.grad(distances.sum(), x, create_graph=True)
            assert gradient.tolist() == [[0, 0, 0]] * 2
            (second,) = torch.autograd.grad((gradient * x).sum(), x)
            assert second.tolist() == [[0, 0, 0]] * 2

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("p", [1, 2, float("inf")])
    def test_kernels_of_distances_agree_with_their_definition(self, p, dtype):
        """Gradients that are recorded are composed of differences; others have kernels."""
        torch.manual_seed(0)
        x = torch.randn(20, 18, dtype=dtype)
        x[3], x[7, 2] = x[1], NAN
        x.requires_grad_()
        pairs = torch.pdist(x, p)
        apart = torch.triu_indices(20, 20, 1)
        differences = (x[apart[0]] - x[apart[1]]).detach()
        expected = torch.linalg.vector_norm(differences, p, -1)
        torch.testing.assert_close(pairs, expected, equal_nan=True)
        for made in (pairs, torch.cdist(x.view(4, 5, 18), x.view(4, 5, 18).flip(1), p)):
            weights = torch.randn(made.shape, dtype=dtype)
            (direct,) = torch.autograd.grad(made, x, weights, retain_graph=True)
            (recorded,) = torch.autograd.grad(made, x, weights, create_graph=True)
            torch.testing.assert_close(direct, recorded.detach(), equal_nan=True)

    def test_a_matrix_of_few_rows_has_no_pairs(self):
        for rows in (0, 1):
            assert torch.pdist(torch.ones(rows, 3)).shape == (0,)

    def test_a_triangle_alone_has_no_gradient(self):
        x = torch.randn(3, 2, requires_grad=True)
        q, r = torch.linalg.qr(x, mode="r")
        assert q.shape == (0,) and r.shape == (2, 2)
        with pytest.raises(RuntimeError, match="depends on Q, which is not computed when mode="):
            r.sum().backward()

    def test_complete_bases_of_tall_matrices_have_no_gradient(self):
        x = torch.randn(3, 2, requires_grad=True)
        q, r = torch.linalg.qr(x, mode="complete")
        assert q.shape == (3, 3) and r.shape == (3, 2)
        with pytest.raises(RuntimeError, match="not differentiable when mode='complete'"):
            q.sum().backward()

    @pytest.mark.parametrize("shape", [(4, 3), (3, 3), (2, 4)])
    @pytest.mark.parametrize("factor", ["Q", "R"])
    def test_one_factor_of_a_decomposition_has_a_gradient(self, shape, factor):
        x = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda x: getattr(torch.linalg.qr(x), factor), (x,))

    def test_quantile_is_nan_beside_nan(self):
        made = torch.quantile(torch.tensor([[1.0, NAN], [1.0, 2.0]]), 0.5, dim=1)
        assert np.isnan(made[0].item()) and made[1].item() == 1.5


class TestAddedProducts:
    """addmm and its relatives: one node, and an input that is not read where beta is 0."""

    def test_nan_is_not_read(self):
        made = torch.addmm(torch.full((2, 2), NAN), torch.ones(2, 2), torch.ones(2, 2), beta=0)
        assert made.tolist() == [[2, 2], [2, 2]]

    def test_it_still_has_a_gradient(self):
        x = torch.ones(2, requires_grad=True)
        made = torch.addmm(x, torch.ones(3, 2), torch.ones(2, 2), beta=0)
        assert made.grad_fn.name() == "AddmmBackward0"
        made.sum().backward()
        assert x.grad.tolist() == [0, 0]

    @pytest.mark.parametrize("beta", [0, 1])
    def test_shapes_are_checked(self, beta):
        with pytest.raises(RuntimeError, match="must match the existing size"):
            torch.addmm(torch.ones(3, 3), torch.ones(3, 4), torch.ones(4, 2), beta=beta)
        with pytest.raises(RuntimeError, match="same dtype"):
            torch.addmm(torch.ones(2).double(), torch.ones(3, 4), torch.ones(4, 2), beta=beta)

    def test_in_place(self):
        x = torch.ones(2, 2)
        assert x.addmm_(torch.eye(2), torch.eye(2), beta=2, alpha=3) is x
        assert x.tolist() == [[5, 2], [2, 5]]
        with pytest.raises(RuntimeError, match="doesn't match"):
            torch.ones(2).addmm_(torch.eye(2), torch.eye(2))

    def test_integers_take_whole_factors(self):
        x = torch.ones(2, 2, dtype=torch.int64)
        assert torch.addmm(x, x, x, alpha=1.5).tolist() == [[3, 3], [3, 3]]
        with pytest.raises(RuntimeError, match="alpha must not be a floating"):
            torch.addr(x, x[0], x[0], alpha=1.5)

    def test_stacks_broadcast(self):
        a = torch.rand(2, 1, 3, 4, dtype=torch.float64, requires_grad=True)
        b = torch.rand(3, 4, 2, dtype=torch.float64, requires_grad=True)
        assert gradcheck(torch.matmul, (a, b))


class TestOut:
    def test_is_written_and_resized(self):
        for shape in ((2, 2), (5,)):
            out = torch.zeros(shape)
            assert torch.mm(torch.eye(2), torch.eye(2), out=out) is out
            assert out.tolist() == [[1, 0], [0, 1]]

    def test_has_the_dtype_of_the_result(self):
        with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
            torch.mm(torch.eye(2), torch.eye(2), out=torch.zeros(2, 2).double())
        assert torch.cat([torch.ones(1)], out=torch.zeros(1).double()).dtype is torch.float64
        with pytest.raises(TypeError, match="can't be cast"):
            torch.cat([torch.ones(1)], out=torch.zeros(1).long())

    def test_is_not_recorded(self):
        a = torch.eye(2, requires_grad=True)
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            torch.matmul(a, a, out=torch.zeros(2, 2))
        with torch.no_grad():
            assert torch.matmul(a, a, out=torch.zeros(2, 2)).tolist() == [[1, 0], [0, 1]]


class TestLobpcg:
    def matrices(self, *sizes):
        made = torch.from_numpy(np.random.default_rng(5).random(sizes))
        return (made @ made.mT).requires_grad_()

    @pytest.mark.parametrize("largest", [True, False])
    def test_the_outermost_eigenpairs(self, largest):
        a, b = self.matrices(2, 7, 7), self.matrices(7, 7).detach() + torch.eye(7).double()
        for metric in (None, b):
            values, vectors = torch.lobpcg(a, 2, metric, largest=largest)
            known = torch.eye(7).double() if metric is None else metric
            np.testing.assert_allclose(
                (a @ vectors).detach(), (known @ vectors * values[:, None]).detach(), atol=1e-9
            )
            gram = vectors.mT @ known @ vectors
            np.testing.assert_allclose(gram.detach(), np.stack([np.eye(2)] * 2), atol=1e-9)
        everything = np.linalg.eigvalsh(a.detach().numpy())
        expected = everything[:, ::-1][:, :2] if largest else everything[:, :2]
        np.testing.assert_allclose(torch.lobpcg(a, 2, largest=largest)[0].detach(), expected)

    def test_gradients_of_every_order_are_symmetric(self):
        def values_and_squares(a):
            values, vectors = torch.lobpcg(a, 2)
            return values, vectors * vectors  # free of the signs

        a = self.matrices(6, 6)
        assert gradcheck(values_and_squares, a)
        assert gradgradcheck(values_and_squares, a, atol=1e-4)
        values, squares = values_and_squares(a)
        (values.sum() + squares[0].sum()).backward()
        np.testing.assert_allclose(a.grad, a.grad.mT, atol=1e-12)

    def test_refused(self):
        with pytest.raises(ValueError, match="rows .=6. is smaller than 3 x the number .*=3"):
            torch.lobpcg(self.matrices(6, 6), 3)
        with pytest.raises(ValueError, match="method must be one of"):
            torch.lobpcg(self.matrices(6, 6), method="power")
        with pytest.raises(RuntimeError, match="square matrices"):
            torch.lobpcg(torch.ones(3, 6))


class TestDecompositions:
    @pytest.mark.parametrize("shape", [(70, 70), (2, 65, 40), (40, 65), (0, 3), (3, 0), (0, 3, 3)])
    def test_lu_in_blocks(self, shape):
        x = torch.from_numpy(np.random.default_rng(0).normal(size=shape))
        P, L, U = torch.linalg.lu(x)
        np.testing.assert_allclose((P @ L @ U).numpy(), x.numpy(), atol=1e-12)
        assert L.abs().max() <= 1 if L.numel() else True

    def test_zero_pivots(self):
        zero = torch.zeros(2, 2, 2)
        with pytest.raises(torch.linalg.LinAlgError, match=r"U\[1,1\] is zero"):
            torch.linalg.lu_factor(zero)
        made = torch.linalg.lu_factor_ex(zero)
        assert made.info.tolist() == [1, 1] and made.LU.abs().sum() == 0
        with pytest.raises(torch.linalg.LinAlgError, match=r"lu_factor_ex: U\[1,1\] is zero"):
            torch.linalg.lu_factor_ex(zero, check_errors=True)
        assert torch.lu(zero, get_infos=True)[2].tolist() == [1, 1]

    def test_parts_of_lu(self):
        x = torch.arange(6.0).view(2, 3)
        made = torch.lu_unpack(*torch.lu(x), unpack_data=False)
        assert made.P.tolist() == [[0, 1], [1, 0]] and made.L.numel() == made.U.numel() == 0
        made = torch.lu_unpack(*torch.lu(x), unpack_pivots=False)
        assert made.P.numel() == 0 and made.U.tolist() == [[3, 4, 5], [0, 1, 2]]

    def test_failures_are_numbers(self):
        good, bad = torch.eye(3), torch.diag(torch.tensor([1.0, 1.0, -1.0]))
        made = torch.linalg.cholesky_ex(torch.stack([good, bad, -good]))
        assert made.info.tolist() == [0, 3, 1] and made.L[0].tolist() == good.tolist()
        singular = torch.tensor(SINGULAR)
        both = torch.stack([good[:2, :2], singular])
        made = torch.linalg.inv_ex(both)
        assert made.info.tolist() == [0, 2] and made.inverse[0].tolist() == [[1, 0], [0, 1]]
        made = torch.linalg.solve_ex(both, torch.ones(2, 2, 1))
        assert made.info.tolist() == [0, 2] and made.result[0].flatten().tolist() == [1, 1]
        for call, message in (
            (lambda: torch.linalg.cholesky_ex(bad, check_errors=True), "minor of order 3 is not"),
            (lambda: torch.linalg.inv_ex(singular, check_errors=True), "element 2 is zero"),
            (lambda: torch.linalg.solve_ex(singular, good[:2, :2], check_errors=True), "singular"),
        ):
            with pytest.raises(torch.linalg.LinAlgError, match=message):
                call()

    def test_least_squares_returns_what_the_driver_does(self):
        a, b = torch.arange(6.0).view(3, 2), torch.ones(3, 1)
        made = torch.linalg.lstsq(a, b)
        assert made.rank.item() == 2 and not made.residuals.numel()
        made = torch.linalg.lstsq(a, b, driver="gels")
        assert made.residuals.shape == (1,) and not made.rank.numel()
        made = torch.linalg.lstsq(a, b, driver="gelsd")
        values = np.linalg.svd(a.numpy())[1]
        np.testing.assert_allclose(made.singular_values.numpy(), values, rtol=1e-5)
        deficient = torch.linalg.lstsq(torch.ones(3, 2), b, driver="gelsd")
        assert deficient.rank.item() == 1 and not deficient.residuals.numel()
        np.testing.assert_allclose(deficient.solution.numpy(), [[0.5], [0.5]], rtol=1e-6)

    def test_ranks_and_conditions_of_singular_matrices(self):
        singular = torch.tensor(SINGULAR)
        assert torch.linalg.matrix_rank(singular).item() == 1
        assert torch.linalg.matrix_rank(singular, hermitian=True).item() == 1
        assert torch.linalg.matrix_rank(singular, atol=torch.tensor(9.0)).item() == 0
        assert torch.linalg.cond(singular, 1).item() == float("inf")
        assert torch.linalg.matrix_rank(torch.zeros(2, 0, 3)).tolist() == [0, 0]
        assert torch.linalg.pinv(torch.zeros(2, 0, 3)).shape == (2, 3, 0)

    def test_tolerances_of_pseudoinverses(self):
        x = torch.diag(torch.tensor([4.0, 1.0, 0.5]))
        for options, kept in (({"rtol": 0.2}, 2), ({"atol": 2.0}, 1), ({"atol": 0.1}, 3)):
            made = torch.linalg.pinv(x, **options)
            assert (made.diagonal() != 0).sum() == kept
        assert (torch.pinverse(x, 0.2).diagonal() != 0).sum() == 2

    def test_geqrf_is_what_qr_is_made_of(self):
        x = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 4, 3)))
        packed, tau = torch.geqrf(x)
        Q = torch.orgqr(packed, tau)
        np.testing.assert_allclose((Q @ packed[:, :3].triu()).numpy(), x.numpy(), atol=1e-12)
        np.testing.assert_allclose(
            torch.ormqr(packed, tau, Q, transpose=True).numpy()[:, :3],
            np.broadcast_to(np.eye(3), (2, 3, 3)), atol=1e-12)  # fmt: skip

    def test_the_phase_of_eigenvectors_has_no_gradient(self):
        a = matrix([0.0, 1.0], [-1.0, 0.5])
        with pytest.raises(RuntimeError, match="specified up to multiplication by e"):
            torch.linalg.eig(a).eigenvectors.imag.sum().backward()
        with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
            torch.linalg.eig(torch.full((2, 2), float("nan")))

    def test_large_exponentials(self):
        x = torch.tensor([[0.0, 100.0], [-100.0, 0.0]], dtype=torch.float64)
        wanted = [[np.cos(100), np.sin(100)], [-np.sin(100), np.cos(100)]]
        np.testing.assert_allclose(torch.matrix_exp(x).numpy(), wanted, atol=1e-10)
        assert torch.matrix_exp(torch.zeros(2, 0, 0)).shape == (2, 0, 0)
        stack = torch.stack([x, x * 0])  # each is squared as often as it needs
        np.testing.assert_allclose(torch.matrix_exp(stack)[1].numpy(), np.eye(2))

    @pytest.mark.parametrize("name", ["lu", "pinverse", "matrix_exp", "svd", "qr"])
    def test_methods(self, name):
        x = torch.arange(4.0).view(2, 2) + torch.eye(2)
        made, wanted = getattr(x, name)(), getattr(torch, name)(x)
        made, wanted = (y if isinstance(y, tuple) else (y,) for y in (made, wanted))
        for mine, other in zip(made, wanted, strict=True):
            assert mine.tolist() == other.tolist()

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: torch.linalg.lu(torch.eye(2), pivot=False), "LU without pivoting"),
            (lambda: torch.linalg.lu_factor(torch.ones(3)), "2 or more dimensions"),
            (lambda: torch.linalg.lu_solve(*torch.lu(torch.eye(2)), torch.ones(2)), "at least 2"),
            (lambda: torch.linalg.lu_solve(*torch.lu(torch.eye(2)), torch.ones(3, 2)), "2x2 and"),
            (lambda: torch.lu_unpack(torch.eye(2), torch.ones(2)), "torch.int32 dtype"),
            (lambda: torch.linalg.pinv(torch.ones(3)), r"linalg.pinv\(Float\{\[3\]\}\)"),
            (lambda: torch.linalg.matrix_rank(torch.ones(3)), "at least 2 dimensions"),
            (lambda: torch.linalg.cond(torch.eye(2), 3), "invalid norm type: 3"),
            (lambda: torch.linalg.lstsq(torch.ones(2), torch.ones(2)), "at least 2 dimensions"),
            (lambda: torch.linalg.lstsq(torch.eye(2), torch.ones(3, 1)), "should match other"),
            (lambda: torch.linalg.lstsq(torch.eye(2), torch.eye(2), driver="x"), "gels, gelsy"),
            (lambda: torch.matrix_exp(torch.eye(2).long()), "floating point or complex"),
            (lambda: torch.linalg.tensorinv(torch.ones(2, 3), 1), "got 3 != 2"),
            (lambda: torch.linalg.tensorinv(torch.ones(2, 3), 0), "strictly positive integer"),
            (lambda: torch.linalg.tensorsolve(torch.ones(2, 3), torch.ones(2)), "got 3 != 2"),
            (lambda: torch.linalg.vander(torch.ones(2), N=0), "N must be greater than 1"),
            (lambda: torch.vander(torch.ones(2, 2)), "one-dimensional"),
            (lambda: torch.vander(torch.ones(2), N=-1), "non-negative"),
            (lambda: torch.orgqr(torch.ones(2, 3), torch.ones(2)), "greater than or equal to inp"),
            (lambda: torch.orgqr(torch.ones(3, 2), torch.ones(3)), "greater than or equal to tau"),
            (lambda: torch.orgqr(torch.ones(3, 2), torch.ones(1, 2)), "one dimension less"),
            (lambda: torch.ormqr(torch.eye(2), torch.ones(2), torch.ones(3, 2)), "must be equal"),
            (lambda: torch.cholesky_solve(torch.ones(3, 1), torch.eye(2)), "is 2 by 2 but"),
        ],
    )
    def test_refused(self, call, message):
        with pytest.raises((RuntimeError, NotImplementedError), match=message):
            call()


OF_SINGULAR_VALUES = {
    "svd": torch.linalg.svd,
    "svdvals": torch.linalg.svdvals,
    "pinv": torch.linalg.pinv,
    "matrix_rank": torch.linalg.matrix_rank,
    "cond": torch.linalg.cond,
    "nuclear norm": lambda A: torch.linalg.matrix_norm(A, "nuc"),
    "largest singular value": lambda A: torch.linalg.matrix_norm(A, 2),
    "lstsq": lambda A: torch.linalg.lstsq(A, A),
    "gelsd": lambda A: torch.linalg.lstsq(A, A, driver="gelsd"),
}


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
@pytest.mark.parametrize("name", OF_SINGULAR_VALUES)
def test_singular_values_of_what_is_not_finite_are_refused(name, value):
    # LAPACK does not come back from some matrices with infinities.
    for size in (3, 20):
        A = torch.eye(size)
        A[1, 0] = float(value)
        for stack in (A, torch.stack([torch.eye(size), A])):
            with pytest.raises(torch.linalg.LinAlgError, match="non-finite"):
                OF_SINGULAR_VALUES[name](stack)


@pytest.mark.parametrize("upper", [False, True])
def test_triangles_with_steps_between_all_elements(upper):
    drawn = np.random.default_rng(0).standard_normal((4, 4, 2)) + 3 * np.eye(4)[..., None]
    A, B = torch.from_numpy(drawn)[..., 0], torch.from_numpy(drawn)[:, 1:, 1]
    made = torch.linalg.solve_triangular(A, B, upper=upper)
    triangle = np.triu(drawn[..., 0]) if upper else np.tril(drawn[..., 0])
    np.testing.assert_allclose(triangle @ made.numpy(), drawn[:, 1:, 1], rtol=1e-9)
