"""Hooks, states and messages of modules against live torch: what is seen, in which order.

Each case is a function of the library, an input and a log. Compared are the log, what the case
returns or raises, and the warnings.
"""

import importlib
import warnings

import pytest
import torch

import numbagrad

CASES = {}


def case(function):
    CASES[function.__name__.replace("_", " ")] = function
    return function


def linear(lib):
    return lib.nn.Linear(2, 2)


def shapes(gradients):
    return [None if g is None else tuple(g.shape) for g in gradients]


# --- forward hooks --------------------------------------------------------------------------------


@case
def hooks_in_front_of_others(lib, x, log):
    module = linear(lib)
    module.register_forward_pre_hook(lambda module, args: log("before"))
    module.register_forward_pre_hook(lambda module, args: log("first"), prepend=True)
    module.register_forward_hook(lambda module, args, output: log("last"))
    module.register_forward_hook(lambda module, args, output: log("after"), prepend=True)
    return module(x)


@case
def other_arguments(lib, x, log):
    module = linear(lib)
    module.register_forward_pre_hook(lambda module, args: args[0] * 2)
    module.register_forward_pre_hook(
        lambda module, args, kwargs: ((args[0] * 3,), kwargs), with_kwargs=True
    )
    return module(x)


@case
def a_pre_hook_with_named_arguments_returns_both(lib, x, log):
    module = linear(lib)
    module.register_forward_pre_hook(lambda module, args, kwargs: (x,), with_kwargs=True)
    return module(x)


@case
def another_output(lib, x, log):
    module = linear(lib)
    module.register_forward_hook(lambda module, args, output: output * 0)
    module.register_forward_hook(
        lambda module, args, kwargs, output: (output, sorted(kwargs)), with_kwargs=True
    )
    return module(input=x)[1]


@case
def handles(lib, x, log):
    module = linear(lib)
    handle = module.register_forward_hook(lambda *args: log("never"))
    handle.remove()
    handle.remove()
    with module.register_forward_hook(lambda *args: log("inside")):
        module(x)
    module(x)
    return len(module._forward_hooks)


class Failing:
    @staticmethod
    def module(lib):
        class Fails(lib.nn.Module):
            def forward(self, x):
                raise ValueError("forward")

        return Fails()


@case
def a_hook_that_is_called_always(lib, x, log):
    module = Failing.module(lib)
    module.register_forward_hook(lambda module, args, output: log(output), always_call=True)
    module.register_forward_hook(lambda *args: log("never"))
    module(x)


@case
def a_hook_that_is_called_always_and_raises(lib, x, log):
    module = Failing.module(lib)

    def hook(module, args, output):
        raise KeyError("hook")

    module.register_forward_hook(hook, always_call=True)
    module(x)


@case
def hooks_of_every_module(lib, x, log):
    room = importlib.import_module(f"{lib.__name__}.nn.modules.module")

    def seen(name):
        return lambda module, *rest: log((name, type(module).__name__))

    handles = [
        room.register_module_forward_pre_hook(seen("before")),
        room.register_module_forward_hook(seen("after")),
        room.register_module_full_backward_pre_hook(seen("before backward")),
        room.register_module_full_backward_hook(seen("backward")),
    ]
    model = lib.nn.Sequential(linear(lib), lib.nn.ReLU())
    model[0].register_forward_pre_hook(seen("own before"))
    model[0].register_full_backward_hook(seen("own backward"))
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    log("removed")
    model(x).sum().backward()


@case
def hooks_of_every_registration(lib, x, log):
    room = importlib.import_module(f"{lib.__name__}.nn.modules.module")

    def seen(module, name, value):
        log((type(module).__name__, name, type(value).__name__))

    def longer(module, name, buffer):
        return None if buffer is None else lib.zeros(7, dtype=lib.float64)

    handles = [
        room.register_module_parameter_registration_hook(seen),
        room.register_module_buffer_registration_hook(seen),
        room.register_module_buffer_registration_hook(longer),
        room.register_module_module_registration_hook(seen),
    ]
    model = lib.nn.Sequential(linear(lib), lib.nn.BatchNorm1d(4))
    model[0] = lib.nn.ReLU()
    model.register_buffer("nothing", None)
    model.register_parameter("none", None)
    model.last = linear(lib)
    model.last = None
    model.add_module("again", lib.nn.ReLU())
    for handle in handles:
        handle.remove()
    log("removed")
    model.register_buffer("quiet", x.detach())
    return model[1].running_mean


