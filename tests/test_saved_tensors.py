"""What nodes save: how it is shown, packed and unpacked by hooks, and written all the same."""

import gc
import threading
import weakref

import pytest
from graph_tools import Twice, leaf
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES

import numbagrad as nb
from numbagrad.autograd import graph
from numbagrad.autograd.node import AccumulateGrad


def test_a_node_takes_the_hooks_of_a_tensor():
    called = []
    y = leaf(1.0) * 2
    y._backward_hooks = {0: called.append}
    z = leaf(1.0) * 3
    z.grad_fn._register_hook_dict(y)
    z.backward()
    assert [grad.tolist() for grad in called] == [[1.0]]


def test_saved_tensors_have_torchs_names():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    product = x * y
    assert product.grad_fn._saved_self is x
    assert product.grad_fn._saved_other is y
    assert x.exp().grad_fn._saved_result.tolist() == x.exp().tolist()
    assert nb.stack([x, y]).grad_fn._saved_dim == 0
    assert x.sum(0).grad_fn._saved_dim == (0,)
    assert (x**3).grad_fn._saved_self is x
    matrix = nb.ones(2, 2, requires_grad=True)
    assert matrix.mm(matrix).grad_fn._saved_mat2 is matrix
    assert matrix.select(1, 0).grad_fn._saved_index == 0
    assert matrix.clamp(0.0, 1.0).grad_fn._saved_max == 1.0
    none, index = matrix[:, nb.tensor([0, 1])].grad_fn._saved_indices
    assert (none, index.tolist()) == (None, [0, 1])


def fields(tensor):
    node = tensor.grad_fn
    shown = {name: getattr(node, name) for name in dir(node) if name.startswith("_saved_")}
    return {name[7:]: x for name, x in shown.items() if not isinstance(x, nb.Tensor)}


def test_choices_are_shown_whether_they_were_made_or_not():
    x = leaf(0.25)
    assert fields(nb.logit(x)) == {"eps": None} and fields(nb.logit(x, 0.1)) == {"eps": 0.1}
    assert fields(x.div(2.0, rounding_mode="trunc"))["rounding_mode"] == "trunc"
    assert fields(x.div(2.0, rounding_mode="floor"))["rounding_mode"] == "floor"
    assert fields(x.div(2.0, rounding_mode=None))["rounding_mode"] is None
    assert fields(x.as_strided((1,), (1,)))["storage_offset"] is None
    assert fields(x.as_strided((1,), (1,), 0))["storage_offset"] == 0


def test_layers_show_their_geometry():
    F, image = nb.nn.functional, nb.ones(1, 2, 4, 5, requires_grad=True)
    weight, bias = nb.ones(3, 2, 2, 2), nb.ones(3)
    convolution = {
        "stride": (2, 2), "padding": (1, 0), "dilation": (1, 1), "groups": 1, "transposed": False,
        "output_padding": (0, 0), "bias_sym_sizes_opt": (3,),
    }  # fmt: skip
    made = F.conv2d(image, weight, bias, 2, (1, 0))
    assert made.grad_fn.name() == "ConvolutionBackward0" and fields(made) == convolution
    made = F.conv2d(image, weight, None, 2, (1, 0))
    assert fields(made) == {**convolution, "bias_sym_sizes_opt": (0,)}
    blocks = {
        "kernel_size": (2, 3), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1),
        "self_sym_argsize_minus_2": 4, "self_sym_argsize_minus_1": 5,
    }  # fmt: skip
    made = F.unfold(image, (2, 3))
    assert made.grad_fn.name() == "Im2ColBackward0" and fields(made) == blocks
    made = F.interpolate(image, scale_factor=(2.0, 1.5), mode="bilinear")
    assert made.grad_fn.name() == "UpsampleBilinear2DBackward0"
    assert fields(made) == {
        "align_corners": False, "output_size": (8, 7), "scales_h": 2.0, "scales_w": 1.5,
        "self_sym_sizes": (1, 2, 4, 5),
    }  # fmt: skip
    made = F.interpolate(image[0], 7)
    assert made.grad_fn.name() == "UpsampleNearest1DBackward0"
    assert fields(made) == {"output_size": (7,), "scales": None, "self_sym_sizes": (2, 4, 5)}


