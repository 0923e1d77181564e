"""What programs of 2017 wrote: instances of Functions, Variables, tensor types, older signatures.

Rows of the table in ``compatibility_table.py``, section "The 2017 era".
"""

from compatibility_row import DIFFERS, REFUSES, Row

ROWS = [
    Row(
        "A Function with instance methods, called as an instance",
        """\
class MyReLU(torch.autograd.Function):
    def forward(self, input):
        self.save_for_backward(input)
        return input.clamp(min=0)

    def backward(self, grad_output):
        input, = self.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input

x = Variable(torch.FloatTensor([[1, -2], [-3, 4]]))
w1 = Variable(torch.eye(2), requires_grad=True)
w2 = Variable(torch.ones(2, 1), requires_grad=True)
relu = MyReLU()
y_pred = relu(x.mm(w1)).mm(w2)
y_pred.sum().backward()
print(y_pred.data)
print(w1.grad.data)
""",
        """\
tensor([[1.],
        [4.]])
tensor([[ 1., -3.],
        [-2.,  4.]])
""",
        REFUSES,
    ),
    Row(
        "The two-layer net of 2017, from a fixed seed",
        """\
class MyReLU(torch.autograd.Function):
    def forward(self, input):
        self.save_for_backward(input)
        return input.clamp(min=0)

    def backward(self, grad_output):
        input, = self.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input

torch.manual_seed(0)
dtype = torch.FloatTensor
N, D_in, H, D_out = 8, 20, 10, 3
x = Variable(torch.randn(N, D_in).type(dtype), requires_grad=False)
y = Variable(torch.randn(N, D_out).type(dtype), requires_grad=False)
w1 = Variable(torch.randn(D_in, H).type(dtype), requires_grad=True)
w2 = Variable(torch.randn(H, D_out).type(dtype), requires_grad=True)
learning_rate = 1e-4
for t in range(101):
    relu = MyReLU()
    y_pred = relu(x.mm(w1)).mm(w2)
    loss = (y_pred - y).pow(2).sum()
    if t % 50 == 0:
        print(t, '%.2f' % loss.data[0])
    loss.backward()
    w1.data -= learning_rate * w1.grad.data
    w2.data -= learning_rate * w2.grad.data
    w1.grad.data.zero_()
    w2.grad.data.zero_()
""",
        """\
0 4700.23
50 36.57
100 12.50
""",
        REFUSES,
    ),
    Row(
        "Constructor arguments, with or without a call of the base constructor",
        """\
class Scale(torch.autograd.Function):
    def __init__(self, factor):
        self.factor = factor

    def forward(self, input):
        return input * self.factor

    def backward(self, grad_output):
        return grad_output * self.factor

class Shift(torch.autograd.Function):
    def __init__(self, by):
        super(Shift, self).__init__()
        self.by = by

    def forward(self, input):
        return input + self.by

    def backward(self, grad_output):
        return grad_output

x = Variable(torch.ones(2), requires_grad=True)
y = Shift(1)(Scale(3)(x))
y.sum().backward()
print(y.data, x.grad)
""",
        """\
tensor([4., 4.]) tensor([3., 3.])
""",
        REFUSES,
    ),
    Row(
        "Several inputs and outputs; `needs_input_grad`",
        """\
class Both(torch.autograd.Function):
    def forward(self, a, b):
        self.save_for_backward(a, b)
        return a * b, a + b

    def backward(self, grad_product, grad_sum):
        a, b = self.saved_tensors
        print(self.needs_input_grad)
        return grad_product * b + grad_sum, None

a = Variable(torch.ones(2) * 3, requires_grad=True)
b = Variable(torch.ones(2) * 4)
product, total = Both()(a, b)
(product + total).sum().backward()
print(product.data, total.data, a.grad)
""",
        """\
(True, False)
tensor([12., 12.]) tensor([7., 7.]) tensor([5., 5.])
""",
        REFUSES,
    ),
    Row(
        "`forward` and `backward` see plain tensors, so NumPy may take them",
        """\
class Sine(torch.autograd.Function):
    def forward(self, input):
        print(input.requires_grad)
        self.save_for_backward(input)
        return torch.from_numpy(np.sin(input.numpy()))

    def backward(self, grad_output):
        input, = self.saved_tensors
        return torch.FloatTensor(grad_output.numpy() * np.cos(input.numpy()))

x = Variable(torch.zeros(3), requires_grad=True)
y = Sine()(x)
y.sum().backward()
print(y.data, x.grad)
""",
        """\
False
tensor([0., 0., 0.]) tensor([1., 1., 1.])
""",
        REFUSES,
    ),
    Row(
        "`mark_dirty` on self",
        """\
class Clip(torch.autograd.Function):
    def forward(self, input):
        self.mark_dirty(input)
        self.mask = input > 0
        return input.clamp_(min=0)

    def backward(self, grad_output):
        return grad_output * self.mask.type_as(grad_output)

x = Variable(torch.FloatTensor([-1, 2]), requires_grad=True)
h = x * 1
y = Clip()(h)
y.sum().backward()
print(y is h, h.data, x.grad)
""",
        """\
True tensor([0., 2.]) tensor([0., 1.])
""",
        REFUSES,
    ),
    Row(
        "`mark_non_differentiable` on self",
        """\
class Top(torch.autograd.Function):
    def forward(self, input):
        value, index = input.max(0)
        self.mark_non_differentiable(index)
        self.save_for_backward(index)
        self.size = input.size()
        return value, index

    def backward(self, grad_value, grad_index):
        index, = self.saved_tensors
        return grad_value.new(self.size).zero_().index_fill_(0, index.view(1), 1) * grad_value

x = Variable(torch.FloatTensor([1, 5, 2]), requires_grad=True)
value, index = Top()(x)
value.backward()
print(value.data, index, index.requires_grad, x.grad)
""",
        """\
tensor(5.) tensor(1) False tensor([0., 1., 0.])
""",
        REFUSES,
    ),
    Row(
        "One instance, one call",
        """\
class Double(torch.autograd.Function):
    def forward(self, input):
        return input * 2

    def backward(self, grad_output):
        return grad_output * 2

double = Double()
x = Variable(torch.ones(2), requires_grad=True)
double(x)
double(x)
""",
        """\
RuntimeError: this instance of Double was called before: an instance of a Function records one \
call. Make one for each call: Double(...)(...). Today's form has static methods, forward(ctx, \
...) and backward(ctx, ...), keeps what it needs on ctx and is called on the class: \
Double.apply(...)
""",
        REFUSES,
    ),
    Row(
        "A modern Function is not called as an instance",
        """\
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        return input * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2

Double()(torch.ones(2))
""",
        """\
RuntimeError: Legacy autograd function with non-static forward method is deprecated. Please use \
new-style autograd function with static forward method. (Example: \
https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
""",
    ),
    Row(
        "An instance takes tensors only: other arguments go to the constructor",
        """\
class Scale(torch.autograd.Function):
    def forward(self, input, factor):
        return input * factor

Scale()(Variable(torch.ones(2), requires_grad=True), 3)
""",
        """\
TypeError: Scale: argument 1 of an instance of a Function must be a Tensor or None, not int; \
give other values to its constructor. Today's form has static methods, forward(ctx, ...) and \
backward(ctx, ...), keeps what it needs on ctx and is called on the class: Scale.apply(...)
""",
        REFUSES,
    ),
    Row(
        "The gradient of an instance has no gradient of its own",
        """\
class Cube(torch.autograd.Function):
    def forward(self, input):
        self.save_for_backward(input)
        return input ** 3

    def backward(self, grad_output):
        input, = self.saved_tensors
        return grad_output * 3 * input ** 2

x = Variable(torch.ones(2), requires_grad=True)
first, = torch.autograd.grad(Cube()(x).sum(), x, create_graph=True)
print(first.data)
first.sum().backward()
""",
        """\
tensor([3., 3.])
RuntimeError: the gradient of Cube has no gradient: its backward is a method of an instance, \
which is not recorded. Today's form has static methods, forward(ctx, ...) and backward(ctx, \
...), keeps what it needs on ctx and is called on the class: Cube.apply(...)
""",
        REFUSES,
    ),
    Row(
        "Saved tensors of an instance are freed with the graph",
        """\
class Square(torch.autograd.Function):
    def forward(self, input):
        self.save_for_backward(input)
        return input * input

    def backward(self, grad_output):
        input, = self.saved_tensors
        return grad_output * 2 * input

x = Variable(torch.ones(2), requires_grad=True)
y = Square()(x).sum()
y.backward(retain_variables=True)
y.backward()
print(x.grad)
y.backward()
""",
        """\
tensor([4., 4.])
RuntimeError: Trying to backward through the graph a second time (or directly access saved \
tensors after they have already been freed). Saved intermediate values of the graph are freed \
when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward \
through the graph a second time or if you need to access saved tensors after calling backward.
""",
        REFUSES,
    ),
    Row(
        "Saved tensors of an instance must not be changed",
        """\
class Square(torch.autograd.Function):
    def forward(self, input):
        self.save_for_backward(input)
        return input * input

    def backward(self, grad_output):
        input, = self.saved_tensors
        return grad_output * 2 * input

x = Variable(torch.ones(2), requires_grad=True)
h = x * 1
y = Square()(h)
h.add_(1)
y.sum().backward()
""",
        """\
RuntimeError: one of the variables needed for gradient computation has been modified by an \
inplace operation: [torch.FloatTensor [2]] is at version 1; expected version 0 instead. Hint: \
enable anomaly detection to find the operation that failed to compute its gradient, with \
torch.autograd.set_detect_anomaly(True, check_nan=False).
""",
        REFUSES,
    ),
    Row(
        "An instance that returns too many gradients",
        """\
class Double(torch.autograd.Function):
    def forward(self, input):
        return input * 2

    def backward(self, grad_output):
        return grad_output * 2, grad_output

x = Variable(torch.ones(2), requires_grad=True)
Double()(x).sum().backward()
""",
        """\
RuntimeError: function DoubleBackward returned an incorrect number of gradients (expected 1, \
got 2)
""",
        REFUSES,
    ),
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
    Row(
        "`backward(gradient)` of a Tensor or a Variable",
        """\
x = Variable(torch.ones(3), requires_grad=True)
y = x * 2
y.backward(torch.FloatTensor([1, 10, 100]), retain_graph=True)
y.backward(Variable(torch.FloatTensor([1, 1, 1])))
print(x.grad)
""",
        """\
tensor([  4.,  22., 202.])
""",
    ),
    Row(
        "`backward()` of more than one element",
        """\
x = Variable(torch.ones(3), requires_grad=True)
(x * 2).backward()
""",
        """\
RuntimeError: grad can be implicitly created only for scalar outputs
""",
    ),
    Row(
        "`backward()` of a tensor that does not require grad",
        """\
torch.ones(()).backward()
""",
        """\
RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
""",
    ),
    Row(
        "`backward(gradient)` of the wrong shape",
        """\
x = Variable(torch.ones(3), requires_grad=True)
(x * 2).backward(torch.ones(2))
""",
        """\
RuntimeError: Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and output[0] \
has a shape of torch.Size([3]).
""",
    ),
    Row(
        "`retain_variables` means `retain_graph`",
        """\
x = Variable(torch.ones(2), requires_grad=True)
y = (x * x).sum()
y.backward(retain_variables=True)
torch.autograd.backward([y], retain_variables=True)
y.backward(None, None, None, True)
y.backward()
print(x.grad)
""",
        """\
tensor([8., 8.])
""",
        REFUSES,
    ),
    Row(
        "A graph that was not retained",
        """\
x = Variable(torch.ones(2), requires_grad=True)
y = (x * x).sum()
y.backward()
y.backward()
""",
        """\
RuntimeError: Trying to backward through the graph a second time (or directly access saved \
tensors after they have already been freed). Saved intermediate values of the graph are freed \
when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward \
through the graph a second time or if you need to access saved tensors after calling backward.
""",
    ),
    Row(
        "`backward(create_graph=True)`",
        """\
x = Variable(torch.ones(2) * 3, requires_grad=True)
(x ** 3).sum().backward(create_graph=True)
print(x.grad.data)
gradient = x.grad
x.grad = None
gradient.sum().backward()
print(x.grad)
""",
        """\
tensor([27., 27.])
tensor([18., 18.])
""",
    ),
    Row(
        "`torch.add(a, b, result)`: the third argument is the output",
        """\
a, b = torch.ones(2, 3), torch.ones(2, 3) * 2
result = torch.Tensor(2, 3)
torch.add(a, b, result)
print(result)
print(torch.add(a, b, out=result) is result)
""",
        """\
tensor([[3., 3., 3.],
        [3., 3., 3.]])
True
""",
        REFUSES,
    ),
    Row(
        "`torch.add(a, 2, b)`: the scalar in the middle",
        """\
a, b = torch.ones(2), torch.ones(2) * 3
print(torch.add(a, 2, b), a.add(2, b), torch.sub(a, 2, b))
print(a.add_(2, b), a)
""",
        """\
tensor([7., 7.]) tensor([7., 7.]) tensor([-5., -5.])
tensor([7., 7.]) tensor([7., 7.])
""",
    ),
    Row(
        "The optimizers of 2017 wrote scalars first too",
        """\
a, b = torch.ones(2), torch.ones(2) * 3
print(torch.addcmul(a, 2, a, b), torch.addcdiv(a, 2, a, b), a.addcmul_(0.5, b, b))
""",
        """\
tensor([7., 7.]) tensor([1.6667, 1.6667]) tensor([5.5000, 5.5000])
""",
    ),
    Row(
        "`a.add(b)` and `a.add_(b)`",
        """\
a, b = torch.ones(2), torch.ones(2) * 2
print(a.add(b), a)
print(a.add_(b), a)
""",
        """\
tensor([3., 3.]) tensor([1., 1.])
tensor([3., 3.]) tensor([3., 3.])
""",
    ),
    Row(
        "`torch.max(tensor, dim)`",
        """\
x = torch.FloatTensor([[1, 5, 2], [7, 0, 3]])
values, indices = torch.max(x, 1)
print(values, indices)
print(torch.max(x), torch.max(x, 0)[1], torch.max(x, 1, keepdim=True)[0], x.max(1)[1])
_, predicted = torch.max(x.data, 1)
print((predicted == torch.LongTensor([1, 2])).sum())
""",
        """\
tensor([5., 7.]) tensor([1, 0])
tensor(7.) tensor([1, 0, 1]) tensor([[5.],
        [7.]]) tensor([1, 0])
tensor(1)
""",
    ),
    Row(
        "`torch.clamp(tensor, min, max, out=None)`",
        """\
x = torch.FloatTensor([-1, 0.5, 2])
result = torch.Tensor(3)
print(torch.clamp(x, 0, 1), torch.clamp(x, 0, 1, out=None), x.clamp(min=0), x.clamp(max=1))
torch.clamp(x, 0, 1, out=result)
print(result, torch.clamp(x, min=0), x.clamp_(0, 1))
""",
        """\
tensor([0.0000, 0.5000, 1.0000]) tensor([0.0000, 0.5000, 1.0000]) tensor([0.0000, 0.5000, \
2.0000]) tensor([-1.0000,  0.5000,  1.0000])
tensor([0.0000, 0.5000, 1.0000]) tensor([0.0000, 0.5000, 2.0000]) tensor([0.0000, 0.5000, 1.0000])
""",
    ),
    Row(
        "`a.t_()`",
        """\
a = torch.FloatTensor([[1, 2, 3], [4, 5, 6]])
print(a.t_(), a.size(), a.is_contiguous())
""",
        """\
tensor([[1., 4.],
        [2., 5.],
        [3., 6.]]) torch.Size([3, 2]) False
""",
    ),
    Row(
        "`detach()` and `detach_()`",
        """\
x = Variable(torch.ones(2), requires_grad=True)
y = x * 2
print(y.detach().requires_grad, y.detach().data_ptr() == y.data_ptr())
print(y.detach_() is y, y.requires_grad, y.grad_fn, y.is_leaf)
x[:1].detach_()
""",
        """\
False True
True False None True
RuntimeError: Can't detach views in-place. Use detach() instead. If you are using \
DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as True, \
gradients are views of DDP buckets, and hence detach_() cannot be called on these gradients. To \
fix this error, please refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py \
as the solution.
""",
    ),
    Row(
        "`register_hook`: its handle removes it, a returned tensor replaces the gradient",
        """\
x = Variable(torch.ones(2), requires_grad=True)
y = x * 2
seen = y.register_hook(lambda grad: print('gradient', grad))
double = y.register_hook(lambda grad: grad * 2)
y.sum().backward(retain_graph=True)
print(x.grad)
double.remove()
x.grad.data.zero_()
y.sum().backward()
print(x.grad)
""",
        """\
gradient tensor([1., 1.])
tensor([4., 4.])
gradient tensor([1., 1.])
tensor([2., 2.])
""",
    ),
    Row(
        "A hook on a tensor that does not require grad",
        """\
torch.ones(2).register_hook(print)
""",
        """\
RuntimeError: cannot register a hook on a tensor that doesn't require gradient
""",
    ),
    Row(
        "`register_grad` was in people's notes, but in no torch",
        """\
x = Variable(torch.ones(2), requires_grad=True)
x.register_grad(print)
""",
        """\
AttributeError: 'Tensor' object has no attribute 'register_grad'; call register_hook(hook) to \
see or replace the gradient of a tensor, and register_post_accumulate_grad_hook(hook) to act \
when the grad of a leaf was added to
""",
        DIFFERS,
    ),
    Row(
        "Masks, sizes and clones, as old loops used them",
        """\
grad_output = torch.FloatTensor([[1, 2], [3, 4]])
input = torch.FloatTensor([[-1, 1], [1, -1]])
grad_input = grad_output.clone()
grad_input[input < 0] = 0
print(grad_input, grad_input.size(), grad_input.size(0), grad_input.dim(), grad_input.nelement())
print(input.masked_fill_(input < 0, 9), torch.mm(input, grad_output), input.cpu().numpy())
print(input.index_select(1, torch.LongTensor([0])), input.view(-1).tolist())
""",
        """\
tensor([[0., 2.],
        [3., 0.]]) torch.Size([2, 2]) 2 2 4
tensor([[9., 1.],
        [1., 9.]]) tensor([[12., 22.],
        [28., 38.]]) [[9. 1.]
 [1. 9.]]
tensor([[9.],
        [1.]]) [9.0, 1.0, 1.0, 9.0]
""",
    ),
    Row(
        "`requires_grad` of a result, and of a frozen part",
        """\
x = Variable(torch.ones(2))
w = Variable(torch.ones(2), requires_grad=True)
print((x + x).requires_grad, (x + w).requires_grad)
w.requires_grad = False
print((x + w).requires_grad)
""",
        """\
False True
False
""",
    ),
    Row(
        "`requires_grad` of a result cannot be switched off",
        """\
x = Variable(torch.ones(2), requires_grad=True)
(x * 2).requires_grad = False
""",
        """\
RuntimeError: you can only change requires_grad flags of leaf variables. If you want to use a \
computed variable in a subgraph that doesn't require differentiation use var_no_grad = \
var.detach().
""",
    ),
    Row(
        "`torch.autograd.grad` and `torch.autograd.backward`",
        """\
x = Variable(torch.ones(2), requires_grad=True)
y = Variable(torch.ones(2), requires_grad=True)
print(torch.autograd.grad((x * y).sum(), [x, y]))
torch.autograd.backward([(x * 2).sum(), (x * y).sum()])
print(x.grad, y.grad)
""",
        """\
(tensor([1., 1.]), tensor([1., 1.]))
tensor([3., 3.]) tensor([1., 1.])
""",
    ),
    Row(
        "The first pages of the tutorials of 2017: tensors and NumPy",
        """\
x = torch.Tensor(5, 3)
y = torch.rand(5, 3)
x.fill_(1)
print((x + y).size(), torch.add(x, y).size())
result = torch.Tensor(5, 3)
print(torch.add(x, y, out=result).size(), y.add_(x)[:, 1].size())
a = torch.ones(5)
b = a.numpy()
a.add_(1)
print(a, b)
a = np.ones(5)
b = torch.from_numpy(a)
np.add(a, 1, out=a)
print(a, b)
if torch.cuda.is_available():
    x = x.cuda()
""",
        """\
torch.Size([5, 3]) torch.Size([5, 3])
torch.Size([5, 3]) torch.Size([5])
tensor([2., 2., 2., 2., 2.]) [2. 2. 2. 2. 2.]
[2. 2. 2. 2. 2.] tensor([2., 2., 2., 2., 2.], dtype=torch.float64)
""",
    ),
    Row(
        "Reductions, orders and sizes, as 2017 wrote them",
        """\
x = torch.FloatTensor([[1, 2], [3, 4]])
print(x.sum(0), x.sum(1, keepdim=True), x.norm(), x.norm(2, 1), x.pow(2).sqrt(), x.neg().abs())
print(x.topk(1), x.sort(1, True), x.gather(1, torch.LongTensor([[0], [1]])), x.cumsum(0))
print(x.unsqueeze(1).size(), x.squeeze().size(), x.repeat(1, 2), x.narrow(0, 0, 1), x.select(0, 1))
print(torch.cat((x, x), 0), torch.stack([x[0], x[1]]), x.transpose(0, 1), x.t().is_contiguous())
print(x.eq(2), x.gt(2), (x == 2).sum(), x[x > 2], x.masked_select(x > 2), x.ge(3).type_as(x))
print(torch.zeros(2, 3).scatter_(1, torch.LongTensor([[1], [2]]), 1), torch.ger(x[0], x[1]))
""",
        """\
tensor([4., 6.]) tensor([[3.],
        [7.]]) tensor(5.4772) tensor([2.2361, 5.0000]) tensor([[1., 2.],
        [3., 4.]]) tensor([[1., 2.],
        [3., 4.]])
torch.return_types.topk(
values=tensor([[2.],
        [4.]]),
indices=tensor([[1],
        [1]])) torch.return_types.sort(
values=tensor([[2., 1.],
        [4., 3.]]),
indices=tensor([[1, 0],
        [1, 0]])) tensor([[1.],
        [4.]]) tensor([[1., 2.],
        [4., 6.]])
torch.Size([2, 1, 2]) torch.Size([2, 2]) tensor([[1., 2., 1., 2.],
        [3., 4., 3., 4.]]) tensor([[1., 2.]]) tensor([3., 4.])
tensor([[1., 2.],
        [3., 4.],
        [1., 2.],
        [3., 4.]]) tensor([[1., 2.],
        [3., 4.]]) tensor([[1., 3.],
        [2., 4.]]) False
tensor([[False,  True],
        [False, False]]) tensor([[False, False],
        [ True,  True]]) tensor(1) tensor([3., 4.]) tensor([3., 4.]) tensor([[0., 0.],
        [1., 1.]])
tensor([[0., 1., 0.],
        [0., 0., 1.]]) tensor([[3., 4.],
        [6., 8.]])
""",
    ),
    Row(
        "Reading and writing elements",
        """\
a = torch.Tensor(2, 3).zero_()
a[0] = 1
a[1, 2] = 5
a[:, 0] = torch.Tensor([7, 8])
print(a, a[0, 0], a[1][2], a[:, 1:], a[-1])
for row in a:
    print(row, row.sum())
print(a.max(1), a.min(0)[0], list(a.size()), a.size(-1), a.numel())
""",
        """\
tensor([[7., 1., 1.],
        [8., 0., 5.]]) tensor(7.) tensor(5.) tensor([[1., 1.],
        [0., 5.]]) tensor([8., 0., 5.])
tensor([7., 1., 1.]) tensor(9.)
tensor([8., 0., 5.]) tensor(13.)
torch.return_types.max(
values=tensor([7., 8.]),
indices=tensor([0, 0])) tensor([7., 0., 1.]) [2, 3] 3 6
""",
    ),
    Row(
        "The two-layer net by hand, without autograd",
        """\
torch.manual_seed(1)
dtype = torch.FloatTensor
x = torch.randn(64, 100).type(dtype)
y = torch.randn(64, 10).type(dtype)
w1 = torch.randn(100, 20).type(dtype)
w2 = torch.randn(20, 10).type(dtype)
for t in range(3):
    h = x.mm(w1)
    h_relu = h.clamp(min=0)
    y_pred = h_relu.mm(w2)
    loss = (y_pred - y).pow(2).sum()
    print(t, '%.0f' % loss)
    grad_y_pred = 2.0 * (y_pred - y)
    grad_w2 = h_relu.t().mm(grad_y_pred)
    grad_h_relu = grad_y_pred.mm(w2.t())
    grad_h = grad_h_relu.clone()
    grad_h[h < 0] = 0
    grad_w1 = x.t().mm(grad_h)
    w1 -= 1e-6 * grad_w1
    w2 -= 1e-6 * grad_w2
""",
        """\
0 684840
1 643010
2 605300
""",
    ),
    Row(
        "A recurrent net by hand",
        """\
h = Variable(torch.zeros(1, 3))
W = Variable(torch.eye(3), requires_grad=True)
for t in range(3):
    h = torch.tanh(h.mm(W) + 0.1)
h.sum().backward()
print(h, W.grad, W.grad.data.norm())
W.data.add_(-0.1, W.grad.data)
print(W.data)
h = Variable(h.data)
print(h.requires_grad)
""",
        """\
tensor([[0.2886, 0.2886, 0.2886]], grad_fn=<TanhBackward0>) tensor([[0.2685, 0.2685, 0.2685],
        [0.2685, 0.2685, 0.2685],
        [0.2685, 0.2685, 0.2685]]) tensor(0.8054)
tensor([[ 0.9732, -0.0268, -0.0268],
        [-0.0268,  0.9732, -0.0268],
        [-0.0268, -0.0268,  0.9732]])
False
""",
    ),
    Row(
        "An evaluation loop of 2017",
        """\
torch.manual_seed(0)
model = torch.nn.Linear(4, 3)
correct = total = 0
for batch in range(3):
    inputs, labels = torch.randn(8, 4), torch.LongTensor(8).random_(0, 3)
    outputs = model(Variable(inputs))
    _, predicted = torch.max(outputs.data, 1)
    total += labels.size(0)
    correct += (predicted == labels).sum()
print('%d of %d' % (correct, total))
""",
        """\
11 of 24
""",
    ),
    Row(
        "A linear Function of 2017, with an optional bias, in a Module",
        """\
class Linear(torch.autograd.Function):
    def forward(self, input, weight, bias=None):
        self.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    def backward(self, grad_output):
        input, weight, bias = self.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if self.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if self.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and self.needs_input_grad[2]:
            grad_bias = grad_output.sum(0).squeeze(0)
        return grad_input, grad_weight, grad_bias

class LinearModule(torch.nn.Module):
    def __init__(self, input_features, output_features, bias=True):
        super(LinearModule, self).__init__()
        self.weight = torch.nn.Parameter(torch.Tensor(output_features, input_features))
        if bias:
            self.bias = torch.nn.Parameter(torch.Tensor(output_features))
        else:
            self.register_parameter('bias', None)
        self.weight.data.uniform_(-0.1, 0.1)
        if self.bias is not None:
            self.bias.data.uniform_(-0.1, 0.1)

    def forward(self, input):
        return Linear()(input, self.weight, self.bias)

torch.manual_seed(0)
for layer in (LinearModule(3, 2), LinearModule(3, 2, bias=False)):
    output = layer(Variable(torch.ones(4, 3)))
    output.sum().backward()
    print(layer, output.data[0], layer.weight.grad, layer.bias)
""",
        """\
LinearModule() tensor([-0.0314, -0.0060]) tensor([[4., 4., 4.],
        [4., 4., 4.]]) Parameter containing:
tensor([-0.0020,  0.0793], requires_grad=True)
LinearModule() tensor([-0.0126, -0.1814]) tensor([[4., 4., 4.],
        [4., 4., 4.]]) None
""",
        REFUSES,
    ),
    Row(
        "`gradcheck` of an instance",
        """\
class Linear(torch.autograd.Function):
    def forward(self, input, weight):
        self.save_for_backward(input, weight)
        return input.mm(weight.t())

    def backward(self, grad_output):
        input, weight = self.saved_tensors
        return grad_output.mm(weight), grad_output.t().mm(input)

input = (Variable(torch.randn(5, 4).double(), requires_grad=True),
         Variable(torch.randn(3, 4).double(), requires_grad=True))
print(torch.autograd.gradcheck(Linear(), input, eps=1e-6, atol=1e-4))
""",
        """\
True
""",
        REFUSES,
    ),
]
