"""``Function``: operations whose forward and backward users write themselves.

``MyReLU.apply(x)`` runs the user's ``forward`` with recording off and makes one node of the graph;
the node is the ``ctx`` of the user's methods. The engine calls the node, the node calls the user's
``backward`` and checks what it returns. Tensors are reached through ``tensor_interface``.
"""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from numpy import ndarray

from . import creation_hooks, volatile, watching
from . import tensor_interface as interface
from .grad_dtype import check_declared, converted, dtype_of_edge
from .grad_mode import state as grad_mode
from .hooks import Hooks
from .inplace import FUNCTION, MULTIPLE, NO_GRAD, PURE, check_inplace, register_view
from .node import Node, OutputMetadata, edge_of, next_sequence_nr
from .regions import saved_view
from .saved import FREED, save, save_output, unpack_entries
from .saved_hooks import default_hooks, pack

__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable",
]  # fmt: skip


class FunctionCtx:
    """What ``forward`` and ``setup_context`` may say about an operation."""

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
                if not _expands_to(shape, result._array.shape):
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


def _expands_to(shape: tuple[int, ...], larger: tuple[int, ...]) -> bool:
    """Return True if an array of ``shape`` can be broadcast to the shape ``larger``."""
    if len(shape) > len(larger):
        return False
    aligned = larger[len(larger) - len(shape) :]
    return all([size in (1, other) for size, other in zip(shape, aligned, strict=True)])


