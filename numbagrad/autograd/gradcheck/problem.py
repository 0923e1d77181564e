"""Shared by the checks of ``gradcheck``: the problem to check, its error, reading of tensors.

``__init__.py`` makes a ``Problem``; ``jacobians.py``, ``comparison.py`` and
``properties.py`` look at it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import tensor_interface as interface

__all__ = [
    "GradcheckError", "Problem", "as_tuple", "is_differentiable", "parts_of_inputs",
    "parts_of_results", "show", "wrap",
]  # fmt: skip


class GradcheckError(RuntimeError):
    """Raised by ``gradcheck`` and ``gradgradcheck`` if a check fails."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """A function at a point, and how exact its gradients must be.

    Attributes:
        func: takes the inputs, returns a tensor or a tuple.
        inputs: all arguments.
        results: what ``func`` returned at ``inputs``, recorded.
        eps: the step of the differences.
        atol, rtol: tolerances between differences and gradients, as in ``allclose``.
        nondet_tol: how far two runs of backward may be apart.
        check_grad_dtypes: refuse a gradient of another dtype than its input.
        masked: accept gradients that are almost zero where zeros are due.
        part: "real" or "imaginary" if only that part of complex results, or of complex inputs in
            forward mode, is looked at.
        parted: which results, or inputs, that concerns.
    """

    func: Callable[..., Any]
    inputs: tuple[Any, ...]
    results: tuple[Any, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_grad_dtypes: bool
    masked: bool
    part: str = ""
    parted: tuple[int, ...] = ()

    @property
    def wanted(self) -> list[int]:
        """Which arguments are differentiated."""
        return [i for i, value in enumerate(self.inputs) if is_differentiable(value)]

    @property
    def variables(self) -> list[Any]:
        """The arguments that are differentiated."""
        return [self.inputs[i] for i in self.wanted]

    @property
    def differentiable(self) -> list[int]:
        """Which results have a gradient."""
        return [i for i, value in enumerate(self.results) if is_differentiable(value)]

    @property
    def outputs(self) -> list[Any]:
        """The results that have a gradient."""
        return [self.results[i] for i in self.differentiable]

    def call(self, inputs: Any) -> tuple[Any, ...]:
        """The results of the function at other inputs, as a tuple."""
        return as_tuple(self.func(*inputs))


def parts_of_results(problem: Problem) -> list[Problem]:
    """The problem, or one for each part of complex results: gradients are of real numbers."""
    complex_ones = tuple([i for i, value in enumerate(problem.results) if _is_complex(value)])
    if not complex_ones:
        return [problem]
    parted = tuple([i for i, x in enumerate(problem.outputs) if x._array.dtype.kind == "c"])

    def of(part: str, attribute: str) -> Problem:
        def function(*inputs: Any) -> tuple[Any, ...]:
            return tuple(
                [getattr(x, attribute) if _is_complex(x) else x for x in problem.call(inputs)]
            )

        results = tuple([getattr(x, attribute) if _is_complex(x) else x for x in problem.results])
        return dataclasses.replace(
            problem, func=function, results=results, part=part, parted=parted
        )

    return [of("imaginary", "imag"), of("real", "real")]


def parts_of_inputs(problem: Problem) -> list[Problem]:
    """The problem, or one for each part of complex inputs: steps are along real numbers."""
    complex_ones = [i for i, value in enumerate(problem.inputs) if _is_complex(value)]
    if not complex_ones:
        return [problem]
    parted = tuple([j for j, i in enumerate(problem.wanted) if i in complex_ones])

    def of(part: str, attribute: str) -> Problem:
        def function(*parts: Any) -> Any:
            whole = list(parts)
            for i in complex_ones:
                if attribute == "real":
                    whole[i] = parts[i] + problem.inputs[i].imag * 1j
                else:
                    whole[i] = problem.inputs[i].real + parts[i] * 1j
            return problem.func(*whole)

        inputs = tuple([getattr(x, attribute) if _is_complex(x) else x for x in problem.inputs])
        results = as_tuple(function(*inputs))
        return dataclasses.replace(
            problem, func=function, inputs=inputs, results=results, part=part, parted=parted
        )

    return [of("imaginary", "imag"), of("real", "real")]


def _is_complex(value: Any) -> bool:
    return isinstance(value, interface.Tensor) and value._array.dtype.kind == "c"


def as_tuple(values: Any) -> tuple[Any, ...]:
    """A tuple of a tuple or a list, or of one value."""
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def is_differentiable(value: Any) -> bool:
    """Return True for a tensor that requires grad."""
    return isinstance(value, interface.Tensor) and value._requires_grad


def differentiable(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values that are."""
    return tuple([value for value in values if is_differentiable(value)])


def wrap(array: np.ndarray[Any, Any]) -> Any:
    """A tensor of an ndarray, which it shares."""
    return interface.new_tensor(array, False, None, 0)


def show(array: Any) -> str:
    """An ndarray or a number as the text of a tensor."""
    return str(wrap(np.asarray(array)))