@pytest.mark.parametrize("name", ["max", "min", "median", "cummax", "cummin", "mode"])
def test_of_an_extremum_only_the_indices_are_saved(name):
    x = nb.tensor([[1.0, 3.0, 2.0]], requires_grad=True)
    for _ in range(3):  # recorded in Python at first, then by the compiled launcher
        values, indices = getattr(x, name)(1)
        node = values.grad_fn
        assert node._saved_indices.tolist() == indices.tolist()
        assert not [field for field in dir(node) if field.startswith("_saved_result")]
        with nb.no_grad():
            values.zero_()
        values.sum().backward()
        indices.zero_()


def test_written_indices_of_an_extremum_are_noticed():
    x = nb.tensor([[1.0, 3.0, 2.0]], requires_grad=True)
    for _ in range(3):
        values, indices = x.max(1)
        indices.zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            values.sum().backward()


def test_dir_lists_what_is_saved():
    names = dir((leaf(1.0) * leaf(2.0)).grad_fn)
    assert {"_saved_self", "_saved_other", "_raw_saved_self", "_raw_saved_other"} <= set(names)


def test_an_unknown_field_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'MulBackward0' object has no attribute '_saved_dim'"):
        _ = (leaf(1.0) * leaf(2.0)).grad_fn._saved_dim


def test_a_saved_output_has_its_node():
    y = leaf(1.0).exp()
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn


def test_freed_saved_tensors_cannot_be_seen():
    y = leaf(1.0) * leaf(2.0)
    saved = y.grad_fn._raw_saved_self
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = y.grad_fn._saved_self
    with pytest.raises(RuntimeError, match="after it has been freed"):
        saved.register_hooks(lambda x: x, lambda x: x)


def test_hooks_of_one_saved_tensor():
    x = leaf(3.0)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 4, lambda t: t / 2)
    assert y.grad_fn._saved_self.tolist() == [6.0]
    y.backward()
    assert x.grad.tolist() == [9.0]


def test_a_saved_tensor_has_one_pair_of_hooks():
    saved = (leaf(3.0) * leaf(1.0)).grad_fn._raw_saved_self
    saved.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="only one pair of hooks is allowed at a time"):
        saved.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="must be callable"):
        saved.register_hooks(1, 2)


