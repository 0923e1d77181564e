"""What eager execution once did otherwise than torch, case by case, with its neighbours."""

import itertools

import numpy as np
import pytest
import torch
import torch.autograd._functions
import torch.utils.data
from parity_tools import both, close

import numbagrad
import numbagrad.autograd._functions

LIBRARIES = (numbagrad, torch)


def result(function, library):
    """What a function returns, its tensors as lists; or the class of its error."""
    try:
        made = function(library)
    except (RuntimeError, TypeError, IndexError, ValueError) as error:
        return type(error)
    several = made if isinstance(made, (tuple, list)) else (made,)
    return [
        (str(x.dtype).rsplit(".", 1)[-1], x.requires_grad, tuple(x.shape), _numbers(x))
        if isinstance(x, library.Tensor)
        else x
        for x in several
    ]


def _numbers(tensor):
    """The elements as what compares as equal: NaN equals itself, and 0 equals -0."""
    return [str(x) if x != x else x for x in np.ravel(tensor.detach().numpy()).tolist()]


def same(function):
    """Check that both libraries return the same, or raise errors of one class."""
    ours, theirs = (result(function, library) for library in LIBRARIES)
    if isinstance(ours, type) and isinstance(theirs, type):
        assert issubclass(ours, theirs) or issubclass(theirs, ours)
    else:
        assert ours == theirs


# --- numbers alone --------------------------------------------------------------------------------

ARITHMETIC = {
    "add": lambda t, *x: t.add(*x), "sub": lambda t, *x: t.sub(*x),
    "subtract": lambda t, *x: t.subtract(*x), "mul": lambda t, *x: t.mul(*x),
    "multiply": lambda t, *x: t.multiply(*x), "div": lambda t, *x: t.div(*x),
    "divide": lambda t, *x: t.divide(*x), "floor_divide": lambda t, *x: t.floor_divide(*x),
    "div-floor": lambda t, *x: t.div(*x, rounding_mode="floor"),
    "div-trunc": lambda t, *x: t.div(*x, rounding_mode="trunc"),
    "add-alpha": lambda t, *x: t.add(*x, alpha=2), "sub-alpha": lambda t, *x: t.sub(*x, alpha=2),
    "add-fraction": lambda t, *x: t.add(*x, alpha=0.5),
    "add-out": lambda t, *x: t.add(*x, out=t.zeros(2)),
    "exp-out": lambda t, *x: t.exp(x[0], out=t.zeros(2)),
    "remainder": lambda t, *x: t.remainder(*x), "maximum": lambda t, *x: t.maximum(*x),
    "eq": lambda t, *x: t.eq(*x), "bitwise_and": lambda t, *x: t.bitwise_and(*x),
    "pow": lambda t, *x: t.pow(*x), "rsub": lambda t, *x: t.rsub(*x),
    "float_power": lambda t, *x: t.float_power(*x), "atan2": lambda t, *x: t.atan2(*x),
    "lerp": lambda t, *x: t.lerp(*x, 0.5), "clamp": lambda t, *x: t.clamp(*x, 3),
    "exp": lambda t, x, _: t.exp(x), "square": lambda t, x, _: t.square(x),
    "relu": lambda t, x, _: t.nn.functional.relu(x), "neg": lambda t, x, _: t.neg(x),
    "where": lambda t, *x: t.where(*x, 1), "nan_to_num": lambda t, x, _: t.nan_to_num(x),
}  # fmt: skip
NUMBERS = [3, -2.5, True, 0, 1j, np.float32(1.5), np.float64(2), np.int64(7)]


@pytest.mark.parametrize("name", ARITHMETIC)
def test_numbers_alone(name):
    for x, y in itertools.product(NUMBERS, repeat=2):
        same(lambda t, x=x, y=y: ARITHMETIC[name](t, x, y))


def test_arguments_of_other_classes_are_named():
    for call in (
        lambda t: t.where("x"), lambda t: t.where(t.ones(2) > 0, "x", 1),
        lambda t: t.pow(float("inf"), 1j), lambda t: t.detach_([t.ones(1)]),
        lambda t: t.nan_to_num("x"), lambda t: t.get_device(1.0), lambda t: t.pow("x", 2),
    ):  # fmt: skip
        for library in LIBRARIES:
            with pytest.raises(TypeError) as caught:
                call(library)
            assert "_array" not in str(caught.value)


