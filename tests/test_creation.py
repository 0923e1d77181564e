"""Creation: what torch 2.13 printed for the same calls, written out, and what it raised."""

import tracemalloc
import warnings

import numpy as np
import pytest

import numbagrad as torch


def evaluate(expression):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(expression, {"torch": torch, "np": np})


@pytest.mark.parametrize(
    "expression, text",
    [
        # dtypes follow the data
        ("torch.tensor([[1, 2.0], [3, 4]])", "tensor([[1., 2.],\n        [3., 4.]])"),
        ("torch.tensor([])", "tensor([])"),
        ("torch.tensor([[], []])", "tensor([], size=(2, 0))"),
        ("torch.tensor([True, 1])", "tensor([1, 1])"),
        ("torch.tensor([True, 1.0])", "tensor([1., 1.])"),
        ("torch.tensor(range(3))", "tensor([0, 1, 2])"),
        ("torch.tensor(np.float64(1))", "tensor(1., dtype=torch.float64)"),
        ("torch.tensor([np.float32(1), 1.0])", "tensor([1., 1.])"),
        ("torch.tensor([np.float64(1), 1])", "tensor([1., 1.], dtype=torch.float64)"),
        ("torch.tensor([np.int32(1), 1])", "tensor([1, 1])"),
        ("torch.tensor([np.array([1, 2])])", "tensor([[1, 2]])"),
        ("torch.tensor([torch.tensor(1.0, dtype=torch.float64), 2])",
         "tensor([1., 2.], dtype=torch.float64)"),
        # dtypes that are asked for
        ("torch.tensor([1.7], dtype=torch.int64)", "tensor([1])"),
        ("torch.tensor([1.7], dtype=torch.bool)", "tensor([True])"),
        ("torch.tensor([-1], dtype=torch.uint8)", "tensor([255], dtype=torch.uint8)"),
        ("torch.tensor([1e5], dtype=torch.float16)", "tensor([inf], dtype=torch.float16)"),
        ("torch.tensor([1e50])", "tensor([inf])"),
        ("torch.as_tensor([1.5], dtype=torch.int64)", "tensor([1])"),
        ("torch.zeros(2, dtype=float)", "tensor([0., 0.], dtype=torch.float64)"),
        ("torch.scalar_tensor(3)", "tensor(3.)"),
        # sizes in every spelling
        ("torch.zeros(())", "tensor(0.)"),
        ("torch.zeros(torch.Size([1, 2]))", "tensor([[0., 0.]])"),
        ("torch.zeros(size=(2,))", "tensor([0., 0.])"),
        ("torch.zeros(torch.tensor(2))", "tensor([0., 0.])"),
        ("torch.ones([1, 2], dtype=torch.bool)", "tensor([[True, True]])"),
        ("torch.zeros(1, 2, out=torch.ones(1, 2))", "tensor([[0., 0.]])"),
        # filled
        ("torch.full((2,), True)", "tensor([True, True])"),
        ("torch.full((2,), 1)", "tensor([1, 1])"),
        ("torch.full((2,), 1.5)", "tensor([1.5000, 1.5000])"),
        ("torch.full((2,), 1.5, dtype=torch.int64)", "tensor([1, 1])"),
        ("torch.full((2,), -5, dtype=torch.uint8)", "tensor([251, 251], dtype=torch.uint8)"),
        ("torch.full((2,), torch.tensor(3))", "tensor([3, 3])"),
        ("torch.full_like(torch.zeros(2), 3)", "tensor([3., 3.])"),
        ("torch.ones_like(torch.zeros(2), dtype=torch.int8)", "tensor([1, 1], dtype=torch.int8)"),
        ("torch.eye(2, 3, dtype=torch.int64)", "tensor([[1, 0, 0],\n        [0, 1, 0]])"),
        # sequences
        ("torch.arange(5.0)", "tensor([0., 1., 2., 3., 4.])"),
        ("torch.arange(True)", "tensor([0])"),
        ("torch.arange(5, 0, -2)", "tensor([5, 3, 1])"),
        ("torch.arange(0, 1, 0.3)", "tensor([0.0000, 0.3000, 0.6000, 0.9000])"),
        ("torch.arange(3, -1, -1, dtype=torch.int8)", "tensor([3, 2, 1, 0], dtype=torch.int8)"),
        ("torch.arange(0, torch.tensor(3))", "tensor([0, 1, 2])"),
        ("torch.range(1, 4)", "tensor([1., 2., 3., 4.])"),
        ("torch.linspace(0, 1, 0)", "tensor([])"),
        ("torch.linspace(0, 1, 1)", "tensor([0.])"),
        ("torch.linspace(0, 10, 5, dtype=torch.int64)", "tensor([ 0,  2,  5,  7, 10])"),
        ("torch.linspace(-1, 1, 7)",
         "tensor([-1.0000e+00, -6.6667e-01, -3.3333e-01, -2.9802e-08,  3.3333e-01,\n"
         "         6.6667e-01,  1.0000e+00])"),
        ("torch.logspace(0, 2, 5)", "tensor([  1.0000,   3.1623,  10.0000,  31.6228, 100.0000])"),
        ("torch.logspace(0, 2, 3, base=2)", "tensor([1., 2., 4.])"),
        ("torch.tril_indices(2, 2)", "tensor([[0, 1, 1],\n        [0, 0, 1]])"),
        ("torch.triu_indices(2, 3, 1)", "tensor([[0, 0, 1],\n        [1, 2, 2]])"),
        # in the dtype of another tensor
        ("torch.zeros(2, dtype=torch.int8).new_zeros(2)", "tensor([0, 0], dtype=torch.int8)"),
        ("torch.zeros(2).new_tensor([1, 2])", "tensor([1., 2.])"),
        ("torch.zeros(2).new_full((2,), 3)", "tensor([3., 3.])"),
        ("torch.zeros(2).new_ones((1, 2), dtype=torch.int64)", "tensor([[1, 1]])"),
        # torch's older era
        ("torch.Tensor([1, 2])", "tensor([1., 2.])"),
        ("torch.Tensor()", "tensor([])"),
        ("torch.LongTensor([1, 2])", "tensor([1, 2])"),
        ("torch.ByteTensor([1, 2])", "tensor([1, 2], dtype=torch.uint8)"),
        ("torch.ones(2).new([1, 2])", "tensor([1., 2.])"),
        ("torch.autograd.Variable(torch.FloatTensor([1]), requires_grad=True)",
         "tensor([1.], requires_grad=True)"),
    ],
)  # fmt: skip
def test_made(expression, text):
    assert repr(evaluate(expression)) == text


