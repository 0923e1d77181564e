"""The compiled check of recorded calls: what it sees as unchanged, and what it leaves to Python."""

import collections
import concurrent.futures
import os

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.executor.mode import NATIVE
from numbagrad.structure import flatten, picker, rebuild

pytestmark = pytest.mark.skipif(not NATIVE, reason="without a compiler nothing is recorded")


def learned(function, *arguments):
    """A compiled function whose last call was found unchanged by compiled code, and its check."""
    compiled = torch.compile(function)
    for _ in range(6):
        compiled(*arguments)
    found = compiled._latest.captured._replay.holds
    assert found(*arguments) is not None
    return compiled, found


def test_new_arguments_of_the_same_form_hold():
    compiled, holds = learned(lambda a, b: a * b, torch.ones(3, 4), torch.ones(3, 4))
    a, b = torch.full((3, 4), 2.0), torch.full((3, 4), 3.0)
    assert holds(a, b) is not None
    assert compiled(a, b).tolist() == (a * b).tolist()
    assert holds(a, torch.full((5, 3, 4), 3.0)[2]) is not None  # a view, of memory of its own


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.double(),
        lambda a: a.t(),
        lambda a: a[:2],
        lambda a: a.requires_grad_(),
        lambda a: torch.nn.Parameter(a, requires_grad=False),
        lambda a: a.numpy(),
        lambda a: 1.0,
        lambda a: None,
    ],
)  # fmt: skip
def test_arguments_of_another_form_are_left_to_python(change):
    other = torch.ones(3, 3)
    _, holds = learned(lambda a, b: b * 2, torch.ones(3, 3), other)
    assert holds(change(torch.ones(3, 3)), other) is None


def test_arguments_with_gradients_hooks_or_attributes_are_left_to_python():
    _, holds = learned(lambda a: a * 2, torch.ones(3))
    with_gradient, with_attribute = torch.ones(3), torch.ones(3)
    with_gradient.grad = torch.ones(3)
    with_attribute.name = "weight"
    assert holds(with_gradient) is None
    assert holds(with_attribute) is None
    assert holds() is None
    assert holds(torch.ones(3), torch.ones(3)) is None


def with_gradient(values, gradient):
    tensor = torch.tensor(values, requires_grad=True)
    tensor.grad = gradient
    return tensor


def test_arguments_may_have_gradients_that_the_program_does_not_read():
    x = with_gradient([1.0, 2.0], torch.ones(2))
    compiled, holds = learned(lambda x: x * x, x)
    other = with_gradient([3.0, 4.0], torch.zeros(2))
    assert holds(other) is not None
    compiled(other).sum().backward()
    compiled(other).sum().backward()
    assert other.grad.tolist() == [12.0, 16.0]
    assert holds(torch.ones(2, requires_grad=True)) is None


@pytest.mark.parametrize(
    "gradient",
    [
        lambda x: torch.ones(2, requires_grad=True),
        lambda x: torch.ones(2, requires_grad=True) * 2,
        lambda x: torch.ones(2, 2)[:, 0],
        lambda x: x.detach(),
        lambda x: torch.from_numpy(np.frombuffer(bytearray(8), np.float32)),
        lambda x: with_gradient([1.0, 1.0], torch.ones(2)),
        lambda x: torch.nn.Parameter(torch.ones(2), requires_grad=False),
    ],
)
def test_gradients_of_another_form_are_left_to_python(gradient):
    x = with_gradient([1.0, 2.0], torch.ones(2))
    compiled, holds = learned(lambda x: x * x, x)
    other = torch.tensor([3.0, 4.0], requires_grad=True)
    other.grad = gradient(other)
    assert holds(other) is None
    assert compiled(other).tolist() == [9.0, 16.0]


def test_gradients_that_arguments_share_are_left_to_python():
    _, holds = learned(
        lambda a, b: a * b,
        with_gradient([1.0, 2.0], torch.ones(2)),
        with_gradient([1.0, 2.0], torch.ones(2)),
    )
    shared = torch.ones(2)
    assert holds(with_gradient([1.0, 2.0], shared), with_gradient([1.0, 2.0], shared)) is None
    a = with_gradient([1.0, 2.0], shared)
    assert holds(a, with_gradient([1.0, 2.0], a.detach())) is None
    assert holds(with_gradient([1.0, 2.0], a.detach()), a) is None


def test_gradients_that_a_program_reads_or_replaces_are_followed():
    x = with_gradient([1.0, 2.0], torch.ones(2))
    read = torch.compile(lambda x: x.grad * 2)
    accumulate = torch.compile(lambda x: (x * x).sum().backward())
    for call in range(9):
        x.grad = torch.full((2,), float(call))
        assert read(x).tolist() == [2.0 * call] * 2
        accumulate(x)
        assert x.grad.tolist() == [call + 2.0, call + 4.0]