# --- padding --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding_that_takes_away(mode, size):
    for before, after in itertools.product(range(-5, 4), repeat=2):
        left = size + min(before, 0) + min(after, 0)
        if mode == "circular" and left < max(before, after, 1):
            continue  # torch reads memory that it has not written
        same(
            lambda t, pair=(before, after): t.nn.functional.pad(
                t.arange(2.0 * size).reshape(2, size), pair, mode
            )
        )


def test_padding_of_several_dimensions():
    pairs = [(-1, -1, -3, 0), (0, 0, -3, 0), (0, 0, -3, 3), (1, -2, -1, 2), (0, -2, 0, -1)]
    for pair in pairs:
        same(lambda t, pair=pair: t.nn.functional.pad(t.arange(6.0).reshape(2, 3), pair))


# --- gradients ------------------------------------------------------------------------------------


def gradients(library, function, *arrays):
    """Results, and the gradients of the sum of their squares, to the second order."""
    inputs = [library.from_numpy(np.array(x, np.float64)).requires_grad_() for x in arrays]
    made = function(library, *inputs)
    made = [x for x in (made if isinstance(made, tuple) else (made,)) if x.dtype.is_floating_point]
    assert all(x.requires_grad for x in made)
    first = library.autograd.grad(
        [(x * x).sum() for x in made], inputs, create_graph=True, allow_unused=True
    )
    again = [(x * x).sum() for x in first if x is not None and x.requires_grad]
    second = library.autograd.grad(again, inputs, allow_unused=True) if again else ()
    return [*made, *first, *[x for x in second if x is not None]]


def same_gradients(function, *arrays):
    ours, theirs = (gradients(library, function, *arrays) for library in LIBRARIES)
    for mine, other in zip(ours, theirs, strict=True):
        close(mine, other, 1e-7, 1e-9)


RNG = np.random.default_rng(3)
SPREAD = RNG.normal(size=(3, 3))
FACTOR = np.linalg.cholesky(SPREAD @ SPREAD.T + 3 * np.eye(3))
RIGHT = RNG.normal(size=(3, 2))
BATCH = np.stack([FACTOR, 2 * FACTOR])


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("factor", [FACTOR, BATCH], ids=["matrix", "batch"])
def test_factors_of_cholesky_have_torchs_gradients(factor, upper):
    """Of all elements of the factor, also of those beyond the triangle."""
    factor = np.swapaxes(factor, -1, -2).copy() if upper else factor
    same_gradients(lambda t, L: t.cholesky_inverse(L, upper), factor)
    same_gradients(lambda t, L: L.cholesky_inverse(upper=upper), factor)
    same_gradients(lambda t, B, L: t.cholesky_solve(B, L, upper), RIGHT, factor)
    same_gradients(lambda t, B, L: B.cholesky_solve(L, upper=upper), RIGHT, factor)


def test_the_other_triangle_of_a_factor_changes_nothing():
    """torch's gradients do, though its results do not."""
    noise = np.triu(RNG.normal(size=(3, 3)), 1)
    plain, other = (
        gradients(numbagrad, lambda t, L: L.cholesky_inverse(), x) for x in (FACTOR, FACTOR + noise)
    )
    for mine, same in zip(plain, other, strict=True):
        close(mine, torch.from_numpy(same.detach().numpy()), 1e-9, 1e-12)


@pytest.mark.parametrize("power", [2, 2.5, -1, "tensor", "whole"], ids=str)
def test_float_power_in_place(power):
    def call(t, x):
        other = {"tensor": t.tensor([2.0, 3.0]), "whole": t.tensor(2)}.get(power, power)
        return (x * 1).float_power_(other)

    same_gradients(call, [1.0, 2.0])
    for library in LIBRARIES:
        with pytest.raises(RuntimeError, match="requires dtype"):
            library.ones(2).float_power_(2)


def test_prelu_of_scalars_and_channels():
    for x, weight in [(-2.0, [0.5]), (-2.0, 0.5), ([-2.0, 1.0], [0.5]),
                      (-np.ones((2, 3, 2)), [0.1, 0.2, 0.3]), (-np.ones((2, 3)), [0.1, 0.2, 0.3]),
                      (-np.ones((2, 3, 2)), 0.5)]:  # fmt: skip
        same_gradients(lambda t, x, w: t.prelu(x, w), x, weight)
        same_gradients(lambda t, x, w: x.prelu(w), x, weight)
        same_gradients(lambda t, x, w: t.nn.functional.prelu(x, w), x, weight)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)], ids=str)
