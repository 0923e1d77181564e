"""bfloat16 against live torch: programs whose printed output is the same, letter for letter.

Both print what they compute, so dtypes, rounding, random numbers and errors are compared at once.
"""

import contextlib
import io

import numpy as np
import pytest
import torch

import numbagrad

#: Programs over the library ``t``, one after ``---``.
PROGRAMS = r"""
x = t.tensor([1.5, 2, 3.14159, float('nan'), float('inf'), 1e-40], dtype=t.bfloat16)
print(x, x.dtype, x.element_size(), x.nbytes)
---
x = t.arange(10, dtype=t.bfloat16)
print(x, t.linspace(0, 1, 7, dtype=t.bfloat16), t.arange(0, 1, 0.1, dtype=t.bfloat16))
---
print(t.finfo(t.bfloat16), t.finfo(t.float16), t.finfo(t.bfloat16).resolution)
print(t.finfo(t.bfloat16).max)
---
t.ones(3, dtype=t.bfloat16).numpy()
---
import numpy as np
np.asarray(t.ones(3, dtype=t.bfloat16))
---
print(t.promote_types(t.bfloat16, t.float16), t.promote_types(t.bfloat16, t.float32))
print(t.promote_types(t.bfloat16, t.int64), t.promote_types(t.bfloat16, t.bool))
print(t.promote_types(t.bfloat16, t.float64), t.promote_types(t.bfloat16, t.complex64))
---
print(t.can_cast(t.float32, t.bfloat16), t.can_cast(t.bfloat16, t.int32))
print(t.result_type(t.ones(2, dtype=t.bfloat16), 1.5))
print(t.result_type(t.ones(2, dtype=t.bfloat16), t.tensor(1.5)))
print(t.result_type(t.ones((), dtype=t.bfloat16), t.tensor([1.5])))
---
print(t.bfloat16, repr(t.bfloat16), t.bfloat16.is_floating_point, t.bfloat16.itemsize)
print(t.bfloat16.is_signed, t.bfloat16.is_complex)
---
a = t.ones(3, dtype=t.bfloat16)
b = t.ones(3, dtype=t.float16)
print((a + b).dtype, (a * 2).dtype, (a + t.tensor(1.0)).dtype, (a + t.ones(3)).dtype)
print((a + t.ones(3, dtype=t.int32)).dtype, a / 3, (a + 1j).dtype)
---
x = t.ones(3, dtype=t.bfloat16)
x += t.tensor([0.1, 0.2, 0.3])
print(x)
---
x = t.ones(3, dtype=t.int32)
x += t.ones(3, dtype=t.bfloat16)
---
x = t.zeros(2, 3, dtype=t.bfloat16)
x[0] = 1.5
x[1, 1] = t.tensor(2.3)
x[:, 2] = t.tensor([3.3, 4.4])
print(x)
x.fill_(7.7)
print(x)
x.zero_()
print(x)
x.copy_(t.ones(3) * 1.1)
print(x)
---
x = t.tensor([1.5, 2.5], dtype=t.bfloat16, requires_grad=True)
y = (x * x).sum()
y.backward()
print(y, x.grad, y.grad_fn.name())
(x * 3).sum().backward()
print(x.grad)
---
x = t.randn(3, dtype=t.bfloat16)
print(x)
print(t.rand(5, dtype=t.bfloat16), t.randn(20, dtype=t.bfloat16))
print(t.randint(0, 5, (3,), dtype=t.bfloat16), t.empty(5, dtype=t.bfloat16).uniform_(-2, 3))
print(t.empty(20, dtype=t.bfloat16).normal_(1, 2), t.empty(4, dtype=t.bfloat16).exponential_())
print(t.empty(4, dtype=t.bfloat16).bernoulli_(0.3), t.empty(4, dtype=t.bfloat16).random_())
print(t.empty(6, dtype=t.bfloat16).log_normal_(), t.randperm(5, dtype=t.bfloat16))
print(t.empty(7, dtype=t.bfloat16).geometric_(0.4), t.empty(3, dtype=t.bfloat16).cauchy_())
---
print(t.bernoulli(t.full((5,), 0.4, dtype=t.bfloat16)))
print(t.normal(t.ones(3, dtype=t.bfloat16), t.ones(3, dtype=t.bfloat16)))
print(t.multinomial(t.tensor([0.1, 0.5, 0.4], dtype=t.bfloat16), 2))
print(t.multinomial(t.tensor([0.1, 0.5, 0.4], dtype=t.bfloat16), 4, replacement=True))
---
x = t.tensor([1.0, 2.0, 3.0]).bfloat16()
print(x.view(t.int16), x.view(t.float16))
print(t.tensor([16256, 16384], dtype=t.int16).view(t.bfloat16), x.view(t.uint8))
print(t.zeros(4, dtype=t.bfloat16).view(t.float32))
---
x = t.ones(2, 2, dtype=t.bfloat16)
print(x.type(), x.is_floating_point(), t.is_floating_point(x), x.type(t.float32).dtype)
print(x.to(t.int8).dtype, x.double().dtype, x.type('torch.BFloat16Tensor').dtype)
---
print(t.tensor(3.7, dtype=t.bfloat16).item(), float(t.tensor(3.7, dtype=t.bfloat16)))
print(int(t.tensor(3.7, dtype=t.bfloat16)), t.tensor([3.7, 1], dtype=t.bfloat16).tolist())
print(bool(t.tensor(0.0, dtype=t.bfloat16)), f'{t.tensor(3.7, dtype=t.bfloat16):.2f}')
---
x = t.tensor([3.0, 1.0, 2.0], dtype=t.bfloat16)
print(t.cat([x, x]), t.stack([x, x]).shape, t.where(x > 1.5, x, t.zeros(())))
print(t.where(x > 1.5, x, 0.0), x.clamp(1.5, 2.5), x.masked_fill(x > 2, 9.0), x[x > 1.5])
print(x.index_select(0, t.tensor([0, 2])), x.gather(0, t.tensor([1, 1])))
print(t.cat([x, t.ones(1)]).dtype, x.masked_select(x > 1), x.nonzero(), t.nonzero(x - 1), x.eq(1))
print(x == 1, x.isnan(), t.allclose(x, x), t.equal(x, x), x.repeat(2), x.expand(2, 3))
print(x.unsqueeze(0).shape, x.scatter(0, t.tensor([0]), 5.0))
print(x.index_add(0, t.tensor([0, 0]), t.ones(2, dtype=t.bfloat16)))
print(x.scatter_add(0, t.tensor([0, 0]), t.ones(2, dtype=t.bfloat16)))
---
t.set_default_dtype(t.bfloat16)
print(t.tensor([1.5, 2.0]), t.ones(2), t.tensor(1.5).dtype, t.get_default_dtype())
print(t.nn.Linear(2, 2).weight.dtype, (t.tensor([1, 2]) / 2).dtype, t.arange(0, 1, 0.25).dtype)
t.set_default_dtype(t.float32)
print(t.ones(2, dtype=t.bfloat16))
---
m = t.nn.Linear(3, 2).to(t.bfloat16)
x = t.randn(4, 3, dtype=t.bfloat16)
y = m(x)
print(y, y.dtype)
y.sum().backward()
print(m.weight.grad, m.bias.grad)
---
m = t.nn.Conv2d(2, 3, 3, padding=1).to(t.bfloat16)
x = t.randn(1, 2, 4, 4).bfloat16().requires_grad_()
y = m(x)
y.sum().backward()
print(y.dtype, x.grad.dtype, m.weight.grad.dtype, m.bias.grad)
---
m = t.nn.Embedding(5, 3).to(t.bfloat16)
y = m(t.tensor([1, 2, 1]))
y.sum().backward()
print(y, m.weight.grad)
---
p = t.nn.Parameter(t.tensor([1.0, 2.0, 3.0]).bfloat16())
o = t.optim.Adam([p], lr=0.1)
(p * p).sum().backward()
o.step()
o.step()
print(p.data, o.state[p]['exp_avg'].dtype, o.state[p]['step'])
---
x = t.randn(3, 4, dtype=t.bfloat16)
print(x @ x.t(), t.einsum('ij,kj->ik', x, x), t.bmm(x[None], x.t()[None]), t.mv(x, x[0]))
print(t.dot(x[0], x[1]), t.addmm(t.ones(3, 3, dtype=t.bfloat16), x, x.t()), t.outer(x[0], x[1]))
---
import pickle, io
b = io.BytesIO()
t.save({'a': t.ones(2, dtype=t.bfloat16)}, b)
b.seek(0)
print(t.load(b))
import copy
print(copy.deepcopy(t.ones(2, dtype=t.bfloat16)))
print(pickle.loads(pickle.dumps(t.ones(2, dtype=t.bfloat16))) + 1)
---
x = t.ones(2, dtype=t.bfloat16)
print(t.func.grad(lambda x: (x * x).sum())(x), t.vmap(lambda x: x * 2 + 1)(x))
print(t.func.jvp(lambda x: x.exp(), (x,), (x,)))
print(t.vmap(lambda r: r.sum())(t.ones(3, 4, dtype=t.bfloat16)))
---
x = t.randn(2, 4, 8).bfloat16()
print(t.nn.functional.scaled_dot_product_attention(x, x, x).dtype)
print(t.nn.functional.layer_norm(x, (8,))[0, 0], t.nn.functional.rms_norm(x, (8,))[0, 0])
---
x = t.ones(3).half()
print(x, x.type(), (x * 3).dtype, x.numpy(), x.sum(), t.randn(3).half())
---
x = t.tensor([1, 2, 3]).to(t.bfloat16)
print(x, t.tensor(70000).to(t.bfloat16), t.tensor(1e+39, dtype=t.float64).to(t.bfloat16))
print(t.tensor([True]).bfloat16(), t.tensor([1.9, -1.9]).bfloat16().int())
---
t.full((2,), 1e+39, dtype=t.bfloat16)
---
t.tensor([1.0, 2.0]).bfloat16().requires_grad_().numpy()
---
x = t.ones(2, dtype=t.bfloat16, requires_grad=True)
y = x.float()
y.sum().backward()
print(x.grad, y.grad_fn.name())
---
x = t.ones(2, requires_grad=True)
y = x.bfloat16()
(y * y).sum().backward()
print(x.grad, x.grad.dtype, y.grad_fn.name())
---
x = t.ones(2, dtype=t.bfloat16, requires_grad=True)
x.grad = t.ones(2)
---
x = t.ones(2, dtype=t.bfloat16, requires_grad=True)
x.sum().backward(t.ones(()))
---
x = t.complex(t.ones(2, dtype=t.bfloat16), t.ones(2, dtype=t.bfloat16))
---
print(t.ones(2, dtype=t.bfloat16).to_complex() if 0 else t.bfloat16.to_real())
t.bfloat16.to_complex()
---
print(t.tril(t.ones(2, 2, dtype=t.bfloat16)), t.eye(2, dtype=t.bfloat16))
print(t.diag(t.ones(2, dtype=t.bfloat16)), t.ones(2, 2, dtype=t.bfloat16).trace())
print(t.bincount(t.tensor([0, 1]), t.ones(2, dtype=t.bfloat16)).dtype)
print(t.histc(t.ones(3, dtype=t.bfloat16) * 0.5, 4))
print(t.isin(t.ones(2, dtype=t.bfloat16), t.ones(1, dtype=t.bfloat16)))
---
print(t.ones(3, dtype=t.bfloat16).new_zeros(2), t.zeros_like(t.ones(1), dtype=t.bfloat16))
print(t.full_like(t.ones(2, dtype=t.bfloat16), 1.7))
print(t.ones(1, dtype=t.bfloat16).new_tensor([1.3]))
print(t.ones(2, dtype=t.bfloat16).new_full((1,), 2.2), t.rand_like(t.ones(2, dtype=t.bfloat16)))
---
x = t.ones(4, dtype=t.bfloat16)
x[1:3] *= 2
print(x)
x.mul_(1.5).add_(t.ones(4))
print(x)
x.div_(3)
print(x)
x.sub_(1).abs_()
print(x)
x.clamp_(0.1, 0.5)
print(x)
x.sigmoid_()
print(x)
---
print(t.nn.functional.dropout(t.ones(6, dtype=t.bfloat16), 0.5))
print(t.nn.functional.one_hot(t.tensor([0, 1])).bfloat16())
print(t.nn.functional.mse_loss(t.ones(2, dtype=t.bfloat16), t.zeros(2, dtype=t.bfloat16)))
print(t.nn.functional.pad(t.ones(2, dtype=t.bfloat16), (1, 1), value=0.3))
---
x = t.nn.init.kaiming_uniform_(t.empty(2, 3, dtype=t.bfloat16))
print(x)
print(t.nn.init.trunc_normal_(t.empty(2, 3, dtype=t.bfloat16)))
print(t.nn.init.orthogonal_(t.empty(3, 2)).bfloat16().dtype)
---
print(t.nn.utils.clip_grad_norm_([t.nn.Parameter(t.ones(2, dtype=t.bfloat16))], 1.0))
---
p = t.nn.Parameter(t.ones(2, dtype=t.bfloat16))
p.grad = t.ones(2, dtype=t.bfloat16) * 3
print(t.nn.utils.clip_grad_norm_([p], 1.0), p.grad)
---
m = t.nn.LSTM(3, 4).to(t.bfloat16)
y, (h, c) = m(t.randn(2, 1, 3).bfloat16())
print(y.dtype, h.dtype)
---
m = t.nn.MultiheadAttention(8, 2, batch_first=True).to(t.bfloat16)
x = t.randn(2, 3, 8).bfloat16()
y, w = m(x, x, x)
print(y.dtype, w.dtype)
y.sum().backward()
print(m.in_proj_weight.grad.dtype)
---
print(t.max(t.ones(2, dtype=t.bfloat16), t.zeros(2)).dtype, t.ones(2, dtype=t.bfloat16).pow(2.5))
print(2 ** t.ones(2, dtype=t.bfloat16), t.ones(2, dtype=t.bfloat16) // 0.3)
print(t.ones(2, dtype=t.bfloat16) % 0.3)
print(t.lerp(t.ones(2, dtype=t.bfloat16), t.zeros(2, dtype=t.bfloat16), 0.3))
print(t.addcmul(t.ones(2, dtype=t.bfloat16), t.ones(2, dtype=t.bfloat16), t.ones(2,
    dtype=t.bfloat16), value=0.3))
---
x = t.ones(2000, dtype=t.bfloat16)
print(x)
print(t.arange(1200).bfloat16().reshape(30, 40))
---
x = t.ones(3, dtype=t.bfloat16)
y = x.detach()
y[0] = 4
print(x, x.data_ptr() == y.data_ptr(), x.contiguous() is x, x.clone())
---
print(t.frombuffer(bytearray(b'\x80?\x00@'), dtype=t.bfloat16))
---
print(t.BFloat16Tensor([1.5, 2]), t.HalfTensor([1.5]))
---
print(t.searchsorted(t.tensor([1.0, 2.0, 3.0], dtype=t.bfloat16), t.tensor([1.5, 2.5],
    dtype=t.bfloat16)))
print(t.bucketize(t.tensor([1.5], dtype=t.bfloat16), t.tensor([1.0, 2.0], dtype=t.bfloat16)))
print(t.tensor([1.0, 2.0, 2.0], dtype=t.bfloat16).mode())
print(t.tensor([1.0, 3.0, 2.0], dtype=t.bfloat16).kthvalue(2))
print(t.unique_consecutive(t.tensor([1.0, 1.0, 2.0], dtype=t.bfloat16)))
print(t.tensor([1.0, 3.0, 2.0], dtype=t.bfloat16).msort())
---
print(t.nn.functional.interpolate(t.arange(4.0).bfloat16().reshape(1, 1, 2, 2),
    scale_factor=2, mode='bilinear'))
print(t.nn.functional.max_pool2d(t.arange(16.0).bfloat16().reshape(1, 1, 4, 4), 2))
print(t.nn.functional.avg_pool2d(t.arange(16.0).bfloat16().reshape(1, 1, 4, 4), 2))
print(t.nn.functional.adaptive_avg_pool2d(t.arange(16.0).bfloat16().reshape(1, 1, 4, 4), 1))
print(t.nn.functional.max_pool2d(t.arange(16.0).bfloat16().reshape(1, 1, 4, 4), 2,
    return_indices=True))
---
x = t.ones(3, dtype=t.bfloat16)
x.index_add_(0, t.tensor([0, 0]), t.ones(2, dtype=t.bfloat16))
x.scatter_reduce_(0, t.tensor([1]), t.tensor([5.0], dtype=t.bfloat16), 'amax')
x.lerp_(t.zeros(3, dtype=t.bfloat16), 0.5)
x.addcdiv_(x, x)
x.cumsum_(0)
x.tril if 0 else 0
print(x, x.round(decimals=1) if 0 else x.round())
---
t.nn.utils.parameters_to_vector([t.ones(2, dtype=t.bfloat16)])
---
print(t.quantile(t.ones(2, dtype=t.bfloat16), 0.5))
---
print(t.tensor([0.1, 0.2], dtype=t.bfloat16).sum().item(), t.tensor(0.1, dtype=t.bfloat16) == 0.1)
print(0.1 in t.tensor([0.1], dtype=t.bfloat16), t.tensor([0.1], dtype=t.bfloat16) < 0.1)
print(hash(t.bfloat16) == hash(t.bfloat16))
"""


def output(library, program):
    """What a program prints, and the class and text of the error that ends it."""
    library.manual_seed(3)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(program, {"t": library, "np": np})
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=printed)
    finally:
        library.set_default_dtype(library.float32)
    return printed.getvalue()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS.strip().split("\n---\n"))
def test_prints_what_torch_prints(program):
    assert output(numbagrad, program) == output(torch, program)


@pytest.mark.parametrize("width", [1, 7, 64])
def test_training_ends_near_that_of_torch(width):
    """Sums are taken in another order, and torch rounds inside of its losses and updates."""

    def final(library):
        library.manual_seed(0)
        net = library.nn.Sequential(
            library.nn.Linear(8, width), library.nn.Tanh(), library.nn.Linear(width, 4)
        ).to(library.bfloat16)
        optimizer = library.optim.SGD(net.parameters(), lr=0.05)
        x, y = library.randn(16, 8).bfloat16(), library.arange(16) % 4
        for _ in range(10):
            optimizer.zero_grad()
            loss = library.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
        return loss.item()

    assert abs(final(numbagrad) - final(torch)) < 0.03
