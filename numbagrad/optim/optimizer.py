"""Optimizer: parameter groups, state, and what happens around every step.

A subclass says in ``_update`` how one parameter changes; the others of this folder do, and so may
users, who may also define ``step`` themselves.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import chain
from typing import Any

from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.hooks.tensor_hooks import RemovableHandle, add_hook
from ..backend import Backend, foreign
from ..executor import capture
from ..nn.module import forget_gradient
from ..nn.parameter import Parameter
from ..ops.arguments.check import check_constructor
from ..ops.conversion.query import typename
from ..ops.creation.filled import zeros_like
from ..ops.creation.from_data import tensor
from ..tensor import Tensor
from ..tensor.sparse_array import SparseRead
from .inner_functions import ParamsT as ParamsT
from .inner_functions import _default_to_fused_or_foreach as _default_to_fused_or_foreach
from .inner_functions import _get_capturable_supported_devices as _get_capturable_supported_devices
from .inner_functions import _get_scalar_dtype as _get_scalar_dtype
from .inner_functions import _get_value as _get_value
from .inner_functions import _stack_if_compiling as _stack_if_compiling
from .inner_functions import _to_scalar as _to_scalar
from .inner_functions import _use_grad_for_differentiable as _use_grad_for_differentiable
from .inner_functions import _view_as_real as _view_as_real
from .inner_functions import params_t as params_t
from .options import Group, Numbers
from .parameter_group import ParameterGroup, note_all_read
from .step_hooks import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    with_hooks,
)

__all__ = [
    "Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook",
]  # fmt: skip

#: Counters of a parameter after a step, and the numbers of its update.
Counted = tuple[tuple[Any, ...], Numbers]


class _Required:
    """The default of an option that every parameter group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

