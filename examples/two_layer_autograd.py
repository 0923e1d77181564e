"""A two-layer network with autograd: the forward is recorded, ``backward()`` does the rest.

The same program as ``two_layer_tensors.py``, with the same numbers, but without gradients written
by hand. Run it with ``python examples/two_layer_autograd.py [STEPS]``.
"""

import sys

import numbagrad as torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 500
learning_rate = 1e-6

torch.manual_seed(0)
x = torch.randn(64, 1000)
y = torch.randn(64, 10)
w1 = torch.randn(1000, 100, requires_grad=True)
w2 = torch.randn(100, 10, requires_grad=True)

for step in range(steps):
    prediction = x.mm(w1).clamp(min=0).mm(w2)
    loss = (prediction - y).pow(2).sum()
    print(step, loss.item())

    # Gradients of the loss for w1 and w2 are added to w1.grad and w2.grad.
    loss.backward()

    # The update is no part of the function that is differentiated, so it is not recorded.
    with torch.no_grad():
        w1 -= learning_rate * w1.grad
        w2 -= learning_rate * w2.grad
        w1.grad.zero_()
        w2.grad.zero_()
