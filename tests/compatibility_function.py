"""Functions with static methods, writes in place, views, and checks of gradients.

Rows of the table in ``compatibility_table.py``, section "The modern Function".
"""

from compatibility_row import REFUSES, Row

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
        "Trailing Nones are ignored",
        """\
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        return input * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2, None, None, None

x = torch.ones(2, requires_grad=True)
Double.apply(x).sum().backward()
print(x.grad)
""",
        """\
tensor([2., 2.])
""",
    ),
    Row(
        "Too few gradients",
        """\
class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output

x = torch.ones(2, requires_grad=True)
Add.apply(x, x).sum().backward()
""",
        """\
RuntimeError: function AddBackward returned an incorrect number of gradients (expected 2, got 1)
""",
    ),
    Row(
        "Too many gradients",
        """\
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        return input * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2, grad_output

x = torch.ones(2, requires_grad=True)
Double.apply(x).sum().backward()
""",
        """\
RuntimeError: function DoubleBackward returned an incorrect number of gradients (expected 1, \
got 2)
""",
    ),
    Row(
        "A gradient of the wrong shape",
        """\
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        return input * 2

    @staticmethod
    def backward(ctx, grad_output):
        return torch.ones(3)

x = torch.ones(2, requires_grad=True)
Double.apply(x).sum().backward()
""",
        """\
RuntimeError: Function DoubleBackward returned an invalid gradient at index 0 - got [3] but \
expected shape compatible with [2]
""",
    ),
    Row(
        "A gradient that broadcasting made is summed",
        """\
class AddRow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, matrix, row):
        return matrix + row

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output

m, r = torch.ones(3, 2, requires_grad=True), torch.ones(2, requires_grad=True)
AddRow.apply(m, r).sum().backward()
print(m.grad, r.grad)
""",
        """\
tensor([[1., 1.],
        [1., 1.],
        [1., 1.]]) tensor([3., 3.])
""",
    ),
    Row(
        "A gradient for what is no tensor",
        """\
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, factor):
        return input * factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output

x = torch.ones(2, requires_grad=True)
Scale.apply(x, 3).sum().backward()
""",
        """\
RuntimeError: function ScaleBackward returned a gradient different than None at position 2, but \
the corresponding forward input was not a Variable
""",
    ),
    Row(
        "A gradient that is no tensor",
        """\
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        return input * 2

    @staticmethod
    def backward(ctx, grad_output):
        return 2.0

x = torch.ones(2, requires_grad=True)
Double.apply(x).sum().backward()
""",
        """\
RuntimeError: expected Variable or None (got float)
""",
    ),
    Row(
        "A Function without `backward`, and one without `forward`",
        """\
class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        return input / 2

x = torch.ones(2, requires_grad=True)
try:
    Half.apply(x).sum().backward()
except NotImplementedError as error:
    print(error)
class Nothing(torch.autograd.Function):
    pass
Nothing.apply(x)
""",
        """\
You must implement either the backward or vjp method for your custom autograd.Function to use \
it with backward mode AD.
NotImplementedError: You must implement the forward function for custom autograd.Function.
""",
    ),
    Row(
        "`save_for_backward` takes tensors",
        """\
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, factor):
        ctx.save_for_backward(input, factor)
        return input * factor

Scale.apply(torch.ones(2, requires_grad=True), 3)
""",
        """\
TypeError: save_for_backward can only save variables, but argument 1 is of type int
""",
    ),
    Row(
        "Saved tensors that were written raise",
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

x = torch.ones(2, requires_grad=True)
h = x * 1
y = Square.apply(h)
h.add_(1)
y.sum().backward()
""",
        """\
RuntimeError: one of the variables needed for gradient computation has been modified by an \
inplace operation: [torch.FloatTensor [2]], which is output 0 of Add, is at version 1; expected \
version 0 instead. Hint: enable anomaly detection to find the operation that failed to compute \
its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).
""",
    ),
    Row(
        "`mark_dirty`",
        """\
class Increment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        input.add_(1)
        ctx.mark_dirty(input)
        return input

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 10

