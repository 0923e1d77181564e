"""Writes whose operands lie in the memory that is written: refused where torch refuses them.

Each row of the table writes a tensor and reads another one; both are views of one buffer, in each
of the ways of ``LAYOUTS``. Where torch looks, it raises for an operand that lies partly in what is
written. Where neither raises and torch's result does not depend on the order in which elements are
written, results agree.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import numbagrad


def square(start):
    """Sixteen elements of the buffer, from ``start`` on, as a matrix."""
    return lambda buffer: buffer[start : start + 16].view(4, 4)


#: What is written, and what is read.
LAYOUTS = {
    "apart": (square(0), square(20)),
    "the same": (square(0), square(0)),
    "moved by an element": (square(0), square(1)),
    "moved by a row": (square(0), square(4)),
    "transposed": (square(0), lambda b: square(0)(b).t()),
    "a row of it": (square(0), lambda b: b[4:8]),
    "its first row": (square(0), lambda b: b[:4]),
    "read with gaps": (square(0), lambda b: b.as_strided((4, 4), (8, 2))),
    "written with gaps": (lambda b: b.as_strided((4, 4), (8, 2)), square(0)),
    "columns": (lambda b: b.view(8, 8)[:4, :4], lambda b: b.view(8, 8)[:4, 2:6]),
    "written expanded": (lambda b: b[:4].expand(4, 4), square(20)),
    "read expanded": (square(0), lambda b: b[:4].expand(4, 4)),
    "expanded, apart": (square(0), lambda b: b[30:34].expand(4, 4)),
}

#: Layouts in which results of torch do not depend on the order of writes.
ORDERLY = ("apart", "expanded, apart")


def rows(library):
    """Indices of all rows."""
    return library.tensor([0, 1, 2, 3])


def positions(library):
    """The same for each element of a matrix."""
    return rows(library)[:, None].expand(4, 4)


def ones(library):
    return library.ones(4, 4)


def whole(library):
    return library.zeros(4, 4, dtype=library.int64)


ROWS = {
    **{
        f"{name}_": lambda x, w, r, name=f"{name}_": getattr(w, name)(r)
        for name in """
            add sub mul div copy atan2 fmod remainder pow hypot copysign eq lt logical_and
            floor_divide xlogy nextafter
        """.split()
    },
    **{
        f"{name}(out)": lambda x, w, r, name=name: getattr(x, name)(r, out=w)
        for name in "exp neg abs sqrt sigmoid sin round nan_to_num i0 conj_physical".split()
    },
    **{
        f"{name}(first, out)": lambda x, w, r, name=name: getattr(x, name)(r, ones(x), out=w)
        for name in "add mul sub div maximum atan2 pow ldexp igamma".split()
    },
    **{
        f"{name}(second, out)": lambda x, w, r, name=name: getattr(x, name)(ones(x), r, out=w)
        for name in "add mul sub div maximum atan2 pow".split()
    },
    **{
        f"{name}(out)": lambda x, w, r, name=name: getattr(x, name)(r, 0, out=w)
        for name in "cumsum cumprod logcumsumexp".split()
    },
    **{
        f"{name}(out)": lambda x, w, r, name=name: getattr(x, name)(r, 0, out=(w, whole(x)))
        for name in "sort cummax".split()
    },
    "add_ of int64": lambda x, w, r: w.add_(r),
    "add_ of bfloat16": lambda x, w, r: w.add_(r),
    "add_ of complex64": lambda x, w, r: w.add_(r),
    "copy_ of complex64": lambda x, w, r: w.copy_(r),
    "copy_ of other dtype": lambda x, w, r: w.copy_(r.view(x.int32)),
    "gcd_ of int64": lambda x, w, r: w.gcd_(r),
    "lerp_": lambda x, w, r: w.lerp_(r, 0.5),
    "lerp_ by weight": lambda x, w, r: w.lerp_(ones(x), r),
    "addcmul_": lambda x, w, r: w.addcmul_(r, ones(x)),
    "addcdiv_": lambda x, w, r: w.addcdiv_(ones(x), r),
    "clamp_": lambda x, w, r: w.clamp_(min=r),
    "where(out)": lambda x, w, r: x.where(ones(x) > 0, r, x.zeros(4, 4), out=w),
    "clamp(out)": lambda x, w, r: x.clamp(r, 0, 3, out=w),
    "lerp(out)": lambda x, w, r: x.lerp(r, ones(x), 0.5, out=w),
    "addcmul(out)": lambda x, w, r: x.addcmul(r, ones(x), ones(x), out=w),
    "topk(out)": lambda x, w, r: x.topk(r, 4, 0, out=(w, whole(x))),
    "bernoulli_ by tensor": lambda x, w, r: w.bernoulli_(r / 100),
    **{
        f"{name}_": lambda x, w, r, name=f"{name}_": getattr(w, name)()
        for name in "bernoulli uniform normal random exponential cauchy log_normal".split()
    },
    "geometric_": lambda x, w, r: w.geometric_(0.5),
    "x[:] =": lambda x, w, r: w.__setitem__(slice(None), r),
    "x[1:] =": lambda x, w, r: w[1:].__setitem__(slice(None), r[..., -3:, :]),
    "x[indices] =": lambda x, w, r: w.__setitem__(rows(x), r),
    "x[mask] =": lambda x, w, r: w.__setitem__(x.ones(4) > 0, r),
    "index_put_": lambda x, w, r: w.index_put_((rows(x),), r),
    "index_put_, accumulated": lambda x, w, r: w.index_put_((rows(x),), r, accumulate=True),
    "index_put_ of int64": lambda x, w, r: w.index_put_((r.clamp(0, 3),), w.sum()),
    "index_add_": lambda x, w, r: w.index_add_(0, rows(x), r),
    "index_copy_": lambda x, w, r: w.index_copy_(0, rows(x), r),
    "scatter_": lambda x, w, r: w.scatter_(0, positions(x), r),
    "scatter_add_": lambda x, w, r: w.scatter_add_(0, positions(x), r),
    "scatter_reduce_": lambda x, w, r: w.scatter_reduce_(0, positions(x), r, "sum"),
    "put_": lambda x, w, r: w.put_(x.arange(16).view(4, 4), r),
    "masked_fill_ of bool": lambda x, w, r: w.masked_fill_(r, True),
    "zero_": lambda x, w, r: w.zero_(),
    "fill_": lambda x, w, r: w.fill_(2.0),
    "exp_": lambda x, w, r: w.exp_(),
    "cumsum_": lambda x, w, r: w.cumsum_(0),
    "addr_": lambda x, w, r: w.addr_(r[0], x.ones(4)),
    "addmm(out)": lambda x, w, r: x.addmm(r, ones(x), ones(x), out=w),
    "cat(out)": lambda x, w, r: x.cat([r[:2], x.ones(2, *r.shape[1:])], out=w),
    "stack(out)": lambda x, w, r: x.stack([r[0], r[1], r[0], r[1]], out=w),
    "gather(out)": lambda x, w, r: x.gather(r, 0, positions(x), out=w),
    "take(out)": lambda x, w, r: x.take(r, rows(x), out=w[0]),
    "take_along_dim(out)": lambda x, w, r: x.take_along_dim(r, positions(x), 0, out=w),
    "max(out)": lambda x, w, r: x.max(r, 0, out=(w[0], whole(x)[0])),
    "kthvalue(out)": lambda x, w, r: x.kthvalue(r, 1, 0, out=(w[0], whole(x)[0])),
    "_foreach_add_": lambda x, w, r: x._foreach_add_([w], [r]),
}

#: Read by these, ``out`` gets another shape, and with that other memory; torch stays in the same.
ROWS_OF_IT = ("a row of it", "its first row")

#: Memory that several elements share is refused as well where torch lets one write hide another.
ONE_WRITE_HIDES_ANOTHER = ("masked_fill_ of bool", "cummax(out)", "index_put_ of int64")

BOUNDS = {"rtol": 1e-4, "atol": 1e-30}


def attempt(library, name, layout):
    """What is written, or the error."""
    dtype = next((x for x in ("int64", "bfloat16", "complex64", "bool") if name.endswith(x)), None)
    buffer = library.arange(1, 65).to(getattr(library, dtype or "float32"))
    written, read = (view(buffer) for view in LAYOUTS[layout])
    try:
        ROWS[name](library, written, read)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return written, error
    return written, None


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "no_grad"])
@pytest.mark.parametrize("name", ROWS)
def test_overlapping_operands_are_refused_as_in_torch(name, recorded):
    differences = []
    for layout in LAYOUTS:
        if layout == "written expanded" and name in ONE_WRITE_HIDES_ANOTHER:
            continue
        if layout in ROWS_OF_IT and name.endswith("(out)"):
            continue
        numbagrad.manual_seed(0)
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with numbagrad.set_grad_enabled(recorded), torch.set_grad_enabled(recorded):
                made, error = attempt(numbagrad, name, layout)
                expected, refused = attempt(torch, name, layout)
        if layout in ROWS_OF_IT and error is not None and refused is not None:
            continue  # which error is found first, that or one of shapes that do not fit
        if type(error) is not type(refused):
            differences.append(f"{layout}: {error!r}, torch: {refused!r}")
        elif "single memory location" in str(refused):
            assert "single memory location" in str(error)
        elif layout in ORDERLY and error is None:
            ours, theirs = made.to(numbagrad.complex128), expected.to(torch.complex128)
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), **BOUNDS, err_msg=layout)
    assert not differences, "\n".join(differences)
