"""Calls, arguments and whole programs as 2017 wrote them.

Rows of the table in ``compatibility_table.py``, section "Programs of 2017".
"""

from compatibility_row import DIFFERS, REFUSES, Row

ROWS = [
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
]
