"""Random numbers: torch's numbers from torch's seeds, written here as literals from torch 2.13."""

from __future__ import annotations

import os
import threading
import zlib

import numpy as np
import pytest

from numbagrad import random
from numbagrad import random_filling as filling


def seeded(seed: int = 0) -> random.Generator:
    return random.Generator().manual_seed(seed)


def drawn(fill, size, dtype, *arguments) -> np.ndarray:
    """An array that ``fill`` filled from a generator with seed 0."""
    array = np.empty(size, dtype)
    fill(seeded(), array, *arguments)
    return array


# The first numbers of a seed, readable.


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("float16", [0.496337890625, 0.76806640625, 0.0885009765625]),
        ("float32", [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]),
        ("float64", [0.9700530018065531, 0.707819864399788, 0.45938294312745087]),
    ],
)
def test_uniform(dtype, expected):
    assert drawn(filling.fill_uniform, 3, dtype).tolist() == expected


@pytest.mark.parametrize(
    ("dtype", "below_16", "from_16"),
    [
        (
            "float16",
            [1.541015625, -0.29345703125, -2.1796875],
            [-1.1259765625, -1.3525390625, -0.84375],
        ),
        (
            "float32",
            [1.5409960746765137, -0.293428897857666, -2.1787893772125244],
            [-1.1258398294448853, -1.6959311962127686, 0.9318265914916992],
        ),
        (
            "float64",
            [1.5409961082440433, -0.2934289057609464, -2.1787893820745574],
            [-2.310411800234176, -0.6332746088675096, 0.6748575435940039],
        ),
    ],
)
def test_normal_has_two_paths(dtype, below_16, from_16):
    few, many = drawn(filling.fill_normal, 3, dtype), drawn(filling.fill_normal, 17, dtype)
    tolerance = 1e-14 if dtype == "float64" else 0  # float64 goes through the C library
    np.testing.assert_allclose(few, np.array(below_16, dtype), rtol=tolerance)
    np.testing.assert_allclose(many[[0, 1, -1]], np.array(from_16, dtype), rtol=tolerance)


@pytest.mark.parametrize(
    ("fill", "arguments", "expected"),
    [
        (
            filling.fill_exponential,
            (2.0,),
            [1.754163093353821, 0.6151923820898384, 0.30752204694700574],
        ),
        (
            filling.fill_log_normal,
            (0.5, 0.25),
            [2.4235878553037287, 1.5321052554493706, 0.9562868625441218],
        ),
        (
            filling.fill_cauchy,
            (1.0, 2.0),
            [22.195458653364593, 2.5295345192117997, 0.7434013158336519],
        ),
        (filling.fill_geometric, (0.25,), [1.0, 2.0, 3.0]),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_distributions_in_double_precision(fill, arguments, expected, dtype):
    array = drawn(fill, 3, dtype, *arguments)
    tolerance = 1e-14 if dtype == "float64" else np.finfo(dtype).eps
    np.testing.assert_allclose(array, expected, rtol=tolerance)


def test_whole_numbers():
    assert drawn(filling.fill_randint, 6, np.int64, -5, 100).tolist() == [69, 19, 93, 25, 38, 4]
    wide = drawn(filling.fill_randint, 3, np.int64, -(2**40), 2**40)
    assert wide.tolist() == [-358231004625, -593374360384, 291447657211]
    assert drawn(filling.fill_randint, 2, np.int16, 5).tolist() == [2014, 6173]
    assert drawn(filling.fill_randint, 2, np.float32, 5).tolist() == [8326369.0, 12889232.0]
    every = drawn(filling.fill_randint, 2, np.int64, -(2**63))
    assert every.tolist() == [-8322921849960486353, -5253828890213626688]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("bool", [False, True, True]),
        ("uint8", [172, 47, 117]),
        ("int8", [44, 47, 117]),
        ("int16", [2732, 10799, 9845]),
        ("int32", [209652396, 398764591, 924231285]),
        ("int64", [900450186894289455, 3969543146641149120, 1895649597198586619]),
        ("float16", [1277.0, 1017.0, 1661.0]),
        ("float32", [8325664.0, 12888472.0, 1484222.0]),
        ("float64", [8737460674930124.0, 6375474555111176.0, 4137753702977065.0]),
    ],
)
def test_whole_numbers_over_the_range_of_the_type(dtype, expected):
    assert drawn(filling.fill_random, 3, dtype).tolist() == expected


