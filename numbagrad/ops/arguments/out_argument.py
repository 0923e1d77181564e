"""``out`` of the functions that return new tensors and leave the writing to their public wrapper.

``check.py`` gives them the argument; ``OUT`` says for each how its results are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ...autocast_state import restored
from ...autocast_state import state as autocast
from ...dtype import bool_, scalar_type_name, uint8
from ...dtype import from_numpy as dtype_of
from ...tensor import Tensor
from ...type_names import type_name
from .output import require_output, write_result
from .requirements import numpy_dtype, refuse_gradients, write

__all__ = ["OUT", "Rule", "call_into"]


@dataclass(frozen=True)
class Rule:
    """How a result is written into ``out``, as in torch.

    Attributes:
        dtype: whether an ``out`` has the dtype of the result ("same"), one to which that can be
            cast ("casts"), bool or uint8 ("truth"), or any ("any"); "made" for functions that make
            tensors, which do so in the dtype of ``out`` and on its device.
        reads: how many of the Tensors that are read may not lie in the memory of ``out``.
        whole: whether they may not lie in all of it either, but in a part.
        uncastable: the class of the error of a dtype to which the result cannot be cast.
        tensors: how many arguments have to be Tensors, which might be numbers without ``out``.
        needs_dim: whether torch has an ``out`` only where a ``dim`` is given.
        bools: whether there is a kernel for an ``out`` of bools.
        integers: with "any", whether integers are computed in the dtype of ``out`` too; those that
            are not are refused by the function.
        floats: whether floats have a kernel for an ``out`` of floats only.
        elementwise: how many Tensors a call has that computes element by element, so that ``out``
            may be one of them, or what the result is cast to; 0 if there are no such calls.
    """

    dtype: str = "same"
    reads: int = 0
    whole: bool = False
    uncastable: type[Exception] = RuntimeError
    tensors: int = 0
    needs_dim: bool = False
    bools: bool = True
    integers: bool = True
    floats: bool = False
    elementwise: int = 0


_ALL = 1 << 30
_JOINED = Rule("casts", _ALL, whole=True, uncastable=TypeError)

#: The rules, by function; those of a namespace under its name.
OUT: dict[str, Rule] = {}
for _rule, _names in (
    (
        Rule(),
        """
        _batch_norm_with_update _chunk_cat _native_batch_norm_legit
        aminmax argmax argmin bucketize cummax cummin diag geqrf hardshrink histc
        isin lu_unpack msort native_batch_norm orgqr qr quantile
        searchsorted slice_scatter slogdet svd threshold
        triangular_solve tril triu mode
        linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve linalg.linalg_lu lu
        linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.matrix_norm linalg.norm linalg.qr
        linalg.slogdet linalg.solve_ex linalg.svdvals linalg.vector_norm linalg.eigvalsh
        linalg.cholesky_ex linalg.eigh linalg.inv_ex linalg.svd
        amax amin frobenius_norm norm nuclear_norm softmax log_softmax
        nn.functional.avg_pool2d nn.functional.avg_pool3d nn.functional.gelu
        nn.functional.hardshrink nn.functional.logsigmoid
        nn.functional.softplus nn.functional.softshrink
        cholesky_inverse cholesky_solve float_power dot inner mv nanquantile nonzero_static ormqr
        renorm vdot linalg.cond linalg.householder_product linalg.matrix_rank linalg.pinv
        linalg.solve linalg.solve_triangular linalg.tensorinv linalg.tensorsolve
        linalg.cholesky cholesky linalg.inv inverse linalg.matrix_power matrix_power
        linalg.det linalg.linalg_det linalg.cross cross linalg.lu_solve
        linalg.linalg_lu_solve lu_solve linalg.multi_dot chain_matmul tensordot
        mm bmm matmul linalg.matmul frexp histogram
        fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft
        fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.hfft2 fft.ihfft2
        fft.fftn fft.ifftn fft.rfftn fft.irfftn fft.hfftn fft.ihfftn
        """,
    ),
    (
        Rule(reads=_ALL, whole=True),
        """
        gather index_add index_copy index_reduce index_select kthvalue masked_select nonzero
        scatter scatter_add scatter_reduce take take_along_dim
        """,
    ),
    (Rule(reads=_ALL, whole=True, elementwise=2), "max min"),
    (Rule(reads=_ALL), "sort topk logcumsumexp addr complex polar conj_physical"),
    (Rule(reads=_ALL, tensors=3), "where"),
    (Rule(reads=1), "addmm addmv baddbmm addbmm"),
    (Rule(needs_dim=True), "median nanmedian"),
    (
        Rule("casts"),
        """
        diff logsumexp nanmean std var special.logsumexp
        linalg.eig linalg.eigvals linalg.lstsq linalg.vecdot
        kron mvlgamma outer special.erfcx special.log_ndtr special.modified_bessel_i0
        special.modified_bessel_i1 special.mvlgamma special.ndtri special.zeta
        special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1
        special.modified_bessel_k0 special.modified_bessel_k1 special.scaled_modified_bessel_k0
        special.scaled_modified_bessel_k1 special.spherical_bessel_j0
        special.chebyshev_polynomial_t special.chebyshev_polynomial_u
        special.chebyshev_polynomial_v special.chebyshev_polynomial_w
        special.hermite_polynomial_h special.hermite_polynomial_he special.laguerre_polynomial_l
        special.legendre_polynomial_p special.shifted_chebyshev_polynomial_t
        special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v
        special.shifted_chebyshev_polynomial_w
        """,
    ),
    (
        Rule("casts", _ALL),
        """
        gcd lcm ldexp polygamma special.polygamma i0 special.i0 special.i0e special.i1 special.i1e
        igamma igammac special.igamma special.igammac
        """,
    ),
    (
        Rule("made"),
        """
        arange empty eye full linspace logspace normal ones rand randint randn randperm range zeros
        fft.fftfreq fft.rfftfreq
        """,
    ),
    (_JOINED, "cat stack hstack vstack dstack column_stack"),
    (Rule("truth"), "all any"),
    (Rule("any", _ALL, bools=False), "cumprod cumsum"),
    (Rule("any", needs_dim=True), "sum prod"),
    (Rule("any", integers=False), "mean"),
    (Rule("any", floats=True), "nansum"),
):
    OUT.update(dict.fromkeys(_names.split(), _rule))


def _without_autocast(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Call a function as autocast does that is given an ``out``: it leaves such calls alone."""
    with restored(autocast.settings._replace(enabled=frozenset())):
        return function(*arguments, **keywords)


