"""Images of uint8 are resampled as by torch, to the last bit."""

import numpy as np
import pytest

import numbagrad as ng

torch = pytest.importorskip("torch")

SHAPES = [(1, 1, 7, 9), (2, 3, 12, 10), (1, 4, 8, 8), (2, 5, 9, 8)]
TO = [
    {"size": (5, 6)}, {"size": (14, 20)}, {"size": (8, 8)}, {"size": (3, 40)}, {"size": (12, 10)},
    {"scale_factor": 1.3}, {"scale_factor": 0.6}, {"scale_factor": (2.0, 0.45)},
]  # fmt: skip
MODES = [
    {"mode": "nearest"}, {"mode": "nearest-exact"},
    *[
        {"mode": mode, "antialias": smooth, "align_corners": corners}
        for mode in ("bilinear", "bicubic")
        for smooth in (False, True)
        for corners in (False, True)
    ],
]  # fmt: skip


def images(shape):
    """Noise, half of it black and white: cubic weights overshoot there."""
    noise = np.random.default_rng(0).integers(0, 256, shape)
    noise[..., ::2] = np.where(noise[..., ::2] > 127, 255, 0)
    return noise.astype(np.uint8)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_images_of_bytes_are_those_of_torch(mode):
    for shape in SHAPES:
        for to in TO:
            given = images(shape)
            ours = ng.nn.functional.interpolate(ng.tensor(given), **to, **mode)
            theirs = torch.nn.functional.interpolate(torch.tensor(given), **to, **mode)
            assert ours.dtype is ng.uint8
            np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), f"{shape} {to}")


def test_images_of_bytes_in_vmap_compiled_functions_and_on_the_device_meta():
    given = ng.tensor(images((2, 1, 3, 12, 10)))

    def resize(x):
        return ng.nn.functional.interpolate(x, (5, 6), mode="bicubic", antialias=True)

    expected = resize(given[0])
    assert (ng.vmap(resize)(given)[0] == expected).all()
    compiled = ng.compile(resize)
    for position in (0, 0, 1, 1, 0):
        assert (compiled(given[position]) == resize(given[position])).all()
    made = resize(ng.empty(1, 3, 12, 10, dtype=ng.uint8, device="meta"))
    assert made.shape == expected.shape and made.dtype is ng.uint8


REFUSED = [("linear", "uint8"), ("area", "uint8"), ("linear", "int32"), ("bilinear", "int32"),
           ("bicubic", "int8"), ("nearest", "int32")]  # fmt: skip


@pytest.mark.parametrize(("mode", "dtype"), REFUSED)
def test_modes_and_dtypes_that_torch_refuses(mode, dtype):
    shape = (1, 2, 4) if mode == "linear" else (1, 2, 4, 4)
    for T in (ng, torch):
        with pytest.raises(RuntimeError, match="not implemented for"):
            x = T.ones(shape, dtype=getattr(T, dtype))
            T.nn.functional.interpolate(x, scale_factor=2, mode=mode)
