"""The operator table: one entry for every public operator, which drives all tests of operators.

`test_operators.py` runs every entry against NumPy, `parity/test_operators.py` against torch; an
entry is a call written once for both namespaces, the inputs it is given, and what NumPy says of
them. The pointwise operators enter by themselves from their definitions; a line here covers
anything else.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import numbagrad
from numbagrad.formula import print_numpy
from numbagrad.ops.definition import POINTWISE, PointwiseDefinition
from numbagrad.ops.operator import pointwise

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


# --- the pointwise operators --------------------------------------------------------------------

#: Numbers for the scalars of definitions that have no domain of their own.
SCALARS = {"exponent": 2.5, "value": 1.5, "alpha": 0.5, "nan": 0.5, "posinf": 2.0, "neginf": -2.0}

#: Inputs that the public functions restrict further than the formulas do.
SPECIAL_INPUTS = {("masked_fill", "value"): Input((), single=True)}

#: How operators are reached that have no public function of their own name. The arguments are the
#: operands of the formula in order, numbers included.
CALLS: dict[str, Callable[..., Any]] = {
    "add_scaled": lambda t, x, y, alpha: t.add(x, y, alpha=alpha),
    "sub_scaled": lambda t, x, y, alpha: t.sub(x, y, alpha=alpha),
    "rsub": lambda t, x, y, alpha: t.rsub(x, y, alpha=alpha),
    "rdiv": lambda t, x, number: number / x,
    "div_floor": lambda t, x, y: t.div(x, y, rounding_mode="floor"),
    "div_trunc": lambda t, x, y: t.div(x, y, rounding_mode="trunc"),
    "addcmul": lambda t, x, a, b, value: t.addcmul(x, a, b, value=value),
    "addcdiv": lambda t, x, a, b, value: t.addcdiv(x, a, b, value=value),
    "pow_scalar": lambda t, x, exponent: t.pow(x, exponent),
    "rpow": lambda t, x, base: t.pow(base, x),
    "pow_2": lambda t, x: t.pow(x, 2),
    "pow_3": lambda t, x: t.pow(x, 3),
    "pow_half": lambda t, x: t.pow(x, 0.5),
    "pow_minus_half": lambda t, x: t.pow(x, -0.5),
    "pow_minus_1": lambda t, x: t.pow(x, -1),
    "pow_minus_2": lambda t, x: t.pow(x, -2),
    "clamp_tensor": lambda t, x, low, high: t.clamp(x, low, high),
    "clamp_min_tensor": lambda t, x, low: t.clamp(x, min=low),
    "clamp_max_tensor": lambda t, x, high: t.clamp(x, max=high),
    "isclose": lambda t, x, y, rtol, atol: t.isclose(x, y, rtol, atol),
    "logit_clamped": lambda t, x, eps: t.logit(x, eps),
}

#: The operators behind torch.nn.functional and torch.special, whose functions have rows of their
#: own where they are defined; here the arguments are again the operands.
FUNCTIONAL: dict[str, Callable[..., Any]] = {
    "log_sigmoid": lambda t, x: t.nn.functional.logsigmoid(x),
    "hardtanh": lambda t, x, low, high: t.nn.functional.hardtanh(x, low, high),
    "leaky_relu": lambda t, x, slope: t.nn.functional.leaky_relu(x, slope),
    "threshold": lambda t, x, threshold, value: t.nn.functional.threshold(x, threshold, value),
    "elu": lambda t, x, alpha, scale, input_scale: t.ops.aten.elu(x, alpha, scale, input_scale),
    "selu": lambda t, x: t.nn.functional.selu(x),
    "celu": lambda t, x, alpha: t.nn.functional.celu(x, alpha),
    "gelu": lambda t, x: t.nn.functional.gelu(x),
    "gelu_tanh": lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
    "silu": lambda t, x: t.nn.functional.silu(x),
    "mish": lambda t, x: t.nn.functional.mish(x),
    "softplus": lambda t, x, beta, threshold: t.nn.functional.softplus(x, beta, threshold),
    "softsign": lambda t, x: t.nn.functional.softsign(x),
    "tanhshrink": lambda t, x: t.nn.functional.tanhshrink(x),
    "hardsigmoid": lambda t, x: t.nn.functional.hardsigmoid(x),
    "hardswish": lambda t, x: t.nn.functional.hardswish(x),
    "hardshrink": lambda t, x, lambd: t.nn.functional.hardshrink(x, lambd),
    "softshrink": lambda t, x, lambd: t.nn.functional.softshrink(x, lambd),
    "mse_loss": lambda t, x, y: t.nn.functional.mse_loss(x, y, reduction="none"),
    "l1_loss": lambda t, x, y: t.nn.functional.l1_loss(x, y, reduction="none"),
    "smooth_l1_loss": lambda t, x, y, beta: t.nn.functional.smooth_l1_loss(
        x, y, reduction="none", beta=beta
    ),
    "huber_loss": lambda t, x, y, delta: t.nn.functional.huber_loss(
        x, y, reduction="none", delta=delta
    ),
    "binary_cross_entropy": lambda t, x, y: t.nn.functional.binary_cross_entropy(
        x, y, reduction="none"
    ),
    "binary_cross_entropy_with_logits": lambda t, x, y: (
        t.nn.functional.binary_cross_entropy_with_logits(x, y, reduction="none")
    ),
    "binary_cross_entropy_with_logits_weighted": lambda t, x, y, weight: (
        t.nn.functional.binary_cross_entropy_with_logits(
            x, y, reduction="none", pos_weight=weight
        )
    ),
    "kl_div": lambda t, x, y: t.nn.functional.kl_div(x, y, reduction="none"),
    "kl_div_log_target": lambda t, x, y: t.nn.functional.kl_div(
        x, y, reduction="none", log_target=True
    ),
    "polygamma_1": lambda t, x: t.polygamma(1, x),
    "polygamma_2": lambda t, x: t.polygamma(2, x),
    "special_ndtr": lambda t, x: t.special.ndtr(x),
    "special_entr": lambda t, x: t.special.entr(x),
    "special_xlog1py": lambda t, x, y: t.special.xlog1py(x, y),
}


def reference_of(definition: PointwiseDefinition, dtype: str) -> Callable[..., Any]:
    """The NumPy source of a formula computing in ``dtype``, as a function of ndarrays."""
    namespace: dict[str, Any] = {}
    exec(print_numpy(definition.traced, dtype), namespace)
    return namespace["formula"]


def scalar_for(definition: PointwiseDefinition, name: str, whole: bool) -> float:
    """A number for a scalar of a definition; a whole one for integer tensors."""
    if whole:
        return 2
    low, high = definition.domain.get(name, ((0.0, 0.0),))[0]
    return SCALARS.get(name, 0.75) if low == high else (low + high) / 2


def operands_of(definition: PointwiseDefinition, tensors: tuple[Any, ...], whole: bool = False):
    """The operands of the formula in order: the tensors, and a number for every scalar."""
    rest = iter(tensors)
    return [
        scalar_for(definition, x, whole) if x in definition.scalars else next(rest)
        for x in definition.traced.inputs
    ]


def is_whole(tensors: tuple[Any, ...]) -> bool:
    """Whether no tensor (or ndarray) is of a float dtype."""
    return not any("float" in str(x.dtype) for x in tensors)


def _pointwise_entry(definition: PointwiseDefinition) -> Entry:
    name = definition.name
    formula = definition.traced
    public = CALLS.get(name) or (lambda t, *operands: getattr(t, name)(*operands))
    elsewhere = FUNCTIONAL.get(name)

    def call(t: Any, *tensors: Any) -> Any:
        operands = operands_of(definition, tensors, is_whole(tensors))
        if elsewhere is None:
            return public(t, *operands)
        return pointwise(name)(*operands) if t is numbagrad else elsewhere(t, *operands)

    def reference(*arrays: np.ndarray) -> Any:
        values = [x for x in arrays if x.dtype.kind != "b"] or list(arrays)
        dtype = np.result_type(*values).name
        if definition.result == "float" and dtype not in FLOATS:
            dtype = "float32"
        if dtype == "float16":
            dtype = "float32"
        operands = [
            np.asarray(x, bool if n in formula.booleans else dtype)
            for n, x in zip(
                formula.inputs, operands_of(definition, arrays, is_whole(arrays)), strict=True
            )
        ]
        shape = np.broadcast_shapes(*[x.shape for x in arrays])
        return np.broadcast_to(reference_of(definition, dtype)(*operands), shape)

    inputs = tuple(
        SPECIAL_INPUTS.get((name, x))
        or Input(
            intervals=definition.domain.get(x, ((-3.0, 3.0),)),
            fixed="bool" if x in formula.booleans else "",
        )
        for x in formula.inputs
        if x not in definition.scalars
    )
    return Entry(
        name,
        call,
        inputs,
        reference,
        covers=(name, *definition.aliases),
        dtypes=definition.dtypes,
        differentiable=definition.differentiable and definition.result != "bool",
        definition=definition,
    )


POINTWISE_ENTRIES = [_pointwise_entry(definition) for definition in POINTWISE.values()]


def vectorized(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A function of Python floats, on arrays."""
    return np.vectorize(function, otypes=[float])


