"""Worlds of issues on guards: calls that read what the caller changes."""

from __future__ import annotations

import contextvars
import functools
import types
from typing import Any, Protocol, runtime_checkable

import numpy as np
from tracker_worlds import World, issue

import numbagrad as torch
from numbagrad import nn

# --- what a call reads --------------------------------------------------------------------------


@issue(176851)
def class_attribute():
    class State:
        factor = 1.0

    def step(x):
        return x * State.factor

    return World(step, lambda k: setattr(State, "factor", float(k)))


def _twenty_more(x):
    return torch.sin(x) + 20


def _cosine(x):
    return torch.cos(x)


_helper = _twenty_more
_lambda = lambda items: sum(items)  # noqa: E731 - the issue is about a lambda


@issue(108898)
def global_function():
    global _helper
    _helper = _twenty_more

    def step(x):
        y = _helper(x)

        def add(a, b):
            return a + b

        return add(y, x)

    def change(k):
        global _helper
        _helper = _cosine if k % 2 else _twenty_more

    return World(step, change)


@issue(93782)
def global_lambda():
    global _lambda
    _lambda = lambda items: sum(items)  # noqa: E731

    def step(x):
        made = 0
        for _ in range(3):
            made = made + _lambda([x, x * 2])
        return made

    def change(k):
        global _lambda
        _lambda = lambda items: items[0] * k  # noqa: E731

    return World(step, change)


@issue(111785)
def attribute_that_is_a_view_of_a_buffer():
    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("rows", torch.zeros(12, 3))
            self.row = self.rows

        def choose(self, k):
            self.row = self.rows[k : k + 1]

        def forward(self, x):
            self.row.copy_(x)

    cache = Cache()
    cache.choose(0)
    return World(cache, cache.choose, lambda: cache.rows)


@issue(115774)
def buffer_that_the_caller_resets():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = torch.zeros(2)

        def forward(self, x, at):
            self.cache[at] = x
            return self.cache.clone()

    model = Model()

    def change(k):
        model.cache = torch.zeros(2)

    return World(
        model, change, lambda: model.cache,
        lambda k: (torch.tensor([k + 1.0]), torch.tensor([k % 2])),
    )  # fmt: skip


@issue(117496)
def number_as_argument_and_attribute():
    class Holder:
        def __init__(self):
            self.t = 16.0

        def method(self, a, t=1.0):
            return a + t + self.t

    holder = Holder()

    def change(k):
        holder.t *= 0.5

    return World(holder.method, change, arguments=lambda k: (torch.ones(3), 8.0 / (k + 1)))


@issue(178365)
def functions_that_differ_in_their_defaults():
    def shifted(offset):
        def mask(x, by=offset):
            return x > by

        return mask

    masks = [shifted(float(k)) for k in range(12)]

    def step(x, mask):
        return torch.where(mask(x), x, -x)

    return World(step, arguments=lambda k: (torch.arange(9.0), masks[k]))


@issue(197811)
def closures_over_other_method_descriptors():
    def make(op):
        def step(x, y):
            return op(x, y)

        return step

    steps = [make(torch.Tensor.__add__), make(torch.Tensor.__mul__), make(torch.Tensor.__sub__)]

    def step(x, y, k):
        return steps[k](x, y)

    return World(step, arguments=lambda k: (torch.tensor(6.0), torch.tensor(3.0), k % 3))


@issue(119715)
def class_of_what_is_made_inside():
    class First:
        def __init__(self, n):
            self.n = n

    class Second(First):
        def __init__(self, n):
            self.n = n * 10

    kinds = [First]

    def step(x):
        return x + kinds[0](5).n

    return World(step, lambda k: kinds.__setitem__(0, Second if k % 2 else First))


