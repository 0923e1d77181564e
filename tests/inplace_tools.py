"""What the tests of writes in place share."""

from __future__ import annotations

from typing import Any

import numbagrad as torch


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def total(tensor: Any, *weights: float) -> None:
    """Backward from the weighted sum of a tensor."""
    (tensor * torch.tensor(list(weights), dtype=torch.float64)).sum().backward()
