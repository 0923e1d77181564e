"""A two-layer network from ``nn``: layers hold the weights, a loss module measures the error.

The weights are still updated by hand, which ``two_layer_optim.py`` leaves to an optimiser. Run it
with ``python examples/two_layer_nn.py [STEPS]``.
"""

import sys

import numbagrad as torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 500
learning_rate = 1e-4

torch.manual_seed(0)
x = torch.randn(64, 1000)
y = torch.randn(64, 10)

model = torch.nn.Sequential(
    torch.nn.Linear(1000, 100),
    torch.nn.ReLU(),
    torch.nn.Linear(100, 10),
)
loss_function = torch.nn.MSELoss(reduction="sum")

for step in range(steps):
    loss = loss_function(model(x), y)
    print(step, loss.item())

    model.zero_grad()
    loss.backward()

    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= learning_rate * parameter.grad
