"""``kernel``: loops that a user writes for arrays, as a differentiable operator.

Users declare functions, plain or compiled by ``numba.njit``; calling the declared kernel on Tensors
makes the outputs, runs the function and records a node. In a program a compiled function is a
launch like any other (``executor/user_kernels/numba_function.py``).
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...autograd.node import Node, edge_of, new_node
from ...autograd.saved import save, save_output
from ...backend import foreign_among, is_array
from ...dispatch.bits import HALF, INTERCEPTED, TRANSFORMED
from ...dtype import dtype as DType
from ...dtype import float32, from_numpy, get_default_dtype, promote_types
from ...executor import capture
from ...executor.families.conversion import narrowed
from ...executor.memory.arrays import in_c_order, new_array
from ...tensor import Tensor
from ..creation.filled import zeros
from .base import Operator

__all__ = ["UserKernel", "kernel"]

#: Shape and dtype of an array.
Spec = tuple[tuple[int, ...], DType]


def kernel(
    forward: Callable[..., None] | None = None,
    backward: Any = None,
    *,
    shapes: Callable[..., Any] | None = None,
    dtypes: Any = None,
    name: str | None = None,
) -> Any:
    """Make a differentiable operator of a function that reads arrays and writes arrays.

    ``forward(*inputs, *outputs)`` is given ndarrays in C order, and writes the outputs, which hold
    anything when it begins, as a ``numba.guvectorize`` kernel does. It should be compiled by
    ``numba.njit``: then it is part of compiled programs, with no Python around it. The operator is
    called with the inputs, Tensors or Python numbers, and returns a Tensor, or a tuple of them.

    ``backward`` says by the names of its parameters what it needs: inputs and outputs of forward by
    their names (these are saved), ``grad_<output>``, the incoming gradient, and ``grad_<input>``,
    which it writes. Inputs whose gradient no backward writes raise when one is asked for, outputs
    whose gradient none reads when one arrives. Arrays of float16 and bfloat16 are given as float32,
    and what is written for them is rounded. ::

        @numba.njit
        def cumulate(x, y):
            total = 0.0
            for i in range(x.size):
                total += x[i]
                y[i] = total

        @numba.njit
        def cumulate_backward(grad_y, grad_x):
            total = 0.0
            for i in range(grad_y.size - 1, -1, -1):
                total += grad_y[i]
                grad_x[i] = total

        cumulate = numbagrad.kernel(cumulate, cumulate_backward)

    Args:
        forward: the function. Without it the result is a decorator.
        backward: a function, or several, of which those run whose gradients are needed. To be
            differentiated again it is itself a ``kernel(function, its_backward)``; the gradients of
            that one are called ``grad2_<name>``, then ``grad3_<name>``.
        shapes: given what the operator is called with, shapes in the place of Tensors, the shape of
            the output, or a list of shapes. Its parameters are the inputs; all further parameters
            of ``forward`` are outputs. Without it there is one output, shaped as the first input.
        dtypes: dtype of the outputs, or a list of dtypes, or a function of the inputs, dtypes in
            the place of Tensors. Without it: what the dtypes of the inputs promote to.
        name: what errors, nodes and programs call it; the name of ``forward`` if not given.

    Raises:
        TypeError: for functions whose parameters do not fit together.
    """
    if forward is None:
        return functools.partial(kernel, backward=backward, shapes=shapes, dtypes=dtypes, name=name)
    return UserKernel(forward, backward, shapes, dtypes, name)


class UserKernel:
    """A function on arrays as a differentiable operator; made by :func:`kernel`.

    Attributes:
        name: what errors, nodes and programs call it.
        function: the function of the user.
        inputs: names of its parameters that are given.
        outputs: names of those that it writes.
    """

    # Slots: nothing of it changes, so that compiled programs need not watch it.
    __slots__ = (
        "name", "function", "inputs", "outputs", "parameters", "shapes", "dtypes", "backward",
        "rules", "_node",
    )  # fmt: skip

    def __init__(
        self,
        function: Callable[..., None],
        backward: Any = None,
        shapes: Callable[..., Any] | None = None,
        dtypes: Any = None,
        name: str | None = None,
        outputs: Sequence[str] | None = None,
    ):
        self.function = function
        self.name: str = name or str(getattr(function, "__name__", type(function).__name__))
        self.parameters = _parameters(function, self.name)
        self.shapes = shapes
        self.dtypes = dtypes
        self.backward = backward
        if outputs is None:
            count = self._count_of_inputs()
            outputs = self.parameters[count:]
        self.outputs = tuple(outputs)
        self.inputs = tuple([name for name in self.parameters if name not in self.outputs])
        given = backward if isinstance(backward, (list, tuple)) else (backward,)
        self.rules = tuple([_Rule(self, each) for each in given if each is not None])
        node = _camel_case(self.name) + "Backward"
        self._node: Any = type(node, (UserKernelNode,), {"__slots__": ()})

    def _count_of_inputs(self) -> int:
        """How many of the parameters are inputs."""
        count = len(self.parameters) - 1
        if self.shapes is not None:
            count = len(_parameters(self.shapes, f"shapes of {self.name}"))
        if not 0 <= count < len(self.parameters):
            raise TypeError(
                f"kernel {self.name}({', '.join(self.parameters)}): inputs come first, then the "
                f"outputs that it writes; shapes() takes {count} inputs, which leaves no output"
            )
        return count

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(self.inputs)}) -> {', '.join(self.outputs)}>"

    # --- calling ----------------------------------------------------------------------------------

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The outputs for these inputs, Tensors or Python numbers."""
        if named:
            arguments = self._in_order(arguments, named)
        if len(arguments) != len(self.inputs):
            raise TypeError(
                f"kernel {self.name} takes {len(self.inputs)} inputs ({', '.join(self.inputs)}), "
                f"not {len(arguments)}"
            )
        for input, argument in zip(self.inputs, arguments, strict=True):
            if isinstance(argument, (np.ndarray, np.generic)):
                raise TypeError(
                    f"kernel {self.name}: {input} is a NumPy {type(argument).__name__}; pass a "
                    "Tensor, as from_numpy() makes of an ndarray, or a Python number"
                )
        results = self.call_for(arguments, self._specs(arguments))
        return results[0] if len(results) == 1 else results

    def _in_order(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        rest = self.inputs[len(arguments) :]
        if sorted(rest) != sorted(named):
            raise TypeError(
                f"kernel {self.name} takes the inputs {', '.join(self.inputs)}; it was given "
                f"{len(arguments)} by place, and {', '.join(named)}"
            )
        return (*arguments, *[named[name] for name in rest])

    def _specs(self, arguments: tuple[Any, ...]) -> list[Spec]:
        """Shape and dtype of the outputs."""
        if self.shapes is None:
            first = arguments[0] if arguments else None
            if not isinstance(first, Tensor):
                raise TypeError(
                    f"kernel {self.name}: its output is shaped as its first input, which is no "
                    "Tensor here; say otherwise with shapes="
                )
            shapes: Any = [tuple(first._array.shape)]
        else:
            shapes = self.shapes(
                *[tuple(x._array.shape) if isinstance(x, Tensor) else x for x in arguments]
            )
            shapes = [shapes] if _is_shape(shapes) else list(shapes)
        if len(shapes) != len(self.outputs) or not all(map(_is_shape, shapes)):
            raise TypeError(
                f"kernel {self.name}: shapes() returned {shapes} for its outputs "
                f"{', '.join(self.outputs)}; each needs a tuple of integers"
            )
        return list(zip([tuple(x) for x in shapes], self._dtypes(arguments), strict=True))

    def _dtypes(self, arguments: tuple[Any, ...]) -> list[DType]:
        found: Any = self.dtypes
        if found is None:
            kinds = [from_numpy(x._array.dtype) for x in arguments if isinstance(x, Tensor)]
            found = functools.reduce(promote_types, kinds) if kinds else get_default_dtype()
        elif not isinstance(found, (DType, list, tuple)):
            found = found(*[x.dtype if isinstance(x, Tensor) else x for x in arguments])
        dtypes = [found] * len(self.outputs) if isinstance(found, DType) else list(found)
        if len(dtypes) != len(self.outputs) or not all([isinstance(x, DType) for x in dtypes]):
            raise TypeError(
                f"kernel {self.name}: dtypes gives {dtypes} for its outputs "
                f"{', '.join(self.outputs)}; each needs a dtype of numbagrad"
            )
        return dtypes

    def call_for(self, arguments: tuple[Any, ...], specs: Sequence[Spec]) -> tuple[Tensor, ...]:
        """Outputs of the given shapes and dtypes, recorded where an input requires grad."""
        results: tuple[Tensor, ...] = UserKernelCall(self, specs)(*arguments)
        return results

    def _launch(self, *arrays: Any) -> None:
        """Call the function of the user."""
        where = foreign_among(arrays)
        try:
            if where is None:
                returned = self.function(*arrays)
            else:
                returned = where.run_function(self.name, self.function, arrays)
        except Exception as error:
            raise RuntimeError(f"kernel {self._described(arrays)}: {error}") from error
        if returned is not None:
            raise TypeError(
                f"kernel {self._described(arrays)} returned a {type(returned).__name__}; it has to "
                f"write its outputs ({', '.join(self.outputs)}) and return nothing"
            )

    def _described(self, arrays: tuple[Any, ...]) -> str:
        """A call with dtypes and shapes, for errors."""
        described = [
            f"{name}: {x.dtype} {x.shape}" if is_array(x) else f"{name}: {x!r}"
            for name, x in zip(self.parameters, arrays, strict=True)
        ]
        return f"{self.name}({', '.join(described)})"


class UserKernelCall(Operator):
    """A kernel whose outputs have these shapes and dtypes; under ``vmap`` one sample at a time.

    Of half precision are only what it is given and what it returns: users' loops see float32.
    """

    layers = TRANSFORMED | INTERCEPTED | HALF

    def __init__(self, kernel: UserKernel, specs: Sequence[Spec]) -> None:
        self.kernel = kernel
        self.specs = specs
        self.name = kernel.name

    @property
    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the inputs."""
        return self.kernel.inputs

    @property
    def seen_as(self) -> UserKernel:
        """The argument of policies of selective checkpoints."""
        return self.kernel

    def run(self, arrays: list[Any]) -> tuple[Any, ...]:
        """The arrays that the function of the user writes; no input is of half precision."""
        kernel = self.kernel
        where = foreign_among(arrays)
        made = [
            new_array(shape, (float32 if kind.is_half else kind).numpy, where)
            for shape, kind in self.specs
        ]
        known = dict(
            zip(kernel.inputs, [in_c_order(x) if is_array(x) else x for x in arrays], strict=True)
        )
        known.update(zip(kernel.outputs, made, strict=True))
        ordered = tuple([known[name] for name in kernel.parameters])
        found = capture.active and capture.current_trace()
        if found:
            found.opaque(kernel.name, kernel.function, kernel._launch, ordered, made)
        else:
            kernel._launch(*ordered)
        return tuple(
            [
                narrowed(x, kind.numpy) if kind.is_half else x
                for x, (_, kind) in zip(made, self.specs, strict=True)
            ]
        )

    def rounded(self, made: Any, arrays: list[Any]) -> Any:
        """The outputs, whose dtypes do not depend on those of the inputs."""
        return made

    def node_of(self, results: tuple[Tensor, ...], arguments: Sequence[Any]) -> Any:
        """The node of results, which saves what the backward functions of the user read."""
        kernel = self.kernel
        known = dict(zip(kernel.inputs, arguments, strict=True))
        given = {name: x for name, x in known.items() if isinstance(x, Tensor)}
        needed = frozenset([name for name, x in given.items() if x._requires_grad])
        used = {name for rule in kernel.rules if rule.gives & needed for name in rule.uses}
        saved = [name for name in given if name in used]
        kept = [name for name in kernel.outputs if name in used]
        edges = tuple([edge_of(x) for x in given.values()])
        entries = (
            *[save(given[name]) for name in saved],
            *[save_output(results[k], k) for k, name in enumerate(kernel.outputs) if name in used],
        )
        node = new_node(kernel._node, edges, entries)
        node.kernel = kernel
        node.needed = needed
        node.names = (*saved, *kept)
        node.values = {name: x for name, x in known.items() if name not in given}
        node.shapes = {
            name: (x._array.shape, from_numpy(x._array.dtype)) for name, x in given.items()
        }
        node.specs = tuple(self.specs)
        node._output_count = len(results)
        return node


class _Rule:
    """A backward of a kernel: which gradients it writes, and what it uses for that.

    Attributes:
        gives: inputs whose gradients it writes.
        uses: inputs and outputs that it reads.
        incoming: its parameters that are gradients of outputs, with the place of the output.
    """

    __slots__ = ("kernel", "gives", "uses", "incoming", "writes")

    def __init__(self, forward: UserKernel, backward: Any):
        function, again, name = backward, None, None
        if isinstance(backward, UserKernel):
            function, again, name = backward.function, backward.backward, backward.name
        prefix = _prefix(forward.parameters)
        self.incoming: dict[str, int] = {}
        self.writes: dict[str, str] = {}
        uses = []
        for parameter in _parameters(function, f"backward of {forward.name}"):
            base = parameter.removeprefix(prefix)
            if base != parameter and base in forward.outputs:
                self.incoming[parameter] = forward.outputs.index(base)
            elif base != parameter and base in forward.inputs:
                self.writes[parameter] = base
            elif parameter in forward.parameters:
                uses.append(parameter)
            else:
                raise TypeError(
                    f"the backward of kernel {forward.name} has a parameter {parameter!r}; it may "
                    f"read {', '.join(forward.parameters)} and "
                    f"{', '.join([prefix + x for x in forward.outputs])}, and write "
                    f"{', '.join([prefix + x for x in forward.inputs])}"
                )
        if not self.writes:
            raise TypeError(
                f"the backward of kernel {forward.name} writes no gradient; name one "
                f"{' or '.join([prefix + x for x in forward.inputs])}"
            )
        self.uses = frozenset(uses)
        self.gives = frozenset(self.writes.values())
        name = name or f"{forward.name}_backward"
        self.kernel = UserKernel(function, again, name=name, outputs=tuple(self.writes))


class UserKernelNode(Node):
    """The node of a kernel; subclasses are named after it."""

    __slots__ = ("kernel", "needed", "names", "values", "shapes", "specs", "_output_count")

    kernel: UserKernel
    needed: frozenset[str]
    names: tuple[str, ...]
    values: dict[str, Any]
    shapes: dict[str, Spec]
    specs: tuple[Spec, ...]

    _computes_wanted = True

    def backward(self, *grads: Any, wanted: tuple[bool, ...] | None = None) -> tuple[Any, ...]:
        """The gradients of the inputs that are Tensors, by the functions that give them."""
        needed = self.needed
        if wanted is not None:
            needed = needed & set(itertools.compress(self.shapes, wanted))
        known = {**self.values, **dict(zip(self.names, self.unpack(), strict=True))}
        made: dict[str, Any] = {}
        self._check_read(grads)
        where = next(x for x in grads if x is not None).device
        for rule in self.kernel.rules:
            if not rule.gives & needed:
                continue
            for parameter, position in rule.incoming.items():
                grad = grads[position]
                shape, kind = self.specs[position]
                if grad is None:
                    grad = zeros(shape, dtype=kind, device=where)
                known[parameter] = grad
            arguments = tuple([known[name] for name in rule.kernel.inputs])
            specs = [self.shapes[rule.writes[name]] for name in rule.kernel.outputs]
            results = rule.kernel.call_for(arguments, specs)
            made.update(zip([rule.writes[x] for x in rule.kernel.outputs], results, strict=True))
        missing = sorted(needed - made.keys())
        if missing:
            raise RuntimeError(
                f"kernel {self.kernel.name}: there is no gradient with respect to "
                f"{', '.join(missing)}; give kernel() a backward that writes "
                f"{', '.join([_prefix(self.kernel.parameters) + x for x in missing])}, or pass the "
                "input through detach() if none should flow"
            )
        return tuple([made[name] if name in needed else None for name in self.shapes])

    def _check_read(self, grads: tuple[Any, ...]) -> None:
        """Raise for the gradient of an output that no backward of the kernel reads."""
        read = {position for rule in self.kernel.rules for position in rule.incoming.values()}
        for position, name in enumerate(self.kernel.outputs):
            if self.kernel.rules and grads[position] is not None and position not in read:
                prefix = _prefix(self.kernel.parameters)
                raise RuntimeError(
                    f"kernel {self.kernel.name}: a gradient of its output {name} has arrived, "
                    f"which its backward does not read; give the backward a parameter "
                    f"{prefix}{name}, or pass {name} through detach() if none should flow"
                )


def _parameters(function: Callable[..., Any], what: str) -> tuple[str, ...]:
    """The names of the parameters of a function, which must be plain ones."""
    python = getattr(function, "py_func", function)
    if not callable(python):
        raise TypeError(f"{what}: a function is expected, not {type(python).__name__}")
    found = inspect.signature(python).parameters.values()
    for parameter in found:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise TypeError(
                f"{what}: inputs and outputs are told by their names, so it cannot have the "
                f"parameter {parameter}"
            )
    return tuple([parameter.name for parameter in found])


def _prefix(parameters: Sequence[str]) -> str:
    """The prefix of the names of gradients: ``grad_``, or ``grad2_`` where that is taken."""
    prefix, order = "grad_", 1
    while any([parameter.startswith(prefix) for parameter in parameters]):
        order += 1
        prefix = f"grad{order}_"
    return prefix


def _is_shape(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(
        [isinstance(size, (int, np.integer)) for size in value]
    )


def _camel_case(name: str) -> str:
    """``soft_dtw`` -> ``SoftDtw``; capitals within a part stay."""
    return "".join([part[:1].upper() + part[1:] for part in name.split("_")])
