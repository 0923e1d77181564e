"""Custom Functions inside of ``vmap``: their own rule, or forward and backward run for all samples.

``functions.py`` calls ``apply_to_batch``. A rule is the static method ``vmap`` of the Function;
with ``generate_vmap_rule`` a Function of the level below is made, whose ``forward`` and
``backward`` call those of the user on Tensors of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..autograd.function import Function
from ..autograd.function.node import gradient_method, with_list
from ..structure import flatten, rebuild
from ..tensor import Tensor
from .levels import BATCH, Level, batched, settled, state_of
from .unwrapping import below

__all__ = ["VmapInfo", "apply_to_batch"]

_GUIDE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """The argument that tells the ``vmap`` of a Function of the transformation."""

    batch_size: int
    randomness: str


def apply_to_batch(function: Any, level: Level, args: tuple[Any, ...]) -> Any:
    """``function.apply(*args)`` where some arguments stand for samples of this level.

    Raises:
        RuntimeError: for a Function without a rule, with two, without ``setup_context``, or whose
            rule returns something else than outputs and their dims.
    """
    pairs = [below(level, argument) for argument in args]
    values, mapped = [value for value, _ in pairs], [is_mapped for _, is_mapped in pairs]
    return _rule_of(function)(function, level, values, mapped)


def require_setup_context(function: Any) -> None:
    """Raise torch's error for a Function whose ``forward`` takes ``ctx``."""
    if not function._has_setup_context():
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
            f"jacrev, ...), it must override the setup_context staticmethod. {_GUIDE}"
        )


def _rule_of(function: Any) -> Callable[..., Any]:
    name = function.__name__
    require_setup_context(function)
    own = function.vmap is not Function.vmap
    if function.generate_vmap_rule:
        if own:
            raise RuntimeError(
                f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an "
                "overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
                f"overridden vmap staticmethod to avoid ambiguity. {_GUIDE}"
            )
        return _generated
    if not own:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override "
            f"and implement the vmap staticmethod or set generate_vmap_rule=True. {_GUIDE}"
        )
    return _given


# --- the rule of the Function ---------------------------------------------------------------------


def _given(function: Any, level: Level, values: list[Any], mapped: list[bool]) -> Any:
    from ..func.vmap import describe, spread

    info = VmapInfo(level.size, level.randomness)
    returned = function.vmap(info, tuple([0 if m else None for m in mapped]), *values)
    if not (isinstance(returned, tuple) and len(returned) == 2):
        what = f"Got a {type(returned)} instead"
        if isinstance(returned, tuple):
            what = f"Got {len(returned)} returns instead"
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with "
            f"pytree structure compatible with the output. {what}"
        )
    output, out_dims = returned
    leaves, structure = flatten(output)
    dims = spread(out_dims, structure)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) "
            f"tuple. Expected out_dims={out_dims} to be compatible with the structure of `output`. "
            f"out_dims has structure {describe(out_dims)} but output has structure "
            f"{describe(output)}. {_GUIDE}"
        )
    made = [
        x if dim is None else batched(level, x.movedim(dim, 0) if dim else x)
        for x, dim in zip(leaves, dims, strict=True)
    ]
    return rebuild(structure, iter(made))


# --- the generated rule ---------------------------------------------------------------------------


