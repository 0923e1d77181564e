"""What random programs beside torch brought to light (``fuzz.py``), one statement a test.

The values and the classes of exceptions are torch's.
"""

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.nn import functional as F

HALF_OF_TWO_BYTES = [torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.complex64])
def test_a_view_as_another_dtype_needs_no_gradient(dtype):
    x = torch.ones(2, requires_grad=True) * 2
    other = x.view(dtype)
    assert not other.requires_grad and not other._is_view()
    x.detach().mul_(2)
    assert other._version == x._version == 1


@pytest.mark.parametrize("dtype", HALF_OF_TWO_BYTES)
def test_writes_through_views_of_half_precision(dtype):
    x = torch.ones(1, 3, requires_grad=True)
    base = x.to(dtype)
    view = base.view(-1)
    view -= view * 0.5
    gradient = torch.autograd.grad((base * base * base).sum(), x, create_graph=True)[0]
    assert gradient.tolist() == [[0.375] * 3]
    assert torch.autograd.grad(gradient.sum(), x)[0].tolist() == [[0.75] * 3]


@pytest.mark.parametrize("dtype", HALF_OF_TWO_BYTES)
def test_a_write_into_an_expanded_tensor_without_elements(dtype):
    x = torch.zeros(2, 0, dtype=dtype, requires_grad=True)
    base = x + 2
    view = base.expand_as(base)
    view += 2
    assert torch.autograd.grad((base.sum() + view.sum()), x)[0].shape == (2, 0)


def test_bfloat16_becomes_complex():
    assert torch.tensor([1.0, 2.5], dtype=torch.bfloat16).cfloat().tolist() == [1 + 0j, 2.5 + 0j]


def test_bfloat16_beside_complex_numbers():
    x = torch.tensor([1.0, 2.5], dtype=torch.bfloat16)
    assert (x - torch.tensor([1j, 2.0], dtype=torch.complex128)).tolist() == [1 - 1j, 0.5]


def test_nothing_as_another_dtype():
    assert torch.zeros(2, 4)[:, 4:].view(torch.float64).shape == (2, 0)
    assert torch.trapezoid(torch.zeros(0, 2), torch.ones(3, 2), dim=0).tolist() == [0, 0]


def test_a_mask_is_filled_with_an_element_of_any_dtype():
    x = torch.zeros(3)
    x[torch.tensor([True, False, True])] = TWO[0]
    assert x.tolist() == [1, 0, 1]


def test_cosine_similarity_promotes():
    assert F.cosine_similarity(WHOLE, TWO, 0).dtype == torch.float64


def test_the_weight_of_lerp_may_be_a_number_of_any_dtype():
    assert torch.lerp(torch.zeros(2), ONE, TWO[0] / 2).tolist() == [0.5, 0.5]


def test_nothing_to_search_for():
    assert torch.searchsorted(torch.ones(2, 1), torch.zeros(2, 0)).shape == (2, 0)


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_of_several_dtypes(loss, reduction):
    half = torch.tensor([0.5, 2.0], dtype=torch.float16)
    for other, kind in [
        (torch.uint8, torch.float16),
        (torch.float64, torch.float64),
        (torch.bfloat16, torch.float32),
    ]:
        made = loss(torch.ones(2, dtype=other), half, reduction=reduction)
        assert made.dtype == kind
        assert made.sum().item() > 0.3


def test_attention_of_no_features():
    x = torch.zeros(2, 0)
    assert F.scaled_dot_product_attention(x, x, x).shape == (2, 0)


def test_prelu_has_one_weight_a_channel():
    x = torch.tensor(-2.0)
    assert torch.prelu(x, torch.tensor([0.25])).shape == ()
    assert torch.ones(2, 3).prelu(torch.ones(3)).shape == (2, 3)


@pytest.mark.filterwarnings("ignore:compile")
def test_conjugates_in_compiled_functions_are_views():
    def step(x):
        view = x.mH
        view.mul_(2)
        return view.is_conj()

    compiled = torch.compile(step)
    for _ in range(3):
        x = torch.tensor([[1 + 2j, 3j]])
        assert compiled(x)
        assert x.tolist() == [[2 + 4j, 6j]]


