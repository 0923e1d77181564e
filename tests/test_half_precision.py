"""bfloat16 and float16: memory, numbers in and out, promotion, writes, training, programs.

What each operator computes in them is in ``test_operators.py``.
"""

import io
import itertools
import pickle
import warnings

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import half_precision
from numbagrad.executor.families.conversion import convert

HALF = [torch.float16, torch.bfloat16]
over_half = pytest.mark.parametrize("dtype", HALF, ids=str)


def bits(tensor):
    """The bit patterns of a tensor of half precision."""
    return tensor.view(torch.int16).numpy().view(np.uint16)


def nearest(x):
    """The bit pattern of the bfloat16 nearest to a float32, found by looking at its neighbours."""
    if np.isnan(x):
        return None
    pattern = int(np.float32(x).view(np.uint32))
    low = pattern >> 16
    rest = pattern & 0xFFFF
    return low + (rest > 0x8000 or (rest == 0x8000 and low & 1))


SPECIAL = [
    0.0, -0.0, 1.0, -1.5, 1e-45, -1e-40, 1.17549435e-38, 3.3895314e38, 3.4e38, np.inf, -np.inf,
    1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20, 65504.0, 1e5,
]  # fmt: skip


class TestNumbers:
    def numbers(self):
        generator = np.random.default_rng(0)
        spread = generator.standard_normal(3000) * 10.0 ** generator.integers(-42, 38, 3000)
        return np.concatenate([spread, SPECIAL]).astype(np.float32)

    def test_rounds_to_the_nearest_and_to_even(self):
        x = self.numbers()
        expected = np.array([nearest(each) for each in x], np.uint16)
        np.testing.assert_array_equal(bits(torch.from_numpy(x).bfloat16()), expected)
        found = half_precision.converted(x, torch.bfloat16.numpy)
        np.testing.assert_array_equal(found.view(np.uint16), expected)

    @over_half
    def test_nan_stays_nan(self, dtype):
        payloads = np.array([0x7FC00000, 0x7F800001, 0xFFFFFFFF, 0x7FFFFFFF], np.uint32)
        x = torch.from_numpy(payloads.view(np.float32)).to(dtype)
        assert x.isnan().all()
        assert (x + 1).isnan().all()

    def test_every_number_survives_float32(self):
        patterns = np.arange(1 << 16, dtype=np.uint16)
        x = torch.from_numpy(patterns.view(np.int16)).view(torch.bfloat16)
        there_and_back = x.float().bfloat16()
        same = (bits(there_and_back) == patterns) | x.isnan().numpy()
        assert same.all()

    @pytest.mark.parametrize("shape", [(7, 5), (1000, 300)])
    def test_conversion_of_strided_memory(self, shape):
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        for view in (x, x.T, x[::2, 1:], x[:, 0]):
            narrow = convert(view, torch.bfloat16.numpy)
            expected = half_precision.converted(view, torch.bfloat16.numpy)
            np.testing.assert_array_equal(narrow.view(np.uint16), expected.view(np.uint16))
            wide = convert(narrow, np.dtype(np.float32))
            np.testing.assert_array_equal(wide, half_precision.readable(narrow))

    @pytest.mark.parametrize("other", ["float64", "int8", "int64", "bool", "uint8", "float16"])
    def test_other_dtypes(self, other):
        x = torch.tensor([0.0, 1.0, 2.75, 100.0], dtype=torch.bfloat16)
        other = getattr(torch, other)
        assert x.to(other).tolist() == x.float().to(other).tolist()
        assert x.to(other).bfloat16().tolist() == x.float().to(other).float().bfloat16().tolist()


