"""Jacobians of many rows or columns, computed a block of unit vectors at a time."""

import threading

import numpy as np
import pytest

import numbagrad as ng
from numbagrad.func import blocks, grad, hessian, jacfwd, jacrev, vmap
from numbagrad.func.block_program import Dependent
from numbagrad.program import unit_vectors as repeated
from numbagrad.structure import flatten

COUNT = 24


@pytest.fixture(autouse=True)
def cut_small_bases(monkeypatch):
    """Blocks of a few vectors, however little there is to compute."""
    monkeypatch.setattr(blocks, "MANY_VECTORS", 8)
    monkeypatch.setattr(blocks, "FIRST_ROWS", 5)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(blocks, "MANY_BYTES", 0)
    blocks._experiences.clear()
    blocks._programs.clear()


def at_once(derivative, *arguments):
    """The derivative with all unit vectors at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MANY_VECTORS", 1 << 30)
        return derivative(*arguments)


def assert_same(found, expected):
    if isinstance(expected, (tuple, list)):
        for a, b in zip(found, expected, strict=True):
            assert_same(a, b)
        return
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def programs():
    """The programs that there are, and whether each is used."""
    return [program is not None for program in blocks._programs.values()]


def point(count=COUNT, dtype=ng.float32):
    return ng.linspace(0.1, 1.3, count, dtype=dtype)


WEIGHT = ng.linspace(-1, 1, COUNT * 6).view(COUNT, 6)


def network(x):
    return (ng.tanh(x @ WEIGHT) ** 2).sum() + (x**3).mean()


def pieces(x):
    first, second = x.split([8, COUNT - 8])
    return ng.cat([ng.sin(first), second.view(4, 4) @ second.view(4, 4).t()[0], second * 2])


def written_in_place(x):
    y = x * 2
    y += x.exp()
    y[3:5] = x[0] * x[1]
    return y


def with_zeros_of_its_own(x):
    made = ng.zeros(COUNT + 2)
    return (made + ng.cat([x, x[:2]]) ** 2).view(2, -1)


def linear(x):
    return x.flip(0) * 3 + 1


def normalised(x):
    return ng.softmax(x.view(4, 6), -1).log().sum(0)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


REPEATABLE = [network, pieces, linear, rosenbrock]
OTHERS = [
    written_in_place, normalised, with_zeros_of_its_own,
    lambda x: x,
    lambda x: (x.sum(), ng.ones(3)),
    lambda x: x[ng.tensor([3, 1, 1])] * x[0],
    lambda x: x.cumsum(0).prod(),
    lambda x: x.sort()[0] * ng.arange(COUNT),
    lambda x: ng.linalg.inv(x[:4].view(2, 2) + ng.eye(2)),
]  # fmt: skip


@pytest.mark.parametrize("derivative", [jacfwd, jacrev])
@pytest.mark.parametrize("function", REPEATABLE + OTHERS)
def test_a_jacobian_in_blocks_is_that_of_all_vectors_at_once(derivative, function):
    for _ in range(3):
        assert_same(derivative(function)(point()), at_once(derivative(function), point()))


@pytest.mark.parametrize(
    ("function", "dtype"),
    [(function, ng.float32) for function in REPEATABLE]
    + [(pieces, ng.float64), (linear, ng.float64)],
)
def test_launches_are_run_again_for_the_blocks(function, dtype):
    for _ in range(3):
        assert_same(jacfwd(function)(point(dtype=dtype)),
                    at_once(jacfwd(function), point(dtype=dtype)))  # fmt: skip
    assert programs() and all(programs())


@pytest.mark.parametrize("function", [network, rosenbrock])
def test_a_hessian_is_computed_in_blocks(function):
    for _ in range(6):
        assert_same(hessian(function)(point()), at_once(hessian(function), point()))
    assert programs() and all(programs())
    assert len(programs()) <= 2, "one for the first block, one for blocks of the size that fits"


def test_several_arguments_and_results():
    def function(a, b):
        return a @ b, {"sine": ng.sin(b).sum(0)}

    a, b = point(12).view(3, 4), point(20).view(4, 5)
    for derivative in (jacfwd, jacrev):
        whole = derivative(function, (0, 1))
        for _ in range(3):
            (product, other), expected = whole(a, b), at_once(whole, a, b)
            assert_same(product, expected[0])
            assert_same(other["sine"], expected[1]["sine"])


def test_the_function_runs_once_when_its_program_is_known():
    calls = []

    def function(x):
        calls.append(1)
        return ng.tanh(x) * x

    for _ in range(4):
        jacfwd(function)(point())
    calls.clear()
    jacfwd(function)(point())
    assert len(calls) == 1


def test_what_the_function_captured_is_read_at_each_call():
    scale, factor = ng.ones(COUNT), [2.0]

    def function(x):
        return ng.tanh(x * scale) * factor[0]

    derivative = jacfwd(function)
    for _ in range(3):
        assert_same(derivative(point()), at_once(derivative, point()))
    scale.mul_(3)
    assert_same(derivative(point()), at_once(derivative, point()))
    factor[0] = 5.0
    assert_same(derivative(point()), at_once(derivative, point()))
    scale = ng.full((COUNT,), 0.5)
    assert_same(derivative(point()), at_once(derivative, point()))
    derivative(point() * 2)
    assert_same(derivative(point()), at_once(derivative, point()))


def test_a_branch_on_what_is_no_sample_is_taken_anew_at_each_call():
    switch = ng.tensor(1.0)

    def function(x):
        return ng.sin(x) * x if switch.item() > 0 else ng.cos(x) * x

    for value in (1.0, -1.0, 1.0, -1.0):
        switch.fill_(value)
        assert_same(jacfwd(function)(point()), at_once(jacfwd(function), point()))


def test_a_tensor_that_is_written_after_it_was_read_has_its_old_value_for_all_blocks():
    state = ng.ones(COUNT)

    def function(x):
        y = ng.sin(x) * state
        state.mul_(2)
        return y * x

    for _ in range(4):
        state.fill_(1)
        expected = at_once(jacfwd(lambda x: ng.sin(x) * x), point())
        found = jacfwd(function)(point())
        assert_same(found[:, :5], expected[:, :5])  # the function may run again for the others
        state.fill_(1)


def test_histories_of_captured_tensors_are_kept():
    scale = ng.ones(COUNT, requires_grad=True)

    def function(x):
        return ng.sin(x * scale) * x

    for _ in range(3):
        (found,) = ng.autograd.grad(jacfwd(function)(point()).square().sum(), scale)
        (expected,) = ng.autograd.grad(at_once(jacfwd(function), point()).square().sum(), scale)
        assert_same(found, expected)


def test_histories_of_arguments_are_kept():
    x = point().requires_grad_()
    for _ in range(3):
        (found,) = ng.autograd.grad(jacfwd(network)(x).square().sum(), x)
        (expected,) = ng.autograd.grad(at_once(jacfwd(network), x).square().sum(), x)
        assert_same(found, expected)


@pytest.mark.parametrize(
    "around",
    [
        lambda f: vmap(f),
        lambda f: vmap(grad(lambda x: f(x).square().sum())),
        lambda f: jacrev(lambda x: f(x[0]).sum()),
        lambda f: ng.compile(lambda x: f(x[0])),
    ],
)
def test_inside_of_other_transformations_all_vectors_are_computed_at_once(around):
    x = ng.stack([point(), point() * 2])
    whole = around(jacfwd(lambda x: ng.sin(x) * x))
    for _ in range(3):
        assert_same(whole(x), at_once(around(jacfwd(lambda x: ng.sin(x) * x)), x))
    assert not programs()


def test_an_error_of_the_function_leaves_nothing_behind():
    def function(x):
        if broken:
            raise KeyError("broken")
        return ng.sin(x)

    broken = True
    with pytest.raises(KeyError):
        jacfwd(function)(point())
    broken = False
    for _ in range(3):
        assert_same(jacfwd(function)(point()), at_once(jacfwd(function), point()))


def test_random_numbers_are_refused_as_ever():
    with pytest.raises(RuntimeError, match="random"):
        jacfwd(lambda x: x * ng.rand_like(x))(point())


def test_several_threads_compute_jacobians_of_one_function():
    expected = at_once(hessian(network), point())
    hessian(network)(point())
    found = {}

    def work(number):
        found[number] = [hessian(network)(point()) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for made in found.values():
        for each in made:
            assert_same(each, expected)
    assert len(found) == 4


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    before = ng.get_num_threads()
    ng.set_num_threads(request.param)
    yield request.param
    ng.set_num_threads(before)


@pytest.fixture
def shared(monkeypatch):
    """The programs that shared their blocks, and over how many threads."""
    used = []
    run = repeated.Repeated.run

    def noted(self, *arguments):
        used.append(len(self._workers))
        run(self, *arguments)

    monkeypatch.setattr(repeated.Repeated, "run", noted)
    return used


def of_two(a, b):
    return ng.tanh(a @ WEIGHT[:, :4]) * b.sum(), ng.cat([a, b, b])


@pytest.mark.parametrize(
    ("derivative", "function"),
    [(hessian, network), (hessian, rosenbrock), (jacrev, pieces)]
    + [(jacfwd, function) for function in (network, pieces, linear, of_two)],
)
def test_blocks_that_threads_share_have_the_bits_of_one_after_another(
    derivative, function, threads, shared
):
    arguments = (point(), point(7)) if function is of_two else (point(),)
    whole = derivative(function, tuple(range(len(arguments))))
    for _ in range(3):
        found = whole(*arguments)
        calls = len(shared)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Dependent, "whole", False)
            expected = whole(*arguments)
        assert len(shared) == calls
        for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
        assert_same(found, at_once(whole, *arguments))
    assert shared and 0 < max(shared) <= threads


def test_a_function_whose_launches_differ_at_each_call_is_left_alone():
    factor = [0.0]

    def function(x):
        factor[0] += 1
        return ng.sin(x) * factor[0]

    for _ in range(blocks.MANY_FORMS + 3):
        jacfwd(function)(point())
    (known,) = next(iter(blocks._experiences.values())).values()
    assert known.rows == 0
