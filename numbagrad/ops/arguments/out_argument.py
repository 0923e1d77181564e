"""``out`` of the functions that return new tensors and leave the writing to their public wrapper.

``argument_check.py`` gives them the argument; ``OUT`` says for each how its results are written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dtype import bool_, can_cast, scalar_type_name, uint8
from ...executor.plan.sharing import refuse_overlap
from ...tensor import Tensor
from ...type_names import type_name

__all__ = ["OUT", "call_into"]

#: By function: whether an ``out`` has the dtype of the result ("same"), one to which that can be
#: cast ("casts"), bool or uint8 ("truth"), or any ("any"), as in torch.
OUT: dict[str, str] = {
    **dict.fromkeys(
        """
        _batch_norm_with_update _chunk_cat _native_batch_norm_legit
        aminmax argmax argmin bucketize cummax cummin diag gather geqrf hardshrink histc index_add
        index_copy index_reduce index_select isin kthvalue logcumsumexp lu_unpack masked_select
        median mode msort nanmedian native_batch_norm nonzero orgqr qr quantile scatter
        scatter_add scatter_reduce
        searchsorted slice_scatter slogdet sort svd take take_along_dim threshold topk
        triangular_solve tril triu
        linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve linalg.linalg_lu lu
        linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.matrix_norm linalg.norm linalg.qr
        linalg.slogdet linalg.solve_ex linalg.svdvals linalg.vector_norm linalg.eigvalsh
        linalg.cholesky_ex linalg.eigh linalg.inv_ex linalg.svd
        amax amin frobenius_norm max min norm nuclear_norm softmax log_softmax
        nn.functional.avg_pool2d nn.functional.avg_pool3d nn.functional.gelu
        nn.functional.hardshrink nn.functional.logsigmoid
        nn.functional.softplus nn.functional.softshrink
        cholesky_inverse cholesky_solve dot inner mv nanquantile nonzero_static ormqr renorm vdot
        linalg.cond linalg.householder_product linalg.matrix_rank linalg.pinv linalg.solve
        linalg.solve_triangular linalg.tensorinv linalg.tensorsolve
        """.split(),
        "same",
    ),
    **dict.fromkeys(
        """
        diff logsumexp mean nanmean nansum prod std var special.logsumexp
        linalg.eig linalg.eigvals linalg.lstsq linalg.vecdot
        kron mvlgamma special.erfcx special.log_ndtr special.modified_bessel_i0
        special.modified_bessel_i1 special.mvlgamma special.ndtri special.zeta
        """.split(),
        "casts",
    ),
    **dict.fromkeys(("all", "any"), "truth"),
    **dict.fromkeys(("cumprod", "cumsum", "sum"), "any"),
}

#: Functions that have an ``out`` in torch where they are given a ``dim`` only.
_WITH_DIM = frozenset("sum prod median nanmedian".split())

#: Functions that compute in the dtype of ``out``, for which torch has no kernel for bools.
_NO_BOOLS = frozenset(("cumprod", "cumsum"))

#: Functions whose ``out`` may not lie in the memory of what they read, and those where it may not
#: lie in a part of it.
_READ_LATER = frozenset(
    "gather index_add index_copy index_reduce index_select kthvalue masked_select max min nonzero "
    "scatter scatter_add scatter_reduce take take_along_dim".split()
)
_READ_IN_STEP = frozenset("cumprod cumsum logcumsumexp sort topk".split())


def call_into(
    name: str,
    how: str,
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
    from .output import write_result  # built on operators that are checked themselves

    outputs = out if isinstance(out, (tuple, list)) else (out,)
    for x in outputs:
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(x)}")
    if name in _WITH_DIM and len(arguments) < 2 and not keywords.keys() & {"dim", "axis"}:
        raise TypeError(f"{name}() takes 'out' with a 'dim' only; copy_() the result into out")
    if name in _NO_BOOLS and outputs and outputs[0]._array.dtype.kind == "b":
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'; give another out")
    results = function(*arguments, **keywords)
    several = isinstance(results, tuple)
    found = results if several else (results,)
    if several is not isinstance(out, (tuple, list)) or len(found) != len(outputs):
        wanted = f"tuple of {len(found)} Tensors" if several else "Tensor"
        raise TypeError(f"{name}(): argument 'out' must be {wanted}, not {type_name(out)}")
    if name in _READ_LATER or name in _READ_IN_STEP:
        read = [x._array for x in arguments if isinstance(x, Tensor)]
        for result, x in zip(found, outputs, strict=True):
            if x._array.shape == result._array.shape:  # else it gets other memory
                refuse_overlap(x._array, read, whole=name in _READ_LATER)
    for result, x in zip(found, outputs, strict=True):
        may_be_any = how == "any" and keywords.get("dtype") is None
        is_truth = how == "truth" and x.dtype in (bool_, uint8)
        if may_be_any or is_truth or (how == "casts" and can_cast(result.dtype, x.dtype)):
            write_result(name, result.to(x.dtype), x)
        elif how == "casts":
            raise RuntimeError(
                f"{name}(): result type {scalar_type_name(result.dtype)} can't be cast to the "
                f"desired output type {scalar_type_name(x.dtype)}"
            )
        else:
            write_result(name, result, x)
    if not several:
        return out
    return type(results)._make(outputs) if hasattr(results, "_make") else tuple(outputs)
