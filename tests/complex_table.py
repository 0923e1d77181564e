"""The table of complex operators: calls, what they are given, and what NumPy says of them.

``test_complex.py`` runs every entry, ``parity/test_complex.py`` compares with torch what all other
operators do with complex tensors. An input is "z" (complex), "x" (real) or "p" (real, positive).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ComplexEntry:
    """One call: ``call(t, *tensors)`` with inputs of these kinds and shapes."""

    name: str
    call: Callable[..., Any]
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    reference: Callable[..., Any]

    def draw(self, dtype: str = "complex128", seed: int = 0) -> list[np.ndarray]:
        """Values for the inputs, away from 0 and on both sides of the branch cuts.

        Those of real inputs have the dtype of the parts of ``dtype``.
        """
        generator = np.random.default_rng(seed)
        drawn = [_drawn(generator, kind, shape) for kind, shape in self.inputs]
        part = np.dtype(dtype).type(0).real.dtype
        return [np.asarray(x, dtype if x.dtype.kind == "c" else part) for x in drawn]


def _drawn(generator: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    if kind == "p":
        return np.asarray(generator.uniform(0.5, 2.0, shape))
    made = generator.uniform(0.3, 1.5, shape) * generator.choice([-1.0, 1.0], shape)
    if kind == "x":
        return np.asarray(made)
    other = generator.uniform(0.3, 1.5, shape) * generator.choice([-1.0, 1.0], shape)
    return np.asarray(made + 1j * other)


def _unary(names: str) -> list[ComplexEntry]:
    """Functions that NumPy has under the same name, perhaps with "arc" for "a"."""
    found = []
    for name in names.split():
        known = {"sgn": "sign", "neg": "negative", "conj_physical": "conj"}.get(name, name)
        reference = getattr(np, known if hasattr(np, known) else f"arc{name[1:]}")
        found.append(
            ComplexEntry(name, lambda t, z, f=name: getattr(t, f)(z), (("z", (6,)),), reference)
        )
    return found


Z, X, P = ("z", (4,)), ("x", (4,)), ("p", (4,))

COMPLEX_ENTRIES = [
    *_unary(
        "exp exp2 expm1 log log1p log2 log10 sqrt sin cos tan asin acos atan sinh cosh tanh asinh "
        "acosh atanh reciprocal square neg abs angle sgn conj conj_physical"
    ),
    ComplexEntry("rsqrt", lambda t, z: t.rsqrt(z), (Z,), lambda z: 1 / np.sqrt(z)),
    ComplexEntry(
        "logaddexp", lambda t, a, b: t.logaddexp(a, b), (Z, Z),
        lambda a, b: a + np.log(1 + np.exp(b - a)),
    ),
    ComplexEntry("sigmoid", lambda t, z: t.sigmoid(z), (Z,), lambda z: 1 / (1 + np.exp(-z))),
    ComplexEntry("sinc", lambda t, z: t.sinc(z), (Z,), np.sinc),
    ComplexEntry("real", lambda t, z: z.real, (Z,), np.real),
    ComplexEntry("imag", lambda t, z: z.imag, (Z,), np.imag),
    ComplexEntry("add", lambda t, a, b: a + b, (Z, ("z", (3, 4))), np.add),
    ComplexEntry(
        "add-alpha", lambda t, a, b: t.add(a, b, alpha=2j), (Z, Z), lambda a, b: a + 2j * b
    ),
    ComplexEntry("sub-real", lambda t, a, b: a - b, (X, Z), np.subtract),
    ComplexEntry("mul", lambda t, a, b: a * b, (Z, ("z", (3, 4))), np.multiply),
    ComplexEntry("mul-real", lambda t, a, b: a * b, (Z, ("x", (3, 4))), np.multiply),
    ComplexEntry("mul-itself", lambda t, a: a * a, (Z,), lambda a: a * a),
    ComplexEntry("mul-number", lambda t, x: x * (2 - 1j), (X,), lambda x: x * (2 - 1j)),
    ComplexEntry("div", lambda t, a, b: a / b, (Z, Z), np.divide),
    ComplexEntry("div-real", lambda t, a, b: a / b, (X, Z), np.divide),
    ComplexEntry("rdiv", lambda t, a: (1 + 1j) / a, (Z,), lambda a: (1 + 1j) / a),
    ComplexEntry("pow", lambda t, a, b: a**b, (Z, Z), np.power),
    ComplexEntry("pow-real", lambda t, a, b: a**b, (Z, X), np.power),
    ComplexEntry("pow-of-real", lambda t, a, b: a**b, (P, Z), np.power),
    ComplexEntry("pow-number", lambda t, a: a**2.5, (Z,), lambda a: a**2.5),
    ComplexEntry("rpow", lambda t, a: 2.5**a, (Z,), lambda a: 2.5**a),
    ComplexEntry(
        "lerp", lambda t, a, b, w: t.lerp(a, b, w), (Z, Z, Z), lambda a, b, w: a + w * (b - a)
    ),
    ComplexEntry(
        "addcmul", lambda t, a, b, c: t.addcmul(a, b, c, value=2j), (Z, Z, Z),
        lambda a, b, c: a + 2j * b * c,
    ),
    ComplexEntry(
        "where", lambda t, a, b: t.where(a.abs() > 1, a, b), (Z, X),
        lambda a, b: np.where(abs(a) > 1, a, b),
    ),
    ComplexEntry("complex", lambda t, a, b: t.complex(a, b), (X, X), lambda a, b: a + 1j * b),
    ComplexEntry(
        "polar", lambda t, a, b: t.polar(a, b), (P, X), lambda a, b: a * np.exp(1j * b)
    ),
    ComplexEntry(
        "view_as_real", lambda t, z: t.view_as_real(z), (Z,),
        lambda z: np.stack([z.real, z.imag], -1),
    ),
    ComplexEntry(
        "view_as_complex", lambda t, x: t.view_as_complex(x), (("x", (3, 2)),),
        lambda x: x[:, 0] + 1j * x[:, 1],
    ),
    ComplexEntry("sum", lambda t, z: z.sum(1), (("z", (3, 4)),), lambda z: z.sum(1)),
    ComplexEntry("sum-dtype", lambda t, x: x.sum(dtype=t.complex128), (X,), lambda x: x.sum() + 0j),
    ComplexEntry("mean", lambda t, z: z.mean(), (("z", (3, 4)),), np.mean),
    ComplexEntry("prod", lambda t, z: z.prod(0), (("z", (3, 4)),), lambda z: z.prod(0)),
    ComplexEntry("cumsum", lambda t, z: z.cumsum(0), (("z", (3, 4)),), lambda z: z.cumsum(0)),
    ComplexEntry("cumprod", lambda t, z: z.cumprod(0), (("z", (3, 4)),), lambda z: z.cumprod(0)),
    ComplexEntry("var", lambda t, z: z.var(), (Z,), lambda z: z.var(ddof=1)),
    ComplexEntry("std", lambda t, z: z.std(), (Z,), lambda z: z.std(ddof=1)),
    ComplexEntry("norm", lambda t, z: z.norm(), (Z,), np.linalg.norm),
    ComplexEntry("mm", lambda t, a, b: a @ b, (("z", (2, 3)), ("z", (3, 2))), np.matmul),
    ComplexEntry(
        "bmm", lambda t, a, b: t.bmm(a, b), (("z", (2, 2, 3)), ("z", (2, 3, 2))), np.matmul
    ),
    ComplexEntry("matmul", lambda t, a, b: a @ b, (("z", (2, 2, 3)), ("z", (3, 2))), np.matmul),
    ComplexEntry("mv", lambda t, a, b: a @ b, (("z", (2, 4)), Z), np.matmul),
    ComplexEntry("dot", lambda t, a, b: t.dot(a, b), (Z, Z), np.dot),
    ComplexEntry("vdot", lambda t, a, b: t.vdot(a, b), (Z, Z), np.vdot),
    ComplexEntry(
        "vecdot", lambda t, a, b: t.linalg.vecdot(a, b), (("z", (2, 4)), ("z", (2, 4))),
        lambda a, b: (a.conj() * b).sum(-1),
    ),
    ComplexEntry("outer", lambda t, a, b: t.outer(a, b), (Z, Z), np.outer),
    ComplexEntry(
        "addmm", lambda t, a, b, c: t.addmm(a, b, c, beta=2 - 1j, alpha=1j),
        (("z", (2, 2)), ("z", (2, 3)), ("z", (3, 2))),
        lambda a, b, c: (2 - 1j) * a + 1j * (b @ c),
    ),
    ComplexEntry(
        "linear", lambda t, a, b, c: t.nn.functional.linear(a, b, c),
        (("z", (2, 3)), ("z", (4, 3)), Z), lambda a, b, c: a @ b.T + c,
    ),
    ComplexEntry(
        "einsum", lambda t, a, b: t.einsum("ij,kj->ik", a, b), (("z", (2, 3)), ("z", (4, 3))),
        lambda a, b: a @ b.T,
    ),
    ComplexEntry(
        "cross", lambda t, a, b: t.cross(a, b, dim=0), (("z", (3,)), ("z", (3,))), np.cross
    ),
    ComplexEntry(
        "conv1d", lambda t, a, b: t.nn.functional.conv1d(a[None, None], b[None, None])[0, 0],
        (("z", (5,)), ("z", (3,))), lambda a, b: np.convolve(a, b[::-1], "valid"),
    ),
    ComplexEntry(
        "conv_transpose1d",
        lambda t, a, b: t.nn.functional.conv_transpose1d(a[None, None], b[None, None])[0, 0],
        (("z", (4,)), ("z", (3,))), np.convolve,
    ),
    ComplexEntry("mH", lambda t, z: z.mH, (("z", (2, 3)),), lambda z: z.conj().T),
    ComplexEntry("indexed", lambda t, z: z[[0, 0, 2]], (Z,), lambda z: z[[0, 0, 2]]),
    ComplexEntry("cat", lambda t, a, b: t.cat([a, b]), (Z, X), lambda a, b: np.concatenate([a, b])),
    ComplexEntry("to-complex", lambda t, x: x.to(t.complex128), (X,), lambda x: x + 0j),
    ComplexEntry("to-real", lambda t, z: z.to(t.float64), (Z,), np.real),
]  # fmt: skip
