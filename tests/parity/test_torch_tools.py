"""What lies at torch's smaller paths computes what torch computes."""

import importlib

import numpy as np
import pytest
import torch as oracle

import numbagrad as torch


def both(function):
    """What the function returns for torch, and here; or the text of its error."""
    results = []
    for library in (oracle, torch):
        library.manual_seed(3)
        try:
            results.append(function(library))
        except Exception as error:
            results.append(f"{type(error).__name__}: {error}")
    return results


def module(library, path):
    return importlib.import_module(f"{library.__name__}.{path}")


@pytest.mark.parametrize("dimension", [1, 2, 7, 40, 256])
@pytest.mark.parametrize("options", [{}, {"scramble": True, "seed": 4}, {"scramble": True}])
def test_sobol(dimension, options):
    def draw(library):
        engine = module(library, "quasirandom").SobolEngine(dimension, **options)
        first = engine.draw(5).numpy()
        engine.fast_forward(6)
        rest = engine.draw(3, dtype=library.float64).numpy()
        engine.reset()
        return np.concatenate([first, rest, engine.draw().numpy(), engine.draw(2).numpy()])

    theirs, ours = both(draw)
    np.testing.assert_array_equal(ours, theirs)
    texts = both(lambda library: repr(module(library, "quasirandom").SobolEngine(3, **options)))
    assert texts[0] == texts[1]


def test_sobol_points_are_drawn_by_powers_of_two():
    def draw(library):
        engine = module(library, "quasirandom").SobolEngine(2)
        engine.draw_base2(2)
        return engine.draw_base2(3)

    theirs, ours = both(draw)
    assert ours == theirs and ours.startswith("ValueError")


@pytest.mark.parametrize(
    "name, options",
    [
        ("bartlett", {}), ("blackman", {}), ("cosine", {}), ("exponential", {"tau": 3.0}),
        ("gaussian", {"std": 2.0}), ("general_cosine", {"a": [0.4, 0.5, 0.1]}),
        ("general_hamming", {"alpha": 0.6}), ("hamming", {}), ("hann", {}),
        ("kaiser", {"beta": 5.0}), ("nuttall", {}), ("gaussian", {"std": -1.0}),
        ("exponential", {"tau": 0.0}), ("general_cosine", {"a": []}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 8])
def test_windows(name, options, sym, count):
    def window(library):
        return getattr(module(library, "signal.windows"), name)(count, sym=sym, **options).numpy()

    theirs, ours = both(window)
    if isinstance(theirs, str):
        assert isinstance(ours, str) and ours.split(":")[0] == theirs.split(":")[0]
    else:
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize(
    "dtype, options",
    [
        ("float32", {}), ("float64", {"low": -1, "high": 2}), ("int64", {}), ("uint8", {}),
        ("bool", {}), ("complex64", {}), ("float32", {"noncontiguous": True}),
        ("int32", {"low": 3, "high": 9}), ("int64", {"exclude_zero": True}),
    ],
)  # fmt: skip
def test_make_tensor(dtype, options):
    def make(library):
        kind = getattr(library, dtype)
        return module(library, "testing").make_tensor(3, 4, dtype=kind, device="cpu", **options)

    theirs, ours = both(make)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)
    assert ours.stride() == theirs.stride()


