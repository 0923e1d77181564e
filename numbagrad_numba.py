"""What Numba calls, through its extension entry point, before it compiles the first function.

It makes tensors known without importing numbagrad, which programs that use Numba alone would pay
for. It lies outside the package for the same reason: a module inside imports all of it.
"""

from __future__ import annotations

from abc import ABC
from typing import Any

from numba.extending import typeof_impl


class AnyTensor(ABC):  # noqa: B024 - it is a test of classes, nobody derives from it
    """Base, as far as ``issubclass`` says, of a class whose module may never be imported."""

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        return any(
            [
                base.__module__ == "numbagrad.tensor" and base.__name__ == "Tensor"
                for base in other.__mro__
            ]
        )


def register() -> None:
    """Have Numba ask for the type of the first tensor that it meets here."""
    typeof_impl.register(AnyTensor, type_of_first_tensor)


def type_of_first_tensor(tensor: Any, context: Any) -> Any:
    """Load what makes tensors known, which types this tensor and all that follow."""
    from numbagrad.interrupts import uninterrupted

    with uninterrupted():
        import numbagrad.numba_extension  # noqa: F401 - registers a function for Tensor itself

    return typeof_impl(tensor, context)
