"""What the ``backward`` of a Function returns, which gradients it has, and its own gradient.

Rows of the table in ``compatibility_table.py``, section "The gradient of a Function".
"""

from compatibility_row import Row

ROWS = [
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
]
