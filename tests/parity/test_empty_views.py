"""Views without elements against torch: strides, the place in the memory, and ``as_strided``."""

import numpy as np
import pytest
import torch

import numbagrad

#: Each makes a view without elements of a tensor of shape (4, 5).
VIEWS = {
    "slice": lambda t, x: x[2:2],
    "slice behind the end": lambda t, x: x[10:],
    "slices": lambda t, x: x[2:2, 1:],
    "slice of columns": lambda t, x: x[:, 3:3],
    "slice of a transpose": lambda t, x: x.t()[2:2],
    "transpose of a slice": lambda t, x: x[2:2].t(),
    "steps": lambda t, x: x[2:2, ::2],
    "slice of steps": lambda t, x: x[::2][1:1],
    "slice of a slice": lambda t, x: x[1:][1:1],
    "columns, then rows": lambda t, x: x[:, 1:][2:2],
    "narrow": lambda t, x: x.narrow(0, 2, 0),
    "element of columns": lambda t, x: x[:, 2:2][1],
    "split": lambda t, x: x.split([0, 4, 0])[2],
    "tensor_split": lambda t, x: t.tensor_split(x, 6)[5],
    "hsplit": lambda t, x: x.hsplit([2, 2])[1],
    "unbind": lambda t, x: x[:, 2:2].unbind(0)[1],
    "expand": lambda t, x: x[2:2][:, :1].expand(0, 4),
    "view": lambda t, x: x[2:2].view(5, 0),
    "reshape": lambda t, x: x[2:2].reshape(5, 0),
    "flatten": lambda t, x: x[2:2].flatten(),
    "squeeze": lambda t, x: x[2:2].unsqueeze(1).squeeze(1),
    "permute": lambda t, x: x[2:2].permute(1, 0),
    "detach": lambda t, x: x[2:2].detach(),
    "diagonal": lambda t, x: x[2:2].diagonal(),
    "diagonal beside it": lambda t, x: x.diagonal(5),
    "unfold": lambda t, x: x[1:1].unfold(1, 2, 2),
    "as_strided": lambda t, x: x.as_strided((0, 3), (7, 2), 4),
    "as_strided of a slice": lambda t, x: x[2:2].as_strided((0, 2), (1, 1)),
    "view_as_real": lambda t, x: t.view_as_real(t.complex(x, x)[2:2]),
    "imaginary part": lambda t, x: t.complex(x, x)[2:2].imag,
    "contiguous": lambda t, x: x.t()[2:2].contiguous(),
    "all": lambda t, x: x[:0],
    "new": lambda t, x: t.empty(0, 3),
}


def seen(library, make, requires_grad):
    x = library.arange(20.0).reshape(4, 5).requires_grad_(requires_grad)
    view = make(library, x)
    found = [tuple(view.shape), view.stride(), view.storage_offset(), view.is_contiguous()]
    try:
        around = view.as_strided((2,), (1,))
    except RuntimeError as error:
        return [*found, type(error)]
    if requires_grad and around.requires_grad:
        around.sum().backward()
        found.append(None if x.grad is None else x.grad.tolist())
    return [*found, around.tolist()]


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_without_elements_knows_its_position(name, requires_grad):
    make = VIEWS[name]
    for _ in range(2):
        assert seen(numbagrad, make, requires_grad) == seen(torch, make, requires_grad)


def test_writes_around_a_view_without_elements():
    for library in (torch, numbagrad):
        x = library.zeros(4, 5)
        x[3:3, 2:].as_strided((2,), (1,)).fill_(1.0)
        assert np.flatnonzero(x.numpy()).tolist() == [17, 18]