#: What NumPy or the math module computes for the elementary functions. The kernels keep within two
#: units in the last place of these, in float32 (against float64) and in float64.
ELEMENTARY: dict[str, tuple[Callable[..., Any], tuple[float, float]]] = {
    "exp": (np.exp, (-87, 88)),
    "exp2": (np.exp2, (-125, 127)),
    "expm1": (np.expm1, (-20, 80)),
    "log": (np.log, (1e-30, 1e30)),
    "log1p": (np.log1p, (-0.9999, 100)),
    "log2": (np.log2, (1e-30, 1e30)),
    "log10": (np.log10, (1e-30, 1e30)),
    "sqrt": (np.sqrt, (0, 1e30)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (1e-30, 1e30)),
    "reciprocal": (np.reciprocal, (0.1, 1e6)),
    "sin": (np.sin, (-100, 100)),
    "cos": (np.cos, (-100, 100)),
    "tan": (np.tan, (-100, 100)),
    "asin": (np.arcsin, (-1, 1)),
    "acos": (np.arccos, (-1, 1)),
    "atan": (np.arctan, (-50, 50)),
    "sinh": (np.sinh, (-80, 80)),
    "cosh": (np.cosh, (-80, 80)),
    "tanh": (np.tanh, (-10, 10)),
    "asinh": (np.arcsinh, (-1e6, 1e6)),
    "acosh": (np.arccosh, (1, 1e6)),
    "atanh": (np.arctanh, (-1, 1)),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (-80, 80)),
    "erf": (vectorized(math.erf), (-4, 4)),
    "erfc": (vectorized(math.erfc), (-4, 9)),
}

#: NumPy's function of the same meaning, for operators whose formula is more than one.
INDEPENDENT: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in (
        "add sub mul div neg reciprocal abs sign hypot copysign pow eq ne lt le gt ge isnan isinf "
        "nextafter isfinite isposinf isneginf signbit logical_not logical_and logical_or "
        "logical_xor bitwise_not "
        "bitwise_and bitwise_or bitwise_xor where minimum maximum fmin fmax heaviside floor ceil "
        "trunc round remainder fmod floor_divide logaddexp logaddexp2 atan2 sinc deg2rad rad2deg "
        "square"
    ).split() if hasattr(np, name)},
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
    "clamp_tensor": np.clip,
    "pow_2": np.square,
    "relu": lambda x: np.maximum(x, 0),
    "mse_loss": lambda x, y: (x - y) ** 2,
    "l1_loss": lambda x, y: np.abs(x - y),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanhshrink": lambda x: x - np.tanh(x),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "log_sigmoid": lambda x: -np.logaddexp(0, -x),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "gelu": vectorized(lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2)))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "special_ndtr": vectorized(lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2)))),
    "special_entr": lambda x: -x * np.log(x),
    "special_xlog1py": lambda x, y: x * np.log1p(y),
    "xlogy": lambda x, y: x * np.log(y),
    "logit": lambda x: np.log(x) - np.log1p(-x),
    "frac": lambda x: np.modf(x)[0],
    "fix": np.trunc,
    "binary_cross_entropy": lambda x, y: -y * np.log(x) - (1 - y) * np.log1p(-x),
    "binary_cross_entropy_with_logits": lambda x, y: np.logaddexp(0, x) - x * y,
    "kl_div": lambda x, y: y * (np.log(y) - x),
    "kl_div_log_target": lambda x, y: np.exp(y) * (y - x),
    "lgamma": vectorized(math.lgamma),
    "digamma": vectorized(lambda x: (math.lgamma(x + 1e-5) - math.lgamma(x - 1e-5)) / 2e-5),
}  # fmt: skip


# --- everything else ----------------------------------------------------------------------------

ENTRIES: list[Entry] = []


def normal(*shape: int) -> Input:
    """An input without restrictions."""
    return Input(shape)


def positive(*shape: int) -> Input:
    """An input of positive numbers."""
    return Input(shape, ((0.2, 3.0),))


def condition(*shape: int) -> Input:
    """An input of truth values."""
    return Input(shape, fixed="bool")


