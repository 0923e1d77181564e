"""Operators that are not formulas: a forward on ndarrays, and gradient functions on Tensors.

The files of this folder define reductions, products, views and the like with ``TensorOperator``.
Gradient functions are written in public operations, so they can be recorded and differentiated.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...autograd import tensor_interface as tensors
from ...autograd.hooks.saved_hooks import HookedTensor
from ...autograd.node import edge_of, new_node
from ...autograd.saved import save, save_output
from ...backend import Backend, foreign_among, is_array, shared_by
from ...dispatch import descent, half_precision
from ...dispatch.bits import HALF, INTERCEPTED, TRANSFORMED
from ...executor import capture
from ...tensor import Tensor, new_tensor
from ...transforms.tangents import multilinear
from ...type_names import type_name
from . import native_launchers, node_calls, saved_names
from .base import Operator


class OperatorNode(native_launchers.OperatorState):
    """Node of a :class:`TensorOperator`. Subclasses are named as torch's nodes."""

    __slots__ = ()
    _computes_wanted = True

    plan: GradientPlan
    operator: TensorOperator

    def backward(self, *grads: Any, wanted: tuple[bool, ...] | None = None) -> tuple[Any, ...]:
        """The gradients of the inputs that need one, None for the others."""
        plan = self.plan
        if grads[0] is None and all([grad is None for grad in grads]):
            return plan.nothing
        known = [grads[0] if len(grads) == 1 else grads, *self.values, *self.unpack()]
        if plan.shared is not None:
            function, positions = plan.shared
            known.append(function(*[*map(known.__getitem__, positions)]))
        results: list[Any] = []
        for rule in plan.rules if wanted is None else plan.rules_for(wanted):
            if rule is None:
                results.append(None)
            else:
                function, positions, variadic = rule
                gradient = function(*[*map(known.__getitem__, positions)])
                if variadic:
                    results.extend(gradient)
                else:
                    results.append(gradient)
        return tuple(results)

    def _saved_fields(self) -> dict[str, tuple[str, Any]]:
        return saved_names.of_operator(self)

    def _possible_fields(self) -> list[str]:
        return saved_names.possible(type(self), self.operator.parameters)


class IndexNode(OperatorNode):
    """Node of an operator that keeps index arrays, which are freed as saved tensors are.

    Users see them as saved tensors behind those that are ones, and may give them hooks.
    """

    __slots__ = ()

    def release(self) -> None:
        """Free what was saved, so that a second walk raises."""
        self.saved = None

    def _position_of_key(self) -> int:
        names = self.operator.parameters
        return [names[index] for index, _ in self.plan.keeps].index("arrays")

    def _saved_fields(self) -> dict[str, tuple[str, Any]]:
        fields = super()._saved_fields()
        first = len(self.plan.saves) + len(self.plan.results)
        count = len(self.values[self._position_of_key()])
        return {**fields, "indices": ("tensors", range(first, first + count))}

    def _saved_entries(self) -> tuple[Any, ...] | None:
        if self.saved is None:
            return None
        key = self.values[self._position_of_key()]
        return (*self.saved, *[_index_entry(x) for x in key])

    def _set_saved_entries(self, entries: tuple[Any, ...]) -> None:
        assert self.saved is not None
        position, own = self._position_of_key(), len(self.saved)
        key = tuple(
            [
                _HookedIndex(entry, old) if entry.__class__ is HookedTensor else old
                for old, entry in zip(self.values[position], entries[own:], strict=True)
            ]
        )
        self.saved = entries[:own]
        self.values = (*self.values[:position], key, *self.values[position + 1 :])
        self.plan = self.plan.with_hooked_indices()


class _HookedIndex:
    """An index array that a pack hook has stored, and what it takes to check what comes back."""

    def __init__(self, hooked: HookedTensor, array: Any):
        self.hooked = hooked
        self.kind = (array.shape, array.dtype)
        self.limits = (array.min(), array.max()) if array.size else (0, 0)

    def restored(self) -> Any:
        """The result of the unpack hook; kernels rely on it that indices are in range.

        Raises:
            RuntimeError: if these are no indices that were there before.
        """
        array = self.hooked.unpack(None)._array
        lowest, highest = self.limits
        same = (array.shape, array.dtype) == self.kind
        if not same or ((array < lowest) | (array > highest)).any():
            raise RuntimeError(
                "the unpack hook of saved indices returned other indices than were packed"
            )
        return array


