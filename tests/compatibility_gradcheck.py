"""Checks of gradients: what they find wrong, and how they say it.

Rows of the table in ``compatibility_table.py``, section "Checks of gradients".
"""

from compatibility_row import Row

ROWS = [
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
]