def row(
    name: str,
    call: Callable[..., Any],
    inputs: Input | tuple[Input, ...],
    reference: Callable[..., Any],
    *,
    case: str = "",
    covers: tuple[str, ...] = (),
    **rest: Any,
) -> None:
    """Add an entry for the public function ``name``; ``case`` tells several apart."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    label = f"{name}-{case}" if case else name
    ENTRIES.append(Entry(label, call, inputs, reference, (name, *covers), **rest))


def same_function(name: str, *arguments: Any, **options: Any) -> Callable[..., Any]:
    """The public function ``name`` with these arguments after the tensors."""
    return lambda t, *tensors: getattr(t, name)(*tensors, *arguments, **options)


def on_list(name: str, *arguments: Any, **options: Any) -> Callable[..., Any]:
    """The public function ``name`` given all tensors as one list."""
    return lambda t, *tensors: getattr(t, name)(list(tensors), *arguments, **options)


def method(name: str, *arguments: Any, **options: Any) -> Callable[..., Any]:
    """The method ``name`` of the first tensor, given the others and these arguments."""
    return lambda t, x, *tensors: getattr(x, name)(*tensors, *arguments, **options)


# Matrix products

_products = functools.partial(row, dtypes="number", tolerance=1e-5)
_products("mm", same_function("mm"), (normal(3, 4), normal(4, 2)), np.matmul)
_products("bmm", same_function("bmm"), (normal(2, 3, 4), normal(2, 4, 2)), np.matmul)
_products("mv", same_function("mv"), (normal(3, 4), normal(4)), np.matmul)
_products("dot", same_function("dot"), (normal(5), normal(5)), np.dot)
_products("vdot", same_function("vdot"), (normal(5), normal(5)), np.dot)
_products("outer", same_function("outer"), (normal(3), normal(4)), np.outer)
_products("ger", same_function("ger"), (normal(3), normal(4)), np.outer)
_products("inner", same_function("inner"), (normal(2, 4), normal(3, 4)), np.inner)
for _case, _a, _b in [
    ("vectors", (4,), (4,)),
    ("matrix-vector", (3, 4), (4,)),
    ("vector-matrix", (4,), (4, 2)),
    ("matrices", (3, 4), (4, 2)),
    ("batch-matrix", (2, 3, 4), (4, 2)),
    ("matrix-batch", (3, 4), (2, 4, 2)),
    ("batch-vector", (2, 3, 4), (4,)),
    ("vector-batch", (4,), (2, 4, 3)),
    ("batches-broadcast", (2, 1, 3, 4), (3, 4, 2)),
]:
    _products("matmul", same_function("matmul"), (normal(*_a), normal(*_b)), np.matmul, case=_case)
_products(
    "tensordot",
    same_function("tensordot", dims=1),
    (normal(2, 3, 4), normal(4, 2)),
    lambda a, b: np.tensordot(a, b, 1),
    dtypes="float",
)
_products(
    "tensordot",
    same_function("tensordot", dims=([0, 2], [2, 0])),
    (normal(2, 3, 4), normal(4, 3, 2)),
    lambda a, b: np.tensordot(a, b, ([0, 2], [2, 0])),
    dtypes="float",
    case="pairs",
)
row("kron", same_function("kron"), (normal(2, 3), normal(4, 1)), np.kron)
row("kron", same_function("kron"), (normal(3), normal(2, 2)), np.kron, case="ranks")
_scaled = {"beta": 2, "alpha": 3}
_products(
    "addmm",
    same_function("addmm", **_scaled),
    (normal(3, 2), normal(3, 4), normal(4, 2)),
    lambda x, a, b: 2 * x + 3 * (a @ b),
)
_products(
    "addmm",
    same_function("addmm"),
    (normal(2), normal(3, 4), normal(4, 2)),
    lambda x, a, b: x + a @ b,
    case="bias",
)
_products(
    "addmv",
    same_function("addmv", **_scaled),
    (normal(3), normal(3, 4), normal(4)),
    lambda x, a, b: 2 * x + 3 * (a @ b),
)
_products(
    "addr",
    same_function("addr", **_scaled),
    (normal(3, 4), normal(3), normal(4)),
    lambda x, a, b: 2 * x + 3 * np.outer(a, b),
)
_products(
    "baddbmm",
    same_function("baddbmm", **_scaled),
    (normal(2, 3, 2), normal(2, 3, 4), normal(2, 4, 2)),
    lambda x, a, b: 2 * x + 3 * (a @ b),
)
_products(
    "addbmm",
    same_function("addbmm", **_scaled),
    (normal(3, 2), normal(2, 3, 4), normal(2, 4, 2)),
    lambda x, a, b: 2 * x + 3 * (a @ b).sum(0),
)
_products(
    "chain_matmul",
    same_function("chain_matmul"),
    (normal(2, 3), normal(3, 4), normal(4, 2)),
    lambda a, b, c: a @ b @ c,
    dtypes="float",
)

# Reductions

for _case, _dims, _options in [
    ("all", (), {}),
    ("one", (1,), {}),
    ("last", (-1,), {"keepdim": True}),
    ("two", ((0, 2),), {}),
]:
    _axis = {"axis": _dims[0] if _dims else None, "keepdims": _options.get("keepdim", False)}
    row(
        "sum",
        same_function("sum", *_dims, **_options),
        normal(2, 3, 4),
        functools.partial(np.sum, **_axis),
        case=_case,
    )
    row(
        "mean",
        same_function("mean", *_dims, **_options),
        normal(2, 3, 4),
        functools.partial(np.mean, **_axis),
        case=_case,
        dtypes="float",
    )

# Views

for _name, _call, _reference in [
    ("reshape", same_function("reshape", (4, 6)), lambda x: x.reshape(4, 6)),
    ("reshape", same_function("reshape", (-1, 2)), lambda x: x.reshape(-1, 2)),
    ("flatten", same_function("flatten"), np.ravel),
    ("flatten", same_function("flatten", 1), lambda x: x.reshape(2, 12)),
    ("ravel", same_function("ravel"), np.ravel),
    ("unflatten", same_function("unflatten", 2, (2, -1)), lambda x: x.reshape(2, 3, 2, 2)),
    ("transpose", same_function("transpose", 0, 2), lambda x: x.swapaxes(0, 2)),
    ("swapaxes", same_function("swapaxes", 0, 1), lambda x: x.swapaxes(0, 1)),
    ("swapdims", same_function("swapdims", 0, 1), lambda x: x.swapaxes(0, 1)),
    ("permute", same_function("permute", (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    ("movedim", same_function("movedim", 0, 2), lambda x: np.moveaxis(x, 0, 2)),
    ("moveaxis", same_function("moveaxis", (0, 1), (2, 0)),
     lambda x: np.moveaxis(x, (0, 1), (2, 0))),
    ("adjoint", same_function("adjoint"), lambda x: x.swapaxes(-1, -2)),
    ("unsqueeze", same_function("unsqueeze", 1), lambda x: x[:, None]),
    ("unsqueeze", same_function("unsqueeze", -1), lambda x: x[..., None]),
    ("narrow", same_function("narrow", 1, 1, 2), lambda x: x[:, 1:3]),
    ("select", same_function("select", 1, -1), lambda x: x[:, -1]),
    ("diagonal", same_function("diagonal", 1, 0, 2), lambda x: np.diagonal(x, 1, 0, 2)),
    ("broadcast_to", same_function("broadcast_to", (2, 2, 3, 4)),
     lambda x: np.broadcast_to(x, (2, 2, 3, 4))),
    ("as_strided", same_function("as_strided", (3, 2), (2, 1), 1),
     lambda x: np.lib.stride_tricks.as_strided(
         x.ravel()[1:], (3, 2), (2 * x.itemsize, x.itemsize))),
    ("unbind", same_function("unbind", 1), lambda x: tuple(np.moveaxis(x, 1, 0))),
    ("split", same_function("split", 2, 2), lambda x: tuple(np.split(x, 2, 2))),
    ("split", same_function("split", [1, 3], 2), lambda x: tuple(np.split(x, [1], 2))),
    ("split_with_sizes", same_function("split_with_sizes", [1, 3], 2),
     lambda x: tuple(np.split(x, [1], 2))),
    ("chunk", same_function("chunk", 2, 1), lambda x: tuple(np.split(x, [2], 1))),
    ("tensor_split", same_function("tensor_split", 3, 2),
     lambda x: tuple(np.array_split(x, 3, 2))),
    ("unsafe_split", same_function("unsafe_split", 2, 2), lambda x: tuple(np.split(x, 2, 2))),
    ("unsafe_split_with_sizes", same_function("unsafe_split_with_sizes", (1, 3), 2),
     lambda x: tuple(np.split(x, [1], 2))),
    ("unsafe_chunk", same_function("unsafe_chunk", 2, 1), lambda x: tuple(np.split(x, [2], 1))),
    ("hsplit", same_function("hsplit", 3), lambda x: tuple(np.hsplit(x, 3))),
    ("vsplit", same_function("vsplit", 2), lambda x: tuple(np.vsplit(x, 2))),
    ("dsplit", same_function("dsplit", 2), lambda x: tuple(np.dsplit(x, 2))),
    ("atleast_1d", same_function("atleast_1d"), np.atleast_1d),
    ("atleast_2d", same_function("atleast_2d"), np.atleast_2d),
    ("atleast_3d", same_function("atleast_3d"), np.atleast_3d),
    ("clone", same_function("clone"), np.copy),
    ("flip", same_function("flip", (0, 2)), lambda x: np.flip(x, (0, 2))),
    ("fliplr", same_function("fliplr"), np.fliplr),
    ("flipud", same_function("flipud"), np.flipud),
    ("roll", same_function("roll", 1), lambda x: np.roll(x, 1)),
    ("roll", same_function("roll", (1, -2), (0, 2)), lambda x: np.roll(x, (1, -2), (0, 2))),
    ("rot90", same_function("rot90", 1, (1, 2)), lambda x: np.rot90(x, 1, (1, 2))),
    ("tril", same_function("tril", 1), lambda x: np.tril(x, 1)),
    ("triu", same_function("triu", -1), lambda x: np.triu(x, -1)),
    ("diag_embed", same_function("diag_embed"), lambda x: x[..., None] * np.eye(4, dtype=x.dtype)),
    ("diagflat", same_function("diagflat"), np.diagflat),
    ("tile", same_function("tile", (2, 1)), lambda x: np.tile(x, (2, 1))),
    ("repeat_interleave", same_function("repeat_interleave", 2, dim=1),
     lambda x: np.repeat(x, 2, 1)),
    ("repeat_interleave", same_function("repeat_interleave", 2), lambda x: np.repeat(x, 2)),
    ("view", method("view", 6, 4), lambda x: x.reshape(6, 4)),
    ("expand", method("expand", 2, -1, -1, -1), lambda x: np.broadcast_to(x, (2, 2, 3, 4))),
    ("repeat", method("repeat", 2, 1, 2, 1), lambda x: np.tile(x, (2, 1, 2, 1))),
    ("unfold", method("unfold", 2, 2, 1),
     lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 2)),
    ("contiguous", method("contiguous"), np.copy),
    ("sum_to_size", method("sum_to_size", 3, 1), lambda x: x.sum((0, 2)).reshape(3, 1)),
    ("mT", lambda t, x: x.mT, lambda x: x.swapaxes(-1, -2)),
]:  # fmt: skip
    _number = sum(entry.covers == (_name,) for entry in ENTRIES)
    _kind = "number" if _name in ("sum_to_size", "tile") else "any"
    row(_name, _call, normal(2, 3, 4), _reference, case=str(_number or ""), dtypes=_kind)

row("t", same_function("t"), normal(3, 4), np.transpose)
row("T", lambda t, x: x.T, normal(3, 4), np.transpose)
row("squeeze", same_function("squeeze"), normal(1, 3, 1), np.squeeze)
row("squeeze", same_function("squeeze", 0), normal(1, 3, 1), lambda x: x[0], case="one")
row("diag", same_function("diag", 1), normal(3), lambda x: np.diag(x, 1), case="make")
row("diag", same_function("diag", -1), normal(3, 3), lambda x: np.diag(x, -1), case="take")
row("view_as", method("view_as"), (normal(2, 6), normal(3, 4)), lambda x, y: x.reshape(3, 4))
row("reshape_as", method("reshape_as"), (normal(2, 6), normal(3, 4)), lambda x, y: x.reshape(3, 4))
row("expand_as", method("expand_as"), (normal(1, 4), normal(3, 4)),
    lambda x, y: np.broadcast_to(x, (3, 4)))  # fmt: skip
row("broadcast_tensors", same_function("broadcast_tensors"), (normal(3, 1), normal(4)),
    lambda x, y: tuple(np.broadcast_arrays(x, y)))  # fmt: skip
row("meshgrid", same_function("meshgrid", indexing="ij"), (normal(2), normal(3)),
    lambda x, y: tuple(np.meshgrid(x, y, indexing="ij")))  # fmt: skip
row("meshgrid", same_function("meshgrid", indexing="xy"), (normal(2), normal(3)),
    lambda x, y: tuple(np.meshgrid(x, y)), case="xy")  # fmt: skip

# Joining

for _name in ("cat", "concat", "concatenate"):
    row(_name, on_list(_name, 1), (normal(2, 3), normal(2, 1), normal(2, 2)),
        lambda *arrays: np.concatenate(arrays, 1))  # fmt: skip
row("stack", on_list("stack", -1), (normal(2, 3), normal(2, 3)), lambda a, b: np.stack((a, b), -1))
row("hstack", on_list("hstack"), (normal(2, 3), normal(2, 1)), lambda a, b: np.hstack((a, b)))
for _name in ("vstack", "row_stack"):
    row(_name, on_list(_name), (normal(2, 3), normal(3)), lambda a, b: np.vstack((a, b)))
row("dstack", on_list("dstack"), (normal(2, 3), normal(2, 3)), lambda a, b: np.dstack((a, b)))
row("column_stack", on_list("column_stack"), (normal(2, 3), normal(2)),
    lambda a, b: np.column_stack((a, b)))  # fmt: skip
row("block_diag", same_function("block_diag"), (normal(2, 3), normal(1, 2)),
    lambda a, b: np.pad(a, ((0, 1), (0, 2))) + np.pad(b, ((2, 0), (3, 0))))  # fmt: skip

# Reductions. Ties make places ambiguous, so what returns places is tested on floats alone.


def with_places(best: Callable[..., Any], place: Callable[..., Any]) -> Callable[..., Any]:
    """A reference that returns values and indices along dimension 1."""
    return lambda x: (best(x, axis=1), place(x, axis=1))


for _name, _numpy in [("all", np.all), ("any", np.any), ("count_nonzero", np.count_nonzero)]:
    row(_name, same_function(_name), normal(2, 3), _numpy, differentiable=False)
    row(_name, same_function(_name, 1), normal(2, 3, 2), functools.partial(_numpy, axis=1),
        case="dim", differentiable=False)  # fmt: skip
for _name, _numpy in [("prod", np.prod), ("amax", np.max), ("amin", np.min)]:
    row(_name, same_function(_name), normal(2, 3), _numpy, dtypes="number")
    row(_name, same_function(_name, 1), normal(2, 3, 2), functools.partial(_numpy, axis=1),
        case="dim", dtypes="number")  # fmt: skip
for _name, _numpy in [("nansum", np.nansum), ("nanmean", np.nanmean)]:
    row(_name, same_function(_name, 1), normal(2, 3), functools.partial(_numpy, axis=1),
        dtypes="float")  # fmt: skip
for _name, _numpy, _place, _pairwise in [
    ("max", np.max, np.argmax, np.maximum),
    ("min", np.min, np.argmin, np.minimum),
]:
    row(_name, same_function(_name), normal(2, 3), _numpy, dtypes="number")
    row(_name, same_function(_name, 1), normal(2, 5), with_places(_numpy, _place),
        case="dim", dtypes="float")  # fmt: skip
    row(_name, same_function(_name), (normal(2, 3), normal(3)), _pairwise,
        case="two", dtypes="float")  # fmt: skip
    row(f"arg{_name}", same_function(f"arg{_name}", 1), normal(3, 4),
        functools.partial(_place, axis=1), dtypes="float", differentiable=False)  # fmt: skip
row("aminmax", same_function("aminmax", dim=1), normal(2, 3), lambda x: (x.min(1), x.max(1)),
    dtypes="number")  # fmt: skip
row("median", same_function("median"), normal(7), np.median, dtypes="float")
row("median", same_function("median", 1), normal(2, 5),
    lambda x: (np.median(x, 1), np.argsort(x, 1)[:, 2]), case="dim", dtypes="float")  # fmt: skip
row("nanmedian", same_function("nanmedian"), normal(7), np.nanmedian, dtypes="float")

_statistic = functools.partial(row, dtypes="float", tolerance=1e-5)
for _name, _numpy in [("var", np.var), ("std", np.std)]:
    _statistic(_name, same_function(_name), normal(2, 3), functools.partial(_numpy, ddof=1))
    _statistic(_name, same_function(_name, 1, correction=0, keepdim=True), normal(2, 4),
               functools.partial(_numpy, axis=1, keepdims=True), case="dim")  # fmt: skip
    _statistic(f"{_name}_mean", same_function(f"{_name}_mean", 0), normal(3, 2),
               lambda x, _numpy=_numpy: (_numpy(x, 0, ddof=1), x.mean(0)))  # fmt: skip
_statistic("logsumexp", same_function("logsumexp", 1), normal(2, 4),
           lambda x: np.log(np.exp(x).sum(1)))  # fmt: skip
_statistic("norm", same_function("norm"), normal(2, 4), np.linalg.norm)
for _order in (2, 1, 3.5, 0, float("inf"), -float("inf")):
    _statistic("norm", same_function("norm", _order, 1), normal(2, 4),
               lambda x, _order=_order: np.linalg.norm(x, _order, 1), case=str(_order))  # fmt: skip


def _softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum(1, keepdims=True)


_statistic("softmax", same_function("softmax", 1), normal(2, 4), _softmax)
_statistic("softmax", same_function("softmax", 1), normal(2, 3, 2), _softmax, case="middle")
_statistic("log_softmax", same_function("log_softmax", 1), normal(2, 4),
           lambda x: np.log(_softmax(x)))  # fmt: skip

# Scans

row("cumsum", same_function("cumsum", 1), normal(2, 4), lambda x: np.cumsum(x, 1), tolerance=1e-5)
row("cumprod", same_function("cumprod", 1), normal(2, 4), lambda x: np.cumprod(x, 1),
    tolerance=1e-5)  # fmt: skip
row("logcumsumexp", same_function("logcumsumexp", 1), normal(2, 4),
    lambda x: np.log(np.cumsum(np.exp(x), 1)), dtypes="float", tolerance=1e-5)  # fmt: skip


def _extreme_so_far(extreme: Any) -> Callable[..., Any]:
    """The running extreme along dimension 1, and where it was found."""

    def reference(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        best = extreme.accumulate(x, 1)
        return best, np.maximum.accumulate(np.where(x == best, np.arange(x.shape[1]), 0), 1)

    return reference


row("cummax", same_function("cummax", 1), normal(2, 5), _extreme_so_far(np.maximum), dtypes="float")
row("cummin", same_function("cummin", 1), normal(2, 5), _extreme_so_far(np.minimum), dtypes="float")

# Order

row("sort", same_function("sort", 1), normal(2, 5), with_places(np.sort, np.argsort),
    dtypes="float")  # fmt: skip
row("sort", same_function("sort", 1, True), normal(2, 5),
    lambda x: (np.sort(x, 1)[:, ::-1], np.argsort(x, 1)[:, ::-1]),
    case="descending", dtypes="float")  # fmt: skip
row("msort", same_function("msort"), normal(5, 2), lambda x: np.sort(x, 0))
row("argsort", same_function("argsort", 1), normal(2, 5), lambda x: np.argsort(x, 1),
    dtypes="float", differentiable=False)  # fmt: skip
row("topk", same_function("topk", 2), normal(2, 5),
    lambda x: (np.sort(x, 1)[:, :2:-1], np.argsort(x, 1)[:, :2:-1]), dtypes="float")  # fmt: skip
row("kthvalue", same_function("kthvalue", 2, 1), normal(2, 5),
    lambda x: (np.sort(x, 1)[:, 1], np.argsort(x, 1)[:, 1]), dtypes="float")  # fmt: skip

# Indexing

_rows = [2, 0, 2]
_places = [[0, 2], [1, 1], [2, 0]]
_mask = condition(3, 4)
row("index_select", lambda t, x: t.index_select(x, 1, t.tensor(_rows)), normal(2, 3),
    lambda x: x[:, _rows])  # fmt: skip
row("gather", lambda t, x: t.gather(x, 1, t.tensor(_places)), normal(3, 3),
    lambda x: np.take_along_axis(x, np.array(_places), 1))  # fmt: skip
row("take_along_dim", lambda t, x: t.take_along_dim(x, t.tensor(_places), 1), normal(3, 3),
    lambda x: np.take_along_axis(x, np.array(_places), 1))  # fmt: skip
row("take", lambda t, x: t.take(x, t.tensor(_places)), normal(3, 3), lambda x: x.ravel()[_places])
row("masked_select", same_function("masked_select"), (normal(3, 4), _mask), lambda x, m: x[m])
row("getitem", lambda t, x: x[1:, ::2], normal(3, 4), lambda x: x[1:, ::2], case="slices")
row("getitem", lambda t, x: x[..., None, -1], normal(3, 4), lambda x: x[..., None, -1],
    case="ellipsis")  # fmt: skip
row("getitem", lambda t, x: x[t.tensor(_rows)], normal(3, 4), lambda x: x[_rows], case="rows")
row("getitem", lambda t, x: x[t.tensor(_rows), :, t.tensor([1, 1, 0])], normal(3, 2, 2),
    lambda x: x[_rows, :, [1, 1, 0]], case="apart")  # fmt: skip
row("getitem", lambda t, x, m: x[m], (normal(3, 4), condition(3)), lambda x, m: x[m], case="mask")
row("nonzero", same_function("nonzero"), _mask, np.argwhere, differentiable=False,
    dtypes="integral")  # fmt: skip
row("argwhere", same_function("argwhere"), _mask, np.argwhere, differentiable=False,
    dtypes="integral")  # fmt: skip
row("embedding", lambda t, weight: t.embedding(weight, t.tensor(_places)), normal(3, 4),
    lambda weight: weight[_places], dtypes="float")  # fmt: skip


def changed(change: Callable[..., Any]) -> Callable[..., Any]:
    """A reference that changes a copy of its first array."""

    def reference(x: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        copy = x.copy()
        change(copy, *rest)
        return copy

    return reference


_distinct = [[0, 2], [1, 0], [2, 0]]
_at = (np.arange(3)[:, None], np.array(_places))
_columns = (slice(None), [2, 0])
row("scatter", lambda t, x, y: t.scatter(x, 1, t.tensor(_distinct), y),
    (normal(3, 3), normal(3, 2)),
    changed(lambda x, y: np.put_along_axis(x, np.array(_distinct), y, 1)))  # fmt: skip
row("scatter_add", lambda t, x, y: t.scatter_add(x, 1, t.tensor(_places), y),
    (normal(3, 3), normal(3, 2)), changed(lambda x, y: np.add.at(x, _at, y)),
    dtypes="number")  # fmt: skip
for _reduce, _numpy in [("sum", np.add), ("prod", np.multiply), ("amax", np.maximum),
                        ("amin", np.minimum)]:  # fmt: skip
    row("scatter_reduce",
        lambda t, x, y, _reduce=_reduce: t.scatter_reduce(x, 1, t.tensor(_places), y, _reduce),
        (normal(3, 3), normal(3, 2)),
        changed(lambda x, y, _numpy=_numpy: _numpy.at(x, _at, y)),
        case=_reduce, dtypes="number")  # fmt: skip
row("index_add", lambda t, x, y: t.index_add(x, 1, t.tensor(_rows), y),
    (normal(2, 3), normal(2, 3)),
    changed(lambda x, y: np.add.at(x, (slice(None), _rows), y)), dtypes="number")  # fmt: skip
for _reduce, _numpy in [("prod", np.multiply), ("amax", np.maximum), ("amin", np.minimum)]:
    row("index_reduce",
        lambda t, x, y, _reduce=_reduce: t.index_reduce(x, 1, t.tensor(_rows), y, _reduce),
        (normal(2, 3), normal(2, 3)),
        changed(lambda x, y, _numpy=_numpy: _numpy.at(x, (slice(None), _rows), y)),
        case=_reduce, dtypes="number")  # fmt: skip
row("index_copy", lambda t, x, y: t.index_copy(x, 1, t.tensor([2, 0]), y),
    (normal(2, 3), normal(2, 2)), changed(lambda x, y: x.__setitem__(_columns, y)))  # fmt: skip
row("index_fill", lambda t, x: t.index_fill(x, 1, t.tensor([2, 0]), 1), normal(2, 3),
    changed(lambda x: x.__setitem__(_columns, 1)))  # fmt: skip
row("index_put", lambda t, x, y: t.index_put(x, (t.tensor([2, 0]),), y),
    (normal(3, 4), normal(2, 4)), changed(lambda x, y: x.__setitem__([2, 0], y)))  # fmt: skip
row("masked_scatter", same_function("masked_scatter"), (normal(3, 4), _mask, normal(12)),
    changed(lambda x, mask, y: x.__setitem__(mask, y[: mask.sum()])))  # fmt: skip

row("select_scatter", same_function("select_scatter", 1, -1), (normal(3, 4), normal(3)),
    changed(lambda x, y: x.__setitem__((slice(None), -1), y)))  # fmt: skip
row("slice_scatter", same_function("slice_scatter", 1, 1, 4, 2), (normal(3, 4), normal(3, 2)),
    changed(lambda x, y: x.__setitem__((slice(None), slice(1, 4, 2)), y)))  # fmt: skip
row("diagonal_scatter", same_function("diagonal_scatter", 1), (normal(3, 4), normal(3)),
    changed(lambda x, y: x.__setitem__(([0, 1, 2], [1, 2, 3]), y)))  # fmt: skip

# Differences, order and counts

row("diff", same_function("diff"), normal(2, 5), np.diff)
row("diff", same_function("diff", 2, 0), normal(4, 3), lambda x: np.diff(x, 2, 0), case="twice",
    dtypes="number")  # fmt: skip
row("diff", lambda t, x, y: t.diff(x, prepend=y, append=y), (normal(2, 3), normal(2, 1)),
    lambda x, y: np.diff(x, prepend=y, append=y), case="ends", dtypes="number")  # fmt: skip
row("mode", lambda t, x: t.mode(x - x % 1, 1), normal(2, 9),
    lambda x: _modes(np.floor(x)), dtypes="float")  # fmt: skip
row("quantile", same_function("quantile", 0.3), normal(3, 4), lambda x: np.quantile(x, 0.3),
    dtypes="matrix", tolerance=1e-5)  # fmt: skip
for _how in ("linear", "lower", "higher", "midpoint", "nearest"):
    row("quantile",
        lambda t, x, _how=_how: t.quantile(
            x, t.tensor([0.15, 0.5, 0.9], dtype=x.dtype), 1, interpolation=_how),
        normal(2, 5), lambda x, _how=_how: np.quantile(x, [0.15, 0.5, 0.9], 1, method=_how),
        case=_how, dtypes="matrix", tolerance=1e-5)  # fmt: skip


def _modes(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The most frequent number of each row, the least of several, and where it occurs last."""
    values, places = [], []
    for numbers in rows:
        distinct, counts = np.unique(numbers, return_counts=True)
        values.append(distinct[counts.argmax()])
        places.append(np.flatnonzero(numbers == values[-1])[-1])
    return np.array(values), np.array(places)


