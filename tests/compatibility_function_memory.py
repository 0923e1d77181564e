"""What Functions save, write, return as it is, and compute with kernels of users.

Rows of the table in ``compatibility_table.py``, section "What a Function saves and writes".
"""

from compatibility_row import REFUSES, Row

ROWS = [
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
]
