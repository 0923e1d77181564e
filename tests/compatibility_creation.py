"""Tensors made from sizes, data and seeds, and tensors turned into other types.

Rows of the table in ``compatibility_table.py``, section "Creation and conversion".
"""

from compatibility_row import DIFFERS, Row

ROWS = [
    Row(
        "`torch.empty`",
        """\
print(torch.empty(5, 3).size(), torch.empty((2, 3), dtype=torch.double).dtype, torch.empty(0))
""",
        """\
torch.Size([5, 3]) torch.float64 tensor([])
""",
    ),
    Row(
        "`torch.rand`",
        """\
torch.manual_seed(0)
print(torch.rand(5, 3))
print(torch.rand(2, 2, dtype=torch.double))
""",
        """\
tensor([[0.4963, 0.7682, 0.0885],
        [0.1320, 0.3074, 0.6341],
        [0.4901, 0.8964, 0.4556],
        [0.6323, 0.3489, 0.4017],
        [0.0223, 0.1689, 0.2939]])
tensor([[0.1482, 0.4001],
        [0.2581, 0.3216]], dtype=torch.float64)
""",
    ),
    Row(
        "`torch.randn`, below and from 16 elements on",
        """\
torch.manual_seed(0)
print(torch.randn(3))
print(torch.randn(4, 5))
print(torch.randn(2, dtype=torch.double), torch.randn((2, 3), requires_grad=True))
""",
        """\
tensor([ 1.5410, -0.2934, -2.1788])
tensor([[-0.3561,  0.4372,  0.4913, -0.2041,  0.1665],
        [ 0.8744, -0.1435, -0.1116, -0.6136,  0.0316],
        [-0.4927,  0.2484,  0.6181, -0.4128, -0.8411],
        [-2.3160, -0.1023,  0.7924, -0.2897,  0.0525]])
tensor([0.5684, 0.9398], dtype=torch.float64) tensor([[ 0.7748,  0.1919,  1.2638],
        [-1.2904, -0.7911, -0.0209]], requires_grad=True)
""",
    ),
    Row(
        "`torch.zeros` and `torch.ones`",
        """\
print(torch.zeros(5, 3, dtype=torch.long), torch.ones(2), torch.ones([2, 2]), torch.zeros(()))
print(torch.ones(2, requires_grad=True), torch.zeros(size=(2,), dtype=torch.bool))
""",
        """\
tensor([[0, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 0]]) tensor([1., 1.]) tensor([[1., 1.],
        [1., 1.]]) tensor(0.)
tensor([1., 1.], requires_grad=True) tensor([False, False])
""",
    ),
    Row(
        "`torch.tensor`",
        """\
print(torch.tensor([5.5, 3]), torch.tensor([[1, 2], [3, 4]]), torch.tensor(True), torch.tensor(3))
print(torch.tensor([1, 2], dtype=torch.float64), torch.tensor(np.arange(3)), torch.tensor([]))
print(torch.tensor([1.0, 2.0], requires_grad=True))
""",
        """\
tensor([5.5000, 3.0000]) tensor([[1, 2],
        [3, 4]]) tensor(True) tensor(3)
tensor([1., 2.], dtype=torch.float64) tensor([0, 1, 2]) tensor([])
tensor([1., 2.], requires_grad=True)
""",
    ),
    Row(
        "`torch.tensor` of ragged lists",
        """\
torch.tensor([[1, 2], [3]])
""",
        """\
ValueError: expected sequence of length 2 at dim 1 (got 1)
""",
    ),
    Row(
        "Only floats can require grad",
        """\
torch.tensor([1, 2], requires_grad=True)
""",
        """\
RuntimeError: Only Tensors of floating point and complex dtype can require gradients
""",
    ),
    Row(
        "`torch.full`",
        """\
print(torch.full([4, 3], 9))
print(torch.full((2,), 0.5), torch.full((2,), True), torch.full([2], 3, dtype=torch.float))
""",
        """\
tensor([[9, 9, 9],
        [9, 9, 9],
        [9, 9, 9],
        [9, 9, 9]])
tensor([0.5000, 0.5000]) tensor([True, True]) tensor([3., 3.])
""",
    ),
    Row(
        "`torch.arange`",
        """\
print(torch.arange(1, 3, 0.4), torch.arange(5), torch.arange(1, 4), torch.arange(1, 2.5, 0.5))
print(torch.arange(3.0), torch.arange(10, 0, -3), torch.arange(0, 4, dtype=torch.float))
""",
        """\
tensor([1.0000, 1.4000, 1.8000, 2.2000, 2.6000]) tensor([0, 1, 2, 3, 4]) tensor([1, 2, 3]) \
tensor([1.0000, 1.5000, 2.0000])
tensor([0., 1., 2.]) tensor([10,  7,  4,  1]) tensor([0., 1., 2., 3.])
""",
    ),
    Row(
        "`torch.arange` against the sign of its step",
        """\
torch.arange(3, 1)
""",
        """\
RuntimeError: upper bound and lower bound inconsistent with step sign
""",
    ),
    Row(
        "`torch.randn_like`, `rand_like`, `zeros_like`, `ones_like`, `full_like`, `empty_like`",
        """\
torch.manual_seed(0)
x = torch.ones(2, 3, dtype=torch.double)
print(torch.randn_like(x, dtype=torch.float))
print(torch.rand_like(x), torch.zeros_like(x), torch.ones_like(x, dtype=torch.int))
print(torch.full_like(x, 7), torch.empty_like(x).size(), torch.randint_like(x, 5))
""",
        """\
tensor([[ 1.5410, -0.2934, -2.1788],
        [ 0.5684, -1.0845, -1.3986]])
tensor([[0.1786, 0.3511, 0.5813],
        [0.2882, 0.4529, 0.1768]], dtype=torch.float64) tensor([[0., 0., 0.],
        [0., 0., 0.]], dtype=torch.float64) tensor([[1, 1, 1],
        [1, 1, 1]], dtype=torch.int32)
tensor([[7., 7., 7.],
        [7., 7., 7.]], dtype=torch.float64) torch.Size([2, 3]) tensor([[4., 1., 4.],
        [4., 4., 0.]], dtype=torch.float64)
""",
    ),
    Row(
        "`x.new_ones` and the `new_*` family",
        """\
x = torch.zeros(1, dtype=torch.double)
print(x.new_ones(5, 4, dtype=torch.int))
print(x.new_zeros(2), x.new_full((2,), 3), x.new_tensor([1, 2]), x.new_empty(2, 3).size())
print(x.new_ones([2]), x.new_ones(size=(1, 2), requires_grad=True), x.int().new_tensor([1.5]))
""",
        """\
tensor([[1, 1, 1, 1],
        [1, 1, 1, 1],
        [1, 1, 1, 1],
        [1, 1, 1, 1],
        [1, 1, 1, 1]], dtype=torch.int32)
tensor([0., 0.], dtype=torch.float64) tensor([3., 3.], dtype=torch.float64) tensor([1., 2.], \
dtype=torch.float64) torch.Size([2, 3])
tensor([1., 1.], dtype=torch.float64) tensor([[1., 1.]], dtype=torch.float64, \
requires_grad=True) tensor([1], dtype=torch.int32)
""",
    ),
    Row(
        "`torch.Tensor(3, 4)` and `torch.Tensor([3, 6, 4])`",
        """\
print(torch.Tensor(3, 4).size(), torch.Tensor([3, 6, 4]), torch.Tensor())
print(torch.Tensor([[1, 2]]).type())
print(torch.Tensor(torch.Size([2, 3])).size(), torch.Tensor(2, 3).zero_())
""",
        """\
torch.Size([3, 4]) tensor([3., 6., 4.]) tensor([])
torch.FloatTensor
torch.Size([2, 3]) tensor([[0., 0., 0.],
        [0., 0., 0.]])
""",
    ),
    Row(
        "`.uniform_`, `.normal_`, `.fill_`, `.zero_`",
        """\
torch.manual_seed(0)
print(torch.Tensor(2, 2).uniform_(0, 1), torch.Tensor(3, 3).uniform_(-1, 1))
print(torch.Tensor(2, 2).normal_(0, 1), torch.Tensor(4, 5).normal_(1, 2))
print(torch.Tensor(2).fill_(5), torch.Tensor(2).fill_(5).zero_())
""",
        """\
tensor([[0.4963, 0.7682],
        [0.0885, 0.1320]]) tensor([[-0.3852,  0.2682, -0.0198],
        [ 0.7929, -0.0887,  0.2646],
        [-0.3022, -0.1966, -0.9553]])
tensor([[-0.3354,  0.4564],
        [-0.6255,  0.4539]]) tensor([[-2.1102,  0.3173,  4.7060,  1.9362, -0.4851],
        [ 2.1254,  1.5193,  0.6521, -0.3575,  2.8765],
        [ 1.9777, -0.3462,  1.1691, -1.4003,  0.9904],
        [-0.0361,  0.3866, -2.1620,  4.4133,  0.1076]])
tensor([5., 5.]) tensor([0., 0.])
""",
    ),
    Row(
        "The other in-place samplers",
        """\
torch.manual_seed(1)
x = torch.zeros(6)
print(x.bernoulli_(0.5), x.exponential_(), x.random_(0, 10), x.geometric_(0.3))
print(x.cauchy_(), x.log_normal_())
""",
        """\
tensor([7., 2., 5., 2., 1., 1.]) tensor([7., 2., 5., 2., 1., 1.]) tensor([7., 2., 5., 2., 1., \
1.]) tensor([7., 2., 5., 2., 1., 1.])
tensor([103.8194,   1.8911,   0.4054,   6.1195,   0.1310,  11.7564]) tensor([103.8194,   \
1.8911,   0.4054,   6.1195,   0.1310,  11.7564])
""",
    ),
    Row(
        "`dtype=torch.long` and the other short names",
        """\
for kind in (torch.float, torch.double, torch.half, torch.long, torch.int, torch.short,
             torch.uint8, torch.int8, torch.bool):
    print(torch.ones(2, dtype=kind), kind)
""",
        """\
tensor([1., 1.]) torch.float32
tensor([1., 1.], dtype=torch.float64) torch.float64
tensor([1., 1.], dtype=torch.float16) torch.float16
tensor([1, 1]) torch.int64
tensor([1, 1], dtype=torch.int32) torch.int32
tensor([1, 1], dtype=torch.int16) torch.int16
tensor([1, 1], dtype=torch.uint8) torch.uint8
tensor([1, 1], dtype=torch.int8) torch.int8
tensor([True, True]) torch.bool
""",
    ),
    Row(
        "`x.float()`, `x.long()` and the other short methods",
        """\
x = torch.tensor([0.0, 1.7, -2.2])
print(x.double(), x.float() is x, x.long(), x.int(), x.short(), x.char(), x.bool(), x.half())
print(x.to(torch.int64), x.to(torch.double).dtype, x.to(x.long()).dtype, x.to('cpu') is x)
""",
        """\
tensor([ 0.0000,  1.7000, -2.2000], dtype=torch.float64) True tensor([ 0,  1, -2]) tensor([ 0,  \
1, -2], dtype=torch.int32) tensor([ 0,  1, -2], dtype=torch.int16) tensor([ 0,  1, -2], \
dtype=torch.int8) tensor([False,  True,  True]) tensor([ 0.0000,  1.7002, -2.1992], \
dtype=torch.float16)
tensor([ 0,  1, -2]) torch.float64 torch.int64 True
""",
    ),
    Row(
        "`torch.linspace` and `torch.logspace`",
        """\
print(torch.linspace(-1, 1, 5), torch.linspace(0, 10, 3, dtype=torch.long))
print(torch.linspace(3, 10, 4))
print(torch.logspace(0, 2, 3), torch.logspace(0, 4, 3, base=2))
""",
        """\
tensor([-1.0000, -0.5000,  0.0000,  0.5000,  1.0000]) tensor([ 0,  5, 10])
tensor([ 3.0000,  5.3333,  7.6667, 10.0000])
tensor([  1.,  10., 100.]) tensor([ 1.,  4., 16.])
""",
    ),
    Row(
        "`torch.eye`",
        """\
print(torch.eye(3), torch.eye(2, 3, dtype=torch.long))
""",
        """\
tensor([[1., 0., 0.],
        [0., 1., 0.],
        [0., 0., 1.]]) tensor([[1, 0, 0],
        [0, 1, 0]])
""",
    ),
    Row(
        "`torch.randint` and `torch.randperm`",
        """\
torch.manual_seed(0)
print(torch.randint(3, 5, (3,)), torch.randint(10, (2, 2)), torch.randperm(4))
print(torch.randint(0, 2, (4,), dtype=torch.float), torch.randperm(6).dtype)
""",
        """\
tensor([3, 4, 4]) tensor([[0, 3],
        [9, 7]]) tensor([3, 2, 0, 1])
tensor([1., 0., 0., 1.]) torch.int64
""",
    ),
    Row(
        "`torch.normal`, `bernoulli`, `multinomial`",
        """\
torch.manual_seed(0)
print(torch.normal(0.0, 1.0, (2, 2)), torch.normal(torch.arange(1.0, 4.0), torch.ones(3)))
print(torch.bernoulli(torch.full((4,), 0.5)), torch.multinomial(torch.tensor([1.0, 10, 3]), 2))
""",
        """\
tensor([[ 1.5410, -0.2934],
        [-2.1788,  0.5684]]) tensor([-0.0845,  0.6014,  3.4033])
tensor([0., 0., 1., 1.]) tensor([1, 2])
""",
    ),
    Row(
        "A seed starts the numbers again; generators have seeds of their own",
        """\
torch.manual_seed(5)
a = torch.rand(2)
state = torch.get_rng_state()
b = torch.rand(2)
torch.set_rng_state(state)
print(torch.equal(b, torch.rand(2)), torch.initial_seed())
generator = torch.Generator().manual_seed(5)
print(torch.equal(a, torch.rand(2, generator=generator)))
""",
        """\
True 5
True
""",
    ),
    Row(
        "`torch.from_numpy` shares memory both ways",
        """\
a = np.ones(3)
x = torch.from_numpy(a)
np.add(a, 1, out=a)
x.mul_(2)
print(a, x)
""",
        """\
[4. 4. 4.] tensor([4., 4., 4.], dtype=torch.float64)
""",
    ),
    Row(
        "`torch.from_numpy` of what is no array",
        """\
torch.from_numpy([1, 2])
""",
        """\
TypeError: expected np.ndarray (got list)
""",
    ),
    Row(
        "`x.numpy()` shares memory",
        """\
x = torch.ones(3)
a = x.numpy()
x.add_(1)
print(a, a.dtype, np.asarray(x) is not None, x.detach().numpy().sum())
""",
        """\
[2. 2. 2.] float32 True 6.0
""",
    ),
    Row(
        "`x.numpy()` of a tensor that requires grad",
        """\
torch.ones(2, requires_grad=True).numpy()
""",
        """\
RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() \
instead.
""",
    ),
    Row(
        "`torch.device`",
        """\
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
print(device, repr(device), device.type, device.index)
print(torch.device('cuda', 1), torch.device('cuda:0').index)
x = torch.ones(2, device=device)
print(x.device, torch.ones(2, device='cpu').to(device).device)
""",
        """\
cpu device(type='cpu') cpu None
cuda:1 0
cpu cpu
""",
    ),
    Row(
        "`device=` everywhere",
        """\
device = 'cpu'
x = torch.zeros(2, device=device)
for made in (torch.empty(2, device=device), torch.rand(2, device=device),
             torch.randn(2, device=device), torch.ones(2, device=device),
             torch.tensor([1], device=device), torch.arange(2, device=device),
             torch.full((2,), 1, device=device), torch.linspace(0, 1, 2, device=device),
             torch.eye(2, device=device), torch.randint(2, (2,), device=device),
             torch.randperm(2, device=device), torch.ones_like(x, device=device),
             torch.randn_like(x, device=device), x.new_ones(2, device=device),
             x.new_tensor([1], device=device), torch.as_tensor([1], device=device)):
    assert made.device == torch.device('cpu')
print(made.device)
""",
        """\
cpu
""",
    ),
    Row(
        "`.cuda()` without a GPU",
        """\
torch.ones(2).cuda()
""",
        """\
AssertionError: Torch not compiled with CUDA enabled: numbagrad cannot use the device 'cuda'; \
use device='cpu', or ask torch.cuda.is_available() first
""",
        DIFFERS,
    ),
    Row(
        "`device='cuda'` without a GPU",
        """\
torch.ones(2, device='cuda')
""",
        """\
AssertionError: Torch not compiled with CUDA enabled: numbagrad cannot use the device 'cuda'; \
use device='cpu', or ask torch.cuda.is_available() first
""",
        DIFFERS,
    ),
    Row(
        "`x.to('cuda')` without a GPU",
        """\
torch.ones(2).to(torch.device('cuda:0'))
""",
        """\
AssertionError: Torch not compiled with CUDA enabled: numbagrad cannot use the device 'cuda:0'; \
use device='cpu', or ask torch.cuda.is_available() first
""",
        DIFFERS,
    ),
    Row(
        "A device that is none",
        """\
torch.device('gpu')
""",
        """\
RuntimeError: Expected one of cpu, cuda device type at start of device string: gpu
""",
        DIFFERS,
    ),
    Row(
        "`item`, `tolist` and Python's numbers",
        """\
x = torch.tensor([[1.5]])
print(x.item(), x.tolist(), float(x), int(x), bool(x), torch.tensor(3).item())
print('%.2f' % x, f'{torch.tensor(2.5):.3f}')
torch.ones(2).item()
""",
        """\
1.5 [[1.5]] 1.5 1 True 3
1.50 2.500
RuntimeError: a Tensor with 2 elements cannot be converted to Scalar
""",
    ),
    Row(
        "`as_tensor` shares what it can",
        """\
a = np.zeros(2, dtype=np.float32)
x = torch.as_tensor(a)
a[0] = 1
print(x, torch.as_tensor(x) is x, torch.as_tensor(a, dtype=torch.double))
""",
        """\
tensor([1., 0.]) True tensor([1., 0.], dtype=torch.float64)
""",
    ),
    Row(
        "Complex tensors: numbers decide the dtype, parts are views",
        """\
z = torch.tensor([1 + 2j, 3.0])
z.real[1] = 5
print(z, z.conj() * z, z.abs(), z.angle(), torch.view_as_real(z).shape)
print((torch.ones(2, dtype=torch.double) * 1j).dtype, z.to(torch.complex128).dtype)
z < z.real
""",
        """\
tensor([1.+2.j, 5.+0.j]) tensor([ 5.+0.j, 25.+0.j]) tensor([2.2361, 5.0000]) \
tensor([1.1071, 0.0000]) torch.Size([2, 2])
torch.complex128 torch.complex128
NotImplementedError: "lt" not implemented for 'ComplexFloat'
""",
        DIFFERS,
    ),
    Row(
        "The gradient of a complex tensor",
        """\
z = torch.tensor([3 + 4j], requires_grad=True)
z.abs().sum().backward()
print(z.grad)
(z * z).sum().backward()
""",
        """\
tensor([0.6000+0.8000j])
RuntimeError: grad can be implicitly created only for real scalar outputs but got torch.complex64
""",
    ),
    Row(
        "Printing, as notebooks showed it",
        """\
torch.manual_seed(0)
print(torch.rand(2, 3), torch.zeros(2, 0), torch.tensor(1e-8), torch.tensor([1e8, 1]))
print(torch.arange(2000), torch.tensor([float('nan'), float('inf')]), torch.ones(1, 2, 2))
""",
        """\
tensor([[0.4963, 0.7682, 0.0885],
        [0.1320, 0.3074, 0.6341]]) tensor([], size=(2, 0)) tensor(1.0000e-08) \
tensor([1.0000e+08, 1.0000e+00])
tensor([   0,    1,    2,  ..., 1997, 1998, 1999]) tensor([nan, inf]) tensor([[[1., 1.],
         [1., 1.]]])
""",
    ),
    Row(
        "`memory_format`, and gradients that lie as their leaf",
        """\
x = torch.arange(24.0).view(1, 2, 3, 4)
y = x.to(memory_format=torch.channels_last)
print(y.stride(), y.is_contiguous(), y.is_contiguous(memory_format=torch.channels_last))
print(torch.equal(x, y), y.contiguous().stride(), torch.empty_like(y).stride())
y.requires_grad_()
(y * x).sum().backward()
print(y.grad.stride())
""",
        """\
(24, 1, 8, 2) False True
True (24, 12, 4, 1) (24, 1, 8, 2)
(24, 1, 8, 2)
""",
    ),
]
