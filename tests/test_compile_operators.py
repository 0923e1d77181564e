"""compile(): every operator, forward and with its gradients, on data that changes.

The calls that are recorded and the runs of the program see different numbers, so that a value that
was frozen, or a branch on one, shows. What cannot be one program says so; the tables below say
which, and why.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from operator_entry import Entry, as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES

import numbagrad
import numbagrad.nn.functional as F
from numbagrad.executor.mode import NATIVE

#: Operators that end a recording by their nature, and how the warning says what about them does.
REFUSED = {
    "masked_select": "whose size depends on values",
    "getitem-mask": "as many elements as it holds",
    "nonzero": "whose size depends on values",
    "argwhere": "whose size depends on values",
    "bincount": "whose size depends on values",
    "fft": "arithmetic of complex numbers",
    "istft": "arithmetic of complex numbers",
    "stft": "arithmetic of complex numbers",
    "linalg_eig": "arithmetic of complex numbers",
    "linalg_eigvals": "arithmetic of complex numbers",
    # Whether there are residuals depends on the ranks.
    "linalg_lstsq-residuals": "a branch on the value",
    # The program is given memory from the first element of the tensor on, wherever that lies.
    "as_strided": "an offset from the beginning of the memory",
    "as_strided_scatter": "the place of a tensor in its memory",
    "segment_reduce": "whose segments are values",
}


class Namespace:
    """``numbagrad`` for a row of the table, with its calls of ``tensor`` answered by ``answer``.

    Rows make their indices of lists. In these tests such tensors are arguments of the step, as all
    others, so that none is a constant of the program. With ``in_place`` the methods that write in
    place are called instead of the functions, on copies.
    """

    def __init__(self, answer, in_place=False):
        self.tensor = answer
        self._in_place = in_place

    def __getattr__(self, name):
        if self._in_place and hasattr(numbagrad.Tensor, name + "_"):
            return lambda x, *rest, **named: getattr(x * 1, name + "_")(*rest, **named)
        return getattr(numbagrad, name)


def tensors_made(entry: Entry, dtype: str) -> list[np.ndarray]:
    """What a row makes tensors of in its call."""
    made: list[np.ndarray] = []
    if entry.definition is not None:  # a pointwise operator: its row asks which library it has
        return made

    def answer(data, **options):
        tensor = numbagrad.tensor(data, **options)
        made.append(tensor.numpy().copy())
        return tensor

    entry.call(Namespace(answer), *[numbagrad.from_numpy(x) for x in entry.draw(dtype)])
    return made


def varied(array: np.ndarray, seed: int) -> np.ndarray:
    """Other values for each call: as valid, and as distinct along the last dimension."""
    if array.dtype.kind == "f":
        return np.asarray(array * (1 - 0.05 * seed), array.dtype)
    changed = array.max() - array if seed % 2 and array.size and array.min() >= 0 else array
    return np.roll(changed, seed // 2, axis=-1) if array.ndim else changed


def step_of(entry: Entry, differentiate: bool, in_place: bool = False):
    """A function of the inputs that returns the results of the operator, and all gradients.

    Its first argument is a list of the tensors that the row makes. It reaches no more of the row
    than its call: compile watches all that a function can reach.
    """
    call, is_pointwise = entry.call, entry.definition is not None

    def step(made, *inputs):
        answers = iter(made)
        namespace = Namespace(lambda data, **options: next(answers), in_place)
        namespace = numbagrad if is_pointwise else namespace
        results = [x for x in as_tuple(call(namespace, *inputs))]
        found = [x.detach() if isinstance(x, numbagrad.Tensor) else x for x in results]
        roots = [x for x in results if isinstance(x, numbagrad.Tensor) and x.requires_grad]
        if differentiate and roots:
            loss = sum([(x * x).sum() for x in roots])
            wanted = [x for x in inputs if x.requires_grad]
            found += numbagrad.autograd.grad(loss, wanted, allow_unused=True)
        return found

    return step


def inputs_of(entry: Entry, dtype: str, seed: int, differentiate: bool) -> list:
    """The inputs of one call."""
    inputs = [numbagrad.from_numpy(array) for array in entry.draw(dtype, seed)]
    for tensor, drawn in zip(inputs, entry.inputs, strict=True):
        if differentiate and not drawn.fixed and tensor.is_floating_point():
            tensor.requires_grad_()
    made = [numbagrad.from_numpy(varied(each, seed)) for each in tensors_made(entry, dtype)]
    return [made, *inputs]


def check_equal(found: list, expected: list, what: str) -> None:
    """Check that two lists of results are equal but for rounding, and lie alike."""
    assert len(found) == len(expected), what
    for a, b in zip(found, expected, strict=True):
        if not isinstance(b, numbagrad.Tensor):
            assert a == b, what
            continue
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride()), what
        x, y = a.numpy(), b.numpy()
        scale = np.abs(y[np.isfinite(y)]).max(initial=1) if y.dtype.kind == "f" else 1
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5 * scale, err_msg=what)


def follow(step, inputs, what: str, calls: int = 4) -> str:
    """Run a function compiled beside itself; why it has no program, or nothing if it has one."""
    compiled = numbagrad.compile(step)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for seed in range(calls):
            numbagrad.manual_seed(seed)
            expected = step(*inputs(seed))
            numbagrad.manual_seed(seed)
            check_equal(compiled(*inputs(seed)), expected, f"{what}, call {seed}")
    said = [str(each.message) for each in caught if "because of" in str(each.message)]
    if NATIVE:
        assert bool(said) != bool(compiled._programs), what
    return said[0] if said else ""


def reason_of(
    entry: Entry, dtype: str, differentiate: bool, calls: int = 4, in_place: bool = False
) -> str:
    """Why an operator cannot be one program, or nothing if it is."""
    return follow(
        step_of(entry, differentiate, in_place),
        lambda seed: inputs_of(entry, dtype, seed, differentiate),
        f"{entry.name}, {dtype}",
        calls,
    )


def check_row(entry: Entry, dtype: str, calls: int = 4) -> None:
    """Check an operator alone and, if it has them, together with its gradients."""
    refused = REFUSED.get(entry.name) or REFUSED.get(entry.name.split("-")[0], "")
    both = entry.differentiable and dtype.startswith("float")
    for differentiate in (False, True) if both else (False,):
        reason = reason_of(entry, dtype, differentiate, calls)
        assert (refused in reason) if refused and NATIVE else not reason, reason


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("entry", [x for x in ENTRIES if x not in POINTWISE_ENTRIES],
                         ids=lambda entry: entry.name)  # fmt: skip
def test_operator(entry, dtype):
    if not entry.admits(dtype):
        dtype = next(name for name in ("float64", "float32", "int64", "bool") if entry.admits(name))
    check_row(entry, dtype)


@pytest.mark.parametrize("entry", POINTWISE_ENTRIES, ids=lambda entry: entry.name)
def test_pointwise_operator(entry):
    for dtype in ("float32", "int64"):
        if entry.admits(dtype):
            check_row(entry, dtype, 3)


#: Rows whose function has a form that writes in place, of operators that are not pointwise.
WRITING = (
    "addmm", "addmv", "addr", "baddbmm", "scatter", "scatter_add", "scatter_reduce",
    "index_add", "index_reduce", "index_copy", "index_fill", "index_put", "masked_scatter", "put",
    "fill", "renorm", "cumsum", "cumprod", "tril", "triu",
)  # fmt: skip


@pytest.mark.parametrize(
    "entry",
    [x for x in ENTRIES if x.name.split("-")[0] in WRITING and x.name != "addmm-bias"],
    ids=lambda entry: entry.name,
)
def test_operator_that_writes_in_place(entry):
    for differentiate in (False, True):
        assert not reason_of(entry, "float32", differentiate, in_place=True)


# --- functions that have no row in the table ------------------------------------------------------

IMAGES, MATRIX, ROW = (2, 3, 6, 6), (3, 4), (4,)


def _written(x, key):
    y = x * 1
    y[key] = 2.0
    return y


#: A function of one tensor, and the shape of that.
FUNCTIONS = {
    "conv2d": (lambda x: F.conv2d(x, numbagrad.ones(4, 3, 3, 3)), IMAGES),
    "conv_transpose2d": (lambda x: F.conv_transpose2d(x, numbagrad.ones(3, 4, 3, 3)), IMAGES),
    "unfold": (lambda x: F.unfold(x, 2), IMAGES),
    "fold": (lambda x: F.fold(x, (4, 4), 2), (2, 12, 9)),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), (2, 3, 6)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2, padding=1), IMAGES),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2, padding=1, count_include_pad=False), IMAGES),
    "lp_pool2d": (lambda x: F.lp_pool2d(x, 2, 2), IMAGES),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 4), IMAGES),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 4), IMAGES),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2), IMAGES),
    "interpolate bilinear": (lambda x: F.interpolate(x, size=9, mode="bilinear"), IMAGES),
    "pad": (lambda x: F.pad(x, (1, 2)), IMAGES),
    "pad reflect": (lambda x: F.pad(x, (1, 2, 0, 1), mode="reflect"), IMAGES),
    "pad circular": (lambda x: F.pad(x, (1, 2, 1, 0), mode="circular"), IMAGES),
    "local_response_norm": (lambda x: F.local_response_norm(x, 2), IMAGES),
    "one_hot": (lambda x: F.one_hot((x > 0).long(), 3) * x.unsqueeze(-1), ROW),
    "embedding": (lambda x: F.embedding((x > 0).long(), x.view(2, 2)), ROW),
    "multilabel_margin_loss": (
        lambda x: F.multilabel_margin_loss(x, (x > 0).long() - 1, reduction="none"), MATRIX
    ),
    "bernoulli": (lambda x: numbagrad.bernoulli(x.sigmoid()) + x, ROW),
    "dropout": (lambda x: F.dropout(x, 0.5), ROW),
    "normal, deviations": (lambda x: numbagrad.normal(0.0, x.detach().abs()) + x, ROW),
    "normal, both": (lambda x: numbagrad.normal(x.detach(), x.detach().abs()) + x, ROW),
    "multinomial": (lambda x: x[numbagrad.multinomial(x.detach().sigmoid(), 2)], ROW),
    "randperm": (lambda x: x[numbagrad.randperm(4)], ROW),
    "randint": (lambda x: x + numbagrad.randint(0, 4, (4,)), ROW),
    "rand": (lambda x: x + numbagrad.rand(4) + numbagrad.randn_like(x), ROW),
    "exponential_": (lambda x: x + numbagrad.empty(4).exponential_(), ROW),
    "linspace": (lambda x: x + numbagrad.linspace(0, 1, 4) + numbagrad.arange(4), ROW),
    "logspace": (lambda x: x + numbagrad.logspace(0, 1, 4), ROW),
    "searchsorted": (lambda x: x + numbagrad.searchsorted(numbagrad.arange(4.0), x.detach()), ROW),
    "tril_indices": (lambda x: x[numbagrad.tril_indices(2, 2)[0]], ROW),
    "tensor of a list": (lambda x: x + numbagrad.tensor([1.0, 2.0, 3.0, 4.0]), ROW),
    "tensor of an ndarray": (lambda x: x + numbagrad.tensor(np.arange(4.0)), ROW),
    "an index by a list": (lambda x: x[[0, -1]], MATRIX),
    "an index by an ndarray": (lambda x: x[np.array([1, 2])], MATRIX),
    "an index of int32": (
        lambda x: x.index_select(0, numbagrad.tensor([1, 2], dtype=numbagrad.int32)), MATRIX
    ),
    "setitem": (lambda x: _written(x, 0), MATRIX),
    "setitem by a tensor": (lambda x: _written(x, numbagrad.tensor([0, -1])), MATRIX),
    "scatter_": (
        lambda x: numbagrad.zeros(3, 4).scatter_(1, (x > 0).long(), x), MATRIX
    ),
    "scatter_add_": (
        lambda x: numbagrad.zeros(3, 4).scatter_add_(1, (x > 0).long(), x), MATRIX
    ),
    "index_add_": (
        lambda x: numbagrad.zeros(3, 4).index_add_(0, numbagrad.tensor([0, 0, 1]), x), MATRIX
    ),
    "index_copy_": (
        lambda x: numbagrad.zeros(3, 4).index_copy_(0, numbagrad.tensor([0, 2, 1]), x), MATRIX
    ),
    "index_fill_": (lambda x: (x * 1).index_fill_(0, numbagrad.tensor([0, 2]), 1.0), MATRIX),
    "masked_scatter_": (lambda x: (x * 1).masked_scatter_(x.detach() > 0, x * 2), MATRIX),
    "fill_diagonal_": (lambda x: (x * 1).fill_diagonal_(1.0), (3, 3)),
    "a whole slice": (lambda x: x[:, :][numbagrad.tensor([2, 0])], MATRIX),
}  # fmt: skip


LOGITS, LINE = (4, 5), (12,)


def _classes(generator, shape, count=5):
    return generator.integers(0, count, shape)


#: Functions of tensors of numbers and of others (classes, lengths, masks, places), all of which
#: change from call to call: the function, the shapes of the numbers, and what draws the others.
SEVERAL = {
    "nll_loss": (lambda x, t: F.nll_loss(x, t), [LOGITS], [lambda g: _classes(g, 4)]),
    "nll_loss of weighted classes": (
        lambda x, w, t: F.nll_loss(x, t, w.detach().abs() + 0.1), [LOGITS, (5,)],
        [lambda g: _classes(g, 4)],
    ),
    "cross_entropy": (
        lambda x, t: F.cross_entropy(x, t, ignore_index=2, label_smoothing=0.1), [LOGITS],
        [lambda g: _classes(g, 4)],
    ),
    "cross_entropy of probabilities": (
        lambda x, t: F.cross_entropy(x, t.softmax(1)), [LOGITS, LOGITS], []
    ),
    "multi_margin_loss": (
        lambda x, t: F.multi_margin_loss(x, t), [LOGITS], [lambda g: _classes(g, 4)]
    ),
    "cosine_embedding_loss": (
        lambda x, y, t: F.cosine_embedding_loss(x, y, t * 2 - 1), [LOGITS, LOGITS],
        [lambda g: _classes(g, 4, 2)],
    ),
    "ctc_loss": (
        lambda x, t, n, m: F.ctc_loss(x.log_softmax(-1), t + 1, n + 6, m + 1), [(8, 3, 5)],
        [lambda g: _classes(g, (3, 3), 4), lambda g: _classes(g, 3, 2),
         lambda g: _classes(g, 3, 2)],
    ),
    "embedding": (lambda w, i: F.embedding(i, w), [LOGITS], [lambda g: _classes(g, (2, 3), 4)]),
    "embedding_bag": (
        lambda w, i, at: F.embedding_bag(i, w, at.cumsum(0) - at[0], mode="sum"), [LOGITS],
        [lambda g: _classes(g, 6, 4), lambda g: _classes(g, 3, 3)],
    ),
    "embedding_bag with weights": (
        lambda w, s, i: F.embedding_bag(i.view(2, 3), w, mode="sum", per_sample_weights=s),
        [LOGITS, (2, 3)], [lambda g: _classes(g, 6, 4)],
    ),
    "max_unpool2d": (
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), [IMAGES], []
    ),
    "grid_sample": (
        lambda x, g: F.grid_sample(x, g.tanh(), align_corners=False), [IMAGES, (2, 4, 4, 2)], []
    ),
    "one_hot": (lambda x, i: F.one_hot(i, 5) * x, [LOGITS], [lambda g: _classes(g, 4)]),
    "bucketize": (
        lambda x, b: x * numbagrad.bucketize(x.detach(), b.detach().sort()[0]), [LINE, (4,)], []
    ),
    "isin": (
        lambda x, i, j: x[: i.shape[0]] * numbagrad.isin(i, j), [LINE],
        [lambda g: _classes(g, 6), lambda g: _classes(g, 2)],
    ),
    "bincount with a length": (
        lambda x, i: x[:5] * numbagrad.zeros(5).index_add(0, i, numbagrad.ones(7)), [LINE],
        [lambda g: _classes(g, 7)],
    ),
    "index_put": (
        lambda x, y, i, j: x.index_put((i % 4, j), y, accumulate=True), [LOGITS, (3,)],
        [lambda g: _classes(g, 3), lambda g: _classes(g, 3)],
    ),
    "written at columns": (
        lambda x, y, j: _written_at(x * 1, (slice(None), j), y), [LOGITS, (4, 3)],
        [lambda g: _classes(g, 3)],
    ),
    "put": (
        lambda x, y, i: (x * 1).put_(i, y, accumulate=True), [LOGITS, (6,)],
        [lambda g: _classes(g, 6, 20)],
    ),
    "written at tensors": (
        lambda x, y, i: _written_at(x * 1, i, y), [LOGITS, (3, 5)],
        [lambda g: g.permutation(4)[:3]],
    ),
    "where": (lambda x, y, m: numbagrad.where(m > 0, x, y), [LOGITS, LOGITS],
              [lambda g: _classes(g, LOGITS, 2)]),
    "masked_fill of a tensor": (
        lambda x, v, m: x.masked_fill(m > 0, v[0]), [LOGITS, (2,)], [lambda g: _classes(g, 5, 2)]
    ),
    "attention with a mask": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m > 0),
        [(2, 4, 3), (2, 5, 3), (2, 5, 3)],
        [lambda g: _classes(g, LOGITS, 2) | np.eye(4, 5, dtype=int)],
    ),
    "batch_norm with given statistics": (
        lambda x, m, v, w, b: F.batch_norm(x, m.detach(), v.detach().abs() + 1, w, b),
        [LOGITS, (5,), (5,), (5,), (5,)], [],
    ),
    "lerp": (lambda x, y, w: numbagrad.lerp(x, y, w), [LOGITS, LOGITS, LOGITS], []),
}  # fmt: skip


def _written_at(x, index, value):
    x[index] = value
    return x


@pytest.mark.parametrize("name", SEVERAL)
def test_function_of_several_tensors(name):
    function, shapes, others = SEVERAL[name]

    def step(*tensors):
        made = function(*tensors)
        wanted = [x for x in tensors if x.requires_grad]
        found = numbagrad.autograd.grad((made * made).sum(), wanted, allow_unused=True)
        return [made.detach(), *found]

    def inputs(seed):
        generator = np.random.default_rng(seed)
        drawn = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
        tensors = [numbagrad.from_numpy(array).requires_grad_() for array in drawn]
        return tensors + [numbagrad.from_numpy(np.asarray(draw(generator))) for draw in others]

    assert not follow(step, inputs, name, calls=6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    function, shape = FUNCTIONS[name]

    def step(x):
        made = function(x)
        (gradient,) = numbagrad.autograd.grad((made * made * made).sum(), [x])
        return [made.detach(), gradient]

    def inputs(seed):
        drawn = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
        return [numbagrad.from_numpy(drawn).requires_grad_()]

    assert not follow(step, inputs, name)


# --- indices are looked at in every run -----------------------------------------------------------

READERS = {
    "getitem": lambda x, index: x[index],
    "take": numbagrad.take,
}
CHECKED = {
    "index_copy": lambda x, index: numbagrad.index_copy(x, 0, index, x[:2]),
    "index_select": lambda x, index: x.index_select(0, index),
    "embedding": lambda x, index: F.embedding(index, x.view(-1, 1)),
    "gather": lambda x, index: x.gather(0, index),
    "scatter": lambda x, index: x.scatter(0, index, 1.0),
    "scatter_add": lambda x, index: x.scatter_add(0, index, x),
    "index_add": lambda x, index: x.index_add(0, index, x[:2]),
    "one_hot": lambda x, index: F.one_hot(index, 4),
    **READERS,
}


def _compiled_reader(name):
    step = numbagrad.compile(CHECKED[name])
    x = numbagrad.arange(4.0)
    for _ in range(3):
        step(x, numbagrad.tensor([2, 0]))
    assert step._programs or not NATIVE
    return step, x


@pytest.mark.parametrize("name", CHECKED)
def test_an_index_out_of_range_raises_in_a_program_what_it_raises_eagerly(name):
    step, x = _compiled_reader(name)
    wrong = numbagrad.tensor([1, 4])
    with pytest.raises((IndexError, RuntimeError)) as expected:
        CHECKED[name](x, wrong)
    with pytest.raises(expected.type) as found:
        step(x, wrong)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("name", READERS)
def test_a_negative_index_counts_from_the_end_in_a_program(name):
    step, x = _compiled_reader(name)
    index = numbagrad.tensor([-1, 1])
    assert step(x, index).tolist() == CHECKED[name](x, index).tolist()


def test_an_index_that_is_changed_after_the_call_does_not_change_the_gradient():
    def step(x, index):
        made = x[index]
        index.fill_(0)
        return numbagrad.autograd.grad((made * made).sum(), [x])

    def inputs(seed):
        return [numbagrad.arange(4.0).requires_grad_(), numbagrad.tensor([seed % 4, 3])]

    follow(step, inputs, "an index written after it was used")


def test_reading_and_adding_at_constant_positions_runs_without_python():
    @numbagrad.compile
    def step(x):
        made = x[[0, 2, 2]]
        return numbagrad.autograd.grad((made * made).sum(), [x])[0]

    for _ in range(3):
        step(numbagrad.ones(3, 4, requires_grad=True))
    if NATIVE:
        (recorded,) = next(iter(step._programs.values()))
        assert recorded.program.native is not None


def test_a_hook_on_a_product_sees_the_same_second_walk_as_in_an_eager_call():
    def step(x):
        result = x.prod()
        result.register_hook(lambda grad: grad * grad * 0.5)
        (first,) = numbagrad.autograd.grad(result * 1.5, x, create_graph=True)
        return first.detach(), numbagrad.autograd.grad(first.sin().sum(), x)[0]

    compiled = numbagrad.compile(step)
    for row in ([0.5, 2.0, 3.0], [0.7, 1.0, 4.0], [0.0, 1.0, 4.0], [0.3, 2.0, 0.1]):
        x = numbagrad.tensor(row, dtype=numbagrad.float64, requires_grad=True)
        for own, other in zip(compiled(x), step(x), strict=True):
            assert own.tolist() == pytest.approx(other.tolist(), rel=1e-12)


UNARY = [x for x in POINTWISE_ENTRIES if len(x.inputs) == 1 and x.admits("float32")]


@pytest.mark.parametrize("entry", UNARY, ids=[x.name for x in UNARY])
def test_a_function_of_a_truth_value_that_the_program_computes(entry):
    """Where that was false in all elements when the function was recorded, and is true later."""

    def step(x):
        return entry.call(numbagrad, x > 1)

    try:
        expected = step(numbagrad.tensor([2.0, 0.0]))
    except (RuntimeError, NotImplementedError) as refusal:
        with pytest.raises(type(refusal)):
            numbagrad.compile(step)(numbagrad.tensor([2.0, 0.0]))
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of functions that no program has
        compiled = numbagrad.compile(step)
        for _ in range(3):
            compiled(numbagrad.tensor([0.0, 0.0]))
        made = compiled(numbagrad.tensor([2.0, 0.0]))
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made.numpy(), expected.numpy())
