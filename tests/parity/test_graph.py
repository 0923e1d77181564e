"""Errors and names of the graph, of hooks and of inference tensors, compared with torch's."""

import math
import warnings

import pytest
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES
from parity_tools import both, close, message

import numbagrad


def leaf(library, *values):
    return library.tensor(list(values), requires_grad=True)


def inference_tensor(library):
    with library.inference_mode():
        return library.ones(2)


def hooked(library, register, hook):
    y = leaf(library, 1.0, 2.0) * 2
    getattr(y if register == "register_hook" else y.grad_fn, register.split()[0])(hook)
    return (y * 1).sum().backward()


def edge(library, tensor):
    return library.autograd.graph.get_gradient_edge(tensor)


ERRORS = {
    "inference, saved": lambda t: leaf(t, 1.0, 2.0) * inference_tensor(t),
    "inference, written": lambda t: inference_tensor(t).add_(1),
    "inference, version": lambda t: inference_tensor(t)._version,
    "inference, requires_grad": lambda t: inference_tensor(t).requires_grad_(),
    "hook, type": lambda t: hooked(t, "register_hook", lambda g: g.double()),
    "hook, size": lambda t: hooked(t, "register_hook", lambda g: g[:1]),
    "hook, no tensor": lambda t: hooked(t, "register_hook", lambda g: 3),
    "prehook, no tuple": lambda t: hooked(t, "register_prehook", lambda g: g[0] * 2),
    "node hook, count": lambda t: hooked(t, "register_hook of node", lambda a, b: (None,) * 3),
    "edge, no gradient": lambda t: edge(t, t.ones(1)),
    "edge, no scalar": lambda t: t.autograd.grad(edge(t, leaf(t, 1.0, 2.0) * 2), leaf(t, 1.0)),
    "edge, shape": lambda t: t.autograd.grad(
        edge(t, leaf(t, 1.0, 2.0) * 2), leaf(t, 1.0), t.ones(3)
    ),
    "batched, shape": lambda t: t.autograd.grad(
        leaf(t, 1.0, 2.0) * 2, leaf(t, 1.0), t.ones(2), is_grads_batched=True
    ),
    "inputs, empty": lambda t: t.autograd.grad(leaf(t, 1.0) * 2, []),
    "node, arguments": lambda t: (leaf(t, 1.0) * 2).grad_fn(),
    "callback outside": lambda t: t.autograd.Variable._execution_engine.queue_callback(print),
    "delete data": lambda t: leaf(t, 1.0).__delattr__("data"),
    "delete hooks": lambda t: leaf(t, 1.0).__delattr__("_backward_hooks"),
    "dirty view": lambda t: dirty_view(t),
}  # fmt: skip


def dirty_view(library):
    class Double(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2), x

        @staticmethod
        def backward(ctx, first, second):
            return first + second

    return Double.apply(library.ones(2, 2, requires_grad=True).clone()[0])


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_errors(name):
    ours, theirs = both(lambda library: message(library, ERRORS[name]))
    assert ours == theirs


# --- what nodes save ------------------------------------------------------------------------------


#: Entries whose public function in torch takes other arguments.
OTHER_ARGUMENTS = {"prelu", "binary_cross_entropy_with_logits_weighted"}
CHOSEN = [e for e in POINTWISE_ENTRIES + ENTRIES if e.differentiable and e.admits("float64")]
#: Compositions, whose last node is another one or has other inputs; eigenvectors have either sign.
OTHER_VALUES = {
    "index_reduce-prod", "index_reduce-amax", "index_reduce-amin", "linalg_eigh",
    "l1_loss", "kl_div_log_target", "rpow", "matrix_power-3", "linalg_svd-4x3", "linalg_svd-2x3",
    "linalg_svd-full", "svd", "svd-values", "linalg_solve_triangular", "special_ndtr", "tanhshrink",
    "kl_div", "matrix_power--2",
}  # fmt: skip


