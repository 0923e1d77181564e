"""Dimensions of size zero against live torch: the operator table, and layers of ``nn.functional``.

Every operator is called with inputs that have no elements along a dimension, the first or the last
one: values, shapes, dtypes and gradients are those of torch, or both raise.
"""

import itertools

import numpy as np
import pytest
import torch
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES

import numbagrad

#: torch refuses these without a reason that would hold here, or crashes.
REFUSED_BY_TORCH = (
    "fft-",  # its library of transforms: "inconsistent configuration parameters"
    "linalg_eig",  # in backward: "must have a last dimension with stride 1"
    "vander-increasing",  # its own writes in place
    "ormqr-",  # the shape of tau, if there are no elements at all
    "stft",  # signals without batch
    "prelu",  # as many weights as channels
    "pixel_shuffle",  # the shape of its own gradient
    "binary_cross_entropy_with_logits_weighted",  # has no gradient for pos_weight
)
CRASHES_TORCH = ("pdist-",)
#: Where both raise, but not the same: torch's error is about what it happens to do first.
OTHER_CLASS = ("embedding", "index_copy", "index_fill", "as_strided_scatter", "einsum-")
#: The bases that only full matrices have are any, which gradients cannot know: this raises.
REFUSED_HERE = ("linalg_svd-full",)


def without(arrays, position):
    """The arrays, those of the size of the first one there without elements along a dimension."""
    made = []
    for array in arrays:
        axis = position % max(array.ndim, 1) if position < 0 else position
        shares = axis < array.ndim and array.shape[axis] == arrays[0].shape[position]
        made.append(np.take(array, range(0), axis) if shares else array)
    return made


def outcome(library, call, arrays, requires_grad=True):
    """The results and the gradients of a call as arrays; or the error."""
    inputs = [library.from_numpy(x.copy()) for x in arrays]
    for x in inputs:
        x.requires_grad_(requires_grad and x.is_floating_point())
    wanted = [x for x in inputs if x.requires_grad]
    try:
        results = [x for x in as_tuple(call(library, *inputs)) if isinstance(x, library.Tensor)]
        assert library is torch or all(type(x._array) is np.ndarray for x in results)
        carrying = [x for x in results if x.requires_grad]
        gradients = ()
        if carrying and wanted:
            totals = [x.sum() for x in carrying]
            gradients = library.autograd.grad(totals, wanted, allow_unused=True)
    except (RuntimeError, TypeError, IndexError, ValueError) as error:
        return None, None, error
    force = {"force": True} if library is torch else {}
    gradients = [None if x is None else x.detach().numpy(**force) for x in gradients]
    return [x.detach().numpy(**force) for x in results], gradients, None


def compare(name, call, arrays, requires_grad=True):
    """Check a call in both libraries."""
    ours, our_gradients, our_error = outcome(numbagrad, call, arrays, requires_grad)
    theirs, their_gradients, their_error = outcome(torch, call, arrays, requires_grad)
    if their_error is not None:
        if name.startswith(REFUSED_BY_TORCH):
            return
        assert our_error is not None, f"torch raises: {their_error}"
        if not name.startswith(OTHER_CLASS):
            assert isinstance(our_error, type(their_error)), repr(our_error)
        return
    if name.startswith(REFUSED_HERE) and our_error is not None:
        return
    assert our_error is None, repr(our_error)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-9, equal_nan=True)
    for mine, other in itertools.zip_longest(our_gradients, their_gradients):
        # No gradient, and one without elements, say the same.
        if not (mine is None and other is None):
            some = mine if other is None else other
            if (mine is None or other is None) and not some.size:
                continue
            assert mine is not None and other is not None
            np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("position", [0, -1])
@pytest.mark.parametrize("entry", POINTWISE_ENTRIES + ENTRIES, ids=lambda entry: entry.name)
def test_operators(entry, position):
    arrays = entry.draw("float64" if entry.admits("float64") else "int64")
    if arrays[0].ndim == 0 or (entry.name.startswith(CRASHES_TORCH) and position == 0):
        return
    compare(entry.name, entry.call, without(arrays, position), entry.differentiable)