def test_raw_saved_tensors_of_a_function():
    x = leaf(3.0)
    y = Twice.apply(x)
    (saved,) = y.grad_fn._raw_saved_tensors
    saved.register_hooks(lambda t: t.tolist(), lambda values: nb.tensor(values) + 1)
    assert y.grad_fn.saved_tensors[0].tolist() == [4.0]
    for arguments in ((), (len,), (len, 1)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            Twice.apply(x).grad_fn._raw_saved_tensors[0].register_hooks(*arguments)
    y = Twice.apply(x)
    y.backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = y.grad_fn._raw_saved_tensors


def test_hooks_of_indices():
    x, index = nb.ones(2, 3, requires_grad=True), nb.tensor([0, 2])
    y = x[:, index]
    none, saved = y.grad_fn._raw_saved_indices
    assert saved.data.tolist() == [0, 2] and y.grad_fn._saved_indices[0] is None
    with pytest.raises(RuntimeError, match="with value None is forbidden"):
        none.register_hooks(lambda t: t, lambda t: t)
    calls = []
    saved.register_hooks(lambda t: t.tolist(), lambda v: calls.append(v) or nb.tensor(v[::-1]))
    assert saved.data == [0, 2] and y.grad_fn._saved_indices[1].tolist() == [2, 0]
    (y * nb.tensor([1.0, 10.0])).sum().backward()
    assert calls == [[0, 2]] * 2 and x.grad.tolist() == [[10.0, 0.0, 1.0]] * 2
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = y.grad_fn._saved_indices


@pytest.mark.parametrize("other", [[-1, 2], [0, 3], [0], [0.0, 2.0]])
def test_hooks_of_indices_return_indices_that_were_there(other):
    y = nb.ones(3, requires_grad=True)[nb.tensor([0, 2])]
    y.grad_fn._raw_saved_indices[0].register_hooks(lambda t: t, lambda t: nb.tensor(other))
    with pytest.raises(RuntimeError, match="returned other indices than were packed"):
        y.sum().backward()


def test_saved_tensors_are_made_by_nodes_alone():
    assert isinstance((leaf(1.0) * leaf(2.0)).grad_fn._raw_saved_self, nb.autograd.SavedTensor)
    with pytest.raises(RuntimeError, match="create a SavedTensor object from Python is forbidden"):
        nb.autograd.SavedTensor()


def test_a_tensor_may_be_saved_without_a_node():
    x, packed, unpacked = leaf(1.0), [], []
    with graph.saved_tensors_hooks(
        lambda t: packed.append(t) or t, lambda t: unpacked.append(t) or t + 1
    ):
        saved = nb._C._autograd._make_saved_tensor(x, is_output=False)
    assert len(packed) == 1 and not unpacked
    assert [saved.unpack().item(), saved.unpack().item()] == [2.0, 2.0]
    assert len(packed) == 1 and len(unpacked) == 2
    plain = nb._C._autograd._make_saved_tensor(x, is_output=False)
    assert plain.unpack() is x and plain.data is x and plain.unpack_hook is None


def test_a_leaf_under_hooks_still_gets_its_second_gradient():
    x = leaf(3.0)
    with graph.saved_tensors_hooks(lambda t: t.tolist(), nb.tensor):
        (first,) = nb.autograd.grad((x**3).sum(), x, create_graph=True)
    first.backward()
    assert x.grad.tolist() == [18.0]


def test_hooks_of_saved_tensors():
    packed, unpacked = [], []
    x = leaf(2.0)
    with graph.saved_tensors_hooks(
        lambda t: packed.append(t) or len(packed) - 1,
        lambda position: unpacked.append(position) or packed[position],
    ):
        y = x.exp() * x
    assert len(packed) == 3  # the result of exp, and both factors
    assert packed[1] is not y
    y.backward()
    assert sorted(unpacked) == [0, 1, 2]
    assert x.grad.item() == pytest.approx(3 * 2.718281828**2, rel=1e-5)


def test_the_innermost_pair_of_hooks_applies():
    x = leaf(2.0)
    seen = []
    with graph.saved_tensors_hooks(lambda t: seen.append("outer") or t, lambda t: t):
        with graph.saved_tensors_hooks(lambda t: seen.append("inner") or t, lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    assert seen == ["inner", "outer"]


def test_hooks_see_every_kind_of_node():
    x = nb.ones(3, 3, requires_grad=True)
    weight, bias = nb.ones(3, 3, requires_grad=True), nb.ones(3, requires_grad=True)
    for compute in (
        lambda: x * x, lambda: x.mm(weight), lambda: x.softmax(0), lambda: Twice.apply(x),
        lambda: nb.nn.functional.linear(x, weight, bias), lambda: x.clone().exp_(),
    ):  # fmt: skip
        for _ in range(2):  # the second time a compiled launcher may make the node
            packed = []
            with graph.saved_tensors_hooks(lambda t, p=packed: p.append(1) or t, lambda t: t):
                y = compute()
            assert packed
            y.sum().backward()


def test_hooks_are_those_of_the_thread():
    x = leaf(2.0)
    seen = []
    with graph.saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t):
        thread = threading.Thread(target=lambda: x.exp().backward())
        thread.start()
        thread.join()
    assert seen == []
    assert x.grad is not None


def test_a_pack_hook_may_not_write():
    x = leaf(2.0).clone()
    with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
        with graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):
            x.exp()


def test_an_unpack_hook_returns_a_tensor():
    x = leaf(2.0)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.exp()
    with pytest.raises(TypeError, match="expected to be a Tensor but got result of type int"):
        y.backward()


