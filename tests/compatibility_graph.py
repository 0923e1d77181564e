"""Tensors and nodes of a graph: gradients kept, hooks, edges, inference.

Rows of the table in ``compatibility_table.py``, section "Tensors and nodes of a graph".
"""

from compatibility_row import Row

ROWS = [
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
    Row(
        "Subclasses of Tensor, and `__torch_function__`",
        """\
class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print(func.__name__, end=' ')
        return super().__torch_function__(func, types, args, kwargs)

w = torch.tensor([1.0, 2.0], requires_grad=True)
x = w.as_subclass(Logged)
y = torch.exp(x * 2).sum()
y.backward()
print(type(y).__name__, type(x[0]).__name__, w.grad)

class Count(torch.overrides.TorchFunctionMode):
    calls = 0
    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls += 1
        return func(*args, **(kwargs or {}))

with Count() as mode:
    torch.nn.functional.relu(torch.ones(2) - 1).sum()
print(mode.calls)
""",
        """\
mul exp sum backward __getitem__ Logged Logged tensor([ 14.7781, 109.1963])
4
""",
    ),
]
