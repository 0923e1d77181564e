"""``torch.quasirandom``: points that fill a cube more evenly than random ones (Sobol, 1967).

A point is the exclusive or of direction numbers, one for each bit of its number in Gray code, so
that the next point differs from it by one of them. Scrambling multiplies the bits of every
dimension by a random triangular matrix and adds a random shift (Owen; Matousek, 1998).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .dtype import get_default_dtype
from .ops.creation.from_memory import from_numpy
from .ops.creation.random import randint
from .random import Generator
from .sobol_numbers import INITIAL
from .tensor import Tensor

__all__ = ["SobolEngine"]

_BITS = 30
#: As many as there are direction numbers for.
_DIMENSIONS = 256

Array = np.ndarray[Any, Any]


def _product(a: int, b: int, polynomial: int, degree: int) -> int:
    """The product of two polynomials over two elements, modulo a third."""
    result = 0
    while b:
        result ^= a if b & 1 else 0
        b >>= 1
        a <<= 1
        a ^= polynomial if a >> degree & 1 else 0
    return result


def _power_of_x(exponent: int, polynomial: int, degree: int) -> int:
    result, base = 1, 2
    while exponent:
        result = _product(result, base, polynomial, degree) if exponent & 1 else result
        base = _product(base, base, polynomial, degree)
        exponent >>= 1
    return result


def _prime_factors(number: int) -> list[int]:
    found, factor = [], 2
    while number > 1:
        if number % factor == 0:
            found.append(factor)
            while number % factor == 0:
                number //= factor
        factor += 1
    return found


def _primitive_polynomials() -> Iterator[tuple[int, int]]:
    """Primitive polynomials over two elements, by degree: x has as many powers as remainders."""
    yield 3, 1
    degree = 1
    while True:
        degree += 1
        order = (1 << degree) - 1
        shorter = [order // factor for factor in _prime_factors(order)]
        for middle in range(1 << (degree - 1)):
            polynomial = 1 << degree | middle << 1 | 1
            if _power_of_x(order, polynomial, degree) == 1 and all(
                _power_of_x(each, polynomial, degree) != 1 for each in shorter
            ):
                yield polynomial, degree


def _directions_of(polynomial: int, degree: int, first: list[int]) -> list[int]:
    """All direction numbers of a dimension, from its first ones."""
    numbers = list(first)
    for j in range(degree, _BITS):
        new = numbers[j - degree] ^ numbers[j - degree] << degree
        for k in range(1, degree):
            if polynomial >> (degree - k) & 1:
                new ^= numbers[j - k] << k
        numbers.append(new)
    return [number << (_BITS - 1 - j) for j, number in enumerate(numbers)]


@functools.cache
def _directions() -> Array:
    """Direction numbers of all dimensions; those of the first are powers of two."""
    given = iter(map(int, INITIAL.split()))
    polynomials = _primitive_polynomials()
    rows = [[1 << (_BITS - 1 - j) for j in range(_BITS)]]
    while len(rows) < _DIMENSIONS:
        polynomial, degree = next(polynomials)
        rows.append(_directions_of(polynomial, degree, [next(given) for _ in range(degree)]))
    return np.array(rows, np.int64)


class SobolEngine:
    """A Sobol sequence in the unit cube.

    Args:
        dimension: of the points, up to 256 (torch has 21201).
        scramble: whether the sequence is randomized.
        seed: of the randomization; by default the default generator.

    Raises:
        ValueError: for another dimension.
    """

    MAXBIT = _BITS
    MAXDIM = _DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self._directions = _directions()[:dimension].copy()
        self._shift = np.zeros(dimension, np.int64)
        if scramble:
            self._randomize()
        self.reset()

    def _randomize(self) -> None:
        generator = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        drawn = randint(2, (self.dimension, _BITS), generator=generator).numpy()
        self._shift = (drawn << np.arange(_BITS)).sum(-1)
        shape = (self.dimension, _BITS, _BITS)
        matrices = np.tril(randint(2, shape, generator=generator).numpy())
        positions = np.arange(_BITS)
        matrices[:, positions, positions] = 1
        # Bits of direction numbers, the highest first, as the columns of the matrices.
        bits = self._directions[..., None] >> np.arange(_BITS - 1, -1, -1) & 1
        scrambled = np.einsum("dpk,djk->djp", matrices, bits) % 2
        self._directions = (scrambled << np.arange(_BITS - 1, -1, -1)).sum(-1)

    def reset(self) -> SobolEngine:
        """Start again."""
        self._point = self._shift.copy()
        self.num_generated = 0
        return self

    def _step(self) -> None:
        """Go to the next point."""
        number = self.num_generated
        lowest_zero = (~number & number + 1).bit_length() - 1
        self._point = self._point ^ self._directions[:, lowest_zero]
        self.num_generated += 1

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next ``n`` points, of shape ``(n, dimension)``."""
        points = np.empty((n, self.dimension), np.int64)
        for i in range(n):
            points[i] = self._point
            self._step()
        kind = get_default_dtype() if dtype is None else dtype
        result = from_numpy(points / (1 << _BITS)).to(kind)
        if out is None:
            return result
        return out.resize_(result.shape).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next ``2**m`` points, after which the sequence is balanced.

        Raises:
            ValueError: if the points so far, and these, are not a power of two.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require "
                f"n to be a power of 2. {self.num_generated} points have been "
                f"previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave ``n`` points out."""
        for _ in range(n):
            self._step()
        return self

    def __repr__(self) -> str:
        text = [f"dimension={self.dimension}"]
        if self.scramble:
            text.append("scramble=True")
        if self.seed is not None:
            text.append(f"seed={self.seed}")
        return f"{self.__class__.__name__}({', '.join(text)})"