@pytest.mark.parametrize("entry", CHOSEN, ids=lambda entry: entry.name)
def test_saved_tensors_of_one_name_are_the_same(entry):
    arrays = entry.draw("float64")

    def node(library):
        leaves = [library.from_numpy(x.copy()) for x in arrays]
        for tensor in leaves:
            tensor.requires_grad_(tensor.is_floating_point())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outputs = as_tuple(entry.call(library, *leaves))
        return next((x.grad_fn for x in outputs if x.grad_fn is not None), None)

    if entry.name in OTHER_ARGUMENTS:
        return
    ours, theirs = both(node)
    if entry.name in OTHER_VALUES or ours is None or ours.name() != theirs.name():
        return
    for name in dir(ours):
        if not name.startswith("_saved_") or not hasattr(theirs, name):
            continue
        mine, other = getattr(ours, name, None), getattr(theirs, name)
        if isinstance(mine, numbagrad.Tensor):
            close(mine, other)


# --- nodes of layers ------------------------------------------------------------------------------


def image(library, *shape):
    return library.linspace(0.0, 1.0, math.prod(shape)).reshape(shape).requires_grad_()


LAYERS = {
    "conv1d": lambda t: t.conv1d(image(t, 2, 4, 7), t.ones(6, 2, 3), t.ones(6), 2, 1, 2, 2),
    "conv2d": lambda t: t.conv2d(image(t, 1, 2, 5, 5), t.ones(3, 2, 3, 3), t.ones(3)),
    "conv2d, no bias": lambda t: t.conv2d(image(t, 1, 2, 5, 5), t.ones(3, 2, 3, 3)),
    "conv_transpose2d": lambda t: t.conv_transpose2d(
        image(t, 1, 2, 3, 3), t.ones(2, 4, 3, 3), t.ones(4), 2, 1, 1
    ),
    "unfold": lambda t: t.nn.functional.unfold(image(t, 1, 2, 5, 4), (2, 3), 1, 1, 2),
    "fold": lambda t: t.nn.functional.fold(image(t, 1, 8, 9), (4, 4), 2),
    "linear": lambda t: t.nn.functional.interpolate(image(t, 1, 2, 3), 7, mode="linear"),
    "bilinear": lambda t: t.nn.functional.interpolate(
        image(t, 1, 2, 3, 4), scale_factor=2.5, mode="bilinear", align_corners=True
    ),
    "trilinear": lambda t: t.nn.functional.interpolate(
        image(t, 1, 1, 2, 2, 2), 3, mode="trilinear"
    ),
    **{
        f"{mode} {rank}d": lambda t, mode=mode, rank=rank: t.nn.functional.interpolate(
            image(t, 1, 2, *range(3, 3 + rank)), scale_factor=1.7, mode=mode
        )
        for mode in ("nearest", "nearest-exact") for rank in (1, 2, 3)
    },
    "as_strided": lambda t: image(t, 2, 2).as_strided((3,), (1,), 1),
    "as_strided, no offset": lambda t: image(t, 2, 2).as_strided((3,), (1,)),
    "logit": lambda t: t.logit(image(t, 3)),
    "logit, eps": lambda t: t.logit(image(t, 3), 0.1),
    "pdist": lambda t: t.pdist(image(t, 4, 3), 1),
    "addbmm": lambda t: t.addbmm(t.ones(2, 4), image(t, 5, 2, 3), image(t, 5, 3, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_layers_are_nodes_that_show_the_same(name):
    ours, theirs = both(lambda library: LAYERS[name](library))
    close(ours, theirs)
    ours, theirs = ours.grad_fn, theirs.grad_fn
    assert ours.name() == theirs.name()
    for field in dir(ours):
        if field.startswith("_saved_") and field not in OWN_FIELDS:
            mine, other = getattr(ours, field), getattr(theirs, field)
            if hasattr(mine, "grad_fn"):
                close(mine, other)
            else:
                assert mine == other, field


#: torch saves no sizes of what was added, nor those of what it sums blocks to.
OWN_FIELDS = {
    "_saved_self_sym_sizes", "_saved_self_sym_argsize_minus_1", "_saved_self_sym_argsize_minus_2",
}  # fmt: skip
