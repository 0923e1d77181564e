"""numbagrad.graph: what it tells of a recorded graph, and the picture it draws."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree

import pytest

import numbagrad as nb
from numbagrad import nn
from numbagrad.drawing.layered import arrange


def elements(found, tag):
    root = xml.etree.ElementTree.fromstring(found.svg)
    return root.findall(f".//{{*}}{tag}")


def item(found, name):
    (only,) = [item for item in found.items if item.name == name]
    return only


def small_model():
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    return model, model(nb.randn(5, 8)).softmax(1).sum()


def test_leaves_nodes_and_the_result_come_in_the_order_of_forward():
    model, loss = small_model()
    found = nb.graph(loss, model)
    assert str(found).startswith("5 nodes, 4 leaves, ")
    kinds = [item.kind for item in found.items]
    assert kinds == ["leaf"] * 4 + ["node"] * 5 + ["result"]
    assert {item.name for item in found.items[:4]} == {name for name, _ in model.named_parameters()}
    assert [item.name for item in found.items[4:]] == [
        "AddmmBackward0", "TanhBackward0", "AddmmBackward0", "SoftmaxBackward0", "SumBackward0",
        "result",
    ]  # fmt: skip
    assert all([first < last for first, last in found.edges])
    assert len(found.edges) == 9


def test_shapes_and_saved_tensors_are_told():
    model, loss = small_model()
    found = nb.graph(loss, model)
    tanh = item(found, "TanhBackward0")
    assert (tanh.shape, tanh.dtype) == ((5, 16), "float32")
    assert tanh.saved == ("result (5, 16) float32",)
    second = found.items[6]
    assert second.saved == ("(5, 16) float32", "2.weight (4, 16) float32")
    # the input, the output of tanh and the softmax; the weights are leaves
    assert found.saved_bytes == 4 * (5 * 8 + 5 * 16 + 5 * 4)


def test_the_shape_of_a_pointwise_node_follows_from_its_neighbours():
    x = nb.ones(2, 3, requires_grad=True)
    column = nb.ones(2, 1, requires_grad=True)
    found = nb.graph(((x + 1) - (column + 1)).sum())
    shapes = [item.shape for item in found.items if item.name == "AddBackward0"]
    assert shapes == [(2, 3), (2, 1)]


def test_a_custom_function_is_told_apart():
    class Double(nb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    found = nb.graph(Double.apply(nb.ones(3, requires_grad=True)))
    node = item(found, "DoubleBackward")
    assert (node.kind, node.shape, node.saved) == ("function", (3,), ("(3,) float32",))


def test_names_may_be_a_mapping():
    x, y = nb.ones(2, requires_grad=True), nb.ones(2, requires_grad=True)
    z = x * y
    found = nb.graph(z, {"x": x, "the product": z})
    assert [item.name for item in found.items] == ["x", "leaf", "MulBackward0", "the product"]


def test_several_results_share_a_picture():
    x = nb.ones(2, requires_grad=True)
    y = x.exp()
    found = nb.graph([y.sum(), y])
    assert [item.kind for item in found.items] == ["leaf", "node", "node", "result", "result"]


def test_a_leaf_alone_is_a_graph():
    assert str(nb.graph(nb.ones(2, requires_grad=True))) == "0 nodes, 1 leaf, 0 bytes saved"


def test_after_backward_nothing_is_saved():
    x = nb.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    found = nb.graph(y)
    assert found.saved_bytes == 0
    assert item(found, "MulBackward0").saved == ()


def test_the_picture_has_a_box_for_each_item_and_a_line_for_each_edge(tmp_path):
    model, loss = small_model()
    found = nb.graph(loss, {"a & b": model[0].weight, "<c>": model[2].weight})
    assert found._repr_svg_() == found.svg
    assert len(elements(found, "g")) == len(found.items)
    assert len(elements(found, "path")) == len(found.edges)
    words = [element.text for element in elements(found, "text")]
    assert {"a & b", "<c>", "TanhBackward0", "(5, 16) float32"} <= set(words)
    found.save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == found.svg


def test_boxes_do_not_overlap_and_stay_inside():
    x = nb.ones(3, requires_grad=True)
    terms = [x * k for k in range(1, 12)]
    found = nb.graph(sum([a * b for a, b in itertools.pairwise(terms)]))
    frame, *boxes = [
        [float(element.get(key, 0)) for key in ("x", "y", "width", "height")]
        for element in elements(found, "rect")
    ]
    assert len(boxes) == len(found.items)
    for x0, y0, width, height in boxes:
        assert x0 >= 0 and y0 >= 0
        assert x0 + width <= frame[2] and y0 + height <= frame[3]
    for one, other in itertools.combinations(boxes, 2):
        apart = [
            one[axis] + one[axis + 2] <= other[axis] or other[axis] + other[axis + 2] <= one[axis]
            for axis in (0, 1)
        ]
        assert any(apart)


def test_a_long_chain_is_drawn_too():
    x = nb.ones(3, requires_grad=True)
    y = x
    for _ in range(3000):
        y = y * x
    found = nb.graph(y)
    assert len(elements(found, "g")) == len(found.items) == 3002


@pytest.mark.parametrize(
    "tensors, names, error, text",
    [
        (nb.ones(2), None, RuntimeError, "has no graph, as it does not require grad"),
        ("loss", None, TypeError, "graph expects a Tensor, but got str"),
        (nb.ones(2, requires_grad=True), 3, TypeError, "a module or a mapping from names"),
    ],
)
def test_what_has_no_graph_is_named(tensors, names, error, text):
    with pytest.raises(error, match=text):
        nb.graph(tensors, names)


# The layout


def test_edges_lead_to_lower_layers_and_long_ones_bend_in_between():
    layout = arrange([10.0] * 4, [(0, 1), (1, 2), (2, 3), (0, 3)], gap=5)
    assert layout.layers == [0, 1, 2, 3]
    assert [len(bends) for bends in layout.bends] == [0, 0, 0, 2]
    assert [layer for layer, _ in layout.bends[3]] == [1, 2]


def test_an_order_without_crossings_is_found():
    # 0 and 1 are above 2 and 3, which stand the other way round.
    layout = arrange([10.0] * 4, [(0, 3), (1, 2)], gap=5)
    left = layout.centers[0] < layout.centers[1]
    assert (layout.centers[3] < layout.centers[2]) == left


def test_neighbours_keep_their_distance():
    layout = arrange([10.0, 30.0, 20.0, 10.0], [(0, 3), (1, 3), (2, 3)], gap=5)
    positions = sorted(zip(layout.centers[:3], [10, 30, 20], strict=True))
    for (one, wide), (other, high) in itertools.pairwise(positions):
        assert other - one >= (wide + high) / 2 + 5 - 1e-9
    assert layout.width == pytest.approx(70)
