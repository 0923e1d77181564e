"""Forward mode without Python: launchers do what ``dispatch/transformations.py`` does.

Every operator of the table runs both ways and gives the same bits; what is not of the ordinary kind
is left to Python.
"""

import concurrent.futures
import contextlib
import gc
import itertools
import sys

import numpy as np
import pytest
from test_forward_mode import DIFFERENTIABLE, drawn, of_floats

import numbagrad as torch
from numbagrad.autograd import forward_ad
from numbagrad.dispatch import descent, transformations
from numbagrad.executor.cache import deferred
from numbagrad.executor.families.matmul import matmul, matmul_and_tangent
from numbagrad.executor.mode import NATIVE
from numbagrad.func import grad, jvp
from numbagrad.ops.operators import native_launchers
from numbagrad.transforms.levels import Transformed

pytestmark = pytest.mark.skipif(not NATIVE, reason="there are no launchers")

SWITCHES = ("transformed_type", "dual_operator", "dual_view")


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """All launchers are at work from the first call on."""
    monkeypatch.setattr(deferred, "CALLS_WORTH_COMPILING", 0)
    for ready in (
        native_launchers.ready,
        native_launchers.operators_ready,
        native_launchers.duals_ready,
    ):
        ready()
        assert ready()


@contextlib.contextmanager
def in_python():
    """Leave duals to Python within it."""
    block = native_launchers.described_runtime()
    before = {name: getattr(block, name) for name in SWITCHES}
    calls = native_launchers.calls
    native = calls.duals, calls.jvp, calls.linear_of_dual
    for name in SWITCHES:
        setattr(block, name, 0)
    calls.duals = native_launchers._duals_in_python
    calls.jvp = native_launchers._jvp_in_python
    calls.linear_of_dual = native_launchers._linear_in_python
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(block, name, value)
        calls.duals, calls.jvp, calls.linear_of_dual = native


@pytest.fixture
def left(monkeypatch):
    """The names of the operators that are left to Python."""
    names = []
    call = transformations.call

    def noted(operator, arguments, arrays=()):
        names.append(operator.name)
        return call(operator, arguments)

    monkeypatch.setattr(transformations, "call", noted)
    layers = [(bit, noted if layer is call else layer) for bit, layer in descent.LAYERS]
    monkeypatch.setattr(descent, "LAYERS", tuple(layers))
    return names


def tensor(*shape, seed=0, dtype="float32"):
    generator = np.random.default_rng(seed)
    return torch.from_numpy(np.asarray(generator.normal(size=shape), dtype))


@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda entry: entry.name)
def test_the_bits_of_every_operator_are_those_of_python(entry):
    tensors, directions, followed = drawn(entry, 11)
    function, floats = of_floats(entry, tensors, followed)
    with in_python():
        expected = jvp(function, floats, directions)
    for _ in range(3):  # the first call may teach the launcher what the others do
        made = jvp(function, floats, directions)
        for own, other in zip([*made[0], *made[1]], [*expected[0], *expected[1]], strict=True):
            assert own.dtype is other.dtype and own.shape == other.shape
            assert own.stride() == other.stride()
            np.testing.assert_array_equal(own.detach().numpy(), other.detach().numpy())


def network(first, bias, second, x):
    hidden = torch.tanh(x @ first + bias).reshape(2, 2, 5)
    return ((hidden.transpose(0, 1) @ second)[0] ** 2).mean() + hidden.sum(1).exp()[1, 2]


