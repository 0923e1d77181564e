"""Composite operators: plain Python over primitives that runs as a fused pair of programs.

``composite(...)`` decorates a definition of ``nn/functional``. A call finds the pair of its
signature (``composite_pair.py``), runs the forward, and leaves one node, whose backward runs the
other program. Inside of a recording, and for whatever no program can do, the definition runs as it
is written.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...autograd.hooks import creation_hooks, saved_hooks, watching
from ...autograd.node import Node
from ...autograd.saved import unpack_entries
from ...dispatch import interception
from ...dtype import float32
from ...executor import capture
from ...executor.families.conversion import has_half
from ...executor.mode import NATIVE
from ...executor.plan.dtypes import promoted
from ...tensor import Tensor, new_tensor
from ...transforms.levels import dual, is_transformed
from ..conversion.dtypes import cast
from . import composite_tangents, native_launchers, saved_names
from .base import Operator

if TYPE_CHECKING:
    from .composite_pair import Pair

Definition = TypeVar("Definition", bound=Callable[..., Any])

#: Pairs of one operator that are kept; with more forms of arguments the oldest are made again.
MANY_FORMS = 256
#: As many are made when their form is met for the first time. A trace takes tens of milliseconds,
#: as long as hundreds of calls of the definition: every further eight forms have to come twice as
#: often as those before them, up to ``MANY_CALLS`` times, before they are traced.
TRACED_AT_ONCE = 32
MANY_CALLS = 64
#: Forms without a pair whose calls are counted; with more of them the oldest begin again.
MANY_COUNTED = 4096
#: Bytes that the programs of one operator hold between calls; above, the oldest are let go of.
MANY_BYTES = 64 << 20


class CompositeNode(Node):
    """The node of a composite operator. Subclasses are named as torch's nodes."""

    __slots__ = ("pair", "kept")

    _computes_wanted = True
    _announced_when_complete = True
    pair: Pair
    #: The names of the arguments that users see; none where the name of the node is that of
    #: another operator.
    shown: tuple[str, ...] = ()
    #: Arrays that the forward made for the backward.
    kept: tuple[Any, ...]

    def backward(self, *grads: Any, wanted: tuple[bool, ...] | None = None) -> tuple[Any, ...]:
        """The gradients of the tensors among the arguments, None where none is needed."""
        (grad,) = grads
        pair, entries = self.pair, self.saved
        if wanted is not None:
            pair = pair.narrowed(wanted)
        if grad_mode.enabled or entries is None or is_transformed(grad):
            return pair.differentiate(grad, self.unpack())
        saved = unpack_entries(entries[: pair.read], self)
        if capture.active is not None and interception.is_open():
            found: tuple[Any, ...] = interception.gradients(
                pair.definition.__name__,
                tuple(saved),
                grads,
                partial(pair.backward, grad, saved, self.kept),
            )
            return found
        return pair.backward(grad, saved, self.kept)

    def _saved_fields(self) -> dict[str, tuple[str, Any]]:
        pair, names = self.pair, self.shown
        if not names:
            return {}
        entries: dict[int, int] = {}
        for index, number in pair.numbers_of_tensors():
            if number in pair.saved:
                entries[index] = pair.saved.index(number)
        values = pair.values()
        return saved_names.of_call(self, names[: len(values)], values, entries)

    def _possible_fields(self) -> list[str]:
        return saved_names.possible(type(self), self.shown) if self.shown else []

    def release(self) -> None:
        """Free what was kept."""
        if self.saved:
            self.saved = None
            self.kept = ()


