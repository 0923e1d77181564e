"""``func.jvp``: forward mode around a function, by what it returns and what it leaves behind."""

import collections
import concurrent.futures
import gc
import itertools
import sys

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.autograd import forward_ad
from numbagrad.executor.families.matmul import matmul, matmul_and_tangent
from numbagrad.func import jvp
from numbagrad.structure import flatten
from numbagrad.transforms import levels


def tensor(*shape, seed=0, dtype="float32"):
    generator = np.random.default_rng(seed)
    return torch.from_numpy(np.asarray(generator.normal(size=shape), dtype))


def parameters(seed, dtype="float32"):
    shapes = (3, 5), (5,), (5, 4)
    return tuple([tensor(*shape, seed=seed + k, dtype=dtype) for k, shape in enumerate(shapes)])


def network(first, bias, second, x):
    hidden = torch.tanh(x @ first + bias).reshape(2, 2, 5)
    return ((hidden.transpose(0, 1) @ second)[0] ** 2).mean() + hidden.sum(1).exp()[1, 2]


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
    y = tensor(4, 4, seed=3)[1:3].t()  # no memory of its own
    seen = []
    for _ in range(2):
        jvp(lambda a, b: seen.append((a, b)) or a.sum() + b.sum(), (x, y), (t, torch.ones(4, 2)))
    for a, b in seen:
        assert a._base is x and b._base is y._base
        assert a._version_cell is x._version_cell
        assert a.data_ptr() == x.data_ptr()


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


X, T = tensor(3, seed=1), tensor(3, seed=2)

RESULTS = {
    "one": lambda x, y: x * y,
    "an argument": lambda x, y: x,
    "a view": lambda x, y: x.reshape(3, 1),
    "a result of no dimensions": lambda x, y: (x * y).sum(),
    "a tuple": lambda x, y: (x * y, x),
    "one of them twice": lambda x, y: (x * y, y, y),
    "some independent": lambda x, y: (x * y, torch.ones(2)),
    "a tuple of one": lambda x, y: (x.sum(),),
    "a named tuple": lambda x, y: Pair(x * y, y),
    "nested": lambda x, y: {"a": [x * y], "b": (y,)},
    "independent": lambda x, y: torch.ones(2),
    "detached": lambda x, y: (x * y).detach(),
    "integers": lambda x, y: (x * y).int(),
    "written": lambda x, y: (x * y).add_(1),
}


Pair = collections.namedtuple("Pair", "first second")

NESTED = {
    "a tuple": lambda a, b: ((a, b),),
    "a dictionary": lambda a, b: ({"a": a, 1: [b]}, ()),
    "an ordered dictionary": lambda a, b: (a, collections.OrderedDict(b=b)),
    "deeper": lambda a, b: ([[a], {}], {"x": {"y": (b,)}}),
}


def checked(function, primals, tangents, **options):
    """What ``jvp`` returns, which leaves no level behind."""
    made = jvp(function, primals, tangents, **options)
    assert levels.stack.levels == []
    return made


def along(function, primals, tangents):
    """Differences of a function of float64 Tensors along a direction."""
    step = 1e-6
    ends = [
        flatten(
            function(
                *[x.double() + sign * step * t for x, t in zip(primals, tangents, strict=True)]
            )
        )[0]
        for sign in (1, -1)
    ]
    return [(last - first) / (2 * step) for last, first in zip(*ends, strict=True)]


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("name", RESULTS)
def test_results_of_every_kind(name, recording):
    with torch.set_grad_enabled(recording):
        value, tangent = checked(RESULTS[name], (X, X * 2), (T, T * 3))
    expected, structure = flatten(RESULTS[name](X, X * 2))
    (values, of_values), (tangents, of_tangents) = flatten(value), flatten(tangent)
    assert of_values == of_tangents == structure
    for made, other in zip(values, expected, strict=True):
        assert made.dtype is other.dtype and torch.equal(made, other)
    if name not in ("detached", "integers"):
        for made, slope in zip(tangents, along(RESULTS[name], (X, X * 2), (T, T * 3)), strict=True):
            assert made.dtype is torch.float32
            np.testing.assert_allclose(made.numpy(), slope.numpy(), rtol=1e-4, atol=1e-5)
    else:
        assert not tangents[0].any()


@pytest.mark.parametrize("name", NESTED)
def test_nested_arguments(name):
    seen = []

    def function(*arguments):
        leaves, structure = flatten(arguments)
        seen.append(structure)
        return leaves[0] * leaves[1]

    primals, tangents = NESTED[name](X, X * 2), NESTED[name](T, T * 3)
    _, tangent = checked(function, primals, tangents)
    assert seen == [flatten(primals)[1]]
    np.testing.assert_allclose(tangent.numpy(), (5 * X * T).numpy(), rtol=1e-5)


