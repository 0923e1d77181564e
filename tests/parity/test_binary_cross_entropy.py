"""``binary_cross_entropy_with_logits`` of mixed dtypes against torch: values, gradients, errors."""

import itertools

import numpy as np
import pytest
import torch

import numbagrad

INPUTS = ["float32", "float64", "float16", "int64"]
TARGETS = ["float32", "float64", "bfloat16", "int64", "bool"]
WEIGHTS = [None, "float32", "float64", "float16", "int64", "bool"]
POSITIVE = [None, "float32", "float64", "float16", "int32"]


def seen(library, dtypes, reduction):
    """Dtypes and values of the loss and of its gradients; the class of the error without them."""

    def made(dtype, values):
        return None if dtype is None else library.tensor(values).to(getattr(library, dtype))

    input, target = made(dtypes[0], [0.5, -1.0, 2.0]), made(dtypes[1], [1.0, 0.0, 1.0])
    weight, positive = made(dtypes[2], [1.0, 2.0, 0.5]), made(dtypes[3], [2.0, 1.0, 3.0])
    leaves = [x.requires_grad_() for x in (input, target) if x.is_floating_point()]
    loss = library.nn.functional.binary_cross_entropy_with_logits(
        input, target, weight=weight, pos_weight=positive, reduction=reduction
    )
    if loss.requires_grad:
        loss.sum().backward()
    found = [loss, *[x.grad for x in leaves if x.grad is not None]]
    return [(str(x.dtype).split(".")[1], x.detach().double().numpy()) for x in found]


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize(("input", "target"), itertools.product(INPUTS, TARGETS))
def test_dtypes_of_results_and_gradients(input, target, reduction):
    for weight, positive in itertools.product(WEIGHTS, POSITIVE):
        dtypes = (input, target, weight, positive)
        try:
            expected = seen(torch, dtypes, reduction)
        except RuntimeError as error:
            with pytest.raises(type(error)):
                seen(numbagrad, dtypes, reduction)
            continue
        found = seen(numbagrad, dtypes, reduction)
        assert [dtype for dtype, _ in found] == [dtype for dtype, _ in expected], dtypes
        exact = not {"float16", "bfloat16"} & set(dtypes)
        for (_, mine), (_, theirs) in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5 if exact else 2e-2, err_msg=dtypes)


@pytest.mark.parametrize("name", ["weight", "pos_weight"])
def test_weights_have_no_derivative(name):
    for library in (torch, numbagrad):
        x, y = library.randn(3, requires_grad=True), library.ones(3)
        weight = library.ones(3, requires_grad=True)
        with pytest.raises(RuntimeError, match=f"not differentiable with respect to .*'{name}'"):
            library.nn.functional.binary_cross_entropy_with_logits(x, y, **{name: weight})