ONE, TWO, MATRIX = torch.ones(2), torch.ones(2, dtype=torch.float64), torch.eye(3)
WHOLE, MASK = torch.tensor([1, 2]), torch.tensor([True, False])
LU, PIVOTS = torch.linalg.lu_factor(MATRIX)

REFUSED = {
    "cross": (RuntimeError, lambda: torch.cross(MATRIX, MATRIX.double(), dim=1)),
    "cross-whole": (RuntimeError, lambda: torch.linalg.cross(MATRIX, MATRIX.long())),
    "jvp-whole": (ValueError, lambda: torch.func.jvp(torch.sin, (ONE,), (torch.ones(3).long(),))),
    "fft": (RuntimeError, lambda: torch.fft.fft(ONE, -1)),
    "argmax-complex": (RuntimeError, lambda: torch.argmax(torch.zeros(0, 2).cfloat(), 0)),
    "rms_norm-number": (RuntimeError, lambda: F.rms_norm(ONE[0], ())),
    "einsum": (RuntimeError, lambda: torch.einsum("ii", torch.ones(2, 1))),
    "group_norm-whole": (ValueError, lambda: F.group_norm(WHOLE[:1, None], 1)),
    "nll_loss-targets": (RuntimeError, lambda: F.nll_loss(ONE, torch.zeros(2, 2).long())),
    "nll_loss-vector": (ValueError, lambda: F.nll_loss(ONE, WHOLE)),
    "index_put-number": (
        RuntimeError, lambda: ONE.clone().__setitem__(torch.tensor(True), TWO[0])),
    "index_reduce-number": (
        RuntimeError, lambda: ONE.index_reduce(0, torch.tensor([0]), ONE[0], "prod")),
    "binary_cross_entropy": (RuntimeError, lambda: F.binary_cross_entropy(ONE / 2, ONE * 3)),
    "batch_norm-averages": (RuntimeError, lambda: F.batch_norm(
        MATRIX, torch.zeros(3, requires_grad=True), torch.ones(3), training=True)),
    "batch_norm-single": (ValueError, lambda: F.batch_norm(ONE[:1], None, None, training=True)),
    "soft_margin_loss": (RuntimeError, lambda: F.soft_margin_loss(
        ONE, torch.ones(2, requires_grad=True))),
    "bilinear": (RuntimeError, lambda: F.bilinear(MATRIX, MATRIX.double(), torch.ones(1, 3, 3))),
    "jvp-sizes": (RuntimeError, lambda: torch.func.jvp(
        torch.sin, (ONE,), (torch.ones(3, dtype=torch.complex64),))),
    "embedding-empty": (RuntimeError, lambda: F.embedding(torch.zeros(2, 0), MATRIX)),
    "histogram": (RuntimeError, lambda: torch.histogram(ONE * float("nan"), 3)),
    "index-numpy": (IndexError, lambda: ONE[np.bool_(True)]),
    "index-fraction": (TypeError, lambda: ONE[0:1.0]),
    "matmul-bool": (NotImplementedError, lambda: torch.dot(MASK, MASK)),
    "floor_divide-complex": (NotImplementedError, lambda: ONE.cfloat() // 0),
    "invert": (TypeError, lambda: ~ONE),
    "isclose": (RuntimeError, lambda: torch.isclose(ONE, TWO)),
    "meshgrid": (RuntimeError, lambda: torch.meshgrid(ONE, TWO, indexing="ij")),
    "cartesian_prod": (RuntimeError, lambda: torch.cartesian_prod(ONE, TWO)),
    "masked_scatter": (RuntimeError, lambda: ONE.masked_scatter(MASK, TWO)),
    "solve": (RuntimeError, lambda: torch.linalg.solve(MATRIX, MATRIX.double())),
    "lu_solve": (RuntimeError, lambda: torch.linalg.lu_solve(LU, PIVOTS, MATRIX.double())),
    "ormqr-tau": (RuntimeError, lambda: torch.ormqr(MATRIX, MATRIX, MATRIX)),
    "ormqr-vector": (RuntimeError, lambda: torch.ormqr(ONE, ONE, MATRIX)),
    "kl_div": (RuntimeError, lambda: F.kl_div(ONE, WHOLE, reduction="none")),
    "prelu-weights": (RuntimeError, lambda: torch.prelu(torch.ones(2, 3), ONE)),
    "prelu-number": (RuntimeError, lambda: torch.prelu(torch.tensor(1.0), ONE)),
    "prelu-dtype": (RuntimeError, lambda: torch.prelu(ONE, TWO[:1])),
    "prelu-matrix": (RuntimeError, lambda: torch.prelu(ONE, torch.ones(1, 1))),
    "pos_weight": (RuntimeError, lambda: F.binary_cross_entropy_with_logits(
        ONE, ONE, pos_weight=torch.ones(2, requires_grad=True))),
    "nll_loss": (RuntimeError, lambda: F.nll_loss(torch.ones(1, 2, 3), WHOLE[None])),
    "rms_norm": (NotImplementedError, lambda: F.rms_norm(WHOLE, (2,))),
    "max_pool1d": (NotImplementedError, lambda: F.max_pool1d(MASK[None], 2)),
    "group_norm": (ValueError, lambda: F.group_norm(torch.ones(1, 1), 1)),
    "linear": (RuntimeError, lambda: F.linear(MATRIX, torch.ones(3), ONE[0])),
    "searchsorted": (RuntimeError, lambda: torch.searchsorted(ONE[0], ONE)),
    "searchsorted-number": (RuntimeError, lambda: torch.searchsorted(MATRIX, ONE[0])),
    "glu": (RuntimeError, lambda: F.glu(ONE[0])),
    "lerp": (RuntimeError, lambda: torch.lerp(ONE, TWO, 0.5)),
    "lerp-weight": (RuntimeError, lambda: torch.lerp(ONE, ONE, TWO)),
    "triangular_solve": (RuntimeError, lambda: torch.triangular_solve(ONE, MATRIX)),
    "cross_entropy": (RuntimeError, lambda: F.cross_entropy(ONE, WHOLE)),
    "embedding": (RuntimeError, lambda: F.embedding(WHOLE, ONE)),
    "diff": (RuntimeError, lambda: torch.diff(MATRIX, prepend=ONE)),
    "as_strided": (RuntimeError, lambda: ONE.as_strided((3, -2), (2, 1))),
    "interpolate": (
        RuntimeError, lambda: F.interpolate(torch.zeros(1, 2, 0), scale_factor=2.0)),
    "triangular_solve-dtype": (
        RuntimeError, lambda: torch.triangular_solve(MATRIX, MATRIX.double())),
    "nll_loss-number": (ValueError, lambda: F.nll_loss(ONE[0], WHOLE)),
    "solve_triangular": (
        RuntimeError, lambda: torch.linalg.solve_triangular(MATRIX, ONE, upper=True)),
    "cosine_similarity": (RuntimeError, lambda: F.cosine_similarity(ONE.cfloat(), ONE, 0)),
    "pad-reflect": (RuntimeError, lambda: F.pad(MATRIX, (3, 0), mode="reflect")),
    "pad-circular": (RuntimeError, lambda: F.pad(MATRIX, (4, 0), mode="circular")),
    "pad-replicate": (RuntimeError, lambda: F.pad(torch.ones(1, 0), (1, 0), mode="replicate")),
    "pad-vector": (NotImplementedError, lambda: F.pad(ONE, (1, 0), mode="reflect")),
    "unflatten": (RuntimeError, lambda: ONE[0].unflatten(0, (1, 1))),
    "index_put": (RuntimeError, lambda: MATRIX.clone().__setitem__([0, 1], TWO[0])),
    "ldexp_": (RuntimeError, lambda: torch.ones(2).ldexp_(ONE.cfloat())),
    "index_fill": (
        RuntimeError, lambda: ONE.index_fill(0, torch.tensor([0]), torch.tensor(1j))),
    "index_copy-ranks": (
        IndexError, lambda: torch.ones(2, 2, 3).index_copy(1, torch.tensor([1, 0]), MATRIX[:2])),
    "index_add-ranks": (
        RuntimeError, lambda: torch.ones(1, 3, 1).index_add(2, torch.tensor([0]), MATRIX)),
    "huber_loss": (RuntimeError, lambda: F.huber_loss(WHOLE, ONE)),
    "pad": (RuntimeError, lambda: F.pad(WHOLE.byte(), (0, 1), value=-1)),
    "nll_loss-target": (ValueError, lambda: F.nll_loss(torch.ones(1, 2, 3), WHOLE[0])),
    "index_select": (RuntimeError, lambda: ONE[0].index_select(0, torch.tensor([0, 0]))),
    "index_copy": (IndexError, lambda: MATRIX.index_copy(0, torch.tensor([-1]), MATRIX[:1])),
    "index_add": (IndexError, lambda: ONE.index_add(0, torch.tensor([5]), ONE[:1])),
    "index_add-rows": (
        RuntimeError, lambda: MATRIX.index_add(0, torch.tensor([5]), MATRIX[:1])),
    "index_reduce": (
        IndexError, lambda: MATRIX.index_reduce(0, torch.tensor([5]), MATRIX[:1], "prod")),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_torch_refuses(name):
    kind, call = REFUSED[name]
    with pytest.raises(kind) as caught:
        call()
    assert caught.type is kind


def _empty_losses():
    classes = [
        (torch.zeros(0, 3), torch.zeros(0, dtype=torch.long)),
        (torch.zeros(2, 3, 0), torch.zeros(2, 0, dtype=torch.long)),
        (torch.zeros(2, 0), torch.full((2,), -100)),
        (torch.zeros(2, 3), torch.full((2,), -100)),
        (torch.zeros(2, 3, 2), torch.full((2, 2), -100)),
        (torch.zeros(3), torch.tensor(-100)),
    ]
    for input, target in classes:
        yield F.nll_loss, input, target, {}
        for smoothing in (0.0, 0.2):
            yield F.cross_entropy, input, target, {"label_smoothing": smoothing}
    for shape in [(0, 3), (2, 0), (2, 3, 0)]:
        yield F.cross_entropy, torch.zeros(shape), torch.zeros(shape), {}


@pytest.mark.parametrize(("loss", "input", "target", "options"), list(_empty_losses()))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_of_no_losses_is_nan(loss, input, target, options, weighted):
    weight = torch.ones(input.shape[min(input.dim() - 1, 1)]) if weighted else None
    x = input.requires_grad_()
    made = loss(x, target, weight, **options)
    made.backward()
    assert made.isnan()
    smoothed = bool(options.get("label_smoothing"))
    assert smoothed or x.grad.tolist() == torch.zeros(x.shape).tolist()
    if not smoothed:
        assert loss(x, target, weight, reduction="sum", **options).item() == 0


@pytest.mark.filterwarnings("ignore:compile")
def test_the_mean_of_no_losses_is_nan_in_compiled_functions():
    def step(x, target):
        return F.cross_entropy(x, target)

    compiled = torch.compile(step)
    x = torch.ones(4, 3, requires_grad=True)
    ignored = torch.full((4,), -100)
    for target in [ignored, torch.tensor([0, 1, -100, 2]), torch.zeros(4).long(), ignored] * 2:
        x.grad = None
        made = compiled(x, target)
        made.backward()
        assert made.isnan() == (target is ignored)
        assert x.grad.any() == (target is not ignored)


DERIVATIVES = {
    "grad": (lambda x: torch.func.grad(_cubes)(x), lambda x: 3 * x * x),
    "grad_and_value": (lambda x: torch.func.grad_and_value(_cubes)(x)[0], lambda x: 3 * x * x),
    "vjp": (lambda x: torch.func.vjp(_cubes, x)[1](torch.tensor(1.0))[0], lambda x: 3 * x * x),
    "jacrev": (lambda x: torch.func.jacrev(_cubes)(x), lambda x: 3 * x * x),
    "jacfwd": (lambda x: torch.func.jacfwd(_cubes)(x), lambda x: 3 * x * x),
    "jvp": (lambda x: torch.func.jvp(_cubes, (x,), (x,))[1], lambda x: 3 * (x**3).sum()),
    "linearize": (lambda x: torch.func.linearize(_cubes, x)[1](x), lambda x: 3 * (x**3).sum()),
    "hessian": (lambda x: torch.func.hessian(_cubes)(x), lambda x: torch.diag(6 * x)),
    "of samples": (lambda x: torch.func.vmap(torch.func.grad(_cubes))(x), lambda x: 3 * x * x),
    "of a gradient": (
        lambda x: torch.func.grad(lambda y: torch.func.grad(_cubes)(y).sum())(x),
        lambda x: 6 * x,
    ),
}


def _cubes(x):
    return (x * x * x).sum()


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("made_inside", [False, True])
@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_derivatives_that_are_asked_for_in_inference_mode(name, made_inside, mode):
    derivative, expected = DERIVATIVES[name]
    x = torch.tensor([1.0, 2.0])
    with mode():
        given = x * 1 if made_inside else x
        found = derivative(given)
        assert torch.is_inference_mode_enabled() == (mode is torch.inference_mode)
    assert torch.equal(found, expected(x))
    assert not found.requires_grad


def test_a_derivative_may_use_inference_tensors_but_not_write_them():
    with torch.inference_mode():
        y = torch.tensor([1.0, 2.0])
    x = torch.tensor([3.0, 4.0])
    assert torch.func.grad(lambda a: (a * y).sum())(x).tolist() == [1, 2]
    assert torch.func.grad(lambda a: (a * a * y).sum())(y).tolist() == [2, 8]

    def writes(a):
        made = a * y
        y.add_(1)
        return made.sum()

    with torch.inference_mode(), pytest.raises(RuntimeError):
        torch.func.grad(writes)(x)
    with pytest.raises(RuntimeError, match="cannot be saved"):
        x.requires_grad_() * y


def test_inference_mode_computes_no_tangents():
    x = torch.tensor([1.0, 2.0])

    def squares(a):
        with torch.inference_mode():
            made = a * a
        return made * a

    assert torch.func.jvp(squares, (x,), (x,))[1].tolist() == [1, 8]
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        for mode in (True, False):
            with torch.inference_mode(mode):
                dual = forward.make_dual(x, x)
                assert (forward.unpack_dual(dual * dual).tangent is None) == mode
        assert forward.unpack_dual(forward.make_dual(x, x) * 2).tangent is not None
    with torch.no_grad(), torch.inference_mode(False):
        assert torch.is_grad_enabled()


@pytest.mark.parametrize("divisor", [torch.tensor([True, False]), False, torch.tensor(False)])
def test_division_of_booleans_is_missing_whatever_the_divisor(divisor):
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        torch.tensor([True, True]) // divisor


WIDER = ["mul_", "div_", "pow_", "atan2_", "hypot_", "clamp_", "xlogy_", "add_", "copysign_"]


@pytest.mark.parametrize("name", WIDER)
@pytest.mark.parametrize("narrow", [torch.float32, *HALF_OF_TWO_BYTES])
@pytest.mark.parametrize("wide", [torch.float64, torch.float32])
def test_gradients_of_a_write_by_a_wider_operand_have_the_dtypes_of_the_operands(
    name, narrow, wide
):
    x = torch.tensor([1.0, 2.0, 3.0], dtype=narrow, requires_grad=True)
    y = torch.tensor([2.0, 1.0, 4.0], dtype=wide, requires_grad=True)
    written = x * 1
    getattr(written, name)(y)
    assert written.dtype is narrow
    for recorded in (False, True):
        gradients = torch.autograd.grad(
            written.sum(), (x, y), retain_graph=True, create_graph=recorded, materialize_grads=True
        )
        assert [each.dtype for each in gradients] == [narrow, wide]


@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.int64, torch.complex64])
def test_a_part_is_replaced_by_elements_of_any_dtype(kind):
    x = torch.zeros(3, 3, requires_grad=True)
    new = torch.tensor([1, 2, 3], dtype=kind, requires_grad=kind.is_floating_point)
    parts = [
        x.select_scatter(new, 0, 1),
        x.slice_scatter(new[None], 0, 1, 2),
        x.diagonal_scatter(new),
        x.as_strided_scatter(new, (3,), (1,), 3),
    ]
    for made in parts:
        assert made.dtype is torch.float32
        assert made.sum().item() == 6
        given = torch.autograd.grad(made.sum(), [x, new] if new.requires_grad else [x])
        assert [each.dtype for each in given] == [x.dtype, kind][: len(given)]
        assert given[0].sum().item() == 6


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_ellipsis_behind_another_stands_for_nothing(number):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    key = (1, *[...] * number)
    assert x[key].tolist() == [3, 4, 5]
    assert torch.autograd.grad(x[key].sum(), x)[0].tolist() == [[0, 0, 0], [1, 1, 1]]
    written = x * 1
    written[key] = 7
    assert written[1].tolist() == [7, 7, 7]
    assert written[(*[...] * number, None)[-2:]].shape == (2, 3, 1)
    if number > 1:  # each stands for all dimensions that have no index
        with pytest.raises(IndexError, match="follow a second Ellipsis"):
            written[(*[...] * number, None)]


