"""Complex tensors: values against NumPy, gradients by gradcheck, and what surrounds them."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest
from complex_table import COMPLEX_ENTRIES, ComplexEntry

import numbagrad as t
from numbagrad.autograd import forward_ad, gradcheck, gradgradcheck
from numbagrad.func import jacfwd, jacrev, vmap


def leaves(entry: ComplexEntry) -> list[t.Tensor]:
    return [t.tensor(x).requires_grad_() for x in entry.draw()]


BY_NAME = {entry.name: entry for entry in COMPLEX_ENTRIES}
named = pytest.mark.parametrize("entry", COMPLEX_ENTRIES, ids=BY_NAME)

#: Entries whose gradients of gradients, tangents and batches are checked too: one of each kind.
THOROUGHLY = "mul mul-real div pow abs angle sgn tanh mm vdot view_as_real polar sum lerp".split()


class TestOperators:
    @named
    @pytest.mark.parametrize("double", [True, False], ids=["complex128", "complex64"])
    def test_value_is_that_of_numpy(self, entry: ComplexEntry, double: bool) -> None:
        given = entry.draw()
        if not double and "dtype" not in entry.name and "to-" not in entry.name:
            given = [x.astype(np.complex64 if x.dtype.kind == "c" else np.float32) for x in given]
        expected = np.asarray(entry.reference(*[x.astype(x.dtype.char) for x in given]))
        made = entry.call(t, *[t.tensor(x) for x in given]).resolve_conj().numpy()
        assert made.dtype.kind == expected.dtype.kind and made.shape == expected.shape
        rtol, atol = (1e-12, 1e-14) if double else (2e-5, 1e-6)
        np.testing.assert_allclose(made, expected, rtol=rtol, atol=atol)

    @named
    def test_gradient_is_that_of_differences(self, entry: ComplexEntry) -> None:
        gradcheck(lambda *x: entry.call(t, *x), leaves(entry))

    @pytest.mark.parametrize("name", THOROUGHLY)
    @pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
    def test_tangents_batches_and_second_gradients(self, name: str, fast: bool) -> None:
        entry = BY_NAME[name]

        def call(*x: t.Tensor) -> t.Tensor:
            return entry.call(t, *x)

        gradcheck(
            call, leaves(entry), check_forward_ad=True, check_batched_grad=True,
            check_batched_forward_grad=True, fast_mode=fast,
        )  # fmt: skip
        gradgradcheck(call, leaves(entry), fast_mode=fast)

    @pytest.mark.parametrize("name", ["mul", "exp", "abs"])
    def test_operands_may_lie_in_memory_as_they_like(self, name: str) -> None:
        entry = BY_NAME[name]
        given = entry.draw()
        spaced = [t.tensor(np.repeat(x, 2, axis=-1))[..., ::2] for x in given]
        np.testing.assert_array_equal(
            entry.call(t, *spaced).numpy(), entry.call(t, *map(t.tensor, given)).numpy()
        )

    def test_a_product_is_the_same_for_any_number_of_threads(self) -> None:
        z = t.randn(200_000, dtype=t.complex64)
        before = t.get_num_threads()
        try:
            t.set_num_threads(1)
            alone = (z * z).numpy()
            t.set_num_threads(4)
            np.testing.assert_array_equal((z * z).numpy(), alone)
        finally:
            t.set_num_threads(before)

    @pytest.mark.parametrize("draw", [t.rand, t.randn])
    def test_one_number_is_drawn_as_the_first_of_many(self, draw: Any) -> None:
        t.manual_seed(0)
        one = draw((), dtype=t.complex128)
        t.manual_seed(0)
        assert one.shape == () and one.item() == draw(1, dtype=t.complex128).item()

    def test_arrays_of_numpy_are_operands(self) -> None:
        x, array = t.tensor([1.0, 2.0]), np.array([1j, 2])
        made = x * array
        assert made.dtype == t.complex128
        np.testing.assert_array_equal(made.numpy(), [1j, 4])
        made = x.requires_grad_() * array  # NumPy asks for the function of tensors
        made.abs().sum().backward()
        assert x.grad is not None and x.grad.tolist() == [1, 2]

    def test_quotients_do_not_overflow_on_the_way(self) -> None:
        z = t.tensor([1e30 + 1e30j], dtype=t.complex64)
        assert (z / z).item() == 1

    def test_an_order_of_complex_numbers_is_refused(self) -> None:
        z = t.tensor([1j, 2.0])
        for call in (lambda: z < z, lambda: z.max(), lambda: z.sort(), lambda: z.median(),
                     lambda: z.clamp(0, 1), lambda: t.relu(z), lambda: t.minimum(z, z),
                     lambda: z.cummax(0), lambda: z.floor(), lambda: z // 2, lambda: z % 2,
                     lambda: t.softmax(z, 0), lambda: t.erf(z)):  # fmt: skip
            with pytest.raises(RuntimeError, match=r"not implemented|not supported|complex"):
                call()

    def test_equality_is_that_of_both_parts(self) -> None:
        z = t.tensor([1 + 1j, 1 - 1j, 1.0])
        assert (z == 1 + 1j).tolist() == [True, False, False]
        assert (z != z.real).tolist() == [True, True, False]


class TestDtypes:
    def test_numbers_decide_the_dtype_as_in_torch(self) -> None:
        assert t.tensor([1j]).dtype is t.complex64
        assert (t.ones(2) * 1j).dtype is t.complex64
        assert (t.ones(2, dtype=t.float64) * 1j).dtype is t.complex128
        assert (t.ones(2, dtype=t.int64) * 1j).dtype is t.complex64
        assert t.promote_types(t.complex64, t.float64) is t.complex128
        assert t.promote_types(t.complex64, t.int64) is t.complex64
        assert t.result_type(t.ones(2), t.tensor(1j, dtype=t.complex128)) is t.complex64

    def test_the_default_dtype_decides_that_of_numbers(self) -> None:
        try:
            t.set_default_dtype(t.float64)
            assert t.tensor(1j).dtype is t.complex128
        finally:
            t.set_default_dtype(t.float32)

    def test_imaginary_parts_are_not_dropped_by_writing(self) -> None:
        with pytest.raises(RuntimeError, match="result type ComplexFloat can't be cast"):
            t.zeros(2).add_(1j)
        with pytest.raises(RuntimeError, match="without overflow"):
            t.zeros(2).fill_(1j)
        with pytest.raises(TypeError, match="must be real number, not complex"):
            t.tensor([1j], dtype=t.float32)
        with pytest.raises(RuntimeError, match="without overflow"):
            float(t.tensor(1j))

    def test_text_shows_both_parts_at_a_common_width(self) -> None:
        assert repr(t.tensor([1 + 2j, -1.5 - 3e-5j])) == (
            "tensor([ 1.0000+2.0000e+00j, -1.5000-3.0000e-05j])"
        )
        assert repr(t.tensor(1j, dtype=t.complex128)) == "tensor(0.+1.j, dtype=torch.complex128)"

    def test_copies_keep_the_values(self) -> None:
        z = t.tensor([1 + 2j, 3j])
        buffer = io.BytesIO()
        t.save(z, buffer)
        buffer.seek(0)
        assert t.load(buffer).tolist() == z.tolist()
        assert pickle.loads(pickle.dumps(z)).tolist() == z.tolist()


class TestParts:
    def test_parts_are_views(self) -> None:
        z = t.tensor([1 + 2j, 3j])
        z.real[0] = 5
        z.imag = t.tensor([1.0, 1.0])
        assert z.tolist() == [5 + 1j, 1j]
        assert t.view_as_real(z).data_ptr() == z.data_ptr()

    def test_real_tensors_have_no_imaginary_part(self) -> None:
        x = t.ones(2)
        assert x.real is x and x.conj() is x
        with pytest.raises(RuntimeError, match="imag is not implemented"):
            x.imag  # noqa: B018
        with pytest.raises(RuntimeError, match="view_as_real is only supported"):
            t.view_as_real(x)
        with pytest.raises(RuntimeError, match="last dimension of size 2"):
            t.view_as_complex(t.ones(3))

    def test_a_write_through_a_part_has_a_gradient(self) -> None:
        def function(z: t.Tensor) -> t.Tensor:
            copy = z * 1
            copy.real.mul_(z.imag)
            return copy * copy

        assert gradcheck(function, t.randn(3, dtype=t.complex128, requires_grad=True))

    def test_a_part_follows_writes_to_its_base(self) -> None:
        def function(z: t.Tensor) -> t.Tensor:
            copy = z * 1
            parts = t.view_as_real(copy)
            copy.mul_(2j)
            return parts * parts

        assert gradcheck(function, t.randn(3, dtype=t.complex128, requires_grad=True))

    def test_a_complex_view_may_write_its_real_base(self) -> None:
        def function(x: t.Tensor) -> t.Tensor:
            copy = x * 1
            t.view_as_complex(copy).mul_(1 + 2j)
            return copy * copy

        assert gradcheck(function, t.randn(3, 2, dtype=t.float64, requires_grad=True))


class TestAutograd:
    def test_the_gradient_points_along_the_steepest_ascent(self) -> None:
        z = t.tensor([3 + 4j], requires_grad=True)
        z.abs().sum().backward()
        assert z.grad is not None
        np.testing.assert_allclose(z.grad.numpy(), [0.6 + 0.8j], rtol=1e-6)

    def test_a_complex_scalar_needs_a_gradient(self) -> None:
        z = t.tensor([1j], requires_grad=True)
        with pytest.raises(RuntimeError, match="only for real scalar outputs but got"):
            z.sum().backward()
        with pytest.raises(RuntimeError, match="required to have the same dtype"):
            z.sum().backward(t.tensor(1.0))

    def test_a_real_operand_gets_a_real_gradient(self) -> None:
        x = t.tensor([2.0], requires_grad=True)
        (x * (1 + 1j)).abs().sum().backward()
        assert x.grad is not None and x.grad.dtype is t.float32

    def test_nothing_flows_where_the_distance_is_zero(self) -> None:
        z = t.zeros(1, dtype=t.complex64, requires_grad=True)
        (z.abs() + z.angle()).sum().backward()
        assert z.grad is not None and z.grad.tolist() == [0]

    def test_a_function_may_not_give_a_complex_gradient_to_a_real_input(self) -> None:
        class Turned(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 1j

        x = t.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match="input_is_complex == grad_is_complex"):
            Turned.apply(x).sum().backward()

    def test_hooks_and_accumulation(self) -> None:
        z = t.tensor([1 + 1j], requires_grad=True)
        seen = []
        z.register_hook(lambda grad: seen.append(grad.tolist()))
        for _ in range(2):
            (z * z.conj()).real.sum().backward()
        assert seen == [[2 + 2j]] * 2 and z.grad is not None and z.grad.tolist() == [4 + 4j]

    def test_a_wrong_gradient_is_found_in_the_imaginary_part(self) -> None:
        class Wrong(t.autograd.Function):
            @staticmethod
            def forward(ctx, z):
                return z * 1j

            @staticmethod
            def backward(ctx, grad):
                return grad * 1j  # the conjugate is due

        z = t.randn(2, dtype=t.complex128, requires_grad=True)
        with pytest.raises(RuntimeError, match="imaginary part of complex outputs only"):
            gradcheck(Wrong.apply, z)
        with pytest.raises(RuntimeError, match="imaginary part of complex outputs only"):
            gradcheck(Wrong.apply, z, fast_mode=True)

    def test_a_tangent_of_a_complex_function(self) -> None:
        with forward_ad.dual_level():
            z = forward_ad.make_dual(t.tensor([1 + 1j]), t.tensor([1j]))
            tangent = forward_ad.unpack_dual(z * z).tangent
        assert tangent.tolist() == [-2 + 2j]

    def test_samples_of_a_batch(self) -> None:
        z = t.randn(3, 2, dtype=t.complex128)
        made = vmap(lambda row: (row.conj() * row).sum().real)(z)
        np.testing.assert_allclose(made.numpy(), (abs(z.numpy()) ** 2).sum(1))

    @pytest.mark.parametrize("name", [
        "SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD",
        "Rprop",
    ])  # fmt: skip
    def test_a_complex_parameter_is_updated_as_its_two_parts(self, name: str) -> None:
        z = t.tensor([1 + 2j, 3 - 1j], dtype=t.complex128, requires_grad=True)
        parts = t.view_as_real(z.detach().clone()).requires_grad_()
        first, second = (getattr(t.optim, name)([p], lr=0.1) for p in (z, parts))
        for _ in range(3):
            z.grad = z.detach() * 2
            parts.grad = parts.detach() * 2
            first.step()
            second.step()
        np.testing.assert_allclose(t.view_as_real(z.detach()).numpy(), parts.detach().numpy())

    def test_jacobians_of_complex_functions_are_refused(self) -> None:
        z = t.tensor([1j])
        for jacobian in (jacrev, jacfwd):
            with pytest.raises(RuntimeError, match="Expected all inputs to be real"):
                jacobian(lambda z: z.real)(z)
        with pytest.raises(RuntimeError, match="only for real scalar outputs"):
            t.autograd.functional.jacobian(lambda z: z * z, z)

    def test_modules_may_become_complex(self) -> None:
        layer = t.nn.Linear(2, 2).to(t.complex64)
        assert layer(t.ones(1, 2, dtype=t.complex64)).dtype is t.complex64

    def test_a_compiled_function_leaves_complex_arithmetic_to_python(self) -> None:
        @t.compile
        def function(z: t.Tensor) -> t.Tensor:
            return (z * z + 1).abs()

        z = t.randn(4, dtype=t.complex128)
        for _ in range(4):
            np.testing.assert_allclose(function(z).numpy(), abs(z.numpy() ** 2 + 1))


# --- numbers, whose parts have a dimension that they have not -------------------------------------


@pytest.mark.parametrize(
    ("function", "expected", "gradients"),
    [
        (lambda x, y, i: x.index_add(0, i, y), 4 + 1j, (1, 1)),
        (lambda x, y, i: x.index_add(0, i, y, alpha=2), 7 + 0j, (1, 2)),
        (lambda x, y, i: (x * 1).index_add_(0, i, y), 4 + 1j, (1, 1)),
        (lambda x, y, i: x.index_copy(0, i, y), 3 - 1j, (0, 1)),
        (lambda x, y, i: x.index_select(0, i) + 0 * y, 1 + 2j, (1, 0)),
        (lambda x, y, i: x.prod(0) * y, 5 + 5j, (3 + 1j, 1 - 2j)),
    ],
)
def test_single_numbers_by_index(function, expected, gradients):
    x = t.tensor(1 + 2j, dtype=t.complex128, requires_grad=True)
    y = t.tensor(3 - 1j, dtype=t.complex128, requires_grad=True)
    made = function(x, y, t.tensor([0]))
    assert made.shape == () and made.item() == pytest.approx(expected)
    found = t.autograd.grad(made, (x, y), t.ones_like(made))
    assert [gradient.item() for gradient in found] == pytest.approx(list(gradients))


def test_questions_to_a_single_number_and_parts_of_none():
    assert t.tensor(1j).all() and not t.tensor(0j).any()
    x = t.zeros(0, 3, dtype=t.complex128, requires_grad=True)
    for part in (x.real, x.imag):
        assert t.autograd.grad(part.sum(), x)[0].shape == (0, 3)


def test_numbers_in_one_run_and_strided_ones_have_the_same_values():
    """Both parts by one address, and by an address each."""
    generator = np.random.default_rng(0)
    z, w = (generator.normal(size=(2, 7, 11, 2)) @ [1, 1j]).astype("complex64")
    apart = [t.tensor(np.repeat(x, 2, axis=1))[:, ::2] for x in (z, w)]
    for calls in (
        lambda a, b: a * b,
        lambda a, b: a * 2.5,
        lambda a, b: a * (1 + 2j),
        lambda a, b: a * b[0, 0],
        lambda a, b: a * b.real,
        lambda a, b: a == 1j,
        lambda a, b: a.abs(),
    ):
        expected = calls(*apart).numpy()
        np.testing.assert_array_equal(calls(t.tensor(z), t.tensor(w)).numpy(), expected)
        turned = [t.tensor(x.T.copy()).T for x in (z, w)]
        np.testing.assert_array_equal(calls(*turned).numpy(), expected)


def test_numbers_in_one_run_are_written_in_place():
    z, w = np.random.default_rng(0).normal(size=(2, 130, 2)) @ [1, 1j]
    a = t.tensor(z)
    assert a.mul_(t.tensor(w)) is a
    np.testing.assert_allclose(a.numpy(), z * w, rtol=1e-14)
    np.testing.assert_allclose(a.mul_(a).numpy(), (z * w) ** 2, rtol=1e-13)


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
@pytest.mark.parametrize("shape, dim", [((8193,), 0), ((9, 1000), 1), ((2, 3, 16, 100), (2, 3))])
def test_sums_of_long_runs(kind, shape, dim):
    """Added up by rows of several numbers and what is left of one."""
    z = (np.random.default_rng(0).normal(size=(*shape, 2)) @ [1, 1j]).astype(kind)
    tolerance = 1e-4 if kind == "complex64" else 1e-12
    for keepdim in (False, True):
        for name in ("sum", "mean"):
            made = getattr(t.tensor(z), name)(dim, keepdim=keepdim).numpy()
            expected = getattr(z, name)(dim, dtype=np.complex128, keepdims=keepdim)
            assert made.dtype == z.dtype
            np.testing.assert_allclose(made, expected, rtol=tolerance, atol=tolerance)
    x = t.tensor(z, requires_grad=True)
    x.sum(dim).real.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones(shape))


def test_calls_of_forms_that_were_met_before_read_their_own_operands():
    """Launches are kept by the forms of operands: of parts, of whole runs, with gaps, broadcast."""
    rng = np.random.default_rng(0)
    calls = [
        (lambda x, y: x * y, lambda x, y: x * y),
        (lambda x, y: x.exp() + y, lambda x, y: np.exp(x) + y),
        (lambda x, y: x.abs(), lambda x, y: np.abs(x)),
        (lambda x, y: t.complex(x.real, y.imag), lambda x, y: x.real + 1j * y.imag),
        (lambda x, y: x * y.real, lambda x, y: x * y.real),
    ]
    for size in (4, 300):
        for _ in range(3):
            x, y = rng.standard_normal((2, size, size, 2)).view(complex)[..., 0]
            for left, right in [(x, y), (x.T, y), (x[::2], y[0]), (x, x), (x[:0], y[:1])]:
                for ours, numpy in calls:
                    if left.shape != right.shape and numpy is calls[3][1]:
                        continue
                    made = ours(t.from_numpy(left), t.from_numpy(right))
                    np.testing.assert_allclose(made.numpy(), numpy(left, right), rtol=1e-12)
    whole = t.tensor([3, -4])
    assert t.angle(whole).dtype == t.float32
    t.set_default_dtype(t.float64)
    try:
        assert t.angle(whole).dtype == t.float64
    finally:
        t.set_default_dtype(t.float32)