def test_errors_of_hooks_leave_the_switches_as_they_were():
    x = leaf(2.0)
    with pytest.raises(ZeroDivisionError):
        with graph.saved_tensors_hooks(lambda t: 1 / 0, lambda t: t):
            x.exp()
    assert nb.is_grad_enabled()
    x.exp().backward()


def test_hooks_that_an_unpack_hook_enters_are_gone_after_the_node():
    seen = []

    def unpack(tensor):
        inner.__enter__()
        return tensor

    inner = graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t)
    x = leaf(2.0)
    with graph.saved_tensors_hooks(lambda t: t, unpack):
        y = x.exp()
    y.backward()
    x.exp()
    assert seen == []


def test_hooks_that_an_unpack_hook_leaves_are_back_after_the_node():
    log = []

    def unpack(tensor):
        pair.__exit__()
        return tensor

    pair = graph.saved_tensors_hooks(lambda t: log.append("packed") or t, unpack)
    x = leaf(2.0)
    with pair:
        x.exp().backward()
        x.exp()
    x.exp()
    assert log == ["packed", "packed"]


DIFFERENTIABLE = [
    entry
    for entry in POINTWISE_ENTRIES + ENTRIES
    if entry.differentiable and entry.admits("float64")
]


@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda entry: entry.name)
def test_a_hook_sees_each_node_with_all_that_it_saves(entry):
    tensors = [nb.from_numpy(array) for array in entry.draw("float64", 3)]
    for tensor in tensors:
        tensor.requires_grad_(tensor.is_floating_point())
    seen = []

    def hook(node):
        fields = [getattr(node, name) for name in dir(node) if name.startswith("_saved_")]
        assert not any([field is node for field in fields])
        seen.append(node)

    with graph.node_creation_hook(hook):
        made = as_tuple(entry.call(nb, *tensors))
    assert len(set(seen)) == len(seen)
    made_by = [x.grad_fn for x in made if x.grad_fn is not None]
    assert made_by or any([x is tensor for x in made for tensor in tensors])
    assert all([node in seen for node in made_by])
    leaves = [node.variable for node in seen if isinstance(node, AccumulateGrad)]
    assert all([any([leaf is tensor for tensor in tensors]) for leaf in leaves])