def _index_entry(entry: Any) -> Any:
    """An entry of a key as a node saves it: a tensor, or None for a whole dimension."""
    if entry.__class__ is _HookedIndex:
        return entry.hooked
    return new_tensor(entry) if is_array(entry) else None


def _with_indices(rule: Any) -> Any:
    """A rule of a gradient that gets arrays for the indices that hooks have stored."""
    if rule is None:
        return None
    function, positions, variadic = rule

    def restored(value: Any) -> Any:
        if value.__class__ is not tuple:
            return value
        return tuple([x.restored() if x.__class__ is _HookedIndex else x for x in value])

    return lambda *known: function(*[restored(x) for x in known]), positions, variadic


#: The names of the outputs in gradient functions.
_RESULTS = ("result", "result1", "result2")


class GradientPlan:
    """Saved values and gradient functions of an operator's nodes, by inputs that need gradients.

    Built from the parameter names of the gradient functions: an input's name means that the tensor
    is saved, ``<name>_shape`` that only its shape is kept, ``result`` the output (``result1`` and
    ``result2`` further ones), ``grad`` the incoming gradient, ``shared`` what the operator's own
    function of this name makes for all of them, and the name of any other parameter its value.
    """

    __slots__ = ("rules", "inputs", "saves", "keeps", "results", "shared", "nothing", "is_native")

    def __init__(self, operator: TensorOperator, needed: tuple[bool, ...]):
        names = operator.parameters
        tensors = [n for n, need in zip(names, needed, strict=False) if need]
        functions = [operator.gradient[n] for n in tensors]
        sharing = any(["shared" in _parameters(f) for f in functions])
        if sharing:
            functions.append(operator.shared)
        passed = ("grad", "shared")
        used = list(dict.fromkeys(p for f in functions for p in _parameters(f) if p not in passed))
        saved = [p for p in used if p in operator.tensors and p != operator.variadic]
        kept = [p for p in used if p not in saved and p not in _RESULTS]
        #: Numbers of the outputs that are saved.
        self.results = [number for number, p in enumerate(_RESULTS) if p in used]
        #: Places of the arguments that have an edge each.
        self.inputs = [i for i in range(len(needed)) if names[i] in operator.tensors]
        self.saves = [names.index(p) for p in saved]
        self.keeps = [(names.index(p.removesuffix("_shape")), p not in names) for p in kept]
        order = ["grad", *kept, *saved, *[_RESULTS[number] for number in self.results], "shared"]
        #: A function that runs before the gradients, and the positions of its arguments.
        self.shared: Any = None
        if sharing:
            self.shared = operator.shared, [order.index(p) for p in _parameters(operator.shared)]
        self.rules: list[Any] = []
        for name, need in zip(names, needed, strict=False):
            if name not in operator.tensors:
                continue
            if not need:
                self.rules.append(None)
                continue
            function = operator.gradient[name]
            positions = [order.index(p) for p in _parameters(function)]
            self.rules.append((function, positions, name == operator.variadic))
        self.nothing = (None,) * len(self.rules)
        #: Whether the launcher was told how its nodes are made.
        self.is_native = False

    def rules_for(self, wanted: tuple[bool, ...]) -> list[Any]:
        """The rules of the inputs whose gradients are wanted; a list of Tensors has all or none."""
        return [
            rule if rule is not None and (want or rule[2]) else None
            for rule, want in zip(self.rules, wanted, strict=False)
        ]

    def with_hooked_indices(self) -> GradientPlan:
        """The same for a node whose index arrays were stored by hooks."""
        plan = copy.copy(self)
        plan.rules = [_with_indices(rule) for rule in self.rules]
        return plan


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount]