def test_nothing_is_written_where_the_index_is_false():
    x, value = torch.ones(2, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    written = x * 1
    written[False] = value
    written.sum().backward()
    assert value.grad is None and x.grad.tolist() == [1, 1]


@pytest.mark.parametrize("right", [False, True])
def test_nan_among_boundaries_is_passed_by(right):
    rows = torch.tensor([[0.0, 1.0, float("nan")], [0.0, float("nan"), 2.0]])
    values = torch.tensor([[float("nan"), 3.0, 1.0], [float("nan"), 2.0, 0.0]])
    expected = [[3, 3, 3], [3, 3, 2]] if right else [[3, 3, 1], [3, 2, 2]]
    assert torch.searchsorted(rows, values, right=right).tolist() == expected
    assert torch.bucketize(values[0], rows[0], right=right).tolist() == expected[0]


def test_products_of_vectors_along_all_dimensions():
    x = torch.tensor([1.0, 2.0])
    assert torch.inner(x, x).item() == torch.tensordot(x, x, 1).item() == 5
    assert torch.tensordot(x[0], x[1], 0).item() == 2


def test_the_integral_of_one_sample():
    assert torch.trapezoid(torch.tensor([2.0])).item() == 0
    assert torch.trapezoid(torch.tensor([float("nan")])).isnan()


VECTOR_LOSSES = {
    "margin_ranking_loss": lambda x, y: F.margin_ranking_loss(x, x, y),
    "triplet_margin_loss": lambda x, y: F.triplet_margin_loss(x, x * 2, y),
    "multilabel_soft_margin_loss": F.multilabel_soft_margin_loss,
    "cross_entropy": F.cross_entropy,
    "kl_div": lambda x, y: F.kl_div(x, y, reduction="sum"),
}


@pytest.mark.parametrize("name", VECTOR_LOSSES)
@pytest.mark.parametrize("half", HALF_OF_TWO_BYTES)
@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
def test_losses_of_half_precision_beside_wider_operands(name, half, wide):
    x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.25, 0.25, 0.5])
    expected = VECTOR_LOSSES[name](x, y)
    for first, second in [(half, wide), (wide, half)]:
        made = VECTOR_LOSSES[name](x.to(first), y.to(second))
        assert made.dtype is wide
        assert abs(made.item() - expected.item()) < 0.02


