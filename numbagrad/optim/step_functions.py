"""Steps of optimizers as functions of lists: ``torch.optim.adam.adam`` and its kin.

The file of each optimizer makes its own with ``step_function``: the update is that of the class.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import no_grad
from ..tensor import Tensor
from .optimizer import Optimizer
from .parameter_group import ParameterGroup

__all__: list[str] = []

#: Options that classes take together, as a pair, and functions one by one.
_PAIRS = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}
_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _entry(states: str) -> str:
    """The entry of a parameter's state that a list holds: of ``exp_avgs``, ``exp_avg``."""
    return states.removeprefix("state_").removesuffix("_list").removesuffix("s")


def step_function(
    optimizer: type[Optimizer],
    states: str,
    choices: str,
    options: str,
    *,
    name: str = "",
    gradients: str = "grads",
    **fixed: Any,
) -> Callable[..., None]:
    """The function that makes a step of an optimizer whose state its caller keeps in lists.

    Args:
        optimizer: the class, whose update it makes.
        states: names of the lists of states, which follow those of parameters and gradients.
        choices: names of the parameters behind these that may be left out; ``fused``, ``foreach``
            and ``capturable`` choose between implementations of torch and mean nothing here.
        options: names of those that have to be given by keyword.
        name: of the function; by default the class's in small letters.
        gradients: the name of the list of gradients.
        fixed: options of the class that the function does not take.
    """
    lists = ("params", gradients, *states.split())
    optional = [*choices.split()]
    flags = {
        choice: None if choice in ("foreach", "fused", "grad_scale", "found_inf") else False
        for choice in optional
    }
    signature = inspect.Signature([
        *[inspect.Parameter(each, _POSITIONAL) for each in lists],
        *[inspect.Parameter(each, _POSITIONAL, default=flags[each]) for each in optional],
        *[inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in options.split()],
    ])  # fmt: skip
    name = name or optimizer.__name__.lower()

    def step(*arguments: Any, **keywords: Any) -> None:
        try:
            bound = signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        bound.apply_defaults()
        given = bound.arguments
        if given.get("differentiable"):
            raise NotImplementedError(
                f"{name}: differentiable=True is not supported; write the update in Tensor "
                "operations to differentiate through it"
            )
        params, grads, *rest = [given.pop(each) for each in lists]
        kept = {_entry(each): found for each, found in zip(lists[2:], rest, strict=True)}
        if not all([isinstance(count, Tensor) for count in kept.get("step", ())]):
            raise RuntimeError(
                "API has changed, `state_steps` argument must contain a list of singleton tensors"
            )
        scale, overflow = given.pop("grad_scale", None), given.pop("found_inf", None)
        if (scale is not None or overflow is not None) and not given["fused"]:
            raise AssertionError("Expected grad_scale and found_inf to be None")
        for pair, (first, second) in _PAIRS.items():
            if first in given:
                given[pair] = (given.pop(first), given.pop(second))
        group = ParameterGroup({"maximize": False, "params": params, **fixed, **given})
        if params and not (overflow is not None and overflow.item()):
            if scale is not None:
                grads = [gradient.detach().div_(scale) for gradient in grads]
            _change(optimizer, group, params, grads, kept)

    step.__name__ = step.__qualname__ = name
    step.__signature__ = signature  # type: ignore[attr-defined]
    step.__doc__ = f"""Step of ``{optimizer.__name__}``, parameters, gradients and state in lists.

    The entries of the lists belong together; the state is changed in place. An empty list is a
    state that the options do not ask for.

    Raises:
        NotImplementedError: for ``differentiable=True``.
    """
    return step


@no_grad()
def _change(
    optimizer: type[Optimizer],
    group: ParameterGroup,
    params: list[Tensor],
    grads: list[Tensor],
    kept: dict[str, list[Any]],
) -> None:
    """Make a step of an optimizer that has no parameters of its own."""
    own = optimizer.__new__(optimizer)
    own.state = defaultdict(dict)
    for position, parameter in enumerate(params):
        own.state[parameter] = {
            entry: found[position]
            for entry, found in kept.items()
            if position < len(found) and found[position] is not None
        }
    for position, numbers in enumerate(own._draw(group, params)):
        parameter = params[position]
        direction = own._descent(grads[position], parameter, group)
        own._update(parameter, direction, group, numbers)
        for entry, found in kept.items():
            if position < len(found):
                found[position] = own.state[parameter].get(entry)
