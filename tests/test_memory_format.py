"""``memory_format``: in which order the elements of a tensor lie, and those of its gradient."""

import pytest

import numbagrad as torch

LAST = torch.channels_last
#: The strides of 2 x 3 x 4 x 5 elements.
ROWS, CHANNELS = (60, 20, 5, 1), (60, 1, 15, 3)


@pytest.fixture
def x():
    return torch.arange(120.0).view(2, 3, 4, 5)


@pytest.mark.parametrize(
    "arrange",
    [
        lambda x: x.contiguous(memory_format=LAST),
        lambda x: x.clone(memory_format=LAST),
        lambda x: x.to(memory_format=LAST),
        lambda x: x.double().to(torch.float32, memory_format=LAST),
    ],
)
def test_the_same_elements_in_another_order(arrange, x):
    y = arrange(x)
    assert y.stride() == CHANNELS and y.tolist() == x.tolist()
    assert y.is_contiguous(memory_format=LAST) and not y.is_contiguous()
    assert y.contiguous(memory_format=LAST) is y
    assert y.clone().stride() == CHANNELS
    assert y.contiguous().stride() == ROWS
    assert y.clone(memory_format=torch.contiguous_format).stride() == ROWS


def test_new_memory(x):
    y = x.contiguous(memory_format=LAST)
    assert torch.empty_like(x, memory_format=LAST).stride() == CHANNELS
    assert torch.zeros_like(y).stride() == CHANNELS
    assert torch.ones_like(y, memory_format=torch.contiguous_format).stride() == ROWS
    made = torch.zeros(2, 3, 4, 5, memory_format=LAST)
    assert made.stride() == CHANNELS and not made.any()


def test_volumes_have_a_format_too():
    volumes = torch.rand(1, 2, 3, 3, 4).contiguous(memory_format=torch.channels_last_3d)
    assert volumes.stride() == (72, 1, 24, 8, 2)
    assert volumes.is_contiguous(memory_format=torch.channels_last_3d)
    assert not volumes.is_contiguous(memory_format=LAST)


def test_a_module_takes_a_format():
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    image = torch.rand(1, 3, 5, 5)
    before = layers(image)
    assert layers.to(memory_format=LAST)[0].weight.stride() == (27, 1, 9, 3)
    assert torch.allclose(layers(image.to(memory_format=LAST)), before)


def test_a_format_is_for_tensors_of_its_rank():
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        torch.ones(3).contiguous(memory_format=LAST)
    with pytest.raises(RuntimeError, match="required rank 5 tensor"):
        torch.ones(1, 1, 1, 1).clone(memory_format=torch.channels_last_3d)
    with pytest.raises(RuntimeError, match="required rank 4 tensor"):
        torch.empty(2, memory_format=LAST)
    with pytest.raises(RuntimeError, match="preserve memory format is unsupported"):
        torch.ones(2, 3).t().contiguous(memory_format=torch.preserve_format)
    assert repr(LAST) == "torch.channels_last"


# --- gradients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("order", [torch.contiguous_format, LAST])
@pytest.mark.parametrize("loss", [lambda a: a.sum(), lambda a: (a * a.detach()).sum()])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_gradient_lies_as_its_leaf(loss, order, create_graph, x):
    leaf = x.to(memory_format=order, copy=True).requires_grad_()
    loss(leaf).backward(create_graph=create_graph)
    assert leaf.grad.stride() == leaf.stride()
    loss(leaf).backward()
    assert leaf.grad.stride() == leaf.stride()
    leaf.grad = None


def test_of_a_transposed_leaf_and_of_one_with_gaps():
    leaf = torch.rand(3, 2).t().requires_grad_()
    (leaf * 2).sum().backward()
    assert leaf.grad.stride() == (1, 2) and (leaf.grad == 2).all()
    with_gaps = torch.rand(4, 4)[::2].requires_grad_()
    with_gaps.sum().backward()
    assert with_gaps.grad.stride() == (4, 1)


def test_a_transposed_gradient_of_an_ordinary_leaf():
    leaf = torch.rand(2, 3).requires_grad_()
    weight = torch.arange(6.0).view(3, 2)
    (leaf.t() * weight).sum().backward()
    assert leaf.grad.stride() == (3, 1) and torch.equal(leaf.grad, weight.t())


def test_gradients_flow_through_a_change_of_format():
    x = torch.rand(1, 2, 2, 2, dtype=torch.float64, requires_grad=True)
    assert x.contiguous(memory_format=LAST).grad_fn.name() == "CloneBackward0"
    assert torch.autograd.gradcheck(lambda x: x.contiguous(memory_format=LAST).sin(), x)
    assert torch.autograd.gradgradcheck(lambda x: x.contiguous(memory_format=LAST).sin(), x)
    batch = torch.rand(3, 1, 2, 2, 2)
    each = torch.vmap(lambda x: x.clone(memory_format=LAST) * 2)(batch)
    assert torch.equal(each, 2 * batch)
