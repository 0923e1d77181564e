"""The graph from outside: nodes, edges, saved tensors and the contexts of ``autograd.graph``."""

import gc

import pytest
from graph_tools import Twice, leaf

import numbagrad as nb
from numbagrad.autograd import graph
from numbagrad.autograd.graph import GradientEdge, get_gradient_edge

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


def test_a_look_at_a_linear_layer_changes_nothing():
    layer, x = nb.nn.Linear(4, 2), nb.ones(3, 4, requires_grad=True)
    made = layer(x)
    node = made.grad_fn
    before = type(node), node.next_edges
    transpose = node.next_functions[2][0]
    assert transpose.next_functions[0][0].variable is layer.weight
    assert (type(node), node.next_edges) == before
    made.register_hook(lambda grad: node.next_functions[2][0] is transpose and None)
    (gradient,) = nb.autograd.grad(made.sum(), layer.weight)
    assert (gradient == 3).all()
    assert node.next_edges == before[1]


def test_the_transpose_of_a_linear_layer_takes_part_in_walks_that_end_there():
    layer, x = nb.nn.Linear(4, 2), nb.ones(3, 4, requires_grad=True)
    loss = layer(x).sum()
    transpose = loss.grad_fn.next_functions[0][0].next_functions[2][0]
    edge = nb.autograd.graph.GradientEdge(transpose, 0)
    inner, outer = nb.autograd.grad(loss, [edge, layer.weight], retain_graph=True)
    assert nb.equal(inner, outer.t())
    (outer,) = nb.autograd.grad(loss, layer.weight)
    assert (outer == 3).all()


def test_the_transpose_of_a_linear_layer_gets_no_hooks_in_a_walk():
    layer, x = nb.nn.Linear(4, 2), nb.ones(3, 4, requires_grad=True)
    made = layer(x)
    transpose = made.grad_fn.next_functions[2][0]
    made.register_hook(lambda grad: transpose.register_hook(print) and None)
    with pytest.raises(RuntimeError, match="register them before"):
        made.sum().backward()


def test_the_transpose_of_a_linear_layer_does_not_keep_its_graph():
    layer, x = nb.nn.Linear(4, 2), nb.ones(3, 4, requires_grad=True)
    transpose = layer(x).grad_fn.next_functions[2][0]
    transpose.register_hook(print)
    assert transpose.next_functions[0][0].variable is layer.weight
