"""Bags of embeddings beside torch: values, gradients, text, errors."""

import pytest
import torch
from parity_tools import both, close, message

import numbagrad

BAGS = {
    "rows": (lambda lib: lib.tensor([[0, 1, 1], [3, 2, 0]]), None),
    "vector": (lambda lib: lib.tensor([0, 1, 2, 3, 1, 2]), [0, 2, 2, 5]),
    "vector in one": (lambda lib: lib.tensor([3, 3, 1]), [0]),
    "empty last": (lambda lib: lib.tensor([3, 3, 1]), [0, 3]),
    "short": (lambda lib: lib.tensor([3, 3, 1], dtype=lib.int32), [0, 1]),
}
OPTIONS = {
    "plain": {},
    "padding": {"padding_idx": 1},
    "last": {"include_last_offset": True},
    "short rows": {"max_norm": 0.5},
}


@pytest.mark.parametrize("case", BAGS)
@pytest.mark.parametrize("mode", ["sum", "mean", "max", "weighted"])
@pytest.mark.parametrize("options", OPTIONS)
def test_values_and_gradients(case, mode, options):
    make, offsets = BAGS[case]
    options = dict(OPTIONS[options])
    if "include_last_offset" in options and offsets is None:
        options = {}

    def run(library):
        weight = library.randn(4, 3, requires_grad=True)
        input = make(library)
        ends = [len(input)] if "include_last_offset" in options else []
        starts = None if offsets is None else library.tensor([*offsets, *ends], dtype=input.dtype)
        factors = library.rand(*input.shape, requires_grad=True) if mode == "weighted" else None
        name = "sum" if mode == "weighted" else mode
        found = library.nn.functional.embedding_bag(
            input, weight, starts, mode=name, per_sample_weights=factors, **options
        )
        (found * library.randn(*found.shape)).sum().backward()
        return [found, weight, weight.grad, None if factors is None else factors.grad]

    for mine, reference in zip(*both(run), strict=True):
        close(mine, reference)


@pytest.mark.parametrize("options", [
    {}, {"mode": "sum", "padding_idx": -1}, {"max_norm": 1.0, "scale_grad_by_freq": True},
    {"norm_type": 3.0, "sparse": True, "include_last_offset": True},
])  # fmt: skip
def test_layers(options):
    def run(library):
        layer = library.nn.EmbeddingBag(5, 3, **options)
        other = library.nn.EmbeddingBag.from_pretrained(library.ones(2, 3), mode="sum")
        value = other(library.tensor([[0, 1]]))
        return repr(layer), repr(other), other.weight.requires_grad, [layer.weight, value]

    ours, theirs = both(run)
    assert ours[:3] == theirs[:3]
    for mine, reference in zip(ours[3], theirs[3], strict=True):
        close(mine, reference)


def bag(lib, input=(0, 1, 2, 3, 1), offsets=(0, 2), **options):
    offsets = offsets if offsets is None else lib.tensor(offsets)
    return lib.nn.functional.embedding_bag(lib.tensor(input), lib.ones(4, 3), offsets, **options)


LIBRARIES = (numbagrad, torch)

ERRORS = [
    lambda lib: bag(lib, [[0, 1]]),
    lambda lib: bag(lib, offsets=None),
    lambda lib: bag(lib, offsets=[[0, 1]]),
    lambda lib: bag(lib, [[[0, 1]]]),
    lambda lib: bag(lib, offsets=[0, 7]),
    lambda lib: bag(lib, mode="x"),
    lambda lib: bag(lib, per_sample_weights=lib.ones(5)),
    lambda lib: bag(lib, per_sample_weights=lib.ones(4), mode="sum"),
    lambda lib: bag(lib, per_sample_weights=lib.ones(5).double(), mode="sum"),
    lambda lib: bag(lib, padding_idx=4),
    lambda lib: bag(lib, [0.0, 1.0, 2.0]),
    lambda lib: bag(lib, mode="max", scale_grad_by_freq=True),
    lambda lib: lib.nn.EmbeddingBag(4, 3, padding_idx=9),
    lambda lib: lib.nn.EmbeddingBag(4, 3, _weight=lib.ones(3)),
    lambda lib: lib.nn.EmbeddingBag.from_pretrained(lib.ones(3)),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_the_text_of_torch(number):
    ours, theirs = [message(library, ERRORS[number]) for library in LIBRARIES]
    assert ours[0] is theirs[0]
    assert ours[1].replace("numbagrad.tensor", "torch") == theirs[1]


@pytest.mark.parametrize("offsets", [None, [0, 2]])
def test_the_old_order_of_arguments_warns(offsets):
    found = []
    for library in LIBRARIES:
        index = library.tensor([[0, 2, 1]] if offsets is None else [0, 2, 1])
        given = None if offsets is None else library.tensor(offsets)
        table = library.arange(6.0).view(3, 2)
        with pytest.warns(UserWarning, match="Argument order of nn.functional.embedding_bag"):
            found.append(library.nn.functional.embedding_bag(table, index, given).tolist())
    assert found[0] == found[1]


def test_an_index_out_of_range():
    """torch has several kernels with a text each, and chooses by where the weights lie."""
    ours, theirs = [message(library, lambda lib: bag(lib, [0, 4, 5])) for library in LIBRARIES]
    assert ours[0] is theirs[0] is RuntimeError
    assert ours[1] == "Index 1 of input takes value 4 which is not in the valid range [0, 4)"