#: torch takes scalars for vectors or matrices in these, some of which make no sense of them.
REFUSED_SCALARS = ("mv", "tensordot", "baddbmm", "addbmm", "linalg_vander", "istft")


@pytest.mark.parametrize("entry", POINTWISE_ENTRIES + ENTRIES, ids=lambda entry: entry.name)
def test_scalars(entry):
    """Inputs without dimensions; what is computed of them is a Tensor of an ndarray."""
    if entry.name.startswith(REFUSED_SCALARS):
        return
    arrays = entry.draw("float64" if entry.admits("float64") else "int64")
    arrays = [np.array(x.reshape(-1)[0]) for x in arrays]
    compare(entry.name, entry.call, arrays, entry.differentiable)


# --- layers ---------------------------------------------------------------------------------------

LINES, IMAGES, VOLUMES = (2, 4, 6), (2, 4, 6, 6), (2, 4, 6, 6, 6)


def layers():
    """Calls of layers by name, with the shape of the input and those of the other tensors."""
    made = {}
    for rank, shape in ((1, LINES), (2, IMAGES), (3, VOLUMES)):
        kernel = (3,) * rank
        for groups in (1, 2):
            made[f"conv{rank}d-{groups}"] = (
                lambda t, x, w, b, r=rank, g=groups:
                    getattr(t.nn.functional, f"conv{r}d")(x, w, b, stride=2, padding=1, groups=g),
                shape, (4, 4 // groups, *kernel), (4,),
            )  # fmt: skip
            made[f"conv_transpose{rank}d-{groups}"] = (
                lambda t, x, w, b, r=rank, g=groups:
                    getattr(t.nn.functional, f"conv_transpose{r}d")(x, w, b, stride=2, groups=g),
                shape, (4, 4 // groups, *kernel), (4,),
            )  # fmt: skip
        for pool in ("max_pool", "avg_pool", "lp_pool"):
            extra = (2,) if pool == "lp_pool" else ()
            made[f"{pool}{rank}d"] = (
                lambda t, x, p=pool, r=rank, e=extra:
                    getattr(t.nn.functional, f"{p}{r}d")(x, *e, 2),
                shape,
            )  # fmt: skip
        for pool in ("adaptive_avg_pool", "adaptive_max_pool"):
            made[f"{pool}{rank}d"] = (
                lambda t, x, p=pool, r=rank: getattr(t.nn.functional, f"{p}{r}d")(x, 2), shape
            )  # fmt: skip
        for norm in ("batch_norm", "eval_batch_norm", "group_norm", "local_response_norm"):
            made[f"{norm}-{rank}"] = (NORMS[norm], shape, (4,), (4,))
        for mode in ("constant", "reflect", "replicate", "circular"):
            made[f"pad-{mode}-{rank}"] = (
                lambda t, x, m=mode, r=rank: t.nn.functional.pad(x, (1, 2) * r, m), shape
            )  # fmt: skip
        made[f"interpolate-{rank}"] = (
            lambda t, x: t.nn.functional.interpolate(x, scale_factor=2), shape
        )  # fmt: skip
    rest = {
        "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, x.shape[1:]),
        "rms_norm": lambda t, x: t.nn.functional.rms_norm(x, x.shape[1:]),
        "normalize": lambda t, x: t.nn.functional.normalize(x),
        "pixel_shuffle": lambda t, x: t.nn.functional.pixel_shuffle(x, 2),
        "channel_shuffle": lambda t, x: t.nn.functional.channel_shuffle(x, 2),
        "unfold": lambda t, x: t.nn.functional.unfold(x, 2),
        "fold": lambda t, x: t.nn.functional.fold(x.reshape(*x.shape[:2], 36), (7, 7), 2),
        "grid_sample": lambda t, x: t.nn.functional.grid_sample(
            x, x[:, :2].movedim(1, -1), align_corners=False),
        "fractional_max_pool2d": lambda t, x: t.nn.functional.fractional_max_pool2d(
            x, 2, output_size=2, _random_samples=x.detach()[:, :, 0, :2] * 0 + 0.5),
        "softmax": lambda t, x: t.nn.functional.softmax(x, 1),
        "dropout": lambda t, x: t.nn.functional.dropout(x, 0.5, False),
        "attention": lambda t, x: t.nn.functional.scaled_dot_product_attention(x, x, x),
        "linear": lambda t, x: t.nn.functional.linear(x, x.new_ones(5, 6)),
        "cross_entropy": lambda t, x: t.nn.functional.cross_entropy(
            x, t.zeros(x.shape[0], *x.shape[2:], dtype=t.int64), reduction="sum"),
        "mse_loss": lambda t, x: t.nn.functional.mse_loss(x, x.detach() * 0),
        "flatten": lambda t, x: x.flatten(1),
        "cosine_similarity": lambda t, x: t.nn.functional.cosine_similarity(x, x.detach() + 1),
        "gelu": lambda t, x: t.nn.functional.gelu(x),
        "glu": lambda t, x: t.nn.functional.glu(x, 1),
    }  # fmt: skip
    return made | {name: (call, IMAGES) for name, call in rest.items()}


NORMS = {
    "batch_norm": lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True),
    "eval_batch_norm": lambda t, x, w, b: t.nn.functional.batch_norm(
        x, t.zeros(4, dtype=x.dtype), t.ones(4, dtype=x.dtype), w, b),
    "group_norm": lambda t, x, w, b: t.nn.functional.group_norm(x, 2, w, b),
    "local_response_norm": lambda t, x, w, b: t.nn.functional.local_response_norm(x, 2),
}  # fmt: skip
LAYERS = layers()


@pytest.mark.parametrize("name", LAYERS)
def test_batches_of_nothing(name):
    call, shape, *others = LAYERS[name]
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=x) for x in ((0, *shape[1:]), *others)]
    compare(name, call, arrays)


