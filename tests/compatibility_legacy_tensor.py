"""``Variable``, types of tensors and ``data``.

Rows of the table in ``compatibility_table.py``, section "Tensors of 2017".
"""

from compatibility_row import DIFFERS, REFUSES, Row

ROWS = [
    Row(
        "`Variable(data, requires_grad)` is a Tensor",
        """\
x = Variable(torch.ones(2, 2), requires_grad=True)
print(x)
print(type(x) is torch.Tensor, isinstance(x, Variable), isinstance(torch.ones(1), Variable))
""",
        """\
tensor([[1., 1.],
        [1., 1.]], requires_grad=True)
True True True
""",
    ),
    Row(
        "Variable shares the memory of its data and leaves history behind",
        """\
a = torch.ones(2, requires_grad=True) * 2
x = Variable(a)
x[0] = 7
print(a.data, x.grad_fn, x.requires_grad)
""",
        """\
tensor([7., 2.]) None False
""",
    ),
    Row(
        "Variable of what is no tensor",
        """\
Variable([1.0, 2.0])
""",
        """\
TypeError: Variable data has to be a tensor, but got list
""",
    ),
    Row(
        "`Variable(torch.from_numpy(...))`",
        """\
x = Variable(torch.from_numpy(np.arange(3.0)))
print(x)
""",
        """\
tensor([0., 1., 2.], dtype=torch.float64)
""",
    ),
    Row(
        "Variable that requires grad holds floats",
        """\
Variable(torch.ones(2).long(), requires_grad=True)
""",
        """\
RuntimeError: Only Tensors of floating point and complex dtype can require gradients
""",
    ),
    Row(
        "The attributes of a Variable",
        """\
x = Variable(torch.ones(2), requires_grad=True)
y = x * 2
print(x.data, x.grad, x.requires_grad, x.is_leaf, x.grad_fn)
print(y.data, y.requires_grad, y.is_leaf, type(y.grad_fn).__name__)
y.sum().backward()
print(x.grad)
""",
        """\
tensor([1., 1.]) None True True None
tensor([2., 2.]) True False MulBackward0
tensor([2., 2.])
""",
    ),
    Row(
        "`creator` is an older name of `grad_fn`",
        """\
x = Variable(torch.ones(2), requires_grad=True)
y = x + 2
print(x.creator, type(y.creator).__name__, y.creator is y.grad_fn)
""",
        """\
None AddBackward0 True
""",
        REFUSES,
    ),
    Row(
        "`volatile=True` switches recording off for everything it touches",
        """\
w = Variable(torch.ones(2, 2), requires_grad=True)
x = Variable(torch.ones(1, 2), volatile=True)
y = x.mm(w)
z = torch.add(w, y) * 3
print(x.volatile, y.volatile, z.volatile, w.volatile)
print(y.requires_grad, y.grad_fn, z.requires_grad)
print((w * w).requires_grad)
print(torch.nn.functional.relu(w + y).requires_grad, torch.cat([w, y]).requires_grad)
y.sum().backward()
""",
        """\
True True True False
False None False
True
False False
RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
""",
        DIFFERS,
    ),
    Row(
        "`volatile=True` warns and names `no_grad`",
        """\
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    Variable(torch.ones(2), volatile=True)
print(caught[0].category.__name__, 'no_grad' in str(caught[0].message))
""",
        """\
UserWarning True
""",
    ),
    Row(
        "`volatile=False` is what every tensor has",
        """\
with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    x = Variable(torch.ones(2), requires_grad=True, volatile=False)
    print(x.volatile, (x * 2).requires_grad)
""",
        """\
False True
""",
    ),
    Row(
        "A volatile Variable goes through modules and Functions without a graph",
        """\
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input * input

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output * 2 * input

model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
x = Variable(torch.ones(5, 3), volatile=True)
output = model(x)
print(output.requires_grad, output.volatile, Square.apply(output).volatile)
print(torch.cat([output, output * 2], 0).volatile, model(Variable(torch.ones(5, 3))).requires_grad)
""",
        """\
False True True
True True
""",
        DIFFERS,
    ),
    Row(
        "`volatile` and `requires_grad` exclude each other",
        """\
Variable(torch.ones(2), requires_grad=True, volatile=True)
""",
        """\
ValueError: Variable can't be volatile and require_grad at the same time!
""",
    ),
    Row(
        "`dtype = torch.FloatTensor` and `torch.randn(N, D).type(dtype)`",
        """\
torch.manual_seed(0)
dtype = torch.FloatTensor
N, D = 2, 3
x = torch.randn(N, D).type(dtype)
print(x, x.type(), dtype)
""",
        """\
tensor([[ 1.5410, -0.2934, -2.1788],
        [ 0.5684, -1.0845, -1.3986]]) torch.FloatTensor <class 'torch.FloatTensor'>
""",
    ),
    Row(
        "The family of tensor types",
        """\
for kind in (torch.FloatTensor, torch.DoubleTensor, torch.HalfTensor, torch.LongTensor,
             torch.IntTensor, torch.ShortTensor, torch.CharTensor, torch.ByteTensor,
             torch.BoolTensor):
    x = kind([1, 0, 2])
    print(x.type(), x.dtype, x.tolist(), kind(2, 3).size(), kind().size())
""",
        """\
torch.FloatTensor torch.float32 [1.0, 0.0, 2.0] torch.Size([2, 3]) torch.Size([0])
torch.DoubleTensor torch.float64 [1.0, 0.0, 2.0] torch.Size([2, 3]) torch.Size([0])
torch.HalfTensor torch.float16 [1.0, 0.0, 2.0] torch.Size([2, 3]) torch.Size([0])
torch.LongTensor torch.int64 [1, 0, 2] torch.Size([2, 3]) torch.Size([0])
torch.IntTensor torch.int32 [1, 0, 2] torch.Size([2, 3]) torch.Size([0])
torch.ShortTensor torch.int16 [1, 0, 2] torch.Size([2, 3]) torch.Size([0])
torch.CharTensor torch.int8 [1, 0, 2] torch.Size([2, 3]) torch.Size([0])
torch.ByteTensor torch.uint8 [1, 0, 2] torch.Size([2, 3]) torch.Size([0])
torch.BoolTensor torch.bool [True, False, True] torch.Size([2, 3]) torch.Size([0])
""",
    ),
    Row(
        "`torch.cuda.FloatTensor` is there before any GPU is",
        """\
print(torch.cuda.FloatTensor, torch.cuda.LongTensor)
print(isinstance(torch.ones(1), torch.cuda.FloatTensor), torch.cuda.FloatTensor.is_cuda)
dtype = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
print(torch.ones(2).type(dtype).type())
""",
        """\
<class 'torch.cuda.FloatTensor'> <class 'torch.cuda.LongTensor'>
False True
torch.FloatTensor
""",
    ),
    Row(
        "Constructing a `torch.cuda.FloatTensor` without a GPU",
        """\
torch.cuda.FloatTensor(2, 3)
""",
        """\
TypeError: type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled.
""",
    ),
    Row(
        "`x.type(torch.cuda.FloatTensor)` without a GPU",
        """\
torch.ones(2).type(torch.cuda.FloatTensor)
""",
        """\
AssertionError: Torch not compiled with CUDA enabled: numbagrad cannot use the device 'cuda'; \
use device='cpu', or ask torch.cuda.is_available() first
""",
        DIFFERS,
    ),
    Row(
        "`x.type()` with a name, a type and a dtype",
        """\
x = torch.FloatTensor([1.5, -2.5])
print(x.type())
print(x.type('torch.IntTensor'), x.type(torch.LongTensor), x.type(torch.float64))
print(x.type('torch.FloatTensor') is x, x.type('torch.IntTensor').type())
""",
        """\
torch.FloatTensor
tensor([ 1, -2], dtype=torch.int32) tensor([ 1, -2]) tensor([ 1.5000, -2.5000], \
dtype=torch.float64)
True torch.IntTensor
""",
    ),
    Row(
        "`x.type()` of a name that is none",
        """\
torch.ones(2).type('torch.NoTensor')
""",
        """\
ValueError: invalid type: 'torch.NoTensor'
""",
    ),
    Row(
        "`isinstance(x, torch.FloatTensor)`",
        """\
x = torch.ones(2)
print(isinstance(x, torch.FloatTensor), isinstance(x, torch.DoubleTensor))
print(isinstance(x.long(), torch.LongTensor), isinstance(x, torch.Tensor))
print(isinstance(x.double(), (torch.FloatTensor, torch.DoubleTensor)))
""",
        """\
True False
True True
True
""",
    ),
    Row(
        "A type is made of sizes, a Size, a list or an array, never of one float",
        """\
print(torch.LongTensor([[1, 2], [3, 4]]), torch.FloatTensor(np.array([1.0, 2.0], dtype=np.float32)))
print(torch.FloatTensor(torch.ones(2, 3).size()).size(), torch.LongTensor([1.9]))
torch.FloatTensor(2.5)
""",
        """\
tensor([[1, 2],
        [3, 4]]) tensor([1., 2.])
torch.Size([2, 3]) tensor([1])
TypeError: new(): data must be a sequence (got float)
""",
    ),
    Row(
        "`x.new`, `type_as`, `expand_as`, `is_same_size`",
        """\
x = torch.DoubleTensor([1, 2])
print(x.new(2, 3).size(), x.new(2, 3).type(), x.new([5, 6]))
print(torch.ones(2).type_as(x), torch.ones(1).expand_as(x).size(), x.is_same_size(torch.ones(2)))
""",
        """\
torch.Size([2, 3]) torch.DoubleTensor tensor([5., 6.], dtype=torch.float64)
tensor([1., 1.], dtype=torch.float64) torch.Size([2]) True
""",
    ),
    Row(
        "`loss.data[0]` on a tensor without dimensions",
        """\
x = Variable(torch.ones(3), requires_grad=True)
loss = (x * 2).sum()
print(loss.data[0])
print(0, loss.data[0] / 2)
""",
        """\
6.0
0 3.0
""",
        REFUSES,
    ),
    Row(
        "`loss[0]`, without data, raises as today",
        """\
loss = torch.ones(3).sum()
loss[0]
""",
        """\
IndexError: invalid index of a 0-dim tensor. Use `tensor.item()` in Python or \
`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number
""",
    ),
    Row(
        "`w.data -= lr * w.grad.data` and `w.grad.data.zero_()`",
        """\
w = Variable(torch.ones(2), requires_grad=True)
(w * w).sum().backward()
w.data -= 0.5 * w.grad.data
print(w, w.is_leaf)
w.grad.data.zero_()
print(w.grad)
w.data.sub_(w.grad.data * 0.1)
w.data.add_(w.data)
print(w.data)
""",
        """\
tensor([0., 0.], requires_grad=True) True
tensor([0., 0.])
tensor([0., 0.])
""",
    ),
]
