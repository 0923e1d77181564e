"""The device ``meta``: shapes, strides and dtypes are those of the CPU, and there are no elements.

The cases are those of the operator table. What values decide raises torch's error there.
"""

from __future__ import annotations

import copy
import pickle

import pytest
from device_cases import by_name
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES

import numbagrad as torch
from numbagrad import nn


def forms(entry, device, dtype):
    """Shapes, strides and dtypes of results and of gradients on a device."""
    inputs = [torch.tensor(x).to(device) for x in entry.draw(dtype)]
    inputs = [x.requires_grad_(entry.differentiable and x.is_floating_point()) for x in inputs]
    with torch.device(device):
        made = as_tuple(entry.call(torch, *inputs))
    made = [x for x in made if isinstance(x, torch.Tensor)]
    roots = [x for x in made if x.requires_grad]
    leaves = [x for x in inputs if x.requires_grad]
    if roots:
        weights = [torch.ones_like(x) for x in roots]
        made += torch.autograd.grad(roots, leaves, weights, allow_unused=True)
    assert {x.device.type for x in made if x is not None} <= {device}
    return [None if x is None else (x.shape, x.stride(), x.dtype) for x in made]


#: Entries whose results have as many elements as values decide, or whose steps values decide.
BY_VALUES = {
    "argwhere", "bincount", "getitem-mask", "linalg_eig", "linalg_lstsq-residuals",
    "masked_select", "nonzero", "segment_reduce",
}  # fmt: skip


@pytest.mark.parametrize("entry", [*POINTWISE_ENTRIES[::16], *ENTRIES[::6]], ids=by_name)
def test_forms_of_operators_and_of_their_gradients(entry):
    """A sixth of the table, as one rule plans all of a family."""
    dtype = next(x for x in ("float32", "float64", "int64", "bool") if entry.admits(x))
    if entry.name in BY_VALUES:
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            forms(entry, "meta", dtype)
    else:
        assert forms(entry, "meta", dtype) == forms(entry, "cpu", dtype)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum().item(), lambda x: x.tolist(), lambda x: x.cpu(), lambda x: x.unique(),
        lambda x: x[x > 0], lambda x: x.nonzero(), lambda x: bool(x.any()),
        lambda x: torch.zeros(2, 3).copy_(x), lambda x: x.int().flatten().bincount(),
        lambda x: nn.Linear(2, 3, device="meta").to("cpu"),
    ],
)  # fmt: skip
def test_what_values_decide_raises(call):
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        call(torch.empty(2, 3, device="meta"))


def test_tensors_take_no_memory():
    """More elements than any machine has."""
    x = torch.zeros(1 << 20, 1 << 20, device="meta")
    weight = torch.empty(1 << 20, 3, device="meta", requires_grad=True)
    (x @ weight).relu().sum().backward()
    assert weight.grad.shape == weight.shape
    assert weight.grad.is_meta
    assert x.data_ptr() == 0
    assert x.get_device() == -1
    assert x.type() == "torch.meta.FloatTensor"
    assert x.untyped_storage().device == torch.device("meta")


def test_text():
    x = torch.empty(2, 3, device="meta")
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(x.long()) == "tensor(..., device='meta', size=(2, 3), dtype=torch.int64)"
    assert repr(x.requires_grad_()).endswith("size=(2, 3), requires_grad=True)")


def test_a_module_is_made_there_and_gets_memory_later():
    with torch.device("meta"):
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 2))
    images = torch.empty(5, 3, 8, 8, device="meta")
    assert net(images).shape == (5, 2)
    made = copy.deepcopy(net).to_empty(device="cpu")
    made.load_state_dict(
        {k: torch.ones(v.shape, dtype=v.dtype) for k, v in net.state_dict().items()}
    )
    assert made(torch.zeros(5, 3, 8, 8)).shape == (5, 2)
    state = {k: torch.ones(v.shape, dtype=v.dtype) for k, v in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert net(torch.zeros(5, 3, 8, 8)).tolist() == made(torch.zeros(5, 3, 8, 8)).tolist()


def test_files_and_pickles(tmp_path):
    x = torch.empty(2, 3, device="meta").t()
    path = tmp_path / "x.pt"
    torch.save({"x": x, "p": nn.Parameter(x)}, path)
    for made in (*torch.load(path).values(), pickle.loads(pickle.dumps(x))):
        assert made.is_meta
        assert (made.shape, made.stride(), made.dtype) == (x.shape, x.stride(), x.dtype)
    torch.save(torch.ones(2), path)
    assert torch.load(path, map_location="meta").is_meta


def test_pickles_of_parameters_keep_class_and_attributes():
    for values in (torch.empty(3, device="meta"), torch.empty(2, 3, device="meta").t()):
        made = nn.Parameter(values)
        made.rank = 2
        again = pickle.loads(pickle.dumps(made))
        assert again.is_meta and type(again) is nn.Parameter and again.requires_grad
        assert again.rank == 2 and again.shape == values.shape


def test_devices_do_not_mix():
    with pytest.raises(RuntimeError, match="found at least two devices, meta and cpu"):
        torch.empty(2, device="meta") + torch.ones(2)
    assert (torch.empty(2, device="meta") + torch.tensor(2.0)).is_meta


def test_multinomial_has_no_weights_to_refuse():
    weights = torch.empty(2, 3, device="meta")
    for drawn in (torch.multinomial(weights, 2), torch.multinomial(weights, 2, True)):
        assert drawn.is_meta and drawn.shape == (2, 2) and drawn.dtype == torch.int64
    assert torch.multinomial(weights[0], 1).shape == (1,)
    with pytest.raises(RuntimeError, match="cannot sample 4 of 3 categories"):
        torch.multinomial(weights, 4)