x = torch.ones(2, requires_grad=True)
h = x * 2
y = Increment.apply(h)
print(y is h, y, h._version)
y.sum().backward()
print(x.grad)
Increment.apply(x)
""",
        """\
True tensor([3., 3.], grad_fn=<IncrementBackward>) 2
tensor([20., 20.])
RuntimeError: a leaf Variable that requires grad has been used in an in-place operation.
""",
    ),
    Row(
        "`mark_dirty` of what is not returned",
        """\
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.mark_dirty(input)
        return input.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output

Wrong.apply(torch.ones(2, requires_grad=True) * 1)
""",
        """\
RuntimeError: Some elements marked as dirty during the forward method were not returned as \
output. The inputs that are modified inplace must all be outputs of the Function.
""",
    ),
    Row(
        "`mark_non_differentiable`",
        """\
class Sort(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        values, index = x.sort()
        ctx.mark_non_differentiable(index)
        ctx.save_for_backward(x, index)
        return values, index

    @staticmethod
    def backward(ctx, grad_values, grad_index):
        x, index = ctx.saved_tensors
        print(grad_index)
        grad_input = torch.zeros_like(x)
        grad_input.index_add_(0, index, grad_values)
        return grad_input

x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
values, index = Sort.apply(x)
print(values, index, index.requires_grad)
(values * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
print(x.grad)
""",
        """\
tensor([1., 2., 3.], grad_fn=<SortBackward>) tensor([1, 2, 0]) False
tensor([0, 0, 0])
tensor([100.,   1.,  10.])
""",
    ),
    Row(
        "`set_materialize_grads`",
        """\
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, materialize):
        ctx.set_materialize_grads(materialize)
        return x.clone(), x.clone()

    @staticmethod
    def backward(ctx, first, second):
        print(first, second)
        return first, None

x = torch.ones(2, requires_grad=True)
Two.apply(x, True)[0].sum().backward()
Two.apply(x, False)[0].sum().backward()
""",
        """\
tensor([1., 1.]) tensor([0., 0.])
tensor([1., 1.]) None
""",
    ),
    Row(
        "`once_differentiable`",
        """\
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return torch.from_numpy(3 * x.detach().numpy() ** 2) * grad_output

x = torch.ones(2, requires_grad=True)
g = torch.ones(2, requires_grad=True)
first, = torch.autograd.grad(Cube.apply(x), x, g, create_graph=True)
print(first.data)
first.sum().backward()
""",
        """\
tensor([3., 3.])
RuntimeError: trying to differentiate twice a function that was marked with @once_differentiable
""",
    ),
    Row(
        "Double backward through a custom Function",
        """\
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return 3 * x ** 2 * grad_output

x = torch.tensor([1.0, 2.0], requires_grad=True)
first, = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
second, = torch.autograd.grad(first.sum(), x, create_graph=True)
third, = torch.autograd.grad(second.sum(), x)
print(first.data, second.data, third)
""",
        """\
tensor([ 3., 12.]) tensor([ 6., 12.]) tensor([6., 6.])
""",
    ),
    Row(
        "Double backward through a saved output",
        """\
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        result, = ctx.saved_tensors
        return grad_output * result

x = torch.tensor([0.0, 1.0], dtype=torch.double, requires_grad=True)
print(torch.autograd.gradcheck(Exp.apply, x), torch.autograd.gradgradcheck(Exp.apply, x))
first, = torch.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
print(torch.autograd.grad(first.sum(), x))
""",
        """\
True True
(tensor([1.0000, 2.7183], dtype=torch.float64),)
""",
    ),
    Row(
        "A `backward` that is a Function of its own",
        """\
class MulBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, grad, a, b):
        ctx.save_for_backward(grad, a, b)
        return grad * b, grad * a

    @staticmethod
    def backward(ctx, gga, ggb):
        grad, a, b = ctx.saved_tensors
        return gga * b + ggb * a, ggb * grad, gga * grad

class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        return MulBackward.apply(grad, *ctx.saved_tensors)

