"""Arguments in the orders of before 2018, which torch still takes, give what they give there."""

import warnings

import pytest
import torch

import numbagrad as ng

CALLS = """
torch.add(x, 3, y)
torch.add(x, 3, y, out=torch.empty(2, 3))
x.add(3, y)
x.clone().add_(3, y)
torch.sub(x, 3, y)
x.sub(3, y)
x.clone().sub_(torch.tensor(3.0), y)
torch.rsub(x, 2, 3)
torch.addcmul(x, 3, x, y)
torch.addcmul(x, 3, x, y, out=torch.empty(2, 3))
x.addcmul(3, x, y)
x.clone().addcmul_(3, x, y)
torch.addcdiv(x, 3, x, y)
x.clone().addcdiv_(3, x, y)
torch.addmm(2, x, 3, a, b)
torch.addmm(2, x, a, b)
torch.addmm(2, x, 3, a, b, out=torch.empty(2, 3))
torch.addmm(torch.tensor(2.0), x, torch.tensor(3.0), a, b)
x.addmm(2, 3, a, b)
x.addmm(2, a, b)
x.clone().addmm_(2, 3, a, b)
x.clone().addmm_(2, a, b)
torch.addmv(2, x[:, 0], 3, a, b[:, 0])
torch.addmv(2, x[:, 0], a, b[:, 0])
x[:, 0].clone().addmv_(2, 3, a, b[:, 0])
torch.addr(2, x, 3, a[:, 0], b[0])
x.clone().addr_(2, a[:, 0], b[0])
torch.addbmm(2, x, 3, A, B)
torch.addbmm(2, x, A, B)
x.addbmm(2, 3, A, B)
x.clone().addbmm_(2, A, B)
torch.baddbmm(2, x, 3, A, B)
torch.baddbmm(2, x, A, B)
torch.bmm(A, B).baddbmm_(2, 3, A, B)
""".strip().splitlines()

WRONG = """
torch.addmm(x, a, b, 2, 3)
torch.addmm(2, 3, a, b)
torch.addmm(2, x, 3, a)
torch.addmm(2, x, "3", a, b)
torch.addmm(torch.tensor(2.0, requires_grad=True), x, 3, a, b)
x.addmm(3, a, b, alpha=2)
x.addmm_(x, 3, a, b)
x.addmm_(2, 3, a, b, out=x)
torch.rsub(x, x, 3)
torch.add(x, x, 3)
x.sub_(x, 3)
x.addcdiv_(x, x, 2)
""".strip().splitlines()


def operands(library, *, requires_grad=False):
    def counted(*shape):
        count = torch.Size(shape).numel()
        values = library.arange(count, dtype=library.float32).reshape(shape) / count + 0.5
        return values.requires_grad_(requires_grad)

    return {
        "torch": library, "x": counted(2, 3), "y": counted(2, 3) + 1, "a": counted(2, 4),
        "b": counted(4, 3), "A": counted(5, 2, 4), "B": counted(5, 4, 3),
    }  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_results_and_gradients(call):
    wanted, made = [], []
    for library, into in ((torch, wanted), (ng, made)):
        for requires_grad in (False, True):
            if requires_grad and "out=" in call:
                continue
            names = operands(library, requires_grad=requires_grad)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = eval(call, names)
            into.append(result.detach().numpy())
            if requires_grad:
                result.sum().backward()
                leaves = [names[x] for x in "xabAB"]
                into += [x.grad.numpy() for x in leaves if x.grad is not None]
    assert len(made) == len(wanted)
    for one, other in zip(made, wanted, strict=True):
        assert one.shape == other.shape and one == pytest.approx(other, rel=1e-5)


def test_they_warn():
    x, a = ng.ones(2, 2), ng.ones(2, 2)
    with pytest.warns(UserWarning, match=r"addmm\(\) with its factors .* beta=2, alpha=3") as seen:
        ng.addmm(2, x, 3, a, a)
    assert seen[0].filename == __file__


@pytest.mark.parametrize("call", WRONG)
def test_what_is_no_order_is_refused(call):
    for library in (torch, ng):
        with pytest.raises(TypeError):
            eval(call, operands(library))