@case
def an_old_register_buffer(lib, x, log):
    class Old(lib.nn.Module):
        def register_buffer(self, name, tensor):
            super().register_buffer(name, tensor)

    module = Old()
    module.register_buffer("state", x.detach())
    module.state = x.detach() + 1
    log(list(module.state_dict()))
    module.state = lib.nn.Buffer(x.detach(), persistent=False)


# --- backward hooks -------------------------------------------------------------------------------


@case
def gradients_replaced(lib, x, log):
    module = linear(lib)
    module.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 2,))
    module.register_full_backward_hook(lambda module, into, out: (into[0] + 1,))
    module.register_full_backward_hook(lambda module, into, out: log(shapes(into + out)))
    module(x).sum().backward()
    return x.grad


@case
def too_many_gradients_of_inputs(lib, x, log):
    module = linear(lib)
    module.register_full_backward_hook(lambda module, into, out: (into[0], into[0]))
    module(x).sum().backward()


@case
def too_many_gradients_of_outputs(lib, x, log):
    module = linear(lib)
    module.register_full_backward_pre_hook(lambda module, grads: (grads[0], grads[0]))
    module(x).sum().backward()


@case
def a_backward_hook_that_returns_a_number(lib, x, log):
    module = linear(lib)
    module.register_full_backward_hook(lambda module, into, out: 3)
    module(x).sum().backward()


@case
def no_input_needs_a_gradient(lib, x, log):
    module = linear(lib)
    module.register_full_backward_hook(lambda module, into, out: log(shapes(into + out)))
    module(x.detach()).sum().backward()


@case
def no_input_needs_a_gradient_that_a_hook_returns(lib, x, log):
    module = linear(lib)
    module.register_full_backward_hook(lambda module, into, out: (out[0],))
    module(x.detach()).sum().backward()


@case
def a_module_that_writes_in_place(lib, x, log):
    module = lib.nn.ReLU(inplace=True)
    module.register_full_backward_hook(lambda module, into, out: None)
    module(x * 2).sum().backward()


@case
def both_kinds_of_backward_hooks(lib, x, log):
    module = linear(lib)
    module.register_full_backward_hook(lambda module, into, out: None)
    module.register_backward_hook(lambda module, into, out: None)


@case
def the_old_backward_hook(lib, x, log):
    module = linear(lib)
    module.register_backward_hook(lambda module, into, out: log(shapes(into + out)))
    module(x).sum().backward()


@case
def a_hook_of_the_node_of_a_linear_layer(lib, x, log):
    """The weight's gradient is that of its transpose, and may be replaced."""
    module = linear(lib)
    module.register_backward_hook(lambda module, into, out: log(list(map(repr, into))))
    y = module(x)
    y.grad_fn.register_hook(lambda into, out: (*into[:2], into[2].cumsum(0)))
    y.sin().sum().backward()
    return module.weight.grad


@case
def the_old_backward_hook_of_two_outputs(lib, x, log):
    class Two(lib.nn.Module):
        def forward(self, x):
            return x * 2, x * 3

    module = Two()
    module.register_backward_hook(lambda module, into, out: log(shapes(out)))
    sum(module(x)).sum().backward()


@case
def the_old_backward_hook_of_a_dictionary(lib, x, log):
    class Named(lib.nn.Module):
        def forward(self, x):
            return {"a": x * 2}

    module = Named()
    module.register_backward_hook(lambda module, into, out: log(shapes(out)))
    module(x)["a"].sum().backward()


# --- state ----------------------------------------------------------------------------------------


