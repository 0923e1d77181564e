"""A two-layer network as a ``Module`` of its own: the form for models that are no mere sequence.

Its constructor makes the layers, its ``forward`` says what is computed with them, in any Python.
Run it with ``python examples/two_layer_module.py [STEPS]``.
"""

import sys

import numbagrad as torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 500


class TwoLayerNet(torch.nn.Module):
    """Two linear layers with a ReLU between them."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.linear1 = torch.nn.Linear(inputs, hidden)
        self.linear2 = torch.nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.linear2(self.linear1(x).clamp(min=0))


torch.manual_seed(0)
x = torch.randn(64, 1000)
y = torch.randn(64, 10)

model = TwoLayerNet(1000, 100, 10)
loss_function = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

for step in range(steps):
    loss = loss_function(model(x), y)
    print(step, loss.item())

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
