"""torch's ``backward`` and ``grad``: arguments are checked here, the walk is in ``backward.py``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, overload

from ...backend import foreign
from ...type_names import type_name
from ...warn_once import warn_once
from .. import tensor_interface as interface
from ..grad_mode import state as grad_mode
from ..graph import GradientEdge
from ..hooks.tensor_hooks import known_outputs
from ..hooks.tensor_hooks import retain_grad as retain_tensor_grad
from ..node import UNRECORDED, AccumulateGrad, wanted_edge
from .backward import run_backward

__all__ = ["backward", "grad"]


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
    *,
    retain_variables: bool | None = None,
) -> None:
    """Add the gradients of ``tensors`` to the ``grad`` of the leaves they were computed from.

    Args:
        tensors: the roots: a tensor, a ``GradientEdge``, or a sequence of them.
        grad_tensors: the gradient of each root, of its shape; None for a root of one element
            stands for one.
        retain_graph: keep what was saved, so that the graph can be walked again. Defaults to the
            value of ``create_graph``.
        create_graph: record the gradients, so that they can be differentiated.
        grad_variables: the name of ``grad_tensors`` before torch 0.4.
        inputs: tensors, or edges, to whose ``grad`` to add, instead of all leaves. Of a dict the
            values are taken.
        retain_variables: the name of ``retain_graph`` in 2017.

    Raises:
        RuntimeError: if a root does not require grad, if the gradient of a root is missing or has
            another shape, if saved tensors were freed or written in place.
    """
    if retain_variables is not None:
        retain_graph = retain_variables
    if retain_graph is None:
        retain_graph = create_graph
    if create_graph.__class__ is not bool or retain_graph.__class__ is not bool:
        _check_flags(("create_graph", create_graph), ("retain_graph", retain_graph))
    if create_graph:
        warn_once(_CYCLE)
    if (
        inputs is None
        and grad_variables is None
        and isinstance(tensors, interface.Tensor)
        and (grad_tensors is None or isinstance(grad_tensors, interface.Tensor))
    ):
        gradient = _root_gradient(0, tensors, grad_tensors, create_graph)
        _walk((tensors,), (gradient,), retain_graph, create_graph)
        return
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    roots = _as_tuple(tensors)
    wanted = () if inputs is None else _as_inputs(inputs, "backward")
    gradients = _root_gradients(roots, _given_gradients(roots, grad_tensors), create_graph)
    edges = None
    if inputs is not None:
        edges = _input_edges(wanted, "backward")
        for tensor in wanted:
            if isinstance(tensor, interface.Tensor):
                retain_tensor_grad(tensor)
    _walk(_internal(roots), gradients, retain_graph, create_graph, edges)


def _walk(roots: Any, *arguments: Any, **options: Any) -> list[Any]:
    """``run_backward``, where the device of the first root wants it to run."""
    first: Any = roots[0] if roots else ()
    where = None if first.__class__ is tuple else foreign(first._array)
    if where is None:
        return run_backward(roots, *arguments, **options)
    with where.walking_from(first._array):
        return run_backward(roots, *arguments, **options)


@overload
def grad(
    outputs: Any,
    inputs: dict[Any, Any],
    grad_outputs: Any = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    only_inputs: bool = ...,
    allow_unused: bool | None = ...,
    is_grads_batched: bool = ...,
    materialize_grads: bool = ...,
) -> dict[Any, Any]: ...


@overload
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    only_inputs: bool = ...,
    allow_unused: bool | None = ...,
    is_grads_batched: bool = ...,
    materialize_grads: bool = ...,
) -> tuple[Any, ...]: ...


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...] | dict[Any, Any]:
    """Return the gradients of ``outputs`` with respect to ``inputs``; no ``grad`` is touched.

    Args:
        outputs: the roots: a tensor, a ``GradientEdge``, or a sequence of them.
        inputs: a tensor that requires grad, an edge, a sequence of them or a dict of tensors, for
            which the result is a dict with the same keys.
        grad_outputs: the gradient of each root, as in ``backward``.
        retain_graph: keep what was saved. Defaults to the value of ``create_graph``.
        create_graph: record the gradients, so that they can be differentiated.
        only_inputs: only True has a meaning.
        allow_unused: return None for an input that no output depends on, instead of raising.
            Defaults to the value of ``materialize_grads``.
        is_grads_batched: the first dimension of each of ``grad_outputs`` counts gradients: the
            results are those of a call for each, stacked.
        materialize_grads: return zeros instead of None.

    Raises:
        RuntimeError: as ``backward`` does, and if an input is not used without ``allow_unused``.
        ValueError: if ``materialize_grads`` is set and ``allow_unused`` is False.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if retain_graph is None:
        retain_graph = create_graph
    _check_flags(
        ("create_graph", create_graph),
        ("retain_graph", retain_graph),
        ("allow_unused", False if allow_unused is None else allow_unused),
        ("materialize_grads", materialize_grads),
    )
    roots, wanted = _as_tuple(outputs), _as_inputs(inputs, "grad")
    grad_outputs = _given_gradients(roots, grad_outputs)
    edges = _input_edges(wanted, "grad")
    if is_grads_batched:
        given = _batched_gradients(roots, grad_outputs)
        results = _batched(_internal(roots), given, retain_graph, create_graph, edges)
    else:
        gradients = _root_gradients(roots, grad_outputs, create_graph)
        results = _walk(
            _internal(roots), gradients, retain_graph, create_graph, edges, accumulate=False
        )
    if materialize_grads:
        results = _materialized(results, wanted, create_graph)
    elif not allow_unused:
        for index, result in enumerate(results):
            if result is None:
                raise RuntimeError(
                    f"The differentiated Tensor at index {index} appears to not have been used in "
                    "the graph. Set allow_unused=True if this is the desired behavior."
                )
    if isinstance(inputs, dict):
        return dict(zip(inputs, results, strict=True))
    return tuple(results)