def call_into(
    name: str,
    rule: Rule,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    out: Any,
) -> Any:
    """Call a function and write its result, or all of several, into ``out``.

    Raises:
        TypeError: if ``out`` is no Tensor, or not as many as there are results.
        RuntimeError: if a dtype is refused, or autograd would have to follow.
    """
    outputs = out if isinstance(out, (tuple, list)) and rule.dtype != "made" else (out,)
    for x in outputs:
        require_output(name, x)
    if rule.dtype == "made":
        return _made_into(name, function, arguments, keywords, out)
    if rule.needs_dim and len(arguments) < 2 and not keywords.keys() & {"dim", "axis"}:
        raise TypeError(f"{name}() takes 'out' with a 'dim' only; copy_() the result into out")
    if not rule.bools and outputs and outputs[0]._array.dtype.kind == "b":
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'; give another out")
    read = _tensors_of((*arguments, *keywords.values()))[: rule.reads] if rule.reads else ()
    if len(read) < rule.tensors:
        raise TypeError(f"{name}() takes 'out' with Tensors only; make them of numbers by tensor()")
    if rule.dtype == "any" and keywords.get("dtype") is None and outputs:
        keywords = _with_dtype_of(name, rule, arguments, keywords, outputs[0])
    if autocast.settings.enabled:
        results = _without_autocast(function, arguments, keywords)
    else:
        results = function(*arguments, **keywords)
    several = isinstance(results, tuple)
    found = results if several else (results,)
    if several is not isinstance(out, (tuple, list)) or len(found) != len(outputs):
        wanted = f"tuple of {len(found)} Tensors" if several else "Tensor"
        raise TypeError(f"{name}(): argument 'out' must be {wanted}, not {type_name(out)}")
    by_element = rule.elementwise > 0 and len(read) == rule.elementwise
    for result, x in zip(found, outputs, strict=True):
        if rule.dtype == "truth" and x.dtype in (bool_, uint8):
            result = result.to(x.dtype)
        write_result(
            name, result, x, casts=rule.dtype == "casts" or by_element, reads=read,
            uncastable=rule.uncastable, whole=rule.whole and not by_element,
        )  # fmt: skip
    if not several:
        return out
    return type(results)._make(outputs) if hasattr(results, "_make") else tuple(outputs)


def _with_dtype_of(
    name: str, rule: Rule, arguments: tuple[Any, ...], keywords: dict[str, Any], out: Tensor
) -> dict[str, Any]:
    """The keywords of a function that computes in the dtype of ``out``, too.

    Raises:
        NotImplementedError: for floats, where there is no kernel for this ``out``.
    """
    input = _tensors_of((*arguments, *keywords.values()))[:1]
    if input and input[0].dtype.has_fractions:
        takes_floats = rule.floats and input[0].dtype.is_floating_point
        if takes_floats and not out.dtype.is_floating_point:
            kind = scalar_type_name(out.dtype)
            raise NotImplementedError(f"\"{name}\" not implemented for '{kind}'; give another out")
    elif not rule.integers:
        return keywords
    return {**keywords, "dtype": out.dtype}


def _made_into(
    name: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    out: Tensor,
) -> Tensor:
    """Call a function that makes a tensor for the dtype and the device of ``out``, and write that.

    Raises:
        RuntimeError: if ``out`` is of another dtype than is asked for, or autograd would follow.
    """
    refuse_gradients(name, out)
    given = keywords.get("dtype")
    if given is not None and numpy_dtype(name, given) != out._array.dtype:
        asked = scalar_type_name(dtype_of(numpy_dtype(name, given)))
        raise RuntimeError(
            f"{name}(): dtype {asked} does not match dtype of out parameter "
            f"({scalar_type_name(out.dtype)}); leave dtype out"
        )
    like_out = {"dtype": out.dtype, "device": out.device, "requires_grad": False}
    made = function(*arguments, **{**keywords, **like_out})
    refuse_gradients(name, made)
    return write(out, made._array)


def _tensors_of(given: Iterable[Any]) -> list[Tensor]:
    """The Tensors among arguments, and in lists of them."""
    found: list[Tensor] = []
    for x in given:
        if isinstance(x, Tensor):
            found.append(x)
        elif isinstance(x, (list, tuple)):
            found += [each for each in x if isinstance(each, Tensor)]
    return found