def test_margins_of_integers_make_floats():
    x = torch.tensor([[3, 1, 2]])
    ones = torch.ones(1, 3, dtype=torch.long)
    assert F.margin_ranking_loss(x, x * 2, ones).item() == 2
    assert F.hinge_embedding_loss(x, -ones, margin=2, reduction="none").dtype is torch.float32
    assert F.cosine_embedding_loss(x, x, ones[0, :1]).item() == pytest.approx(0, abs=1e-6)
    assert F.triplet_margin_loss(x, x, x * 2.0).dtype is torch.float32


def test_small_targets_are_not_negated_in_their_dtype():
    x = torch.tensor([2.0])
    target = torch.tensor([3], dtype=torch.uint8)
    assert F.soft_margin_loss(x, target).item() == F.soft_margin_loss(x, target.float()).item()


def test_layers_have_the_dtype_of_their_input():
    weight = torch.ones(3, dtype=torch.float64)
    assert F.rms_norm(MATRIX, (3,), weight).dtype is torch.float32
    whole = torch.ones(2, 3, dtype=torch.int32)
    assert F.bilinear(whole, whole, torch.ones(4, 3, 3, dtype=torch.int32)).dtype is torch.int32
    pooled = F.avg_pool1d(torch.tensor([[1, 2, 4, 8]]), 2)
    assert pooled.dtype is torch.int64 and pooled.tolist() == [[1, 6]]


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_of_nothing_is_no_alias(training):
    x = torch.zeros(2, 0, requires_grad=True)
    made = F.batch_norm(x, None, None, training=training)
    assert made.shape == (2, 0) and made.requires_grad and not made.is_leaf
    assert F.batch_norm(torch.zeros(0), None, None, training=training).shape == (0,)


