"""What tests of ``cuda`` share: entries of the operator table, run there and on the CPU."""

from __future__ import annotations

import re

import numpy as np
from operator_entry import as_tuple

import numbagrad as torch

DEVICE = "cuda"


def by_name(entry):
    """The identifier of a test."""
    return entry.name


def on(device, arrays, requires_grad):
    """Leaves on a device with the elements of ndarrays."""
    made = [torch.tensor(x).to(device) for x in arrays]
    return [x.requires_grad_(requires_grad and x.is_floating_point()) for x in made]


def outcome(entry, device, dtype, order):
    """Where results of an entry are; they, and derivatives of its inputs up to an order."""
    inputs = on(device, entry.draw(dtype), order > 0)
    with torch.device(device):  # for what the call itself makes
        made = as_tuple(entry.call(torch, *inputs))
    results = [x for x in made if isinstance(x, torch.Tensor)]
    places = {x.device.type for x in results}
    found, roots = list(results), [x for x in results if x.requires_grad]
    for level in range(order):
        leaves = [x for x in inputs if x.requires_grad]
        if not roots:
            break
        weights = [torch.ones_like(x) for x in roots]
        gradients = torch.autograd.grad(
            roots, leaves, weights, create_graph=level + 1 < order, allow_unused=True
        )
        found += gradients
        roots = [x for x in gradients if x is not None and x.requires_grad]
        roots = [(x * x).sum() for x in roots]
    return places, [x if x is None else x.detach().cpu().numpy() for x in found]


def compare(entry, dtype, order, rtol=1e-5, atol=1e-6):
    """Results and derivatives on the device are those of the CPU, and lie there."""
    places, found = outcome(entry, DEVICE, dtype, order)
    _, expected = outcome(entry, "cpu", dtype, order)
    assert places <= {DEVICE}
    for own, other in zip(found, expected, strict=True):
        assert (own is None) == (other is None)
        if own is not None:
            assert own.dtype == other.dtype
            np.testing.assert_allclose(own, other, rtol=rtol, atol=atol)


def missing_name(error):
    """The operator that an error says does not run on the device."""
    found = re.match(r"Could not run '(.+)' on the device 'cuda'", str(error))
    assert found is not None, error
    return found[1]