def test_bernoulli():
    assert drawn(filling.fill_bernoulli, 8, np.float32, 0.3).tolist() == [0, 0, 0, 0, 0, 0, 1, 0]
    generator, array = seeded(), np.empty(6, np.int64)
    each = np.linspace(0, 1, 6)
    filling.fill_bernoulli(generator, array, each.astype(np.float32))
    assert array.tolist() == [0, 0, 1, 1, 1, 1]
    filling.fill_bernoulli(generator, array, each)
    assert array.tolist() == [0, 0, 0, 1, 1, 1]


def test_permutation():
    assert filling.permutation(seeded(), 10).tolist() == [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]
    assert filling.permutation(seeded(), 0).tolist() == []
    assert sorted(filling.permutation(seeded(), 5000)) == list(range(5000))


def test_multinomial():
    generator, weights = seeded(), np.array([[1, 2, 3, 4], [4, 3, 2, 1]], np.float32)
    assert filling.multinomial(generator, weights, 6, True).tolist() == [
        [3, 3, 2, 3, 3, 3],
        [0, 0, 1, 0, 1, 0],
    ]
    assert filling.multinomial(generator, weights, 3).tolist() == [[3, 2, 0], [1, 0, 2]]
    assert filling.multinomial(generator, weights[0], 1).tolist() == [2]


def test_interleaved_calls_share_one_stream_and_the_spare_normal():
    generator = seeded(7)

    def draw(fill, size, dtype=np.float32):
        array = np.empty(size, dtype)
        fill(generator, array)
        return array.tolist()

    normal, uniform = filling.fill_normal, filling.fill_uniform
    assert draw(normal, 3) == [-0.1467950940132141, 0.7861412763595581, 0.9468216300010681]
    assert draw(uniform, 2) == [0.36531615257263184, 0.8512683510780334]
    assert draw(normal, 2) == [-1.1143440008163452, 0.4457423985004425]
    assert draw(uniform, 1, np.float64) == [0.5607215973721555]
    assert draw(normal, 16)[:2] == [-1.5826646089553833, -0.32456663250923157]
    assert draw(normal, 1, np.float64) == pytest.approx([-0.7068324467336622], rel=1e-14)
    assert filling.permutation(generator, 4).tolist() == [0, 2, 3, 1]


# Checksums of whole arrays, where no C library is involved.

CHECKSUMS = [
    (filling.fill_uniform, "float16", 1, (-1.5, 2.25), 0x93D19755),
    (filling.fill_uniform, "float16", 17, (-1.5, 2.25), 0xFF942DD8),
    (filling.fill_uniform, "float16", 100003, (-1.5, 2.25), 0xBF634927),
    (filling.fill_uniform, "float32", 1, (-1.5, 2.25), 0x2E0D3353),
    (filling.fill_uniform, "float32", 15, (-1.5, 2.25), 0x934E72ED),
    (filling.fill_uniform, "float32", 625, (-1.5, 2.25), 0x7FF34AA6),
    (filling.fill_uniform, "float32", 100003, (-1.5, 2.25), 0x4BB5EA97),
    (filling.fill_uniform, "float64", 1, (-1.5, 2.25), 0xC7CF390B),
    (filling.fill_uniform, "float64", 625, (-1.5, 2.25), 0x72A13649),
    (filling.fill_uniform, "float64", 100003, (-1.5, 2.25), 0x30D7DA8E),
    (filling.fill_normal, "float16", 16, (0.5, 3.0), 0x20735478),
    (filling.fill_normal, "float16", 17, (0.5, 3.0), 0xC6FBB0C6),
    (filling.fill_normal, "float16", 100003, (0.5, 3.0), 0x3DF3E96E),
    (filling.fill_normal, "float32", 16, (0.5, 3.0), 0xB5FCEA84),
    (filling.fill_normal, "float32", 17, (0.5, 3.0), 0x9EA16227),
    (filling.fill_normal, "float32", 100, (0.5, 3.0), 0x6426ACEC),
    (filling.fill_normal, "float32", 625, (0.5, 3.0), 0x9101E035),
    (filling.fill_normal, "float32", 100003, (0.5, 3.0), 0xCC5BBB42),
    (filling.fill_randint, "uint8", 1001, (3, 200), 0xD7F873E1),
    (filling.fill_randint, "int32", 1001, (-1000, 1000), 0x443BF41D),
    (filling.fill_randint, "int32", 1001, (0, 2**31 - 1), 0xE33EDC3D),
    (filling.fill_randint, "int64", 1001, (0, 2**28 - 1), 0x35F66B14),
    (filling.fill_randint, "int64", 1001, (0, 2**28), 0xAAC05CF4),
    (filling.fill_randint, "int64", 1001, (-(2**62), 2**62), 0x1A8466B6),
    (filling.fill_randint, "float32", 1001, (0, 10), 0x25799480),
    (filling.fill_randint, "float16", 1001, (-2000, 2001), 0x794725C5),
    (filling.fill_randint, "float64", 1001, (0, 2**53), 0x46F8C2B7),
]