class TestNodeCreationHook:
    def test_nested_hooks_and_leaves(self):
        calls = []
        x = nb.ones(2, requires_grad=True)
        with graph.node_creation_hook(lambda node: calls.append((1, node))):
            y = x * 2
            with graph.node_creation_hook(lambda node: calls.append((2, node))):
                z = y.exp() + x
        leaf = y.grad_fn.next_functions[0][0]
        exp = z.grad_fn.next_functions[0][0]
        assert leaf.variable is x
        assert calls == [
            (1, leaf), (1, y.grad_fn), (1, exp), (2, exp), (1, z.grad_fn), (2, z.grad_fn)
        ]  # fmt: skip
        nodes = [weakref.ref(node) for _, node in calls]
        del calls[:], y, z, leaf, exp
        assert [node() for node in nodes] == [None] * 6

    def test_the_node_of_a_leaf_is_made_again_after_its_graph(self):
        names = []
        x = nb.ones(2, requires_grad=True)
        with graph.node_creation_hook(lambda node: names.append(node.name())):
            y = x * 2
            z = x * 3
            del y, z
            x.sin()
        leaf = "torch::autograd::AccumulateGrad"
        assert names == [leaf, "MulBackward0", "MulBackward0", leaf, "SinBackward0"]

    def test_functions_and_writes(self):
        class Double(nb.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 2

        seen = []

        def hook(node):
            seen.append((node, getattr(node, "saved_tensors", None)))

        x = nb.ones(4, requires_grad=True).clone()
        with graph.node_creation_hook(hook):
            y = Double.apply(x)
            y.mul_(3)
            view = y[:2]
            view.exp_()
        nodes = [node for node, _ in seen]
        assert [node.name() for node in nodes] == [
            "DoubleBackward", "MulBackward0", "SliceBackward0", "AsStridedBackward0",
            "torch::autograd::CopySlices",
        ]  # fmt: skip
        assert seen[0][1] == (x,)
        assert nodes[3:] == [view.grad_fn, y.grad_fn]

    def test_nodes_of_a_backward(self):
        x = nb.ones(2, requires_grad=True)
        names = []
        with graph.node_creation_hook(lambda node: names.append(node.name())):
            (gradient,) = nb.autograd.grad((x * x).sum(), x, create_graph=True)
        assert gradient.grad_fn.name() in names
        count = len(names)
        x.exp()
        assert len(names) == count

    def test_what_a_hook_may_not_do(self):
        x = nb.ones(2, requires_grad=True)

        def fail(node):
            raise KeyError(node.name())

        with graph.node_creation_hook(fail), pytest.raises(KeyError, match="AccumulateGrad"):
            x * 2
        with graph.node_creation_hook(lambda node: node):
            with pytest.raises(RuntimeError, match="must return None, got AccumulateGrad"):
                x * 2
        with graph.node_creation_hook(lambda node: (x * 2, None)[1]):
            with pytest.raises(RuntimeError, match="from inside a node creation hook"):
                x.exp()
        assert (x * 2).grad_fn.name() == "MulBackward0"


def test_disabled_hooks():
    pair = graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    allowed = nb._C._autograd._saved_tensors_hooks_is_enabled
    with graph.disable_saved_tensors_hooks("no hooks here"):
        assert not allowed()
        with pytest.raises(RuntimeError, match="no hooks here"):
            pair.__enter__()
    assert allowed()
    with pair:
        with pytest.raises(RuntimeError, match="not now"):
            with graph.disable_saved_tensors_hooks("not now"):
                pass


def test_hooks_leave_no_cycle_behind():
    gc.collect()
    gc.disable()
    try:
        x = leaf(2.0)
        with graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
            y = x.exp().tanh()
        reference = weakref.ref(y.grad_fn)
        del y
        assert reference() is None
    finally:
        gc.enable()


def test_save_on_cpu_saves_copies():
    x = leaf(2.0)
    y = x * 1
    with graph.save_on_cpu():
        z = y * y
    y.add_(1)
    z.backward()
    assert x.grad.tolist() == [4.0]


# --- allow_mutation_on_saved_tensors --------------------------------------------------------------


def test_saved_tensors_may_be_written():
    x = leaf(2.0, 3.0)
    with graph.allow_mutation_on_saved_tensors() as context:
        y = x.clone()
        out = (y**2).sum()
        y.sin_()
        assert len(context.cloned) == 1
        out.backward()
    assert x.grad.tolist() == [4.0, 6.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.zero_(), lambda y: y.fill_(7), lambda y: y.copy_(nb.zeros(2)),
        lambda y: y.__setitem__(0, 7.0), lambda y: y[:1].mul_(3), lambda y: y.normal_(),
        lambda y: y.detach().add_(1), lambda y: nb.add(nb.ones(2), 1, out=y.detach()),
    ],
)  # fmt: skip
def test_every_write_is_seen(write):
    x = leaf(2.0, 3.0)
    with graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        out = (y * y).sum()
        write(y)
        out.backward()
    assert x.grad.tolist() == [4.0, 6.0]


def test_what_is_not_saved_is_not_cloned():
    with graph.allow_mutation_on_saved_tensors() as context:
        y = leaf(1.0).clone()
        out = y**2
        del out
        gc.collect()
        y.sin_()
        assert len(context.cloned) == 0


def test_mutation_contexts_are_not_nested_and_contain_their_backward():
    with graph.allow_mutation_on_saved_tensors():
        with pytest.raises(RuntimeError, match="contexts cannot be nested"):
            with graph.allow_mutation_on_saved_tensors():
                pass
        out = leaf(1.0).exp()
    with pytest.raises(AssertionError, match="Trying to backward outside of the"):
        out.backward()
