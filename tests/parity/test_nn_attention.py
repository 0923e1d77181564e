"""Attention and transformers against live torch: numbers, gradients, masks, text, errors."""

import numpy as np
import pytest
import torch
from parity_tools import both, close, message

import numbagrad

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")


def compare(ours, theirs, **tolerance):
    """Compare lists of tensors (or None) one by one."""
    for mine, reference in zip(ours, theirs, strict=True):
        close(mine, reference, **({"atol": 1e-5, "rtol": 1e-4} | tolerance))


PRODUCTS = {
    "plain": {},
    "scaled": {"scale": 0.3},
    "causal": {"is_causal": True},
    "mask of numbers": {"attn_mask": lambda lib: lib.randn(4, 4)},
    "mask of booleans": {"attn_mask": lambda lib: lib.randn(2, 1, 4, 4) > 0},
    "nothing to see": {"attn_mask": lambda lib: lib.arange(4).unsqueeze(1).expand(4, 4) > 1},
    "dropout": {"dropout_p": 0.5},
}


@pytest.mark.parametrize("case", PRODUCTS)
def test_scaled_dot_products(case):
    def run(library):
        q, k, v = [library.randn(2, 3, 4, 5, requires_grad=True) for _ in range(3)]
        options = {n: o(library) if callable(o) else o for n, o in PRODUCTS[case].items()}
        y = library.nn.functional.scaled_dot_product_attention(q, k, v, **options)
        (y * y).sum().backward()
        return [y, q.grad, k.grad, v.grad]

    compare(*both(run))


def test_heads_of_keys_shared_by_heads_of_queries():
    def run(library):
        q, k, v = library.randn(2, 6, 4, 5), library.randn(2, 2, 3, 5), library.randn(2, 2, 3, 7)
        return library.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    close(*both(run))


LAYERS = {
    "plain": {},
    "batch first": {"batch_first": True},
    "without bias": {"bias": False},
    "other sizes": {"kdim": 5, "vdim": 7},
    "more keys": {"add_bias_kv": True, "add_zero_attn": True},
    "dropout": {"dropout": 0.4},
}
CALLS = {
    "plain": lambda lib: {},
    "all weights": lambda lib: {"average_attn_weights": False},
    "no weights": lambda lib: {"need_weights": False},
    "mask": lambda lib: {"attn_mask": lib.ones(4, 4).triu(1) > 0},
    "mask of numbers": lambda lib: {"attn_mask": lib.randn(4, 4), "need_weights": False},
    "mask of all": lambda lib: {"attn_mask": lib.randn(2 * 3, 4, 4)},
    "padding": lambda lib: {"key_padding_mask": lib.tensor([[False] * 4, [False, True] * 2])},
    "padding, no weights": lambda lib: {
        "key_padding_mask": lib.tensor([[False] * 4, [False, True] * 2]), "need_weights": False,
        "attn_mask": lib.ones(4, 4).triu(1) > 0,
    },
    "causal": lambda lib: {
        "attn_mask": lib.ones(4, 4).triu(1) > 0, "need_weights": False, "is_causal": True
    },
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("layer", LAYERS)
def test_multi_head_attention(layer, call):
    options = LAYERS[layer]

    def run(library):
        attention = library.nn.MultiheadAttention(6, 3, **options)
        leading = (2, 4) if options.get("batch_first") else (4, 2)
        sizes = (6, options.get("kdim", 6), options.get("vdim", 6))
        inputs = [library.randn(*leading, size, requires_grad=True) for size in sizes]
        y, weights = attention(*inputs, **CALLS[call](library))
        (y * library.randn(*y.shape)).sum().backward()
        gradients = [x.grad for x in inputs] + [p.grad for p in attention.parameters()]
        return repr(attention), list(attention.state_dict()), [y, weights, *gradients]

    ours, theirs = both(run)
    assert ours[:2] == theirs[:2]
    compare(ours[2], theirs[2])


def test_attention_of_one_sequence_to_itself():
    def run(library):
        attention = library.nn.MultiheadAttention(4, 2).eval()
        x = library.randn(5, 4, requires_grad=True)
        y, weights = attention(x, x, x)
        y.sum().backward()
        return [y, weights, x.grad]

    compare(*both(run))


STACKS = {
    "encoder layer": lambda nn: nn.TransformerEncoderLayer(6, 2, 8),
    "gelu, batch first": lambda nn: nn.TransformerEncoderLayer(
        6, 2, 8, 0.0, "gelu", batch_first=True
    ),
    "norm first": lambda nn: nn.TransformerEncoderLayer(6, 2, 8, norm_first=True, bias=False),
    "encoder": lambda nn: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(6, 2, 8, 0.2), 2, nn.LayerNorm(6)
    ),
}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("case", STACKS)
def test_encoders(case, masked):
    def run(library):
        stack = STACKS[case](library.nn)
        x = library.randn(4, 4, 6, requires_grad=True)
        options = {}
        if masked:
            mask = library.nn.Transformer.generate_square_subsequent_mask(4)
            options = {"mask" if case == "encoder" else "src_mask": mask}
        y = stack(x, **options)
        (y * library.randn(*y.shape)).sum().backward()
        return repr(stack), [y, x.grad, *[p.grad for p in stack.parameters()]]

    ours, theirs = both(run)
    assert ours[0] == theirs[0]
    compare(ours[1], theirs[1])