class TestMemory:
    def test_there_is_one_numpy_dtype(self):
        """Launchers and Python tell dtypes apart by their objects."""
        x = torch.ones(300, 300, dtype=torch.bfloat16)
        made = [x, x + 1, x.sum(), x.T.contiguous(), x[3:], x @ x, torch.cat([x, x]), x.max(0)[0],
                torch.zeros(2, dtype=torch.bfloat16), pickle.loads(pickle.dumps(x))]  # fmt: skip
        assert all(each._array.dtype is torch.bfloat16.numpy for each in made)

    def test_numpy_has_no_such_arrays(self):
        x = torch.ones(2, dtype=torch.bfloat16)
        for function in (x.numpy, lambda: np.asarray(x)):
            with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
                function()
        for function in (torch.from_numpy, torch.tensor, torch.as_tensor):
            with pytest.raises(TypeError, match="of type numpy.void"):
                function(np.zeros(2, "V2"))

    def test_views_and_frombuffer(self):
        x = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)
        assert x.view(torch.int16).tolist() == [0x3F80, 0x4000]
        assert x.view(torch.uint8).shape == (4,)
        assert torch.tensor([0x3F80], dtype=torch.int16).view(torch.bfloat16).item() == 1
        assert torch.frombuffer(bytearray(b"\x80\x3f\x00\x40"), dtype=torch.bfloat16).tolist() == [
            1.0, 2.0
        ]  # fmt: skip
        assert (x.element_size(), x.nbytes, x.type()) == (2, 4, "torch.BFloat16Tensor")

    def test_a_stored_checkpoint(self):
        x = torch.tensor([1.0, 3.14], dtype=torch.bfloat16)
        file = io.BytesIO()
        torch.save({"x": x}, file)
        file.seek(0)
        loaded = torch.load(file)["x"]
        assert loaded.dtype is torch.bfloat16
        assert (loaded + 0).tolist() == x.tolist()

    def test_large_arrays(self):
        x = torch.ones(1 << 20, dtype=torch.bfloat16)
        for _ in range(3):
            x = x * 1.5
        assert x.dtype is torch.bfloat16
        assert (x == 3.375).all()


class TestPython:
    def test_text(self):
        x = torch.tensor([1.5, 3.14159], dtype=torch.bfloat16)
        assert repr(x) == "tensor([1.5000, 3.1406], dtype=torch.bfloat16)"
        assert f"{x[1]:.3f}" == "3.141"
        assert repr(torch.finfo(torch.bfloat16)) == (
            "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, "
            "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=bfloat16)"
        )

    def test_values(self):
        x = torch.tensor([0.1, 2.0], dtype=torch.bfloat16)
        assert x.tolist() == [0.10009765625, 2.0]
        assert x[0].item() == float(x[0]) == 0.10009765625
        assert int(x[1]) == 2
        assert bool(x[0])
        assert not torch.zeros((), dtype=torch.bfloat16)
        assert x.storage().tolist() == x.tolist()

    def test_operators_follow_the_default_dtype_as_it_changes(self):
        x = torch.tensor([1, 2, 3])
        made = (lambda: x / 2, lambda: x.sin(), lambda: x / x, lambda: x * 1.5, lambda: x**-1.0)
        try:
            for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16) * 2:
                torch.set_default_dtype(dtype)
                assert [run().dtype for run in made for _ in range(3)] == [dtype] * 15
        finally:
            torch.set_default_dtype(torch.float32)

    def test_default_dtype(self):
        try:
            torch.set_default_dtype(torch.bfloat16)
            made = [torch.tensor([1.5]), torch.ones(2), torch.tensor(1.5), torch.rand(2),
                    torch.tensor([1, 2]) / 2, torch.nn.Linear(2, 2).weight]  # fmt: skip
            assert {each.dtype for each in made} == {torch.bfloat16}
        finally:
            torch.set_default_dtype(torch.float32)

    def test_promotion(self):
        for each, other in itertools.product([torch.bfloat16], [torch.int64, torch.bool]):
            assert torch.promote_types(each, other) is each
        assert torch.promote_types(torch.bfloat16, torch.float16) is torch.float32
        assert torch.promote_types(torch.float64, torch.bfloat16) is torch.float64
        x = torch.ones(2, dtype=torch.bfloat16)
        assert (x + 1.5).dtype is torch.bfloat16
        assert (x + torch.tensor(1.5)).dtype is torch.bfloat16
        assert (x + torch.ones(2)).dtype is torch.float32
        assert (x + torch.ones(2, dtype=torch.float16)).dtype is torch.float32
        assert (x * 1j).dtype is torch.complex64

    @over_half
    def test_numbers_are_compared_as_what_they_are_rounded_to(self, dtype):
        x = torch.full((3,), 0.1, dtype=dtype)
        assert (x == 0.1).all()
        assert not (x < 0.1).any()
        assert (x == torch.tensor(0.1)).all()
        assert (x * 0.1).tolist() == (x.float() * 0.1).to(dtype).tolist()


