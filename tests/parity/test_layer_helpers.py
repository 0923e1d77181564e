"""Methods of layers, datasets and pruning that subclasses and tools call, beside torch's."""

import numpy as np
import pytest
import torch as oracle
from torch.nn.utils import prune as _  # noqa: F401 - torch imports it for nobody

import numbagrad


def numbers(torch, *sizes):
    count = int(np.prod(sizes))
    return torch.tensor((np.arange(count) % 7 - 3.0).reshape(sizes).astype(np.float32))


def same(use):
    """Compare what ``use(torch)`` returns, or the error that it raises."""
    found = []
    for torch in (numbagrad, oracle):
        try:
            found.append(use(torch))
        except Exception as error:  # noqa: BLE001 - the other library has to raise the same
            found.append((type(error), str(error)))
    assert found[0] == found[1]
    return found[0]


LAYERS = [
    ("RNN", {}),
    ("GRU", {"batch_first": True, "bidirectional": True}),
    ("LSTM", {"num_layers": 2}),
    ("LSTM", {"proj_size": 2, "bidirectional": True}),
]


@pytest.mark.parametrize(("name", "options"), LAYERS)
def test_checks_of_recurrent_layers(name, options):
    def layer(torch):
        return getattr(torch.nn, name)(3, 4, **options)

    sizes = [None, lambda torch: torch.tensor([2, 1])]
    for size in sizes:
        dims = (5, 2, 3) if size is None else (3, 3)

        def given(torch, size=size):
            return None if size is None else size(torch)

        for wrong in (dims, dims[:-1], (*dims[:-1], 7)):
            same(
                lambda torch, w=wrong, g=given: layer(torch).check_input(
                    numbers(torch, *w), g(torch)
                )
            )
        x = (lambda d: lambda torch: numbers(torch, *d))(dims)
        same(lambda torch, x=x, g=given: layer(torch).get_expected_hidden_size(x(torch), g(torch)))
        if name == "LSTM":
            same(
                lambda torch, x=x, g=given: layer(torch).get_expected_cell_size(x(torch), g(torch))
            )
        for change in (0, 1):

            def check(torch, x=x, g=given, change=change):
                here = layer(torch)
                first = list(here.get_expected_hidden_size(x(torch), g(torch)))
                state = numbers(torch, *first[:2], first[2] + change)
                if name == "LSTM":
                    cell = here.get_expected_cell_size(x(torch), g(torch))
                    state = numbers(torch, *first), numbers(torch, *cell[:2], cell[2] + change)
                return here.check_forward_args(x(torch), state, g(torch))

            outcome = same(check)
            assert (outcome is None) == (not change)


def test_permuted_states():
    for name in ("GRU", "LSTM"):

        def permuted(torch, order, name=name):
            state = numbers(torch, 1, 3, 4)
            state = (state, state + 1) if name == "LSTM" else state
            found = getattr(torch.nn, name)(3, 4).permute_hidden(
                state, None if order is None else torch.tensor(order)
            )
            return [part.tolist() for part in (found if name == "LSTM" else [found])]

        for order in (None, [2, 0, 1]):
            same(lambda torch, order=order: permuted(torch, order))


@pytest.mark.parametrize("pairs", [None, (4, 4), (6, 4, 4)])
@pytest.mark.parametrize("keys", [False, True])
def test_merged_masks(pairs, keys):
    def merged(torch):
        layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        mask, kind = layer.merge_masks(
            pairs and numbers(torch, *pairs), numbers(torch, 3, 4) if keys else None,
            numbers(torch, 3, 4, 8),
        )  # fmt: skip
        return None if mask is None else mask.tolist(), kind

    same(merged)


def test_cumulative_sizes():
    same(lambda torch: torch.utils.data.ConcatDataset.cumsum([[1], [2, 3], []]))


@pytest.mark.parametrize("amount", [0.4, 5])
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("scored", [False, True])
def test_global_pruning(amount, again, scored):
    def pruned(torch):
        prune = torch.nn.utils.prune
        first, second = torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)
        for layer, factor in ((first, 0.31), (second, 0.57)):
            weight = np.sin(np.arange(layer.weight.numel()) * factor + 1).reshape(
                layer.weight.shape
            )
            layer.weight.data = torch.tensor(weight.astype(np.float32))
        pairs = [(first, "weight"), (second, "weight")]
        if again:
            prune.l1_unstructured(first, "weight", amount=2)
        scores = {pairs[0]: torch.cos(first.weight.detach())} if scored else None
        prune.global_unstructured(
            pairs, pruning_method=prune.L1Unstructured, importance_scores=scores, amount=amount
        )
        return [
            [getattr(layer, name).tolist() for name in ("weight", "weight_mask", "weight_orig")]
            for layer in (first, second)
        ]

    assert isinstance(same(pruned), list)


def test_global_pruning_refuses_what_torch_refuses():
    def structured(torch):
        prune = torch.nn.utils.prune
        pairs = [(torch.nn.Linear(4, 3), "weight")]
        return prune.global_unstructured(pairs, prune.LnStructured, amount=1, n=2)

    for use in (
        lambda torch: torch.nn.utils.prune.global_unstructured(3, None),
        lambda torch: torch.nn.utils.prune.global_unstructured([], None, importance_scores=[1]),
    ):
        assert isinstance(same(use), tuple)
    for torch in (numbagrad, oracle):
        with pytest.raises(TypeError, match="Only .unstructured. PRUNING_TYPE supported"):
            structured(torch)


@pytest.mark.parametrize("rank", [2, 3])
def test_memory_formats_of_weights(rank):
    def converted(torch):
        nn = torch.nn
        convolution = getattr(nn, f"Conv{rank}d")(3, 4, 3)
        layers = nn.Sequential(nn.Conv1d(3, 4, 3), nn.Sequential(convolution), nn.Linear(2, 2))
        wanted = torch.channels_last if rank == 2 else torch.channels_last_3d
        convert = getattr(nn.utils, f"convert_conv{rank}d_weight_memory_format")
        assert convert(layers, wanted) is layers
        assert isinstance(convolution.weight, nn.Parameter) and convolution.weight.is_leaf
        return [parameter.stride() for parameter in layers.parameters()]

    assert isinstance(same(converted), list)


def test_devices_that_are_not_there():
    for kind in ("xpu", "ipu", "mtia"):
        with pytest.raises((RuntimeError, NotImplementedError)):
            getattr(numbagrad.nn.Linear(2, 2), kind)()
