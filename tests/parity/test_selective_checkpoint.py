"""Selective checkpoints against torch: the names that policies are told, and the gradients."""

import functools
import importlib.util

import pytest

import numbagrad as ng
from numbagrad.ops import aten

torch = pytest.importorskip("torch")

#: What numbagrad asks nobody about: views, writes in place, new tensors of numbers.
SILENT = ("aten.t.", "aten.view.", "aten.transpose.", "aten.permute.", "aten.expand.",
          "aten.select.", "aten.slice.", "aten.unsqueeze.", "aten.squeeze.", "aten.unbind.",
          "aten.split.", "aten.detach.", "aten.lift_fresh.", "aten.empty", "aten.mul_.",
          "aten.alias.", "aten._unsafe_view.", "aten.ones_like.")  # fmt: skip

FUNCTIONS = [
    lambda T, x, y: x.sin().exp() + y.cos() * 2 - 1,
    lambda T, x, y: 1 - x / 2,
    lambda T, x, y: x**2 + 2**y + x.abs() ** y,
    lambda T, x, y: x.sum() + x.sum(1) + y.mean() + y.mean(0),
    lambda T, x, y: x @ y + T.mm(x, y.t()) + T.addmm(x, x, y),
    lambda T, x, y: T.bmm(x.expand(2, 3, 3), y.expand(2, 3, 3)) + T.mv(x, y[0]),
    lambda T, x, y: T.matmul(x.expand(2, 3, 3), y.expand(2, 3, 3)),
    lambda T, x, y: T.nn.functional.linear(x, y, y[0]),
    lambda T, x, y: T.nn.functional.softmax(x, -1) + T.nn.functional.log_softmax(y, -1),
    lambda T, x, y: T.nn.functional.layer_norm(x, (3,)) * T.nn.functional.gelu(y),
    lambda T, x, y: T.var_mean(x, 1)[0] + x.std(0) + y.var(),
    lambda T, x, y: T.where(x > 0, x, y) + T.where(x == y, x, y),
    lambda T, x, y: x.max() + x.amax(1) + y.max(1)[0] + y.logsumexp(0),
    lambda T, x, y: x.clamp(0, 1) + x.relu() + y.sigmoid() + y.tanh() + T.nn.functional.silu(x),
    lambda T, x, y: T.cat([x, y]).clone() + T.stack([x, y]).flatten(0, 1),
    lambda T, x, y: x.masked_fill(x > 0, 2.0) + T.maximum(x, y),
    lambda T, x, y: T.nn.functional.conv2d(x.view(1, 1, 3, 3), y.view(1, 1, 3, 3)),
    lambda T, x, y: x.double().sqrt().float() * x.cumsum(0) + T.lerp(x, y, 0.5),
]  # fmt: skip


def names_and_gradients(T, function, x, y, policy):
    x, y = x.clone().requires_grad_(), y.clone().requires_grad_()
    names = []

    def asked(context, operator, *arguments, **named):
        names.append(str(operator))
        return policy(len(names))

    module = T.utils.checkpoint
    out = module.checkpoint(
        functools.partial(function, T), x, y, use_reentrant=False,
        context_fn=functools.partial(module.create_selective_checkpoint_contexts, asked),
    )  # fmt: skip
    out.sum().backward()
    return [name for name in names if not name.startswith(SILENT)], (x.grad, y.grad)


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_names_are_those_of_torch(number):
    torch.manual_seed(0)
    x, y = torch.rand(3, 3), torch.rand(3, 3)
    function = FUNCTIONS[number]
    expected, gradients = names_and_gradients(torch, function, x, y, lambda number: False)
    for policy in (lambda number: False, lambda number: True, lambda number: number % 2 == 0):
        made, found = names_and_gradients(
            ng, function, ng.tensor(x.numpy()), ng.tensor(y.numpy()), policy
        )
        assert made == expected
        for a, b in zip(found, gradients, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                torch.testing.assert_close(torch.from_numpy(a.numpy()), b)


def test_all_overloads_are_overloads_of_torch():
    spec = importlib.util.find_spec(aten.__name__)
    fresh = importlib.util.module_from_spec(spec)  # nobody asked it for other names yet
    spec.loader.exec_module(fresh)
    unknown = [
        f"{name}.{overload}"
        for name, overloads in fresh._OVERLOADS.items()
        for overload in overloads
        if overload not in getattr(torch.ops.aten, name).overloads()
    ]
    assert unknown == []
