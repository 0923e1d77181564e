"""autocast against live torch: the dtype of every operator's results, with it and without."""

import numpy as np
import pytest
import torch
from operator_entry import as_tuple
from operator_table import ENTRIES

import numbagrad

#: Casts differ, and why.
OTHERWISE = {
    "linalg_pinv-hermitian": "torch multiplies its factors in the lower dtype",
    "matrix_exp": "refused here in bfloat16, which torch does not cast either",
    "matrix_exp-squared": "the same",
}


def dtypes(library, entry, narrow):
    """The float dtypes of the results of a call, None for an error."""
    inputs = [library.from_numpy(x.copy()) for x in entry.draw("float32")]
    if narrow:
        inputs = [x.bfloat16() if x.is_floating_point() else x for x in inputs]
    try:
        with library.autocast("cpu"):
            results = as_tuple(entry.call(library, *inputs))
    except (RuntimeError, TypeError, NotImplementedError):
        return None
    return [str(x.dtype) for x in results if x.is_floating_point()]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize(
    "entry", [x for x in ENTRIES if x.admits("float32")], ids=lambda entry: entry.name
)
def test_results_have_the_dtypes_of_torch(entry, narrow):
    expected = dtypes(torch, entry, narrow)
    if expected is not None and entry.name not in OTHERWISE:
        assert dtypes(numbagrad, entry, narrow) == expected


def train(library, autocasts):
    library.manual_seed(0)
    net = library.nn.Sequential(
        library.nn.Linear(8, 32), library.nn.GELU(), library.nn.Linear(32, 4)
    )
    optimizer = library.optim.AdamW(net.parameters(), lr=0.01)
    x, y = library.randn(16, 8), library.arange(16) % 4
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        with library.autocast("cpu", library.bfloat16, enabled=autocasts):
            loss = library.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_training_follows_torch():
    np.testing.assert_allclose(train(numbagrad, True), train(torch, True), rtol=5e-3)
    assert train(numbagrad, True) != train(numbagrad, False)


def scaled(library):
    weight = library.nn.Parameter(library.tensor([1.0, 2.0]))
    optimizer = library.optim.SGD([weight], lr=0.1)
    scaler = library.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    history = []
    for factor in (1.0, 2.0, float("inf"), 1.0, 1.0, float("nan"), 3.0):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        history.append((scaler.get_scale(), weight.tolist()))
    return history, scaler.state_dict()


def test_a_scaler_goes_the_way_of_torch():
    assert scaled(numbagrad) == scaled(torch)
