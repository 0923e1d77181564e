"""``func.jvp`` around the function: one launcher for tuples of ordinary Tensors, Python for others.

Both ways are called alike, and what can be seen of their results is compared.
"""

import collections

import pytest
from test_native_duals import compiled, in_python, tensor  # noqa: F401 - a fixture

import numbagrad as torch
from numbagrad.autograd import forward_ad
from numbagrad.executor.mode import NATIVE
from numbagrad.func import derivatives, jvp
from numbagrad.structure import flatten
from numbagrad.transforms import levels

pytestmark = pytest.mark.skipif(not NATIVE, reason="there are no launchers")


@pytest.fixture
def left(monkeypatch):
    """The levels that Python opened."""
    opened = []
    before = derivatives.Level

    def noted(*arguments):
        opened.append(before(*arguments))
        return opened[-1]

    monkeypatch.setattr(derivatives, "Level", noted)
    return opened


def seen(leaves):
    """What a user sees of some Tensors, and of what is none."""
    return [
        (
            x.tolist(), x.dtype, x.requires_grad, x.grad_fn is None, x.is_inference(),
            x.is_inference() or x._version, x._is_view() and x._base.tolist(),
        )
        if isinstance(x, torch.Tensor) else x
        for x in leaves
    ]  # fmt: skip


def both_ways(function, primals, tangents, **options):
    made = jvp(function, primals, tangents, **options)
    with in_python():
        expected = jvp(function, primals, tangents, **options)
    own, other = flatten(made), flatten(expected)
    assert own[1] == other[1]
    assert seen(own[0]) == seen(other[0])
    assert levels.stack.levels == []
    return made


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


@pytest.mark.parametrize("name", NESTED)
def test_nested_arguments(left, name):
    seen_by_function = []

    def function(*arguments):
        leaves, structure = flatten(arguments)
        seen_by_function.append(structure)
        return leaves[0] * leaves[1], leaves[1].exp()

    primals, tangents = NESTED[name](X, X * 2), NESTED[name](T, T * 3)
    for _ in range(2):
        both_ways(function, primals, tangents)
        both_ways(lambda x: x.sum(), (X,), (T,))
    assert len(left) == 4  # those of the calls without launchers
    assert set(seen_by_function) == {flatten(primals)[1]}


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
    both_ways(lambda x: x["a"] * x["b"][0], ({"a": X, "b": (X,)},), ({"a": T, "b": (T,)},))


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("name", RESULTS)
def test_results_of_every_kind(left, name, recording):
    with torch.set_grad_enabled(recording):
        both_ways(RESULTS[name], (X, X * 2), (T, T * 3))
    assert len(left) == 1  # that of the call without launchers


def test_aux_is_handed_through():
    for _ in range(2):
        _, _, aux = both_ways(lambda x: (x * 2, (x * 3, "text")), (X,), (T,), has_aux=True)
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


def test_what_is_left_to_python(left):
    weight = tensor(3, seed=4).requires_grad_()
    assert both_ways(lambda x: x * 2, (weight,), (T,))[1].requires_grad is False
    assert both_ways(lambda x: x * x, (X,), (weight,))[1].requires_grad
    both_ways(lambda x: x * 2, (tensor(6)[::2],), (T,))
    both_ways(lambda pair: pair.first * pair.second, (Pair(X, X),), (Pair(T, T),))
    with torch.inference_mode():
        both_ways(lambda x: x * 2, (X,), (T,))
        frozen = X * 1
    both_ways(lambda x: x * 2, (frozen,), (T,))
    assert len(left) == 12
    with forward_ad._set_fwd_grad_enabled(False):  # they are switched on for the call
        both_ways(lambda x: x * 2, (X,), (T,))


def test_a_result_with_a_history_is_left_to_python():
    weight = tensor(3, seed=4).requires_grad_()
    for _ in range(2):
        value, tangent = both_ways(lambda x: x * weight, (X,), (T,))
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
        both_ways(outer, (X,), (T,))
    assert depths == [[(1, "forward mode", True, False), (2, "forward mode", True, False)]] * 4
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