_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)


def _materialized(results: list[Any], wanted: tuple[Any, ...], create_graph: bool) -> list[Any]:
    """The results, with zeros in the place of None: leaves, if the gradients are recorded."""
    complete = []
    for value, found in zip(wanted, results, strict=True):
        if found is None:
            if isinstance(value, GradientEdge):
                raise RuntimeError(
                    "materialize_grads cannot be used when the given input is a GradientEdge"
                )
            found = interface.zeros(value._array.shape, value._array.dtype)
            found._requires_grad = create_graph
        complete.append(found)
    return complete


def _batched(
    roots: list[Any],
    gradients: list[Any],
    retain_graph: bool,
    create_graph: bool,
    edges: list[tuple[Any, Any]],
) -> list[Any]:
    """The gradients for each entry of the first dimension of ``gradients``, stacked."""
    sizes = {gradient._array.shape[0] for gradient in gradients}
    if len(sizes) != 1:
        raise ValueError(
            "grad: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{[gradient._array.shape[0] for gradient in gradients]} for the mapped dimension"
        )
    count = sizes.pop()
    rows = []
    for index in range(count):
        chosen = [gradient[index] for gradient in gradients]
        retain = retain_graph or index + 1 < count
        rows.append(run_backward(roots, chosen, retain, create_graph, edges, accumulate=False))
    columns = zip(*rows, strict=True)
    return [None if column[0] is None else interface.stack(column) for column in columns]


def _batched_gradients(roots: tuple[Any, ...], given: Any) -> list[Any]:
    """The gradients of the roots with a further dimension, checked and in the roots' dtypes."""
    gradients = []
    for index, (root, gradient) in enumerate(zip(roots, given, strict=True)):
        if gradient is None:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        shape, dtype = _shape_and_dtype(root)
        if shape is not None and gradient._array.shape[1:] != shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                "match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{index}] has a shape of {_size(gradient._array.shape[1:])} and "
                f"output[{index}] has a shape of {_size(shape)}. If you only want some tensors in "
                "`grad_output` to be considered batched, consider using vmap."
            )
        if dtype is not None and gradient._array.dtype != dtype:
            gradient = interface.cast(gradient, dtype)
        gradients.append(gradient)
    return gradients


def _check_flags(*flags: tuple[str, Any]) -> None:
    """Raise a TypeError for the first flag, given with its name, that is no bool and no int."""
    for name, flag in flags:
        if flag.__class__ is not bool and not isinstance(flag, int):
            raise TypeError(f"argument '{name}' must be bool, not {type_name(flag)}")


def _as_tuple(values: Any) -> tuple[Any, ...]:
    """Several tensors and edges, or a single one."""
    if isinstance(values, (interface.Tensor, GradientEdge)):
        return (values,)
    return tuple(values)


def _as_inputs(values: Any, caller: str) -> tuple[Any, ...]:
    """The values of a sequence or a dict of inputs, or a single one."""
    if isinstance(values, (interface.Tensor, GradientEdge)):
        return (values,)
    if type(values) is dict:
        return tuple(values.values())
    if isinstance(values, Mapping):
        raise TypeError(
            f"`inputs` argument to `{caller}()` must be a dict, not {type(values).__name__}. Other "
            "Mapping types are not supported."
        )
    return tuple(values)


def _internal(roots: tuple[Any, ...]) -> list[Any]:
    """The roots as the engine takes them: tensors, and edges ``(target, output_nr)``."""
    if len(roots) == 1 and roots[0].__class__ is not GradientEdge:
        return [roots[0]]
    return [_edge(root) if isinstance(root, GradientEdge) else root for root in roots]


def _edge(edge: GradientEdge) -> tuple[Any, int]:
    node = edge.node
    return (node.variable if isinstance(node, AccumulateGrad) else node), edge.output_nr


def _shape_and_dtype(root: Any) -> tuple[Any, Any]:
    """The shape and dtype of a root; None for an edge whose tensor nobody looked at."""
    if isinstance(root, interface.Tensor):
        return root._array.shape, root._array.dtype
    node = root.node
    if isinstance(node, AccumulateGrad):
        return node.variable._array.shape, node.variable._array.dtype
    own = getattr(node, "_output_metadata", None)
    if own:
        return own[root.output_nr]
    return known_outputs(node).get(root.output_nr, (None, None))