class TestWrites:
    @over_half
    def test_assignment(self, dtype):
        x = torch.zeros(2, 3, dtype=dtype)
        x[0] = 1.5
        x[1, 1] = torch.tensor(2.25)
        x[:, 2] = torch.tensor([3.5, 4.5])
        x[x == 1.5] = 7
        x[torch.tensor([1])] = torch.tensor([[9.0, 8.0, 6.0]], dtype=dtype)
        assert x.tolist() == [[7, 7, 3.5], [9, 8, 6]]

    @over_half
    def test_methods(self, dtype):
        x = torch.zeros(4, dtype=dtype)
        x.fill_(1.5).add_(torch.ones(4)).mul_(2)
        assert x.tolist() == [5] * 4
        x.copy_(torch.arange(4.0))
        x.index_fill_(0, torch.tensor([0]), 8).masked_fill_(x > 7, 9)
        x.index_add_(0, torch.tensor([1, 1]), torch.ones(2, dtype=dtype))
        x.index_copy_(0, torch.tensor([2]), torch.tensor([0.5], dtype=dtype))
        x.scatter_(0, torch.tensor([3]), 4.0)
        x.masked_scatter_(x == 4, torch.tensor([6.0], dtype=dtype))
        assert x.tolist() == [9, 3, 0.5, 6]
        assert x.dtype is dtype

    @over_half
    def test_sorting(self, dtype):
        """By values, not by bytes."""
        x = torch.tensor([3.0, -1.0, 256.0, -0.0, 0.0], dtype=dtype)
        assert x.sort()[0].tolist() == sorted(x.tolist())
        assert x.unique().tolist() == [-1, 0, 3, 256]
        assert torch.isin(x, torch.tensor([256.0], dtype=dtype)).tolist() == [0, 0, 1, 0, 0]
        assert torch.searchsorted(x.sort()[0], torch.tensor([2.0], dtype=dtype)).tolist() == [3]
        assert x.argmax().item() == 2


class TestGradients:
    @over_half
    def test_have_the_dtype_and_accumulate(self, dtype):
        x = torch.tensor([1.5, 2.5], dtype=dtype, requires_grad=True)
        (x * x).sum().backward()
        assert x.grad.tolist() == [3, 5]
        (3 * x).sum().backward()
        assert x.grad.tolist() == [6, 8]
        assert x.grad.dtype is dtype

    @over_half
    def test_flow_through_conversions(self, dtype):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (x.to(dtype) ** 2).float().sum().backward()
        assert x.grad.dtype is torch.float32
        assert x.grad.tolist() == [2, 4]

    def test_another_dtype_is_refused(self):
        x = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
        with pytest.raises(RuntimeError, match="grad_dtype 'BFloat16'"):
            x.grad = torch.ones(2)

    @over_half
    def test_of_gradients_and_forward_mode(self, dtype):
        x = torch.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
        (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        assert second.tolist() == [6, 12]
        value, along = torch.func.jvp(lambda x: x * x, (x.detach(),), (x.detach(),))
        assert (value.dtype, along.dtype, along.tolist()) == (dtype, dtype, [2, 8])
        rows = torch.ones(3, 4, dtype=dtype)
        assert torch.vmap(lambda row: (row * 2).sum())(rows).tolist() == [8, 8, 8]

    def test_products_of_duals(self):
        """Operators that are linear in their operands have a way of their own to the tangent."""
        a, b = torch.randn(5, 4), torch.randn(4, 3)

        def product(a, b):
            return torch.func.jvp(lambda a, b: (a @ b).cumsum(0), (a, b), (a, b))

        for found, exact in zip(product(a.bfloat16(), b.bfloat16()), product(a, b), strict=True):
            assert found.dtype is torch.bfloat16
            assert (found - exact).abs().max() < 0.2


def network(dtype):
    torch.manual_seed(0)
    layers = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 4)
    )
    return layers.to(dtype)


def data(dtype):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(12, 8, generator=generator)
    return x.to(dtype), torch.arange(12) % 4


def losses(dtype, make_optimizer, steps=8, compiled=False):
    net = network(dtype)
    optimizer = make_optimizer(net.parameters())
    x, y = data(dtype)

    def step(x, y):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step) if compiled else step
    found = [run(x, y).item() for _ in range(steps)]
    assert {p.dtype for p in net.parameters()} == {dtype}
    return found


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01, eps=1e-4),  # float16 has no 1e-8
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
}


