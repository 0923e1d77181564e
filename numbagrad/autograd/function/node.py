"""The node of a ``Function``, which is the ``ctx`` of the user's methods.

The engine calls the node, the node calls the user's ``backward`` and checks what it returns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import tensor_interface as interface
from ..engine.grad_dtype import converted, dtype_of_edge
from ..hooks import watching
from ..node import Node, OutputMetadata, new_node
from ..saved import FREED, unpack_entries

if TYPE_CHECKING:
    from ..function import Function

__all__ = ["BackwardCFunction", "FunctionCtx", "node_of_call"]

#: The entry of ``_argument_metadata`` for an argument that is not a tensor.
NOT_A_TENSOR = "not a tensor"


class FunctionCtx:
    """The context that ``forward`` and ``setup_context`` describe an operation to."""

    to_save: tuple[Any, ...] | None = None
    saved_for_forward: tuple[Any, ...] | None = None
    dirty_tensors: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] | None = None
    _output_grad_dtypes: tuple[Any, ...] | None = None
    materialize_grads = True
    #: Set by ``forward`` to say that its output shows the memory of its input, and nothing else.
    _is_pure_view = False
    #: Whether outputs marked as not differentiable count among the undefined gradients.
    _materialize_non_diff_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for ``backward``, which finds them in ``ctx.saved_tensors``.

        Args:
            tensors: inputs, outputs or other tensors; None is allowed.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say that ``forward`` wrote these inputs in place; it must return them."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say that these outputs have no gradient; ``backward`` gets zeros for them."""
        self.non_differentiable = args

    def set_output_grad_dtype(self, *dtypes: Any) -> None:
        """Say in which dtypes ``backward`` gets the gradients of the outputs.

        Args:
            dtypes: for each output a dtype, or None: any for a tensor, nothing for other values.
                Unless this is called, gradients have the dtypes of the outputs.

        Raises:
            RuntimeError: for other values, and at the second call.
        """
        if self._output_grad_dtypes is not None:
            raise RuntimeError("set_output_grad_dtype can only be called once in a forward")
        for dtype in dtypes:
            if dtype is not None and not hasattr(dtype, "numpy"):
                raise RuntimeError(
                    "set_output_grad_dtype takes for each output a torch.dtype or None, but got "
                    f"{type(dtype).__name__}"
                )
        self._output_grad_dtypes = dtypes
        # ``apply`` looks closer at the outputs of a Function that marks some of them.
        self.non_differentiable = self.non_differentiable or ()

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether ``backward`` gets zeros (the default) or None for undefined gradients."""
        self.materialize_grads = value


class BackwardCFunction(Node, FunctionCtx):
    """The node of a ``Function``, and the ``ctx`` of its methods: it takes any attribute.

    Each ``Function`` has a subclass of its own, named after it. What the engine and ``apply`` keep
    here has a leading underscore, so that it is out of the way of the user's attributes.
    """

    _forward_cls: type[Function]
    _runs_on_undefined = True
    _announced_when_complete = True
    _output_count = 1
    #: Tensors that the user saved, who may have an attribute ``saved`` as well.
    _saved_variables: tuple[Any, ...] | None = ()
    #: Whether the saved tensors were handed out, and forgotten.
    _handed_over = False
    #: by output: shape and dtype, or None if it has no gradient
    _output_metadata: tuple[Any, ...] = ()
    #: by argument: shape and dtype, or None if it needs no gradient
    _argument_metadata: tuple[Any, ...] = ()
    #: by argument: whether it is a tensor, so that it has an edge
    needs_input_grad: tuple[bool, ...] = ()

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to ``save_for_backward``.

        Raises:
            RuntimeError: if they were freed, or if one of them was written in place since.
        """
        if self.saved_for_forward is not None:  # while jvp runs
            return self.saved_for_forward
        saved = self._saved_variables
        if saved is None:
            raise RuntimeError(FREED)
        if self._forward_cls.clear_saved_tensors_on_access:
            self._hand_over_saved()
        return unpack_entries(saved, self)

    def _hand_over_saved(self) -> None:
        """Forget the saved tensors, which are handed out for the only time."""
        if self._handed_over:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True "
                "is set on the autograd.Function. Either access saved_tensors only once, or set "
                "clear_saved_tensors_on_access=False."
            )
        self._handed_over = True
        self._saved_variables = ()

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The name of ``saved_tensors`` before torch 0.4."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.saved_tensors

    def release(self) -> None:
        """Let go of what was saved."""
        if self._saved_variables:
            self._saved_variables = None

    def _saved_fields(self) -> dict[str, tuple[str, Any]]:
        return {"tensors": ("tensors", range(len(self._saved_variables or ())))}

    def _saved_entries(self) -> tuple[Any, ...] | None:
        return self._saved_variables

    def _set_saved_entries(self, entries: tuple[Any, ...]) -> None:
        self._saved_variables = entries

    @property
    def _input_metadata(self) -> tuple[OutputMetadata | None, ...]:
        return tuple([None if x is None else OutputMetadata(*x) for x in self._output_metadata])

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{self.name()} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        visible = super().next_functions
        return tuple(
            [
                edge
                for edge, metadata in zip(visible, self._argument_metadata, strict=True)
                if metadata is not NOT_A_TENSOR
            ]
        )

    def backward(self, *gradients: Any) -> tuple[Any, ...]:
        """Call the user's ``backward`` or ``vjp`` and check what it returns."""
        if self.materialize_grads:
            for gradient in gradients:
                if gradient is None:
                    gradients = self._materialized(gradients)
                    break
        if self._output_grad_dtypes is not None:
            gradients = tuple(map(converted, gradients, self._output_grad_dtypes))
        results = self._user_backward()(self, *gradients)
        if type(results) is not tuple:
            results = (results,)
        expected = self._argument_metadata
        if len(results) != len(expected):
            results = self._without_trailing_none(results)
        Tensor = interface.Tensor
        for result, metadata in zip(results, expected):  # noqa: B905 - the lengths are equal
            if metadata.__class__ is tuple and result is not None and isinstance(result, Tensor):
                array = result._array
                if array.shape == metadata[0] and array.dtype == metadata[1]:
                    continue
            elif result is None:
                continue
            return self._checked(results)
        return results

    @property
    def _takes_list(self) -> bool:
        return self._forward_cls.boxed_grads_call

    def backward_of_list(self, gradients: list[Any]) -> tuple[Any, ...]:
        """``backward`` of a Function that takes the list, and may take gradients out of it."""
        if self.materialize_grads:
            gradients[:] = self._materialized(gradients)
        if self._output_grad_dtypes is not None:
            gradients[:] = map(converted, gradients, self._output_grad_dtypes)
        results = gradient_method(self._forward_cls)(self, gradients)
        if type(results) is not tuple:
            results = (results,)
        if len(results) != len(self._argument_metadata):
            results = self._without_trailing_none(results)
        return self._checked(results)

    def apply(self, *gradients: Any) -> Any:
        """Call the user's ``backward`` or ``vjp``; nothing is checked, as in torch."""
        return self._user_backward()(self, *gradients)

    def _user_backward(self) -> Callable[..., Any]:
        """Return what computes gradients: a function of ``ctx`` and the gradient of each output."""
        function = self._forward_cls
        if function.boxed_grads_call:
            return with_list(function)
        return function.backward if function.vjp is no_backward else gradient_method(function)

    def _materialized(self, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """Put zeros in the place of undefined gradients."""
        return tuple(
            [
                interface.zeros(*metadata) if gradient is None and metadata else gradient
                for gradient, metadata in zip(gradients, self._output_metadata, strict=True)
            ]
        )

    def _without_trailing_none(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return one result for each argument; more are allowed if they are None."""
        expected = len(self._argument_metadata)
        if len(results) > expected and all([result is None for result in results[expected:]]):
            return results[:expected]
        raise RuntimeError(
            f"function {self.name()} returned an incorrect number of gradients (expected "
            f"{expected}, got {len(results)})"
        )

    def _checked(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Bring the results into the shapes and dtypes of the arguments, or raise."""
        checked: list[Any] = []
        for index, result in enumerate(results):
            metadata = self._argument_metadata[index]
            if result is not None and not isinstance(result, interface.Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
            if result is None or metadata is None:
                checked.append(None)
                continue
            if metadata is NOT_A_TENSOR:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{index + 1}, but the corresponding forward input was not a Variable"
                )
            shape, dtype = metadata
            dtype = dtype_of_edge(self.next_edges[index], dtype)
            if result._array.shape != shape:
                if not interface.expands_to(shape, result._array.shape):
                    raise RuntimeError(
                        f"Function {self.name()} returned an invalid gradient at index {index} - "
                        f"got {list(result._array.shape)} but expected shape compatible with "
                        f"{list(shape)}"
                    )
                result = interface.sum_to_size(result, shape)
            if dtype is not None and result._array.dtype != dtype:
                if result._array.dtype.kind == "c" and dtype.kind != "c":
                    raise RuntimeError(
                        "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == "
                        f"grad_is_complex) to be true, but got false: {self.name()} returned a "
                        f"complex gradient for input {index}, which is real"
                    )
                result = interface.cast(result, dtype)
            checked.append(result)
        return tuple(checked)


def no_backward(ctx: Any, *grad_outputs: Any) -> Any:
    """Return the gradient of each argument, given that of each output."""
    raise NotImplementedError(
        "You must implement either the backward or vjp method for your custom autograd.Function to "
        "use it with backward mode AD."
    )


def gradient_method(function: type[Function]) -> Callable[..., Any]:
    """Return the one method of a user's Function that computes gradients.

    Raises:
        RuntimeError: if it has two.
    """
    if function.vjp is no_backward:
        return function.backward
    if function.backward is not no_backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            "should only implement one of them."
        )
    return function.vjp


def with_list(function: type[Function]) -> Callable[..., Any]:
    """The gradient method of a Function with ``boxed_grads_call`` as one of separate gradients."""
    method = gradient_method(function)
    return lambda ctx, *gradients: method(ctx, list(gradients))


def node_of_call(kind: type[BackwardCFunction], args: tuple[Any, ...], record: bool) -> Any:
    """A node for a call with these arguments, with edges to them if the call is recorded."""
    Tensor = interface.Tensor
    if not record:
        return new_node(kind, ())
    edges: list[Any] = []
    metadata: list[Any] = []
    for value in args:
        if not isinstance(value, Tensor):
            edges.append(None)
            metadata.append(NOT_A_TENSOR)
        elif not value._requires_grad:
            edges.append(None)
            metadata.append(None)
        else:
            grad_fn = value._producer
            edges.append((value, 0) if grad_fn is None else (grad_fn, value._output_nr))
            array = value._array
            metadata.append((array.shape, array.dtype))
    ctx = new_node(kind, tuple(edges))
    ctx._argument_metadata = tuple(metadata)
    if watching.count:
        watching.made(ctx)
        ctx.to_save = ()  # has ``keep`` called at the end, where the node is complete
    return ctx