def _input_edges(inputs: tuple[Any, ...], caller: str) -> list[tuple[Any, Any]]:
    """Return the edges that stand for the wanted inputs of a walk, as ``walk.Plan`` takes them."""
    if not inputs:
        raise RuntimeError(f"`inputs` argument to `{caller}()` cannot be empty.")
    edges = []
    for tensor in inputs:
        if isinstance(tensor, GradientEdge):
            node = tensor.node
            node.take_part()
            is_leaf = isinstance(node, AccumulateGrad)
            edges.append((node.variable, node.uses) if is_leaf else (node, tensor.output_nr))
            continue
        if not isinstance(tensor, interface.Tensor):
            raise RuntimeError(
                f"all inputs have to be Tensors or GradientEdges, but got {type(tensor).__name__}"
            )
        edge = wanted_edge(tensor)
        if edge is None:
            if caller == "backward":
                raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edges.append(edge)
    return edges


def _root_gradients(
    roots: tuple[Any, ...], gradients: tuple[Any, ...], create_graph: bool
) -> list[Any]:
    """Return a gradient for each root: the given one, checked, or one for a root of one element."""
    return [
        _root_gradient(index, root, gradient, create_graph)
        for index, (root, gradient) in enumerate(zip(roots, gradients, strict=True))
    ]


def _given_gradients(roots: tuple[Any, ...], given: Any) -> tuple[Any, ...]:
    """A gradient or None for each root; what there are more of them is not looked at, as in torch.

    Raises:
        TypeError: for a root or a gradient of another kind.
        RuntimeError: if there are fewer gradients than roots.
    """
    for index, root in enumerate(roots):
        if not isinstance(root, (interface.Tensor, GradientEdge)):
            name = type(root).__name__
            raise TypeError(f"expected output {index} to be a Tensor or an edge, but got {name}")
    if given is None:
        return (None,) * len(roots)
    gradients = (given,) if isinstance(given, interface.Tensor) else tuple(given)
    for gradient in gradients[: len(roots)]:
        if gradient is not None and not isinstance(gradient, interface.Tensor):
            raise TypeError(
                "gradients can be either Tensors or None, but got " + type(gradient).__name__
            )
    if len(gradients) < len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(gradients)} gradients")
    return gradients[: len(roots)]


def _root_gradient(index: int, root: Any, gradient: Any, create_graph: bool) -> Any:
    """Return the gradient of one root."""
    if isinstance(root, interface.Tensor):
        if not root._requires_grad or root._producer is UNRECORDED:
            raise RuntimeError(
                f"element {index} of tensors does not require grad and does not have a grad_fn"
            )
    elif not isinstance(root, GradientEdge):
        name = type(root).__name__
        raise TypeError(f"expected output {index} to be a Tensor or an edge, but got {name}")
    if gradient is not None:
        return _checked_root_gradient(index, root, gradient, create_graph)
    if not isinstance(root, interface.Tensor):
        return _one_for_edge(root)
    return _one_for(root)


def _one_for_edge(edge: GradientEdge) -> Any:
    """The gradient of a root of one element that is given as an edge."""
    shape, dtype = _shape_and_dtype(edge)
    if shape is None:
        raise RuntimeError(
            "grad: nothing is known of the tensor behind a GradientEdge that was made by hand; "
            "make it with get_gradient_edge(tensor), or pass its gradient in grad_outputs"
        )
    return _one_for(interface.zeros(shape, dtype))


def _one_for(root: Any) -> Any:
    """The gradient of a root of one element that is none of a user's."""
    if root._array.size != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if root._array.dtype.kind == "c":
        raise RuntimeError(
            "grad can be implicitly created only for real scalar outputs but got "
            f"torch.{root._array.dtype}"
        )
    return interface.ones_like(root)


def _checked_root_gradient(index: int, root: Any, gradient: Any, create_graph: bool) -> Any:
    """Return the user's gradient of a root, in the root's dtype."""
    if not isinstance(gradient, interface.Tensor):
        raise TypeError(
            "gradients can be either Tensors or None, but got " + type(gradient).__name__
        )
    shape, dtype = _shape_and_dtype(root)
    if shape is not None and gradient._array.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of "
            f"{_size(gradient._array.shape)} and output[{index}] has a shape of {_size(shape)}."
        )
    if dtype is not None and gradient._array.dtype != dtype:
        if (dtype.kind == "c") != (gradient._array.dtype.kind == "c"):
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same "
                f"dtype. Mismatch in dtype: grad_output[{index}] has a dtype of "
                f"torch.{gradient._array.dtype} and output[{index}] has a dtype of torch.{dtype}."
            )
        gradient = _cast_root_gradient(gradient, dtype, create_graph)
    return gradient


def _cast_root_gradient(gradient: Any, dtype: Any, create_graph: bool) -> Any:
    previous_mode = grad_mode.enabled
    grad_mode.enabled = create_graph
    try:
        return interface.cast(gradient, dtype)
    finally:
        grad_mode.enabled = previous_mode


def _size(shape: tuple[int, ...]) -> str:
    return f"torch.Size({list(shape)})"