row("bincount", lambda t, x: t.bincount(abs(x), minlength=9), normal(7),
    lambda x: np.bincount(abs(x), minlength=9), dtypes="integer", differentiable=False)  # fmt: skip
row("histc", same_function("histc", 4, -2, 2), normal(20),
    lambda x: np.histogram(x, 4, (-2, 2))[0].astype(x.dtype), dtypes="matrix",
    differentiable=False)  # fmt: skip
row("isin", lambda t, x: t.isin(x, x[:2]), normal(5), lambda x: np.isin(x, x[:2]),
    dtypes="number", differentiable=False)  # fmt: skip

# Linear algebra. Matrices are made regular, and symmetric ones positive definite.


def regular(t: Any, x: Any) -> Any:
    """Matrices with a dominating diagonal."""
    return x + 9 * t.eye(x.shape[-1], dtype=x.dtype)


def definite(t: Any, x: Any) -> Any:
    """Symmetric matrices with positive eigenvalues."""
    return x @ (x.mT if hasattr(x, "mT") else x.swapaxes(-1, -2)) + t.eye(x.shape[-1],
                                                                      dtype=x.dtype)


_matrices = functools.partial(row, dtypes="matrix", tolerance=1e-4)
_square = normal(2, 3, 3)
_matrices("inverse", lambda t, x: t.inverse(regular(t, x)), _square,
          lambda x: np.linalg.inv(regular(np, x)), covers=("linalg_inv",))  # fmt: skip