@pytest.mark.parametrize(
    "expression, error, text",
    [
        ("torch.tensor([[1, 2], [3]])", ValueError,
         "expected sequence of length 2 at dim 1 (got 1)"),
        ("torch.tensor([[1, 2], 3])", TypeError, "not a sequence"),
        ("torch.tensor([1, [2]])", TypeError,
         "'list' object cannot be interpreted as an integer"),
        ("torch.tensor('a')", TypeError, "new(): invalid data type 'str'"),
        ("torch.tensor(['a'])", ValueError, "too many dimensions 'str'"),
        ("torch.tensor(None)", RuntimeError, "Could not infer dtype of NoneType"),
        ("torch.tensor([None])", RuntimeError, "Could not infer dtype of NoneType"),
        ("torch.tensor({1: 2})", RuntimeError, "Could not infer dtype of dict"),
        ("torch.tensor(2**63)", ValueError, "Overflow when unpacking long long"),
        ("torch.tensor([torch.ones(2)])", ValueError,
         "only one element tensors can be converted to Python scalars"),
        ("torch.tensor([300], dtype=torch.uint8)", RuntimeError,
         "value cannot be converted to type uint8 without overflow"),
        ("torch.tensor([-129], dtype=torch.int8)", RuntimeError, "without overflow"),
        ("torch.tensor([float('nan')], dtype=torch.int32)", RuntimeError, "without overflow"),
        ("torch.tensor([2.0**63], dtype=torch.int64)", RuntimeError, "without overflow"),
        ("torch.tensor(1, requires_grad=True)", RuntimeError,
         "Only Tensors of floating point and complex dtype can require gradients"),
        ("torch.zeros(-1)", RuntimeError, "zeros: Dimension size must be non-negative"),
        ("torch.zeros(1.5)", TypeError, "zeros(): argument 'size'"),
        ("torch.zeros()", TypeError, 'zeros() missing 1 required positional arguments: "size"'),
        ("torch.zeros(2, dtype='float32')", TypeError,
         "zeros(): argument 'dtype' must be torch.dtype, not str"),
        ("torch.zeros(2, device='cuda')", AssertionError, "Torch not compiled with CUDA enabled"),
        ("torch.zeros_like([1])", TypeError,
         "zeros_like(): argument 'input' (position 1) must be Tensor, not list"),
        ("torch.arange(0, 5, 0)", RuntimeError, "step must be nonzero"),
        ("torch.arange(5, 0, 1)", RuntimeError,
         "upper bound and lower bound inconsistent with step sign"),
        ("torch.arange(0, float('nan'))", RuntimeError, "unsupported range: 0 -> nan"),
        ("torch.arange(0, 1e30)", RuntimeError, "possible overflow?"),
        ("torch.linspace(0, 1, -1)", RuntimeError, "number of steps must be non-negative"),
        ("torch.eye(2, -1)", RuntimeError, "m must be greater or equal to 0, got -1"),
        ("torch.full((2,), 300, dtype=torch.uint8)", RuntimeError,
         "value cannot be converted to type uint8_t without overflow"),
        ("torch.full((2,), 1e50)", RuntimeError,
         "value cannot be converted to type float without overflow"),
        ("torch.full((2,), 'a')", TypeError, "must be Number, not str"),
        ("torch.from_numpy([1])", TypeError, "expected np.ndarray (got list)"),
        ("torch.from_numpy(np.arange(3)[::-1])", ValueError,
         "At least one stride in the given numpy array is negative"),
        ("torch.tensor(np.arange(3)[::-1])", ValueError, "is negative"),
        ("torch.from_numpy(np.zeros(3, '>f4'))", ValueError, "byte order different"),
        ("torch.from_numpy(np.zeros(3, 'U1'))", TypeError,
         "can't convert np.ndarray of type numpy.str_"),
        ("torch.from_numpy(np.zeros(2, 'i1,f4')['f1'])", ValueError,
         "given numpy array strides not a multiple of the element byte size"),
        ("torch.FloatTensor(torch.ones(2).double())", TypeError, "expected torch.FloatTensor"),
        ("torch.Tensor(3.5)", TypeError, "got float"),
    ],
)  # fmt: skip
def test_refused(expression, error, text):
    with pytest.raises(error) as caught:
        evaluate(expression)
    assert text in str(caught.value)