@pytest.mark.parametrize("options", [{}, {"batch_first": True, "norm_first": True}])
def test_a_transformer(options):
    def run(library):
        model = library.nn.Transformer(6, 2, 2, 2, 8, dropout=0.1, **options)
        src, tgt = library.randn(3, 3, 6), library.randn(3, 3, 6)
        mask = model.generate_square_subsequent_mask(3)
        padding = library.tensor([[0.0, 0, -1e9]] * 3)
        y = model(src, tgt, tgt_mask=mask, memory_key_padding_mask=padding)
        (y * library.randn(*y.shape)).sum().backward()
        return repr(model), list(model.state_dict()), [y, *[p.grad for p in model.parameters()]]

    ours, theirs = both(run)
    assert ours[:2] == theirs[:2]
    compare(ours[2], theirs[2])


ERRORS = [
    lambda lib: lib.nn.MultiheadAttention(5, 2),
    lambda lib: lib.nn.MultiheadAttention(0, 2),
    lambda lib: lib.nn.MultiheadAttention(4, 2)(*[lib.randn(4)] * 3),
    lambda lib: lib.nn.MultiheadAttention(4, 2)(*[lib.randn(3, 1, 5)] * 3),
    lambda lib: lib.nn.MultiheadAttention(4, 2)(lib.randn(3, 4), lib.randn(3, 1, 4), lib.ones(3)),
    lambda lib: lib.nn.MultiheadAttention(4, 2)(
        *[lib.randn(3, 1, 4)] * 3, key_padding_mask=lib.ones(3)
    ),
    lambda lib: lib.nn.MultiheadAttention(4, 2)(
        *[lib.randn(3, 1, 4)] * 3, key_padding_mask=lib.ones(1, 2)
    ),
    lambda lib: lib.nn.MultiheadAttention(4, 2)(*[lib.randn(3, 1, 4)] * 3, attn_mask=lib.ones(3)),
    lambda lib: lib.nn.MultiheadAttention(4, 2)(
        *[lib.randn(3, 1, 4)] * 3, attn_mask=lib.ones(3, 2)
    ),
    lambda lib: lib.nn.MultiheadAttention(4, 2)(
        *[lib.randn(3, 1, 4)] * 3, attn_mask=lib.ones(3, 3, 3)
    ),
    lambda lib: lib.nn.MultiheadAttention(4, 2)(
        *[lib.randn(3, 1, 4)] * 3, attn_mask=lib.ones(3, 3).int()
    ),
    lambda lib: lib.nn.MultiheadAttention(4, 2)(*[lib.randn(3, 1, 4)] * 3, is_causal=True),
    lambda lib: lib.nn.MultiheadAttention(4, 2)(
        *[lib.randn(3, 4)] * 3, attn_mask=lib.ones(3, 3, 3)
    ),
    lambda lib: lib.nn.TransformerEncoderLayer(4, 2, activation="tanh"),
    lambda lib: lib.nn.Transformer(4, 2, 1, 1, 8)(lib.randn(3, 2, 4), lib.randn(3, 1, 4)),
    lambda lib: lib.nn.Transformer(4, 2, 1, 1, 8)(lib.randn(3, 2, 5), lib.randn(3, 2, 4)),
    lambda lib: lib.nn.functional.scaled_dot_product_attention(
        *[lib.randn(2, 3)] * 3, lib.ones(2, 2), is_causal=True
    ),
    lambda lib: lib.nn.functional.scaled_dot_product_attention(*[lib.randn(3)] * 3),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_the_text_of_torch(number):
    assert message(numbagrad, ERRORS[number]) == message(torch, ERRORS[number])


def _second_order(library, dtype, arrays, mask):
    """Gradients of sums of gradients of masked attention, as arrays of float64."""
    q, k, v, *weights = [library.tensor(x).to(getattr(library, dtype)) for x in arrays]
    inputs = [x.requires_grad_() for x in (q, k, v)]
    mask = library.tensor(mask)
    mask = mask if mask.dtype == library.bool else mask.to(q.dtype)
    made = library.nn.functional.scaled_dot_product_attention(*inputs, attn_mask=mask)
    total = (made * weights[0]).sum()
    first = library.autograd.grad(total, inputs, create_graph=True)
    total = sum([(x * w).sum() for x, w in zip(first, weights[1:], strict=True)])
    return [x.double().numpy() for x in library.autograd.grad(total, inputs)]


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_second_order_gradients_under_a_mask_are_as_accurate(kind):
    """Where one score dominates; errors of float32 against float64, over many tensors."""
    errors = {torch: [], numbagrad: []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        arrays = [6 * rng.standard_normal((2, 6, 8)) for _ in range(7)]
        mask = rng.standard_normal((6, 6))
        if kind == "bool":
            mask = mask > -0.5
            mask[:, 0] = True
        exact = _second_order(torch, "float64", arrays, mask)
        for library, found in errors.items():
            made = _second_order(library, "float32", arrays, mask)
            found.append(
                [abs(x - y).max() / abs(y).max() for x, y in zip(made, exact, strict=True)]
            )
    mean = {library: np.exp(np.log(found).mean(0)) for library, found in errors.items()}
    assert (mean[numbagrad] < 1.4 * mean[torch]).all(), mean


def test_rows_of_which_nothing_is_left_have_no_gradient_of_any_order():
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((2, 3, 4)) for _ in range(7)]
    mask = np.ones((3, 3), bool)
    mask[1] = False
    mine, theirs = [_second_order(x, "float64", arrays, mask) for x in (numbagrad, torch)]
    for x, y in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 4)])
@pytest.mark.parametrize("scale", [None, -0.5])
@pytest.mark.parametrize("written", [0, 1, 2])
def test_what_may_be_written_after_attention_in_steps(shape, scale, written):
    """Query and key may: torch keeps scaled copies. The value may not."""

    def gradients(lib):
        leaves = [lib.randn(*shape, requires_grad=True) for _ in range(3)]
        operands = [x * 1 for x in leaves]
        made = lib.nn.functional.scaled_dot_product_attention(*operands, scale=scale)
        operands[written].mul_(2)
        try:
            (made * made).sum().backward()
        except RuntimeError as error:
            return "modified by an inplace operation" in str(error)
        return [x.grad for x in leaves]

    mine, theirs = both(gradients)
    assert (mine is True) == (theirs is True) == (written == 2)
    if written != 2:
        compare(mine, theirs)