#: What instances of a Function have of a node.
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
    #: Of an instance of 2017 that was called: a weak reference to its node.
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
            from .legacy_function import call_instance

            return call_instance(self, inputs)
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What an instance of 2017 gave to ``save_for_backward``.

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
        """What an instance has as a node of the graph: in torch each is one, called or not."""
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
            args = _bind(cls.forward, args, kwargs, cls._has_setup_context())
        Tensor = interface.Tensor
        for value in args:
            if isinstance(value, Tensor) and value._array.__class__ is not ndarray:
                return interface.apply_transformed(cls, args)
        ctx, output = cls.run(args)
        if ctx.dirty_tensors is not None:
            ctx.dirty_tensors = None  # a view among them refers to ctx
        if ctx.saved_for_forward is not None:
            _tuple_of(ctx, "saved_for_forward")
            ctx.saved_for_forward = None
        return output

    @classmethod
    def _has_setup_context(cls) -> bool:
        return cls.setup_context is not Function.setup_context

    @classmethod
    def run(cls, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """Run ``forward`` on positional arguments and record its node; ``ctx`` and the output."""
        Tensor = interface.Tensor
        separate_context = cls._has_setup_context()
        ctx = cls._backward_cls.__new__(cls._backward_cls)
        # A node with hooks is run where the engine can let go of the gradients.
        ctx._hooks = Hooks() if cls.boxed_grads_call else None
        needs = [isinstance(value, Tensor) and value._requires_grad for value in args]
        ctx.needs_input_grad = tuple(needs)
        recording = grad_mode.enabled
        unrecorded = volatile.in_use and volatile.touched(args)
        record = recording and True in needs and not unrecorded
        if record:
            connect(ctx, args)
        grad_mode.enabled = False
        try:
            if separate_context:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
            if isinstance(output, Tensor):
                output = _wrap_output(ctx, args, output, record)
            elif isinstance(output, tuple):
                output = wrap_outputs(ctx, args, output, record)
            if ctx.to_save is not None:
                keep(ctx, record)
        finally:
            grad_mode.enabled = recording
        return ctx, volatile.mark(output) if unrecorded else output


def _bind(forward: Any, args: Any, kwargs: Any, separate_context: bool) -> tuple[Any, ...]:
    """Return the arguments of a call as positional ones, with the defaults if there is no ctx."""
    signature = _signature(forward)
    if separate_context:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
    names = [name for name, one in signature.parameters.items() if one.kind in _POSITIONAL]
    if not separate_context:
        del names[:1]
    named = {}
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        place = names.index(name)
        if place < len(args):
            raise TypeError(f"forward() got multiple values for argument '{name}'")
        named[place] = value
    places = range(len(args), 1 + max(named, default=-1))
    for place in places:
        if place not in named:
            raise TypeError(
                f"forward() missing required argument: '{names[place]}' (position {place})"
            )
    return (*args, *[named[place] for place in places])


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@functools.lru_cache(maxsize=1024)
def _signature(function: Any) -> inspect.Signature:
    return inspect.signature(function)


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
            grad_fn = value._grad_fn
            edges.append((value, 0) if grad_fn is None else (grad_fn, value._output_nr))
            array = value._array
            metadata.append((array.shape, array.dtype))
    ctx.next_edges = tuple(edges)
    ctx._argument_metadata = tuple(metadata)
    ctx.sequence_nr = next_sequence_nr()
    if watching.count:
        watching.made(ctx)
        ctx.to_save = ()  # has ``keep`` called at the end, where the node is complete


def _wrap_output(ctx: Any, args: tuple[Any, ...], output: Any, record: bool) -> Any:
    """``wrap_outputs`` for one tensor; short for by far the most frequent case, a new one."""
    array = output._array
    if (
        not record
        or output._requires_grad
        or output._base is not None
        or ctx.dirty_tensors is not None
        or ctx.non_differentiable is not None
        or array.dtype.kind not in "fc"
        or _contains(args, output)
    ):
        return wrap_outputs(ctx, args, (output,), record)[0]
    ctx._output_metadata = ((array.shape, array.dtype),)
    output._requires_grad = True
    output._grad_fn = ctx
    output._output_nr = 0
    return output


def wrap_outputs(ctx: Any, args: tuple[Any, ...], outputs: Any, record: bool) -> tuple[Any, ...]:
    """Connect what ``forward`` returned to the graph; what is not a tensor stays as it is."""
    _check_marked(ctx)
    if ctx._is_pure_view:
        _check_pure_view(args, outputs)
    dirty = ctx.dirty_tensors or ()
    fixed = ctx.non_differentiable or ()
    for value in dirty:
        if not _contains(outputs, value):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
    if record:
        ctx._output_count = len(outputs)
        _check_written_views(outputs, dirty)
    if ctx._output_grad_dtypes is not None:
        of_tensors = [_is_differentiable(output, fixed) for output in outputs]
        check_declared(ctx.name(), ctx._output_grad_dtypes, of_tensors)
    wrapped: list[Any] = []
    metadata: list[Any] = []
    for output_nr, output in enumerate(outputs):
        if not isinstance(output, interface.Tensor):
            metadata.append(None)
            wrapped.append(output)
            continue
        array = output._array
        known = ctx._materialize_non_diff_grads or not _contains(fixed, output)
        metadata.append((array.shape, array.dtype) if known else None)
        if _contains(wrapped, output) and output._grad_fn is ctx:
            output._output_nr = output_nr  # returned twice: both are the last one, as in torch
            wrapped.append(output)
            continue
        differentiable = record and array.dtype.kind in "fc" and not _contains(fixed, output)
        if _contains(dirty, output):
            _check_dirty(output, _contains(args, output), record)
            interface.bump_version(output)
            if differentiable:
                interface.rebase_history(output, ctx, output_nr)
        else:
            if output._requires_grad or _contains(args, output):
                # It has a history or a user of its own, and keeps it.
                output = _view_of(output) if differentiable else interface.alias(output)
            if output._base is not None and output._view_origin == NO_GRAD:
                if differentiable:
                    output._view_origin = _origin_of_view(output, ctx, outputs, fixed)
                    register_view(output, output._version_cell)
                elif not record:
                    pure = ctx._is_pure_view and not output._base._requires_grad
                    output._view_origin = None if pure else FUNCTION
            if differentiable:
                output._requires_grad = True
                output._grad_fn = ctx
                output._output_nr = output_nr
        wrapped.append(output)
    ctx._output_metadata = tuple(metadata)
    return tuple(wrapped)


def _check_marked(ctx: Any) -> None:
    """Raise if ``forward`` marked what is no tensor."""
    for index, value in enumerate(_tuple_of(ctx, "dirty_tensors")):
        if not isinstance(value, interface.Tensor):
            raise RuntimeError(
                f"mark_dirty can only accept variables, but argument {index} is of type "
                f"{type(value).__name__}"
            )
    for value in _tuple_of(ctx, "non_differentiable"):
        if not isinstance(value, interface.Tensor):
            raise RuntimeError(
                f"mark_non_differentiable only accepts variable arguments, but got "
                f"{type(value).__name__}"
            )


def _tuple_of(ctx: Any, attribute: str) -> tuple[Any, ...]:
    """An attribute of ``ctx`` that users set by its methods, or themselves.

    Raises:
        RuntimeError: if it is no tuple.
    """
    value = getattr(ctx, attribute)
    if value is not None and not isinstance(value, tuple):
        raise RuntimeError(
            f"autograd internal error: {attribute} attribute is expected to be a tuple but is "
            f"{type(value).__name__}"
        )
    return value or ()


def _check_written_views(outputs: Any, dirty: Any) -> None:
    """Raise if ``forward`` wrote a view in place and returned more than that."""
    if sum([isinstance(output, interface.Tensor) for output in outputs]) < 2:
        return
    if any([tensor._base is not None for tensor in dirty]):
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your "
            "Function cannot return more than one Tensor. This is not supported by the current "
            "autograd engine. You should either make sure the input is not a view (using .clone() "
            "for example) or make your Function only return one Tensor (potentially splitting it "
            "into two Functions: one doing the inplace that returns a single Tensor and a second "
            "one that does the other operations). You can ask on the forum "
            "https://discuss.pytorch.org/ if you need help to do this change."
        )