_matrices("det", lambda t, x: t.det(regular(t, x)), _square,
          lambda x: np.linalg.det(regular(np, x)))  # fmt: skip
_matrices("slogdet", lambda t, x: tuple(t.slogdet(regular(t, x))), _square,
          lambda x: tuple(np.linalg.slogdet(regular(np, x))))  # fmt: skip
_matrices("logdet", lambda t, x: t.logdet(regular(t, x)), _square,
          lambda x: np.linalg.slogdet(regular(np, x))[1])  # fmt: skip
_matrices("cholesky", lambda t, x: t.linalg.cholesky(definite(t, x)), _square,
          lambda x: np.linalg.cholesky(definite(np, x)))  # fmt: skip
_matrices("linalg_solve", lambda t, x, y: t.linalg.solve(regular(t, x), y), (_square, normal(3, 2)),
          lambda x, y: np.linalg.solve(regular(np, x), y))  # fmt: skip
_matrices("linalg_solve", lambda t, x, y: t.linalg.solve(regular(t, x), y),
          (normal(3, 3), normal(3)), lambda x, y: np.linalg.solve(regular(np, x), y),
          case="vector")  # fmt: skip
_matrices("linalg_solve_triangular",
          lambda t, x, y: t.linalg.solve_triangular(regular(t, x), y, upper=True),
          (normal(3, 3), normal(3, 2)),
          lambda x, y: np.linalg.solve(np.triu(regular(np, x)), y))  # fmt: skip
