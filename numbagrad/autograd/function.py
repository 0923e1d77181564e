"""``Function``: operations whose forward and backward users write themselves.

``MyReLU.apply(x)`` runs the user's ``forward`` with recording off and makes one node of the graph;
the node is the ``ctx`` of the user's methods. The engine calls the node, the node calls the user's
``backward`` and checks what it returns. Tensors are reached through ``tensor_interface``.
"""

from __future__ import annotations

import inspect
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from . import tensor_interface as interface
from .function_arguments import positional
from .function_outputs import keep, refuse_leaves, tuple_of, wrap_output, wrap_outputs
from .grad_dtype import converted, dtype_of_edge
from .grad_mode import state as grad_mode
from .hooks import watching
from .hooks.tensor_hooks import Hooks
from .legacy import volatile
from .node import Node, OutputMetadata, next_sequence_nr
from .once_differentiable import once_differentiable
from .saved import FREED, unpack_entries

__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable",
]  # fmt: skip


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
    saved = ()  # what a Function saves is in ``_saved_variables``
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
        return function.backward if function.vjp is Function.vjp else gradient_method(function)

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


def gradient_method(function: type[Function]) -> Callable[..., Any]:
    """Return the one method of a user's Function that computes gradients.

    Raises:
        RuntimeError: if it has two.
    """
    if function.vjp is Function.vjp:
        return function.backward
    if function.backward is not Function.backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            "should only implement one of them."
        )
    return function.vjp


def with_list(function: type[Function]) -> Callable[..., Any]:
    """The gradient method of a Function with ``boxed_grads_call`` as one of separate gradients."""
    method = gradient_method(function)
    return lambda ctx, *gradients: method(ctx, list(gradients))


#: The entry of ``_argument_metadata`` for an argument that is not a tensor.
NOT_A_TENSOR = "not a tensor"


#: Attributes of a node that instances of a Function have.
_OF_NODES = frozenset(
    (
        "name", "next_functions", "metadata", "register_hook", "register_prehook",
        "_input_metadata", "_register_hook_dict", "_sequence_nr", "_set_sequence_nr",
    )
)  # fmt: skip