def test_a_number_beside_matrices_does_not_widen_them():
    number = torch.tensor(1.0, dtype=torch.float64)
    assert torch.block_diag(number, MATRIX).dtype is torch.float32
    assert torch.block_diag(number * 1j, MATRIX).dtype is torch.complex64
    assert torch.block_diag(number, torch.tensor(1)).dtype is torch.float64


def test_a_complex_outer_product_has_fractions_as_factors():
    x = torch.ones(2, dtype=torch.complex64)
    assert torch.addr(torch.ones(2, 2), x, x, beta=0.5).tolist() == [[1.5 + 0j] * 2] * 2


def test_the_gradient_of_a_shape_that_was_given_unrecorded():
    x = torch.ones(2, 3, requires_grad=True)
    made = x * 2
    with torch.no_grad():
        made.unsqueeze_(0)
    made.sum().backward()
    assert x.grad.tolist() == [[2, 2, 2]] * 2
    turned = x * 2
    with torch.no_grad():
        turned.t_()
    with pytest.raises(RuntimeError, match="returned an invalid gradient"):
        turned.sum().backward()


@pytest.mark.parametrize("input", [torch.ones(2), torch.ones(1), torch.tensor(1.0)])
@pytest.mark.parametrize("index", [torch.tensor([0]), torch.tensor(0)])
@pytest.mark.parametrize("value", [torch.tensor(2.0), torch.tensor([2.0])])
def test_a_number_is_scattered_as_a_vector_is(input, index, value):
    x, source = input.clone().requires_grad_(), value.clone().requires_grad_()
    rest = [1.0] * (x.numel() - 1)
    for made, first in [
        (x.scatter(0, index, source), 2),
        (x.scatter_add(0, index, source), 3),
        (x.scatter_reduce(0, index, source, "prod"), 2),
        (x.scatter_reduce(0, index, source, "sum", include_self=False), 2),
        ((x * 1).scatter_add_(0, index, source), 3),
        (x.index_copy(0, index, source), 2),
    ]:
        assert made.shape == x.shape and made.reshape(-1).tolist() == [first, *rest]
        given = torch.autograd.grad(made.sum(), (x, source))
        assert [each.shape for each in given] == [x.shape, source.shape]
        assert given[1].item() == 1


