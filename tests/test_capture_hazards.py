"""compile(): everything that could go silently wrong, and what happens instead.

One test a hazard. Each says in its name whether it is part of the program, recorded anew, or left
to Python with a warning; in every case the results are those of the function itself.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import datetime
import functools
import gc
import itertools
import os
import pickle
import random
import sys
import threading
import time
import types
import warnings
import weakref

import numba
import numpy as np
import pytest

import numbagrad as torch
from numbagrad import nn, numba_extension, optim
from numbagrad.autograd import Function
from numbagrad.compiling import CompileError
from numbagrad.executor.pointwise import JIT_DISABLED
from numbagrad.nn.module_hooks import register_module_forward_hook

F = nn.functional

#: What differs from one call to the next, in tests that need something.
clock = itertools.count()


def programs(compiled):
    """How many programs a compiled function has."""
    return sum(map(len, compiled._programs.values()))


def assert_compiled(compiled, count=None):
    """Check that a function has programs, and how many; without a compiler there are none."""
    if JIT_DISABLED:
        return
    assert not compiled._given_up
    assert programs(compiled) == count if count is not None else programs(compiled)


def values(result):
    """A result with ndarrays in the place of tensors."""
    if isinstance(result, torch.Tensor):
        return result.detach().numpy().copy()
    if isinstance(result, (tuple, list)):
        return [values(each) for each in result]
    return result


def same(found, expected):
    """Check that two results are equal but for rounding."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    elif isinstance(expected, np.ndarray):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    else:
        assert found == expected


def follow(make, calls, warn=False):
    """Run two of what ``make`` makes in lockstep, one compiled; returns the compiled one.

    ``calls`` yields the arguments of each call, as a function of its number.
    """
    torch.manual_seed(1)
    plain = make()
    torch.manual_seed(1)
    compiled = torch.compile(make())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(6):
            torch.manual_seed(k)
            expected = values(plain(*calls(k)))
            torch.manual_seed(k)
            same(values(compiled(*calls(k))), expected)
    said = [str(each.message) for each in caught if "runs uncompiled" in str(each.message)]
    if not JIT_DISABLED:
        assert len(said) == (1 if warn else 0), said
        assert warn or programs(compiled)
        if isinstance(warn, str):
            assert warn in said[0], said[0]
    return compiled


def left_to_python(step, *arguments, match, line=True):
    """Check that a step runs as always, says why once, and raises with ``fullgraph``."""
    compiled = torch.compile(step)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(12):
            compiled(*arguments)
    if JIT_DISABLED:
        assert not caught
        return
    said = [str(each.message) for each in caught if "runs uncompiled" in str(each.message)]
    assert len(said) == 1 and match in said[0], said
    if line:
        assert os.path.basename(__file__) + ":" in said[0]
    full = torch.compile(step, fullgraph=True)
    with pytest.raises(CompileError, match="cannot be part of a program"):
        for _ in range(12):
            full(*arguments)


# --- Python values --------------------------------------------------------------------------------


def test_a_number_as_argument_is_part_of_the_signature():
    compiled = follow(lambda: lambda x, n: x * n, lambda k: (torch.ones(3), [2, 2.0, True][k % 3]))
    assert_compiled(compiled, 3)


def test_zero_and_minus_zero_are_two_numbers():
    compiled = torch.compile(lambda x, n: x * n)
    for number in (0.0, -0.0, 0.0, -0.0):
        result = compiled(torch.ones(2), number)
        assert np.signbit(result.numpy()).all() == (str(number)[0] == "-")