def _is_differentiable(output: Any, fixed: Any) -> bool:
    if not isinstance(output, interface.Tensor) or _contains(fixed, output):
        return False
    return output._array.dtype.kind in "fc"


def _view_of(tensor: Any) -> Any:
    """A view of all of ``tensor``, to be returned by a Function: it may not be written."""
    view = interface.alias(tensor)
    view._base = tensor if tensor._base is None else tensor._base
    view._view_origin = NO_GRAD
    return view


def _origin_of_view(view: Any, ctx: Any, outputs: Any, fixed: Any) -> str:
    """Why a view that a recorded Function returns may not be written, or that it may."""
    if ctx._is_pure_view and view._array.dtype == view._base._array.dtype:
        return PURE
    differentiable = [
        isinstance(x, interface.Tensor) and x._array.dtype.kind in "fc" and not _contains(fixed, x)
        for x in outputs
    ]
    return MULTIPLE if sum(differentiable) > 1 else FUNCTION


def _check_pure_view(args: tuple[Any, ...], outputs: Any) -> None:
    """Raise unless one tensor was given and one was returned."""
    for values in (args, outputs):
        if sum([isinstance(value, interface.Tensor) for value in values]) != 1:
            raise RuntimeError(
                "Pure view custom Function can only have one input Tensor and one output Tensor. "
                "Open an issue if you need to support more."
            )


def _contains(values: Any, tensor: Any) -> bool:
    """``tensor in values`` by identity; ``==`` of tensors is elementwise."""
    for value in values:
        if value is tensor:
            return True
    return False


def _check_dirty(output: Any, is_input: bool, record: bool) -> None:
    if not is_input:
        text = (
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that "
            "have been mutated should be passed to ctx.mark_dirty()."
        )
        if record and output._base is not None:
            raise RuntimeError(text)
        warnings.warn(text, UserWarning, stacklevel=4)
    elif record and output._base is not None:
        check_inplace(output)
    elif record and output._requires_grad and output._grad_fn is None:
        raise RuntimeError(
            "a leaf Variable that requires grad has been used in an in-place operation."
        )


