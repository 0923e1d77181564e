"""compile(): what could go silently wrong with tensors, their memory, gradients and graphs.

One test a hazard, as in ``test_capture_hazards.py``.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import types
import warnings

import numba
import numpy as np
import pytest
from compile_checks import assert_compiled, follow, left_to_python, same, values

import numbagrad as torch
from numbagrad import nn, numba_extension, optim
from numbagrad.autograd import Function
from numbagrad.executor.mode import NATIVE
from numbagrad.nn.module_hooks import register_module_forward_hook

F = nn.functional


# --- where tensors come from ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda k: torch.tensor([1.0, float(k)]),
        lambda k: torch.from_numpy(np.array([1.0, k])),
        lambda k: torch.as_tensor(np.float64(k)),
        lambda k: torch.full((2,), float(k)),
        lambda k: torch.arange(2) + k,
        lambda k: torch.ones(2) * k,
        lambda k: torch.eye(2) * k,
        lambda k: torch.linspace(0, k + 1, 2),
    ],
)
def test_tensors_made_of_python_data(make):
    box = types.SimpleNamespace(k=0)

    def run(k):
        box.k = k // 2
        return (torch.ones(2),)

    plain, compiled = (lambda x: x * make(box.k)), torch.compile(lambda x: x * make(box.k))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(6):
            same(values(compiled(*run(k))), values(plain(*run(k))))


def test_parameters_that_are_replaced():
    net = nn.Linear(2, 2)
    compiled = torch.compile(lambda x: net(x).detach())
    x = torch.ones(1, 2)
    for change in (
        lambda: None,
        lambda: None,
        lambda: setattr(net, "weight", nn.Parameter(torch.ones(2, 2))),
        lambda: setattr(net.weight, "data", torch.full((2, 2), 2.0)),
        lambda: setattr(net.weight, "data", torch.full((2, 2), 3.0).t()),
        lambda: net.weight.data.fill_(5),
        lambda: net.load_state_dict({"weight": torch.eye(2), "bias": torch.ones(2)}),
        lambda: setattr(net, "bias", None),
        lambda: net.register_parameter("bias", nn.Parameter(torch.zeros(2))),
    ):
        change()
        same(values(compiled(x)), values(net(x)))


def test_a_tensor_of_which_only_the_shape_is_read():
    counted = torch.zeros(3)
    compiled = torch.compile(lambda x: x * counted.shape[0])
    assert [compiled(torch.ones(1)).item() for _ in range(3)] == [3.0] * 3
    counted.data = torch.zeros(5)
    assert compiled(torch.ones(1)).item() == 5.0


def train_step(net, update):
    def step(x):
        update.zero_grad()
        loss = net(x).pow(2).sum()
        loss.backward()
        update.step()
        return loss

    return step


def lockstep(change, steps=12, make_optimizer=None):
    """Train two equal nets, one compiled, with ``change(k, net, optimizer)`` before each step."""
    make_optimizer = make_optimizer or (lambda p: optim.SGD(p, 0.01, momentum=0.9))
    results = []
    for wrap in (lambda f: f, torch.compile):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        update = make_optimizer(net.parameters())
        step = wrap(train_step(net, update))
        losses = []
        for k in range(steps):
            change(k, net, update)
            losses.append(step(torch.full((2, 3), 1.0 + k)).item())
        results.append([*losses, *[values(p) for p in net.parameters()]])
    same(results[1], results[0])
    return step


def test_parameters_that_are_frozen_and_thawed():
    lockstep(lambda k, net, update: net[0].weight.requires_grad_(k // 3 % 2 == 0))


def test_parameters_that_are_added():
    def change(k, net, update):
        if k == 5:
            net.append(nn.Linear(2, 2))
            update.add_param_group({"params": list(net[3].parameters()), "lr": 0.1})

    lockstep(change)


def test_states_that_are_loaded_between_calls():
    kept = {}

    def change(k, net, update):
        if k == 3:
            kept["net"] = copy.deepcopy(net.state_dict())
            kept["update"] = copy.deepcopy(update.state_dict())
        if k == 8:
            net.load_state_dict(kept["net"])
            update.load_state_dict(kept["update"])

    lockstep(change)
    lockstep(change, make_optimizer=lambda p: optim.Adam(p, 0.01))


def test_learning_rates_that_schedulers_change():
    schedulers = {}

    def change(k, net, update):
        scheduler = schedulers.setdefault(id(update), optim.lr_scheduler.StepLR(update, 3, 0.5))
        if k:
            scheduler.step()

    for make in (lambda p: optim.Adam(p, 0.1), lambda p: optim.SGD(p, 0.1)):
        assert_compiled(lockstep(change, make_optimizer=make))


@pytest.mark.parametrize("make", [
    lambda p: optim.Adamax(p, 0.1),
    lambda p: optim.NAdam(p, 0.01, momentum_decay=0.1),
    lambda p: optim.RAdam(p, 0.01, betas=(0.9, 0.95)),
    lambda p: optim.ASGD(p, 0.01, lambd=0.1, t0=5),
    lambda p: optim.Rprop(p, 0.001),
])  # fmt: skip
def test_numbers_that_an_optimizer_counts(make):
    def change(k, net, update):
        update.param_groups[0]["lr"] *= 0.9

    assert_compiled(lockstep(change, make_optimizer=make), 1)


def test_options_of_an_optimizer_that_change():
    def change(k, net, update):
        update.param_groups[0]["momentum"] = 0.9 if k % 4 < 2 else 0.5
        update.param_groups[0]["weight_decay"] = 0.1 if k > 6 else 0.0

    lockstep(change)


def test_a_learning_rate_that_the_step_reads_as_well():
    weight = torch.ones(1, requires_grad=True)
    update = optim.SGD([weight], lr=1.0)

    @torch.compile
    def step(x):
        update.zero_grad()
        (weight * x).sum().backward()
        update.step()
        return x * update.param_groups[0]["lr"]

    for rate in (1.0, 1.0, 1.0, 0.5, 0.5):
        update.param_groups[0]["lr"] = rate
        assert step(torch.ones(1)).item() == rate


def test_several_optimizers_and_groups():
    def make():
        net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        first = optim.Adam([{"params": net[0].parameters(), "lr": 0.1}], lr=0.01)
        second = optim.SGD(
            [{"params": [net[1].weight]}, {"params": [net[1].bias], "lr": 0.5}], lr=0.1
        )

        def step(x):
            for update in (first, second):
                update.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            for update in (first, second):
                update.step()
            return loss

        return step

    assert_compiled(follow(make, lambda k: (torch.full((2, 3), 0.1 * k),)))


# --- gradients ------------------------------------------------------------------------------------


def test_gradients_set_to_none_zeroed_held_and_replaced():
    results = []
    for wrap in (lambda f: f, torch.compile):
        weight = torch.arange(3.0).requires_grad_()
        step = wrap(lambda x, weight=weight: (weight * x).sum().backward())
        held, log = [], []
        for k in range(12):
            if k % 5 == 1:
                weight.grad = None
            elif k % 5 == 3:
                weight.grad.zero_()
            elif k == 7:
                weight.grad = torch.full((3,), 7.0)
            elif k == 9:
                weight.grad = weight.grad.t()
            step(torch.full((3,), float(k)))
            held.append(weight.grad)
            log.append(values(weight.grad))
        results.append([*log, *values(held)])
    same(results[1], results[0])


def test_gradients_of_two_tensors_that_are_one_tensor():
    results = []
    for wrap in (lambda f: f, torch.compile):
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        step = wrap(lambda a=a, b=b: (a * 2 + b * 3).sum().backward())
        log = []
        for k in range(8):
            if k == 4:
                a.grad = b.grad = torch.zeros(2)
            step()
            log += [values(a.grad), values(b.grad)]
        results.append(log)
    same(results[1], results[0])


def test_the_gradient_that_is_returned_is_the_gradient():
    weight = torch.ones(2, requires_grad=True)

    @torch.compile
    def step():
        weight.grad = None
        (weight * 2).sum().backward()
        return weight.grad, weight

    for _ in range(5):
        gradient, found = step()
        assert gradient is weight.grad
        assert found is weight


def test_weights_shared_between_modules():
    def make():
        first, second = nn.Linear(3, 3), nn.Linear(3, 3)
        second.weight = first.weight
        update = optim.SGD([*first.parameters(), second.bias], 0.01)
        return train_step(nn.Sequential(first, second), update)

    assert_compiled(follow(make, lambda k: (torch.full((2, 3), float(k)),)))


def test_weights_that_share_memory_only_sometimes():
    results = []
    for wrap in (lambda f: f, torch.compile):
        a, b = torch.ones(3), torch.ones(3)

        def step(a=a, b=b):
            a.add_(1)
            b.mul_(2)
            return a + b

        compiled = wrap(step)
        log = []
        for k in range(8):
            if k == 4:
                b.data = a.data
            log.append(values(compiled()))
        results.append(log)
    same(results[1], results[0])


# --- arguments ------------------------------------------------------------------------------------


def test_one_tensor_given_twice():
    compiled = torch.compile(lambda x, y: x * 2 + y)
    one, two = torch.ones(2), torch.full((2,), 5.0)
    for x, y in ((one, one), (one, one), (one, two), (two, one), (two, two)):
        same(values(compiled(x, y)), values(x * 2 + y))


def test_a_parameter_as_an_argument_once_and_another_tensor_later():
    weight = torch.ones(2, requires_grad=True)

    def step(x):
        x.grad = weight.grad = None
        (x * 2 + weight * 3).sum().backward()
        return x.grad + weight.grad

    other = torch.ones(2, requires_grad=True)
    for order in ((weight, weight, other, other, weight), (other, other, weight, other)):
        compiled = torch.compile(step)
        for x in order:
            same(values(compiled(x)), values(step(x)))


@pytest.mark.filterwarnings("ignore:compile")
def test_arguments_that_overlap_when_the_program_writes():
    def step(x, y):
        x.add_(1)
        y.mul_(2)
        return x + y

    compiled = torch.compile(step)

    def arguments(k):
        base = torch.arange(8.0)
        if k % 3 == 0:
            return base[:4], torch.arange(4.0)
        return (base[:4], base[2:6]) if k % 3 == 1 else (base[:4], base[4:])

    for k in range(12):
        x, y = arguments(k)
        a, b = arguments(k)
        same(values([step(x, y), x, y]), values([compiled(a, b), a, b]))


@pytest.mark.filterwarnings("ignore:compile")
def test_arguments_over_one_foreign_buffer():
    def step(x, y):
        x.add_(1)
        return x + y

    compiled = torch.compile(step)
    for apart in (True, True, False, False, True):
        results = []
        for function in (step, compiled):
            memory = bytearray(np.arange(8, dtype=np.float32).tobytes())
            x = torch.from_numpy(np.frombuffer(memory, np.float32, 4))
            y = torch.from_numpy(np.frombuffer(memory, np.float32, 4, 16 if apart else 4))
            results.append(values(function(x, y)))
        same(results[1], results[0])


def test_an_argument_that_is_a_view_of_a_parameter():
    weight = torch.arange(4.0)

    def step(x):
        weight.add_(1)
        return x * 2

    compiled = torch.compile(step)
    for inside in (False, False, True, True, False):
        x = weight[1:3] if inside else torch.ones(2)
        expected = values((weight[1:3] + 1) * 2) if inside else np.full(2, 2.0)
        same(values(compiled(x)), expected)


def test_layouts_dtypes_ranks_and_empty_tensors():
    inputs = [
        torch.arange(6.0).view(2, 3), torch.arange(6.0).view(3, 2).t(), torch.arange(6.0)[::2],
        torch.tensor(2.0), torch.zeros(0), torch.zeros(0, 3), torch.arange(6).view(2, 3),
        torch.arange(6.0, dtype=torch.float64), torch.arange(3.0).expand(2, 3),
    ]  # fmt: skip

    def step(x):
        return x * 2 + x.sum(), x.t() if x.dim() == 2 else x

    compiled = torch.compile(step)
    for _ in range(3):
        for x in inputs:
            found, expected = compiled(x), step(x)
            same(values(found), values(expected))
            assert [r.dtype for r in found] == [r.dtype for r in expected]
            assert [r.stride() for r in found] == [r.stride() for r in expected]
    assert_compiled(compiled, len(inputs))


def test_requires_grad_and_grad_mode():
    compiled = torch.compile(lambda x: x * 2)
    for _ in range(3):
        assert not compiled(torch.ones(2)).requires_grad
        assert compiled(torch.ones(2, requires_grad=True)).requires_grad
        with torch.no_grad():
            assert not compiled(torch.ones(2, requires_grad=True)).requires_grad


def test_the_default_dtype_and_the_number_of_threads():
    compiled = torch.compile(lambda x: torch.ones(2) * x)
    threads = torch.get_num_threads()
    try:
        for _ in range(3):
            torch.set_default_dtype(torch.float64)
            assert compiled(torch.ones(2)).dtype == torch.float64
            torch.set_default_dtype(torch.float32)
            torch.set_num_threads(1)
            assert compiled(torch.ones(2)).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_num_threads(threads)


def test_settings_that_the_function_changes_are_left_to_python():
    def step(x):
        torch.set_grad_enabled(False)
        return x * 2

    compiled = torch.compile(step)
    x = torch.ones(1, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            compiled(x)
            assert not torch.is_grad_enabled()
            torch.set_grad_enabled(True)


@dataclasses.dataclass
class Batch:
    """A batch with a name."""

    x: torch.Tensor
    name: str
    extra: list = dataclasses.field(default_factory=list)


Pair = collections.namedtuple("Pair", "first second")


def test_nested_containers_in_and_out():
    def step(batch, pair, options):
        scale = 2 if batch.name == "a" else 3
        gain = getattr(batch, "gain", 1)
        y = batch.x * scale * gain + options["shift"]
        made = Batch(y, batch.name, [pair.first, batch.x])
        return made, {"pair": Pair(pair.second + 1, None)}

    compiled = torch.compile(step)
    for k in range(10):
        batch = Batch(torch.full((2,), float(k)), "ab"[k % 2])
        if k > 5:
            batch.gain = k // 2
        pair = Pair(torch.ones(1) * k, torch.zeros(1))
        found, more = compiled(batch, pair, {"shift": torch.ones(2) * k})
        expected, _ = step(batch, pair, {"shift": torch.ones(2) * k})
        same(values(found.x), values(expected.x))
        assert found.name == batch.name
        assert found.extra[0] is pair.first and found.extra[1] is batch.x
        assert isinstance(more["pair"], Pair) and more["pair"].second is None
    assert_compiled(compiled)


def test_what_a_function_returns():
    weight = nn.Parameter(torch.ones(2))
    compiled = torch.compile(lambda x: (x, weight, x[0], None, 3, (x * 2).view(2, 1), x.shape))
    for k in range(5):
        x = torch.full((2,), float(k))
        same_x, same_weight, first, none, number, twice, shape = compiled(x)
        assert same_x is x and same_weight is weight and none is None and number == 3
        assert tuple(shape) == (2,)
        same(values(twice), np.full((2, 1), 2.0 * k))
        first.fill_(9)  # a view of the argument: the same memory, and the same count of writes
        assert x[0].item() == 9
        assert x._version == first._version == 1


def test_results_that_share_memory_share_their_count_of_writes():
    def step(x):
        y = x * 2
        return y, y[0], y.t()

    compiled = torch.compile(step)
    for _ in range(4):
        y, first, turned = compiled(torch.ones(2, 2))
        first.add_(1)
        assert y._version == turned._version == 1
        same(values(turned), np.array([[3, 2], [3, 2]], np.float32))


def test_writes_to_results_reach_the_views_among_them():
    def make():
        weight = torch.full((3,), 2.0, requires_grad=True)
        inner = torch.compile(lambda x: (lambda y: (y, y[0], y[:, 1]))(x * 2 + 1))

        def step(x):
            whole, row, column = inner(x)
            row.mul_(weight)
            (whole.sum() * 2 + row.sum() + column.sum()).backward()
            found, weight.grad = weight.grad, None
            return whole, row, column, found

        return step, inner

    step, inner = make()
    for k in range(4):
        x = torch.full((2, 3), float(k))
        y = x * 2 + 1
        y[0] *= 2.0
        same(values(step(x)), values([y, y[0], y[:, 1], torch.tensor([3.0, 4, 3]) * (2 * k + 1)]))
    assert_compiled(inner, 1)


@pytest.mark.filterwarnings("ignore:compile")
def test_a_graph_that_raises_only_if_it_is_walked():
    def step(x):
        y = x.exp()
        z = y * 2
        y += 1  # which the gradient of the exponential needs
        return z, x * 3

    compiled = torch.compile(step)
    for _ in range(3):
        x = torch.ones(3, requires_grad=True)
        z, other = compiled(x)
        other.sum().backward()
        same(values(x.grad), np.full(3, 3.0, np.float32))
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()


def test_results_with_a_graph_that_share_memory_are_not_written():
    compiled = torch.compile(lambda x: (lambda y: (y, y[0]))(x * 2 + 1))
    for _ in range(3):
        whole, row = compiled(torch.ones(2, 3, requires_grad=True))
    if NATIVE:
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            row.mul_(2)


def test_parameters_and_subclasses_as_arguments():
    class Mine(torch.Tensor):
        pass

    compiled = torch.compile(lambda x: x * 2)
    for _ in range(3):
        for x in (torch.ones(2), nn.Parameter(torch.ones(2)), Mine([1.0, 1.0])):
            found = compiled(x)
            assert type(found) is type(x * 2)
            same(values(found), np.full(2, 2.0))


def test_writes_in_place_and_their_counts():
    def step(x, y):
        x.mul_(2)
        x[0] += 1
        y.t().sub_(1)
        return x.sum() + y.sum()

    compiled = torch.compile(step)
    x, y = torch.ones(2, 2), torch.ones(2, 2)
    a, b = x.clone(), y.clone()
    for _ in range(5):
        same(values(compiled(x, y)), values(step(a, b)))
        assert (x._version, y._version) == (a._version, b._version)
    same(values([x, y]), values([a, b]))


def test_a_saved_tensor_that_a_replay_overwrites_is_noticed():
    weight = torch.ones(2)

    @torch.compile
    def step():
        weight.mul_(2)

    for _ in range(3):
        step()
    x = torch.ones(2, requires_grad=True)
    loss = (x * weight).sum()
    step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


# --- graphs ---------------------------------------------------------------------------------------


def test_a_graph_that_goes_on_outside():
    weight = torch.arange(3.0).requires_grad_()
    compiled = torch.compile(lambda x: (x * weight).exp())
    for k in range(5):
        x = torch.full((3,), 0.1 * k, requires_grad=True)
        weight.grad = None
        (compiled(x * 2) * 3).sum().backward()
        found = values([x.grad, weight.grad])
        x.grad = weight.grad = None
        ((x * 2 * weight).exp() * 3).sum().backward()
        same(found, values([x.grad, weight.grad]))


def test_an_input_that_was_computed_from_a_parameter():
    weight = torch.arange(1.0, 4.0).requires_grad_()
    compiled = torch.compile(lambda h: h * weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            weight.grad = None
            compiled(weight * 2).sum().backward()
            same(values(weight.grad), values(weight * 4))


@pytest.mark.filterwarnings("ignore:compile")
def test_a_graph_made_before_the_call_is_walked_by_python():
    weight = torch.ones(2, requires_grad=True)
    compiled = torch.compile(lambda loss: loss.backward())
    for k in range(1, 5):
        compiled((weight * 2).sum())
        same(values(weight.grad), np.full(2, 2.0 * k))
    loss = (weight * weight).sum()
    compiled(loss)
    with pytest.raises(RuntimeError, match="second time"):
        compiled(loss)


def test_retain_graph_and_second_derivatives_inside():
    def make():
        weight = torch.arange(1.0, 4.0).requires_grad_()

        def step(x):
            weight.grad = None
            y = (weight * x).pow(3).sum()
            y.backward(retain_graph=True)
            y.backward()
            (first,) = torch.autograd.grad((weight * x).pow(3).sum(), weight, create_graph=True)
            (second,) = torch.autograd.grad(first.sum(), weight)
            return weight.grad.clone(), first.detach(), second

        return step

    assert_compiled(follow(make, lambda k: (torch.full((3,), 0.5 * k),)))


def test_a_result_cannot_be_walked_twice():
    weight = torch.ones(2, requires_grad=True)

    @torch.compile
    def step(x):
        loss = (weight * weight * x).sum()
        loss.backward()
        return loss

    for _ in range(4):
        loss = step(torch.ones(2))
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()


def test_hooks_of_tensors_come_and_go():
    results = []
    for wrap in (lambda f: f, torch.compile):
        weight, log = torch.ones(2, requires_grad=True), []

        def step(x, weight=weight):
            weight.grad = None
            (weight * x).sum().backward()

        compiled = wrap(step)
        handles = {}
        for k in range(12):
            if k == 3:
                handles[k] = weight.register_hook(lambda grad: grad * 2)
            if k == 6:
                handles[3].remove()
            if k == 8:
                handles[k] = weight.register_post_accumulate_grad_hook(
                    lambda p: (p.grad.mul_(10), None)[1]
                )
            if k == 10:
                handles[8].remove()
            compiled(torch.ones(2))
            log.append(values(weight.grad))
        results.append(log)
    same(results[1], results[0])


def test_hooks_of_modules_come_and_go():
    net = nn.Linear(2, 2)
    compiled = torch.compile(lambda x: net(x).detach())
    x, handles = torch.ones(1, 2), {}
    for k in range(12):
        if k == 3:
            handles[k] = net.register_forward_hook(lambda module, args, out: out * 2)
        if k == 6:
            handles[3].remove()
        if k == 8:
            handles[k] = register_module_forward_hook(lambda module, args, out: out + 1)
        if k == 10:
            handles[8].remove()
        same(values(compiled(x)), values(net(x)))


def test_hooks_of_arguments():
    compiled = torch.compile(lambda x: (x * 2).sum().backward())
    for k in range(6):
        x = torch.ones(2, requires_grad=True)
        if k > 2:
            x.register_hook(lambda grad, k=k: grad * k)
        compiled(x)
        same(values(x.grad), np.full(2, 2.0 * (k if k > 2 else 1)))


class Square(Function):
    """A function of today."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x