def test_tensor_copies_and_says_so_for_a_tensor():
    source = torch.ones(2)
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        made = torch.tensor(source)
    array = np.zeros(2)
    torch.tensor(array).fill_(1)
    made.fill_(2)
    assert source.tolist() == [1, 1] and array.tolist() == [0, 0]


def test_from_numpy_shares_memory_both_ways():
    array = np.zeros((2, 3), np.float32)
    shared = torch.from_numpy(array[:, 1:])
    array[0, 1] = 5
    assert shared.tolist() == [[5, 0], [0, 0]] and shared.stride() == (3, 1)
    shared.fill_(7)
    assert array.tolist() == [[0, 7, 7], [0, 7, 7]]
    shared.numpy()[0, 0] = 1
    assert array[0, 1] == 1


def test_from_numpy_keeps_its_shape_when_the_array_gets_another():
    array = np.zeros((2, 3))
    shared = torch.from_numpy(array)
    array.shape = (6,)
    assert shared.shape == (2, 3)
    shared.numpy().shape = (6,)
    assert shared.shape == (2, 3)


def test_read_only_memory_is_taken_with_a_warning(monkeypatch):
    monkeypatch.setattr("numbagrad.ops.creation.from_memory._warned_of_read_only", False)
    with pytest.warns(UserWarning, match="not writable"):
        torch.from_numpy(np.broadcast_to(np.zeros(1), (3,)))