for _power in (3, -2):
    _matrices("matrix_power",
              lambda t, x, _power=_power: t.matrix_power(regular(t, x), _power), normal(3, 3),
              lambda x, _power=_power: np.linalg.matrix_power(regular(np, x), _power),
              case=str(_power))  # fmt: skip
# Eigenvectors and singular vectors are given up to their signs.
_matrices("linalg_eigh",
          lambda t, x: (lambda w, v: (w, v * v))(*t.linalg.eigh(definite(t, x))), normal(3, 3),
          lambda x: (lambda w, v: (w, v * v))(*np.linalg.eigh(definite(np, x))))  # fmt: skip
for _shape in ((4, 3), (2, 3)):
    _matrices("linalg_svd",
              lambda t, x: (lambda u, s, v: (u * u, s, v * v))(*t.linalg.svd(x, False)),
              normal(*_shape),
              lambda x: (lambda u, s, v: (u * u, s, v * v))(*np.linalg.svd(x, False)),
              case=f"{_shape[0]}x{_shape[1]}")  # fmt: skip
for _shape in ((4, 3), (2, 3), (2, 3, 3)):
    _matrices("linalg_qr", lambda t, x: tuple(t.linalg.qr(x)), normal(*_shape),
              lambda x: tuple(np.linalg.qr(x)), case="x".join(map(str, _shape)))  # fmt: skip
