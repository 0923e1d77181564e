"""The operator table: one entry for every public operator, which drives all tests of operators.

`test_operators.py` runs every entry against NumPy, `parity/test_operators.py` against torch; an
entry is a call written once for both namespaces, the inputs it is given, and what NumPy says of
them. The pointwise operators enter by themselves from their definitions; a line of a module
``operators_<family>.py`` covers anything else.
"""

from __future__ import annotations

import operators_decompositions  # noqa: F401
import operators_fourier  # noqa: F401
import operators_indexing  # noqa: F401
import operators_layers  # noqa: F401
import operators_products  # noqa: F401
import operators_rare  # noqa: F401
import operators_reductions  # noqa: F401
import operators_shapes  # noqa: F401
from operator_rows import ENTRIES
from operators_pointwise import POINTWISE_ENTRIES

__all__ = ["ENTRIES", "NO_ENTRY", "NO_OPERATORS", "POINTWISE_ENTRIES", "WITH_NUMBER"]


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

#: Modules of numbagrad.ops whose functions are no operators, and what they are.
NO_OPERATORS = {
    "filled": "makes tensors filled with a number",
    "from_data": "makes tensors from numbers and arrays",
    "from_memory": "makes tensors of memory that others own",
    "sequences": "makes sequences of numbers",
    "random": "draws random numbers",
    "query": "answers questions about tensors",
    "legacy": "names of torch's older interface",
    "older_names": "other names of operators of the table, and a tensor in a file",
    "removed_functions": "raise, and say what to call",
    "method_functions": "methods of Tensor as functions; what they compute is in the table",
    "foreach": "operators of the table on lists of tensors; test_foreach.py runs each",
    "lazy_conj": "conjugates and negatives that are not computed yet; of complex tensors",
    "view_copies": "copies of what views show, which are in the table",
    "windows": "makes tensors of one formula; see test_fourier.py",
    "user_kernel": "makes operators of the loops that users write",
}

#: Public functions that no entry covers, and why.
NO_ENTRY = {
    **{
        name: "of complex tensors: complex_table.py has its entries"
        for name in (
            "complex",
            "conj",
            "conj_physical",
            "detach",
            "imag",
            "is_conj",
            "is_neg",
            "isreal",
            "polar",
            "real",
            "resolve_conj",
            "resolve_neg",
            "view_as_complex",
            "view_as_real",
        )
    },
    "broadcast_shapes": "takes and returns shapes; see test_view.py",
    "index_put_": "writes in place; index_put covers what it computes",
    "bucketize": "counts in a sorted sequence; see the tests of sorting",
    "searchsorted": "counts in a sorted sequence; see the tests of sorting",
    "histogram": "counts in bins; see test_rare_operators.py",
    "histogramdd": "counts in bins; see test_dispatcher_functions.py",
    "nonzero_static": "places of elements; see test_dispatcher_functions.py",
    "unravel_index": "places as places; see test_rare_operators.py",
    "geqrf": "the decomposition of qr, which has an entry; see the tests of linalg",
    "svd_lowrank": "svd of a random sketch; see test_missing_operators.py",
    "pca_lowrank": "svd of a random sketch; see test_missing_operators.py",
    "lobpcg": "some of what eigh computes, which has an entry; see the tests of linalg",
    "unique": "a result of any size; see the tests of sorting",
    "unique_consecutive": "a result of any size; see the tests of sorting",
}