def keep(ctx: Any, record: bool) -> None:
    """Pack what ``forward`` saved: outputs without their tensor, all else with its version."""
    entries: list[Any] = []
    values = _tuple_of(ctx, "to_save")
    # Outputs refer to ctx: no cycle is left if packing raises, as in a checkpoint that stops early.
    ctx.to_save = None
    for index, value in enumerate(values):
        if value is None:
            entries.append(None)
        elif not isinstance(value, interface.Tensor):
            raise TypeError(
                "save_for_backward can only save variables, but argument "
                f"{index} is of type {type(value).__name__}"
            )
        elif value._grad_fn is ctx:
            entries.append(save_output(value, value._output_nr))
        elif ctx.dirty_tensors is not None and _is_written_view(ctx, value):
            entries.append(saved_view(value))
        else:
            entries.append(save(value))
    if record:
        hooks = default_hooks() if watching.count else None
        if hooks is not None:
            entries = [pack(entry, ctx, hooks) for entry in entries]
        ctx._saved_variables = tuple(entries)
        if watching.count and not _wrote_view(ctx):
            creation_hooks.announce(ctx)


def _wrote_view(ctx: Any) -> bool:
    """Whether the history of what ``forward`` wrote contains ``ctx`` in that of a base."""
    return any([_is_written_view(ctx, tensor) for tensor in _tuple_of(ctx, "dirty_tensors")])


def _is_written_view(ctx: Any, tensor: Any) -> bool:
    """Whether a tensor is a view that ``forward`` wrote, with a history that leads to ``ctx``."""
    recorded = tensor._base is not None and tensor._grad_fn is not None
    return recorded and _contains(ctx.dirty_tensors, tensor)


class InplaceFunction(Function):
    """A Function whose instances may say whether they write in place, as before torch 0.4.

    Args:
        inplace: what the attribute of that name is set to.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class Error(Node):
    """The node of a gradient that has no gradient of its own: raises when the engine reaches it."""

    __slots__ = ("_output_count", "text")

    def __init__(self, text: str, next_edges: tuple[Any, ...]) -> None:
        self.text = text
        self._output_count = len(next_edges)
        super().__init__(next_edges)

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        raise RuntimeError(self.text)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``backward`` that is not written in operators and has no gradient itself.

    It runs unrecorded. Under ``create_graph=True`` its results raise when they are differentiated,
    if a gradient of the outputs requires grad. As in torch they are constants otherwise, though
    they may depend on the saved tensors.
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        recording = grad_mode.enabled
        grad_mode.enabled = False
        try:
            results = fn(ctx, *args)
        finally:
            grad_mode.enabled = recording
        if not recording:
            return results
        if not any([isinstance(arg, interface.Tensor) and arg._requires_grad for arg in args]):
            return results
        several = results if isinstance(results, tuple) else (results,)
        several = _delayed_error(several)
        return several if isinstance(results, tuple) else several[0]

    return wrapper


def _delayed_error(results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results, with a history that raises when they are differentiated."""
    leaves = [None if result is None else interface.alias(result) for result in results]
    for leaf in leaves:
        if leaf is not None:
            leaf._requires_grad = True
    return failing_later(
        "trying to differentiate twice a function that was marked with @once_differentiable", leaves
    )


def failing_later(text: str, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The tensors (or None), with a history that raises ``text`` when the engine reaches it."""
    node = Error(text, tuple([None if tensor is None else edge_of(tensor) for tensor in tensors]))
    made = []
    for number, tensor in enumerate(tensors):
        if tensor is not None:
            tensor = with_history(tensor, node)
            tensor._output_nr = number
        made.append(tensor)
    return tuple(made)


def with_history(result: Any, node: Node) -> Any:
    """Return a tensor of the memory of ``result`` that ``node`` seems to have made."""
    if not isinstance(result, interface.Tensor):
        return result
    made = interface.alias(result)
    made._requires_grad = True
    made._grad_fn = node
    return made
