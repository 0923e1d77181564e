"""``graph(tensor)``: the recorded graph behind a tensor, as data and as a picture.

Leaves are at the top, the tensor at the bottom, and between them the nodes that operators left,
with the tensors they saved. This file reads the graph; ``numbagrad/drawing`` draws it.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...dtype import name_of
from .. import tensor_interface as interface
from ..node import Node, edge_of
from ..saved import SavedInput, SavedOutput

__all__ = ["Graph", "GraphItem", "graph"]

Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class GraphItem:
    """A leaf, a node or a result of the graph.

    Attributes:
        kind: "leaf", "node", "function" (the node of a ``Function``) or "result".
        name: of a node as ``MulBackward0``; of a leaf or result what the caller named it.
        shape: of the tensor, or of the node's output; None if the graph does not tell.
        dtype: as ``float32``; None if the graph does not tell.
        saved: texts, one for each tensor that the node saved.
    """

    kind: str
    name: str
    shape: Shape | None
    dtype: str | None
    saved: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Graph:
    """The graph as found: items, edges between them in the direction of forward, saved bytes.

    In a notebook it shows itself.

    Attributes:
        items: an item comes before those that depend on it.
        edges: pairs of numbers of items.
        saved_bytes: memory that the saved tensors hold; leaves and results not counted.
    """

    items: tuple[GraphItem, ...]
    edges: tuple[tuple[int, int], ...]
    saved_bytes: int

    @functools.cached_property
    def svg(self) -> str:
        """The picture, as the text of an SVG file."""
        return _draw(self)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file."""
        pathlib.Path(path).write_text(self.svg, encoding="utf-8")

    def __str__(self) -> str:
        return _title(self)

    def __repr__(self) -> str:
        return f"<Graph: {_title(self)}>"


def graph(tensors: Any, names: Any = None) -> Graph:
    """Describe the recorded graph behind a tensor; shows as a picture in a notebook.

    Args:
        tensors: a tensor that requires grad, or a sequence of them.
        names: names for leaves and results: a mapping from names to tensors, or a module, whose
            parameters are meant.

    Returns:
        A :class:`Graph`; its ``svg`` is the picture, ``save(path)`` writes it to a file.

    Raises:
        TypeError: if one of ``tensors`` is none.
        RuntimeError: if one has no graph, since it does not require grad.

    Example::

        numbagrad.graph(loss, model).save("loss.svg")
    """
    roots = tuple(tensors) if isinstance(tensors, (tuple, list)) else (tensors,)
    for root in roots:
        if not isinstance(root, interface.Tensor):
            raise TypeError(f"graph expects a Tensor, but got {type(root).__name__}")
        if not root._requires_grad:
            raise RuntimeError(
                "graph: the tensor has no graph, as it does not require grad; it must be computed "
                "from tensors with requires_grad=True, and outside of no_grad()"
            )
    return _Reader(roots, _names_of(names)).read()


def _names_of(names: Any) -> dict[int, str]:
    """Names by the identity of tensors."""
    if names is None:
        return {}
    if hasattr(names, "named_parameters"):
        names = dict(names.named_parameters())
    if not isinstance(names, Mapping):
        raise TypeError(
            "graph expects names to be a module or a mapping from names to tensors, but got "
            f"{type(names).__name__}"
        )
    return {id(tensor): name for name, tensor in names.items()}