def test_arguments_that_share_memory_are_left_to_python():
    weight = torch.zeros(3)

    def step(a, b):
        weight.add_(a)
        return a * b

    compiled, holds = learned(step, torch.ones(3), torch.ones(3))
    a = torch.ones(3)
    assert holds(a, a) is None
    assert holds(a, a.view(3)) is None
    assert holds(a, weight) is None
    assert holds(a, weight.detach()) is None
    assert holds(a, torch.from_numpy(np.frombuffer(bytearray(12), np.float32))) is None
    before = weight.clone()
    assert compiled(a, weight.detach()).tolist() == (before + 1).tolist()


def test_tensors_outside_that_change_are_left_to_python():
    weight = torch.ones(3, requires_grad=True)

    def step(x):
        weight.grad = None
        loss = (weight * x).sum()
        loss.backward()
        return loss

    x = torch.ones(3)
    compiled, holds = learned(step, x)
    assert holds(x) is True  # the gradient may be written again
    kept = weight.grad
    assert holds(x) is False  # but not if somebody has it
    value = compiled(torch.full((3,), 2.0))
    assert value.item() == 6.0 and kept.tolist() == [1.0] * 3 and weight.grad.tolist() == [2.0] * 3
    weight.grad = None
    assert holds(x) is None
    compiled, holds = learned(step, x)
    weight.requires_grad_(False)
    assert holds(x) is None
    weight.requires_grad_()
    assert holds(x) is not None
    weight.data = torch.full((3,), 5.0)
    assert holds(x) is None
    assert compiled(x).item() == 15.0


def test_versions_count_and_results_stay():
    weight = torch.zeros(2)

    def step(x):
        with torch.no_grad():
            weight.add_(x)
        return weight * 1

    x = torch.ones(2)
    compiled, holds = learned(step, x)
    version, results = weight._version, [compiled(x) for _ in range(3)]
    assert weight._version == version + 3
    assert [result.tolist() for result in results] == [[7.0] * 2, [8.0] * 2, [9.0] * 2]


@pytest.mark.parametrize(
    "function",
    [
        lambda a: (a * 2, a + 1),
        lambda a: [a * 2, (a + 1, a)],
        lambda a: {"twice": a * 2, "sum": a.sum(), "number": 3},
        lambda a: torch.func.jvp(torch.sin, (a,), (a,)),
    ],
)
def test_several_results_that_share_nothing_are_found_at_once(function):
    a = torch.linspace(0.0, 1.0, 6).reshape(2, 3)
    compiled, _ = learned(function, a)
    assert compiled._latest.captured._find_result is not None
    first, again = compiled(a), compiled(a + 1)
    for made, argument in ((first, a), (again, a + 1)):
        expected = flatten(function(argument))
        assert flatten(made)[1] == expected[1]
        for own, other in zip(flatten(made)[0], expected[0], strict=True):
            assert own == other if isinstance(own, int) else torch.equal(own, other)


@pytest.mark.parametrize(
    "share",
    [lambda made: made, lambda made: made.detach(), lambda made: made[0], lambda made: made.t()],
    ids=["the same", "detached", "part", "transposed"],
)
def test_results_that_share_memory_do_so_in_every_run(share):
    a = torch.linspace(0.0, 1.0, 6).reshape(2, 3)

    def function(a):
        made = a * 2
        return made, share(made)

    compiled, _ = learned(function, a)
    assert compiled._latest.captured._find_result is None
    made, other = compiled(a)
    expected, its = function(a)
    assert (other is made) == (its is expected)
    made.add_(1)
    expected.add_(1)
    assert torch.equal(other, its)
    assert other._version == made._version == expected._version


def long_step(a):
    """So much work that a program lets go of the GIL."""
    return (a * 2 + 1).exp().sum(dim=1)


