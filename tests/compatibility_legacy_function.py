"""Functions of 2017, whose instances are called.

Rows of the table in ``compatibility_table.py``, section "Functions of 2017".
"""

from compatibility_row import REFUSES, Row

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