@pytest.mark.parametrize(("fill", "dtype", "size", "arguments", "checksum"), CHECKSUMS)
def test_whole_array(fill, dtype, size, arguments, checksum):
    assert zlib.crc32(drawn(fill, size, dtype, *arguments).tobytes()) == checksum


def test_strided_arrays_are_drawn_in_the_order_of_memory():
    array = np.empty((2, 3), np.float32).T
    filling.fill_uniform(seeded(), array)
    assert array.ravel(order="K").tolist() == drawn(filling.fill_uniform, 6, np.float32).tolist()
    gaps = np.zeros((4, 5, 6), np.int64)[:, ::2, ::3].transpose(1, 2, 0)
    filling.fill_random(seeded(), gaps)
    expected = drawn(filling.fill_random, (4, 3, 2), np.int64).transpose(1, 2, 0)
    assert (gaps == expected).all()


def test_a_strided_normal_array_is_drawn_number_by_number():
    array = np.empty((6, 4), np.float32).T
    filling.fill_normal(seeded(), array)
    one_by_one = np.concatenate([drawn(filling.fill_normal, 15, np.float32), [0] * 9])
    assert array.ravel(order="K")[:15].tolist() == one_by_one[:15].tolist()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_upper_bound_is_never_drawn(dtype):
    array = drawn(filling.fill_uniform, 100000, dtype, 0.0, 1.0)
    assert 0.0 <= array.min() and array.max() < 1.0


def test_empty_arrays_draw_nothing():
    generator = seeded()
    before = generator.get_state()
    for fill in (filling.fill_uniform, filling.fill_normal, filling.fill_bernoulli):
        fill(generator, np.empty((0, 3), np.float32))
    assert (generator.get_state() == before).all()


# Generators.


def test_state_has_the_format_of_torch():
    generator = seeded()
    assert generator.get_state().size == 5056
    assert zlib.crc32(generator.get_state().tobytes()) == 1831558866
    filling.fill_normal(generator, np.empty(3, np.float32))
    assert zlib.crc32(generator.get_state().tobytes()) == 932786199


def test_state_is_restored_with_the_spare_normal():
    generator, other = seeded(5), random.Generator()
    filling.fill_normal(generator, np.empty(3, np.float32))
    assert other.set_state(generator.get_state()) is other
    first, second = np.empty(700, np.float64), np.empty(700, np.float64)
    for fill in (filling.fill_exponential, filling.fill_log_normal):
        fill(generator, first)
        fill(other, second)
        assert (first == second).all()
    assert other.initial_seed() == 5
    filling.fill_uniform(generator.clone_state(), first)
    filling.fill_uniform(generator, second)
    assert (first == second).all()


@pytest.mark.parametrize(
    ("seed", "kept", "first"),
    [
        (-1, 2**64 - 1, 0.9937993884086609),
        (2**64 - 1, 2**64 - 1, 0.9937993884086609),
        (2**32, 2**32, 0.49625658988952637),
        (2**63, 2**63, 0.49625658988952637),
    ],
)
def test_seeds_of_64_bits(seed, kept, first):
    generator, array = seeded(seed), np.empty(1, np.float32)
    assert generator.initial_seed() == kept
    filling.fill_uniform(generator, array)
    assert array[0] == np.float32(first)


def test_a_generator_nobody_seeded_has_the_seed_of_torch():
    assert random.Generator().initial_seed() == 67280421310721


def test_default_generator():
    state = random.get_rng_state()
    assert random.manual_seed(0) is random.default_generator()
    assert random.initial_seed() == 0
    array = np.empty(3, np.float32)
    filling.fill_uniform(None, array)
    assert (array == drawn(filling.fill_uniform, 3, np.float32)).all()
    assert random.seed() == random.initial_seed()
    random.set_rng_state(state)
    assert (random.get_rng_state() == state).all()


