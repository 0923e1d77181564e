"""compile(): arguments of every kind, and results that callers go on with, beside eager twins."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import functools
import io
import pickle
import types
import warnings

import numpy as np
import pytest
from reads_tools import compare, plain

import numbagrad as torch
from numbagrad import nn, optim

F = nn.functional


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def twins(make, calls=10):
    """Run two of what ``make`` makes, one with ``compile``, and compare what each call gives."""
    torch.manual_seed(0)
    eager = make(lambda function: function)
    expected = [plain(eager(k)) for k in range(calls)]
    torch.manual_seed(0)
    compiled = make(torch.compile)
    for k in range(calls):
        compare(plain(compiled(k)), expected[k], f"call {k}")


# --- arguments: a new object in every call, which may lie where an earlier one lay ---------------


class Mode(enum.Enum):
    A, B, C = 1.0, 2.0, 3.0


Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Config:
    rate: float
    names: list


class Holder:
    def __init__(self, rate):
        self.rate = rate


class Rate(float):
    pass


def closure(k):
    return lambda: float(k)


#: How an argument is made, and what the step reads of it.
ARGUMENTS = {
    "float": (lambda k: k + 0.5, lambda a: a),
    "int": (lambda k: k, lambda a: a),
    "int-or-float": (lambda k: [k // 2, float(k // 2)][k % 2], lambda a: a),
    "one": (lambda k: [1, 1.0, True][k % 3], lambda a: a),
    "bool-int-float": (lambda k: [1, True, 1.0][k % 3], lambda a: [1, 2, 3][type(a) is int] * a),
    "minus-zero": (lambda k: [0.0, -0.0][k % 2], lambda a: 2.0 if str(a)[0] == "-" else 1.0),
    "nan": (lambda k: float("nan") if k % 2 else 1.0, lambda a: 1.0 if a == a else 2.0),
    "large-int": (lambda k: 2**40 + k, lambda a: a % 7),
    "str": (lambda k: f"{k}.5", float),
    "bytes": (lambda k: bytes([k]), lambda a: a[0]),
    "complex": (lambda k: complex(k, 1), lambda a: a.real),
    "float32": (lambda k: np.float32(k), float),
    "float64": (lambda k: np.float64(k), lambda a: a),
    "int64": (lambda k: np.int64(k), lambda a: a),
    "bool-of-numpy": (lambda k: np.bool_(k % 2), lambda a: 2.0 if a else 1.0),
    "slice": (lambda k: slice(0, k), lambda a: len(range(20)[a])),
    "range": (lambda k: range(k), len),
    "none": (lambda k: None if k % 2 else 2.0, lambda a: 1.0 if a is None else a),
    "enum": (lambda k: [*Mode][k % 3], lambda a: a.value),
    "dtype": (lambda k: [torch.float32, torch.float64][k % 2], lambda a: torch.ones(3, dtype=a)),
    "tuple": (lambda k: (k, 1.0), lambda a: a[0]),
    "namedtuple": (lambda k: Pair(k, 1.0), lambda a: a.a + a.b),
    "list": (lambda k: [k, [k]], lambda a: a[1][0] + len(a)),
    "list-length": (lambda k: [0] * k, len),
    "dict": (lambda k: {"a": k, "b": {"c": k}}, lambda a: a["b"]["c"]),
    "dict-keys": (lambda k: {f"a{k}": 1.0}, lambda a: float(next(iter(a))[1:])),
    "dict-int-keys": (lambda k: {k: 1.0}, lambda a: next(iter(a))),
    "set": (lambda k: {k}, lambda a: max(a)),
    "frozenset": (lambda k: frozenset([k, 0]), lambda a: max(a)),
    "deque": (lambda k: collections.deque([k]), lambda a: a[0]),
    "ordereddict": (lambda k: collections.OrderedDict(a=k), lambda a: a["a"]),
    "counter": (lambda k: collections.Counter("a" * k), lambda a: a["a"]),
    "dataclass": (lambda k: Config(float(k), []), lambda a: a.rate),
    "object": (lambda k: Holder(float(k)), lambda a: a.rate),
    "namespace": (lambda k: types.SimpleNamespace(rate=float(k)), lambda a: a.rate),
    "float-subclass": (lambda k: Rate(k), lambda a: a + 1),
    "function": (closure, lambda a: a()),
    "partial": (lambda k: functools.partial(max, float(k)), lambda a: a(1.0)),
    "bound-method": (lambda k: Holder(float(k)).__getattribute__, lambda a: a("rate")),
    "ndarray": (lambda k: np.array([float(k)]), lambda a: float(a[0])),
    "ndarray-as-tensor": (lambda k: np.array([k] * 3, np.float32), torch.from_numpy),
    "ndarray-shape": (lambda k: np.zeros((k, 2)), lambda a: a.shape[0]),
    "ndarray-0d": (lambda k: np.array(float(k)), float),
    "bytearray": (lambda k: bytearray([k]), lambda a: a[0]),
    "iterator": (lambda k: iter([float(k)]), next),
    "generator": (lambda k: (float(n) for n in [k]), next),
    "file": (lambda k: io.StringIO(str(k)), lambda a: float(a.read())),
    "class": (lambda k: [int, float, bool][k % 3], lambda a: float(a(2.5))),
    "module": (lambda k: types.SimpleNamespace(value=k), lambda a: vars(a)["value"]),
    "tensor": (lambda k: torch.full((3,), float(k)), lambda a: a),
    "tensor-0d": (lambda k: torch.tensor(float(k)), lambda a: a),
    "tensor-item": (lambda k: torch.tensor(float(k)), lambda a: a.item()),
    "tensor-int": (lambda k: torch.tensor([k % 3]), lambda a: torch.arange(3.0)[a]),
    "tensor-shape": (lambda k: torch.ones(k), lambda a: a.shape[0]),
    "tensor-flag": (lambda k: torch.ones(3, requires_grad=k % 2 == 1), lambda a: a.requires_grad),
    "tensor-attribute": (
        lambda k: setattr(t := torch.ones(3), "rate", float(k)) or t, lambda a: a * a.rate
    ),
    "tensor-view": (lambda k: torch.arange(12.0)[k % 9 :: 1][:3], lambda a: a),
    "tensor-strides": (lambda k: torch.arange(9.0).view(3, 3).t()[k % 3], lambda a: a),
    "tensors-in-list": (lambda k: [torch.ones(3)] * (k + 1), lambda a: sum(a)),
    "tensors-twice": (lambda k: [t := torch.ones(3), t if k % 2 else torch.ones(3)],
                      lambda a: 2.0 if a[0] is a[1] else 1.0),
    "parameter": (lambda k: nn.Parameter(torch.full((3,), float(k))), lambda a: a.detach()),
    "linear": (lambda k: nn.Linear(3, 3), lambda a: a(torch.ones(3)).detach()),
    "generator-of-random": (lambda k: torch.Generator().manual_seed(k),
                            lambda a: torch.rand(3, generator=a)),
    "size": (lambda k: torch.Size([k, 2]), lambda a: a[0]),
}  # fmt: skip


def computing(read):
    """A step that computes with what it reads, in floats and in integers: the type matters too."""

    def body(x, a):
        found = read(a)
        return x * found, torch.ones(1, dtype=torch.int64) * found

    return body


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("way", ["position", "keyword"])
def test_an_argument_is_a_new_object_in_every_call(name, way):
    made, read = ARGUMENTS[name]

    def make(compile):
        step = compile(computing(read))
        ones = torch.ones(3)
        if way == "keyword":
            return lambda k: step(ones, a=made(k))
        return lambda k: step(ones, made(k))

    twins(make, 14)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_is_the_same_object_for_some_calls(name):
    made, read = ARGUMENTS[name]

    def make(compile):
        step = compile(computing(read))
        kept = {}

        def call(k):
            if k % 4 == 0 or name in ("iterator", "generator", "file"):  # which a call uses up
                kept["a"] = made(k)
            return step(torch.ones(3), kept["a"])

        return call

    twins(make, 12)


#: How an argument is made, changed by the caller, read by the step, and written by the step.
CHANGED = {
    "list": (lambda: [2.0], lambda a, k: a.__setitem__(0, k), lambda a: a[0],
             lambda a: a.append(1)),
    "dict": (lambda: {"a": 2.0}, lambda a, k: a.update(a=k), lambda a: a["a"],
             lambda a: a.update(n=len(a))),
    "nested": (lambda: [{"a": [2.0]}], lambda a, k: a[0]["a"].__setitem__(0, k),
               lambda a: a[0]["a"][0], lambda a: a[0]["a"].append(1)),
    "set": (lambda: {2.0}, lambda a, k: a.add(k), max, lambda a: a.add(max(a) + 1)),
    "deque": (lambda: collections.deque([2.0]), lambda a, k: a.appendleft(k), lambda a: a[0],
              lambda a: a.append(1)),
    "object": (lambda: Holder(2.0), lambda a, k: setattr(a, "rate", k), lambda a: a.rate,
               lambda a: setattr(a, "n", getattr(a, "n", 0) + 1)),
    "dataclass": (lambda: Config(2.0, []), lambda a, k: setattr(a, "rate", k), lambda a: a.rate,
                  lambda a: a.names.append(len(a.names))),
    "ndarray": (lambda: np.array([2.0, 0.0]), lambda a, k: a.__setitem__(0, k),
                lambda a: float(a[0]), lambda a: a.__setitem__(1, a[1] + 1)),
    "bytearray": (lambda: bytearray(b"ab"), lambda a, k: a.__setitem__(0, k), lambda a: a[0],
                  lambda a: a.append(1)),
    "tensor": (lambda: torch.full((3,), 2.0), lambda a, k: a.fill_(k), lambda a: a,
               lambda a: a.add_(1)),
    "module": (lambda: nn.Dropout(0.5).eval(), lambda a, k: a.train(k % 2 == 1),
               lambda a: 2.0 if a.training else 1.0, lambda a: setattr(a, "p", a.p / 2)),
    "function": (lambda: lambda r=2.0: r, lambda a, k: setattr(a, "__defaults__", (k,)),
                 lambda a: a(), lambda a: setattr(a, "n", getattr(a, "n", 0) + 1)),
}  # fmt: skip


def seen(a):
    """What is compared of an argument after a call."""
    if isinstance(a, (Holder, Config, nn.Module)):
        return str(sorted(vars(a).items(), key=str))
    if callable(a):
        return dict(vars(a))
    return list(a) if isinstance(a, (set, collections.deque, bytearray)) else a


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.parametrize("role", ["read", "effect", "both"])
def test_an_argument_is_changed(name, role):
    made, change, read, write = CHANGED[name]

    def body(x, a):
        y = x * (1.0 if role == "effect" else read(a))
        if role != "read":
            write(a)
        return y + 1

    def make(compile):
        step, argument = compile(body), made()

        def call(k):
            if k in (4, 6, 7):
                change(argument, k)
            return step(torch.ones(3), argument), seen(argument)

        return call

    twins(make)


# --- results that the caller goes on with ---------------------------------------------------------


def test_a_result_that_the_backward_kept_is_written():
    def make(compile):
        w = torch.ones(3, requires_grad=True)
        step = compile(lambda x: (w * x).exp())

        def call(k):
            out = step(torch.full((3,), 0.1 * k))
            if k % 3 == 2:
                with torch.no_grad():
                    out.mul_(2)
            w.grad = None
            try:
                out.sum().backward()
            except RuntimeError:
                return "raised"
            return w.grad

        return call

    twins(make)


def test_results_are_written_while_others_hold_them():
    def make(compile):
        step = compile(lambda x: (x * 2, (x * 2)[:2]))
        kept = []

        def call(k):
            a, b = step(torch.full((3,), float(k)))
            a.add_(1)
            b.mul_(3)
            kept.append((a, b))
            return [list(each) for each in kept]

        return call

    twins(make)


def test_gradients_of_parts_that_were_not_used_stay_none():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.used, self.unused = nn.Linear(3, 3), nn.Linear(3, 2), nn.Linear(3, 2)

        def forward(self, x):
            h = self.body(x).relu()
            return self.used(h), self.unused(h)

    def make(compile):
        net = Net()
        optimizer, forward = optim.AdamW(net.parameters(), 0.1, weight_decay=0.5), compile(net)

        def call(k):
            optimizer.zero_grad()
            out, _ = forward(torch.full((2, 3), 0.1 * k))
            out.square().sum().backward()
            none = [p.grad is None for p in net.parameters()]
            optimizer.step()
            return none, [*net.parameters()]

        return call

    twins(make)


def test_what_was_done_before_a_caught_exception_stays():
    def make(compile):
        w, log = torch.zeros(3), []

        def body(x, bad):
            try:
                w.add_(x)
                log.append("added")
                if bad:
                    torch.ones(2) + torch.ones(3)
                log.append("done")
            except RuntimeError:
                log.append("caught")
            return w * 2

        step = compile(body)
        return lambda k: (step(torch.ones(3), k % 3 == 2), w, list(log))

    twins(make)


def test_what_was_done_before_an_exception_that_leaves_stays():
    def make(compile):
        w, log = torch.zeros(3), []

        def body(x):
            w.add_(x)
            log.append(1)
            if len(log) % 3 == 0:
                raise KeyError(len(log))
            return w * 2

        step = compile(body)

        def call(k):
            try:
                return step(torch.ones(3)), w, list(log)
            except KeyError as error:
                return str(error), w, list(log)

        return call

    twins(make)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("called", [False, True])
def test_a_compiled_module_is_copied(copied, called):
    def make(compile):
        module = compile(nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
        if called:
            for _ in range(3):
                module(torch.ones(3))
        other = copied(module)
        with torch.no_grad():
            for p in other.parameters():
                p.add_(1)
        return lambda k: (module(torch.full((3,), float(k))), other(torch.full((3,), float(k))))

    twins(make)


def test_a_graph_that_is_walked_twice():
    def make(compile):
        w = torch.ones(3, requires_grad=True)
        step = compile(lambda x: (w * x).sin().sum())

        def call(k):
            loss = step(torch.full((3,), 0.1 * k))
            loss.backward(retain_graph=k % 2 == 0)
            try:
                loss.backward()
            except RuntimeError:
                return "raised", w.grad
            return w.grad

        return call

    twins(make)


def test_flags_and_versions_of_results():
    def make(compile):
        w = torch.ones(3, requires_grad=True)

        def body(x):
            y = w * x
            z = x * 2
            z.add_(1)
            return y, z, x.view(1, 3), w.detach()

        step = compile(body)

        def call(k):
            with torch.inference_mode(k % 4 == 3):
                found = step(torch.full((3,), float(k)))
            return [
                (t.requires_grad, t.is_leaf, t.is_inference(), t._is_view(),
                 None if t.is_inference() else t._version)
                for t in found
            ]  # fmt: skip

        return call

    twins(make)


def test_a_mode_around_the_call_sees_every_operator():
    from numbagrad.overrides import TorchFunctionMode

    def make(compile):
        names = []

        class Mode(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                names.append(func.__name__)
                return func(*args, **(kwargs or {}))

        step = compile(lambda x: (x.exp() + 1).sum())

        def call(k):
            names.clear()
            if k % 3 == 2:
                with Mode():
                    return step(torch.ones(3)), list(names)
            return step(torch.ones(3)), list(names)

        return call

    twins(make)


def test_a_subclass_of_tensor_as_argument():
    class Tagged(torch.Tensor):
        pass

    def make(compile):
        step = compile(lambda x: x * 2)

        def call(k):
            x = torch.full((3,), float(k))
            found = step(x.as_subclass(Tagged) if k % 2 else x)
            return type(found).__name__, found.as_subclass(torch.Tensor)

        return call

    twins(make)


def test_compiled_functions_call_each_other():
    def make(compile):
        box = [2.0]
        inner = compile(lambda x: x * box[0])
        outer = compile(lambda x: inner(x) + inner(x + 1))

        def call(k):
            box[0] = float(k // 2)
            return outer(torch.ones(3)), inner(torch.ones(3))

        return call

    twins(make)


def test_one_function_compiled_for_many_objects():
    def make(compile):
        class Layer:
            def __init__(self, rate):
                self.rate = rate

            @compile
            def forward(self, x):
                return x * self.rate

        layers = [Layer(float(k)) for k in range(4)]

        def call(k):
            layers[k % 4].rate += 1
            return [layer.forward(torch.ones(3)) for layer in layers]

        return call

    twins(make)
