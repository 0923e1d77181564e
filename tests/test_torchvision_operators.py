"""Operators of torchvision's extension: its numbers, its errors, and gradients."""

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.autograd import gradcheck

torch.ops.load_library("site-packages/torchvision/_C_stable.so")
ops = torch.ops.torchvision


def ramp(channels=4):
    """Pictures that are no multiple of each other."""
    return torch.arange(2 * channels * 6 * 7, dtype=torch.float64).view(2, channels, 6, 7).sin()


REGIONS = torch.tensor(
    [[0, 0.6, 1.2, 4.3, 5.1], [1, -1.4, 2.2, 3.3, 9.4], [1, 2.1, 2.2, 2.3, 2.4]],
    dtype=torch.float64,
)
BOXES = torch.tensor([[0.0, 0, 2, 2], [0.1, 0, 2, 2], [1, 1, 3, 3], [5, 5, 6, 6], [1, 1, 3, 3.1]])
SCORES = torch.tensor([0.5, 0.9, 0.7, 0.1, 0.7])

#: By call, with torchvision's sum of the result, and of the result times its place.
CALLS = {
    "roi_align": (
        lambda x, r: ops.roi_align(x, r, 0.9, 2, 2, 2, False),
        [0.626508356664, 34.0143468747],
    ),
    "roi_align aligned": (
        lambda x, r: ops.roi_align(x, r, 0.9, 2, 2, -1, True),
        [2.83607644605, 112.699702252],
    ),
    "roi_pool": (lambda x, r: ops.roi_pool(x, r, 0.9, 2, 2)[0], [23.7783953099, 438.034830098]),
    "ps_roi_align": (
        lambda x, r: ops.ps_roi_align(x, r, 0.9, 2, 2, 2)[0],
        [0.759305675796, 2.47856732493],
    ),
    "ps_roi_pool": (
        lambda x, r: ops.ps_roi_pool(x, r, 0.9, 2, 2)[0],
        [1.86868588307, 7.81659289095],
    ),
}


def numbers_of(library, result):
    place = library.arange(result.numel(), dtype=result.dtype).view(result.shape)
    return [result.sum().item(), (result * place).sum().item()]


@pytest.mark.parametrize("name", CALLS)
def test_regions(name):
    call, expected = CALLS[name]
    result = call(ramp(), REGIONS)
    assert result.dtype == torch.float64 and result.shape[0] == 3
    assert numbers_of(torch, result) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["roi_align", "roi_align aligned", "roi_pool", "ps_roi_align"])
def test_gradients(name):
    assert gradcheck(lambda x: CALLS[name][0](x, REGIONS), ramp().requires_grad_())


def test_channels_of_bins():
    _, channels = ops.ps_roi_align(ramp(), REGIONS, 1.0, 2, 2, 2)
    assert channels.dtype == torch.int32 and channels[1].tolist() == [[[0, 1], [2, 3]]]


@pytest.mark.parametrize(("threshold", "kept"), [(0.5, [1, 2, 3]), (0.97, [1, 2, 4, 0, 3])])
def test_nms(threshold, kept):
    assert ops.nms(BOXES, SCORES, threshold).tolist() == kept
    with pytest.raises(RuntimeError, match="boxes should have 4 elements in dimension 1, got 3"):
        ops.nms(BOXES[:, :3], SCORES, threshold)
    with pytest.raises(RuntimeError, match="same type as scores"):
        ops.nms(BOXES, SCORES.double(), threshold)
    assert ops.nms(BOXES[:0], SCORES[:0], threshold).tolist() == []


def test_wrong_regions():
    with pytest.raises(RuntimeError, match=r"rois must have shape as Tensor\[K, 5\]"):
        ops.roi_align(ramp(), REGIONS[:, :4], 1.0, 2, 2, 2, False)
    with pytest.raises(RuntimeError, match="type torch.float64 does not equal torch.float32"):
        ops.roi_pool(ramp(), REGIONS.float(), 1.0, 2, 2)
    with pytest.raises(RuntimeError, match="must be a multiple of pooling height"):
        ops.ps_roi_pool(ramp(3), REGIONS, 1.0, 2, 2)


def deformed(x, weight, offset, mask, bias, groups):
    return ops.deform_conv2d(x, weight, offset, mask, bias, 2, 1, 1, 0, 1, 2, groups, 1, True)


def test_a_deformable_convolution_without_deformation_is_a_convolution():
    x, weight, bias = ramp(), torch.randn(6, 2, 3, 2, dtype=torch.float64), torch.randn(6).double()
    expected = torch.nn.functional.conv2d(x, weight, bias, (2, 1), (1, 0), (1, 2), 2)
    size = tuple(expected.shape[2:])
    offset = torch.zeros(2, 12, *size, dtype=torch.float64)
    mask = torch.full((2, 6, *size), 1.0, dtype=torch.float64)
    found = deformed(x, weight, offset, mask, bias, 2)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-12)
    with pytest.raises(RuntimeError, match="offset output dims"):
        deformed(x, weight, offset[:, :6], mask, bias, 2)
    moved = deformed(x, weight, offset + 0.25, mask, bias, 2)
    assert not moved.allclose(found)
    inputs = [x, weight, offset + 0.25, mask, bias]
    gradcheck(lambda *inputs: deformed(*inputs, 2), [each.requires_grad_() for each in inputs])


def test_autocast_calls_the_function_for_it():
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
    seen = []

    def twice(x):
        return x * 2

    def cast(x):
        seen.append(torch.is_autocast_enabled("cpu"))
        with torch._C._ExcludeDispatchKeyGuard(keys):
            seen.append(torch.is_autocast_enabled("cpu"))
            return torch.ops.casting.twice(x.float())

    with torch.library._scoped_library("casting", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", twice, "CPU")
        library.impl("twice", cast, "AutocastCPU")
        x = torch.ones(2, dtype=torch.bfloat16)
        assert torch.ops.casting.twice(x).dtype == torch.bfloat16 and not seen
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.ops.casting.twice(x).dtype == torch.float32
    assert seen == [True, False]
