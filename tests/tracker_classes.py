"""Worlds of issues and pull requests on classes, views of dicts, identities and live generators."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
from typing import Any

from tracker_worlds import World, issue

import numbagrad as torch
from numbagrad import nn

# --- classes --------------------------------------------------------------------------------------


@issue(184820)
def call_of_a_metaclass():
    class Meta(type):
        pass

    class Scale(metaclass=Meta):
        def __init__(self, factor):
            self.factor = factor

    def doubled(cls, factor):
        made = type.__call__(cls, factor)
        made.factor *= 2
        return made

    def step(x):
        return x * Scale(3.0).factor

    def change(k):
        if k % 2:
            Meta.__call__ = doubled
        elif "__call__" in vars(Meta):
            del Meta.__call__

    return World(step, change)


@issue(175290)
def attribute_of_a_metaclass():
    class Meta(type):
        scale = 1.0

    class Thing(metaclass=Meta):
        pass

    return World(lambda x: x * Thing.scale, lambda k: setattr(Meta, "scale", float(k)))


@issue(175290)
def a_method_of_a_metaclass_that_is_replaced():
    class Meta(type):
        def __getitem__(cls, name):
            return 2.0

    class Thing(metaclass=Meta):
        pass

    def step(x):
        return x * Thing["a"]

    return World(step, lambda k: setattr(Meta, "__getitem__", lambda cls, name: float(k)))


@issue(104840)
def defaults_of_a_dataclass():
    @dataclasses.dataclass
    class Options:
        scale: float = 1.0
        shift: list = dataclasses.field(default_factory=lambda: [0.5])

    def step(x):
        options = Options()
        return x * options.scale + options.shift[0]

    def change(k):
        Options.__init__.__defaults__ = (float(k), *Options.__init__.__defaults__[1:])

    return World(step, change)


@issue(104840)
def a_factory_of_a_dataclass():
    shifts = [0.5]

    @dataclasses.dataclass
    class Options:
        shift: list = dataclasses.field(default_factory=lambda: list(shifts))

    return World(lambda x: x + Options().shift[0], lambda k: shifts.__setitem__(0, float(k)))


@issue(98652)
def members_of_an_enum():
    class Mode(enum.Enum):
        SINE = 1
        COSINE = 2

    chosen = {"mode": Mode.SINE}

    def step(x):
        return x.sin() if chosen["mode"] is Mode.SINE else x.cos()

    def change(k):
        chosen["mode"] = Mode.COSINE if k % 2 else Mode.SINE

    return World(step, change)


@issue(98652)
def the_value_of_a_member():
    class Mode(enum.Enum):
        A = 1.0

    return World(lambda x: x * Mode.A.value, lambda k: setattr(Mode.A, "_value_", float(k)))


@issue(191635)
def unbound_methods_of_builtin_classes():
    numbers = [1.0]

    def step(x):
        list.append(numbers, 2.0)
        return x * list.__len__(numbers) + list.__getitem__(numbers, 0)

    return World(step, lambda k: list.__setitem__(numbers, 0, float(k)), lambda: list(numbers))


@issue(191635)
def unbound_methods_of_dicts():
    table = {"a": 1.0}

    def step(x):
        return x * dict.get(table, "a") + dict.__len__(table)

    return World(step, lambda k: dict.__setitem__(table, "a", float(k)))


# --- dicts and their views ------------------------------------------------------------------------


@issue(185908)
def a_live_view_of_values():
    table = {"a": 1.0, "b": 2.0}
    values = table.values()
    return World(lambda x: x * sum(values), lambda k: table.__setitem__(f"k{k}", float(k)))


@issue(185908)
def a_proxy_of_a_mapping():
    table = {"a": 1.0}
    proxy = types.MappingProxyType(table)

    def step(x):
        before = len(proxy)
        table[f"k{len(table)}"] = 1.0
        return x * proxy["a"] + len(proxy) - before

    return World(step, lambda k: table.__setitem__("a", float(k)), lambda: dict(table))


@issue(185908)
def items_that_are_kept_while_the_dict_grows():
    table = {"a": 1.0}

    def step(x):
        items = table.items()
        table["b"] = table.get("b", 0.0) + 1
        return x * sum([v for _, v in items])

    return World(step, state=lambda: dict(table))


# --- identities and aliases -----------------------------------------------------------------------


@issue(184830)
def a_sentinel_that_is_replaced():
    nothing = object()
    held = {"value": nothing}

    def step(x):
        return x + 1 if held["value"] is nothing else x * 2

    def change(k):
        held["value"] = nothing if k % 2 else object()

    return World(step, change)


@issue(184830)
def a_default_that_is_a_sentinel():
    nothing = object()

    def scaled(x, by=nothing):
        return x if by is nothing else x * 3

    def change(k):
        scaled.__defaults__ = (nothing if k % 2 else object(),)

    return World(lambda x: scaled(x) + 1, change)


@issue(120861)
def an_argument_that_is_a_global_list():
    numbers = [1.0, 2.0, 3.0]
    given = [numbers, numbers, numbers, numbers, [9.0], numbers[::-1], numbers, [1.0, 2.0]] + [
        [4.0]
    ] * 2

    def step(lst, x):
        return x + numbers[-1] + lst[-1]

    return World(step, arguments=lambda k: (given[k], torch.ones(1)))


@issue(197218)
def another_tensor_with_the_same_form():
    held = {"weight": torch.ones(3)}
    return World(
        lambda x: x * held["weight"],
        lambda k: held.__setitem__("weight", torch.full((3,), float(k))),
    )


@issue(191821)
def a_global_that_the_call_rebinds():
    @dataclasses.dataclass
    class Given:
        hidden: Any

    held = {"given": Given(torch.zeros(3))}

    def region():
        return held["given"].hidden + 1

    def step(hidden):
        for _ in range(2):
            held["given"] = Given(hidden)
            hidden = region()
        return hidden

    return World(step, state=lambda: held["given"].hidden.tolist())


@issue(125999)
def a_write_through_a_part():
    memory = torch.zeros(2, 3, 5)

    def step(x):
        part = memory[..., 1, :]
        most, least = torch.max(part, x[0]), torch.min(part, x[0])
        part.copy_(most + torch.log(1 + torch.exp(least - most)))

    return World(step, state=lambda: memory.tolist())


@issue(97688)
def arguments_that_are_called_like_builtins():
    def step(x, inf, nan, len):
        return x + inf * nan - len

    return World(step, arguments=lambda k: (torch.ones(2), float(k), 2.0, k))


@issue(136662)
def the_gradient_of_a_function_that_changes():
    held = {"power": 2}

    def loss(w, x):
        return (w ** held["power"] * x).sum()

    def step(x):
        return torch.func.grad(loss)(x, x)

    return World(step, lambda k: held.__setitem__("power", 2 + k % 3))


# --- generators and objects that last -------------------------------------------------------------


@issue(146628)
def a_generator_that_writes_tensors():
    memory = torch.zeros(3)

    def counting():
        while True:
            memory.add_(1)
            yield memory.clone()

    numbers = counting()
    return World(lambda x: x + next(numbers), state=lambda: memory.tolist())


@issue(146628)
def a_generator_that_is_sent_to():
    def averaging():
        total, count = 0.0, 0
        while True:
            total += yield total / max(count, 1)
            count += 1

    average = averaging()
    next(average)
    return World(lambda x: x * average.send(2.0))


@issue(112338)
def a_set_of_enums():
    class Kind(enum.Enum):
        A = 1
        B = 2

    active = {Kind.A}

    def step(x):
        return x * len(active) + (1 if Kind.B in active else 0)

    return World(step, lambda k: (active.add if k % 2 else active.discard)(Kind.B))


@issue(137411)
def an_update_of_a_dict_of_an_object():
    class Thing:
        pass

    thing = Thing()

    def step(x):
        thing.__dict__.update(count=getattr(thing, "count", 0) + 1)
        return x * thing.count

    return World(step, state=lambda: dict(vars(thing)))


@issue(128071)
def layers_that_are_told_apart_by_a_number():
    class Layer(nn.Module):
        def __init__(self, position):
            super().__init__()
            self.position = position

        def forward(self, x):
            return x.sin() if self.position % 2 else x.cos()

    layers = nn.ModuleList([Layer(k) for k in range(4)])

    def step(x):
        for layer in layers:
            x = layer(x)
        return x

    return World(step, lambda k: setattr(layers[k % 4], "position", k))


@issue(188752)
def hooks_that_come_and_go():
    layer = nn.Linear(3, 3)
    handles = []

    def change(k):
        if handles:
            handles.pop().remove()
        else:
            handles.append(layer.register_forward_hook(lambda m, i, o: o * k))

    return World(lambda x: layer(x).detach(), change)


@issue(178401)
def functions_of_one_code_and_other_defaults():
    made = []
    for offset in range(10):

        def shifted(x, offset=float(offset)):
            return x + offset

        made.append(shifted)
    return World(lambda f, x: f(x) * 2, arguments=lambda k: (made[k], torch.ones(2)))


@issue(178401)
def partials_that_change():
    held = [functools.partial(torch.mul, other=2.0)]
    return World(
        lambda x: held[0](x),
        lambda k: held.__setitem__(0, functools.partial(torch.mul, other=float(k))),
    )