def test_as_tensor_copies_only_if_it_must():
    tensor, array = torch.ones(2), np.ones(2)
    assert torch.as_tensor(tensor) is tensor
    assert torch.as_tensor(tensor, dtype=torch.float64) is not tensor
    assert np.shares_memory(torch.as_tensor(array).numpy(), array)
    assert not np.shares_memory(torch.as_tensor(array, dtype=torch.float32).numpy(), array)


def test_asarray_copies_as_told():
    array = np.ones(2)
    assert np.shares_memory(torch.asarray(array).numpy(), array)
    assert not np.shares_memory(torch.asarray(array, copy=True).numpy(), array)
    with pytest.raises(ValueError, match="can't alias"):
        torch.asarray([1, 2], copy=False)


def test_frombuffer_reads_bytes():
    memory = bytearray(np.arange(3, dtype=np.int32).tobytes())
    made = torch.frombuffer(memory, dtype=torch.int32, offset=4)
    assert made.tolist() == [1, 2]
    memory[4] = 9
    assert made.tolist() == [9, 2]


def test_a_tensor_like_another_has_its_strides():
    transposed = torch.zeros(2, 3).t()
    assert torch.ones_like(transposed).stride() == (1, 3)
    contiguous = torch.ones_like(transposed, memory_format=torch.contiguous_format)
    assert contiguous.stride() == (2, 1)


def test_empty_strided_positions_elements_as_told():
    made = torch.empty_strided((2, 3), (1, 2))
    assert made.shape == (2, 3) and made.stride() == (1, 2)
    with pytest.raises(RuntimeError, match="one stride >= 0 a dimension"):
        torch.empty_strided((2, 3), (1,))


def test_the_default_dtype_decides():
    torch.set_default_dtype(torch.float64)
    try:
        made = [torch.zeros(1), torch.tensor(1.0), torch.rand(1), torch.arange(1.0), torch.Tensor()]
        assert {tensor.dtype for tensor in made} == {torch.float64}
    finally:
        torch.set_default_dtype(torch.float32)


def test_requires_grad_makes_a_leaf_that_collects():
    leaf = torch.full((2,), 3.0, requires_grad=True)
    (leaf * leaf).backward(torch.ones(2))
    assert leaf.is_leaf and leaf.grad.tolist() == [6, 6]