#: By name a call of a layer on an input of a number of spatial dimensions.
OF_IMAGES = {
    "adaptive_avg_pool": lambda t, f, x, rank: getattr(f, f"adaptive_avg_pool{rank}d")(x, 2),
    "adaptive_max_pool": lambda t, f, x, rank: getattr(f, f"adaptive_max_pool{rank}d")(x, 2),
    "avg_pool": lambda t, f, x, rank: getattr(f, f"avg_pool{rank}d")(x, 2, 2, 1),
    "max_pool": lambda t, f, x, rank: getattr(f, f"max_pool{rank}d")(x, 2, 2, 1),
    "lp_pool": lambda t, f, x, rank: getattr(f, f"lp_pool{rank}d")(x, 2.0, 2),
    "fractional_max_pool": lambda t, f, x, rank: getattr(f, f"fractional_max_pool{rank}d")(x, 2, 2),
    "max_unpool": lambda t, f, x, rank: getattr(f, f"max_unpool{rank}d")(x, x.long(), 2),
    "nearest": lambda t, f, x, rank: f.interpolate(x, scale_factor=2),
    "linear": lambda t, f, x, rank: f.interpolate(
        x, scale_factor=2, mode=("linear", "bilinear", "trilinear")[rank - 1]
    ),
    "area": lambda t, f, x, rank: f.interpolate(x, scale_factor=2, mode="area"),
    "conv": lambda t, f, x, rank: getattr(f, f"conv{rank}d")(x, t.ones(5, 3, *[2] * rank)),
    "conv_transpose": lambda t, f, x, rank: getattr(f, f"conv_transpose{rank}d")(
        x, t.ones(3, 5, *[2] * rank)
    ),
    "instance_norm": lambda t, f, x, rank: f.instance_norm(x),
    "group_norm": lambda t, f, x, rank: f.group_norm(x, 1),
    "batch_norm": lambda t, f, x, rank: f.batch_norm(x, None, None, training=True),
    "layer_norm": lambda t, f, x, rank: f.layer_norm(x, tuple(x.shape[-1:])),
    "rms_norm": lambda t, f, x, rank: f.rms_norm(x, tuple(x.shape[-1:])),
    "local_response_norm": lambda t, f, x, rank: f.local_response_norm(x, 2),
    "unfold": lambda t, f, x, rank: f.unfold(x, 2),
    "fold": lambda t, f, x, rank: f.fold(x, (2, 2), (2, 2)),
    "grid_sample": lambda t, f, x, rank: f.grid_sample(x, t.zeros(2, 3, 3, 2)),
}