class _Reader:
    """Walks the graph once and notes what it sees.

    Args:
        roots: the tensors whose graph it is.
        names: by identity of tensors.
    """

    def __init__(self, roots: Sequence[Any], names: dict[int, str]) -> None:
        self.roots = roots
        self.names = names
        self.nodes: list[Node] = []
        self.leaves: dict[int, Any] = {}
        #: by node and number of output: shape and dtype
        self.known: dict[tuple[Node, int], tuple[Shape, str]] = {}

    def read(self) -> Graph:
        self._walk()
        self._learn_shapes()
        numbers: dict[Any, int] = {}
        items: list[GraphItem] = []
        for leaf in self.leaves.values():
            numbers[id(leaf)] = len(items)
            items.append(self._tensor("leaf", leaf))
        for node in self.nodes:
            numbers[node] = len(items)
            items.append(self._node(node))
        edges = [
            (numbers[_key(edge[0])], numbers[node])
            for node in self.nodes
            for edge in node.next_edges
            if edge is not None
        ]
        for root in self.roots:
            edge = edge_of(root)
            assert edge is not None  # it requires grad
            edges.append((numbers[_key(edge[0])], len(items)))
            items.append(self._tensor("result", root))
        return Graph(tuple(items), tuple(dict.fromkeys(edges)), self._saved_bytes())

    def _walk(self) -> None:
        """Find the nodes, oldest first, and the leaves in the order in which they are met."""
        seen: set[Node] = set()
        pending: list[Any] = [edge_of(root) for root in self.roots]
        while pending:
            edge = pending.pop()
            if edge is None:
                continue
            target = edge[0]
            if not isinstance(target, Node):
                self.leaves.setdefault(id(target), target)
            elif target not in seen:
                seen.add(target)
                pending.extend(reversed(target.next_edges))
        self.nodes = sorted(seen, key=lambda node: node.sequence_nr)

    # What nodes do not keep themselves, what they saved tells: an input of one is the output of
    # another, and pointwise operators have outputs of the shape of their inputs.

    def _learn_shapes(self) -> None:
        for root in self.roots:
            self._learn(root._producer, root._output_nr, root._array)
        for node in self.nodes:
            for entry in _saved_entries(node):
                if isinstance(entry, SavedOutput):
                    self._learn(node, entry.output_nr, entry.array)
                    continue
                tensor = entry.tensor if isinstance(entry, SavedInput) else entry
                if isinstance(tensor, interface.Tensor):
                    self._learn(tensor._producer, tensor._output_nr, tensor._array)
            for output_nr, metadata in enumerate(getattr(node, "_output_metadata", ())):
                if metadata is not None:
                    self.known.setdefault((node, output_nr), (metadata[0], metadata[1].name))

        for node in self.nodes:
            self._learn_from_inputs(node)
        for node in reversed(self.nodes):
            self._learn_from_output(node)

    def _learn_from_inputs(self, node: Node) -> None:
        """The output of a pointwise operator without broadcasting is like its inputs."""
        if (node, 0) in self.known or getattr(node, "restore", ()) is not None:
            return
        for edge in node.next_edges:
            found = None if edge is None else self._at(edge)
            if found is not None:
                self.known[node, 0] = found
                return

    def _learn_from_output(self, node: Node) -> None:
        """The inputs of a pointwise operator are like its output, or as ``restore`` says."""
        if not hasattr(node, "restore"):
            return
        restore: Any = node.restore
        for position, edge in enumerate(node.next_edges):
            if edge is None or not isinstance(edge[0], Node) or edge in self.known:
                continue
            how = None if restore is None else restore[position]
            if how is not None:
                self.known[edge] = (tuple(how[0]), how[1].name)
            elif (node, 0) in self.known:
                self.known[edge] = self.known[node, 0]

    def _at(self, edge: tuple[Any, int]) -> tuple[Shape, str] | None:
        """Shape and dtype of the tensor that an edge leads to."""
        if isinstance(edge[0], Node):
            return self.known.get(edge)
        array = edge[0]._array
        return tuple(array.shape), name_of(array.dtype)

    def _learn(self, node: Node | None, output_nr: int, array: Any) -> None:
        if node is not None:
            self.known[node, output_nr] = (tuple(array.shape), name_of(array.dtype))

    # Items

    def _tensor(self, kind: str, tensor: Any) -> GraphItem:
        array = tensor._array
        name = self.names.get(id(tensor), kind)
        return GraphItem(kind, name, tuple(array.shape), name_of(array.dtype))

    def _node(self, node: Node) -> GraphItem:
        from ..function.node import BackwardCFunction

        kind = "function" if isinstance(node, BackwardCFunction) else "node"
        shape, dtype = self.known.get((node, 0), (None, None))
        saved = [self._saved_text(entry) for entry in _saved_entries(node) if entry is not None]
        return GraphItem(kind, type(node).__name__, shape, dtype, tuple(saved))

    def _saved_text(self, entry: Any) -> str:
        if isinstance(entry, SavedOutput):
            return f"result {_size(entry.array)}"
        tensor = entry.tensor if isinstance(entry, SavedInput) else entry
        if not isinstance(tensor, interface.Tensor):
            return "packed by a hook"
        name = self.names.get(id(tensor))
        return f"{name} {_size(tensor._array)}" if name else _size(tensor._array)

    def _saved_bytes(self) -> int:
        """Memory of what nodes saved, each block once, without that of leaves and results."""
        blocks: dict[int, int] = {}
        for node in self.nodes:
            for entry in _saved_entries(node):
                tensor = entry.tensor if isinstance(entry, SavedInput) else entry
                array = getattr(entry, "array", getattr(tensor, "_array", None))
                if array is not None:
                    block = _block(array)
                    blocks[id(block)] = block.nbytes
        for tensor in (*self.leaves.values(), *self.roots):
            blocks.pop(id(_block(tensor._array)), None)
        return sum(blocks.values())


