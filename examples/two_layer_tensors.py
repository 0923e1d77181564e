"""A two-layer network with tensors alone: forward and backward written out by hand.

The first of seven forms of one program; ``two_layer_autograd.py`` is the next. Apart from the
import, each is a script for torch. Run it with ``python examples/two_layer_tensors.py [STEPS]``.
"""

import sys

import numbagrad as torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 500
learning_rate = 1e-6

torch.manual_seed(0)
x = torch.randn(64, 1000)
y = torch.randn(64, 10)
w1 = torch.randn(1000, 100)
w2 = torch.randn(100, 10)

for step in range(steps):
    # Forward: a hidden layer with a ReLU, and the sum of the squared errors.
    hidden = x.mm(w1)
    activated = hidden.clamp(min=0)
    prediction = activated.mm(w2)
    loss = (prediction - y).pow(2).sum().item()
    print(step, loss)

    # Backward: the chain rule, from the loss back to the weights.
    grad_prediction = 2.0 * (prediction - y)
    grad_w2 = activated.t().mm(grad_prediction)
    grad_hidden = grad_prediction.mm(w2.t())
    grad_hidden[hidden < 0] = 0
    grad_w1 = x.t().mm(grad_hidden)

    w1 -= learning_rate * grad_w1
    w2 -= learning_rate * grad_w2