@pytest.mark.parametrize(
    "actual, expected, options",
    [
        ("T([1., 2.])", "T([1., 3.])", {}),
        ("T([1.])", "T([1., 3.])", {}),
        ("T([1., 2.])", "T([1., 2.0000001])", {}),
        ("1.0", "2.0", {}),
        ("1", "1.0", {}),
        ("T([1])", "T([2])", {}),
        ("T([True, False])", "T([True, True])", {}),
        ("T([1 + 2j])", "T([1 + 3j])", {}),
        ("T([1.])", "T([1.], dtype=m.float64)", {}),
        ("T([1.])", "T([1.], dtype=m.float64)", {"check_dtype": False}),
        ("[T(1.)]", "[T(2.)]", {}),
        ("{'a': [T([[1., 2]])]}", "{'a': [T([[1., 4]])]}", {}),
        ("{'a': 1}", "{'b': 1}", {}),
        ("[1]", "[1, 2]", {}),
        ("None", "1", {}),
        ("None", "None", {}),
        ("'a'", "'b'", {}),
        ("T([1.])", "T([2.])", {"rtol": 0, "atol": 0}),
        ("T([1.])", "T([2.])", {"rtol": 0}),
        ("T([1.])", "T([float('nan')])", {}),
        ("T([float('nan')])", "T([float('nan')])", {"equal_nan": True}),
        ("T([1.])", "T([2.])", {"msg": "words"}),
        ("T([1.])", "T([2.])", {"msg": lambda text: "before " + text}),
    ],
)
def test_assert_close(actual, expected, options):
    def compare(library):
        names = {"T": library.tensor, "m": library}
        return module(library, "testing").assert_close(
            eval(actual, names), eval(expected, names), **options
        )

    theirs, ours = both(compare)
    assert ours == theirs


TREES = [
    {"a": [1, (2, 3)], "b": None},
    [],
    (1, [2, {"x": 3}]),
    5,
]


@pytest.mark.parametrize("tree", TREES)
def test_trees(tree):
    def work(library):
        pytree = module(library, "utils._pytree")
        leaves, spec = pytree.tree_flatten(tree)
        paths = [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(tree)]
        doubled = pytree.tree_map(lambda x: [x], tree)
        both_trees = pytree.tree_map(lambda x, y: (x, y), tree, tree)
        only = pytree.tree_map_only(int, lambda x: -x, tree)
        back = pytree.tree_unflatten(leaves, spec)
        counts = spec.num_leaves, spec.num_nodes, spec.num_children, spec.is_leaf()
        spread = pytree._broadcast_to_and_flatten(7, spec)
        return leaves, paths, doubled, both_trees, only, back, counts, spread

    theirs, ours = both(work)
    assert ours == theirs


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"groups": 2}])
def test_gradients_of_convolutions(dimensions, options):
    random = np.random.RandomState(0)
    groups = options.get("groups", 1)
    x = random.randn(2, 2, *[6] * dimensions).astype(np.float32)
    w = random.randn(4, 2 // groups, *[3] * dimensions).astype(np.float32)

    def gradients(library):
        functional = library.nn.functional
        a, b = library.tensor(x), library.tensor(w)
        out = getattr(functional, f"conv{dimensions}d")(a, b, None, **options)
        grad = module(library, "nn.grad")
        by_input = getattr(grad, f"conv{dimensions}d_input")(a.shape, b, out, **options)
        by_weight = getattr(grad, f"conv{dimensions}d_weight")(a, b.shape, out, **options)
        return by_input.numpy(), by_weight.numpy()

    theirs, ours = both(gradients)
    for mine, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shuffle, drop_last", [(True, False), (False, False), (True, True)])
def test_distributed_sampler(shuffle, drop_last):
    def orders(library):
        make = module(library, "utils.data.distributed").DistributedSampler
        found = []
        for rank in range(3):
            sampler = make(range(10), 3, rank, shuffle=shuffle, drop_last=drop_last, seed=2)
            sampler.set_epoch(1)
            found.append((list(sampler), len(sampler)))
        return found

    theirs, ours = both(orders)
    assert ours == theirs


def test_fusion_of_a_convolution_and_its_norm():
    def fused(library):
        nn = library.nn
        convolution, norm = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
        norm(convolution(library.randn(4, 2, 6, 6)))
        convolution.eval(), norm.eval()
        x = library.randn(1, 2, 6, 6)
        made = module(library, "nn.utils.fusion").fuse_conv_bn_eval(convolution, norm)
        assert library.allclose(made(x), norm(convolution(x)), atol=1e-5)
        return made(x).detach().numpy()

    theirs, ours = both(fused)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