def test_every_output_of_least_squares_that_torch_follows_requires_grad(driver, shape):
    A, B = RNG.normal(size=shape), RNG.normal(size=(shape[0], 3))
    for wanted in itertools.product([False, True], repeat=2):
        found = []
        for library in LIBRARIES:
            a, b = (library.from_numpy(x.copy()) for x in (A, B))
            a.requires_grad_(wanted[0])
            b.requires_grad_(wanted[1])
            made = library.linalg.lstsq(a, b, driver=driver)
            found.append([(x.requires_grad, tuple(x.shape)) for x in made])
        assert found[0] == found[1]


def test_what_is_drawn_from_normal_numbers_requires_grad():
    def call(t, mean, std):
        made = t.normal(mean, std)
        given = [x for x in (mean, std) if isinstance(x, t.Tensor) and x.requires_grad]
        found = t.autograd.grad(made.sum(), given) if given else ()
        name = made.grad_fn.name() if made.requires_grad else None
        return [made.tolist(), made.requires_grad, name, [x.tolist() for x in found]]

    def means(t):
        return 0.5, t.zeros(2), t.zeros(2, requires_grad=True), t.zeros(3, 1, requires_grad=True)

    def deviations(t):
        return 2.0, t.ones(2), t.ones(2, requires_grad=True)

    for k, j in itertools.product(range(4), range(3)):
        if (k, j) == (0, 0):
            continue
        ours, theirs = both(lambda t, k=k, j=j: call(t, means(t)[k], deviations(t)[j]))
        close(np.array(ours[0]), np.array(theirs[0]), 1e-5, 1e-6)
        assert ours[1:] == theirs[1:]


def test_the_gradient_of_ctc_loss_is_recorded_but_not_differentiable():
    scores = RNG.normal(size=(5, 2, 4))
    for library in LIBRARIES:
        x = library.from_numpy(scores.copy()).requires_grad_()
        targets = library.tensor([[1, 2], [2, 3]])
        loss = library.nn.functional.ctc_loss(x.log_softmax(2), targets, (5, 5), (2, 2))
        (gradient,) = library.autograd.grad(loss, x, create_graph=True)
        assert gradient.requires_grad
        with pytest.raises(
            RuntimeError, match="ctc_loss_backward is not|'ctc_loss_backward' is not"
        ):
            gradient.sum().backward()


def test_gather_of_other_index_dtypes_and_of_nothing():
    for dtype in ("int32", "int64", "int16", "uint8", "float32"):
        for positions in ([], [1, 2]):
            same(
                lambda t, d=dtype, p=positions: t.gather(
                    t.arange(4.0, requires_grad=True), 0, t.tensor(p, dtype=getattr(t, d))
                )
            )
            same(
                lambda t, d=dtype, p=positions: t.scatter_add(
                    t.arange(4.0), 0, t.tensor(p, dtype=getattr(t, d)), t.ones(len(p))
                )
            )


def test_divisors_of_scalars_are_tensors():
    same(lambda t: (t.gcd(t.tensor(4), t.tensor(6)), t.lcm(t.tensor(4), t.tensor(6))))
    same(lambda t: t.tensor([4, 9]).gcd_(t.tensor(6)))
    assert "tensor(2)" in repr(numbagrad.gcd(numbagrad.tensor(4), numbagrad.tensor(6)))


# --- loaders --------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [True, False], ids=["generator", "default"])
@pytest.mark.parametrize("persistent", [True, False])
def test_orders_and_random_states_of_loaders_with_workers(given, persistent):
    def passes(library):
        generator = library.Generator().manual_seed(3) if given else None
        loader = library.utils.data.DataLoader(
            range(8), 3, True, generator=generator, num_workers=1, persistent_workers=persistent
        )
        found = []
        for _ in range(3):
            found.append([batch.tolist() for batch in loader])
            state = generator.get_state() if given else library.get_rng_state()
            found.append((state.tolist(), library.rand(2).tolist()))
        return found

    ours, theirs = both(passes)
    assert ours == theirs


# --- what torch's tests of autograd look at -------------------------------------------------------