class _Context:
    """The ``ctx`` of a user's Function, whose Tensors are kept as those of the level below."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._mapped: list[bool | None] = []
        self._mapped_forward: list[bool | None] = []
        self.in_forward_mode = False
        self._level: Level | None = None
        self._outputs: list[tuple[Any, Any]] = []
        self.needs_input_grad = ctx.needs_input_grad
        self.set_materialize_grads = ctx.set_materialize_grads

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep the Tensors for ``backward``."""
        pairs = [(None, None) if x is None else _value_of(self._level, x) for x in tensors]
        self._mapped = [is_mapped for _, is_mapped in pairs]
        self._ctx.save_for_backward(*[value for value, _ in pairs])

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep the Tensors for ``jvp``."""
        pairs = [(None, None) if x is None else _value_of(self._level, x) for x in tensors]
        self._mapped_forward = [is_mapped for _, is_mapped in pairs]
        self._ctx.save_for_forward(*[value for value, _ in pairs])

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say which outputs have no gradient."""
        chosen = [value for shown, value in self._outputs if any([shown is x for x in tensors])]
        self._ctx.mark_non_differentiable(*chosen)

    def mark_dirty(self, *tensors: Any) -> None:
        """Refused: a generated rule computes out of place."""
        raise RuntimeError(
            "mark_dirty: a Function with generate_vmap_rule=True that writes its inputs is not "
            "supported under vmap; override its vmap staticmethod"
        )

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The Tensors that were kept, as samples."""
        which = self._mapped_forward if self.in_forward_mode else self._mapped
        return tuple(
            [
                batched(self._level, value) if is_mapped else value  # type: ignore[arg-type]
                for value, is_mapped in zip(self._ctx.saved_tensors, which, strict=True)
            ]
        )


def _value_of(level: Any, tensor: Tensor) -> tuple[Tensor, bool]:
    tensor = settled(tensor)
    state = state_of(tensor)
    if state is not None and state.level is level:
        return state.value, True
    return tensor, False


class _Samples:
    """How a Function of all samples sees one of them: each method opens a level of its own."""

    def __init__(self, level: Level):
        self._level = level

    def opened(self) -> Level:
        """A level for one method to run in."""
        return Level(BATCH, self._level.size, self._level.randomness)

    def of(
        self, inner: Level, tensors: Sequence[Any], which: Sequence[Any] | None = None
    ) -> Iterator[Any]:
        """Stand-ins for one sample of each of ``which`` tensors, by default of all."""
        for x, m in zip(tensors, [True] * len(tensors) if which is None else which, strict=True):
            yield batched(inner, x) if m and isinstance(x, Tensor) else x

    def all(self, inner: Level, made: Any) -> Any:
        """Outputs or tangents for every sample."""
        if isinstance(made, tuple):
            return tuple([self.all(inner, x) for x in made])
        if not isinstance(made, Tensor):
            return made
        value, is_mapped = _value_of(inner, made)
        size = self._level.size
        return value if is_mapped else value.expand((size, *value._array.shape)).clone()

    def gradient(self, inner: Level, gradient: Any, own: bool) -> Any:
        """The gradient of one argument: summed over the samples if they share it."""
        if gradient is None or own:
            return self.all(inner, gradient)
        value, is_mapped = _value_of(inner, gradient)
        return value.sum(0) if is_mapped else value * self._level.size


def _generated(function: Any, level: Level, values: list[Any], mapped: list[bool]) -> Any:
    """Results of a Function of the level below that runs ``function`` on samples."""
    samples = _Samples(level)
    boxed = function.boxed_grads_call
    compute_gradients = with_list(function) if boxed else gradient_method(function)

    def set_up(
        inner: Level, own: _Context, inputs: Any, outputs: tuple[Any, ...], several: bool
    ) -> None:
        shown = tuple(samples.of(inner, outputs))
        own._outputs = list(zip(shown, outputs, strict=True))
        given = tuple(samples.of(inner, inputs, mapped))
        function.setup_context(own, given, shown if several else shown[0])

    class Generated(Function):
        @staticmethod
        def forward(*given: Any) -> Any:
            with samples.opened() as inner:
                return samples.all(inner, function.forward(*samples.of(inner, given, mapped)))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.own = own = _Context(ctx)
            outputs = output if isinstance(output, tuple) else (output,)
            with samples.opened() as inner:
                own._level = inner
                set_up(inner, own, inputs, outputs, isinstance(output, tuple))
            own._level, own._outputs = None, []

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            with samples.opened() as inner:
                ctx.own._level = inner
                made = compute_gradients(ctx.own, *samples.of(inner, grads))
                gradients = made if isinstance(made, tuple) else (made,)
                pairs = zip(gradients, mapped, strict=False)
                return tuple([samples.gradient(inner, x, own) for x, own in pairs])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            with samples.opened() as inner:
                ctx.own._level, ctx.own.in_forward_mode = inner, True
                made = function.jvp(ctx.own, *samples.of(inner, tangents, mapped))
                ctx.own.in_forward_mode = False
                return samples.all(inner, made)

    Generated.__name__ = f"Vmapped{function.__name__}"
    made = Generated.apply(*values)
    if isinstance(made, tuple):
        return tuple([batched(level, x) if isinstance(x, Tensor) else x for x in made])
    return batched(level, made) if isinstance(made, Tensor) else made