class TestRandom:
    """The numbers themselves are tested in test_random.py."""

    def test_equal_seeds_give_equal_numbers(self):
        for draw in (
            lambda: torch.rand(3, 2),
            lambda: torch.randn(20),
            lambda: torch.randint(10, (5,)),
            lambda: torch.randperm(7),
            lambda: torch.normal(torch.zeros(4), torch.ones(4)),
            lambda: torch.bernoulli(torch.full((5,), 0.5)),
            lambda: torch.zeros(5).uniform_(2, 3),
            lambda: torch.multinomial(torch.ones(6), 3),
            lambda: torch.rand_like(torch.zeros(2)),
            lambda: torch.randn_like(torch.zeros(2)),
        ):
            torch.manual_seed(7)
            first = draw()
            torch.manual_seed(7)
            assert torch.equal(first, draw())

    def test_torchs_first_numbers(self):
        torch.manual_seed(0)
        assert repr(torch.randn(2, 3)) == (
            "tensor([[ 1.5410, -0.2934, -2.1788],\n        [ 0.5684, -1.0845, -1.3986]])"
        )
        torch.manual_seed(0)
        assert repr(torch.rand(3)) == "tensor([0.4963, 0.7682, 0.0885])"

    def test_a_generator_of_ones_own(self):
        generator = torch.Generator().manual_seed(3)
        state = torch.get_rng_state()
        first = torch.rand(2, generator=generator)
        assert torch.equal(torch.get_rng_state(), state)
        assert torch.equal(first, torch.rand(2, generator=generator.manual_seed(3)))

    def test_the_state_can_be_put_back(self):
        state = torch.get_rng_state()
        first = torch.rand(3)
        torch.set_rng_state(state)
        assert state.dtype is torch.uint8 and torch.equal(first, torch.rand(3))

    def test_normal_takes_means_and_deviations(self):
        torch.manual_seed(1)
        standard = torch.normal(0.0, 1.0, (4,))
        torch.manual_seed(1)
        mean = torch.arange(4.0)
        made = torch.normal(mean, torch.full((4,), 2.0))
        assert torch.equal(made, standard * 2 + mean)
        torch.manual_seed(1)
        assert torch.equal(torch.normal(1.0, torch.ones(4)), standard + 1)

    @pytest.mark.parametrize(
        "expression, error, text",
        [
            ("torch.randint(5, 2)", TypeError, "must be tuple of ints, not int"),
            ("torch.randint(5, 3, (2,))", RuntimeError, "'from' to be less than 'to'"),
            ("torch.normal(0.0, -1.0, (2,))", RuntimeError, "expects std >= 0.0"),
            ("torch.normal(torch.zeros(2), -torch.ones(2))", RuntimeError, "std >= 0.0"),
            ("torch.normal(torch.zeros(2), torch.ones(3))", RuntimeError, "must match the size"),
            ("torch.normal(0.0, 1.0)", TypeError, "size"),
            ("torch.bernoulli(torch.tensor([2.0]))", RuntimeError, "in [0, 1]"),
            ("torch.ones(2).uniform_(1, 0)", RuntimeError, "[from, to) range"),
            ("torch.ones(2, requires_grad=True).normal_()", RuntimeError,
             "a leaf Variable that requires grad is being used in an in-place operation."),
        ],
    )  # fmt: skip
    def test_refused(self, expression, error, text):
        with pytest.raises(error) as caught:
            evaluate(expression)
        assert text in str(caught.value)

    def test_filling_cuts_the_history_off(self):
        leaf = torch.ones(2, requires_grad=True)
        filled = (leaf * 2).uniform_()
        assert filled.grad_fn.name() == "UniformBackward0"
        filled.backward(torch.ones(2))
        assert leaf.grad.tolist() == [0, 0]

    def test_drawing_by_probabilities_has_no_slope(self):
        probability = torch.full((3,), 0.5, requires_grad=True)
        drawn = torch.bernoulli(probability)
        assert drawn.grad_fn.name() == "BernoulliBackward0"
        drawn.backward(torch.ones(3))
        assert probability.grad.tolist() == [0, 0, 0]

    def test_filling_counts_as_a_write(self):
        leaf = torch.ones(2, requires_grad=True)
        other = torch.ones(2)
        product = leaf * other
        other.normal_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward(torch.ones(2))


SEQUENCES = {
    "arange of integers": lambda n, dtype: torch.arange(n, dtype=dtype),
    "arange of fractions": lambda n, dtype: torch.arange(0, n / 2, 0.5, dtype=dtype),
    "linspace": lambda n, dtype: torch.linspace(0, 100, n, dtype=dtype),
    "logspace": lambda n, dtype: torch.logspace(0, 2, n, dtype=dtype),
}


@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("name", SEQUENCES)
def test_a_long_sequence_takes_little_memory_beside_its_own(name, dtype):
    call = SEQUENCES[name]
    count = 1 << 21
    call(2000, dtype)
    tracemalloc.start()
    try:
        made = call(count, dtype)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert made.numel() == count
    assert peak < 1.1 * made.nbytes + (5 << 20)


@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", SEQUENCES)
def test_a_long_sequence_goes_on_over_blocks(name, dtype):
    count = (1 << 17) + 3
    made = SEQUENCES[name](count, torch.float64).numpy()
    expected = {
        "arange of integers": np.arange(count),
        "arange of fractions": np.arange(count) / 2,
        "linspace": np.linspace(0, 100, count),
        "logspace": np.logspace(0, 2, count),
    }[name]
    np.testing.assert_allclose(made, expected, rtol=1e-12)
    narrow = SEQUENCES[name](count, dtype)
    if dtype is torch.float64 or (dtype is torch.int8 and not name.startswith("arange")):
        assert narrow.equal(torch.from_numpy(made).to(dtype))
