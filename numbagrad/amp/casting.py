"""Which functions autocast casts the arguments of, and how a function comes to do so.

The lists are torch's for the CPU. Without autocast a call of these functions costs what it did
before there was any of this: the first context that is entered gives them other code, in place, so
that whoever holds such a function, a method, an import or a layer, has the one that casts. What
they call themselves is cast no further.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from ..autocast_state import Settings, state
from ..autograd.grad_mode import state as grad_mode
from ..dtype import dtype as DType
from ..dtype import float32, float64, promote_types
from ..executor import capture
from ..ops.conversion import cast
from ..tensor import Tensor

#: Computed in the lower dtype, by the module that defines them.
LOWER = {
    "ops.matmul": ("bmm", "matmul", "mm"),
    "linalg": ("vecdot",),
    "ops.added_products": ("addbmm", "addmm", "baddbmm"),
    "nn.functional.linear": ("linear",),
    "nn.functional.convolution": (
        "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    ),
    "nn.functional.activation": ("prelu",),
    "nn.functional.attention": ("scaled_dot_product_attention",),
}  # fmt: skip
#: Computed in float32.
FLOAT32 = {
    "ops.reduction": ("prod",),
    "ops.distance": ("cdist",),
    "ops.sorting": ("quantile",),
    "ops.complex_numbers": ("polar", "view_as_complex"),
    "ops.linear_algebra": (
        "cholesky", "eigh", "eigvalsh", "inv", "inverse", "solve", "svd", "svdvals", "trace",
    ),
    "ops.qr": ("qr",),
    "ops.older_linear_algebra": (
        "cholesky_ex", "cholesky_inverse", "cholesky_solve", "inv_ex", "qr", "svd",
        "triangular_solve",
    ),
    "ops.matrix_functions": (
        "eig", "eigvals", "geqrf", "householder_product", "orgqr", "ormqr", "tensorinv",
        "tensorsolve",
    ),
    "ops.least_squares": ("cond", "lstsq", "matrix_rank", "pinverse"),
    "ops.lu": ("lu", "lu_solve"),
    "nn.functional.loss": (
        "binary_cross_entropy", "binary_cross_entropy_with_logits", "huber_loss", "kl_div",
        "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss",
    ),
    "nn.functional.margin_loss": (
        "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss",
        "multi_margin_loss", "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss",
    ),
    "nn.functional.class_loss": ("cross_entropy", "nll_loss"),
    "nn.functional.sequence_loss": ("ctc_loss",),
    "nn.functional.padding": ("pad_by_neighbours",),
    "nn.functional.pooling": (
        "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "max_pool3d",
    ),
}  # fmt: skip
#: Computed in the widest dtype of their arguments, and in none narrower than the lower one.
WIDEST = {
    "ops.join": ("cat", "stack"),
    "ops.index_write": ("index_copy",),
}
#: What torch computes without a product, and this library with one: their products are not cast.
AS_THEY_ARE = {
    "nn.functional.pooling": ("adaptive_avg_pool1d", "adaptive_avg_pool2d"),
    "nn.functional.resampling": ("interpolate",),
    "ops.matrix_functions": ("matrix_exp",),
}


def _functions(names: dict[str, tuple[str, ...]]) -> Iterable[FunctionType]:
    for module, each in names.items():
        home = importlib.import_module(f"numbagrad.{module}")
        for name in each:
            yield getattr(home, name)


@functools.lru_cache(maxsize=1)
def install() -> None:
    """Let the functions of the lists cast from now on, where autocast is on."""
    policies = (
        (LOWER, _lower), (FLOAT32, _to_float32), (WIDEST, _to_widest), (AS_THEY_ARE, _unchanged),
    )  # fmt: skip
    found = [(list(_functions(names)), policy) for names, policy in policies]
    for functions, policy in found:
        for function in functions:
            _give_code(function, policy)


Policy = Callable[[DType, list[Tensor]], Callable[[Tensor], Tensor]]


def _give_code(function: FunctionType, policy: Policy) -> None:
    """Let a function call one that casts the arguments, and then does what it did so far."""
    original = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    original.__kwdefaults__ = function.__kwdefaults__
    function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    key = f"__autocast_{id(function)}"
    function.__globals__[key] = functools.partial(_call, original, policy)
    # New code has to have as many free variables as the old one.
    free = function.__code__.co_freevars
    use = f"({', '.join(free)},)" if free else "pass"
    source = (
        f"def outer({', '.join(free)}):\n"
        f"    def inner(*args, **kwargs):\n"
        f"        if False: {use}\n"
        f"        return {key}(args, kwargs)\n"
        f"    return inner\n"
    )
    namespace: dict[str, Any] = {}
    exec(compile(source, __file__, "exec"), namespace)
    code = namespace["outer"](*free).__code__
    function.__code__ = code.replace(co_name=function.__name__)


def _call(
    original: Callable[..., Any], policy: Policy, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The function; where this thread casts, on arguments that are cast."""
    settings = state.settings
    lower = settings.lower
    if lower is None or kwargs.get("out") is not None:
        return original(*args, **kwargs)
    found: list[Tensor] = []
    for value in (*args, *kwargs.values()):
        if isinstance(value, Tensor):
            found.append(value)
        elif value.__class__ is list or value.__class__ is tuple:
            found += [x for x in value if isinstance(x, Tensor)]
    return _call_cast(original, policy(lower, found), args, kwargs)


