"""A two-layer network as it was written in 2017, with ``Variable`` and a ``Function`` of that time.

Today's torch refuses this program; here it runs, with the numbers of ``two_layer_autograd.py``. New
code has static methods, as in ``two_layer_net.py``. Run it with
``python examples/two_layer_legacy_function.py [STEPS]``.
"""

import sys

import numbagrad as torch
from numbagrad.autograd import Variable

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 500
learning_rate = 1e-6
dtype = torch.FloatTensor  # or torch.cuda.FloatTensor, once there is a GPU


class MyReLU(torch.autograd.Function):
    """max(x, 0); an instance is one call, and keeps what its backward needs."""

    def forward(self, input):
        self.save_for_backward(input)
        return input.clamp(min=0)

    def backward(self, grad_output):
        (input,) = self.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


torch.manual_seed(0)
x = Variable(torch.randn(64, 1000).type(dtype), requires_grad=False)
y = Variable(torch.randn(64, 10).type(dtype), requires_grad=False)
w1 = Variable(torch.randn(1000, 100).type(dtype), requires_grad=True)
w2 = Variable(torch.randn(100, 10).type(dtype), requires_grad=True)

for step in range(steps):
    relu = MyReLU()
    prediction = relu(x.mm(w1)).mm(w2)
    loss = (prediction - y).pow(2).sum()
    print(step, loss.data[0])

    loss.backward()

    w1.data -= learning_rate * w1.grad.data
    w2.data -= learning_rate * w2.grad.data
    w1.grad.data.zero_()
    w2.grad.data.zero_()
