"""Entries of the pointwise operators, from their definitions; here is what those do not say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy_formulas import print_numpy
from operator_entry import FLOATS, Entry, Input

import numbagrad
from numbagrad.ops.operators.definition import POINTWISE, PointwiseDefinition
from numbagrad.ops.operators.pointwise_operator import pointwise

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
    "prelu": lambda t, x, weight: t.nn.functional.prelu(x, weight),
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
        t.nn.functional.binary_cross_entropy_with_logits(x, y, reduction="none", pos_weight=weight)
    ),
    "kl_div": lambda t, x, y: t.nn.functional.kl_div(x, y, reduction="none"),
    "kl_div_log_target": lambda t, x, y: t.nn.functional.kl_div(
        x, y, reduction="none", log_target=True
    ),
    "polygamma_1": lambda t, x: t.polygamma(1, x),
    "polygamma_2": lambda t, x: t.polygamma(2, x),
    **{
        name: lambda t, *x, name=name: getattr(t.special, name.removeprefix("special_"))(*x)
        for name in POINTWISE
        if name.startswith("special_")
    },
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
    return [next(rest) if x is None else x for x in _numbers_of(definition, whole)]


def _numbers_of(definition: PointwiseDefinition, whole: bool) -> list[float | None]:
    """A number for every scalar of the formula, and None for every tensor."""
    return [
        scalar_for(definition, x, whole) if x in definition.scalars else None
        for x in definition.traced.inputs
    ]


def is_whole(tensors: tuple[Any, ...]) -> bool:
    """Whether no tensor (or ndarray) is of a float dtype."""
    return not any("float" in str(x.dtype) for x in tensors)


def _of_name(name: str) -> Callable[..., Any]:
    return lambda t, *operands: getattr(t, name)(*operands)


def _pointwise_entry(definition: PointwiseDefinition) -> Entry:
    name = definition.name
    formula = definition.traced
    public = CALLS.get(name) or FUNCTIONAL.get(name) or _of_name(name)
    # What is called reaches no definition and no register: compile would watch all of these.
    numbers = [_numbers_of(definition, whole) for whole in (False, True)]
    own = pointwise(name) if name in FUNCTIONAL else None

    def call(t: Any, *tensors: Any) -> Any:
        rest = iter(tensors)
        operands = [next(rest) if x is None else x for x in numbers[is_whole(tensors)]]
        if own is not None and t is numbagrad:
            return own(*operands)
        return public(t, *operands)

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


def bessel(order: int, x: np.ndarray) -> np.ndarray:
    """The modified Bessel function by its power series."""
    return sum(
        (x / 2) ** (2 * k + order) / (math.factorial(k) * math.factorial(k + order))
        for k in range(60)
    )


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
    "i0": np.i0,
    "special_i0e": lambda x: np.i0(x) * np.exp(-np.abs(x)),
    "special_i1": lambda x: bessel(1, x),
    "special_i1e": lambda x: bessel(1, x) * np.exp(-np.abs(x)),
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