def test_attributes_that_are_deleted_or_set():
    def act(library, statement):
        x = library.ones(2, requires_grad=True)
        x.grad = library.ones(2)
        try:
            exec(statement, {"x": x, "t": library})
        except (RuntimeError, TypeError, AttributeError) as error:
            return type(error)
        return x.grad is None, x.requires_grad

    for statement in (
        "del x.grad", "del x.data", "x.data = None", "del x.requires_grad", "x.requires_grad = 1",
        "del x._backward_hooks", "x.requires_grad = None", "x.grad = 1", "x.requires_grad = False",
        "x.grad = t.ones(3)", "del x.shape", "x.dtype = t.int64", "del x.grad_fn",
    ):  # fmt: skip
        ours, theirs = (act(library, statement) for library in LIBRARIES)
        assert ours == theirs, statement


def test_a_complex_tensor_written_through_its_real_parts():
    """torch's own test notes its gradient of the view that is transposed in place as wrong."""

    def gradient(library, in_place):
        leaf = library.from_numpy((np.arange(9.0) + 1j).reshape(3, 3).astype("complex64"))
        leaf.requires_grad_()
        parts = library.view_as_real(leaf.clone())
        parts = parts.transpose_(0, 1) if in_place else parts.transpose(0, 1)
        parts += 1
        parts.backward(library.arange(0, 18, dtype=library.float32).view(3, 3, 2))
        return leaf.grad.tolist()

    assert gradient(numbagrad, False) == gradient(torch, False) == gradient(numbagrad, True)


def test_gradients_at_the_edges_of_nodes():
    makers = (
        lambda t, x: x,
        lambda t, x: x.clone(),
        lambda t, x: t.autograd._functions.Resize.apply(x.clone(), (1, 2)),
        lambda t, x: t.var_mean(x)[1],
    )
    for make in makers:
        for library in LIBRARIES:
            x = make(library, library.tensor([1.0, 2.0], requires_grad=True))
            edge = library.autograd.graph.get_gradient_edge(x)
            (by_tensor,) = library.autograd.grad((x * 3).sum(), x)
            (by_edge,) = library.autograd.grad((x * 3).sum(), edge)
            assert by_tensor.tolist() == by_edge.tolist()
    for library in LIBRARIES:
        with pytest.raises(RuntimeError, match="number of elements"):
            library.autograd._functions.Resize.apply(library.ones(6), (2, 2))


def test_integers_never_require_grad():
    def some(t):
        return t.tensor([0.1, 0.5, 0.3, 0.3], requires_grad=True)

    for call in (
        lambda t: some(t).argmax(), lambda t: some(t).argmin(), lambda t: some(t).argsort(),
        lambda t: some(t).count_nonzero(), lambda t: t.unique(some(t), return_counts=True),
        lambda t: t.searchsorted(some(t).sort()[0], t.tensor(0.2, requires_grad=True)),
        lambda t: t.bucketize(some(t), t.linspace(0, 1, 10, requires_grad=True)),
        lambda t: t.unique_consecutive(some(t), return_inverse=True, dim=0),
        lambda t: t._unique(some(t)), lambda t: t._unique(some(t), return_inverse=True),
        lambda t: t._unique2(some(t), return_counts=True),
        lambda t: t._VF.unique_dim(some(t), 0, return_inverse=True, return_counts=True),
        lambda t: some(t).sort(), lambda t: some(t).max(0),
    ):  # fmt: skip
        same(call)


# --- integers and complex numbers -----------------------------------------------------------------

BOUNDS = [(0.5, 4.7, 1.6), (0.9, 4.1, 0.9), (-0.9, 4.1, 1.9), (4.9, -4.1, -1.9), (4.2, 4.9, 1.0),
          (0.0, -8.000001, -4.0), (2, 9.7, 3), (4.2, 3.9, 1.0), (0, 5, 0)]  # fmt: skip


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float32"])
def test_ranges_of_fractions(dtype):
    """The bounds of int64 are truncated before elements are counted; those of int32 are not."""
    for start, end, step in BOUNDS:
        if dtype == "uint8" and min(start, end) < 0:
            continue  # below what the dtype holds, torch's results depend on the processor
        same(lambda t, x=(start, end, step): t.arange(*x, dtype=getattr(t, dtype)))


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
def test_numbers_at_equal_distances_from_fractions(dtype):
    for start, end, steps in ((0.3, 3.7, 5), (5.9, 3.1, 4), (-1, 1, 3), (0.9, 10, 1), (0, 6.5, 4)):
        same(lambda t, x=(start, end, steps): t.linspace(*x, dtype=getattr(t, dtype)))
        same(lambda t, x=(start, end, steps): t.logspace(*x, base=2.0, dtype=getattr(t, dtype)))


