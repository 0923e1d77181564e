"""What a function says of an argument that had to be a Tensor and is none."""

from __future__ import annotations

import inspect
import pickle
import warnings

import numpy as np
import pytest

import numbagrad as torch

F = torch.nn.functional

ONES = torch.ones(2, 2)
ARRAY = np.ones((2, 2), np.float32)


class Foreign:
    """As a Tensor of another library looks."""

    def numpy(self):
        """Its elements."""
        return ARRAY


Foreign.__name__ = Foreign.__qualname__ = "Tensor"
Foreign.__module__ = "elsewhere"

CALLS = {
    "an input": (lambda: torch.sum(ARRAY), "sum", "input", 1),
    "the second": (lambda: torch.mm(ONES, ARRAY), "mm", "mat2", 2),
    "by keyword": (lambda: torch.outer(ONES[0], vec2=ARRAY), "outer", "vec2", 2),
    "of a method": (lambda: ONES.matmul(ARRAY), "matmul", "other", 2),
    "of an operator": (lambda: ONES @ [1, 2], "matmul", "other", 2),
    "of a layer": (lambda: torch.nn.Linear(2, 3)(ARRAY), "linear", "input", 1),
    "of a loss": (lambda: F.mse_loss(ONES, ARRAY), "mse_loss", "target", 2),
    "that may be None": (lambda: F.linear(ONES, ONES, ARRAY), "linear", "bias", 3),
    "of linalg": (lambda: torch.linalg.cross(ARRAY, ONES), "cross", "input", 1),
}


@pytest.mark.parametrize("what", CALLS)
def test_function_and_argument_are_named(what):
    call, function, argument, position = CALLS[what]
    with pytest.raises(TypeError) as raised:
        call()
    start = f"{function}(): argument '{argument}' (position {position}) must be Tensor, not "
    assert str(raised.value).startswith(start)


@pytest.mark.parametrize(
    ("value", "end"),
    [
        (ARRAY, "numpy.ndarray; make one with from_numpy()"),
        ([1.0], "list; make one with tensor()"),
        (2.5, "float; make one with tensor()"),
        (None, "NoneType"),
        (Foreign(), "elsewhere.Tensor of another library; make one with from_numpy(x.numpy())"),
    ],
)
def test_what_was_given_and_what_to_do(value, end):
    with pytest.raises(TypeError) as raised:
        torch.logsumexp(value, 0)
    assert str(raised.value).endswith("must be Tensor, not " + end)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.cat([ONES, ARRAY]),
        lambda: torch.hstack([ONES, ARRAY]),
        lambda: torch.block_diag(ONES, ARRAY),
        lambda: torch.meshgrid(ONES[0], ARRAY, indexing="ij"),
        lambda: torch.broadcast_tensors(ONES, ARRAY),
        lambda: torch.atleast_2d([ONES, ARRAY]),
    ],
)
def test_an_element_is_named(call):
    with pytest.raises(TypeError, match=r"\w\(\): expected Tensor as element 1 in argument 0, but"):
        call()


#: Calls of functions that take their arguments in several ways, and what their errors say.
WAYS = {
    "which is meant": (
        lambda: torch.randint(1.5, (2,)),
        r"^randint\(\): argument 'high' \(position 1\) must be int, not float$",
    ),
    "none is meant": (
        lambda: torch.randint(1.5, 3, 4),
        r"^randint\(\): argument 'low' \(position 1\) must be int, not float$",
    ),
    "none has so many": (
        lambda: torch.randint(3, (2,), None, None),
        r"positional arguments",
    ),
    "several fit the number": (
        lambda: torch.max(ONES, "text"),
        r"^max\(\) takes \(Tensor input\) or \(Tensor input, int dim, bool keepdim\) or "
        r"\(Tensor input, Tensor other\), but got \(Tensor, str\)$",
    ),
    "of a method": (
        lambda: ONES.movedim(0, (1,)),
        r"but got \(int, tuple\)$",
    ),
    "by the names of NumPy": (
        lambda: torch.std(ONES, axis=0, keepdims=3),
        r"^std\(\).*bool",
    ),
    "a dim is needed for keepdim": (
        lambda: torch.sum(ONES, keepdim=True),
        r"^sum\(\).*keepdim",
    ),
}


@pytest.mark.parametrize("what", WAYS)
def test_ways_to_give_arguments(what):
    call, text = WAYS[what]
    with pytest.raises(TypeError, match=text):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.randint(high=3, size=(2,)),
        lambda: torch.randint(low=1, high=3, size=[2]),
        lambda: torch.std(ONES, axis=0, keepdims=True),
        lambda: torch.std(ONES, False),
        lambda: ONES.std(0, True, True),
        lambda: torch.max(ONES, axis=1),
        lambda: torch.max(ONES, other=ONES),
        lambda: ONES.permute(1, 0),
        lambda: ONES.flip(0, 1),
        lambda: ONES.sum(np.int64(1), True),
        lambda: ONES.transpose(torch.tensor(0), 1),
        lambda: torch.normal(0.0, torch.ones(2)),
        lambda: torch.arange(end=3),
        lambda: ONES.view(2, True, 2),
        lambda: torch.repeat_interleave(torch.tensor([1, 2])),
    ],
)
def test_right_ways_are_taken(call):
    assert call() is not None


def test_other_errors_stay_as_they_are():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        torch.mm(ONES)
    with pytest.raises(TypeError, match="unexpected keyword"):
        torch.outer(ONES, other=ONES)
    with pytest.raises(IndexError, match="out of range"):
        torch.cumsum(ONES, 5)

    class Fails(torch.autograd.Function):
        """Raises what looks like an argument of the wrong kind."""

        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return None.of_users

    with pytest.raises(AttributeError, match="of_users"):
        torch.autograd.functional.jacobian(Fails.apply, ONES)


def test_public_functions_are_found_where_they_say():
    for function in (torch.sum, torch.einsum, torch.linalg.cross, F.mse_loss, F.softmax):
        assert pickle.loads(pickle.dumps(function)) is function
    assert list(inspect.signature(torch.outer).parameters) == ["input", "vec2", "out"]
    assert torch.outer.__doc__


def test_warnings_point_at_the_line_of_the_user():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        F.kl_div(ONES, ONES)
        torch.nn.KLDivLoss()(ONES, ONES)
        F.mse_loss(ONES, ONES[0])
        torch.range(0, 3)
    assert len(caught) >= 4
    assert {warning.filename for warning in caught} == {__file__}