def test_one_class_for_a_vector_may_be_a_vector():
    scores = torch.tensor([1.0, 2.0, 3.0])
    for reduction in ("mean", "none"):
        assert F.nll_loss(scores, WHOLE[:1], reduction=reduction).tolist() == -2
        assert F.cross_entropy(scores, WHOLE[:1], reduction=reduction).shape == ()


def test_everything_is_written_where_the_index_is_true():
    mask = torch.zeros(2, 2, dtype=torch.bool)
    mask[True] = torch.tensor([0.0, 1.5])
    assert mask.tolist() == [[False, True]] * 2


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.int64])
def test_a_real_number_beside_complex_samples(kind):
    samples, number = torch.tensor([[1j], [2j]]), torch.tensor(2, dtype=kind)
    for operator in (torch.mul, torch.add, torch.sub, torch.div, torch.eq):
        made = torch.func.vmap(lambda x, f=operator: f(x, number))(samples)
        assert torch.equal(made, operator(samples, number))
        assert made.dtype is operator(samples, number).dtype


FRESH = {
    "quantile": lambda x: torch.quantile(x, 0.5, 1, interpolation="nearest"),
    "nanquantile": lambda x: torch.nanquantile(x, 0.5, 1),
    "put": lambda x: x.put(torch.tensor([0]), x[0, :1]),
    "as_strided_scatter": lambda x: x.as_strided_scatter(x[0], (3,), (1,)),
    "combinations": lambda x: torch.combinations(x[0]),
    "lstsq": lambda x: torch.linalg.lstsq(x, x[0]).solution,
}