def test_threads_get_their_own_results():
    compiled, _ = learned(long_step, torch.zeros(256, 512))
    inputs = [torch.full((256, 512), k / 8) for k in range(8)]
    expected = [long_step(x) for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            for found, value in zip(pool.map(compiled, inputs), expected, strict=True):
                np.testing.assert_allclose(found.numpy(), value.numpy(), rtol=1e-5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_replays():
    compiled, _ = learned(long_step, torch.zeros(256, 512))
    expected = long_step(torch.ones(256, 512)).tolist()
    child = os.fork()
    if child == 0:
        same = np.allclose(compiled(torch.ones(256, 512)).tolist(), expected)
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_check_that_fails_leaves_what_the_function_leaves():
    weight = torch.zeros(3, 4, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=0.1)

    def step(classes):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(weight, classes)
        loss.backward()
        optimizer.step()
        return loss

    compiled, holds = learned(step, torch.tensor([0, 1, 2]))
    values = weight.tolist()
    counts = [state["step"].item() for state in optimizer.state.values()]
    wrong = torch.tensor([0, 7, 2])
    assert holds(wrong) is not None
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        compiled(wrong)
    assert weight.tolist() == values
    assert weight.grad is None  # the gradients were cleared before
    assert [state["step"].item() for state in optimizer.state.values()] == counts


def test_options_that_change_between_steps_are_followed():
    weight, other = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)

    def step_of(parameter, optimizer):
        def step():
            optimizer.zero_grad()
            (parameter * parameter).sum().backward()
            optimizer.step()

        return step

    optimizer, reference = torch.optim.SGD([weight], lr=0.1), torch.optim.SGD([other], lr=0.1)
    compiled, eager = torch.compile(step_of(weight, optimizer)), step_of(other, reference)
    for k in range(8):
        optimizer.param_groups[0]["lr"] = reference.param_groups[0]["lr"] = 0.1 / (k + 1)
        compiled()
        eager()
        np.testing.assert_allclose(weight.detach().numpy(), other.detach().numpy(), rtol=1e-6)


Pair = collections.namedtuple("Pair", "first second")
NESTED = {
    "a tuple": lambda a, b: ((a, b),),
    "a list": lambda a, b: ([a, b],),
    "a dictionary": lambda a, b: ({"a": a, "b": b},),
    "an ordered dictionary": lambda a, b: (collections.OrderedDict(a=a, b=b),),
    "deeper": lambda a, b: ({"x": [a, (b,)], "y": ()}, []),
    "beside leaves": lambda a, b: (a, (b,)),
}


def product_of(*arguments):
    leaves, _ = flatten(arguments)
    total = leaves[0]
    for leaf in leaves[1:]:
        total = total * leaf
    return total


@pytest.mark.parametrize("name", NESTED)
def test_nested_arguments_are_taken_apart_at_once(name, monkeypatch):
    compiled = torch.compile(product_of)
    for _ in range(6):
        compiled(*NESTED[name](torch.ones(3), torch.ones(3)))
    calls = []
    monkeypatch.setattr(
        type(compiled), "_call", lambda self, args, kwargs: calls.append(args) or product_of(*args)
    )
    a, b = torch.full((3,), 2.0), torch.full((3,), 3.0)
    assert compiled(*NESTED[name](a, b)).tolist() == [6.0] * 3
    assert calls == []
    assert compiled(*NESTED[name](a.double(), b)).dtype is torch.float64
    assert len(calls) == 1


@pytest.mark.parametrize(
    "other",
    [
        lambda a, b: ([a, b],),
        lambda a, b: ((a, b, a),),
        lambda a, b: ((a,),),
        lambda a, b: (((a, b), b),),
        lambda a, b: ((a, [b]),),
        lambda a, b: (Pair(a, b),),
        lambda a, b: ({0: a, 1: b},),
        lambda a, b: (a,),
        lambda a, b: ((a, b), b),
        lambda a, b: ((a, 4.0),),
        lambda a, b: ((4.0, b),),
    ],
)  # fmt: skip
def test_arguments_that_are_nested_otherwise_are_seen(other):
    compiled = torch.compile(product_of)
    a, b = torch.full((3,), 2.0), torch.full((3,), 3.0)
    for _ in range(6):
        compiled((a, b))
    for _ in range(3):
        assert compiled(*other(a, b)).tolist() == product_of(*other(a, b)).tolist()
        assert compiled((b, b)).tolist() == [9.0] * 3


def test_dictionaries_with_other_names_are_seen():
    compiled = torch.compile(lambda x: x["a"] - x["b"])
    a, b = torch.full((3,), 2.0), torch.full((3,), 3.0)
    for _ in range(6):
        assert compiled({"a": a, "b": b}).tolist() == [-1.0] * 3
    assert compiled({"b": b, "a": a}).tolist() == [-1.0] * 3
    assert compiled({"b": a, "a": b}).tolist() == [1.0] * 3
    with pytest.raises(KeyError):
        compiled({"a": a, "c": b})


@pytest.mark.parametrize("structure", [flatten((1, [2, {"a": 3}]))[1], flatten(((), [], {}))[1]])
def test_picking_leaves_follows_the_structure(structure):
    value = rebuild(structure, iter(range(10)))
    leaves = picker(structure)(value)
    assert leaves == tuple(flatten(value)[0])
    assert picker(flatten(Pair(1, 2))[1]) is None
    assert picker(flatten([torch.Size((1, 2))])[1]) is None
