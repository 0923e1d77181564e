"""From operations to launches on a GPU: the table of what lowers which kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..executor.plan.operations import Check, Kernel, Operation, Pointwise, Product, Reduce, Rowwise
from .hand_written import lower_check, lower_kernel
from .launches import Launch
from .matmul import lower_product
from .pointwise import lower_pointwise
from .reduction import lower_reduction
from .rowwise import lower_rowwise

_LOWERINGS: dict[type, Callable[[Any], list[Launch]]] = {
    Pointwise: lower_pointwise,
    Product: lower_product,
    Reduce: lower_reduction,
    Rowwise: lower_rowwise,
    Kernel: lower_kernel,
    Check: lower_check,
}


def lower(operation: Operation) -> list[Launch]:
    """The launches of an operation.

    Raises:
        NotImplementedError: for one that has no kernel on a GPU, by its name.
    """
    found = _LOWERINGS.get(type(operation))
    if found is None:
        raise NotImplementedError(
            f"Could not run '{operation.name}' on the device 'cuda': its backend does not "
            "implement it; move the tensors with .cpu() first"
        )
    return found(operation)
