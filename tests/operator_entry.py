"""One entry of the operator table: a call of an operator, the inputs it is given, what NumPy says.

The modules ``operators_<family>.py`` hold the entries, ``operator_table.py`` collects them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from numbagrad.ops.operators.definition import PointwiseDefinition

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")

#: The dtypes that each word of a definition's ``dtypes`` admits.
ADMITTED = {
    "any": (*FLOATS, *INTEGERS, "bool"),
    "number": (*FLOATS, *INTEGERS),
    "float": FLOATS,
    "integral": (*INTEGERS, "bool"),
    "integer": INTEGERS,
    "matrix": ("float32", "float64"),
    "double": ("float64",),
}


@dataclass(frozen=True)
class Input:
    """What a tensor argument is drawn from: a shape, the intervals of its domain, and its dtype.

    A `fixed` dtype is kept whatever dtype is tested (conditions, indices); such inputs have no
    gradient. A `single` input is never drawn with another shape than its own.
    """

    shape: tuple[int, ...] = (5,)
    intervals: tuple[tuple[float, float], ...] = ((-3.0, 3.0),)
    fixed: str = ""
    single: bool = False

    def draw(
        self, generator: np.random.Generator, dtype: str, shape: tuple[int, ...] | None = None
    ) -> np.ndarray:
        """Values of the domain, in ``dtype`` (or the fixed one) and ``shape`` (or its own)."""
        shape = self.shape if shape is None or self.single else shape
        dtype = self.fixed or dtype
        if dtype == "bool":
            return np.asarray(generator.random(shape) < 0.5)
        if dtype in FLOATS:
            which = generator.integers(0, len(self.intervals), shape)
            low, high = np.moveaxis(np.array(self.intervals)[which], -1, 0)
            return np.asarray(generator.uniform(low, high), dtype)
        whole = [n for n in range(-4, 5) if any(a <= n <= b for a, b in self.intervals)]
        if dtype == "uint8":
            whole = [n for n in whole if n >= 0]
        return np.asarray(generator.choice(whole or [1, 2, 3], shape), dtype)


@dataclass(frozen=True)
class Entry:
    """One call of one operator.

    Attributes:
        name: how the tests name it.
        call: ``call(t, *tensors)``, ``t`` being ``numbagrad`` or ``torch``.
        inputs: the tensors it is called with.
        reference: the same on ndarrays.
        covers: the public names this entry tests.
        dtypes: which dtypes the operator takes, a key of `ADMITTED`.
        differentiable: whether the results carry gradients.
        tolerance: relative, of float32 against the reference in float64.
    """

    name: str
    call: Callable[..., Any]
    inputs: tuple[Input, ...]
    reference: Callable[..., Any]
    covers: tuple[str, ...]
    dtypes: str = "any"
    differentiable: bool = True
    tolerance: float = 2e-6
    definition: PointwiseDefinition | None = None

    def admits(self, dtype: str) -> bool:
        """Whether the operator takes tensors of ``dtype``."""
        return dtype in ADMITTED[self.dtypes]

    def draw(self, dtype: str, seed: int = 0) -> list[np.ndarray]:
        """One ndarray for every input."""
        generator = np.random.default_rng(seed)
        return [x.draw(generator, dtype) for x in self.inputs]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """The results of an operator, one or several."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)