#: The tables of hooks every optimizer has.
_HOOKS = (
    "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)  # fmt: skip


class Optimizer:
    """Changes parameters along their gradients.

    Args:
        params: tensors, pairs of name and tensor, or dictionaries with ``"params"`` and options
            that hold for these alone.
        defaults: the options of groups that do not give them.

    Attributes:
        param_groups: the groups, as dictionaries of options.
        state: what is remembered of every parameter.
    """

    _optimizer_step_pre_hooks: OrderedDict[int, Any]
    _optimizer_step_post_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if defaults.get("fused") and defaults.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        if defaults.get("fused") and defaults.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        if defaults.get("differentiable"):
            raise NotImplementedError(
                f"{type(self).__name__}: differentiable=True is not supported; write the update in "
                "Tensor operations to differentiate through it"
            )
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {typename(params)}"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [ParameterGroup(params=groups)]
        for group in groups:
            self.add_param_group(group)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        package = __name__.rpartition(".")[0] + "."
        if cls.__module__.startswith(package):
            check_constructor(cls, package)
        if "step" in vars(cls):
            cls.step = with_hooks(cls.step)  # type: ignore[method-assign]

    def _make_hooks(self) -> None:
        self._opt_called = False
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults, "state": self.state, "param_groups": self.param_groups,
        }  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            note_all_read(group)
            for name in sorted(group):
                if name != "params":
                    text += f"    {name}: {group[name]}\n"
        return text + ")"

    # --- parameters ---------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own.

        Raises:
            TypeError: if they are not tensors, or in a set, which has no order.
            ValueError: if one is not a leaf, or in another group already.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        self._split_names(param_group)
        params = param_group["params"]
        for parameter in params:
            if not isinstance(parameter, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    f"{typename(parameter)}"
                )
            if not (parameter.is_leaf or parameter.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        own = {id(parameter) for parameter in params}
        if len(own) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                how = "with" if "param_names" in param_group else "without"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {how} names to the optimizer"
                )
        others = {id(parameter) for group in self.param_groups for parameter in group["params"]}
        if own & others:
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    @staticmethod
    def _split_names(group: dict[str, Any]) -> None:
        """Make ``params`` a list of tensors; names that came with them get a list of their own."""
        params = group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        params = list(params)
        names = [entry[0] for entry in params if isinstance(entry, tuple)]
        group["params"] = [entry[1] if isinstance(entry, tuple) else entry for entry in params]
        if names:
            if len(names) != len(params):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are "
                    "missing"
                )
            group["param_names"] = names

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or write zeros into them."""
        for group in self.param_groups:
            for parameter in group["params"]:
                forget_gradient(parameter, set_to_none)

    # --- step ---------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change all parameters that have a gradient.

        ``closure`` computes the loss and the gradients first; its loss is returned.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                if (where := _elsewhere(group)) is None:
                    self._update_group(group)
                else:
                    with where.together():
                        self._update_group(group)
        return loss

    def _update_group(self, group: dict[str, Any]) -> None:
        """Change the parameters of one group; recording is off."""
        found = [parameter for parameter in group["params"] if self._has_gradient(parameter)]
        if not found:
            return
        for parameter in found:
            if not self.state.get(parameter):
                self._start(parameter, group)
        try:
            for parameter, own in zip(found, self._draw(group, found), strict=True):
                self._update(
                    parameter, self._descent(parameter._accumulated, parameter, group), group, own
                )
        except SparseRead as error:
            raise RuntimeError(self._no_sparse.format(type(self).__name__)) from error

    _no_sparse = "{} does not support sparse gradients"

    @staticmethod
    def _descent(gradient: Any, parameter: Tensor, group: dict[str, Any]) -> Any:
        """Gradient to descend: negated to maximise, with weight decay where it is part of it."""
        if group["maximize"]:
            gradient = -gradient
        decay = group.get("weight_decay")
        if decay and not group.get("decoupled_weight_decay"):
            gradient = gradient.add(parameter, alpha=float(decay))
        return gradient

    def _has_gradient(self, parameter: Tensor) -> bool:
        """Whether a parameter is to change.

        Raises:
            NotImplementedError: if it is of a subclass that keeps its gradient in another tensor.
        """
        if parameter._accumulated is not None:
            return True
        if parameter.__class__ not in (Parameter, Tensor) and parameter.grad is not None:
            raise NotImplementedError(
                f"{type(self).__name__}.step changes the elements of parameters themselves, but "
                f"the gradient of this {type(parameter).__name__} lies in another tensor, as its "
                "__torch_function__ says: give that tensor to the optimizer"
            )
        return False

    def _draw(self, group: dict[str, Any], parameters: list[Tensor]) -> list[tuple[float, ...]]:
        """The numbers of the update of each parameter; those with equal counters share them."""
        if not self._counters:
            return [self._drawn(lambda: self._numbers(group, 0.0), group)] * len(parameters)
        counts = Counters(
            [[self.state[each][name]._array for name in self._counters] for each in parameters]
        )

        def compute() -> tuple[float, ...]:
            found = counts.next(functools.partial(self._count, group))
            return tuple([x for own in found for x in own])

        compute.state = counts  # type: ignore[attr-defined]
        flat = self._drawn(compute, group)
        width = len(flat) // counts.distinct
        return [flat[width * position : width * (position + 1)] for position in counts.positions]

    def _drawn(
        self, compute: Callable[[], tuple[float, ...]], group: dict[str, Any]
    ) -> tuple[float, ...]:
        """The numbers that a step computes of the options of a group."""
        decoupled = ("weight_decay",) if group.get("decoupled_weight_decay") else ()
        return capture.numbers(compute, group, self._anew, (*self._anew_positive, *decoupled))

    #: Options that every step reads anew, so that a compiled step follows them as they change.
    _anew: tuple[str, ...] = ("lr",)

    #: Options read anew as long as they are positive: without them the step is another one.
    _anew_positive: tuple[str, ...] = ()

    #: The entries of a parameter's state that are tensors of one element which every step reads
    #: and writes: most often ``("step",)``, the count of its steps.
    _counters: tuple[str, ...] = ()

    #: The entries of a parameter's state that are tensors of its shape and begin as zeros.
    _buffers: tuple[str, ...] = ()

    def _start(self, parameter: Tensor, group: Group) -> None:
        """Fill the state of a parameter before its first step: counters and buffers of zeros."""
        state = self.state[parameter] if self._counters or self._buffers else {}
        for name in self._counters:
            state[name] = new_count()
        for name in self._buffers:
            state[name] = zeros_like(parameter, requires_grad=False)

    def _numbers(self, group: Group, step: float) -> Numbers:
        """The numbers that the formulas of a step need; ``step`` counts from 1."""
        return ()

    def _count(self, group: Group, *counters: Any) -> Counted:
        """The counters after a step that finds ``counters``, and the numbers that it needs.

        The first is a float; others are scalars of NumPy, of the dtype that they are kept in.
        """
        step = counters[0] + 1
        return (step,), self._numbers(group, step)

    def _update(self, parameter: Tensor, gradient: Tensor, group: Group, numbers: Numbers) -> None:
        """Change one parameter; ``gradient`` is the direction in which the loss grows."""
        raise NotImplementedError(f"{type(self).__name__} defines neither step nor _update")

    # --- state --------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """State and options; parameters are their numbers in order."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            note_all_read(group)
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [numbers[id(parameter)] for parameter in group["params"]]
            groups.append(packed)
        state = {
            numbers[id(key)] if isinstance(key, Tensor) else key: value
            for key, value in self.state.items()
        }
        packed_state: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, packed_state)
            if replaced is not None:
                packed_state = replaced
        return packed_state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what ``state_dict`` returned; state gets the dtype of its parameter.

        Raises:
            ValueError: if the groups do not match those of this optimizer.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for group, saved_group in zip(groups, saved, strict=True):
            if len(group["params"]) != len(saved_group["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    "optimizer's group"
                )
        parameters = dict(
            zip(
                chain.from_iterable(group["params"] for group in saved),
                chain.from_iterable(group["params"] for group in groups),
                strict=True,
            )
        )
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in parameters:
                state[parameters[key]] = _cast(parameters[key], value)
            else:
                state[key] = value
        for group, saved_group in zip(groups, saved, strict=True):
            saved_group["params"] = group["params"]
            if "param_names" in group:
                saved_group.setdefault("param_names", group["param_names"])
        made = [ParameterGroup(group) for group in saved]
        self.__setstate__({"state": state, "param_groups": made})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # --- hooks --------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before every step; it may return others."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after every step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` before the state is collected."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after it was collected; it may return another."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; it may return another."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)


Optimizer.step = with_hooks(Optimizer.step)  # type: ignore[method-assign]


@contextlib.contextmanager
def noting_state(read: Callable[[Optimizer], None]) -> Iterator[None]:
    """Call ``read(optimizer)`` whenever an optimizer is asked for its state inside the block.

    A property of the class stands before the attribute meanwhile, which costs nothing otherwise.
    """

    def get(self: Optimizer) -> Any:
        read(self)
        return self.__dict__["state"]

    def put(self: Optimizer, state: Any) -> None:
        self.__dict__["state"] = state

    before = vars(Optimizer).get("state")
    setattr(Optimizer, "state", property(get, put))  # noqa: B010 - no attribute of the class
    try:
        yield
    finally:
        if before is None:
            delattr(Optimizer, "state")
        else:
            setattr(Optimizer, "state", before)  # noqa: B010


def _elsewhere(group: dict[str, Any]) -> Backend | None:
    """The backend of a group's parameters; None for the CPU, and while a program is recorded."""
    parameters = group["params"]
    return foreign(parameters[0]._array) if parameters and capture.active is None else None


class Counters:
    """Arrays of one element that steps read and write: counts of steps and what grows with them.

    Args:
        arrays: those of each parameter, as many for all of them.

    Attributes:
        places: for each parameter its place among the numbers that ``next`` returns.
        distinct: how many of these there are.
    """

    def __init__(self, arrays: Iterable[list[Any]]):
        self._cells = [[_cell(step), *map(_position, others)] for step, *others in arrays]
        now = self._read()
        distinct = list(dict.fromkeys(now))
        self.positions = [distinct.index(values) for values in now]
        self.distinct = len(distinct)
        self._first = [now.index(values) for values in distinct]
        self._before: list[tuple[Any, ...]] | None = None

    def _read(self) -> list[tuple[Any, ...]]:
        return [tuple([cell[()] for cell in own]) for own in self._cells]

    def next(self, count: Callable[..., Counted]) -> list[tuple[float, ...]]:
        """Write what ``count`` makes of the counters of every parameter.

        Returns the numbers that it makes as well, for counters that differ each once.

        Raises:
            Outdated: if some that were equal when this was made are not any more, as where some
                parameters had no gradient for a while, or somebody wrote their state.
        """
        now = self._read()
        found = [now[k] for k in self._first]
        if now != [found[position] for position in self.positions]:
            raise capture.Outdated(
                "parameters that had made as many steps when the step was compiled have not any "
                "more",
                self,
            )
        self._before = now
        counted = [count(*values) for values in found]
        for own, position in zip(self._cells, self.positions, strict=True):
            for cell, value in zip(own, counted[position][0], strict=True):
                cell[()] = value
        return [numbers for _, numbers in counted]

    def forget(self) -> None:
        """Keep what the last ``next`` wrote: there is nothing to undo."""
        self._before = None

    def undo(self) -> None:
        """Write what the counters were before the last ``next``, if it was not forgotten."""
        if self._before is None:
            return
        for own, values in zip(self._cells, self._before, strict=True):
            for cell, value in zip(own, values, strict=True):
                cell[()] = value


def _position(array: Any) -> Any:
    """The one element of an array, to be read and written by ``position[()]``."""
    capture.manage(array)
    return array.reshape(())


def _cell(array: Any) -> Any:
    """``_position`` of a count: numbers of Python, four times as fast."""
    position = _position(array)
    return memoryview(position) if position.dtype.char in "fdlqi" else position


def new_count(value: float = 0.0) -> Tensor:
    """The tensor that counts the steps of a parameter, or another counter."""
    return tensor(value)


def _cast(parameter: Tensor, value: Any, key: Any = None) -> Any:
    """Loaded state of a parameter in its dtype and on its device, counts of steps as they are."""
    if isinstance(value, Tensor):
        if key == "step":
            return value
        kind = parameter.dtype if parameter.is_floating_point() else value.dtype
        return value.to(parameter.device, kind)
    if isinstance(value, dict):
        return {name: _cast(parameter, entry, name) for name, entry in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_cast(parameter, entry) for entry in value)  # type: ignore[call-arg]
    return value
