"""What nodes save: a tensor that torch's backward uses may not be written, any other may.

Each tensor that an operator of the table reads or returns is written between forward and backward,
in both libraries. Where they answer differently, the tables below say why.
"""

from __future__ import annotations

import functools
import operator

import pytest
import torch
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES, WITH_NUMBER

import numbagrad

COPIED = "torch saves a copy or an intermediate result of its composition"
NOT_READ = "torch saves it for its sizes, or for a product with zero"
INDICES = "the indices are copied, or the places of a mask found, in forward"
VIEWS = "views are numbered in torch: one of several may not be used once another was written"

#: (entry, tensor): why numbagrad's backward takes what torch's refuses.
MORE_IS_ALLOWED = {
    **{(name, x): NOT_READ for name in ("div_floor", "div_trunc") for x in ("in0", "in1")},
    ("angle", "in0"): NOT_READ,
    ("special_log_ndtr", "out0"): NOT_READ,
    ("sgn", "in0"): NOT_READ,
    ("sgn", "out0"): NOT_READ,
    ("cummax", "in0"): NOT_READ,
    ("cummin", "in0"): NOT_READ,
    ("gather", "in0"): NOT_READ,
    ("take_along_dim", "in0"): NOT_READ,
    ("take", "in0"): NOT_READ,
    ("masked_select", "in0"): NOT_READ,
    ("index_add", "in1"): NOT_READ,
    ("index_copy", "in1"): NOT_READ,
    ("segment_reduce", "out0"): "torch reads it for products and extrema alone, and not for a mean",
    ("masked_select", "in1"): INDICES,
    ("masked_scatter", "in1"): INDICES,
    ("getitem-mask", "in1"): INDICES,
    ("dist", "in0"): "the difference is kept instead",
    ("dist", "in1"): "the difference is kept instead",
    **{
        (name, position): VIEWS
        for name in ("unbind", "split", "split-1", "split_with_sizes", "chunk")
        for position in ("in0", "out0", "out1", "out2")
    },
}  # fmt: skip

#: (entry, tensor): why numbagrad's backward refuses what torch's takes.
LESS_IS_ALLOWED = {
    (name, position): COPIED
    for name, positions in {
        "special_ndtr": "in0", "tanhshrink": "in0", "l1_loss": "in0 in1",
        "kl_div_log_target": "in0 in1", "matmul-matrix-batch": "in1", "matmul-vector-batch": "in1",
        "matmul-batches-broadcast": "in0 in1", "kron": "in0 in1", "kron-ranks": "in0 in1",
    }.items()
    for position in positions.split()
}  # fmt: skip

#: Beginnings of names of entries: compositions here whose last operators save less, or save
#: something else, than the one node of torch. Gradients have to be what they are without the write.
READS_LESS = (
    "triangular_solve", "stft", "istft", "special_i", "put", "ormqr", "orgqr", "lu_", "fft-",
    "ldexp", "combinations", "cholesky_solve", "linalg_solve_ex", "linalg_lstsq", "linalg_cond",
    "vander", "renorm",
)  # fmt: skip

#: Entries whose public function in torch takes other arguments.
OTHER_ARGUMENTS = {"prelu", "binary_cross_entropy_with_logits_weighted"}


def answer(library, call, arrays, position):
    """Whether backward runs after one tensor was written: "runs", "refuses" or "cannot write"."""
    leaves = [library.from_numpy(x.copy()) for x in arrays]
    for leaf in leaves:
        leaf.requires_grad_(leaf.is_floating_point())
    inputs = [leaf * 1 if leaf.requires_grad else leaf for leaf in leaves]
    outputs = as_tuple(call(library, *inputs))
    tensors = {f"in{k}": x for k, x in enumerate(inputs)}
    tensors |= {f"out{k}": x for k, x in enumerate(outputs)}
    try:
        with library.no_grad():
            tensors[position].zero_()
    except RuntimeError:
        return "cannot write"
    try:
        roots = [x.sum() for x in outputs if x.requires_grad]
        wanted = [x for x in leaves if x.requires_grad]
        library.autograd.grad(roots, wanted, allow_unused=True)
    except RuntimeError as error:
        assert "modified" in str(error)
        return "refuses"
    return "runs"


def gradients_after(call, arrays, position):
    """numbagrad's gradients after one tensor was written, or none was."""
    leaves = [numbagrad.from_numpy(x.copy()) for x in arrays]
    for leaf in leaves:
        leaf.requires_grad_(leaf.is_floating_point())
    inputs = [leaf * 1 if leaf.requires_grad else leaf for leaf in leaves]
    outputs = as_tuple(call(numbagrad, *inputs))
    tensors = {f"in{k}": x for k, x in enumerate(inputs)}
    tensors |= {f"out{k}": x for k, x in enumerate(outputs)}
    if position is not None:
        with numbagrad.no_grad():
            tensors[position].zero_()
    seeds = [numbagrad.ones_like(x) for x in outputs if x.requires_grad]
    wanted = [x for x in leaves if x.requires_grad]
    roots = [x for x in outputs if x.requires_grad]
    return numbagrad.autograd.grad(roots, wanted, seeds, materialize_grads=True)