def _key(target: Any) -> Any:
    """The name of the target of an edge in a table."""
    return target if isinstance(target, Node) else id(target)


def _saved_entries(node: Node) -> Iterable[Any]:
    """The saved tensors of a node; none once it was freed."""
    return getattr(node, "_saved_variables", None) or getattr(node, "saved", None) or ()


def _block(array: Any) -> Any:
    """The array that owns the memory."""
    while array.base is not None and hasattr(array.base, "nbytes"):
        array = array.base
    return array


def _size(array: Any) -> str:
    return f"{tuple(array.shape)} {name_of(array.dtype)}"


# The picture

_LINE, _PADDING, _BETWEEN, _TOP, _MARGIN, _GAP = 15, 8, 34, 44, 16, 14
_MOST_SAVED = 4
_FILLS = {"leaf": "#dbe7f5", "node": "#f1f1f1", "function": "#fbe6c8", "result": "#cfe8d5"}


def _title(found: Graph) -> str:
    count = {kind: 0 for kind in _FILLS}
    for item in found.items:
        count[item.kind] += 1
    nodes, leaves = count["node"] + count["function"], count["leaf"]
    return (
        f"{nodes} node{'s' * (nodes != 1)}, {leaves} lea{'f' if leaves == 1 else 'ves'}, "
        f"{found.saved_bytes:,} bytes saved"
    )


def _lines(item: GraphItem) -> list[str]:
    """The text in the box of an item: name, shape, and what was saved."""
    lines = [item.name]
    if item.shape is not None:
        lines.append(f"{item.shape} {item.dtype}")
    shown = item.saved[:_MOST_SAVED]
    lines.extend([f"saved: {text}" for text in shown])
    if len(item.saved) > len(shown):
        lines.append(f"and {len(item.saved) - len(shown)} more saved")
    return lines


def _draw(found: Graph) -> str:
    """The SVG text of a graph."""
    from ...drawing.layered import arrange
    from ...drawing.svg import INK, curve, document, group, rectangle, text_width, words

    texts = [_lines(item) for item in found.items]
    bold = 1.15  # how much wider than plain text
    widths = [
        max(bold * text_width(name), *map(text_width, ["", *more])) + 2 * _PADDING
        for name, *more in texts
    ]
    layout = arrange(widths, found.edges, _GAP)
    tops, heights = _rows(layout.layers, texts)
    parts = [words(_MARGIN, 24, _title(found), 'font-size="14" font-weight="bold"')]
    for (first, last), bends in zip(found.edges, layout.bends, strict=True):
        above, below = layout.layers[first], layout.layers[last]
        points = [(layout.centers[first], tops[above] + _height(texts[first]))]
        for layer, position in bends:  # straight past the boxes of the layer
            points += [(position, tops[layer]), (position, tops[layer] + heights[layer])]
        points += [(layout.centers[last], tops[below])]
        line = [(_MARGIN + x, y) for x, y in points]
        parts.append(curve(line, 'stroke="#889" stroke-width="1.2"'))
    for number, (item, lines) in enumerate(zip(found.items, texts, strict=True)):
        x = _MARGIN + layout.centers[number] - widths[number] / 2
        y = tops[layout.layers[number]]
        style = f'rx="4" fill="{_FILLS[item.kind]}" stroke="#667"'
        box = [rectangle(x, y, widths[number], _height(lines), style)]
        for position, line_text in enumerate(lines):
            look = f'fill="{INK}"' if position else 'font-weight="bold"'
            box.append(words(x + _PADDING, y + _LINE * (position + 1), line_text, look))
        parts.append(group("\n".join([item.kind, *lines[:2], *item.saved]), box))
    width = max(layout.width, text_width(_title(found)) * 1.4) + 2 * _MARGIN
    height = (tops[-1] + heights[-1] if tops else _TOP) + _MARGIN
    return document(width, height, parts)


def _height(lines: Sequence[str]) -> float:
    return _LINE * len(lines) + _PADDING


def _rows(layers: Sequence[int], texts: Sequence[Sequence[str]]) -> tuple[list[float], list[float]]:
    """Top and height of each layer."""
    heights = [0.0] * (max(layers, default=-1) + 1)
    for layer, lines in zip(layers, texts, strict=True):
        heights[layer] = max(heights[layer], _height(lines))
    tops = []
    y = float(_TOP)
    for height in heights:
        tops.append(y)
        y += height + _BETWEEN
    return tops, heights
