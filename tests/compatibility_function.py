"""Functions with static methods: how they are written, what they are given and return.

Rows of the table in ``compatibility_table.py``, section "The modern Function".
"""

from compatibility_row import Row

ROWS = [
    Row(
        "`forward(ctx, ...)` and `backward(ctx, ...)`",
        """\
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input

x = torch.tensor([-1.0, 2.0], requires_grad=True)
relu = MyReLU.apply
y = relu(x)
y.sum().backward()
print(y, x.grad, type(y.grad_fn).__name__)
""",
        """\
tensor([0., 2.], grad_fn=<MyReLUBackward>) tensor([0., 1.]) MyReLUBackward
""",
    ),
    Row(
        "The two-layer net of today, from a fixed seed",
        """\
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input

torch.manual_seed(0)
device = torch.device('cpu')
N, D_in, H, D_out = 8, 20, 10, 3
x = torch.randn(N, D_in, device=device)
y = torch.randn(N, D_out, device=device)
w1 = torch.randn(D_in, H, device=device, requires_grad=True)
w2 = torch.randn(H, D_out, device=device, requires_grad=True)
learning_rate = 1e-4
for t in range(101):
    y_pred = MyReLU.apply(x.mm(w1)).mm(w2)
    loss = (y_pred - y).pow(2).sum()
    if t % 50 == 0:
        print(t, '%.2f' % loss.item())
    loss.backward()
    with torch.no_grad():
        w1 -= learning_rate * w1.grad
        w2 -= learning_rate * w2.grad
        w1.grad.zero_()
        w2.grad.zero_()
""",
        """\
0 4700.23
50 36.57
100 12.50
""",
    ),
    Row(
        "`forward(...)` with `setup_context(ctx, inputs, output)`",
        """\
class Power(torch.autograd.Function):
    @staticmethod
    def forward(x, exponent=2):
        return x ** exponent

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, exponent = inputs
        ctx.save_for_backward(x, output)
        ctx.exponent = exponent

    @staticmethod
    def backward(ctx, grad_output):
        x, output = ctx.saved_tensors
        return grad_output * ctx.exponent * output / x, None

x = torch.tensor([1.0, 2.0], requires_grad=True)
(Power.apply(x, 3) + Power.apply(x)).sum().backward()
print(x.grad)
""",
        """\
tensor([ 5., 16.])
""",
    ),
    Row(
        "Any attribute on `ctx`",
        """\
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, factor):
        ctx.factor, ctx.note, ctx.shape = factor, {'a': 1}, input.shape
        return input * factor

    @staticmethod
    def backward(ctx, grad_output):
        print(ctx.note, ctx.shape)
        return grad_output * ctx.factor, None

x = torch.ones(2, requires_grad=True)
Scale.apply(x, 5).sum().backward()
print(x.grad)
""",
        """\
{'a': 1} torch.Size([2])
tensor([5., 5.])
""",
    ),
    Row(
        "`needs_input_grad`",
        """\
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, c):
        print(ctx.needs_input_grad)
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = grad_output * b
        if ctx.needs_input_grad[1]:
            grad_b = grad_output * a
        print(ctx.needs_input_grad, grad_a, grad_b)
        return grad_a, grad_b, None

a, b = torch.ones(2), torch.ones(2, requires_grad=True)
Product.apply(a, b, 'text').sum().backward()
print(a.grad, b.grad)
""",
        """\
(False, True, False)
(False, True, False) None tensor([1., 1.])
None tensor([1., 1.])
""",
    ),
    Row(
        "`LinearFunction` with an optional bias",
        """\
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias

torch.manual_seed(0)
input = torch.randn(4, 3, dtype=torch.double, requires_grad=True)
weight = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
bias = torch.randn(2, dtype=torch.double, requires_grad=True)
print(torch.autograd.gradcheck(LinearFunction.apply, (input, weight, bias), eps=1e-6, atol=1e-4))
print(torch.autograd.gradcheck(LinearFunction.apply, (input, weight), eps=1e-6, atol=1e-4))
print(torch.autograd.gradgradcheck(LinearFunction.apply, (input, weight, bias)))
LinearFunction.apply(input, weight).sum().backward()
print(weight.grad)
""",
        """\
True
True
True
tensor([[ 2.1094, -1.1366, -4.1146],
        [ 2.1094, -1.1366, -4.1146]], dtype=torch.float64)
""",
    ),
    Row(
        "`LinearFunction` in a Module",
        """\
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(input, weight, bias):
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def setup_context(ctx, inputs, output):
        input, weight, bias = inputs
        ctx.save_for_backward(input, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_bias = None if bias is None else grad_output.sum(0)
        return grad_output.mm(weight), grad_output.t().mm(input), grad_bias

class Linear(torch.nn.Module):
    def __init__(self, input_features, output_features, bias=True):
        super().__init__()
        self.input_features = input_features
        self.output_features = output_features
        self.weight = torch.nn.Parameter(torch.Tensor(output_features, input_features))
        if bias:
            self.bias = torch.nn.Parameter(torch.Tensor(output_features))
        else:
            self.register_parameter('bias', None)
        self.weight.data.uniform_(-0.1, 0.1)
        if self.bias is not None:
            self.bias.data.uniform_(-0.1, 0.1)

    def forward(self, input):
        return LinearFunction.apply(input, self.weight, self.bias)

    def extra_repr(self):
        return 'input_features={}, output_features={}, bias={}'.format(
            self.input_features, self.output_features, self.bias is not None)

torch.manual_seed(0)
for layer in (Linear(3, 2), Linear(3, 2, bias=False)):
    output = layer(torch.ones(4, 3))
    output.sum().backward()
    print(layer, output[0], layer.weight.grad, layer.bias)
""",
        """\
Linear(input_features=3, output_features=2, bias=True) tensor([-0.0314, -0.0060], \
grad_fn=<SelectBackward0>) tensor([[4., 4., 4.],
        [4., 4., 4.]]) Parameter containing:
tensor([-0.0020,  0.0793], requires_grad=True)
Linear(input_features=3, output_features=2, bias=False) tensor([-0.0126, -0.1814], \
grad_fn=<SelectBackward0>) tensor([[4., 4., 4.],
        [4., 4., 4.]]) None
""",
    ),
    Row(
        "Tuples of outputs, and `backward(ctx, *grad_outputs)`",
        """\
class SumAndProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a + b, a * b, 'not a tensor'

    @staticmethod
    def backward(ctx, *grad_outputs):
        a, b = ctx.saved_tensors
        print(len(grad_outputs), grad_outputs[2])
        return grad_outputs[0] + grad_outputs[1] * b, grad_outputs[0] + grad_outputs[1] * a

a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
total, product, text = SumAndProduct.apply(a, b)
print(total, product, text)
(total.sum() + 2 * product.sum()).backward()
print(a.grad, b.grad)
""",
        """\
tensor([4., 6.], grad_fn=<SumAndProductBackward>) tensor([3., 8.], \
grad_fn=<SumAndProductBackward>) not a tensor
3 None
tensor([7., 9.]) tensor([3., 5.])
""",
    ),
    Row(
        "A list of outputs is returned as it is",
        """\
class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return [x * 1, x * 2]

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output

print(Pair.apply(torch.ones(2, requires_grad=True)))
""",
        """\
[tensor([1., 1.]), tensor([2., 2.])]
""",
    ),
    Row(
        "`apply` with keyword arguments",
        """\
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x, factor=2):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None

x = torch.ones(2, requires_grad=True)
Scale.apply(x, factor=3).sum().backward()
print(x.grad)
""",
        """\
tensor([3., 3.])
""",
    ),
    Row(
        "Modes inside `forward` and `backward`",
        """\
class Show(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print(torch.is_grad_enabled(), (x * 2).requires_grad, x.requires_grad)
        with torch.enable_grad():
            print((x.detach().requires_grad_() * 2).requires_grad)
        return x * 1

    @staticmethod
    def backward(ctx, grad_output):
        print(torch.is_grad_enabled(), grad_output.requires_grad)
        return grad_output

x = torch.ones(2, requires_grad=True)
Show.apply(x).sum().backward()
torch.autograd.grad(Show.apply(x).sum(), x, create_graph=True)
with torch.no_grad():
    print(Show.apply(x).requires_grad)
""",
        """\
False False True
True
False False
False False True
True
True False
False False True
True
False
""",
    ),
    Row(
        "NumPy inside a Function",
        """\
class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        numpy_input = input.detach().numpy()
        ctx.save_for_backward(input)
        return input.new(np.sin(numpy_input))

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output.new(np.cos(input.detach().numpy())) * grad_output

x = torch.linspace(0, 1, 3, dtype=torch.double).requires_grad_()
print(torch.autograd.gradcheck(Sine.apply, x))
""",
        """\
True
""",
    ),
    Row(
        "Methods without `@staticmethod`, through `apply`",
        """\
class Custom(torch.autograd.Function):
    def forward(ctx, x):
        return x * 2
    def backward(ctx, b):
        return b * 2

x = torch.ones(2, requires_grad=True)
y = Custom.apply(x)
y.sum().backward()
print(y, x.grad)
""",
        """\
tensor([2., 2.], grad_fn=<CustomBackward>) tensor([2., 2.])
""",
    ),
    Row(
        "A Function inside a Function",
        """\
class Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, b):
        return b * 2

class Outer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = Inner.apply(x)
        print(y.requires_grad)
        return y + 1

    @staticmethod
    def backward(ctx, b):
        return Inner.apply(b)

x = torch.ones(2, requires_grad=True)
g, = torch.autograd.grad(Outer.apply(x).sum(), x, create_graph=True)
print(g)
""",
        """\
False
tensor([2., 2.])
""",
    ),
]