@pytest.mark.parametrize("name", FRESH)
def test_a_result_is_no_view_and_may_be_written(name):
    x = torch.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
    with torch.no_grad():
        made = FRESH[name](x)
    assert not made._is_view()
    made.mul_(torch.tensor(2.0, requires_grad=True))
    assert made.requires_grad and FRESH[name](x.requires_grad_()).sum().requires_grad


def test_differences_of_nothing():
    x = torch.zeros(2, 0, requires_grad=True)
    assert torch.diff(x, 2, 1).shape == (2, 0) and torch.diff(x, 2, 1).is_leaf
    assert torch.diff(x, 3, 0).shape == (0, 0)
    assert torch.diff(MATRIX, 5, 0).shape == (0, 3)


@pytest.mark.parametrize("dim", [0, 1])
def test_an_empty_vector_that_is_joined_has_a_gradient(dim):
    empty = torch.zeros(0, requires_grad=True)
    made = torch.cat([empty, MATRIX, empty * 2], dim)
    assert torch.equal(made, MATRIX)
    assert torch.autograd.grad(made.sum(), empty)[0].shape == (0,)
    assert torch.cat([empty, empty]).shape == (0,)


def test_an_infinite_gradient_of_a_trace_stays_on_the_diagonal():
    x = torch.ones(2, 3, requires_grad=True)
    gradient = torch.autograd.grad(torch.trace(x), x, torch.tensor(float("inf")))[0]
    assert gradient.tolist() == [[float("inf"), 0, 0], [0, float("inf"), 0]]