def test_padding_of_an_output_beyond_the_stride():
    """Which torch allows below the dilation: there is room for windows that nobody had."""
    image, weight, bias = RNG.normal(size=(2, 2, 4, 4)), RNG.normal(size=(2, 2, 4, 5)), np.ones(4)
    options = {"stride": (3, 2), "padding": (1, 2), "output_padding": (2, 3), "dilation": 4}
    same_gradients(
        lambda t, x, w, b: t.nn.functional.conv_transpose2d(x, w, b, groups=2, **options),
        image, weight, bias,
    )  # fmt: skip


def test_positions_in_a_small_dtype():
    same(lambda t: t.unravel_index(t.tensor([3, 250], dtype=t.uint8), (4, 300)))


@pytest.mark.parametrize("name", ["nan_to_num", "round"])
@pytest.mark.filterwarnings("ignore:An output with")
def test_out_of_another_shape(name):
    options = {"decimals": 1} if name == "round" else {}
    for values, shape in itertools.product(([1, 2, 3], [1.25, 2.5, 3]), ((3,), (1,), (2, 3))):
        if name == "round" and isinstance(values[0], int):
            continue  # torch rounds no integers to decimals

        def call(t, values=values, shape=shape):
            x = t.tensor(values)
            out = t.zeros(shape, dtype=x.dtype)
            made = getattr(t, name)(x, out=out, **options)
            assert made is out
            return out

        same(call)


# --- what an output is written into ---------------------------------------------------------------

MADE_INTO = {
    "zeros": lambda t, **k: t.zeros(3, **k), "ones": lambda t, **k: t.ones(3, **k),
    "full": lambda t, **k: t.full((3,), 2.0, **k), "eye": lambda t, **k: t.eye(2, **k),
    "arange": lambda t, **k: t.arange(0, 3, **k), "range": lambda t, **k: t.range(0, 3, **k),
    "linspace": lambda t, **k: t.linspace(0, 3, 3, **k),
    "logspace": lambda t, **k: t.logspace(0, 3, 3, **k),
    "cumsum": lambda t, **k: t.cumsum(t.tensor([1.0, 2.0, 3.0]), 0, **k),
    "cumprod": lambda t, **k: t.cumprod(t.tensor([1.0, 2.0, 3.0]), 0, **k),
    "sum": lambda t, **k: t.sum(t.tensor([[1.0, 2.0, 3.0]]), 0, **k),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MADE_INTO)
def test_a_dtype_beside_an_output(name):
    """Is that of the output, or an error; an output that requires grad is refused."""
    for given, own in itertools.product((None, "float32", "float64", "int64"), repeat=2):
        options = {} if given is None else {"dtype": given}

        def call(t, own=own, options=options):
            kind = {key: getattr(t, value) for key, value in options.items()}
            out = t.zeros(3, dtype=None if own is None else getattr(t, own))
            return MADE_INTO[name](t, out=out, **kind)

        same(call)
    same(lambda t: MADE_INTO[name](t, out=t.zeros(3, requires_grad=True)))


TRUTHS = {
    "all": lambda t, out: t.all(t.tensor([1.0, 0.0]), out=out),
    "any": lambda t, out: t.any(t.tensor([1.0, 0.0]), out=out),
    "signbit": lambda t, out: t.signbit(t.tensor(-1.0), out=out),
    "isposinf": lambda t, out: t.isposinf(t.tensor(1.0), out=out),
    "eq": lambda t, out: t.eq(t.tensor(1.0), 1, out=out),
    "cat": lambda t, out: t.cat([t.ones(2)], out=out),
    "stack": lambda t, out: t.stack([t.ones(2)], out=out),
    "svd": lambda t, out: t.linalg.svdvals(t.eye(2), out=out),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TRUTHS)
def test_dtypes_of_outputs(name):
    for dtype in ("bool", "uint8", "int64", "float32", "float64"):
        same(lambda t, d=dtype: TRUTHS[name](t, t.zeros((), dtype=getattr(t, d))))


