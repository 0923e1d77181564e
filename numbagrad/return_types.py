"""The named tuples that some operators return, as ``torch.return_types``.

Made here, filled by the operators of ``ops/``.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

__all__ = [
    "aminmax", "cummax", "cummin", "kthvalue", "linalg_eigh", "linalg_qr", "linalg_svd", "max",
    "median", "min", "mode", "nanmedian", "slogdet", "sort", "topk",
]  # fmt: skip


def _named(name: str, *fields: str) -> Any:
    make: Any = namedtuple  # type checkers want the names as literals
    made = make(name, fields)

    def text(self: Any) -> str:
        lines = [f"{field}={value!r}" for field, value in zip(fields, self, strict=True)]
        return f"torch.return_types.{name}(\n" + ",\n".join(lines) + ")"

    made.__repr__ = text
    return made


aminmax = _named("aminmax", "min", "max")
cummax = _named("cummax", "values", "indices")
cummin = _named("cummin", "values", "indices")
kthvalue = _named("kthvalue", "values", "indices")
linalg_eigh = _named("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_qr = _named("linalg_qr", "Q", "R")
linalg_svd = _named("linalg_svd", "U", "S", "Vh")
max = _named("max", "values", "indices")
median = _named("median", "values", "indices")
min = _named("min", "values", "indices")
mode = _named("mode", "values", "indices")
nanmedian = _named("nanmedian", "values", "indices")
slogdet = _named("slogdet", "sign", "logabsdet")
sort = _named("sort", "values", "indices")
topk = _named("topk", "values", "indices")