@pytest.mark.parametrize(
    ("name", "rank"),
    [(name, rank) for name in OF_IMAGES for rank in (1, 2, 3)
     if (name, rank) != ("fractional_max_pool", 1)],
)  # fmt: skip
def test_images_without_elements_along_a_dimension(name, rank):
    full = (2, 3, *[4] * rank)
    shapes = [(*full[:position], 0, *full[position + 1 :]) for position in range(len(full))]
    shapes += [shape[1:] for shape in shapes[1:]] + [full, full[1:]]
    for shape in shapes:
        made = []
        for library in (numbagrad, torch):
            try:
                result = OF_IMAGES[name](library, library.nn.functional, library.zeros(shape), rank)
                made.append(tuple(result.shape))
            except Exception as error:
                made.append(type(error))
        same = made[0] == made[1] or (
            isinstance(made[0], type) and isinstance(made[1], type)
            and (issubclass(*made) or issubclass(*made[::-1]))
        )  # fmt: skip
        assert same, (shape, made)


def test_running_averages_of_nothing_stay():
    for library in (numbagrad, torch):
        mean, variance = library.zeros(3), library.ones(3)
        library.nn.functional.batch_norm(library.ones(0, 3, 2), mean, variance, training=True)
        assert (mean.tolist(), variance.tolist()) == ([0, 0, 0], [1, 1, 1])


def positions(library):
    """What finds places among no elements, or for none."""
    none, some = library.zeros(0), library.tensor([1.0, 2.0, 3.0])
    rows = library.zeros(2, 0)
    return [
        library.searchsorted(none, some), library.searchsorted(some, none),
        library.searchsorted(rows, library.ones(2, 3)), library.bucketize(some, none),
        library.bucketize(none, some), library.searchsorted(rows.mT, library.ones(0, 4)),
        *library.unique(none, return_inverse=True, return_counts=True),
        *library.unique_consecutive(none, return_inverse=True, return_counts=True),
        *library.unique_consecutive(rows.mT, return_inverse=True, return_counts=True, dim=0),
        library.gather(some, 0, none), library.gather(library.ones(2, 2), 0, none),
        library.scatter(some, 0, none, none), library.gather(some, 0, none.int()),
        library.nonzero(none), library.masked_select(none, none > 0),
    ]  # fmt: skip


def test_positions():
    for mine, other in zip(positions(numbagrad), positions(torch), strict=True):
        assert str(mine.dtype).endswith(str(other.dtype).removeprefix("torch."))
        assert tuple(mine.shape) == tuple(other.shape)
        assert mine.tolist() == other.tolist()


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_entries_without_elements_are_not_compared(name):
    for library in (numbagrad, torch):
        with pytest.raises(RuntimeError, match="0 sized dimensions"):
            getattr(library, name)(library.zeros(3, 0), dim=0)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("leading", [(), (2,), (2, 3), (0, 2)])
@pytest.mark.parametrize("features", [(0, 4), (3, 0), (0, 0)])
def test_linear_maps_of_no_features(features, leading, bias):
    found = []
    for library in (numbagrad, torch):
        weight = library.ones(*reversed(features), requires_grad=True)
        x = library.ones(*leading, features[0], requires_grad=True)
        offset = library.arange(features[1] * 1.0).requires_grad_() if bias else None
        made = library.nn.functional.linear(x, weight, offset)
        made.sum().backward()
        leaves = [x, weight] + [offset] * bias
        found.append((tuple(made.shape), made.tolist(), [leaf.grad.tolist() for leaf in leaves]))
    assert found[0] == found[1]