class Composite(Operator):
    """An operator that is defined by others, and its pairs of programs by what the arguments are.

    A pair is its launcher; where there is none the definition runs, whose operators go their own
    way. So it has no forward on arrays, and no rules.
    """

    __slots__ = (
        "definition", "name", "_grad_fn", "_pairs", "_promotes", "_seen", "_signature", "_takes",
        "_tangents", "_traced_at_once",
    )  # fmt: skip

    def __init__(
        self,
        definition: Callable[..., Any],
        grad_fn: str | None,
        promotes: bool = False,
        takes: str = "",
        traced_at_once: int = TRACED_AT_ONCE,
    ):
        self._traced_at_once = traced_at_once
        self.definition = definition
        self._promotes = promotes
        self._takes = takes
        self.name = definition.__name__
        self._grad_fn = grad_fn
        #: How often forms were met that are not traced.
        self._seen: dict[Any, int] = {}
        #: A pair, or None where the definition runs.
        self._pairs: dict[Any, Pair | None] = {}
        #: Composites of the value and its tangent, by which arguments have one.
        self._tangents: dict[tuple[bool, ...], Composite] = {}
        self._signature = inspect.signature(definition)

    @property
    def pairs(self) -> list[Pair]:
        """The pairs made so far."""
        return [pair for pair in self._pairs.values() if pair is not None]

    def forget(self) -> None:
        """Let go of all pairs."""
        self._pairs.clear()
        self._seen.clear()
        self._tangents.clear()

    @property
    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the arguments."""
        return tuple(self._signature.parameters)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The operator: what the definition returns, but for rounding."""
        if named:
            bound = self._by_position(arguments, named)
            if bound is None:
                return self.definition(*arguments, **named)
            arguments = bound
        intercepted = False
        if capture.active is not None:
            if capture.is_capturing():
                return self.compute(arguments)
            intercepted = interception.is_open()
            if intercepted and interception.is_apart(self.name, arguments):
                return self.compute(arguments)
        key: list[Any] = [grad_mode.enabled]
        tensors = []
        for argument in arguments:
            kind = argument.__class__
            if kind is Tensor or isinstance(argument, Tensor):
                array = argument._array
                if array.__class__ is not np.ndarray:  # under a transformation
                    return self._of_duals(arguments)
                tensors.append(argument)
                key += (array.shape, array.strides, array.dtype.num, argument._requires_grad)
            elif kind is float:
                key += (float, argument or repr(argument))  # 0.0 and -0.0 are equal, not the same
            elif kind is list:
                key += (list, tuple(argument))
            else:
                key += (kind, argument)
        pair = self._pair_for(tuple(key), arguments)
        if pair is None:
            return self.compute(arguments)
        made = (
            interception.computed(
                self.name, arguments, partial(pair.forward, *tensors), pair.arrays_of
            )
            if intercepted
            else pair.forward(*tensors)
        )
        array = made[pair.position] if pair.view is None else pair.array_of(made)
        if pair.differentiable:
            result = native_launchers.calls.attach(
                array, pair.node, tuple(tensors), pair.saves(tensors)
            )
            node: Any = result._producer
            node.pair = pair
            node.kept = pair.keeps(made)
            if watching.count:
                creation_hooks.announce(node)
        else:
            result = new_tensor(array)
        results = result if pair.single else (result, *pair.further(made))
        if intercepted:
            interception.finished(self.name, arguments, results)
        return results

    def _pair_for(self, form: tuple[Any, ...], arguments: tuple[Any, ...]) -> Pair | None:
        """The pair for arguments of a form; None if there is none, which runs the definition."""
        try:
            return self._pairs[form]
        except KeyError:
            return self._make(form, arguments)
        except TypeError:  # an argument that cannot be hashed
            return None

    def compute(self, arguments: Sequence[Any]) -> Any:
        """The result of the definition; of half precision in float32, and rounded once."""
        tensors = [x for x in arguments if isinstance(x, Tensor)]
        if not tensors or not has_half([x._array for x in tensors]):
            return self.definition(*arguments)
        if self._takes:
            self._check_dtypes(tensors)
        wide = [
            cast(x, float32.numpy) if isinstance(x, Tensor) and has_half([x._array]) else x
            for x in arguments
        ]
        made = self(*wide)
        kind = tensors[0]._array.dtype
        if self._promotes:
            kind = promoted([x._array for x in tensors]).numpy
        if made.__class__ is tuple:
            return cast(made[0], kind), *made[1:]
        return cast(made, kind)

    def _of_duals(self, arguments: Sequence[Any]) -> Any:
        """The result for arguments under a transformation: by a pair if they are plain duals."""
        taken = None if capture.active is not None else composite_tangents.taken_apart(arguments)
        if taken is None:
            return self.compute(arguments)
        level, primals, directions = taken
        which = tuple([direction is not None for direction in directions])
        both = self._tangents.get(which)
        if both is None:
            definition = composite_tangents.with_tangent(self.definition, which)
            both = self._tangents[which] = Composite(definition, None, traced_at_once=0)
        value, tangent, *others = both(*primals, *[x for x in directions if x is not None])
        first = value if tangent is None else dual(level, value, tangent)
        return (first, *others) if others else first

    def _check_dtypes(self, tensors: list[Tensor]) -> None:
        """Raise for mixed dtypes, which the definition does not see where it gets them widened."""
        first, *others = [x.dtype for x in tensors if x._array.dtype.kind in "fV"]
        if all([x is first for x in others]):
            return
        if self._takes == "parameters" and first is not float32:
            if first.itemsize == 2 and all([x is float32 for x in others]):
                return
        raise RuntimeError(
            f"{self.name.strip('_')}(): expected Tensors of one dtype, but got "
            f"{', '.join([x.dtype.name for x in tensors])}; convert them with .to(dtype)"
        )

    def _by_position(self, arguments: Any, named: dict[str, Any]) -> tuple[Any, ...] | None:
        """All arguments by position; None if they are not those of the definition."""
        try:
            bound = self._signature.bind(*arguments, **named)
        except TypeError:
            return None
        bound.apply_defaults()
        return None if bound.kwargs else bound.args

    def _make(self, key: tuple[Any, ...], arguments: tuple[Any, ...]) -> Pair | None:
        """The pair for arguments of a new form, None if there is none.

        Where many forms were met, as of sequences of all lengths, one is traced when it came often.
        Interceptors are told the same of all calls, so they have it traced at once, and so have
        hooks of saved tensors: a checkpoint finds by their order what it computes again.
        """
        alike = interception.is_open() or saved_hooks.default_hooks() is not None
        calls = self._seen.pop(key, 0) + 1
        if calls < self._calls_to_trace() and not alike:
            if len(self._seen) >= MANY_COUNTED:
                del self._seen[next(iter(self._seen))]
            self._seen[key] = calls
            return None
        pair = self._pair_of(arguments)
        held = sum([each.nbytes for each in [*self.pairs, *([pair] if pair else [])]])
        while self._pairs and (len(self._pairs) >= MANY_FORMS or held > MANY_BYTES):
            oldest = self._pairs.pop(next(iter(self._pairs)), None)
            held -= oldest.nbytes if oldest is not None else 0
        self._pairs[key] = pair
        return pair

    def _calls_to_trace(self) -> int:
        """How often a form has to come, so that it is traced, with as many pairs as there are."""
        further = len(self._pairs) - self._traced_at_once
        return 1 if further < 0 else min(2 << further // 8, MANY_CALLS)

    def _pair_of(self, arguments: tuple[Any, ...]) -> Pair | None:
        tensors = [x for x in arguments if isinstance(x, Tensor)]
        floats = {x._array.dtype.name for x in tensors if x._array.dtype.kind in "fcV"}
        known = floats in ({"float32"}, {"float64"})
        if not NATIVE or not known or 0 in [x._array.size for x in tensors]:
            return None
        from .composite_pair import CannotTrace, Pair  # most programs do without the fuser

        needed = tuple([grad_mode.enabled and x._requires_grad for x in tensors])
        try:
            with interception.suspended():
                pair = creation_hooks.quietly(Pair, self.definition, arguments, needed)
            shown = self.parameters if self._grad_fn else ()
            pair.node = _node_class(self._grad_fn or pair.ends_in, shown)
            return pair
        except (CannotTrace, RuntimeError, TypeError, ValueError, NotImplementedError):
            return None  # the definition says what is wrong, if something is


@functools.cache
def _node_class(name: str, shown: tuple[str, ...]) -> type[CompositeNode]:
    return type(name, (CompositeNode,), {"__slots__": (), "shown": shown})


def composite(
    grad_fn: str | None = None, promotes: bool = False, takes: str = ""
) -> Callable[[Definition], Definition]:
    """A decorator: the function runs as a fused pair of programs, with one node named ``grad_fn``.

    Without a name the node has that of the last node of the definition. Where a Tensor is of half
    precision, the result is of the dtype of the first, or, if it ``promotes``, of that of them all.
    If it ``takes`` "one dtype", Tensors of floats are of one; if it takes "parameters", all but a
    first one of half precision may also be float32. Else they are of any.

    The function takes Tensors and hashable values, and returns a new Tensor, or a tuple of Tensors,
    the first of which has a gradient. It is written in
    Tensor operations, and depends on nothing but its arguments: on their values only if they are no
    Tensors, and of Tensors on the form (shape, strides, dtype, whether a gradient is needed). It
    raises for bad arguments; warnings and checks of elements belong outside.
    """

    def decorate(definition: Definition) -> Definition:
        operator = Composite(definition, grad_fn, promotes, takes)

        run = operator.__call__

        @functools.wraps(definition)
        def call(*arguments: Any, **named: Any) -> Any:
            return run(*arguments, **named) if named else run(*arguments)

        call.composite = operator  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


__all__ = ["Composite", "CompositeNode", "composite"]