@issue(124357, 120958)
def layer_that_is_given_another_part():
    class Layer(nn.Linear):
        extra = None
        scale = 1.0

        def forward(self, x):
            made = super().forward(x) * self.scale
            return made if self.extra is None else made + self.extra(x)

    torch.manual_seed(3)
    layer, extra = Layer(3, 3), nn.Linear(3, 3)

    def change(k):
        layer.extra = extra if k % 3 else None
        layer.scale = float(k)

    return World(layer, change)


@issue(100977)
def no_grad_first_and_gradients_later():
    torch.manual_seed(3)
    net = nn.Linear(3, 2)
    torch.set_grad_enabled(False)

    def after(result):
        if not result.requires_grad:
            return result
        net.zero_grad()
        result.sum().backward()
        return [result.detach(), net.weight.grad]

    return World(net, lambda k: torch.set_grad_enabled(k % 2 == 1), after=after)


@issue(139476)
def parameters_frozen_by_the_step_count():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
            self.n = 0

        def forward(self, x):
            made = self.second(x + self.first.bias)
            self.n += 1
            return made

    torch.manual_seed(3)
    model = Model()

    def change(k):
        for parameter in model.second.parameters():
            parameter.requires_grad_(model.n % 2 == 1)

    def after(result):
        model.zero_grad()
        result.sum().backward()
        return [result.detach(), [p.grad for p in model.parameters()]]

    return World(model, change, lambda: model.n, after=after)


@issue(113290)
def flags_of_an_argument_that_change():
    def step(x, scale):
        x.requires_grad_(True)
        y = x * 2
        x.requires_grad_(False)
        return x * 3 * scale * y

    scale = torch.ones(3, requires_grad=True)
    kept = []

    def arguments(k):
        kept.append(torch.full((3,), k + 1.0))
        return kept[-1], scale

    def after(result):
        scale.grad = None
        result.sum().backward()
        return [result.detach(), scale.grad, kept[-1].requires_grad, kept[-1].grad]

    return World(step, arguments=arguments, after=after)


@issue(112260)
def autocast_around_the_call():
    torch.manual_seed(3)
    net = nn.Linear(3, 3)

    def step(x):
        return net(x)

    return World(
        step, around=lambda k: torch.autocast("cpu", torch.bfloat16, enabled=k % 3 == 2),
        after=lambda result: [str(result.dtype), result.float()],
    )  # fmt: skip


@issue(196127)
def protocol_that_looks_at_attributes():
    @runtime_checkable
    class HasPorts(Protocol):
        ports: tuple[int, ...]

    class Item:
        pass

    item = Item()

    def step(x):
        return x + 1 if isinstance(item, HasPorts) else x - 1

    def change(k):
        if k % 2:
            item.ports = (1, 2)
        elif hasattr(item, "ports"):
            del item.ports

    return World(step, change)


@issue(195969)
def union_of_protocols():
    @runtime_checkable
    class A(Protocol):
        a: int

    @runtime_checkable
    class B(Protocol):
        b: int

    item = types.SimpleNamespace()

    def step(x):
        return x * 2 if isinstance(item, (A, B)) else x * 3

    return World(step, lambda k: vars(item).update({"ab"[k % 2]: 1} if k > 5 else {}))


@issue(149991)
def metaclass_that_decides_isinstance():
    class Meta(type):
        accepted: list[type] = []

        def __instancecheck__(cls, item):
            return type(item) in Meta.accepted

    class Shape(metaclass=Meta):
        pass

    def step(x):
        return x + 1 if isinstance(3, Shape) else x - 1

    return World(step, lambda k: Meta.accepted.append(int) if k % 2 else Meta.accepted.clear())


@issue(174050)
def object_that_says_another_class():
    class Other:
        pass

    class Item:
        told = Other

        @property
        def __class__(self):
            return self.told

    item = Item()

    def step(x):
        return x * 2 if isinstance(item, Other) else x * 3

    return World(step, lambda k: setattr(Item, "told", Other if k % 2 else int))


@issue(190755)
def descriptor_of_another_class():
    class Borrowed:
        append = list.append

    item = Borrowed()

    def step(x):
        try:
            item.append(1)
        except TypeError:
            return x * 2
        return x * 3

    def change(k):
        Borrowed.append = (lambda self, v: None) if k % 2 else list.append

    return World(step, change)