def test_threads_that_share_a_generator_draw_each_number_once():
    generator = seeded()
    arrays = [np.empty(1000, np.int64) for _ in range(8 * 20)]

    def draw(index):
        for array in arrays[index::8]:
            filling.fill_random(generator, array)

    threads = [threading.Thread(target=draw, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = drawn(filling.fill_random, 160_000, np.int64)
    assert (np.sort(np.concatenate(arrays)) == np.sort(expected)).all()


def test_a_forked_child_draws_although_the_parent_was_drawing():
    generator = random.default_generator()
    with generator._lock:  # as if another thread held it at the moment of the fork
        child = os.fork()
        if child == 0:
            filling.fill_uniform(None, np.empty(3, np.float32))
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_both_sides_agree_on_the_layout_of_the_state():
    from numbagrad.kernels.random import mt19937 as random_numbers

    for name in ("SEED", "LEFT", "NEXT", "NORMAL_IS_CACHED", "CACHED_NORMAL", "HEADER"):
        assert getattr(random, f"_{name}") == getattr(random_numbers, name)
    assert random._STATE_SIZE == random_numbers.STATE_SIZE


@pytest.mark.parametrize(
    ("function", "dtype", "arguments", "message"),
    [
        (filling.fill_uniform, "float32", (2.0, 1.0), "from=2.0 > to=1.0"),
        (filling.fill_uniform, "float16", (0.0, 1e5), "to=100000.0 is out of bounds for float16"),
        (filling.fill_uniform, "float32", (-3e38, 3e38), "to - from to be finite"),
        (filling.fill_uniform, "int64", (), "uniform_ is not implemented for int64"),
        (filling.fill_normal, "int64", (), "normal_ is not implemented for int64"),
        (filling.fill_normal, "float32", (0.0, -1.0), "std >= 0.0, but found std -1.0"),
        (filling.fill_log_normal, "float32", (0.0, 0.0), "std > 0.0"),
        (filling.fill_exponential, "float32", (0.0,), "lambda > 0.0"),
        (filling.fill_cauchy, "float32", (0.0, 0.0), "sigma > 0.0"),
        (filling.fill_geometric, "float32", (1.0,), r"p to be in \(0, 1\)"),
        (filling.fill_geometric, "bool", (0.5,), "not implemented for bool"),
        (filling.fill_bernoulli, "float32", (1.5,), r"\[0, 1\], but got p=1.5"),
        (filling.fill_bernoulli, "float32", (np.array([2.0]),), r"in \[0, 1\]"),
        (filling.fill_bernoulli, "float32", (np.array([1]),), "floating point"),
        (filling.fill_randint, "int64", (3, 3), "from=3 >= to=3"),
        (filling.fill_randint, "uint8", (-1, 3), "from=-1 is out of bounds for uint8"),
        (filling.fill_randint, "int8", (0, 129), "to - 1=128 is out of bounds for int8"),
    ],
)
def test_errors(function, dtype, arguments, message):
    with pytest.raises(RuntimeError, match=message):
        function(seeded(), np.empty(4, dtype), *arguments)


@pytest.mark.parametrize(
    ("weights", "number", "message"),
    [
        ([1.0, 2.0], 3, "cannot sample 3 of 2"),
        ([1.0, 2.0], 0, "n_sample <= 0"),
        ([0.0, 0.0], 1, "sum of probabilities <= 0"),
        ([-1.0, 2.0], 1, "element < 0"),
        ([[[1.0]]], 1, "1 or 2 dim"),
    ],
)
def test_errors_of_multinomial(weights, number, message):
    with pytest.raises(RuntimeError, match=message):
        filling.multinomial(seeded(), np.array(weights, np.float32), number)


def test_errors_of_generators():
    with pytest.raises(RuntimeError, match="64 bits"):
        seeded(2**64)
    with pytest.raises(RuntimeError, match="'cuda'"):
        random.Generator("cuda")
    with pytest.raises(TypeError, match="uint8"):
        seeded().set_state(np.zeros(5056, np.int8))
    with pytest.raises(RuntimeError, match="size 5056"):
        seeded().set_state(np.zeros(5, np.uint8))
    with pytest.raises(RuntimeError, match="invalid mt19937 state"):
        seeded().set_state(np.zeros(5056, np.uint8))
    with pytest.raises(RuntimeError, match="non-negative"):
        filling.permutation(seeded(), -1)
