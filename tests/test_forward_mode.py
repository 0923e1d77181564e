"""Forward mode: every operator of the table, dual tensors, and their way through other modes."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES

import numbagrad as torch
from numbagrad.autograd import forward_ad
from numbagrad.executor.mode import NATIVE
from numbagrad.func import grad, jvp, vjp

DIFFERENTIABLE = [
    entry
    for entry in POINTWISE_ENTRIES + ENTRIES
    if entry.differentiable and entry.admits("float64")
]


def drawn(entry, seed):
    """Tensors for an entry, directions of its floats, and the places of these."""
    arrays = entry.draw("float64", seed)
    generator = np.random.default_rng(seed + 1)
    followed = [position for position, array in enumerate(arrays) if array.dtype.kind == "f"]
    tensors = [torch.from_numpy(array) for array in arrays]
    directions = tuple(
        [torch.from_numpy(np.asarray(generator.normal(size=arrays[n].shape))) for n in followed]
    )
    return tensors, directions, followed


def of_floats(entry, tensors, followed):
    """The entry as a function of its floats, with results of floats."""

    def function(*floats):
        given = list(tensors)
        for position, value in zip(followed, floats, strict=True):
            given[position] = value
        made = as_tuple(entry.call(torch, *given))
        return tuple([x for x in made if x.is_floating_point()])

    return function, tuple([tensors[position] for position in followed])


def inner(first, second):
    """The sum of all products of elements."""
    return sum([float((a.detach() * b.detach()).sum()) for a, b in zip(first, second, strict=True)])


@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda entry: entry.name)
class TestEveryOperator:
    def test_the_tangent_is_the_transpose_of_the_gradient(self, entry):
        tensors, directions, followed = drawn(entry, 3)
        function, floats = of_floats(entry, tensors, followed)
        value, tangents = jvp(function, floats, directions)
        reference, pullback = vjp(function, *floats)
        generator = np.random.default_rng(5)
        seeds = tuple([torch.from_numpy(np.asarray(generator.normal(size=x.shape))) for x in value])
        for own, other in zip(value, reference, strict=True):
            np.testing.assert_allclose(own.numpy(), other.numpy(), rtol=1e-14)
        for tangent, own in zip(tangents, value, strict=True):
            assert (tangent.shape, tangent.dtype) == (own.shape, own.dtype)
            assert not tangent.requires_grad
        np.testing.assert_allclose(
            inner(seeds, tangents), inner(pullback(seeds), directions), rtol=1e-9, atol=1e-9
        )

    def test_forward_over_reverse_is_reverse_over_reverse(self, entry):
        tensors, directions, followed = drawn(entry, 4)
        function, floats = of_floats(entry, tensors, followed)

        def loss(*floats):
            return sum([(x.double() ** 2).sum() for x in function(*floats)]) * 0.5

        positions = tuple(range(len(floats)))
        gradients, products = jvp(grad(loss, positions), floats, directions)
        again = grad(
            lambda *x: sum(
                [(g * d).sum() for g, d in zip(grad(loss, positions)(*x), directions, strict=True)]
            ),
            positions,
        )(*floats)
        for product, reference in zip(products, again, strict=True):
            np.testing.assert_allclose(product.numpy(), reference.numpy(), rtol=1e-8, atol=1e-8)


class TestDualTensors:
    def test_parts_of_a_dual_tensor(self):
        x, t = torch.randn(3), torch.randn(3)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, t)
            primal, tangent = forward_ad.unpack_dual(dual * 2)
            assert torch.equal(primal, x * 2)
            assert torch.equal(tangent, t * 2)
            assert forward_ad.unpack_dual(x) == (x, None)

    def test_the_tangent_ends_with_the_level(self):
        x = torch.randn(3)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones(3))
        assert forward_ad.unpack_dual(dual).tangent is None
        assert torch.equal(dual * 2, x * 2)
        with forward_ad.dual_level():
            assert forward_ad.unpack_dual(dual * 2).tangent is None

    def test_levels_do_not_nest(self):
        with forward_ad.dual_level(), pytest.raises(RuntimeError, match="Nested forward mode"):
            forward_ad.enter_dual_level()

    @pytest.mark.parametrize("name", ["floor_divide", "heaviside"])
    def test_an_operator_without_a_derivative_has_no_tangent(self, name):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
            with pytest.raises(NotImplementedError, match=f"forward AD with {name} that does not"):
                getattr(torch, name)(dual, torch.ones(2))

    def test_a_dual_tensor_needs_a_level(self):
        with pytest.raises(RuntimeError, match="no level exists"):
            forward_ad.make_dual(torch.ones(2), torch.ones(2))

    def test_a_tangent_has_the_shape_of_its_tensor(self):
        with forward_ad.dual_level():
            with pytest.raises(RuntimeError, match=r"of size \[2\].*of size \[3\]"):
                forward_ad.make_dual(torch.ones(2), torch.ones(3))
            with pytest.raises(ValueError, match="Expected primal to be floating point"):
                forward_ad.make_dual(torch.arange(2), torch.ones(2))

    def test_a_tangent_has_the_dtype_of_its_tensor(self):
        x, wide = torch.ones(1, 2), torch.full((1, 2), 3.0, dtype=torch.float64)
        for run in (torch.sin, lambda x: x @ torch.ones(2, 3), lambda x: torch.softmax(x, 1)):
            value, along = torch.func.jvp(run, (x,), (wide,))
            same, expected = torch.func.jvp(run, (x,), (wide.float(),))
            assert value.dtype == along.dtype == torch.float32
            assert torch.equal(value, same) and torch.equal(along, expected)
        with pytest.raises(ValueError, match="tangent to be floating point.*int64"):
            torch.func.jvp(torch.sin, (x,), (torch.ones(1, 2, dtype=torch.int64),))
        with pytest.raises(ValueError, match="primal to be floating point.*int64"):
            torch.func.jvp(torch.sin, (torch.arange(2),), (torch.arange(2),))
        with pytest.raises(ValueError, match="tangent to be real.*float32.*complex64"):
            torch.func.jvp(torch.sin, (x,), (torch.ones(1, 2, dtype=torch.complex64),))

    @pytest.mark.parametrize("dtype", [torch.float64, torch.int64])
    def test_so_has_what_a_function_gives(self, dtype):
        class Same(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x.clone()

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def jvp(ctx, tangent):
                return tangent.to(dtype)

        given = (lambda x: Same.apply(x) * 2, (torch.ones(2),), (torch.ones(2),))
        if dtype.is_floating_point:
            value, along = torch.func.jvp(*given)
            assert value.dtype == along.dtype == torch.float32
        else:
            with pytest.raises(ValueError, match="tangent to be floating point.*int64"):
                torch.func.jvp(*given)

    def test_a_tangent_lies_in_memory_as_its_tensor(self):
        x, t = torch.arange(6.0).view(3, 2).t(), torch.arange(6.0).view(2, 3)
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(forward_ad.make_dual(x, t)).tangent
            assert tangent.stride() == (1, 2) and torch.equal(tangent, t)
            same = t.t().contiguous().t()
            assert forward_ad.unpack_dual(forward_ad.make_dual(x, same)).tangent is same
            flat = forward_ad.make_dual(t, x.contiguous()[:]).view(6)
            assert forward_ad.unpack_dual(flat).tangent.tolist() == x.flatten().tolist()

    def test_a_view_by_strides_shows_the_tangent_of_what_it_shows(self):
        x, t = torch.arange(6.0).view(3, 2).t(), torch.arange(6.0).view(2, 3)
        with forward_ad.dual_level():
            part = forward_ad.make_dual(x, t).as_strided((2,), (1,), 0)
            assert forward_ad.unpack_dual(part).tangent.tolist() == [0, 3]
            rows = torch.tensor([[0.0, 2, 3], [1, 4, 5]]).t().contiguous().t()
            ordered = torch.sort(forward_ad.make_dual(rows, t), 1).values
            part = ordered.as_strided((2,), (1,), 1)
            assert forward_ad.unpack_dual(part).tangent.tolist() == [3, 1]

    def test_a_tangent_has_as_much_memory_as_its_tensor(self):
        whole, t = torch.arange(5.0), torch.ones(2)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(whole[1:3].detach(), t)
            tangent = forward_ad.unpack_dual(dual).tangent
            assert tangent is not t and torch.equal(tangent, t)
            primal, tangent = forward_ad.unpack_dual(dual.as_strided((5,), (1,), 0))
        assert torch.equal(primal, whole)
        assert tangent.tolist() == [0, 1, 1, 0, 0]

    def test_backward_of_a_tangent(self):
        x = torch.randn(4, requires_grad=True)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones(4))
            tangent = forward_ad.unpack_dual((dual**3).sum()).tangent
        tangent.backward()
        np.testing.assert_allclose(x.grad.numpy(), 6 * x.detach().numpy(), rtol=1e-5)

    def test_tangent_of_a_gradient(self):
        x = torch.randn(4, requires_grad=True)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones(4))
            (gradient,) = torch.autograd.grad((dual**3).sum(), dual)
            tangent = forward_ad.unpack_dual(gradient).tangent
        np.testing.assert_allclose(tangent.numpy(), 6 * x.detach().numpy(), rtol=1e-5)


class Scale(torch.autograd.Function):
    """Twice the input, whose tangent and gradient tell that they are its own."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.factor = factor
        return x * x * factor

    @staticmethod
    def jvp(ctx, tangent, factor):
        assert factor is None
        (x,) = ctx.saved_tensors
        return 2 * x * tangent * ctx.factor + 1

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x * ctx.factor, None