@pytest.mark.parametrize("name", ["add", "sum", "cat", "exp"])
def test_an_output_with_elements_is_resized_with_a_warning(name):
    for library in LIBRARIES:
        x = library.ones(3)
        arguments = {"add": (x, x), "sum": (x, 0), "cat": ([x],), "exp": (x,)}[name]
        with pytest.warns(UserWarning, match="one or more elements was resized since it had shape"):
            getattr(library, name)(*arguments, out=library.zeros(2, 2))
        getattr(library, name)(*arguments, out=library.zeros(0))


def test_several_results_are_written():
    for library in LIBRARIES:
        x, of = library.eye(2), library.zeros
        made = library.linalg.eigh(x, out=(of(2), of(2, 2)))
        assert made[0].tolist() == [1, 1]
        made = library.linalg.svd(x, out=(of(2, 2), of(2), of(2, 2)))
        assert made[1].tolist() == [1, 1]
        made = library.linalg.inv_ex(x, out=(of(2, 2), of((), dtype=library.int32)))
        assert made[0].tolist() == [[1, 0], [0, 1]]


# --- arguments that torch takes or refuses --------------------------------------------------------

ARGUMENTS = {
    "var_mean": lambda t: t.var_mean(t.arange(4.0), True),
    "std_mean": lambda t: t.std_mean(t.arange(4.0), False),
    "gradient": lambda t: t.gradient(t.arange(4.0), spacing=None),
    "abs_": lambda t: t.tensor([1 + 1j]).abs_(),
    "masked_fill": lambda t: t.tensor([1, 2]).masked_fill(t.tensor(True), t.tensor(1j)),
    "masked_fill_": lambda t: t.tensor([1, 2]).masked_fill_(t.tensor(True), t.tensor(1j)),
    "masked_fill-real": lambda t: t.tensor([1, 2]).masked_fill(t.tensor(True), t.tensor(3 + 0j)),
    "polygamma": lambda t: t.polygamma(5, t.ones(2, dtype=t.bfloat16)).float(),
    "multi_margin_loss": lambda t: t.nn.functional.multi_margin_loss(t.tensor(0.3), t.tensor(0)),
    "multilabel": lambda t: t.nn.functional.multilabel_margin_loss(t.tensor(0.3), t.tensor(0)),
    "linalg_vander": lambda t: t.linalg.vander(t.tensor(2.0), N=3),
    "as_strided_scatter": lambda t: t.as_strided_scatter(
        t.ones(4), t.ones(2, 2), (2, 2), (20, 20)
    ),
    "nan_to_num_": lambda t: t.ones(2).nan_to_num_(t.ones(2)),
    "eq_": lambda t: t.tensor([1 + 1j, 2]).eq_(t.tensor([1 + 1j, 3])).real,
}  # fmt: skip


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_of_several_kinds(name):
    same(ARGUMENTS[name])


# --- functions of Python for each element ---------------------------------------------------------

RETURNED = ["x", None, 2.5, [1], 1j, True, np.float32(2.5), np.int64(2), 2**70, 300]
DTYPES = ["int64", "uint8", "bool", "float32", "float16", "bfloat16", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("returned", RETURNED, ids=repr)
def test_elements_are_converted_as_in_c(returned, dtype):
    def compute(t):
        x = t.tensor([1, 2, 3]).to(getattr(t, dtype))
        made = x.clone().apply_(lambda value: returned)
        assert made.dtype == x.dtype
        return made.to(t.complex64 if dtype == "complex64" else t.float32)

    ours, theirs = (result(compute, library) for library in LIBRARIES)
    assert ours == theirs or (isinstance(ours, type) and isinstance(theirs, type))


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_several_elements(dtype):
    def compute(t):
        x = t.tensor([1, 0, 3]).to(getattr(t, dtype))
        return x.map_(x.clone(), lambda a, b: a * b).to(t.complex64).real

    same(compute)


class AddsToAnything:
    def __add__(self, other):
        return 42

    def __repr__(self):
        return "AddsToAnything()"

    __radd__ = __add__


@pytest.mark.parametrize("other", [[3], 3, None, "a", (3,), np.ones(2), AddsToAnything()], ids=repr)
def test_sums_of_sizes(other):
    for compute in (lambda t: t.Size([1, 2]) + other, lambda t: other + t.Size([1, 2])):
        ours, theirs = (np.asarray(result(compute, library)).tolist() for library in LIBRARIES)
        assert ours == theirs