def test_nested_arguments_that_do_not_fit_are_refused_as_ever():
    primals = ({"a": X, "b": X},)
    jvp(lambda x: x["a"] * x["b"], primals, ({"a": T, "b": T},))
    for wrong in (({"b": T, "a": T},), ({"a": T},), ([T, T],), (T, T), ({"a": T, "b": (T,)},)):
        with pytest.raises(RuntimeError, match="same python structure"):
            jvp(lambda x: x["a"] * x["b"], primals, wrong)
    with pytest.raises(RuntimeError, match="primals to only contain Tensors"):
        jvp(lambda x: x["a"] * x["b"], ({"a": X, "b": 1.0},), ({"a": T, "b": T},))
    with pytest.raises(KeyError):
        jvp(lambda x: x["c"], primals, ({"a": T, "b": T},))
    assert levels.stack.levels == []
    checked(lambda x: x["a"] * x["b"][0], ({"a": X, "b": (X,)},), ({"a": T, "b": (T,)},))


def test_aux_is_handed_through():
    for _ in range(2):
        _, _, aux = checked(lambda x: (x * 2, (x * 3, "text")), (X,), (T,), has_aux=True)
    assert aux[1] == "text" and torch.equal(aux[0], X * 3)
    with pytest.raises(RuntimeError, match="output of function f should be a tuple"):
        jvp(lambda x: x, (X,), (T,), has_aux=True)
    assert levels.stack.levels == []


@pytest.mark.parametrize(
    "function, options, text",
    [
        (lambda x: torch.ones(2), {"strict": True}, "independent of the inputs"),
        (lambda x: 1.5, {}, "expected f\\(\\*primals\\) to return only tensors"),
        (lambda x: None, {}, "non-empty output"),
        (lambda x: x @ torch.ones(5), {}, "inconsistent tensor size"),
    ],
)
def test_what_raises_leaves_no_level(function, options, text):
    for _ in range(2):
        with pytest.raises(RuntimeError, match=text):
            jvp(function, (X,), (T,), **options)
        assert levels.stack.levels == []
    assert torch.equal(jvp(lambda x: x * 2, (X,), (T,))[1], T * 2)


@pytest.mark.parametrize(
    "primals, tangents, text",
    [
        (X, T, "Expected primals to be a tuple"),
        ((X,), (T, T), "same python structure"),
        ((X,), [T], "same python structure"),
        ((), (), "at least one Tensor"),
        ((1.0,), (T,), "primals to only contain Tensors"),
        ((X,), (1.0,), "tangents to only contain Tensors"),
        ((X,), (tensor(4),), "different size"),
    ],
)
def test_other_arguments_are_refused_as_ever(primals, tangents, text):
    with pytest.raises(RuntimeError, match=text):
        jvp(lambda *x: x[0], primals, tangents)
    assert levels.stack.levels == []


def test_a_result_with_a_history():
    weight = tensor(3, seed=4).requires_grad_()
    for _ in range(2):
        value, tangent = checked(lambda x: x * weight, (X,), (T,))
        assert value.requires_grad and tangent.requires_grad
        value.sum().backward()
        assert torch.equal(weight.grad, X)
        weight.grad = None


def test_levels_inside_of_levels_are_numbered():
    depths = []

    def inner(y):
        depths.append([(x.depth, x.kind, x.alive, x.paused) for x in levels.stack.levels])
        return y * y * y

    def outer(x):
        return jvp(inner, (x,), (torch.ones(3),))[1]

    for _ in range(2):
        checked(outer, (X,), (T,))
    assert depths == [[(1, "forward mode", True, False), (2, "forward mode", True, False)]] * 2
    _, second = jvp(outer, (X,), (T,))
    assert torch.allclose(second, 6 * X * T)


def test_a_level_that_is_left_open_raises():
    def function(x):
        forward_ad.enter_dual_level()
        return x * 2

    try:
        with pytest.raises(AssertionError, match="reverse order"):
            jvp(function, (X,), (T,))
    finally:
        levels.stack.levels.clear()


def test_the_level_is_closed_when_the_function_has_returned():
    kept = []
    jvp(lambda x: kept.append((x, levels.stack.levels[-1])) or x * 2, (X,), (T,))
    ((dual, level),) = kept
    assert level.alive is False and level.has_history is False and level.explicit is False
    assert torch.equal(dual * 2, X * 2)


def test_writes_to_a_result_reach_what_it_is_a_view_of():
    kept = []

    def function(x):
        kept.append(x * 2)
        return kept[-1]

    for _ in range(2):
        value, _ = jvp(function, (X,), (T,))
        value.add_(1)
        assert value._version == 1 and torch.equal(value._base, X * 2 + 1)
    with torch.no_grad():
        value, _ = jvp(function, (X,), (T,))
    assert value._is_view()


def test_writes_to_an_argument_reach_the_tensor():
    x, t = X.clone(), T.clone()
    value, tangent = jvp(lambda x: x.mul_(2), (x,), (t,))
    assert torch.equal(x, X * 2) and x._version == 1 and value._base is x
    assert torch.equal(tangent, T * 2)
