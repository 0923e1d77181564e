"""No endless loop where memory runs out: CPython may allocate where it enters a handler.

In a function with exception handlers beyond instruction 256 CPython (3.11 and later) needs an int
for the number of the instruction, and tries for ever to enter the handler if there is no memory for
it. The functions of an eager step have their handlers before that.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType

from allocation_faults import called

import numbagrad as torch
from numbagrad.nn import functional as F


def with_late_handlers(code: CodeType) -> bool:
    """Whether a handler, or what a handler runs, lies beyond instruction 256."""
    if sys.version_info < (3, 11):
        return False  # handlers need no memory
    entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    return any(entry.lasti and entry.end // 2 > 256 for entry in entries)


def eager_step() -> None:
    """Operators of every kind that an eager step is made of."""
    x, w = torch.ones(4, 3), torch.ones(5, 3, requires_grad=True)
    bias = torch.zeros(5, requires_grad=True)
    y = F.linear(x, w, bias).relu() * 2 - w[0].sum() + w.mean()
    z = torch.cat([y[1:], y[:1, :]]).view(5, 4).t() @ w
    w.detach()[0].mul_(2)
    z.softmax(-1).log().sum(1).amax().sqrt().unsqueeze(0)
    with torch.no_grad():
        w.add_(bias.sum()).clone()


def test_handlers_of_an_eager_step_lie_early() -> None:
    for _ in range(2):
        eager_step()
    ours = [code for code in called(eager_step)[1] if "numbagrad" in code.co_filename]
    late = {code.co_name for code in ours if with_late_handlers(code)}
    assert not late