class SquareOf2017(Function):
    """A function of 2017."""

    def forward(self, x):
        self.save_for_backward(x)
        return x * x

    def backward(self, grad):
        (x,) = self.saved_tensors
        return grad * 2 * x


@pytest.mark.parametrize("square", [Square.apply, lambda x: SquareOf2017()(x)])
def test_custom_functions_of_both_eras(square):
    def make():
        weight = torch.arange(3.0).requires_grad_()

        def step(x):
            weight.grad = None
            square(weight * x).sum().backward()
            return weight.grad.clone()

        return step

    assert_compiled(follow(make, lambda k: (torch.full((3,), 1.0 + k),)))


def test_what_numpy_or_numba_reads_is_left_to_python():
    left_to_python(lambda x: x * float(np.sum(x.numpy())), torch.ones(2), match="numpy()")
    left_to_python(lambda x: x * x.sum().item(), torch.ones(2), match="item()")
    left_to_python(lambda x: x * 2 if (x > 0).all() else x, torch.ones(2), match="a branch")
    left_to_python(lambda x: (str(x), x * 2)[1], torch.ones(2), match="text of a tensor")
    left_to_python(lambda x: x[x > 0], torch.ones(2), match="", line=False)


def test_a_kernel_of_the_user_that_takes_tensors():
    numba_extension.register()

    @numba.njit
    def double(array):
        for k in range(array.size):
            array[k] *= 2

    def step(x):
        double(x)
        return x + 1

    compiled = torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.ones(2)
        for k in range(1, 6):
            same(values(compiled(x)), np.full(2, 2.0**k + 1, np.float32))