def parameters(seed, dtype="float32"):
    shapes = (3, 5), (5,), (5, 4)
    return tuple([tensor(*shape, seed=seed + k, dtype=dtype) for k, shape in enumerate(shapes)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_ordinary_function_meets_no_python(left, dtype):
    x, primals, tangents = tensor(4, 3, dtype=dtype), parameters(1, dtype), parameters(7, dtype)

    def function(*primals):
        return network(*primals, x)

    for _ in range(2):
        jvp(function, primals, tangents)
    left.clear()
    value, tangent = jvp(function, primals, tangents)
    assert left == []
    with in_python():
        expected = jvp(function, primals, tangents)
    assert left != []
    assert torch.equal(value, expected[0]) and torch.equal(tangent, expected[1])


class TestLeftToPython:
    """Whatever is not of the ordinary kind; results are compared with those without launchers."""

    def same(self, left, function):
        function()
        left.clear()
        made = function()
        assert left != []
        with in_python():
            expected = function()
        for own, other in zip(made, expected, strict=True):
            assert torch.equal(own, other) and own.requires_grad == other.requires_grad

    def test_tensors_with_a_history(self, left):
        weight, x, t = tensor(3).requires_grad_(), tensor(3, seed=1), tensor(3, seed=2)
        self.same(left, lambda: jvp(lambda x: x * weight, (x,), (t,)))
        assert jvp(lambda x: x * weight, (x,), (t,))[1].requires_grad
        with torch.no_grad():  # nothing is recorded there
            jvp(lambda x: x * weight, (x,), (t,))
            left.clear()
            jvp(lambda x: x * weight, (x,), (t,))
        assert left == []

    def test_tangents_with_a_history(self, left):
        x, t = tensor(3, seed=1), tensor(3, seed=2).requires_grad_()
        self.same(left, lambda: jvp(lambda x: x * x, (x,), (t,)))
        assert jvp(lambda x: x * x, (x,), (t,))[1].requires_grad

    def test_levels_inside_of_levels(self, left):
        x, t = tensor(3, seed=1), tensor(3, seed=2)

        def inner(x):
            return jvp(lambda y: y * x * y, (x,), (t,))[1]

        self.same(left, lambda: jvp(inner, (x,), (t,)))

    def test_forward_over_reverse(self, left):
        x, t = tensor(3, seed=1), tensor(3, seed=2)
        self.same(left, lambda: jvp(grad(lambda x: (x * x * x).sum()), (x,), (t,)))

    def test_batches(self, left):
        x, t = tensor(4, 3, seed=1), tensor(4, 3, seed=2)
        self.same(
            left, lambda: torch.vmap(lambda x, t: jvp(lambda y: y.sin() * y, (x,), (t,)))(x, t)
        )

    def test_a_level_that_was_closed(self, left):
        x, t = tensor(3, seed=1), tensor(3, seed=2)
        kept = []
        jvp(lambda y: kept.append(y * 1.0) or y.sum(), (x,), (t,))
        left.clear()
        made = kept[0] * 2.0
        assert left == ["mul"] and made._array.__class__ is not Transformed
        assert torch.equal(made, x * 2.0)
        assert torch.equal(kept[0] @ x, x @ x)
        assert torch.equal(kept[0].reshape(3, 1), x.reshape(3, 1))
        assert torch.equal(kept[0].sum(), x.sum())

    def test_tangents_that_are_left_out_of_account(self, left):
        x, t = tensor(3, seed=1), tensor(3, seed=2)

        def without(y):
            with forward_ad._set_fwd_grad_enabled(False):
                made = y * y, y @ y, y.reshape(1, 3), y.sum()
            return made

        for _ in range(3):
            _, tangents = jvp(without, (x,), (t,))
            assert all([torch.equal(z, torch.zeros_like(z)) for z in tangents])

    def test_operators_that_are_not_linear(self, left):
        x, t = tensor(4, 3, seed=1), tensor(4, 3, seed=2)
        self.same(left, lambda: jvp(lambda x: x.cumprod(0), (x,), (t,)))

    def test_whole_numbers_of_a_dual(self, left):
        x, t = tensor(3, seed=1), tensor(3, seed=2)
        for _ in range(3):
            made, tangent = jvp(lambda x: (x > 0, x.int().float(), x.sum(dtype=torch.int64)) and (
                x.int().float() + 0 * x), (x,), (t,))  # fmt: skip
            assert torch.equal(made, x.int().float())
            assert torch.equal(tangent, 0 * t)


def test_numbers_and_broadcasting():
    x, t = tensor(3, 1, seed=1), tensor(3, 1, seed=2)
    y = tensor(4, seed=3)
    for _ in range(3):
        value, tangent = jvp(lambda x: 2 * x / y - 1.5, (x,), (t,))
        assert value.shape == tangent.shape == (3, 4)
        np.testing.assert_allclose(tangent.numpy(), (2 * t / y).numpy(), rtol=1e-6)


def test_one_operand_twice():
    x, t = tensor(3, 3, seed=1), tensor(3, 3, seed=2)
    for _ in range(3):
        _, tangent = jvp(lambda x: x @ x + x * x, (x,), (t,))
        expected = t @ x + x @ t + 2 * x * t
        np.testing.assert_allclose(tangent.numpy(), expected.numpy(), rtol=1e-5)


def test_a_dual_shares_the_count_of_writes_with_its_primal():
    x, t = tensor(3, seed=1), tensor(3, seed=2)

    def function(y):
        made = y * 2
        view = made.reshape(3, 1)
        before = made._version
        view.add_(y.reshape(3, 1))
        assert made._version == before + 1 == view._version
        assert made._is_view() is False and view._base is made
        return made

    for _ in range(3):
        value, tangent = jvp(function, (x,), (t,))
        assert torch.equal(value, x * 2 + x) and torch.equal(tangent, t * 2 + t)


def test_parts_of_a_result_become_tensors_once():
    x, t = tensor(3, seed=1), tensor(3, seed=2)

    def function(y):
        made = y * 2
        state = made._array.state
        assert state.primal is state.primal and state.tangent is state.tangent
        assert state.primal._version_cell is made._version_cell
        assert state.tangent._version_cell is None
        view = (y * 3).reshape(3, 1)  # makes them Tensors in the launcher
        state, base = view._array.state, view._base._array.state
        assert state.primal._base is base.primal and state.tangent._base is base.tangent
        assert state.primal._version_cell is base.primal._version_cell is view._version_cell
        return made

    for _ in range(3):
        value, tangent = jvp(function, (x,), (t,))
        assert torch.equal(value, x * 2) and torch.equal(tangent, t * 2)


class Doubled(torch.autograd.Function):
    """Writes its input, and has a tangent of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def jvp(ctx, tangent):
        return tangent.mul_(2)


def test_tangents_of_results_may_be_set():
    x, t = tensor(3, seed=1), tensor(3, seed=2)

    def of_function(x):
        return Doubled.apply(x * 1)

    def repeated(x):  # the tangent of the sum is one element, repeated
        made = x.sum().expand(3) * 1 + torch.zeros(3)
        made.add_(x)
        return made

    for _ in range(3):
        value, tangent = jvp(of_function, (x,), (t,))
        assert torch.equal(value, x * 2) and torch.equal(tangent, t * 2)
        value, tangent = jvp(repeated, (x,), (t,))
        np.testing.assert_allclose(tangent.numpy(), (t.sum() + t).numpy(), rtol=1e-6)


def test_duals_of_arguments_are_views_of_them():
    x, t = tensor(3, seed=1), tensor(3, seed=2)
    y = tensor(4, 4, seed=3)[1:3].t()  # no memory of its own: Python makes the dual
    seen = []
    for _ in range(2):
        jvp(lambda a, b: seen.append((a, b)) or a.sum() + b.sum(), (x, y), (t, torch.ones(4, 2)))
    for a, b in seen:
        assert a._base is x and b._base is y._base
        assert a._version_cell is x._version_cell
        assert a.data_ptr() == x.data_ptr()


def test_tangents_of_another_dtype_are_refused_or_kept_as_in_python():
    x, t = tensor(3, seed=1), tensor(3, seed=2, dtype="float64")
    with in_python():
        expected = jvp(lambda x: x * 2, (x,), (t,))
    for _ in range(2):
        made = jvp(lambda x: x * 2, (x,), (t,))
        assert [x.dtype for x in made] == [x.dtype for x in expected]
        assert torch.equal(made[1], expected[1])


def test_errors_are_those_of_the_operators():
    x, t = tensor(3, 4, seed=1), tensor(3, 4, seed=2)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            jvp(lambda x: x @ x, (x,), (t,))
        with pytest.raises(RuntimeError, match="must match the size"):
            jvp(lambda x: x + torch.ones(5), (x,), (t,))


def test_no_reference_is_lost_and_none_is_kept():
    x, t = parameters(1), parameters(4)
    inputs = tensor(4, 3)

    def run():
        jvp(lambda *p: network(*p, inputs), x, t)

    objects = [*x, *t, *[each._array for each in (*x, *t, inputs)], None, True, False, inputs]
    for _ in range(3):
        run()
    gc.collect()
    counts = [sys.getrefcount(each) for each in objects]
    alive = len(gc.get_objects())
    for _ in range(100):
        run()
    gc.collect()
    for each, count in zip(objects, counts, strict=True):
        assert abs(sys.getrefcount(each) - count) < 50, each
    assert abs(len(gc.get_objects()) - alive) < 50


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
@pytest.mark.parametrize("sizes", [(1, 3, 4), (5, 3, 1), (5, 64, 7), (13, 1, 33)])
@pytest.mark.parametrize("turned", [False, True])
def test_the_tangent_of_a_product_is_one_launch(batch, sizes, turned):
    rows, depth, columns = sizes
    generator = np.random.default_rng(1)

    def factor(rows, columns):
        if turned:
            rows, columns = columns, rows
        array = generator.normal(size=(*batch, rows, columns))
        return array.swapaxes(-1, -2) if turned else array

    a, da = factor(rows, depth), factor(rows, depth)
    b, db = factor(depth, columns), factor(depth, columns)
    exactly = {"rtol": 1e-12, "atol": 1e-12}
    for first, second in ((da, db), (None, db), (da, None)):
        value, tangent = matmul_and_tangent(a, b, first, second)
        np.testing.assert_array_equal(value, matmul(a, b))
        expected = 0 if first is None else matmul(first, b)
        expected = expected if second is None else expected + matmul(a, second)
        np.testing.assert_allclose(tangent, expected, **exactly)


def test_a_tangent_that_lies_otherwise_takes_several_launches():
    a, b = np.ones((2, 3)), np.ones((3, 4))
    assert matmul_and_tangent(a, b, np.ones((3, 2)).T, b) is None
    assert matmul_and_tangent(a, b, a.astype(np.float32), b) is None
    assert matmul_and_tangent(a + 0j, b + 0j, a + 0j, b + 0j) is None
    x, w = tensor(4, 3, seed=1), tensor(3, 2, seed=2)
    t = tensor(3, 4, seed=3)
    for _ in range(3):  # a column of x has a tangent that lies in rows
        _, tangent = jvp(lambda t: (x * t.t()) @ w, (t,), (t,))
        np.testing.assert_allclose(tangent.numpy(), ((x * t.t()) @ w).numpy(), rtol=1e-5)


def test_the_slots_of_an_array_become_its_state_when_python_asks():
    x, t = tensor(3, seed=1), tensor(3, seed=2)

    def function(y):
        made = y * 2
        array = made._array
        assert array.level is y._array.state.level  # the slots are there
        state = array.state
        assert state is array.state and torch.equal(state.tangent, t * 2)
        assert state._version_cell is made._version_cell
        for name in ("level", "_primal", "_tangent", "_version_cell", "unknown"):
            with pytest.raises(AttributeError, match=name):
                getattr(array, name)
        with pytest.raises(AttributeError):
            array.view().state  # noqa: B018 - derived past the operators
        return made * 3 + (made @ made) + made.reshape(3, 1)[0]

    jvp(lambda y: y * 2, (x,), (t,))  # from the second time on it is a launcher
    for _ in range(3):
        value, tangent = jvp(function, (x,), (t,))
        expected = 6 * t + 8 * (x @ t) + 2 * t[0]
        np.testing.assert_allclose(tangent.numpy(), expected.numpy(), rtol=1e-5)


def test_threads_and_collections_do_not_mix_results_up():
    x, t = tensor(64, 64, seed=1), tensor(64, 64, seed=2)
    expected = jvp(lambda y: (y * y).tanh() * y, (x,), (t,))

    def run(_):
        return [jvp(lambda y: (y * y).tanh() * y, (x,), (t,)) for _ in range(50)]

    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            for value, tangent in itertools.chain.from_iterable(threads.map(run, range(8))):
                assert torch.equal(value, expected[0]) and torch.equal(tangent, expected[1])
    finally:
        gc.set_threshold(*threshold)
