"""Public functions have the parameters that `ops/arguments/shared_parameters.py` declares."""

import inspect

import pytest

import numbagrad as torch
from numbagrad.nn import functional as F
from numbagrad.ops.arguments.shared_parameters import (
    BY_PLACE,
    Group,
    Parameter,
    by_keyword,
    shares,
)
from numbagrad.ops.methods import on_demand

on_demand.load_all()

OPTIONS = {
    "dtype": None, "layout": None, "device": None, "requires_grad": False, "pin_memory": False,
}  # fmt: skip

MAKERS = [
    torch.arange, torch.empty, torch.empty_like, torch.empty_permuted, torch.empty_strided,
    torch.eye, torch.full, torch.full_like, torch.linspace, torch.logspace, torch.normal,
    torch.ones, torch.ones_like, torch.rand, torch.rand_like, torch.randint, torch.randint_like,
    torch.randn, torch.randn_like, torch.randperm, torch.range, torch.scalar_tensor, torch.zeros,
    torch.zeros_like, torch.fft.fftfreq, torch.fft.rfftfreq, torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided, torch.Tensor.new_full, torch.Tensor.new_ones,
    torch.Tensor.new_tensor, torch.Tensor.new_zeros,
]  # fmt: skip

LOSSES = [
    F.binary_cross_entropy, F.binary_cross_entropy_with_logits, F.cosine_embedding_loss,
    F.hinge_embedding_loss, F.kl_div, F.l1_loss, F.margin_ranking_loss, F.mse_loss,
    F.multi_margin_loss, F.multilabel_margin_loss, F.multilabel_soft_margin_loss, F.smooth_l1_loss,
    F.soft_margin_loss, F.triplet_margin_loss,
]  # fmt: skip


@pytest.mark.parametrize("function", MAKERS, ids=lambda x: x.__name__)
def test_functions_that_make_tensors_have_the_same_options(function):
    parameters = inspect.signature(function).parameters
    found = {name: x.default for name, x in parameters.items() if name in OPTIONS}
    assert found == OPTIONS
    assert all(parameters[name].kind is Parameter.KEYWORD_ONLY for name in OPTIONS)
    assert "where" not in parameters


@pytest.mark.parametrize("function", LOSSES, ids=lambda x: x.__name__)
def test_losses_have_the_flags_of_before_beside_their_reduction(function):
    parameters = list(inspect.signature(function).parameters.values())
    at = [x.name for x in parameters].index("size_average")
    flags = parameters[at : at + 3]
    assert [x.name for x in flags] == ["size_average", "reduce", "reduction"]
    assert [x.default for x in flags] == [None, None, "mean"]
    assert all(x.kind is Parameter.POSITIONAL_OR_KEYWORD for x in flags)


def test_a_flag_of_before_decides_the_reduction():
    ones, zeros = torch.ones(2, 3), torch.zeros(2, 3)
    with pytest.warns(UserWarning, match="reduction='sum'") as caught:
        assert F.mse_loss(ones, zeros, False).item() == 6
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="reduction='none'"):
        assert F.mse_loss(ones, zeros, reduce=False).shape == (2, 3)


def test_a_function_is_given_what_it_asks_for_and_no_other_parameters():
    group = Group(
        (by_keyword("unit", 1, "int"), by_keyword("scale", 2, "int"), by_keyword("unread", None)),
        {"factor": "unit * scale", "scale": "scale", "place": "function + str(unread)"},
        {},
    )

    @shares(group, name="area")
    def _area(width: int, height: int = 3, *, factor: int) -> tuple[int, ...]:
        """The area."""
        return width, height, factor

    parameters = inspect.signature(_area).parameters
    assert {name: x.default for name, x in parameters.items()} == {
        "width": Parameter.empty, "height": 3, "unit": 1, "scale": 2,
    }  # fmt: skip
    assert _area.__annotations__ == {
        "width": int, "height": int, "unit": "int", "scale": "int", "return": tuple[int, ...],
    }  # fmt: skip
    assert _area(5) == (5, 3, 2)
    assert _area(5, 4, unit=10) == (5, 4, 20)
    assert (_area.__name__, _area.__doc__, _area.__module__) == ("area", "The area.", __name__)
    with pytest.raises(TypeError, match="unexpected keyword argument 'factor'"):
        _area(5, factor=1)


def test_a_function_may_have_another_default():
    group = Group((Parameter("size", BY_PLACE, default=1),), {"size": "size"}, {})

    @shares(group)
    def twice(size: int = 4) -> int:
        return 2 * size

    assert twice() == 8