def test_a_number_computed_from_an_argument():
    follow(lambda: lambda x, n: x * (n**2 + 1), lambda k: (torch.ones(3), k // 2))


def test_a_number_that_is_always_new_does_not_fill_the_memory():
    compiled = torch.compile(lambda x, n: x * n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(80):
            assert compiled(torch.ones(1), k).item() == k
    if not JIT_DISABLED:
        assert len(caught) == 1
        assert programs(compiled) <= 64


def test_a_number_in_a_closure_is_recorded_anew():
    rate = 1.0

    @torch.compile
    def step(x):
        return x * rate

    for rate in (1.0, 1.0, 2.0, 2.0, 1.0, -0.0, 0.0):
        result = step(torch.ones(2))
        same(values(result), np.full(2, rate, np.float32))
        assert np.signbit(result.numpy()).any() == (str(rate) == "-0.0")
    assert_compiled(step, 4)


RATE = 1.0


def test_a_global_is_recorded_anew():
    global RATE
    step = torch.compile(lambda x: x * RATE)
    for RATE in (1.0, 1.0, 3.0, 3.0, 1.0):
        assert step(torch.ones(1)).item() == RATE
    assert_compiled(step, 2)


LAST = None


def test_a_global_that_the_function_only_writes():
    global LAST

    def step(x):
        global LAST
        LAST = "called"
        return x + 1

    compiled = torch.compile(step)
    for _ in range(5):
        LAST = None
        compiled(torch.ones(1))
        assert LAST == "called"


def test_an_attribute_is_recorded_anew():
    class Model:
        scale = 2.0

        def step(self, x):
            return x * self.scale * self.options["gain"]

        def __init__(self):
            self.options = {"gain": 1.0}

    model = Model()
    step = torch.compile(model.step)
    seen = []
    for change in (
        lambda: None,
        lambda: None,
        lambda: setattr(model, "scale", 3.0),
        lambda: model.options.update(gain=5.0),
        lambda: setattr(Model, "scale", 7.0),
        lambda: delattr(model, "scale"),
    ):
        change()
        seen.append(step(torch.ones(1)).item())
    assert seen == [2, 2, 3, 15, 15, 35]


def test_a_slot_and_a_simple_namespace_are_recorded_anew():
    class Slots:
        __slots__ = ("gain",)

    slots, space = Slots(), types.SimpleNamespace(rate=1.0)
    slots.gain = 2.0
    step = torch.compile(lambda x: x * slots.gain * space.rate)
    assert [step(torch.ones(1)).item() for _ in range(3)] == [2.0] * 3
    slots.gain = 3.0
    assert step(torch.ones(1)).item() == 3.0
    space.rate = 2.0
    assert step(torch.ones(1)).item() == 6.0


def test_an_attribute_of_a_module_is_recorded_anew(monkeypatch):
    settings, inner = types.ModuleType("settings_of_test"), types.ModuleType("inner_of_test")
    settings.__file__ = inner.__file__ = __file__
    settings.rate, settings.inner, inner.rate = 1.0, inner, 1.0
    monkeypatch.setitem(sys.modules, "settings_of_test", settings)
    monkeypatch.setitem(globals(), "settings", settings)

    def by_global(x):
        return x * settings.rate * settings.inner.rate  # noqa: F821 - put there by the test

    def by_import(x):
        import settings_of_test

        return x * settings_of_test.rate * settings_of_test.inner.rate

    by_global.__globals__["settings"] = settings
    for function in (by_global, by_import):
        settings.rate = inner.rate = 1.0
        step = torch.compile(function)
        assert [step(torch.ones(1)).item() for _ in range(3)] == [1.0] * 3
        settings.rate = 2.0
        assert step(torch.ones(1)).item() == 2.0
        inner.rate = 3.0
        assert step(torch.ones(1)).item() == 6.0


def test_an_attribute_of_the_function_itself():
    @torch.compile
    def step(x):
        return x * step.scale

    step.scale = 2.0
    assert [step(torch.ones(1)).item() for _ in range(3)] == [2.0] * 3
    step.scale = 4.0
    assert step(torch.ones(1)).item() == 4.0


def test_the_keys_of_a_dictionary():
    options = {"double": True}
    step = torch.compile(lambda x: x * 2 if "double" in options else x * 3)
    assert [step(torch.ones(1)).item() for _ in range(3)] == [2.0] * 3
    del options["double"]
    options["triple"] = True
    assert step(torch.ones(1)).item() == 3.0


def test_an_ndarray_that_is_read_as_numbers():
    table = np.array([1.0, 2.0])
    step = torch.compile(lambda x: x * float(table[1]))
    assert [step(torch.ones(1)).item() for _ in range(3)] == [2.0] * 3
    table[1] = 5.0
    assert step(torch.ones(1)).item() == 5.0


def test_a_large_ndarray_is_left_to_python():
    table = np.zeros(100_000)
    left_to_python(lambda x: x + float(table[3]), torch.ones(1), match="too large", line=False)


def test_a_bytearray_and_a_set():
    memory, names = bytearray(b"ab"), {"a"}
    step = torch.compile(lambda x: x * memory[0] + len(names))
    assert [step(torch.zeros(1)).item() for _ in range(3)] == [1.0] * 3
    names.add("b")
    assert step(torch.zeros(1)).item() == 2.0
    memory.append(1)
    memory[0] = 2
    assert step(torch.ones(1)).item() == 4.0


def test_what_a_weak_reference_leads_to():
    holder = nn.Identity()
    holder.rate = 1.0
    reference = weakref.ref(holder)
    step = torch.compile(lambda x: x * reference().rate)
    assert [step(torch.ones(1)).item() for _ in range(3)] == [1.0] * 3
    holder.rate = 2.0
    assert step(torch.ones(1)).item() == 2.0


def test_counters_are_left_to_python():
    def make():
        count = collections.Counter()

        def step(x):
            count["steps"] += 1
            return x * count["steps"]

        return step

    left_to_python(make(), torch.ones(1), match="changed during the call", line=False)


def test_a_list_that_is_appended_to():
    log = []

    def step(x):
        log.append(1)
        return x * len(log)

    compiled = torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [compiled(torch.ones(1)).item() for _ in range(12)] == [*range(1, 13)]


def test_a_bound_method_of_a_list():
    log = []
    append = log.append

    def step(x):
        append(1)
        return x + 1

    compiled = torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(12):
            compiled(torch.ones(1))
    assert len(log) == 12


def test_a_list_among_the_arguments_that_the_function_writes():
    def step(x, log):
        log.append(x.sum())
        return x * 2

    compiled = torch.compile(step)
    log = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(4):
            compiled(torch.ones(2) * k, log)
    assert [each.item() for each in log] == [0, 2, 4, 6]


def test_containers_that_outlive_the_call_are_themselves():
    state = {"weight": torch.ones(2)}

    def step(x):
        x * 2
        return state

    compiled = torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert all([compiled(torch.ones(2)) is state for _ in range(4)])


# --- what Python does beside ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "effect",
    [
        lambda: random.random(),
        lambda: random.randint(0, 5),
        lambda: float(np.random.rand()),
        lambda: float(np.random.default_rng().normal()),
        lambda: time.time(),
        lambda: time.perf_counter(),
        lambda: datetime.datetime.now().microsecond,
        lambda: len(os.getcwd()),
        lambda: len(os.environ.get("PATH", "")),
        lambda: os.getpid(),
        lambda: next(clock),
    ],
)
def test_clocks_and_random_numbers_of_python_are_left_to_python(effect):
    left_to_python(lambda x: x * effect(), torch.ones(2), match="", line=False)


def test_printing_goes_on(capsys):
    def step(x):
        print("called")
        return x + 1

    left_to_python(step, torch.ones(1), match="print()")
    assert JIT_DISABLED or capsys.readouterr().out.count("called") >= 12


def test_writing_to_a_stream_goes_on(capsys):
    def step(x):
        sys.stdout.write("called")
        return x + 1

    left_to_python(step, torch.ones(1), match="")
    assert capsys.readouterr().out.count("called") >= 12


def test_warnings_of_the_user_go_on():
    def step(x):
        warnings.warn("mine", stacklevel=1)
        return x + 1

    compiled = torch.compile(step)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5):
            compiled(torch.ones(1))
    assert sum("mine" in str(each.message) for each in caught) == 5


def test_iterators_and_generators_are_left_to_python():
    data = iter([torch.ones(1) * k for k in range(100)])

    def step():
        for x in data:
            return x * 2

    compiled = torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [compiled().item() for _ in range(5)] == [0, 2, 4, 6, 8]


def test_a_loop_over_a_data_loader_inside_the_step():
    data = torch.utils.data.TensorDataset(torch.arange(6.0))
    loader = torch.utils.data.DataLoader(data, batch_size=2, shuffle=True)

    def step():
        return [batch * 1 for (batch,) in loader]

    plain, compiled = step, torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(4):
            torch.manual_seed(k)
            expected = values(plain())
            torch.manual_seed(k)
            same(values(compiled()), expected)


@pytest.mark.filterwarnings("ignore:compile")
def test_generators_and_coroutines_are_left_to_python():
    @torch.compile
    def numbers(x):
        yield x
        yield x + 1

    async def later(x):
        return x + 1

    for _ in range(3):
        assert [each.item() for each in numbers(torch.ones(1))] == [1, 2]
        coroutine = torch.compile(later)(torch.ones(1))
        with pytest.raises(StopIteration) as stop:
            coroutine.send(None)
        assert stop.value.value.item() == 2


# --- random numbers -------------------------------------------------------------------------------


def test_random_numbers_are_drawn_anew_and_as_eager_draws_them():
    compiled = follow(
        lambda: lambda x: (
            x * torch.rand(4) + torch.randn(4) + torch.empty(4).uniform_(-1, 1)
            + F.dropout(torch.ones(4), 0.5)
        ),
        lambda k: (torch.ones(4),),
    )  # fmt: skip
    assert_compiled(compiled, 1)
    assert (compiled(torch.ones(4)) != compiled(torch.ones(4))).any()


def test_a_generator_object():
    def make():
        generator = torch.Generator().manual_seed(5)
        return lambda x: x + torch.randn(3, generator=generator)

    assert_compiled(follow(make, lambda k: (torch.zeros(3),)), 1)


def test_seeding_inside_the_step():
    def make():
        def step(x):
            torch.manual_seed(7)
            return x + torch.randn(3)

        return step

    follow(make, lambda k: (torch.zeros(3),), warn=True)


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
                    lambda p: p.grad.mul_(10)
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
    left_to_python(
        lambda x: x * float(np.sum(x.numpy())), torch.ones(2), match="numpy()"
    )
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


# --- failures -------------------------------------------------------------------------------------


def test_an_exception_in_a_recorded_call_and_in_a_later_one():
    weight = torch.ones(4, requires_grad=True)
    update = optim.Adam([weight], lr=0.1)

    def step(index):
        update.zero_grad()
        (weight[index] * 2).sum().backward()
        update.step()

    compiled = torch.compile(step)
    wrong, right = torch.tensor([7]), torch.tensor([1])
    with pytest.raises(IndexError):
        compiled(wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            compiled(right)
        before = values([weight, update.state[weight]["exp_avg"], update.state[weight]["step"]])
        with pytest.raises(IndexError):
            compiled(wrong)
        assert weight.grad is None or weight.grad.shape == weight.shape
        same(
            values([weight, update.state[weight]["exp_avg"], update.state[weight]["step"]]), before
        )
        plain = weight.detach().clone()
        compiled(right)
    assert (weight[1] != plain[1]).item() and (weight[2] == plain[2]).item()


def test_an_exception_of_the_user():
    box = types.SimpleNamespace(fail=False)

    def step(x):
        if box.fail:
            raise ValueError("mine")
        return x * 2

    compiled = torch.compile(step)
    for fail in (True, False, False, False, True, False):
        box.fail = fail
        if fail:
            with pytest.raises(ValueError, match="mine"):
                compiled(torch.ones(1))
        else:
            assert compiled(torch.ones(1)).item() == 2


# --- copies, threads, processes -------------------------------------------------------------------


class Trainer:
    """Compiles one of its methods."""

    def __init__(self):
        self.net = nn.Linear(2, 1)
        self.step = torch.compile(self.plain)

    def plain(self, x):
        return self.net(x).detach()

    @torch.compile
    def decorated(self, x):
        return self.net(x).detach() * 2


@torch.compile
def compiled_globally(x):
    """Found by its name when it is unpickled."""
    return x + 1


def test_methods_copies_and_pickles():
    first = Trainer()
    x = torch.ones(1, 2)
    for _ in range(3):
        first.step(x)
        first.decorated(x)
    second = copy.deepcopy(first)
    third = pickle.loads(pickle.dumps(first))
    for other in (second, third):
        other.net.weight.data.fill_(3.0)
        for trainer in (first, other, first, other):
            same(values(trainer.step(x)), values(trainer.plain(x)))
            same(values(trainer.decorated(x)), values(trainer.plain(x) * 2))
    assert pickle.loads(pickle.dumps(compiled_globally)) is compiled_globally


def test_modules_copied_between_calls():
    net = nn.Linear(2, 2)
    compiled = torch.compile(lambda module, x: module(x).detach())
    for _ in range(3):
        for module in (net, copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            module.weight.data.mul_(2)
            same(values(compiled(module, torch.ones(1, 2))), values(module(torch.ones(1, 2))))


def test_calls_from_several_threads():
    weight = torch.arange(4.0)
    compiled = torch.compile(lambda x: (x * weight).exp().sum() + x)
    wrong = []

    def work(seed):
        for k in range(60):
            x = torch.full((4,), 0.01 * (seed + k))
            if not np.allclose(values(compiled(x)), values((x * weight).exp().sum() + x)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_compiled_functions_that_call_each_other_in_threads():
    inner = torch.compile(lambda x: x * 2)
    outer = torch.compile(lambda x: inner(x) + 1)
    found = []

    def work(function, size):
        for k in range(20):
            found.append(function(torch.ones(size + k % 3))[0].item())

    threads = [
        threading.Thread(target=work, args=(function, size))
        for size in (1, 5)
        for function in (inner, outer)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(set(found)) == [2, 3] and len(found) == 80


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore")
def test_a_forked_child_runs_programs():
    compiled = torch.compile(lambda x: (x * 2).sum())
    for _ in range(3):
        compiled(torch.ones(3))
    child = os.fork()
    if child == 0:
        right = compiled(torch.ones(3)).item() == 6 and compiled(torch.ones(5)).item() == 10
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_compiled_function_inside_another():
    scale = types.SimpleNamespace(value=2.0)
    inner = torch.compile(lambda x: x * scale.value)
    outer = torch.compile(lambda x: inner(x) + inner(x * 2))
    assert [outer(torch.ones(1)).item() for _ in range(4)] == [6.0] * 4
    assert inner(torch.ones(1)).item() == 2.0
    scale.value = 3.0
    assert outer(torch.ones(1)).item() == 9.0
    assert_compiled(outer, 2)


def test_recursion():
    @torch.compile
    def power(x, n):
        return x if n == 0 else power(x, n - 1) * 2

    for n in (3, 3, 2, 3):
        assert power(torch.ones(1), n).item() == 2**n


def test_a_program_inside_what_is_left_to_python():
    inner = torch.compile(lambda x: x * 2)

    def step(x):
        return inner(x) if x.sum() > 0 else inner(-x)

    compiled = torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sign in (1, -1, 1, -1):
            assert compiled(torch.ones(1) * sign).item() == 2


def test_memory_does_not_grow():
    weight = torch.ones(8, requires_grad=True)
    update = optim.SGD([weight], lr=1e-6)

    @torch.compile
    def step(x):
        update.zero_grad()
        loss = (weight * x).sum()
        loss.backward()
        update.step()
        return loss

    x = torch.ones(8)
    for _ in range(10):
        step(x)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(10_000 if not JIT_DISABLED else 200):
            step(x)
        assert len(gc.get_objects()) - before < 100
    finally:
        gc.enable()


def test_arguments_are_not_kept_alive():
    compiled = torch.compile(lambda x: x * 2)
    x = torch.ones(4)
    for _ in range(3):
        compiled(x)
    y = torch.zeros(4)
    compiled(y)
    reference = weakref.ref(y)
    compiled(torch.ones(4))
    del y
    assert reference() is None


def test_decorators_of_functools():
    @functools.lru_cache
    def table(n):
        return float(n)

    part = functools.partial(lambda scale, x: x * scale * table(2), 3.0)
    compiled = torch.compile(part)
    assert [compiled(torch.ones(1)).item() for _ in range(4)] == [6.0] * 4
