"""Lines that type checkers refuse, each but for the imports."""

import numbagrad as torch
from numbagrad import nn, optim

torch.nosuch(3)
nn.Liner(3, 4)
optim.AdamX([])
nn.functional.relux(torch.ones(3))
torch.utils.data.DataLoder([])
torch.autograd.nosuch
torch.ones(3).nosuch()
torch.linalg.nosuch(torch.ones(3, 3))
torch.special.nosuch
torch.fft.nosuch
torch.cuda.nosuch()
net: int = nn.Linear(3, 4)
nn.Linear("three", 4)
nn.Linear(3, 4, byas=True)
size: str = torch.ones(3).shape
exponential: int = torch.exp(torch.ones(3))
