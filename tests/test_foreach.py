"""``_foreach_*``: an operator for each Tensor of a list."""

import math

import pytest

import numbagrad as torch
from numbagrad.ops.writing import foreach


def tensors(**options):
    torch.manual_seed(3)
    return [torch.rand(n, dtype=torch.float64, **options) + 0.5 for n in (3, 1, 4)]


UNARY = [name for name in foreach._UNARY if name not in ("acos", "asin")] + ["max", "clone"]


@pytest.mark.parametrize("name", UNARY)
def test_of_each_tensor(name):
    results = getattr(torch, f"_foreach_{name}")(tensors())
    assert type(results) is tuple
    for result, x in zip(results, tensors(), strict=True):
        assert torch.equal(result, getattr(x, name)())


@pytest.mark.parametrize("name", ["acos", "asin"])
def test_of_each_tensor_of_sines(name):
    xs = torch._foreach_sin(tensors())
    for result, x in zip(getattr(torch, f"_foreach_{name}")(xs), xs, strict=True):
        assert torch.equal(result, getattr(x, name)())


@pytest.mark.parametrize("name", foreach._BINARY)
@pytest.mark.parametrize(
    "others",
    [2, 0.75, [1, 0.5, 2.0], torch.tensor(1.5, dtype=torch.float64), tensors()[::-1]],
    ids=["int", "float", "floats", "tensor", "tensors"],
)
def test_with_a_second_operand(name, others):
    xs = tensors()
    if isinstance(others, list) and isinstance(others[0], torch.Tensor):
        others = [x.flip(0) for x in xs]
    each = others if isinstance(others, list) else [others] * 3
    operator = getattr(torch, name)
    expected = []
    for x, other in zip(xs, each, strict=True):
        if name in ("maximum", "minimum") and not isinstance(other, torch.Tensor):
            other = torch.tensor(other, dtype=torch.float64)
        expected.append(operator(x, other))
    results = getattr(torch, f"_foreach_{name}")(xs, others)
    assert all([torch.equal(a, b) for a, b in zip(results, expected, strict=True)])
    assert getattr(torch, f"_foreach_{name}_")(xs, others) is xs
    assert all([torch.equal(a, b) for a, b in zip(xs, expected, strict=True)])


def test_further_operands():
    xs, ys, zs = tensors(), [2 * x for x in tensors()], [x + 1 for x in tensors()]
    for value in (2.0, [1.0, 2.0, 3.0]):
        each = value if isinstance(value, list) else [value] * 3
        for result, x, y, z, factor in zip(
            torch._foreach_addcmul(xs, ys, zs, value), xs, ys, zs, each, strict=True
        ):
            assert torch.equal(result, torch.addcmul(x, y, z, value=factor))
        for result, x, y, z, factor in zip(
            torch._foreach_addcdiv(xs, ys, zs, value), xs, ys, zs, each, strict=True
        ):
            assert torch.equal(result, torch.addcdiv(x, y, z, value=factor))
    of_tensor = torch._foreach_addcmul(xs, ys, zs, torch.tensor([1.0, 2.0, 3.0]))
    assert torch.equal(of_tensor[1], torch.addcmul(xs[1], ys[1], zs[1], value=2.0))
    for weight in (0.25, [x / 2 for x in tensors()]):
        each = weight if isinstance(weight, list) else [weight] * 3
        for result, x, y, w in zip(torch._foreach_lerp(xs, ys, weight), xs, ys, each, strict=True):
            assert torch.equal(result, torch.lerp(x, y, w))
    assert torch._foreach_add(xs, ys, alpha=2)[0].tolist() == (xs[0] + 2 * ys[0]).tolist()


def test_powers_and_norms():
    xs = tensors()
    for result, x in zip(torch._foreach_pow(xs, [1, 2.0, 0.5]), xs, strict=True):
        assert result.shape == x.shape
    assert torch.equal(torch._foreach_pow(2.0, xs)[0], 2.0 ** xs[0])
    for order in (1, 2, math.inf):
        for result, x in zip(torch._foreach_norm(xs, order), xs, strict=True):
            assert torch.equal(result, torch.linalg.vector_norm(x, order))
    assert torch._foreach_norm([torch.ones(2)], dtype=torch.float64)[0].dtype is torch.float64


def test_writes_and_copies():
    xs = tensors()
    assert torch._foreach_zero_(xs) is xs and all([not x.any() for x in xs])
    torch._foreach_copy_(xs, tensors())
    assert all([torch.equal(x, y) for x, y in zip(xs, tensors(), strict=True)])
    assert [x._version for x in xs] == [2, 2, 2]
    squares = torch._foreach_mm([torch.eye(2), torch.ones(1, 2)], [torch.ones(2, 1)] * 2)
    assert [x.tolist() for x in squares] == [[[1.0], [1.0]], [[2.0]]]


def test_gradients_flow_to_every_tensor():
    xs = [x.detach().requires_grad_() for x in tensors()]
    assert torch.autograd.gradcheck(lambda *x: torch._foreach_exp(x), xs)
    assert torch.autograd.gradcheck(lambda *x: torch._foreach_mul(x, x[::-1][1:2] * 3), xs)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        torch._foreach_add_(xs, 1)
    made = [x * 1 for x in xs]
    torch._foreach_mul_(made, 3)
    sum([x.sum() for x in made]).backward()
    assert all([(x.grad == 3).all() for x in xs])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: torch._foreach_exp([]), RuntimeError, "must have at least one tensor"),
        (lambda: torch._foreach_exp(torch.ones(2)), TypeError, "must be a list of Tensors"),
        (lambda: torch._foreach_exp([1.0]), TypeError, "expected Tensor as element 0"),
        (
            lambda: torch._foreach_add(tensors(), tensors()[:2]),
            RuntimeError,
            "must have the same number of tensors, got 3 and 2",
        ),
        (
            lambda: torch._foreach_add(tensors(), [1.0]),
            RuntimeError,
            "same number of elements as scalar list",
        ),
        (
            lambda: torch._foreach_mul(tensors(), torch.ones(2)),
            RuntimeError,
            "scalar tensor expected to be 0 dim but it has 1 dimensions and 2 elements",
        ),
        (lambda: torch._foreach_mul(tensors(), "x"), TypeError, "takes a number, a Tensor or"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_lists_of_libraries_that_have_no_truth():
    class Vectors(list):
        def __bool__(self):
            raise RuntimeError("ambiguous")

    found = torch._foreach_mul(Vectors([torch.ones(2)]), 2)
    assert found[0].tolist() == [2, 2]
    into = [torch.zeros(2)]
    torch._foreach_copy_(into, Vectors(found), non_blocking=True)
    assert into[0].tolist() == [2, 2]