def _call_cast(
    original: Callable[..., Any],
    cast: Callable[[Tensor], Tensor],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """The function on arguments that are cast. What it calls is part of it, and casts nothing."""
    settings = state.settings
    state.settings = settings._replace(enabled=frozenset())
    try:
        named = {name: _cast_argument(value, cast) for name, value in kwargs.items()}
        return original(*[_cast_argument(value, cast) for value in args], **named)
    finally:
        state.settings = settings


def _cast_argument(value: Any, cast: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return cast(value)
    if value.__class__ is list or value.__class__ is tuple:
        return value.__class__([cast(x) if isinstance(x, Tensor) else x for x in value])
    return value


def _eligible(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and tensor.dtype is not float64


def _lower(lower: DType, tensors: list[Tensor]) -> Callable[[Tensor], Tensor]:
    caches = state.settings.caches

    def converted(tensor: Tensor) -> Tensor:
        if not _eligible(tensor) or tensor.dtype is lower:
            return tensor
        if caches and _lasts(tensor):
            return _remembered(tensor, lower)
        return cast(tensor, lower.numpy)

    return converted


def _to_float32(lower: DType, tensors: list[Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: cast(x, float32.numpy) if _eligible(x) else x


def _to_widest(lower: DType, tensors: list[Tensor]) -> Callable[[Tensor], Tensor]:
    widest = functools.reduce(promote_types, [x.dtype for x in tensors if _eligible(x)], lower)
    return lambda x: cast(x, widest.numpy) if _eligible(x) else x


def _unchanged(lower: DType, tensors: list[Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: x


# --- leaves that are cast once --------------------------------------------------------------------


def _lasts(tensor: Tensor) -> bool:
    """Whether a tensor is cast once in a context: a weight, in short.

    A program casts at each run, since it cannot look at what others have cast.
    """
    return (
        tensor.requires_grad
        and tensor.is_leaf
        and tensor.dtype is float32
        and not tensor._is_view()
        and not capture.is_recording()
    )


def _remembered(tensor: Tensor, lower: DType) -> Tensor:
    """The tensor in the lower dtype: what was made of it before, unless it was written since.

    What was made while nothing was recorded has no history, and is not for those who record.
    """
    key = id(tensor), lower, grad_mode.enabled
    found = state.cache.get(key)
    if found is not None and found[0] is tensor and found[1] == tensor._version:
        return found[2]
    made = cast(tensor, lower.numpy)
    state.cache[key] = tensor, tensor._version, made
    return made


__all__ = ["AS_THEY_ARE", "FLOAT32", "LOWER", "WIDEST", "Settings", "install"]
