"""``Function``: operations whose forward and backward users write themselves.

``MyReLU.apply(x)`` runs the user's ``forward`` with recording off and makes one node of the graph;
the node (``function/node.py``) is the ``ctx`` of the user's methods. Tensors are reached through
``tensor_interface``.
"""

from __future__ import annotations

import inspect
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from ...absent import absent
from .. import tensor_interface as interface
from ..grad_mode import state as grad_mode
from ..hooks.tensor_hooks import Hooks
from ..legacy import volatile
from ..node import new_node
from ..saved import FREED
from .arguments import positional
from .node import BackwardCFunction, FunctionCtx, no_backward, node_of_call
from .once_differentiable import once_differentiable
from .outputs import keep, refuse_leaves, tuple_of, wrap_output, wrap_outputs

__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction",
    "once_differentiable",
]  # fmt: skip


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
    of itself what ``ctx`` says today. See ``legacy/function.py``.

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
            from ..legacy.function import call_instance  # which few programs need

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
            node = self._unconnected = new_node(self._backward_cls, ())
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
        backward = staticmethod(no_backward)

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
        needs = tuple([isinstance(value, Tensor) and value._requires_grad for value in args])
        unrecorded = volatile.in_use and volatile.touched(args)
        record = grad_mode.enabled and True in needs and not unrecorded
        ctx = node_of_call(cls._backward_cls, args, record)
        ctx.needs_input_grad = needs
        if cls.boxed_grads_call:  # the engine can let go of the gradients of a node with hooks
            ctx._hooks = Hooks()
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


class InplaceFunction(Function):
    """A Function whose instances may say whether they write in place, as before torch 0.4.

    Args:
        inplace: what the attribute of that name is set to.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


#: The class of ``Function``, under torch's name.
FunctionMeta = type(Function)

NestedIOFunction = absent(
    "torch.autograd.function.NestedIOFunction", "derive from Function, and flatten what is nested"
)
