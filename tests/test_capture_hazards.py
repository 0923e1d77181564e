"""compile(): everything that could go silently wrong, and what happens instead.

One test a hazard. Each says in its name whether it is part of the program, recorded anew, or left
to Python with a warning; in every case the results are those of the function itself. The hazards of
tensors, gradients and graphs are in ``test_capture_hazards_of_tensors.py``.
"""

from __future__ import annotations

import collections
import copy
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
from compile_checks import assert_compiled, follow, left_to_python, programs, same, values

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.executor.mode import NATIVE

F = nn.functional

#: What differs from one call to the next, in tests that need something.
clock = itertools.count()


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
    compiled = torch.compile(lambda x, n: x * len(range(n)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(80):
            assert compiled(torch.ones(1), k).item() == k
    if NATIVE:
        assert len(caught) == 1
        assert programs(compiled) <= 64


RECAPTURED = {
    "the value of count": (lambda x, count: x * len(range(count)), lambda k: (torch.ones(1), k)),
    "flags of options (item 1)": (
        lambda x, options: x + options[1].sum(), lambda k: (torch.ones(1), [1, torch.ones(k + 1)])
    ),
    "the number of arguments": (
        lambda x, more: sum(more, x), lambda k: (torch.ones(1), [torch.ones(1)] * k)
    ),
}  # fmt: skip


@pytest.mark.parametrize("said", RECAPTURED)
def test_too_many_recordings_name_the_argument_that_changes(said):
    function, arguments = RECAPTURED[said]
    compiled = torch.compile(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(70):
            for _ in range(2):  # a size is compiled when it comes again
                same(values(compiled(*arguments(k))), values(function(*arguments(k))))
    if NATIVE:
        (warning,) = caught
        assert said in str(warning.message)


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

    left_to_python(make(), torch.ones(1), match="a change during the call", line=False)


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
    assert not NATIVE or capsys.readouterr().out.count("called") >= 12


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
        thread.join()
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
        for _ in range(10_000 if NATIVE else 200):
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


# --- calls that raise half-way --------------------------------------------------------------------


def raising_operator(matrix):
    return torch.linalg.cholesky(matrix)


@numba.njit
def _root_of_each(x, y):
    for k in range(x.size):
        if x.flat[k] < 0:
            raise ValueError("negative")
        y.flat[k] = x.flat[k] ** 0.5


raising_kernel = torch.kernel(_root_of_each, shapes=lambda x: x)


@pytest.mark.parametrize("raising", [raising_operator, raising_kernel], ids=["operator", "kernel"])
def test_a_run_that_raises_leaves_what_the_function_leaves_that_raises_there(raising):
    def make():
        before, after = torch.zeros(4, 4), torch.zeros(4, 4)

        def step(matrix):
            before.add_(1)
            root = raising(matrix * (1 + after))
            after.add_(1)  # reads what the loop before the call reads, and might join it
            return root

        return step, before, after

    good, bad = torch.eye(4), -torch.eye(4)
    (step, *state), (other, *compiled_state) = make(), make()
    compiled = torch.compile(other)
    for _ in range(4):
        np.testing.assert_allclose(compiled(good).numpy(), step(good).numpy())
    for function in (step, compiled):
        with pytest.raises((RuntimeError, ValueError)):
            function(bad)
    for tensor, own in zip(state, compiled_state, strict=True):
        np.testing.assert_array_equal(own.numpy(), tensor.numpy())
    assert compiled_state[0]._version == state[0]._version
    np.testing.assert_allclose(compiled(good).numpy(), step(good).numpy())
    assert_compiled(compiled, 1)


def test_a_check_that_fails_counts_no_write():
    weight = torch.ones(4, 3, requires_grad=True)

    @torch.compile
    def step(x, target):
        loss = F.cross_entropy(x @ weight, target)
        loss.backward()
        with torch.no_grad():
            weight.sub_(weight.grad)
            weight.grad = None
        return loss

    x = torch.randn(2, 4)
    for _ in range(4):
        step(x, torch.tensor([0, 2]))
    kept = (weight * weight).sum()  # a graph that holds weight as it is
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        step(x, torch.tensor([0, 5]))
    kept.backward()
    np.testing.assert_allclose(weight.grad.numpy(), 2 * weight.detach().numpy())


def test_step_counts_that_were_written_apart_are_recorded_again():
    def make():
        parameters = [torch.ones(3, requires_grad=True) for _ in range(3)]
        groups = [{"params": parameters[:1]}, {"params": parameters[1:]}]
        optimizer = optim.Adam(groups, lr=0.1)

        def step():
            optimizer.zero_grad()
            sum([(parameter * parameter).sum() for parameter in parameters]).backward()
            optimizer.step()

        return step, parameters, optimizer

    results = []
    for compiled in (False, True):
        step, parameters, optimizer = make()
        run = torch.compile(step) if compiled else step
        for k in range(8):
            run()
            if k == 4:
                optimizer.state[parameters[2]]["step"].fill_(100)
        state = [optimizer.state[parameter]["step"].item() for parameter in parameters]
        results.append((state, [parameter.detach().numpy() for parameter in parameters]))
    (expected, values), (found, others) = results
    assert found == expected == [8, 8, 103]
    for a, b in zip(values, others, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
