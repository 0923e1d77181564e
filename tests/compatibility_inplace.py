"""Writes in place, through views, and the histories that follow them.

Rows of the table in ``compatibility_table.py``, section "Writing in place".
"""

from compatibility_row import Row

ROWS = [
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
        "A view made in `no_grad`, once its memory was written",
        """\
a = torch.ones(2, requires_grad=True) * 1
with torch.no_grad():
    b = a[:1]
print(b, b.is_leaf)
a += 1
print(b)
try:
    b.grad_fn
except RuntimeError as error:
    print(str(error)[:84])
""",
        """\
tensor([1.], requires_grad=True) True
tensor([2.], grad_fn=<Invalid>)
A view was created in no_grad mode and its base or another view of its base has been
""",
    ),
    Row(
        "`_foreach_*`: an operator for each Tensor of a list",
        """\
parameters = [torch.ones(2), torch.arange(3.0)]
steps = [torch.tensor([1.0, 2.0]), torch.ones(3)]
torch._foreach_add_(parameters, steps, alpha=-0.5)
print(parameters)
print(torch._foreach_norm(parameters), torch._foreach_mul(parameters, [2, 0.5]))
torch._foreach_zero_(parameters)
print(parameters)
""",
        """\
[tensor([0.5000, 0.0000]), tensor([-0.5000,  0.5000,  1.5000])]
(tensor(0.5000), tensor(1.6583)) (tensor([1., 0.]), tensor([-0.2500,  0.2500,  0.7500]))
[tensor([0., 0.]), tensor([0., 0., 0.])]
""",
    ),
]