class Function(FunctionCtx):
    """A differentiable operation with a hand-written gradient.

    Subclasses define static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``, or
    ``forward(*args)`` with ``setup_context(ctx, inputs, output)``. ``backward`` gets a gradient for
    each output and returns one for each argument of ``forward``, None where there is none. It runs
    recorded under ``create_graph=True``, so if it is written in operators it can be differentiated.

    Example::

        class MyReLU(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.clamp(min=0)

            @staticmethod
            def backward(ctx, grad_output):
                (x,) = ctx.saved_tensors
                return grad_output * (x > 0)

        y = MyReLU.apply(x)

    The form of 2017 works too: ``forward(self, *tensors)`` and ``backward(self, *grads)`` are
    methods of an instance, which takes other arguments in its constructor, is called once, and says
    of itself what ``ctx`` says today. See ``legacy_function.py``.

    Attributes:
        generate_vmap_rule: whether ``vmap`` runs ``forward`` and ``backward`` for all samples.
        clear_saved_tensors_on_access: whether ``ctx.saved_tensors`` may be read only once, and is
            forgotten then, so that ``backward`` can let go of what it has used.
        boxed_grads_call: whether ``backward(ctx, grads)`` takes one list of the gradients. The
            engine holds none of them, so that taking one out of the list frees it.
    """

    _backward_cls: type[BackwardCFunction]
    generate_vmap_rule = False
    clear_saved_tensors_on_access = False
    boxed_grads_call = False
    #: Whether ``forward`` is a method of instances, as in 2017.
    _has_instance_methods = False
    #: A weak reference to the node of an instance of 2017 that was called.
    _node: weakref.ref[BackwardCFunction] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        name = cls.__name__ + "Backward"
        attributes = {"_forward_cls": cls, "__module__": cls.__module__}
        cls._backward_cls = type(name, (BackwardCFunction,), attributes)
        forward = inspect.getattr_static(cls, "forward")
        cls._has_instance_methods = not isinstance(forward, (staticmethod, classmethod))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self._has_instance_methods:
            warnings.warn(
                f"{type(self)} should not be instantiated. Methods on autograd functions are all "
                "static, so you should invoke them on the class itself. Instantiating an autograd "
                "function will raise an error in a future version of PyTorch.",
                DeprecationWarning,
                stacklevel=2,
            )

    def __call__(self, *inputs: Any) -> Any:
        """Call an instance of 2017; a Function with static methods raises, as in torch."""
        if self._has_instance_methods:
            from .legacy.function import call_instance

            return call_instance(self, inputs)
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that an instance of 2017 gave to ``save_for_backward``.

        Raises:
            RuntimeError: before the call, after the graph was freed, or if one was written since.
        """
        node = None if self._node is None else self._node()
        if node is None:
            raise RuntimeError(FREED)
        return node.saved_tensors

    saved_variables = saved_tensors

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """For each input of an instance of 2017 that was called: whether it needs a gradient."""
        node = None if self._node is None else self._node()
        return () if node is None else node.needs_input_grad

    def __getattr__(self, name: str) -> Any:
        """An attribute of a graph node, which in torch each instance is, called or not."""
        if name not in _OF_NODES:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        node = None if self._node is None else self._node()
        if node is None:
            node = vars(self).get("_unconnected")
        if node is None:
            node = self._unconnected = self._backward_cls.__new__(self._backward_cls)
            node._hooks = None
            node.next_edges = ()
            node.sequence_nr = next_sequence_nr()
        return getattr(node, name)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; without ``ctx`` if there is a ``setup_context``."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what ``backward`` needs, if ``forward`` takes no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    if TYPE_CHECKING:
        # A subclass takes what it likes, which type checkers grant to this signature alone.
        @staticmethod
        def backward(*args: Any, **kwargs: Any) -> Any: ...
    else:

        @staticmethod
        def backward(ctx: Any, *grad_outputs: Any) -> Any:
            """Return the gradient of each argument, given that of each output."""
            raise NotImplementedError(
                "You must implement either the backward or vjp method for your custom "
                "autograd.Function to use it with backward mode AD."
            )

    # vjp and backward are names for the same method.
    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangent of each output, given that of each argument."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Return the outputs for batched arguments."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or "
            "set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` on ``args`` and record one node for it.

        Keyword arguments take the places that they have in the signature of ``forward``.

        Returns:
            What ``forward`` returned. Tensors in it, alone or in a tuple, get a history.
        """
        if kwargs or cls._has_setup_context():
            args = positional(cls.forward, args, kwargs, cls._has_setup_context())
        Tensor = interface.Tensor
        for value in args:
            if isinstance(value, Tensor) and value._array.__class__ is not ndarray:
                return interface.apply_transformed(cls, args)
        ctx, output = cls.run(args)
        if ctx.dirty_tensors is not None:
            ctx.dirty_tensors = None  # a view among them refers to ctx
        if ctx.saved_for_forward is not None:
            tuple_of(ctx, "saved_for_forward")
            ctx.saved_for_forward = None
        return output

    @classmethod
    def _has_setup_context(cls) -> bool:
        return cls.setup_context is not Function.setup_context

    @classmethod
    def run(cls, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """Run ``forward`` on positional arguments and record its node; ``ctx`` and the output."""
        Tensor = interface.Tensor
        ctx = cls._backward_cls.__new__(cls._backward_cls)
        # A node with hooks is run where the engine can let go of the gradients.
        ctx._hooks = Hooks() if cls.boxed_grads_call else None
        needs = [isinstance(value, Tensor) and value._requires_grad for value in args]
        ctx.needs_input_grad = tuple(needs)
        unrecorded = volatile.in_use and volatile.touched(args)
        record = grad_mode.enabled and True in needs and not unrecorded
        if record:
            connect(ctx, args)
        refuses = grad_mode.enabled and not (record or unrecorded)
        output = cls._unrecorded(ctx, args, record, refuses)
        return ctx, volatile.mark(output) if unrecorded else output

    @classmethod
    def _unrecorded(cls, ctx: Any, args: tuple[Any, ...], record: bool, refuses: bool) -> Any:
        """``_computed`` with recording off."""
        recording = grad_mode.enabled
        grad_mode.enabled = False
        try:
            return cls._computed(ctx, args, record, refuses)
        finally:
            grad_mode.enabled = recording

    @classmethod
    def _computed(cls, ctx: Any, args: tuple[Any, ...], record: bool, refuses: bool) -> Any:
        """The output of ``forward``, with the node as its history if that is recorded.

        ``refuses`` says that leaves which require grad may not be written.
        """
        if cls._has_setup_context():
            output = cls.forward(*args)
            cls.setup_context(ctx, args, output)
        else:
            output = cls.forward(ctx, *args)
        if refuses and ctx.dirty_tensors is not None:
            refuse_leaves(ctx)
        if isinstance(output, interface.Tensor):
            output = wrap_output(ctx, args, output, record)
        elif isinstance(output, tuple):
            output = wrap_outputs(ctx, args, output, record)
        if ctx.to_save is not None:
            keep(ctx, record)
        return output


def connect(ctx: BackwardCFunction, args: tuple[Any, ...]) -> None:
    """Give a node its edges and its place in the order of nodes."""
    Tensor = interface.Tensor
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
    ctx.next_edges = tuple(edges)
    ctx._argument_metadata = tuple(metadata)
    ctx.sequence_nr = next_sequence_nr()
    if watching.count:
        watching.made(ctx)
        ctx.to_save = ()  # has ``keep`` called at the end, where the node is complete


class InplaceFunction(Function):
    """A Function whose instances may say whether they write in place, as before torch 0.4.

    Args:
        inplace: what the attribute of that name is set to.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
