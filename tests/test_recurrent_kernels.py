"""Kernels of recurrent layers against the same layers step by step."""

import pytest

import numbagrad as torch
from numbagrad.executor.families.recurrent import Steps
from numbagrad.nn.functional import recurrent

MODES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}
SIZES = {"of one length": (5, 5, 5), "of many lengths": (5, 5, 3, 1), "one": (1, 1)}


def arguments(mode, steps, dtype=torch.float64, bias=True, width=19):
    """What a layer is given, drawn at random."""
    gates, features = MODES[mode] * width, 3

    def draw(*shape):
        return (torch.randn(*shape, dtype=dtype) / 2).requires_grad_()

    sequences = max(steps.sizes)
    cell = draw(sequences, width) if mode == "LSTM" else None
    biases = (draw(gates), draw(gates)) if bias else (None, None)
    return (
        draw(sum(steps.sizes), features), draw(sequences, width), cell, draw(gates, features),
        draw(gates, width), *biases, None, mode, steps,
    )  # fmt: skip


def outcome(layer, given):
    """Results, and the gradients of all that is given for a gradient of each result."""
    torch.manual_seed(1)
    results = layer(*given)
    grads = [torch.randn(*x.shape, dtype=x.dtype) for x in results]
    tensors = [x for x in given if isinstance(x, torch.Tensor)]
    return [*results, *torch.autograd.grad(results, tensors, grads)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_layer_is_its_steps(mode, sizes, reverse, dtype):
    torch.manual_seed(0)
    given = arguments(mode, Steps(SIZES[sizes], reverse), dtype)
    layer = recurrent._OPERATORS[mode]
    pairs = zip(outcome(layer, given), outcome(layer.definition, given), strict=True)
    rough = 1e-4 if dtype == torch.float32 else 1e-10
    for ours, expected in pairs:
        torch.testing.assert_close(ours, expected, rtol=rough, atol=rough)


@pytest.mark.parametrize("mode", MODES)
def test_layers_without_bias(mode):
    given = arguments(mode, Steps((2, 2), False), bias=False)
    layer = recurrent._OPERATORS[mode]
    pairs = zip(outcome(layer, given), outcome(layer.definition, given), strict=True)
    for ours, expected in pairs:
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_gradients(mode):
    *tensors, _, steps = arguments(mode, Steps((2, 1), False), width=2)
    given = [x for x in tensors[:-1] if x is not None]
    positions = [k for k, x in enumerate(tensors[:-1]) if x is not None]

    def layer(*chosen):
        passed = [None] * 8
        for position, x in zip(positions, chosen, strict=True):
            passed[position] = x
        return recurrent._OPERATORS[mode](*passed, mode, steps)[0]

    assert torch.autograd.gradcheck(layer, given)
    if mode != "RNN_RELU":  # whose second derivative is zero, but at the bend
        assert torch.autograd.gradgradcheck(layer, given)


def test_results_may_be_written_where_torch_lets_them():
    x = torch.randn(3, 2, 3)
    for kind in (torch.nn.GRU, torch.nn.RNN):
        net = kind(3, 4)
        y, _ = net(x)
        y.mul_(2).sum().backward()
        doubled = net.weight_ih_l0.grad.clone()
        net.zero_grad()
        (net(x)[0] * 2).sum().backward()
        torch.testing.assert_close(net.weight_ih_l0.grad, doubled)
    y, _ = torch.nn.LSTM(3, 4)(x)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_weights_of_other_shapes_are_refused():
    net = torch.nn.LSTM(3, 4)
    net.weight_hh_l0 = torch.nn.Parameter(torch.randn(16, 3))
    with pytest.raises(RuntimeError):
        net(torch.randn(2, 2, 3))


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_compiled_training_follows_eager_training(kind):
    def losses(compiled):
        torch.manual_seed(0)
        net = getattr(torch.nn, kind)(3, 20, num_layers=2, bidirectional=True)
        updates = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(4, 6, 3)

        def step(x):
            updates.zero_grad()
            loss = net(x)[0].square().mean()
            loss.backward()
            updates.step()
            return loss

        run = torch.compile(step, fullgraph=True) if compiled else step
        return [run(x).item() for _ in range(5)]

    assert losses(True) == pytest.approx(losses(False), rel=1e-5)


def test_threads_leave_the_bits_alone():
    given = arguments("GRU", Steps((40,) * 6, False), torch.float32, width=96)
    layer = recurrent._OPERATORS["GRU"]
    before = torch.get_num_threads()
    try:
        made = []
        for count in (1, 2):
            torch.set_num_threads(count)
            made.append(outcome(layer, given))
    finally:
        torch.set_num_threads(before)
    for one, two in zip(*made, strict=True):
        assert one.equal(two)