class TestTraining:
    @pytest.mark.parametrize("name", OPTIMIZERS)
    def test_follows_float32(self, name):
        narrow = losses(torch.bfloat16, OPTIMIZERS[name])
        wide = losses(torch.float32, OPTIMIZERS[name])
        np.testing.assert_allclose(narrow, wide, rtol=0.08)
        assert narrow[-1] < narrow[0]

    @over_half
    @pytest.mark.parametrize("name", ["sgd", "adam"])
    def test_compiled_steps_are_the_eager_ones(self, dtype, name):
        eager = losses(dtype, OPTIMIZERS[name])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert losses(dtype, OPTIMIZERS[name], compiled=True) == eager

    def test_compiled_comparisons_round_numbers(self):
        x = torch.full((3,), 0.1, dtype=torch.bfloat16)

        def compare(x):
            return torch.where(x == 0.1, x, x - 1)

        compiled = torch.compile(compare)
        for _ in range(5):
            assert compiled(x).tolist() == x.tolist()

    @over_half
    def test_layers(self, dtype):
        torch.manual_seed(0)
        cases = [
            (torch.nn.Conv2d(2, 3, 3), (2, 2, 5, 5)),
            (torch.nn.ConvTranspose1d(2, 3, 3), (2, 2, 5)),
            (torch.nn.BatchNorm1d(4), (6, 4)),
            (torch.nn.GroupNorm(2, 4), (3, 4, 5)),
            (torch.nn.MaxPool2d(2), (1, 2, 4, 4)),
            (torch.nn.AvgPool2d(2), (1, 2, 4, 4)),
            (torch.nn.Softmax(-1), (3, 4)),
            (torch.nn.PReLU(), (3, 4)),
            (torch.nn.Upsample(scale_factor=2), (1, 2, 3, 3)),
            (torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), (3, 2, 8)),
        ]
        for layer, shape in cases:
            x = torch.randn(shape)
            wide = layer(x).detach()
            narrow = x.to(dtype).requires_grad_()
            made = layer.to(dtype)(narrow)
            made.float().sum().backward()
            assert made.dtype is dtype
            assert narrow.grad.dtype is dtype
            assert all(p.grad.dtype is dtype for p in layer.parameters())
            assert (made - wide).abs().max() < 0.06 * (1 + wide.abs().max())

    def test_a_linear_layer_rounds_once(self):
        torch.manual_seed(0)
        layer = torch.nn.Linear(64, 32)
        x = torch.randn(16, 64)
        narrow = layer.bfloat16()(x.bfloat16())
        wide = layer.float()(x.bfloat16().float())
        assert narrow.tolist() == wide.bfloat16().tolist()


@pytest.mark.parametrize("shape", [(3, 4, 5), (64, 64, 64), (1, 300, 7), (33, 1, 9), (5, 0, 3)])
@over_half
def test_products_are_rounded_sums_of_float32(shape, dtype):
    n, k, m = shape
    torch.manual_seed(0)
    a, b = torch.randn(n, k).to(dtype), torch.randn(m, k).to(dtype).t()
    expected = (a.float() @ b.float()).to(dtype)
    assert (a @ b).tolist() == expected.tolist()
    stack = torch.stack([a, a])
    assert (stack @ b).tolist() == [expected.tolist()] * 2


@pytest.mark.parametrize("name", ["uniform_", "normal_", "exponential_", "bernoulli_", "random_"])
@over_half
def test_random_numbers_are_those_of_float32_rounded(name, dtype):
    """All but those for which torch asks more bits of the wider dtype."""
    torch.manual_seed(0)
    narrow = getattr(torch.empty(50, dtype=dtype), name)()
    assert narrow.dtype is dtype
    assert torch.isfinite(narrow).all()
    if name in ("uniform_", "exponential_"):
        torch.manual_seed(0)
        wide = getattr(torch.empty(50), name)().to(dtype)
        same = (narrow == wide) | (wide == 1)
        assert same.all()


def test_what_has_no_meaning_raises():
    x = torch.ones(2, dtype=torch.bfloat16)
    for function in (lambda: torch.complex(x, x),
                     lambda: torch.linalg.inv(torch.eye(2).bfloat16())):  # fmt: skip
        with pytest.raises((RuntimeError, NotImplementedError)):
            function()
    with pytest.raises(RuntimeError, match=r"result type BFloat16 can't be cast"):
        torch.ones(2, dtype=torch.int64).add_(x)


def test_a_sign_copied_from_a_half_to_a_double_that_becomes_one():
    """LLVM takes the two roundings for one there, which is a call of a runtime library."""
    for size in (3, 40):  # the rest of a vector loop, and the loop
        x = torch.linspace(-2, 2, size, dtype=torch.float16)
        y = torch.linspace(3, -1, size, dtype=torch.float64)
        expected = torch.atan2(x, y).float().half()
        assert torch.equal(x.clone().atan2_(y), expected)