_matrices("linalg_qr", lambda t, x: tuple(t.linalg.qr(x, "complete")), normal(2, 3),
          lambda x: tuple(np.linalg.qr(x, "complete")), case="complete")  # fmt: skip
for _order in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")):
    _matrices("linalg_matrix_norm",
              lambda t, x, _order=_order: t.linalg.matrix_norm(x, _order), normal(2, 3, 4),
              lambda x, _order=_order: np.linalg.norm(x, _order, (-2, -1)),
              case=str(_order))  # fmt: skip
_matrices("linalg_norm", lambda t, x: t.linalg.norm(x, 3, 1), normal(2, 4),
          lambda x: np.linalg.norm(x, 3, 1))  # fmt: skip
_matrices("linalg_multi_dot", lambda t, *x: t.linalg.multi_dot(x),
          (normal(2, 3), normal(3, 5), normal(5)), lambda *x: np.linalg.multi_dot(x))  # fmt: skip
row("trace", same_function("trace"), normal(3, 4), np.trace, dtypes="number")
row("cross", same_function("cross", dim=1), (normal(2, 3), normal(2, 3)), np.cross,
    dtypes="number")  # fmt: skip
for _equation, *_shapes in [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("bn,anm,bm->ba", (2, 5), (3, 5, 4), (2, 4)),
    ("...ij,...jk", (2, 2, 3), (3, 4)),
    ("iij,j->i", (2, 2, 3), (3,)),
    ("ij,k->kij", (2, 3), (4,)),
    ("ii", (3, 3)),
    ("ij->ji", (2, 3)),
]:
    row("einsum", lambda t, *x, _equation=_equation: t.einsum(_equation, *x),
        tuple(normal(*_shape) for _shape in _shapes),
        lambda *x, _equation=_equation: np.einsum(_equation, *x), case=_equation, dtypes="number",
        tolerance=1e-5)  # fmt: skip