class TestFunction:
    def test_jvp_is_asked_for_the_tangent(self):
        x, t = torch.randn(3), torch.randn(3)
        value, tangent = jvp(lambda x: Scale.apply(x, 2.0), (x,), (t,))
        assert torch.equal(value, x * x * 2)
        assert torch.equal(tangent, 2 * x * t * 2 + 1)

    def test_forward_over_reverse_goes_through_backward(self):
        x, t = torch.randn(3), torch.randn(3)
        _, product = jvp(grad(lambda x: Scale.apply(x, 2.0).sum()), (x,), (t,))
        assert torch.equal(product, 4 * t)

    def test_jvp_has_only_what_was_saved_for_it(self):
        class Identity(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.clone()

            @staticmethod
            def jvp(ctx, tangent):
                assert ctx.saved_tensors == ()
                return tangent

        jvp(Identity.apply, (torch.ones(2),), (torch.ones(2),))

    def test_the_tangent_of_a_view_is_that_view_of_the_tangent(self):
        class First(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, how):
                ctx.how = how
                return x[:2]

            @staticmethod
            def jvp(ctx, tangent, _):
                return ctx.how(tangent)

        def tangent_of(how, tangent):
            with forward_ad.dual_level():
                made = First.apply(forward_ad.make_dual(torch.ones(3), tangent), how)
                return forward_ad.unpack_dual(made).tangent.tolist()

        assert tangent_of(lambda t: t[:2], torch.arange(3.0)) == [0, 1]
        with pytest.raises(RuntimeError, match="the jvp is not returning a view"):
            tangent_of(lambda t: t[:2].clone(), torch.ones(3))
        with pytest.raises(RuntimeError, match="not returning a view of the given grad input"):
            tangent_of(lambda t: t.clone()[:2], torch.ones(3))
        with pytest.raises(RuntimeError, match="same base as the given grad input"):
            tangent_of(lambda t: t.clone()[:2], torch.ones(3)[:])

    def test_an_input_that_is_written_takes_its_tangent_along(self):
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, other):
                ctx.mark_dirty(x.mul_(2))
                return x

            @staticmethod
            def jvp(ctx, tangent, other):
                return tangent if other is None else 3 * other

        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
            with pytest.raises(RuntimeError, match="must modify the corresponding gradient"):
                Double.apply(dual, None)
            x = torch.ones(2)
            assert Double.apply(x, dual) is x
            assert forward_ad.unpack_dual(x).tangent.tolist() == [3, 3]

    def test_without_jvp(self):
        class Identity(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

        with pytest.raises(NotImplementedError, match="must implement the jvp function"):
            jvp(Identity.apply, (torch.ones(2),), (torch.ones(2),))


def test_tangents_may_be_left_out_of_account():
    x = torch.ones(2)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, x * 2)
        with forward_ad._set_fwd_grad_enabled(False):
            assert not forward_ad._is_fwd_grad_enabled()
            assert forward_ad.unpack_dual(dual).tangent is None
            later = forward_ad.make_dual(x, x * 5)
            without = dual * 3
            assert forward_ad.unpack_dual(later).tangent is None
        assert forward_ad._is_fwd_grad_enabled()
        assert forward_ad.unpack_dual(dual).tangent.tolist() == [2.0, 2.0]
        assert forward_ad.unpack_dual(later).tangent.tolist() == [5.0, 5.0]
        assert forward_ad.unpack_dual(without).tangent is None
    torch._C._set_fwd_grad_enabled(False)
    try:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, x)
            assert forward_ad.unpack_dual(dual.sin()).tangent is None
    finally:
        torch._C._set_fwd_grad_enabled(True)
    assert torch._C._is_fwd_grad_enabled()


@pytest.mark.skipif(not NATIVE, reason="this is the process that the test starts")
def test_the_same_without_a_compiler():
    """NUMBAGRAD_DISABLE_JIT=1: NumPy, which would read the memory of a primal, is not asked."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider"]
    chosen = "transpose_of_the_gradient or TestDualTensors or test_vmap"
    others = str(pathlib.Path(__file__).with_name("test_vmap.py"))
    finished = subprocess.run(
        [*command, __file__, others, "-k", chosen],
        env={**os.environ, "NUMBAGRAD_DISABLE_JIT": "1"},
        cwd=pathlib.Path(__file__).parents[1],
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stdout[-4000:]


@pytest.mark.parametrize("order", [0.5, 1, 1.5, 2, 3, 3.5, float("inf")])
def test_the_tangent_of_the_norm_of_zeros_is_zero(order):
    x, t = torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    norm, tangent = torch.func.jvp(lambda x: torch.linalg.vector_norm(x, order), (x,), (t,))
    assert norm == 0 and tangent == 0
    y = torch.tensor([0.5, -1.0, 2.0, 0.25], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda y: torch.linalg.vector_norm(y, order), y, check_forward_ad=True
    )