@case
def hooks_around_the_state(lib, x, log):
    model = lib.nn.Sequential(linear(lib), lib.nn.Tanh())
    model.register_state_dict_pre_hook(lambda module, prefix, keep: log(("before", prefix, keep)))
    model[0].register_state_dict_post_hook(
        lambda module, state, prefix, metadata: log((list(state), prefix, dict(metadata)))
    )
    model.register_load_state_dict_pre_hook(
        lambda module, state, prefix, *rest: log((list(state), prefix, [str(r) for r in rest]))
    )
    model.register_load_state_dict_post_hook(lambda module, keys: log(repr(keys)))
    renamed = {f"{name}x": value for name, value in model.state_dict().items()}
    model.load_state_dict(renamed, strict=False)
    return model.load_state_dict({"0.weight": model[0].weight}, strict=False)


@case
def a_hook_behind_the_state_that_returns(lib, x, log):
    module = linear(lib)
    module.register_state_dict_post_hook(lambda module, state, prefix, metadata: state)
    module.state_dict()


@case
def a_hook_behind_loading_that_returns(lib, x, log):
    module = linear(lib)
    module.register_load_state_dict_post_hook(lambda module, keys: 3)
    module.load_state_dict(module.state_dict())


@case
def a_hook_that_forgives_missing_keys(lib, x, log):
    module = linear(lib)
    module.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    return module.load_state_dict({"bias": module.bias})


@case
def all_that_can_be_wrong_with_a_state(lib, x, log):
    model = lib.nn.Sequential(linear(lib), linear(lib))
    state = model.state_dict()
    state["0.weight"] = lib.ones(3, 3)
    state["1.bias"] = lib.ones(1)
    state["2.bias"] = lib.ones(2)
    del state["0.bias"]
    model.load_state_dict(state)


@case
def a_state_with_a_list(lib, x, log):
    linear(lib).load_state_dict({"weight": lib.ones(2, 2), "bias": [1, 2]}, strict=False)


@case
def tensors_of_the_state_themselves(lib, x, log):
    module = linear(lib)
    state = {name: lib.nn.Parameter(value * 2) for name, value in module.state_dict().items()}
    log(repr(module.load_state_dict(state, assign=True)))
    return module.weight is state["weight"], module.bias.requires_grad


@case
def other_dtypes(lib, x, log):
    module = linear(lib)
    module.load_state_dict({"weight": lib.ones(2, 2).double(), "bias": lib.ones(2).int()})
    return str(module.weight.dtype), module.bias


@case
def a_count_of_batches_is_missing(lib, x, log):
    module = lib.nn.BatchNorm1d(2)
    state = module.state_dict()
    del state["num_batches_tracked"]
    module.load_state_dict(state)


@case
def a_state_of_the_time_before_batches_were_counted(lib, x, log):
    module = lib.nn.BatchNorm1d(2)
    state = dict(module.state_dict())
    del state["num_batches_tracked"]
    return module.load_state_dict(state)


@case
def a_state_beyond_tensors(lib, x, log):
    class Counting(lib.nn.Module):
        def get_extra_state(self):
            return {"count": 1}

        def set_extra_state(self, state):
            log(state)

    model = lib.nn.Sequential(Counting())
    state = model.state_dict()
    log(list(state))
    model.load_state_dict(state)
    model.load_state_dict({})


@case
def a_state_beyond_tensors_that_nobody_wants(lib, x, log):
    module = linear(lib)
    module.load_state_dict({**module.state_dict(), "_extra_state": 1})


@pytest.mark.parametrize("name", CASES)
def test_is_as_in_torch(name):
    found = []
    for library in (numbagrad, torch):
        library.manual_seed(0)
        events = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                x = library.randn(3, 2, requires_grad=True)
                outcome = CASES[name](library, x, events.append)
                if isinstance(outcome, library.Tensor):
                    outcome = repr(outcome.detach())
            except Exception as error:
                outcome = (type(error), str(error))
        found.append((events, repr(outcome), [(w.category, str(w.message)) for w in caught]))
    assert found[0] == found[1]
