"""The graph from outside: nodes, edges, saved tensors and the contexts of ``autograd.graph``."""

import gc
import threading
import weakref

import pytest
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES

import numbagrad as nb
from numbagrad.autograd import Function, graph
from numbagrad.autograd.graph import GradientEdge, get_gradient_edge
from numbagrad.autograd.node import AccumulateGrad


def leaf(*values):
    return nb.tensor(list(values), requires_grad=True)


class Twice(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


# --- nodes ----------------------------------------------------------------------------------------


def test_every_node_is_a_node():
    x = leaf(1.0)
    y = Twice.apply(x * 2)
    accumulator = (x * 2).grad_fn.next_functions[0][0]
    for node in (y.grad_fn, (x * 2).grad_fn, accumulator):
        assert isinstance(node, graph.Node) and issubclass(type(node), graph.Node)
        assert graph.Node not in type(node).mro()  # it says what nodes have, and is none
    assert not isinstance(None, graph.Node) and not isinstance(graph.Node, graph.Node)
    assert type(accumulator).__name__ == "AccumulateGrad"
    assert accumulator.variable is x
    assert (x + 1).grad_fn.next_functions[0][0] is accumulator


def test_a_node_can_be_called():
    y = leaf(3.0) ** 2
    assert y.grad_fn(nb.tensor([1.0])).tolist() == [6.0]
    for arguments in ((), (y, y)):
        with pytest.raises(TypeError, match="expected 1 arguments, got . instead"):
            y.grad_fn(*arguments)
    with pytest.raises(TypeError, match="argument 0 is not a Variable"):
        y.grad_fn(3)


def test_a_history_may_fail_or_hand_on_nothing():
    x = leaf(1.0)
    y, z = nb._C._functions.DelayedError("not today", 2)(x * 2, x * 3)
    with pytest.raises(RuntimeError, match="not today"):
        (y + z).backward()
    (nb._C._functions.UndefinedGrad()(x * 2) + x * 3).backward()
    assert x.grad.tolist() == [3.0]


def test_metadata_stays_with_the_node():
    y = leaf(1.0).exp()
    y.grad_fn.metadata["key"] = "value"
    assert y.grad_fn.metadata == {"key": "value"}


def test_input_metadata_knows_outputs_that_are_in_use():
    variance, mean = nb.var_mean(nb.ones(2, 3, requires_grad=True), dim=0)
    assert [one.shape for one in variance.grad_fn._input_metadata] == [[3], [3]]
    del mean
    variance, _ = nb.var_mean(nb.ones(2, 3, requires_grad=True), dim=0, keepdim=True)
    before = variance.sin().cos().grad_fn.next_functions[0][0].next_functions[0][0]
    assert [one.shape for one in before._input_metadata] == [[1, 3], [1, 3]]


def test_input_metadata_describes_the_outputs():
    y = leaf(1.0, 2.0).exp()
    (metadata,) = y.grad_fn._input_metadata
    assert (metadata.shape, metadata.dtype, metadata.device) == ([2], nb.float32, y.device)
    (metadata,) = Twice.apply(leaf(1.0)).grad_fn._input_metadata
    assert metadata.shape == [1]


# --- saved tensors --------------------------------------------------------------------------------


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
        lambda place: unpacked.append(place) or packed[place],
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


# --- edges ----------------------------------------------------------------------------------------


def test_edges_of_leaves_and_others():
    x = leaf(2.0)
    y = x * 3
    assert get_gradient_edge(y)[:2] == (y.grad_fn, 0)
    assert get_gradient_edge(x).node.variable is x
    with pytest.raises(RuntimeError, match="does not require gradients"):
        get_gradient_edge(nb.ones(1))


def test_grad_with_respect_to_edges():
    x = leaf(2.0)
    y = x * 3
    old = get_gradient_edge(y)
    y *= 2
    out = (y * 5).sum()
    gradients = nb.autograd.grad(out, (get_gradient_edge(x), old, y))
    assert [g.tolist() for g in gradients] == [[30.0], [10.0], [5.0]]


def test_a_leaf_of_which_the_memory_was_replaced_stands_for_its_later_uses():
    x = leaf(2.0)
    old = get_gradient_edge(x)
    before = x * 3
    with nb.no_grad():
        x.set_(nb.tensor([5.0]))
    with pytest.raises(RuntimeError, match="to not have been used in the graph"):
        nb.autograd.grad(before.sum(), x, retain_graph=True)
    both = before.sum() + (x * 7).sum()
    new = get_gradient_edge(x)
    for wanted, expected in ((x, 7.0), (new, 7.0), (old, 3.0)):
        (found,) = nb.autograd.grad(both, wanted, retain_graph=True)
        assert found.tolist() == [expected]
    both.backward(inputs=old, retain_graph=True)
    assert x.grad.tolist() == [3.0]
    both.backward(retain_graph=True)
    assert x.grad.tolist() == [13.0]
    with pytest.raises(RuntimeError, match="cannot be taken at once"):
        nb.autograd.grad(both, (x, old))


def test_grad_from_an_edge():
    x = leaf(1.0, 2.0)
    middle = x * x
    edge = get_gradient_edge(middle)
    (given,) = nb.autograd.grad((middle * 3).sum(), (edge,))
    assert nb.autograd.grad(edge, (x,), given)[0].tolist() == [6.0, 12.0]
    total = get_gradient_edge((x * x).sum())
    nb.autograd.backward(total)
    assert x.grad.tolist() == [2.0, 4.0]


def test_edges_know_the_shape_of_their_tensor():
    x = leaf(1.0, 2.0)
    edge = get_gradient_edge(x * x)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        nb.autograd.grad(edge, x)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        nb.autograd.grad(edge, x, nb.ones(3))


def test_an_edge_owns_its_graph():
    x = leaf(2.0)
    for make in (lambda: (x * x).clone(), lambda: Twice.apply(x)):
        edge = get_gradient_edge(make())
        gc.collect()
        nb.autograd.backward(edge)
    assert x.grad.tolist() == [6.0]


def test_zeros_are_not_made_for_edges():
    x = leaf(2.0)
    edge = GradientEdge((x * 1).grad_fn, 0)
    (unused,) = nb.autograd.grad((x * 2).sum(), (edge,), allow_unused=True)
    assert unused is None
    with pytest.raises(RuntimeError, match="the given input is a GradientEdge"):
        nb.autograd.grad((x * 2).sum(), (x, edge), materialize_grads=True)
    y = x * 1
    used, zeros = nb.autograd.grad(
        (y * 2).sum(), (get_gradient_edge(y), leaf(1.0)), materialize_grads=True
    )
    assert (used.tolist(), zeros.tolist()) == ([2.0], [0.0])


def test_backward_to_edges_and_tensors():
    x = leaf(2.0)
    y = x * 3
    nb.autograd.backward((y * y).sum(), inputs=(get_gradient_edge(x), y))
    assert (x.grad.tolist(), y.grad.tolist()) == ([36.0], [12.0])


def test_versions_may_be_preserved():
    x = nb.zeros(2)
    x.add_(1)
    with nb.autograd._unsafe_preserve_version_counter((x, nb.ones(1))):
        x.mul_(2)
    assert x._version == 1


def test_versions_may_be_set():
    x = nb.ones(1)
    y = x * leaf(1.0)
    x.mul_(2)
    nb._C._autograd._unsafe_set_version_counter((x, y), (0, 4))
    assert (x._version, y._version) == (0, 4)
    y.backward()  # the write of x is not noticed
    with pytest.raises(RuntimeError, match="Cannot set a version_counter to a value below 0: -1"):
        nb._C._autograd._unsafe_set_version_counter((x,), (-1,))
    with pytest.raises(RuntimeError, match="tensors_len=1, versions_len=2"):
        nb._C._autograd._unsafe_set_version_counter((x,), (1, 2))
    with nb.inference_mode():
        made_inside = nb.ones(1)
    with pytest.raises(RuntimeError, match="does not have a version counter"):
        nb._C._autograd._unsafe_set_version_counter((made_inside,), (0,))


def order_of(root, *inputs):
    """The nodes that a hook of a root is told the walk will run."""
    found = []
    root.register_hook(lambda _: found.append(nb._C._current_graph_task_execution_order()))
    with nb.autograd.set_multithreading_enabled(False):
        if inputs:
            nb.autograd.grad(root, inputs)
        else:
            root.backward()
    return found[0]


def test_the_order_of_a_walk_is_known_inside_of_it():
    a, b = leaf(1.0), leaf(2.0)
    sine, cosine = b.sin(), a.cos()
    root = sine * cosine
    accumulate = [y.grad_fn.next_functions[0][0] for y in (sine, cosine)]
    expected = [root.grad_fn, cosine.grad_fn, accumulate[1], sine.grad_fn, accumulate[0]]
    assert order_of(root) == expected


def test_the_order_of_a_walk_has_only_what_it_runs():
    a, b = leaf(1.0), leaf(2.0)
    root = (a * b).sin()
    names = [node.name() for node in order_of(root, a)]
    assert names == ["SinBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"]
    names = [node.name() for node in order_of((a + a) * b)]
    assert names == ["MulBackward0", "torch::autograd::AccumulateGrad", "AddBackward0", names[1]]


def test_the_order_of_a_walk_is_asked_for_inside_of_one_thread():
    with pytest.raises(RuntimeError, match="should only be called during the backward pass"):
        nb._C._current_graph_task_execution_order()
    y = leaf(1.0).exp()
    y.register_hook(lambda _: nb._C._current_graph_task_execution_order())
    with pytest.raises(RuntimeError, match="with multithreading disabled"):
        y.backward()


def test_walks_are_numbered():
    numbers = []
    y = leaf(1.0).exp()
    y.register_hook(lambda _: numbers.append(nb._C._current_graph_task_id()))
    for _ in range(2):
        y.backward(retain_graph=True)
    assert numbers[1] == numbers[0] + 1
    assert nb._C._current_graph_task_id() == -1


def test_versions_are_counted_by_hand():
    x = nb.zeros(2)
    graph.increment_version(x)
    graph.increment_version([x, x])
    assert x._version == 3
    y = leaf(1.0).clone()
    out = y * y
    graph.increment_version(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


# --- the linear layer, one node that shows two ----------------------------------------------------


def test_a_linear_layer_shows_the_transpose_of_its_weight():
    layer, x = nb.nn.Linear(4, 2), nb.ones(3, 4, requires_grad=True)
    node = layer(x).grad_fn
    names = [function.name() for function, _ in node.next_functions]
    assert node.name() == "AddmmBackward0"
    assert names == ["torch::autograd::AccumulateGrad"] * 2 + ["TBackward0"]
    transpose = node.next_functions[2][0]
    assert node.next_functions[2][0] is transpose
    assert transpose.next_functions[0][0].variable is layer.weight
    assert node._saved_mat2.shape == (4, 2)


def test_gradients_of_a_linear_layer_after_a_look_at_its_node():
    def shown(x, weight, bias):
        made = nb.nn.functional.linear(x, weight, bias)
        made.grad_fn.next_functions  # noqa: B018
        return made.sin()

    nb.manual_seed(0)
    inputs = [nb.randn(*s, dtype=nb.float64).requires_grad_() for s in ((3, 4), (2, 4), (2,))]
    assert nb.autograd.gradcheck(shown, inputs)
    assert nb.autograd.gradgradcheck(shown, inputs)
    plain = nb.nn.functional.linear(*inputs).sin().sum()
    for one, other in zip(
        nb.autograd.grad(shown(*inputs).sum(), inputs), nb.autograd.grad(plain, inputs),
        strict=True,
    ):  # fmt: skip
        assert nb.equal(one, other)


def test_hooks_on_the_transpose_of_a_linear_layer():
    layer = nb.nn.Linear(4, 2)
    loss = layer(nb.ones(3, 4)).sum()
    seen = []
    transpose = loss.grad_fn.next_functions[0][0].next_functions[2][0]
    transpose.register_hook(
        lambda inputs, outputs: seen.append((inputs[0].shape, outputs[0].shape))
    )
    edge = nb.autograd.graph.GradientEdge(transpose, 0)
    assert nb.autograd.grad(loss, edge, retain_graph=True)[0].shape == (4, 2)
    loss.backward()
    assert seen == [((2, 4), (4, 2))]
    assert (layer.weight.grad == 3).all()


def test_a_look_at_a_linear_layer_in_a_walk_changes_nothing():
    layer, x = nb.nn.Linear(4, 2), nb.ones(3, 4, requires_grad=True)
    made = layer(x)
    node = made.grad_fn
    made.register_hook(lambda grad: node.next_functions and None)
    (gradient,) = nb.autograd.grad(made.sum(), layer.weight)
    assert (gradient == 3).all()
