"""Pruned parameters beside torch: masks, training, pruning twice, errors."""

import pytest
import torch
import torch.nn.utils.prune
from parity_tools import both, close, message

import numbagrad

WAYS = {
    "random": lambda prune, layer, lib: prune.random_unstructured(layer, "weight", 0.3),
    "least": lambda prune, layer, lib: prune.l1_unstructured(layer, "weight", amount=7),
    "least scores": lambda prune, layer, lib: prune.l1_unstructured(
        layer, "weight", 5, lib.arange(24.0).reshape(4, 6)
    ),
    "nothing": lambda prune, layer, lib: prune.identity(layer, "bias"),
    "channels": lambda prune, layer, lib: prune.ln_structured(layer, "weight", 0.5, n=2, dim=0),
    "random channels": lambda prune, layer, lib: prune.random_structured(layer, "weight", 2, -1),
    "mask": lambda prune, layer, lib: prune.custom_from_mask(
        layer, "bias", lib.tensor([1, 0, 1, 0])
    ),
    "twice": lambda prune, layer, lib: prune.l1_unstructured(
        prune.l1_unstructured(layer, "weight", 0.5), "weight", 0.5
    ),
    "channels, then elements": lambda prune, layer, lib: prune.random_unstructured(
        prune.ln_structured(layer, "weight", 1, n=1, dim=1), "weight", 3
    ),
    "elements, then channels": lambda prune, layer, lib: prune.ln_structured(
        prune.random_unstructured(layer, "weight", 6), "weight", 1, n=1, dim=1
    ),
}


@pytest.mark.parametrize("case", WAYS)
def test_masks_training_and_removal(case):
    def run(library):
        prune = library.nn.utils.prune
        layer = library.nn.Linear(6, 4)
        made = WAYS[case](prune, layer, library)
        optimizer = library.optim.SGD(layer.parameters(), lr=0.1)
        layer(library.randn(3, 6)).pow(2).sum().backward()
        optimizer.step()
        layer(library.randn(3, 6))
        texts = [made is layer, prune.is_pruned(library.nn.Sequential(layer)), repr(layer)]
        values = {**layer.state_dict(), "now": layer.weight, "bias now": layer.bias}
        prune.remove(layer, "bias" if case in ("nothing", "mask") else "weight")
        texts += [prune.is_pruned(layer), sorted(layer.state_dict())]
        return texts, {**values, **{f"left {k}": v for k, v in layer.state_dict().items()}}

    ours, theirs = both(run)
    assert ours[0] == theirs[0]
    assert list(ours[1]) == list(theirs[1])
    for name, value in theirs[1].items():
        close(ours[1][name], value)


def pruned(lib, way, *arguments):
    getattr(lib.nn.utils.prune, way)(lib.nn.Linear(2, 2), *arguments)


ERRORS = [
    lambda lib: pruned(lib, "l1_unstructured", "weight", "x"),
    lambda lib: pruned(lib, "l1_unstructured", "weight", 1.5),
    lambda lib: pruned(lib, "l1_unstructured", "weight", -1),
    lambda lib: pruned(lib, "random_unstructured", "weight", 5),
    lambda lib: pruned(lib, "random_structured", "bias", 1, 0),
    lambda lib: pruned(lib, "random_structured", "weight", 1, 2),
    lambda lib: pruned(lib, "custom_from_mask", "weight", lib.ones(3)),
    lambda lib: pruned(lib, "l1_unstructured", "weight", 1, lib.ones(3)),
    lambda lib: pruned(lib, "remove", "weight"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_the_text_of_torch(number):
    assert message(numbagrad, ERRORS[number]) == message(torch, ERRORS[number])