torch.manual_seed(0)
a = torch.rand(3, dtype=torch.double, requires_grad=True)
b = torch.rand(3, dtype=torch.double, requires_grad=True)
print(torch.autograd.gradcheck(Mul.apply, (a, b)), torch.autograd.gradgradcheck(Mul.apply, (a, b)))
""",
        """\
True True
""",
    ),
    Row(
        "The graph of a Function",
        """\
class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, text):
        return a + b

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output, None

x = torch.ones(2, requires_grad=True)
y = Add.apply(x * 2, x, 'text')
print(y)
print([(node.name(), number) for node, number in y.grad_fn.next_functions], y.grad_fn.name())
""",
        """\
tensor([3., 3.], grad_fn=<AddBackward>)
[('MulBackward0', 0), ('torch::autograd::AccumulateGrad', 0)] AddBackward
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
        "Writing through a view of a recorded tensor rebases its history",
        """\
x = torch.ones(3, requires_grad=True)
y = x * 2
view = y[:2]
view.mul_(5)
print(y, view)
y.sum().backward()
print(x.grad)
""",
        """\
tensor([10., 10.,  2.], grad_fn=<CopySlices>) tensor([10., 10.], grad_fn=<AsStridedBackward0>)
tensor([10., 10.,  2.])
""",
    ),
    Row(
        "Writing the base renews the history of its views",
        """\
x = torch.ones(3, requires_grad=True)
y = x * 2
view = y[1:]
y.mul_(3)
print(view)
view.sum().backward()
print(x.grad)
""",
        """\
tensor([6., 6.], grad_fn=<AsStridedBackward0>)
tensor([0., 6., 6.])
""",
    ),
    Row(
        "A recorded value written into a tensor that was not",
        """\
x = torch.ones(2, requires_grad=True)
buffer = torch.zeros(4)
buffer[1:3] = x * 3
print(buffer)
buffer.sum().backward()
print(x.grad)
""",
        """\
tensor([0., 3., 3., 0.], grad_fn=<CopySlices>)
tensor([3., 3.])
""",
    ),
    Row(
        "Chains of views",
        """\
x = torch.arange(6.0, requires_grad=True)
y = x.clone().view(2, 3)
y.t()[0].zero_()
y.sum().backward()
print(y, x.grad)
""",
        """\
tensor([[0., 1., 2.],
        [0., 4., 5.]], grad_fn=<AsStridedBackward0>) tensor([0., 1., 1., 0., 1., 1.])
""",
    ),
    Row(
        "In place on a leaf that requires grad",
        """\
x = torch.ones(2, requires_grad=True)
x.add_(1)
""",
        """\
RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.
""",
    ),
    Row(
        "In place on a view of a leaf that requires grad",
        """\
x = torch.ones(2, requires_grad=True)
x[0].add_(1)
""",
        """\
RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
""",
    ),
    Row(
        "Assignment to a leaf that requires grad",
        """\
x = torch.ones(2, requires_grad=True)
x[0] = 1
""",
        """\
RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
""",
    ),
    Row(
        "In place on an output of `unbind`",
        """\
x = torch.ones(2, 2, requires_grad=True) * 1
first, second = x.unbind()
first.add_(1)
""",
        """\
RuntimeError: Output 0 of Unbind is a view and is being modified inplace. This view is the \
output of a function that returns multiple views. Such functions do not allow the output views \
to be modified inplace. You should replace the inplace operation by an out-of-place one.
""",
    ),
    Row(
        "In place on an output of `split`",
        """\
x = torch.ones(4, requires_grad=True) * 1
first, second = x.split(2)
first.mul_(2)
""",
        """\
RuntimeError: Output 0 of Split is a view and is being modified inplace. This view is the \
output of a function that returns multiple views. Such functions do not allow the output views \
to be modified inplace. You should replace the inplace operation by an out-of-place one.
""",
    ),
    Row(
        "In place on a view that was made under `no_grad`",
        """\
x = torch.ones(4, requires_grad=True) * 1
with torch.no_grad():
    view = x[:2]
view.mul_(2)
""",
        """\
RuntimeError: A view was created in no_grad mode and is being modified inplace with grad mode \
enabled. Given that this use case is ambiguous and error-prone, it is forbidden. You can \
clarify your code by moving both the view and the inplace either both inside the no_grad block \
(if you don't want the inplace to be tracked) or both outside (if you want the inplace to be \
tracked).
""",
    ),
    Row(
        "A saved operand that was written raises",
        """\
x = torch.ones(2, requires_grad=True)
y = x * 1
z = y * y
y.add_(1)
z.sum().backward()
""",
        """\
RuntimeError: one of the variables needed for gradient computation has been modified by an \
inplace operation: [torch.FloatTensor [2]], which is output 0 of Add, is at version 1; expected \
version 0 instead. Hint: enable anomaly detection to find the operation that failed to compute \
its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).
""",
    ),
    Row(
        "A result that was saved and written raises",
        """\
x = torch.ones(2, requires_grad=True)
y = x.exp()
y.add_(1)
y.sum().backward()
""",
        """\
RuntimeError: one of the variables needed for gradient computation has been modified by an \
inplace operation: [torch.FloatTensor [2]], which is output 0 of Exp, is at version 1; expected \
version 0 instead. Hint: enable anomaly detection to find the operation that failed to compute \
its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).
""",
    ),
    Row(
        "In place under `no_grad`",
        """\
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    x -= 0.5
    x[0] = 9
print(x, x.is_leaf)
""",
        """\
tensor([9.0000, 0.5000], requires_grad=True) True
""",
    ),
    Row(
        "`gradcheck` tells a wrong gradient from a right one",
        """\
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output

x = torch.tensor([2.0, 3.0], dtype=torch.double, requires_grad=True)
print(torch.autograd.gradcheck(lambda x: x * x, (x,), eps=1e-6, atol=1e-4))
print(torch.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False))
torch.autograd.gradcheck(Wrong.apply, (x,), eps=1e-6, atol=1e-4)
""",
        """\
True
False
GradcheckError: Jacobian mismatch for output 0 with respect to input 0,
numerical:tensor([[4.0000, 0.0000],
        [0.0000, 6.0000]], dtype=torch.float64)
analytical:tensor([[1., 0.],
        [0., 1.]], dtype=torch.float64)

""",
    ),
    Row(
        "`gradcheck` of several outputs names the one that is wrong",
        """\
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * y, x + y

    @staticmethod
    def backward(ctx, product, total):
        return total, total * 2

x = torch.tensor([2.0], dtype=torch.double, requires_grad=True)
y = torch.tensor([3.0], dtype=torch.double, requires_grad=True)
torch.autograd.gradcheck(Wrong.apply, (x, y))
""",
        """\
GradcheckError: Jacobian mismatch for output 0 with respect to input 0,
numerical:tensor([[3.0000]], dtype=torch.float64)
analytical:tensor([[0.]], dtype=torch.float64)

""",
    ),
    Row(
        "`gradgradcheck` finds a wrong second derivative",
        """\
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return grad_output * 3 * x.detach() ** 2

x = torch.tensor([2.0], dtype=torch.double, requires_grad=True)
print(torch.autograd.gradcheck(Wrong.apply, x))
torch.autograd.gradgradcheck(Wrong.apply, x, torch.ones_like(x, requires_grad=True))
""",
        """\
True
GradcheckError: Jacobian mismatch for output 0 with respect to input 0,
numerical:tensor([[12.0000]], dtype=torch.float64)
analytical:tensor([[0.]], dtype=torch.float64)

""",
    ),
    Row(
        "`gradcheck` without an input that requires grad",
        """\
torch.autograd.gradcheck(lambda x: x, torch.ones(2))
""",
        """\
ValueError: gradcheck expects at least one input tensor to require gradient, but none of them \
have requires_grad=True.
""",
    ),
    Row(
        "`gradcheck` warns of single precision",
        """\
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    torch.autograd.gradcheck(lambda x: x * 2, torch.ones(2, requires_grad=True), atol=0.1, rtol=0.1)
print(caught[0].message)
""",
        """\
Input #0 requires gradient and is not a double precision floating point or complex. This check \
will likely fail if all the inputs are not of double precision floating point or complex.\x20
""",
    ),
    Row(
        "`gradcheck` of a `backward` that is different each time",
        """\
class Random(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        Random.calls += 1
        return grad_output * (2 + 1e-7 * Random.calls)

Random.calls = 0
torch.autograd.gradcheck(Random.apply, torch.ones(1, dtype=torch.double, requires_grad=True))
""",
        """\
GradcheckError: Backward is not reentrant, i.e., running backward with same input and \
grad_output multiple times gives different values, although analytical gradient matches \
numerical gradient.The tolerance for nondeterminism was 0.0.

NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected.

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `nondet_tol=<tol>` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_nondet_tol=<tol>`.
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_nondet_tol=<tol>`

""",
    ),
    Row(
        "`gradcheck` of a `backward` that does not use the gradient it is given",
        """\
class Constant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return torch.full_like(grad_output, 2)

torch.autograd.gradcheck(Constant.apply, torch.ones(1, dtype=torch.double, requires_grad=True))
""",
        """\
GradcheckError: backward not multiplied by grad_output
""",
    ),
    Row(
        "`gradcheck` of a `backward` that fails on undefined gradients",
        """\
class Fragile(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2

torch.autograd.gradcheck(Fragile.apply, torch.ones(1, dtype=torch.double, requires_grad=True))
""",
        """\
TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'
""",
    ),
    Row(
        "`gradcheck` of a function whose output needs no grad",
        """\
x = torch.ones(1, dtype=torch.double, requires_grad=True)
print(torch.autograd.gradcheck(lambda x: (x * 0).detach(), x))
torch.autograd.gradcheck(lambda x: (x * 2).detach(), x)
""",
        """\
True
GradcheckError: Numerical gradient for function expected to be zero
""",
    ),
    Row(
        "`gradcheck` of an input with overlapping elements",
        """\
x = torch.ones(1, dtype=torch.double, requires_grad=True).expand(3)
torch.autograd.gradcheck(lambda x: x * 2, x)
""",
        """\
RuntimeError: The 0th input has a dimension with stride 0. gradcheck only supports inputs that \
are non-overlapping to be able to compute the numerical gradients correctly. You should call \
.contiguous on the input before passing it to gradcheck.
""",
    ),
    Row(
        "`gradcheck` of a `backward` that gives something for nothing",
        """\
class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, first, second):
        if first is None and second is None:
            return None
        if first is None:
            return second * 3 + 1
        if second is None:
            return first * 2
        return first * 2 + second * 3

torch.autograd.gradcheck(Leaky.apply, torch.ones(1, dtype=torch.double, requires_grad=True))
""",
        """\
GradcheckError: Jacobian mismatch for output 1 with respect to input 0,
numerical:tensor([[3.0000]], dtype=torch.float64)
analytical:tensor([[4.]], dtype=torch.float64)

""",
    ),
    Row(
        "`gradcheck` of a failing `backward` on undefined gradients",
        """\
class Fragile(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, first, second):
        if first is None or second is None:
            raise RuntimeError('no gradient')
        return first * 2 + second * 3

torch.autograd.gradcheck(Fragile.apply, torch.ones(1, dtype=torch.double, requires_grad=True))
""",
        """\
RuntimeError: no gradient
""",
    ),
    Row(
        "`mark_dirty` and `save_for_backward` of one tensor",
        """\
class Custom(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        print(x)
        return g * 2

x = torch.ones(2, requires_grad=True)
y = Custom.apply(x * 3)
print(y)
y.sum().backward()
print(x.grad)
""",
        """\
tensor([6., 6.], grad_fn=<CustomBackward>)
tensor([6., 6.], grad_fn=<CustomBackward>)
tensor([6., 6.])
""",
    ),
    Row(
        "`mark_dirty` of a view",
        """\
class Custom(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2

x = torch.ones(4, requires_grad=True)
h = x * 3
v = h[:2]
y = Custom.apply(v)
print(y, v, h)
h.sum().backward()
print(x.grad)
""",
        """\
tensor([6., 6.], grad_fn=<AsStridedBackward0>) tensor([6., 6.], grad_fn=<AsStridedBackward0>) \
tensor([6., 6., 3., 3.], grad_fn=<CopySlices>)
tensor([6., 6., 3., 3.])
""",
    ),
    Row(
        "A view that a Function returns may not be written",
        """\
class Custom(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, g):
        return g.view(2, 2)

x = torch.ones(2, 2, requires_grad=True)
y = Custom.apply(x * 1)
print(y, y._is_view())
y.sum().backward()
print(x.grad)
y = Custom.apply(x * 1)
y.add_(1)
""",
        """\
tensor([1., 1., 1., 1.], grad_fn=<CustomBackward>) True
tensor([[1., 1.],
        [1., 1.]])
RuntimeError: Output 0 of Custom is a view and is being modified inplace. This view was created \
inside a custom Function (or because an input was returned as-is) and the autograd logic to \
handle view+inplace would override the custom backward associated with the custom Function, \
leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the \
output of the custom Function.
""",
    ),
    Row(
        "Several views that a Function returns may not be written",
        """\
class Custom(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[:1], x[1:]

    @staticmethod
    def backward(ctx, g, h):
        return torch.cat([g, h])

x = torch.ones(2, requires_grad=True)
a, b = Custom.apply(x * 1)
a.add_(1)
""",
        """\
RuntimeError: Output 0 of Custom is a view and is being modified inplace. This view is the \
output of a function that returns multiple views. Such functions do not allow the output views \
to be modified inplace. You should replace the inplace operation by an out-of-place one.
""",
    ),
    Row(
        "An input that is returned as it is",
        """\
class Custom(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 3

x = torch.ones(2, requires_grad=True)
y = Custom.apply(x)
print(y is x, y, y.data_ptr() == x.data_ptr())
y.sum().backward()
print(x.grad)
y.add_(1)
""",
        """\
False tensor([1., 1.], grad_fn=<CustomBackward>) True
tensor([3., 3.])
RuntimeError: Output 0 of Custom is a view and is being modified inplace. This view was created \
inside a custom Function (or because an input was returned as-is) and the autograd logic to \
handle view+inplace would override the custom backward associated with the custom Function, \
leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the \
output of the custom Function.
""",
    ),
    Row(
        "An input that is returned as it is, under `no_grad`",
        """\
class Custom(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 3

x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    y = Custom.apply(x)
print(y is x, y.requires_grad)
""",
        """\
False False
""",
    ),
    Row(
        "An output of integers has no gradient",
        """\
class Custom(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.long(), x * 1

    @staticmethod
    def backward(ctx, a, b):
        print(a, b)
        return b

x = torch.ones(2, requires_grad=True)
a, b = Custom.apply(x)
print(a, b)
b.sum().backward()
""",
        """\
tensor([1, 1]) tensor([1., 1.], grad_fn=<CustomBackward>)
tensor([0, 0]) tensor([1., 1.])
""",
    ),
    Row(
        "Hooks on the node of a Function",
        """\
class Custom(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, b):
        return b * 2

x = torch.ones(2, requires_grad=True)
y = Custom.apply(x)
y.grad_fn.register_hook(lambda gi, go: print(gi, go))
y.grad_fn.register_prehook(lambda go: print(go))
y.sum().backward()
""",
        """\
(tensor([1., 1.]),)
(tensor([2., 2.]),) (tensor([1., 1.]),)
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
    Row(
        "`backward()` inside a `backward`",
        """\
class Custom(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        with torch.enable_grad():
            y = x.detach().requires_grad_()
            (y * y).sum().backward()
        return g * y.grad

x = torch.ones(2, requires_grad=True)
Custom.apply(x).sum().backward()
print(x.grad)
""",
        """\
tensor([2., 2.])
""",
    ),
    Row(
        "`vjp` is another name of `backward`",
        """\
class Custom(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def vjp(ctx, g):
        return g * 2

x = torch.ones(2, requires_grad=True)
Custom.apply(x).sum().backward()
print(x.grad)
""",
        """\
tensor([2., 2.])
""",
    ),
    Row(
        "Assignments by index, by mask and from other elements",
        """\
a = torch.ones(3, requires_grad=True)
b = a.clone()
b[0] = 5
b[1] = a[2] * 3
b[b > 4] = 0
b.sum().backward()
print(b, a.grad)
""",
        """\
tensor([0., 3., 1.], grad_fn=<IndexPutBackward0>) tensor([0., 0., 4.])
""",
    ),
    Row(
        "Writes to `data` are not seen",
        """\
a = torch.ones(3, requires_grad=True)
b = a * 2
c = b.data
c.zero_()
b.pow(2).sum().backward()
print(a.grad)
""",
        """\
tensor([0., 0., 0.])
""",
    ),
    Row(
        "`t_()` of a recorded tensor",
        """\
a = torch.ones(2, 2, requires_grad=True)
b = a * 1
b.t_()
b.mul_(torch.tensor([1.0, 2.0]))
print(b)
b.sum().backward()
print(a.grad)
""",
        """\
tensor([[1., 2.],
        [1., 2.]], grad_fn=<MulBackward0>)
tensor([[1., 1.],
        [2., 2.]])
""",
    ),
    Row(
        "`copy_` of a recorded tensor",
        """\
a = torch.ones(2, requires_grad=True)
b = torch.zeros(2)
b.copy_(a)
b.mul_(3)
print(b)
b.sum().backward()
print(a.grad)
""",
        """\
tensor([3., 3.], grad_fn=<MulBackward0>)
tensor([3., 3.])
""",
    ),
    Row(
        "Writing a view of a view",
        """\
x = torch.ones(3, requires_grad=True)
w = x * 1
v1 = w[:2]; v2 = v1[1:]
v2.fill_(7)
w.sum().backward()
print(w, v1, v2, x.grad)
""",
        """\
tensor([1., 7., 1.], grad_fn=<CopySlices>) tensor([1., 7.], grad_fn=<AsStridedBackward0>) \
tensor([7.], grad_fn=<AsStridedBackward0>) tensor([1., 0., 1.])
""",
    ),
    Row(
        "`retain_grad`",
        """\
x = torch.ones(2, requires_grad=True)
y = x * 2
y.retain_grad()
z = (y * y).sum()
z.backward()
print(y.grad, x.grad, y.retains_grad)
""",
        """\
tensor([4., 4.]) tensor([8., 8.]) True
""",
    ),
    Row(
        "`register_post_accumulate_grad_hook`",
        """\
x = torch.ones(2, requires_grad=True)
x.register_post_accumulate_grad_hook(lambda t: print(t.grad))
(x * 2).sum().backward()
(x * 2).register_post_accumulate_grad_hook(print)
""",
        """\
tensor([2., 2.])
RuntimeError: post accumulate grad hooks cannot be registered on non-leaf tensors
""",
    ),
    Row(
        "A Function that runs the user's own kernels",
        """\
from numba import njit

@njit
def running_maximum(x, result, source):
    for row in range(x.shape[0]):
        best = 0
        for column in range(x.shape[1]):
            if x[row, column] > x[row, best]:
                best = column
            result[row, column] = x[row, best]
            source[row, column] = best

@njit
def add_to_source(grad_output, source, grad_input):
    for row in range(source.shape[0]):
        for column in range(source.shape[1]):
            grad_input[row, source[row, column]] += grad_output[row, column]

class RunningMaximum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result, source = torch.empty_like(x), torch.empty(x.shape, dtype=torch.long)
        running_maximum(x.detach().numpy(), result.numpy(), source.numpy())
        ctx.save_for_backward(source)
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        source, = ctx.saved_tensors
        grad_input = torch.zeros_like(grad_output)
        add_to_source(grad_output.numpy(), source.numpy(), grad_input.numpy())
        return grad_input

x = torch.tensor([[1.0, 3, 2], [5, 4, 6]], dtype=torch.double, requires_grad=True)
print(RunningMaximum.apply(x))
print(torch.autograd.gradcheck(RunningMaximum.apply, (x,)))
RunningMaximum.apply(x).backward(torch.ones(2, 3, dtype=torch.double))
print(x.grad)
""",
        """\
tensor([[1., 3., 3.],
        [5., 5., 6.]], dtype=torch.float64, grad_fn=<RunningMaximumBackward>)
True
tensor([[1., 2., 0.],
        [2., 0., 1.]], dtype=torch.float64)
""",
    ),
    Row(
        "`gradgradcheck` draws the gradients of the outputs, the same as torch",
        """\
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 3 * x.detach() ** 2

torch.manual_seed(3)
x = torch.randn(2, dtype=torch.double, requires_grad=True)
torch.autograd.gradgradcheck(Wrong.apply, x, gen_non_contig_grad_outputs=True)
""",
        """\
GradcheckError: Jacobian mismatch for output 0 with respect to input 0,
numerical:tensor([[-3.1335,  0.0000],
        [ 0.0000,  0.2271]], dtype=torch.float64)
analytical:tensor([[0., 0.],
        [0., 0.]], dtype=torch.float64)

""",
    ),
    Row(
        "`@njit` functions take a Tensor",
        """\
from numba import njit

@njit
def soft_threshold(x, by, result):
    for i in range(len(x)):
        size = max(abs(x[i]) - by, 0.0)
        result[i] = size if x[i] > 0 else -size

class SoftThreshold(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        result = torch.empty_like(x)
        soft_threshold(x.detach(), by, result)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        result, = ctx.saved_tensors
        return grad_output * (result != 0), None

x = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)
y = SoftThreshold.apply(x, 1.0)
y.sum().backward()
print(y, x.grad)
""",
        """\
tensor([-1.,  0.,  2.], grad_fn=<SoftThresholdBackward>) tensor([1., 0., 1.])
""",
        REFUSES,
    ),
    Row(
        "`once_differentiable` is a constant where no gradient of an output requires grad",
        """\
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return 3 * x ** 2 * grad_output

x = torch.ones(2, requires_grad=True)
first, = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
(first * x).sum().backward()
print(x.grad)
""",
        """\
tensor([3., 3.])
""",
    ),
    Row(
        "What a node saved, and hooks that store it elsewhere",
        """\
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x.exp()
print(y.grad_fn._saved_self is x, y.grad_fn._saved_other)
packed = []
def pack(tensor):
    packed.append(tensor.tolist())
    return len(packed) - 1
with torch.autograd.graph.saved_tensors_hooks(pack, lambda k: torch.tensor(packed[k])):
    z = x.exp()
z.sum().backward()
print(len(packed), x.grad)
y.sum().backward()
y.grad_fn._saved_self
""",
        """\
True tensor([2.7183, 7.3891], grad_fn=<ExpBackward0>)
1 tensor([2.7183, 7.3891])
RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors \
after they have already been freed). Saved intermediate values of the graph are freed when you \
call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the \
graph a second time or if you need to access saved tensors after calling backward.
""",
    ),
    Row(
        "`inference_mode` makes inference tensors, which autograd refuses",
        """\
with torch.inference_mode():
    x = torch.ones(2)
print(x.is_inference(), x.clone().is_inference(), (x + 1).is_inference())
x.add_(1)
""",
        """\
True False False
RuntimeError: Inplace update to inference tensor outside InferenceMode is not allowed.You can make \
a clone to get a normal tensor before doing inplace update.See \
https://github.com/pytorch/rfcs/pull/17 for more details.
""",
    ),
    Row(
        "`GradientEdge`: gradients with respect to a value that was overwritten",
        """\
x = torch.tensor([1.0, 2.0], requires_grad=True).clone()
old = torch.autograd.graph.get_gradient_edge(x)
x *= 3
print(torch.autograd.grad(x.sum(), (old, x)))
""",
        """\
(tensor([3., 3.]), tensor([1., 1.]))
""",
    ),
]
