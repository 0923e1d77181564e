"""A two-layer network from ``nn``, trained by an optimiser of ``optim``.

The last thing that was written by hand in ``two_layer_nn.py``, the update, is the optimiser's. Run
it with ``python examples/two_layer_optim.py [STEPS]``.
"""

import sys

import numbagrad as torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 500

torch.manual_seed(0)
x = torch.randn(64, 1000)
y = torch.randn(64, 10)

model = torch.nn.Sequential(
    torch.nn.Linear(1000, 100),
    torch.nn.ReLU(),
    torch.nn.Linear(100, 10),
)
loss_function = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

for step in range(steps):
    loss = loss_function(model(x), y)
    print(step, loss.item())

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