def test_a_single_repeat_is_a_copy():
    x = torch.ones(2, 3)
    for made in (x.repeat_interleave(1), x.repeat_interleave(1, 0), x.t().repeat_interleave(1, 1)):
        made.mul_(2)
    assert x.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("key", [None, (None, ...), slice(None)])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_tensor_may_be_written_into_itself(key, requires_grad):
    x = torch.arange(6.0, requires_grad=requires_grad).reshape(2, 3) * 1
    x[key] = x
    x[0] = x[:1]
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    with pytest.raises(RuntimeError, match="single memory location"):
        x[1:] = x.view(-1)[1:4]


def test_new_dimensions_of_an_expanded_tensor_have_strides():
    assert torch.ones(2, 4).expand(1, 2, 4).stride() == (8, 4, 1)
    assert torch.ones(2, 4).expand(3, 1, 2, 4).stride() == (0, 8, 4, 1)
    assert torch.ones(()).expand(1, 1).stride() == (0, 0)


def test_as_strided_scatter_counts_in_the_memory_of_a_view():
    x = torch.arange(9.0).reshape(3, 3)
    made = x[1:].as_strided_scatter(torch.tensor([20.0, 30.0]), (2,), (2,), 1)
    assert made.tolist() == [[30.0, 4.0, 5.0], [6.0, 7.0, 8.0]]
    made = x[::2].as_strided_scatter(torch.tensor([20.0, 30.0]), (2,), (2,), 1)
    assert made.tolist() == [[0.0, 20.0, 2.0], [6.0, 7.0, 8.0]]
    assert made.stride() == (6, 1)


def test_tensors_of_the_common_shape_are_broadcast_to_themselves():
    x = torch.ones(2, 1)
    found, other = torch.broadcast_tensors(x, torch.ones(()))
    assert found is x
    assert other.shape == (2, 1)