class TensorOperator(Operator):
    """An operator defined by a forward on ndarrays and gradient functions on Tensors.

    ``forward`` takes its arguments by position; those named in ``gradient`` are Tensors (or None),
    the rest are parameters. ``gradient`` maps an input to a function of what it uses, by name (see
    :class:`GradientPlan`), written in Tensor operations, so that it can be recorded itself. The
    last input may be a list of Tensors, named in ``variadic``; its gradient function returns a
    list. What several of these functions compute, ``shared`` does once. ``batch`` and ``tangent``
    are rules under transformations (``dispatch/transformations.py``): without them it runs once a
    sample, and tangents follow from the gradients. One of two arguments that is ``multilinear``
    may have a rule ``with_directions(a, b, da, db)`` for what forward makes of two arrays and the
    tangent of that, where one direction may be None; it may return None.
    ``node`` is the class that its nodes are made from.
    A forward that is ``portable`` asks the backend of its arrays for all that it makes of them, or
    only views them; others run on ndarrays alone.
    A forward that ``takes_half`` gets arrays of float16 and bfloat16 as they are, others get them
    as float32.
    """

    __slots__ = (
        "name", "forward", "gradient", "grad_fn", "parameters", "tensors", "variadic",
        "launch", "batch", "tangent", "with_directions", "shared",
        "layers", "portable", "_differentiable", "_native", "_plans", "_node", "_python",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        gradient: dict[str, Callable[..., Any]],
        *,
        grad_fn: str = "",
        variadic: str = "",
        batch: Callable[..., Any] | None = None,
        tangent: Callable[..., Any] | None = None,
        with_directions: Callable[..., Any] | None = None,
        shared: Any = None,
        node: type[OperatorNode] = OperatorNode,
        takes_half: bool = False,
        portable: bool = False,
    ):
        self.name = name
        self.forward = forward
        self.gradient = gradient
        self.grad_fn = grad_fn or camel_case(name) + "Backward0"
        self.parameters = _parameters(forward)
        self.tensors = frozenset(gradient)
        self.variadic = variadic
        self.batch = batch
        self.tangent = tangent
        self.with_directions = with_directions
        self.shared = shared
        self.portable = portable or self.is_view
        # Lists of Tensors are joined, whatever they hold.
        takes_half = takes_half or self.is_view or bool(variadic)
        self.layers = TRANSFORMED
        if not self.is_view:
            self.layers |= INTERCEPTED if takes_half else INTERCEPTED | HALF
        self._differentiable = tuple([name in gradient for name in self.parameters])
        self._plans: dict[tuple[bool, ...], GradientPlan] = {}
        self._node: Any = type(self.grad_fn, (node,), {"__slots__": (), "operator": self})
        self._native: native_launchers.OperatorLauncher | None = None
        #: Called by the launcher, which holds no references itself.
        self._python = (self._compute, self.finish)
        #: ``launch(*arguments)``: the operator, compiled around its forward as soon as that pays.
        self.launch: Callable[..., Any] = self._launch_in_python

    def __call__(self, *arguments: Any) -> Any:
        """Run forward on the memory of the arguments and record it; Tensor or tuple of them."""
        return self.launch(*arguments)

    def _launch_in_python(self, *arguments: Any) -> Any:
        if native_launchers.operators_ready():
            self._native = native_launchers.OperatorLauncher(
                self.name, self.forward, *self._python, bool(self.variadic),
                takes_half=not self.layers & HALF, has_gradients=bool(self.gradient),
            )  # fmt: skip
            self.launch = self._native.launch
            return self.launch(*arguments)
        return self._compute(*arguments)

    @property
    def node_class(self) -> type[OperatorNode]:
        """The class of the nodes this operator leaves."""
        made: type[OperatorNode] = self._node
        return made

    def _compute(self, *arguments: Any) -> Any:
        """The operator in Python: what the launcher leaves to it arrives here as well."""
        if self.variadic:
            _require_tensors(self.name, arguments[-1])
        return descent.call(self, arguments)

    def run(self, arrays: list[Any]) -> Any:
        """The forward on arrays; noted by who records this thread."""
        where = foreign_among(arrays)
        forward = self.forward if where is None else self._forward_on(where, arrays)
        if capture.active is not None:
            return capture.forward(self.name, forward, arrays)
        return forward(*arrays)

    def _forward_on(self, where: Backend, arrays: list[Any]) -> Callable[..., Any]:
        """The forward on arrays of another backend: its own, or this one if that may run there.

        Raises:
            NotImplementedError: for an operator whose forward knows the arrays of the CPU alone.
            RuntimeError: if there are arrays of several devices.
        """
        own = where.forward_of(self)
        if own is None and not self.portable:
            if not where.hosts:
                where.refuse(self.name)
            own = functools.partial(where.call, self.forward)
        shared_by(self.name, arrays)
        return own or self.forward

    def _plan_for(self, needed: tuple[bool, ...]) -> GradientPlan:
        plan = self._plans.get(needed)
        if plan is None:
            plan = self._plans[needed] = GradientPlan(self, needed)
        return plan

    @staticmethod
    def _describe(
        node: Any, plan: GradientPlan, results: tuple[Tensor, ...], arguments: Sequence[Any]
    ) -> None:
        """Let a node, whose inputs are saved, keep what else its plan uses."""
        node.plan = plan
        node.values = (
            tuple([_kept(arguments[i], shape) for i, shape in plan.keeps]) if plan.keeps else ()
        )
        if plan.results:
            outputs = [save_output(results[n], n) for n in plan.results]
            node.saved = (*node.saved, *outputs)

    def node_of(self, results: tuple[Tensor, ...], arguments: Sequence[Any]) -> Any:
        """The node of results, by the plan for the arguments that need a gradient."""
        edges: list[Any] = []
        needed = []
        for differentiable, argument in zip(self._differentiable, arguments, strict=False):
            if isinstance(argument, Tensor) and argument._requires_grad:
                if not differentiable:
                    raise self._no_gradient(argument, arguments)
                edges.append(edge_of(argument))
                needed.append(True)
            elif differentiable and argument.__class__ is list:
                found = [edge_of(tensor) for tensor in argument]
                edges.extend(found)
                needed.append(any([edge is not None for edge in found]))
            else:
                if differentiable:
                    edges.append(None)
                needed.append(False)
        plan = self._plan_for(tuple(needed))
        node = new_node(self._node, tuple(edges), tuple([save(arguments[i]) for i in plan.saves]))
        node._output_count = len(results)
        self._describe(node, plan, results, arguments)
        if self._native is not None and not plan.is_native:
            self._native.add(needed, plan, self._node)
            plan.is_native = True
        return node

    def calls_of(self, node: Any, recall: Any) -> Iterable[list[Any]]:
        """The calls that leave such a node."""
        return node_calls.calls_of_operator(node, recall)

    def with_tangent(self, primals: list[Any], tangents: list[Any]) -> tuple[Tensor, Tensor] | None:
        """The result and its tangent, without a Tensor in between; None unless it is multilinear.

        See ``dispatch/transformations.py``.
        """
        if not self._is_multilinear or capture.active is not None:
            return None
        arrays = [x._array if isinstance(x, Tensor) else x for x in primals]
        if self.with_directions is not None:
            both = self.with_directions(
                *arrays, *[None if x is None else x._array for x in tangents]
            )
            if both is not None:
                return new_tensor(both[0]), new_tensor(both[1])
        made = half_precision.computed(self, arrays)
        if made.__class__ is tuple:
            return None
        total: Any = None
        for position, tangent in enumerate(tangents):
            if tangent is None:
                continue
            primal, arrays[position] = arrays[position], tangent._array
            term = half_precision.computed(self, arrays)
            arrays[position] = primal
            if total is None:
                total = term
            else:
                _add(total, term)
        return None if total is None else (new_tensor(made), new_tensor(total))

    @property
    def _is_multilinear(self) -> bool:
        return self.tangent is multilinear and not self.is_view and not self.variadic

    def _no_gradient(self, argument: Any, arguments: Sequence[Any]) -> RuntimeError:
        position = next(i for i, x in enumerate(arguments) if x is argument)
        return RuntimeError(
            f"{self.name}: there is no gradient with respect to {self.parameters[position]!r}, "
            "which requires grad; pass it through detach() if none should flow"
        )


def _require_tensors(name: str, items: list[Any]) -> None:
    for item in items:
        if not isinstance(item, Tensor):
            raise TypeError(f"{name}(): expected Tensors, but got {type_name(item)}")


def _add(total: np.ndarray[Any, Any], term: np.ndarray[Any, Any]) -> None:
    """Add an array to another one that nobody else has seen."""
    tensors.add_(new_tensor(total), new_tensor(term))


def _kept(argument: Any, shape: bool) -> Any:
    """The value of a parameter, or the shape (list of shapes) of a tensor argument."""
    if not shape:
        return argument
    if argument.__class__ is list:
        return [tensor._array.shape for tensor in argument]
    return argument._array.shape


def share_memory(view: Tensor, base: Tensor) -> None:
    """Make ``view`` a view of ``base``: one version count, and the root of the memory known."""
    cell = base._version_cell
    if cell is None:
        cell = base._version_cell = [0]
    view._version_cell = cell
    view._viewed = base if base._viewed is None else base._viewed


def camel_case(name: str) -> str:
    """``index_select`` -> ``IndexSelect``, as torch names nodes."""
    return "".join(part.capitalize() for part in name.split("_"))