@issue(192905)
def layers_that_differ_in_a_flag():
    class Layer:
        def __init__(self, flag):
            self.flag = flag

    def inner(layer, x):
        return x.sin() if layer.flag else x.cos()

    layers = [Layer(True), Layer(False), Layer(True)]

    def step(x):
        return sum(inner(layer, x) + 1.0 for layer in layers)

    def change(k):
        layers[k % 3].flag = not layers[k % 3].flag

    return World(step, change)


@issue(186449)
def context_variable():
    variable = contextvars.ContextVar("variable", default=2.0)

    def step(x):
        return x * variable.get()

    return World(step, lambda k: variable.set(float(k)), lambda: variable.get())


@issue(186449)
def context_variable_that_is_set():
    variable = contextvars.ContextVar("variable", default=0)

    def step(x):
        variable.set(variable.get() + 1)
        return x * 2

    return World(step, state=lambda: variable.get())


@issue(118616)
def keywords_of_a_partial():
    def scaled(x, by=1.0):
        return x * by

    partial = functools.partial(scaled, by=2.0)

    def step(x):
        return partial(x) + 1

    return World(step, lambda k: partial.keywords.update(by=float(k)))


@issue(169010)
def partial_as_a_key():
    def add(x, y):
        return x + y

    key = functools.partial(add, 1)
    values = {key: 5.0}

    def step(x):
        return x * values[key] * len({key: 1})

    return World(step, lambda k: values.update({key: float(k)}))


@issue(110765)
def hook_that_asks_for_a_setting():
    setting = {"on": False}

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_forward_pre_hook(self.before)

        def before(self, module, args):
            return (args[0] * 3,) if setting["on"] else args

        def forward(self, x):
            return x + 1

    return World(Model(), lambda k: setting.update(on=k % 2 == 1))


@issue(117758)
def forward_hooks_registered_late():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    kept: dict[int, Any] = {}
    handles: list[Any] = []

    def hook(module, args, out, at):
        kept[at] = out.detach().sum()

    def change(k):
        if k == 4:
            for at, layer in enumerate([model[0], model[2]]):
                handles.append(layer.register_forward_hook(functools.partial(hook, at=at)))
        if k == 8:
            handles.pop().remove()
        kept.clear()

    return World(model, change, lambda: dict(kept))


@issue(117265)
def backward_pre_hook_registered_late():
    torch.manual_seed(3)
    model = nn.Linear(3, 2)

    def change(k):
        if k == 5:
            model.register_full_backward_pre_hook(lambda module, g: (g[0] * 3,))

    def after(result):
        model.zero_grad()
        result.sum().backward()
        return [result.detach(), model.weight.grad]

    return World(model, change, after=after)


@issue(106060)
def buffer_reassigned_in_forward():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("buffer", torch.ones(3))

        def forward(self, x):
            self.buffer = self.buffer.to(x.dtype)
            return self.buffer + x

    model = Model()

    def change(k):
        model.buffer = model.buffer * 2

    return World(model, change, lambda: dict(model.named_buffers()))


@issue(185815)
def identity_of_numpy_booleans():
    holder = [np.True_]

    def step(x):
        return x * 2 if holder[0] is np.True_ else x * 3

    return World(step, lambda k: holder.__setitem__(0, np.bool_(k % 2 == 1)))


@issue(167596)
def global_dictionary_made_anew():
    holder = {"summary": {}}

    class Part:
        def __init__(self, name):
            self.name = name

        def __call__(self, x):
            holder["summary"][self.name] = len(holder["summary"])
            return torch.sin(x)

    parts = [Part("a"), Part("b")]

    def step(x):
        holder["summary"] = {}
        for part in parts:
            x = part(x)
        return x

    return World(step, lambda k: setattr(parts[0], "name", f"a{k}"), lambda: holder["summary"])
