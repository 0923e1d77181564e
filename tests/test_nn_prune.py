"""Pruned parameters without torch: masks, gradients of what is left, pruning in steps."""

import numbagrad as ng
from numbagrad import nn
from numbagrad.nn.utils import prune


def layer(*values):
    made = nn.Linear(len(values), 1, bias=False)
    made.weight.data.copy_(ng.tensor([values]))
    return made


def test_the_least_elements_are_zero_and_stay():
    made = prune.l1_unstructured(layer(1.0, -4.0, 2.0, 3.0), "weight", 0.5)
    assert made.weight.tolist() == [[0.0, -4.0, 0.0, 3.0]]
    made(ng.ones(1, 4)).sum().backward()
    assert made.weight_orig.grad.tolist() == [[0.0, 1.0, 0.0, 1.0]]
    assert [name for name, _ in made.named_parameters()] == ["weight_orig"]
    prune.remove(made, "weight")
    assert made.weight.tolist() == [[0.0, -4.0, 0.0, 3.0]]
    assert list(made.state_dict()) == ["weight"] and not prune.is_pruned(made)


def test_pruning_again_takes_from_what_is_left():
    made = layer(1.0, -4.0, 2.0, 3.0)
    for expected in ([[0.0, -4.0, 2.0, 3.0]], [[0.0, -4.0, 0.0, 3.0]], [[0.0, -4.0, 0.0, 0.0]]):
        prune.l1_unstructured(made, "weight", 1)
        assert made.weight.tolist() == expected
    assert len(made._forward_pre_hooks) == 1


def test_masks_of_the_user_and_none():
    made = prune.custom_from_mask(layer(1.0, 2.0), "weight", ng.tensor([[1, 0]]))
    prune.identity(made, "weight")
    assert made.weight.tolist() == [[1.0, 0.0]]


def test_a_failed_pruning_leaves_the_module_as_it_was():
    made = layer(1.0, 2.0)
    try:
        prune.l1_unstructured(made, "weight", 3)
    except ValueError:
        assert list(made.state_dict()) == ["weight"] and not prune.is_pruned(made)
    else:
        raise AssertionError("3 of 2 elements were pruned")
