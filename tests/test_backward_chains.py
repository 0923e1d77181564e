"""Chains of formulas in a backward run as one kernel, and nobody can tell: bits, hooks, errors."""

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.autograd.engine import backward as engine
from numbagrad.executor.cache import background
from numbagrad.executor.mode import NATIVE
from numbagrad.ops.operators import chains

pytestmark = pytest.mark.skipif(not NATIVE, reason="chains only save time, as launchers do")

SIZE = engine._LARGE

CHAINS = {
    "normal distribution": lambda x, c: 0.5 * (1 + torch.erf(x * c)),
    "outputs that are saved": lambda x, c: torch.tanh(torch.exp(torch.sigmoid(x)) * c),
    "quotients": lambda x, c: torch.log((x / c + 4) / 3),
    "an end that passes its gradient on": lambda x, c: x.sin() - (x * c).cos() * 2,
    "sums of the gradient": lambda x, c: ((x * 0.1 + c).sqrt() * 3).lerp(x * 0.3, 0.7) * c,
    "the same tensor twice": lambda x, c: (x * c * (x * c)).atan() * 0.3,
    "conditions": lambda x, c: torch.nn.functional.softplus(torch.relu(x * 3) - c).abs() * c,
}


@pytest.fixture(autouse=True)
def compiled_at_once(monkeypatch):
    monkeypatch.setattr(chains, "_WORTH_COMPILING", 0)
    monkeypatch.setattr(background, "ENABLED", False)
    torch.empty(SIZE * 2) + 1  # a large array, without which no walk looks for chains


@pytest.fixture
def lengths(monkeypatch):
    """The lengths of the chains that ran."""
    found = []

    def noted(*arguments):
        made = run_chain(*arguments)
        if made is not None:
            found.append(len(made[0]))
        return made

    run_chain = chains.run_chain
    monkeypatch.setattr(chains, "run_chain", noted)
    return found


def operands(dtype=torch.float32):
    generator = torch.Generator().manual_seed(3)
    x = torch.rand(SIZE, generator=generator, dtype=dtype).requires_grad_()
    return x, torch.rand(SIZE, generator=generator, dtype=dtype) + 0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", CHAINS)
def test_bits_are_those_of_single_nodes(name, dtype, lengths, monkeypatch):
    x, c = operands(dtype)
    y = CHAINS[name](x, c)
    weights = torch.rand(SIZE, dtype=dtype)
    (joined,) = torch.autograd.grad(y, x, weights, retain_graph=True)
    assert lengths, "no chain ran"
    del lengths[:]
    monkeypatch.setattr(engine, "_LARGE", SIZE + 1)
    (single,) = torch.autograd.grad(y, x, weights)
    assert not lengths
    assert np.array_equal(joined.numpy(), single.numpy())


def test_the_gradient_of_a_sum_is_repeated(lengths):
    x, c = operands()
    (torch.erf(x * c) * c).sum().backward()
    assert lengths == [3]
    expected = c * (1.1283791670955126 * torch.exp(-((x * c) ** 2))) * c
    torch.testing.assert_close(x.grad, expected.detach())


def test_hooks_see_every_gradient(lengths):
    x, c = operands()
    first = x * c
    second = torch.erf(first)
    third = second * 2
    seen = []
    second.register_hook(lambda grad: seen.append(grad.clone()))
    first.retain_grad()
    third.backward(c)
    assert not lengths
    assert seen[0].equal(c * 2)
    assert x.grad.equal(first.grad * c)


def test_hooks_of_nodes_end_a_chain(lengths):
    x, c = operands()
    y = torch.erf(torch.erf(torch.erf(x * c)) * 2) * 3
    inner = y.grad_fn.next_functions[0][0].next_functions[0][0]
    calls = []
    inner.register_hook(lambda inputs, outputs: calls.append("post"))
    inner.register_prehook(lambda gradients: calls.append("pre"))
    y.backward(c)
    assert calls == ["pre", "post"]
    assert lengths == [2, 3]


def test_the_gradient_of_a_tensor_that_is_used_twice_is_complete(lengths):
    x, c = operands()
    shared = torch.sin(x) * c
    (torch.exp(shared) * 2 + torch.cos(shared) * 3).backward(c)
    s = torch.sin(x.detach()) * c
    expected = (torch.exp(s) * 2 - torch.sin(s) * 3) * c * c * torch.cos(x.detach())
    torch.testing.assert_close(x.grad, expected)
    assert lengths


def test_what_was_written_since_is_refused(lengths):
    x, c = operands()
    y = torch.exp(x * c)
    z = y * c
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward(c)
    assert not lengths


def test_graphs_are_freed_or_kept(lengths):
    x, c = operands()
    y = torch.erf(x * c) * c
    y.backward(c, retain_graph=True)
    y.backward(c)
    assert lengths == [3, 3]
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward(c)


def test_second_gradients_and_anomalies_are_single_nodes(lengths):
    x, c = operands(torch.float64)
    y = torch.sin(x * c) * c
    (first,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
    assert not lengths
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, (-torch.sin(x * c) * c**3).detach())
    del lengths[:]
    with torch.autograd.detect_anomaly(), pytest.warns(UserWarning, match="SinBackward0"):
        with pytest.raises(RuntimeError, match="'SinBackward0' returned nan values"):
            (torch.log(x * 0) * c).sin().backward(c)
    assert not lengths


def test_hooks_of_saved_tensors_run_in_order(lengths):
    x, c = operands()
    unpacked = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: t, lambda t: unpacked.append(t.shape) or t
    ):
        y = torch.erf(x * c) * c
    y.backward(c)
    assert len(unpacked) == 3 and not lengths


def test_a_kernel_waits_until_it_is_worth_compiling(monkeypatch):
    monkeypatch.setattr(chains, "_WORTH_COMPILING", 3 * SIZE)
    x, c = operands()
    ran = []
    run_chain = chains.run_chain
    monkeypatch.setattr(
        chains, "run_chain", lambda *given: ran.append(run_chain(*given)) or ran[-1]
    )
    monkeypatch.setattr(chains.library, "_stored", lambda content: None)  # nothing on disk
    y = torch.asinh(torch.expm1(x * c))
    for _ in range(3):
        y.backward(c, retain_graph=True)
    # The first walk asks three nodes in vain, of which two belong to the chain of the first.
    assert [found and len(found[0]) for found in ran] == [None, None, None, 3, 3]
