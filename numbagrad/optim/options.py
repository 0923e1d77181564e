"""Options of optimizers, and the checks of their values: torch's errors for what none takes.

The constructors of this folder call them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from ..type_names import type_name

__all__: list[str] = []

#: The options and parameters of a group, and the numbers that an update needs of them.
Group = dict[str, Any]
Numbers = tuple[float, ...]


def check_range(what: str, value: Any, valid: bool) -> None:
    """Raise torch's error for an option out of its range."""
    if not valid:
        raise ValueError(f"Invalid {what}: {value}")


def check_least(what: str, value: Any, least: float = 0.0) -> None:
    """Raise the error of torch's newer optimizers for an option below its least value."""
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not value >= least:
        raise ValueError(f"{what} should be >= {least:.0f} but is: {value}")


def check_betas(betas: tuple[Any, ...]) -> None:
    """Check the decays of two running means."""
    if not isinstance(betas, (list, tuple, Tensor)):
        raise TypeError(f"betas must be two numbers in a tuple, but got {type_name(betas)}")
    if len(betas) != 2:
        raise ValueError(f"betas must be two numbers, but got {betas}")
    for index, beta in enumerate(betas):
        check_range(f"beta parameter at index {index}", beta, 0.0 <= beta < 1.0)


def check_rate(lr: Any) -> None:
    """Check a learning rate, a number or a tensor of one element."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_range("learning rate", lr, bool(lr >= 0.0))


#: The name that torch gives an option in its errors, and the values that it takes.
_OPTIONS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    name: (f"{label or name} value", lambda value: value >= 0.0)
    for name, label in {
        "alpha": "", "eps": "epsilon", "initial_accumulator_value": "", "lr_decay": "",
        "momentum": "", "momentum_decay": "", "weight_decay": "",
    }.items()
} | {"rho": ("rho value", lambda value: 0.0 <= value <= 1.0)}  # fmt: skip


def check_options(**options: Any) -> None:
    """Raise torch's errors for options that no optimizer takes, in the order that they are in."""
    for name, value in options.items():
        if name == "lr":
            check_rate(value)
        elif name == "betas":
            check_betas(value)
        else:
            label, valid = _OPTIONS[name]
            check_range(label, value, valid(value))