def positions(call, arrays):
    outputs = as_tuple(call(numbagrad, *[numbagrad.from_numpy(x.copy()) for x in arrays]))
    return [f"in{k}" for k in range(len(arrays))] + [f"out{k}" for k in range(len(outputs))]


CHOSEN = [entry for entry in POINTWISE_ENTRIES + ENTRIES if entry.differentiable]
CHOSEN = [entry for entry in CHOSEN if entry.admits("float64")]


@pytest.mark.parametrize("entry", CHOSEN, ids=lambda entry: entry.name)
def test_what_is_saved(entry):
    if entry.name in OTHER_ARGUMENTS:
        return
    arrays = entry.draw("float64")
    for position in positions(entry.call, arrays):
        ours = answer(numbagrad, entry.call, arrays, position)
        theirs = answer(torch, entry.call, arrays, position)
        key = (entry.name, position)
        if entry.name.startswith(READS_LESS):
            if (ours, theirs) == ("runs", "refuses"):
                written = gradients_after(entry.call, arrays, position)
                plain = gradients_after(entry.call, arrays, None)
                for found, expected in zip(written, plain, strict=True):
                    assert numbagrad.equal(found, expected), key
            else:
                assert ours == theirs, key
            continue
        if key in MORE_IS_ALLOWED:
            assert (ours, theirs) == ("runs", "refuses")
        elif key in LESS_IS_ALLOWED:
            assert (ours, theirs) == ("refuses", "runs")
        else:
            assert ours == theirs, key


FLOATS = [torch.tensor([0.5, 1.5, 2.5], dtype=torch.float64).numpy()]
DIFFERENTIABLE = set(WITH_NUMBER) - {"lt", "eq", "and", "floor_divide", "where_numbers"}
DIFFERENTIABLE -= {"pow_zero_dim"}  # torch saves the result for a gradient that nobody needs


@pytest.mark.parametrize("name", sorted(DIFFERENTIABLE))
def test_what_is_saved_beside_a_number(name):
    def call(library, x):
        return WITH_NUMBER[name](library, x, 2.5)

    for position in ("in0", "out0"):
        ours, theirs = (answer(library, call, FLOATS, position) for library in (numbagrad, torch))
        assert ours == theirs, position


def _leaf(library, *shape):
    count = functools.reduce(operator.mul, shape, 1)
    numbers = library.arange(1.0, count + 1, dtype=library.float64) / (count + 1)
    return numbers.reshape(shape).requires_grad_()


#: Calls whose node has all that torch's shows, under torch's names: of formulas, of operators that
#: are defined by others, and of those with kernels of their own.
SHOWN = {
    "add": lambda t: t.add(_leaf(t, 3), _leaf(t, 3)),
    "square": lambda t: _leaf(t, 3).square(),
    "root": lambda t: _leaf(t, 3) ** -0.5,
    "polygamma": lambda t: t.polygamma(2, _leaf(t, 3)),
    "gelu": lambda t: t.nn.functional.gelu(_leaf(t, 3)),
    "gelu by tanh": lambda t: t.nn.functional.gelu(_leaf(t, 3), approximate="tanh"),
    "mse_loss": lambda t: t.nn.functional.mse_loss(_leaf(t, 3), _leaf(t, 3)),
    "sum of errors": lambda t: t.nn.functional.mse_loss(_leaf(t, 3), _leaf(t, 3), reduction="sum"),
    "huber_loss": lambda t: t.nn.functional.huber_loss(_leaf(t, 3), _leaf(t, 3), delta=0.5),
    "smooth_l1_loss": lambda t: t.nn.functional.smooth_l1_loss(_leaf(t, 3), _leaf(t, 3)),
    "grid_sample": lambda t: t.nn.functional.grid_sample(
        _leaf(t, 1, 1, 3, 3), _leaf(t, 1, 2, 2, 2), align_corners=True
    ),
    "eig": lambda t: t.linalg.eig(_leaf(t, 3, 3))[0],
    "cdist": lambda t: t.cdist(_leaf(t, 3, 3), 2 * _leaf(t, 3, 3)),
}


@pytest.mark.parametrize("name", SHOWN)
def test_nodes_show_what_torchs_nodes_show(name):
    theirs, mine = [SHOWN[name](library).grad_fn for library in (torch, numbagrad)]
    assert mine.name() == theirs.name()
    for field in [x for x in dir(theirs) if x.startswith("_saved_")]:
        wanted, found = getattr(theirs, field), getattr(mine, field)
        if isinstance(wanted, torch.Tensor):
            assert tuple(found.shape) == tuple(wanted.shape), field
        else:
            assert found == wanted, field


@pytest.mark.parametrize("name", SHOWN)
def test_every_name_that_is_listed_has_a_value(name):
    node = SHOWN[name](numbagrad).grad_fn
    for field in [x for x in dir(node) if x.startswith("_saved_")]:
        getattr(node, field)