for _p in (1.0, 1.5, 2.0, 3.0, float("inf")):
    row("cdist", same_function("cdist", _p), (normal(4, 3), normal(2, 5, 3)),
        lambda x, y, _p=_p: np.linalg.norm(x[..., :, None, :] - y[..., None, :, :], _p, -1),
        case=str(_p), dtypes="matrix", tolerance=1e-4)  # fmt: skip
row("cdist", same_function("cdist"), (normal(30, 3), normal(2, 3)),
    lambda x, y: np.linalg.norm(x[:, None] - y, axis=-1), case="product", dtypes="matrix",
    tolerance=1e-4)  # fmt: skip
for _p in (1.0, 1.5, 2.0, 3.0, float("inf")):
    row("pdist", same_function("pdist", _p), normal(4, 3),
        lambda x, _p=_p: np.linalg.norm(x[:, None] - x, _p, -1)[np.triu_indices(4, 1)],
        case=str(_p), dtypes="matrix", tolerance=1e-4)  # fmt: skip
row("dist", same_function("dist", 3), (normal(3, 4), normal(4)),
    lambda x, y: np.linalg.norm((x - y).ravel(), 3), dtypes="float", tolerance=1e-4)  # fmt: skip
_matrices("cov", same_function("cov"), normal(3, 5), np.cov)
_matrices("corrcoef", same_function("corrcoef"), normal(3, 5), np.corrcoef)
row("float_power", same_function("float_power", 3), normal(4), lambda x: np.float_power(x, 3),
    dtypes="double")  # fmt: skip

# Layers that are functions of the namespace

row("linear", lambda t, x, w, b: t.nn.functional.linear(x, w, b),
    (normal(3, 4), normal(2, 4), normal(2)), lambda x, w, b: x @ w.T + b,
    dtypes="float", tolerance=1e-5)  # fmt: skip
row("softmin", lambda t, x: (t if t is numbagrad else t.nn.functional).softmin(x, 1), normal(2, 4),
    lambda x: _softmax(-x), dtypes="float", tolerance=1e-5)  # fmt: skip
row("subtract", same_function("subtract"), (normal(3), normal(3)), np.subtract, dtypes="number")
row("positive", same_function("positive"), normal(3), np.copy, dtypes="number")


# --- tensors beside Python numbers, and tensors of other dtypes -----------------------------------

#: ``call(t, tensor, number)``.
WITH_NUMBER = {
    "add": lambda t, x, n: x + n,
    "radd": lambda t, x, n: n + x,
    "sub": lambda t, x, n: x - n,
    "rsub": lambda t, x, n: n - x,
    "mul": lambda t, x, n: x * n,
    "div": lambda t, x, n: x / n,
    "rdiv": lambda t, x, n: n / x,
    "floor_divide": lambda t, x, n: x // n,
    "remainder": lambda t, x, n: x % n,
    "fmod": lambda t, x, n: t.fmod(x, n),
    "pow": lambda t, x, n: x**n,
    "rpow": lambda t, x, n: n**x,
    "lt": lambda t, x, n: x < n,
    "eq": lambda t, x, n: x == n,
    "and": lambda t, x, n: x & n,
    "where": lambda t, x, n: t.where(x > 1, x, n),
    "where_numbers": lambda t, x, n: t.where(x > 1, n, 1.5),
    "masked_fill": lambda t, x, n: t.masked_fill(x, x > 1, n),
    "clamp": lambda t, x, n: t.clamp(x, n, 4),
    "clamp_min": lambda t, x, n: t.clamp(x, min=n),
    "clamp_max": lambda t, x, n: t.clamp(x, max=n),
    "addcmul": lambda t, x, n: t.addcmul(x, x, x, value=n),
    "add_alpha": lambda t, x, n: t.add(x, x, alpha=n),
    "copysign": lambda t, x, n: t.copysign(x, n),
    "xlogy": lambda t, x, n: t.xlogy(x, n),
    "mul_zero_dim": lambda t, x, n: x * t.tensor(n),
    "pow_zero_dim": lambda t, x, n: x ** t.tensor(n),
    "where_zero_dim": lambda t, x, n: t.where(x > 1, x, t.tensor(n)),
    "mul_double": lambda t, x, n: x * t.tensor([n], dtype=t.float64),
    "mul_double_zero_dim": lambda t, x, n: x * t.tensor(n, dtype=t.float64),
    "mul_byte": lambda t, x, n: x * t.tensor([3], dtype=t.uint8),
    "add_": lambda t, x, n: x.clone().add_(n),
    "div_": lambda t, x, n: x.clone().div_(n),
    "pow_": lambda t, x, n: x.clone().pow_(n),
    "remainder_": lambda t, x, n: x.clone().remainder_(n),
}


# --- public names without an entry ----------------------------------------------------------------

#: Modules of numbagrad.ops whose functions are no operators, and what they are.
NO_OPERATORS = {
    "creation": "makes tensors filled with a number",
    "from_data": "makes tensors from numbers and arrays",
    "sequences": "makes sequences of numbers",
    "random": "draws random numbers",
    "query": "answers questions about tensors",
    "legacy": "names of torch's older interface",
    "user_kernel": "makes operators of the loops that users write",
}

#: Public functions that no entry covers, and why.
NO_ENTRY = {
    **{name: "of complex tensors: complex_table.py has its entries"
       for name in ("complex", "conj", "conj_physical", "detach", "imag", "is_conj", "is_neg",
                    "isreal", "polar", "real", "resolve_conj", "resolve_neg", "view_as_complex",
                    "view_as_real")},
    "index_put_": "writes in place; index_put covers what it computes",
    "bucketize": "counts in a sorted sequence; see the tests of sorting",
    "searchsorted": "counts in a sorted sequence; see the tests of sorting",
    "lobpcg": "some of what eigh computes, which has an entry; see the tests of linalg",
    "unique": "a result of any size; see the tests of sorting",
    "unique_consecutive": "a result of any size; see the tests of sorting",
}
