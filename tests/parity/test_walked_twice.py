"""Graphs that are walked a second time: where torch raises, and where nothing was kept to free.

Every operator of the table is differentiated twice without ``retain_graph``.
"""

from __future__ import annotations

import pytest
import torch
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES

import numbagrad


def outcome(entry, library):
    """Whether a second backward raises; None without a graph, or without a first backward."""
    tensors = [
        library.from_numpy(array.copy()).requires_grad_(not each.fixed)
        for array, each in zip(entry.draw("float64"), entry.inputs, strict=True)
    ]
    results = [x for x in as_tuple(entry.call(library, *tensors)) if x.requires_grad]
    found = []
    for result in results:
        weights = library.ones_like(result)
        try:
            result.backward(weights)
        except RuntimeError as error:
            found.append("second time" in str(error) or None)
            continue
        try:
            result.backward(weights)
            found.append(False)
        except RuntimeError as error:
            found.append("second time" in str(error))
    return found


#: Walked again here: their nodes keep nothing that a gradient needs. torch's keep an operand whose
#: sizes or dtype alone they read, or one that a complex one would need.
KEEP_NOTHING = ("angle", "div_floor", "div_trunc", "fft-", "masked_scatter", "sgn")
#: torch's first walk raises, or its call does.
RAISE_BEFORE_IN_TORCH = (
    "binary_cross_entropy_with_logits_weighted", "linalg_cond", "prelu", "vander",
)  # fmt: skip
#: torch's gradient is that of what was overwritten.
OTHERS = ("as_strided_scatter",)


@pytest.mark.parametrize("entry", POINTWISE_ENTRIES + ENTRIES, ids=lambda entry: entry.name)
def test_a_second_backward_raises_where_it_does_in_torch(entry):
    if not (entry.differentiable and entry.admits("float64")):
        return
    ours = outcome(entry, numbagrad)
    assert None not in ours
    if entry.name.startswith(KEEP_NOTHING):
        assert not any(ours)
    elif not entry.name.startswith((*RAISE_BEFORE_IN_TORCH, *OTHERS)):
        assert ours == outcome(entry, torch)
