"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ...ops.arguments.requirements import check_elements
from ...ops.views.join import cat
from ...tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters in a row."""
    given = list(parameters)
    check_elements("parameters_to_vector", given)
    return cat([parameter.view(-1) for parameter in given])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let the parameters be views of consecutive parts of a vector.

    Raises:
        TypeError: if ``vec`` is no Tensor.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    given = list(parameters)
    check_elements("vector_to_parameters", given, 2)
    start = 0
    for parameter in given:
        count = parameter.numel()
        parameter.data = vec[start : start + count].view_as(parameter).data
        start += count
