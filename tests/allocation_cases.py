"""Calls of every launcher, for ``allocation_faults.py``: what runs, and what has to stay as it was.

A family is a function that makes its cases; each family is checked in a process of its own.
"""

from __future__ import annotations

import ast
import dataclasses
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import numbagrad as torch
from numbagrad import random
from numbagrad.autograd.hooks import saved_hooks
from numbagrad.executor import builtin
from numbagrad.executor.families import copying, indexing, matmul, writing
from numbagrad.executor.hand_written import HandWrittenKernel
from numbagrad.ops.operators import native_launchers
from numbagrad.ops.operators.pointwise_operator import pointwise
from numbagrad.program.compiled_guards import Guards

NATIVE = pathlib.Path(builtin.__file__).parent.parent / "native"


def all_launchers() -> Iterator[tuple[str, str]]:
    """Module and name of every launcher in ``numbagrad/native``."""
    for path in sorted(NATIVE.glob("*.py")):
        for function in ast.parse(path.read_text()).body:
            if isinstance(function, ast.FunctionDef) and not function.decorator_list:
                if [x.arg for x in function.args.args] == ["self", "arguments", "given"]:
                    yield path.stem, function.name


@dataclasses.dataclass
class Case:
    """A call.

    Attributes:
        run: what is called.
        launchers: those that Python must have called in it.
        never: names of Python functions that are only called where a launcher leaves the call.
        watched: objects whose references are counted.
        reset: called before each ``run``.
        observe: what a call changes; a call that fails leaves it as it was, or as it is after one.
    """

    name: str
    run: Callable[[], Any]
    launchers: Sequence[str]
    never: Sequence[str] = ()
    watched: Sequence[Any] = ()
    reset: Callable[[], None] = lambda: None
    observe: Callable[[], Any] = lambda: None

    def __post_init__(self) -> None:
        self.watched = [None, True, False, 0, torch.Tensor, *self.watched]


def tensor(*shape: int, requires_grad: bool = False) -> Any:
    """Numbers that are not the same at each call."""
    made = torch.arange(1, 1 + int(np.prod(shape)), dtype=torch.float32).reshape(shape) / 7
    return made.clone().requires_grad_(requires_grad)


def direct(name: str, module: str, table: np.ndarray) -> Callable[..., Any]:
    """A launcher that others go on to, as a builtin of its own."""
    return builtin.make_launcher(name, table, name, module)


def written(target: Any) -> Callable[[], None]:
    """Resets a tensor that is written in place, to a count of writes that is no small int."""

    def reset() -> None:
        target._array[...] = 1.0
        target._version_cell = [1000]

    return reset


def seen(target: Any) -> Callable[[], Any]:
    """The memory of a tensor, and its count of writes."""
    return lambda: (target._array.tobytes(), target._version)


def with_numbers_of_nodes() -> None:
    """Have nodes been made: the numbers of the next are no small ints."""
    x = tensor(2, requires_grad=True)
    for _ in range(400):
        x * 2


# --- pointwise operators --------------------------------------------------------------------------


def pointwise_arrays() -> Iterator[Case]:
    """Operators on ndarrays."""
    a, b = tensor(3, 4)._array, tensor(3, 4)._array
    column = np.ascontiguousarray(b[:, :1])
    multiply = pointwise("mul").program
    for other in (b, 2.0, column):
        _resolved(multiply, a, other)
    yield Case("contiguous", lambda: multiply.launch(a, b), ["launch.pointwise"], watched=[a, b])
    yield Case("number", lambda: multiply.launch(a, 2.0), ["launch.pointwise"], watched=[a])
    general = direct("pointwise_general", "broadcast", multiply.table().record)
    yield Case("broadcast", lambda: general(a, column), ["broadcast.pointwise_general"])
    yield Case("missing kernel", lambda: _missed(multiply, a), ["launch.pointwise"])
    x, y = tensor(300, requires_grad=True), tensor(300)
    (x * y).sum().backward()
    half = tensor(4).to(torch.bfloat16)
    yield Case("bfloat16", lambda: half * half, ["pointwise_operator.pointwise_recorded"])


def _resolved(program: Any, *arrays: Any) -> None:
    try:
        program.launch(*arrays)
    except builtin.LaunchMiss as miss:
        program.resolve(miss, arrays)


def _missed(program: Any, a: np.ndarray) -> Any:
    try:
        return program.launch(a, "none")
    except builtin.LaunchMiss as miss:
        return miss.args


def recorded() -> Iterator[Case]:
    """Operators that make nodes, and their gradients."""
    with_numbers_of_nodes()
    leaf, other = tensor(2, 300, requires_grad=True), tensor(2, 300)
    row, column = tensor(300, requires_grad=True), tensor(2, 1, requires_grad=True)
    inner = leaf * 2
    name = ["pointwise_operator.pointwise_recorded"]
    python = ["compute", "record", "_run"]
    watched = [leaf, other, row, column, inner]

    def case(text: str, run: Callable[[], Any]) -> Case:
        return Case(text, run, name, python, watched)

    yield case("no node", lambda: other * other)
    yield case("leaf", lambda: leaf * other)
    yield case("number", lambda: leaf * 2.5)
    yield case("inner node", lambda: inner * other)
    yield case("twice", lambda: inner * inner)
    yield case("result saved", lambda: inner.exp())
    yield case("restored shapes", lambda: row * column)
    counted = tensor(300)
    counted.add_(1)
    yield case("written before", lambda: row * counted)
    g = torch.ones(2, 300)
    gradient = ["pointwise_operator.pointwise_gradients"]
    for text, made in (
        ("product", leaf * other), ("both", leaf * column), ("twice", leaf * leaf),
        ("sum", leaf + other), ("exp", inner.exp()), ("number", leaf.clamp(min=0.5)),
    ):  # fmt: skip
        node = made.grad_fn
        if node.rule.joint is None:  # gradients that are passed on
            continue
        for _ in range(2):
            torch.autograd.grad(made, leaf, g, retain_graph=True)
        yield Case(
            f"gradient of {text}",
            lambda node=node: node.rule.launch(node, g),
            gradient,
            ["__call__"],
            [g, node],
        )


def inplace() -> Iterator[Case]:
    """Writes in place."""
    target, other = torch.ones(300), tensor(300)
    add = pointwise("add")
    name = ["pointwise_operator.pointwise_into"]
    python = ["_resolve_into", "_launch_into_in_python"]
    watched = [target, other]
    reset, observe = written(target), seen(target)
    target.add_(other).add_(2)
    yield Case(
        "output",
        lambda: add.launch_into(target, target, other),
        name,
        python,
        watched,
        reset,
        observe,
    )

    def fresh() -> None:
        target._array[...] = 1.0
        target._version_cell = None

    yield Case(
        "first write",
        lambda: add.launch_into(target, target, 2),
        name,
        python,
        watched,
        fresh,
        observe,
    )
    yield Case(
        "method", lambda: target.add_(other) is target, name, python, watched, reset, observe
    )

    def missed() -> Any:
        try:
            return add.launch_into(target, "none")
        except builtin.LaunchMiss as miss:
            return miss.args

    yield Case("missing kernel", missed, name, python, watched, reset, observe)
    with torch.inference_mode():
        inside = torch.ones(300)

    def refused() -> Any:
        try:
            return add.launch_into(inside, inside, 1)
        except builtin.LaunchMiss as miss:
            return miss.args

    yield Case("inference tensor", refused, name, python, [inside])


def attached() -> Iterator[Case]:
    """Nodes of sums, and one element as a tensor."""
    with_numbers_of_nodes()
    leaf, inner = tensor(2, 3, requires_grad=True), tensor(2, 3, requires_grad=True) * 2
    counted = tensor(2, 3)
    counted.add_(1)
    array, element = tensor()._array, np.ones((), np.float32)
    node_class = type(leaf.sum().grad_fn)
    torch.zeros(()).requires_grad_().expand(3)

    def attach() -> Any:
        made = native_launchers.calls.attach(
            array, node_class, (leaf, inner, None), (leaf, None, counted)
        )
        return made.requires_grad, len(made.grad_fn.next_edges), len(made.grad_fn.saved)

    watched = [leaf, inner, counted, array, node_class]
    yield Case("attach", attach, ["pointwise_operator.attach"], ["_attached"], watched)
    yield Case("sum", lambda: leaf.sum(), ["pointwise_operator.attach"], ["_attached"], watched)
    repeated = native_launchers.calls.repeated
    yield Case(
        "repeated",
        lambda: repeated(element, (300, 2)),
        ["pointwise_operator.repeated"],
        [],
        [element],
    )


# --- reductions, rows, products -------------------------------------------------------------------


def small_sums() -> Iterator[Case]:
    """Sums by the short way, which no program takes any more once it needed the long one."""
    small = tensor(3, 4)
    small.sum()
    yield Case(
        "sum of all", lambda: small.sum(), ["reduction_launch.reduce_all"], ["resolve"], [small]
    )


def reductions() -> Iterator[Case]:
    """Reductions, and kernels along one dimension."""
    small, large = tensor(3, 4), tensor(700, 300)
    for text, run in (
        ("sum of rows", lambda: small.sum(1)),
        ("sum of many", lambda: large.sum()),
        ("sum of long columns", lambda: large.sum(0)),
        ("maximum and its index", lambda: tuple(small.max(1))),
        ("variance", lambda: small.var(1)),
    ):
        run()
        yield Case(text, run, ["reduction_launch.reduce"], ["resolve"], [small])
    yield Case("softmax", lambda: torch.softmax(small, 1), ["rowwise_launch.along"], ["resolve"])
    yield Case("cumsum", lambda: small.cumsum(1), ["rowwise_launch.along"], ["resolve"])
    yield Case("cummax", lambda: tuple(small.cummax(1)), ["rowwise_launch.along"], ["resolve"])


def products() -> Iterator[Case]:
    """Matrix products."""
    a, b = tensor(3, 4)._array, tensor(4, 5)._array
    name = ["matmul_launch.matmul"]
    both = "matmul_launch.matmul_and_tangent"
    matmul.matmul_and_tangent(a, b, a, b)
    matmul.matmul_and_tangent(a, b, a, None)
    yield Case("matmul", lambda: matmul.matmul(a, b), name, ["_general"], [a, b])
    for text, rest in (("two tangents", (a, b)), ("one tangent", (a, None))):
        yield Case(
            text, lambda rest=rest: matmul.matmul_and_tangent(a, b, *rest), [both], [], [a, b]
        )
    with_numbers_of_nodes()
    x, w = tensor(8, 8, requires_grad=True), tensor(8, 8, requires_grad=True)
    operator = ["tensor_operator.operator"]
    yield Case("recorded", lambda: x @ w, [*operator, *name], ["_compute"], [x, w])


# --- views and operators in Python ----------------------------------------------------------------


def views() -> Iterator[Case]:
    """Views, recorded and not, one and several."""
    with_numbers_of_nodes()
    leaf, plain = tensor(4, 300, requires_grad=True), tensor(4, 300)
    inner = leaf * 2
    one, several = ["tensor_operator.view"], ["tensor_operator.views"]
    python = ["_leave", "_view"]
    watched = [leaf, plain, inner]

    def cut(tensor: Any) -> Callable[[], None]:
        """Views stay in the version cell, as weak references."""

        def reset() -> None:
            tensor._version_cell = None

        return reset

    for text, source in (("leaf", leaf), ("inner", inner), ("plain", plain)):
        for how, run in (
            ("transposed", lambda source=source: source.t()),
            ("selected", lambda source=source: source.select(0, 1)),
            ("of a view", lambda source=source: source.t().t()),
            ("reshaped", lambda source=source: source.view(2, -1)),
        ):
            run()
            yield Case(f"{text} {how}", run, one, python, watched, cut(source))

        def unrecorded(source: Any = source) -> Any:
            with torch.no_grad():
                return source.t().t()

        unrecorded()
        yield Case(f"{text} under no_grad", unrecorded, one, python, watched, cut(source))
        source.unbind(0)
        yield Case(
            f"{text} unbound", lambda source=source: source.unbind(0), several, python, watched,
            cut(source),
        )  # fmt: skip
    many = tensor(1, 258, requires_grad=True)
    many.unbind(1)
    yield Case("many", lambda: many.unbind(1), several, python, [many], cut(many))

    def crowded() -> None:
        plain._version_cell = [0]
        for _ in range(62):
            plain.t()

    yield Case("the cell is pruned", lambda: plain.t().t(), one, python, [], crowded)
    strided = indexing.strided_view
    array = plain._array
    strided(array, (3,), (4,), 0)
    yield Case(
        "strides",
        lambda: strided(array, (3, 2), (4, 8), 4),
        ["array_launch.strided_view"],
        [],
        [array],
    )


def operators() -> Iterator[Case]:
    """Operators whose forward is Python, and launches from there."""
    with_numbers_of_nodes()
    leaf, plain = tensor(4, 300, requires_grad=True), tensor(4, 300)
    inner = leaf * 2
    index = torch.tensor([1, 0, 3])
    wide = index.view(3, 1).expand(3, 300).contiguous()
    one = ["tensor_operator.operator"]
    python = ["_compute", "_finish"]
    watched = [leaf, plain, inner, index]
    for text, run, names in (
        ("index_select", lambda: inner.index_select(0, index), [*one, "copying.read_rows"]),
        ("gather", lambda: inner.gather(0, wide), one),
        ("cat", lambda: torch.cat([leaf, plain, inner], 1), [*one, "copying.join"]),
        ("stack", lambda: torch.stack([leaf, plain]), [*one, "copying.join"]),
        ("unrecorded cat", lambda: torch.cat([plain, plain]), [*one, "copying.join"]),
        ("cumsum", lambda: inner.cumsum(0), one),
        ("flip", lambda: inner.flip(0), one),
        ("one float of two results", lambda: tuple(inner.max(1)), one),
        ("two floats", lambda: torch.std_mean(inner), one),
    ):
        run()
        run()
        yield Case(text, run, names, python, watched)
    moved = torch.zeros(4, 300).index_add(0, index, plain[:3])._array
    add = HandWrittenKernel("kernels.indexing.writes", "scatter_rows_sum_float32")
    words = moved, np.ones((3, 300), np.float32), index._array, 4, 3, 300, 1
    add.launch(300, 1000, *words)
    launch_hand_written = add._run
    assert launch_hand_written is not None
    yield Case(
        "launch_hand_written", lambda: launch_hand_written(300, 1000, *words),
        ["array_launch.launch_hand_written"], [],
        [moved],
    )  # fmt: skip
    ones = np.ones((3, 300), np.float32)
    for _ in range(2):  # the launcher is installed, then told the kernel
        writing.writers["index_add"](moved, 0, index._array, ones)
        torch.zeros(4, 300).index_add_(0, index, plain[:3])
    write_at = writing.writers["index_add"]
    assert write_at(moved, 0, index._array, ones)
    yield Case(
        "write_at", lambda: write_at(moved, 0, index._array, ones), ["writing.write_at"], [],
        [moved, index._array, ones],
    )  # fmt: skip
    array, rows, whole = plain._array, index._array, np.ascontiguousarray(index._array)
    columns = np.zeros((4, 300), np.int64)
    for text, run, name in (
        ("read_rows", lambda: copying.copies.read_rows(array, 0, rows), "copying.read_rows"),
        (
            "read_elements",
            lambda: copying.copies.read_elements(array, 0, columns),
            "copying.read_elements",
        ),
        ("inside", lambda: copying.copies.inside(whole, 4), "copying.inside"),
        ("join", lambda: copying.copies.join([array, array], 0, 0), "copying.join"),
    ):
        run()
        yield Case(text, run, [name], [], [array, rows])


# --- programs -------------------------------------------------------------------------------------


def programs() -> Iterator[Case]:
    """Replays of compiled steps, composites, and guards."""
    weight = tensor(8, 8, requires_grad=True)
    z = tensor(4, 8, requires_grad=True) * 1  # no leaf: those remember who asked for next_functions
    buffer, x, y = torch.ones(300), tensor(4, 8), tensor(300)

    @torch.compile
    def forward(x: Any) -> Any:
        return (x @ weight).tanh().sum(1)

    @torch.compile
    def writes(y: Any) -> Any:
        buffer.add_(y)
        return y * 2

    @torch.compile
    def learns(z: Any) -> Any:
        return (z * x).tanh().sum(1), z.exp()

    def train() -> Any:
        weight.grad = None
        loss = (x @ weight).tanh().sum()
        loss.backward()
        return loss.detach()

    step = torch.compile(train)
    with torch.no_grad():
        for _ in range(6):
            forward(x), writes(y)
    for _ in range(6):
        step()
        made = learns(z)
        torch.autograd.grad(made, z, made, retain_graph=True)
    replay, call = ["replay.holds", "replay.replay"], ["compiled_call.call"]
    yield Case("forward with a node", lambda: learns(z), call, (), [x, z])
    yield Case("forward", _no_grad(lambda: forward(x)), call, (), [x, weight])
    yield Case(
        "writes", _no_grad(lambda: writes(y)), call, (), [y, buffer],
        _keeping_cell(buffer), seen(buffer),
    )  # fmt: skip
    node = made[0].grad_fn
    backward = _no_grad(lambda: node.backward(*made))
    yield Case("backward", backward, ["compiled_backward.backward"], (), [z, *made])
    yield Case("step", step, replay, (), [x, weight])
    norm = tensor(8, requires_grad=True)
    composite = lambda: torch.nn.functional.layer_norm(x, (8,), norm)  # noqa: E731
    for _ in range(3):
        composite()
    yield Case("composite", composite, ["replay.replay"], (), [x, norm])
    guards = Guards([({"a": 1, "b": 2}, ["a", "b", 1, 2]), ([1, 2], [1, 2])])
    yield Case("guards", guards.unchanged, ["guards.unchanged"])

    program = forward._latest.captured.program
    results = [np.ones_like(memory.array) for memory in program.results]
    whole = [*[np.ones(view.shape, view.dtype) for view in program.given], *results]
    arrays = [whole[slot] for slot in program.native.slots]
    run_program = direct("run_program", "program", program.native.table)
    yield Case("program", lambda: run_program(*arrays), ["program.run_program"], [], arrays)


def drawings() -> Iterator[Case]:
    """Small tensors of random numbers."""
    for _ in range(3):
        torch.randn(4)
    (draw,) = random._small_kernels.values()
    generator, array = random.Generator(), np.zeros(4, np.float32)
    generator.manual_seed(1)
    state = generator._words.copy()

    def drawn() -> Any:
        draw(generator._address, array, 0.0, 1.0)
        return array

    def reset() -> None:
        generator._words[:] = state

    yield Case("drawing", drawn, ["random_fill.draw"], [], [array], reset)


def _no_grad(run: Callable[[], Any]) -> Callable[[], Any]:
    def inside() -> Any:
        with torch.no_grad():
            return run()

    return inside


def _keeping_cell(target: Any) -> Callable[[], None]:
    def reset() -> None:
        target._array[...] = 1.0
        target._version_cell[0] = 1000

    return reset


def large() -> Iterator[Case]:
    """Arrays of the pool of buffers."""
    from numbagrad.executor.memory import buffers as memory

    memory.BYTES_WORTH_COMPILING = -1
    x = torch.ones(1 << 16)
    x + 1
    yield Case("output", lambda: x + 1, ["pointwise_operator.pointwise_recorded"], (), [x])
    yield Case("softmax", lambda: torch.softmax(x, 0), ["rowwise_launch.along"], (), [x])


def accumulation() -> Iterator[Case]:
    """Whole backward walks, which add gradients up."""
    with_numbers_of_nodes()
    w, x = tensor(3, 4, requires_grad=True), tensor(3, 4)

    def walk() -> Any:
        w.grad = None
        y = (w * x).exp()
        (y * w + w.t().t()).sum().backward()
        return w.grad

    def again() -> Any:
        (w * x).sum().backward()
        return w.grad

    def reset() -> None:
        w.grad = torch.ones(3, 4)

    for _ in range(3):
        walk()
    names = [
        "pointwise_operator.pointwise_recorded",
        "pointwise_operator.pointwise_gradients",
        "tensor_operator.view",
    ]
    yield Case("walk", walk, names, (), [w, x])
    yield Case("accumulated", again, names[:2], (), [w, x], reset)


def contexts() -> Iterator[Case]:
    """Hooks of saved tensors that could not be entered do not apply."""
    x = tensor(2, 3, requires_grad=True)
    hooks = torch.autograd.graph.saved_tensors_hooks(_same, _same)

    def enter() -> None:
        try:
            hooks.__enter__()
        except MemoryError:
            if saved_hooks.stack():
                raise RuntimeError("the hooks apply") from None
            raise

    def use() -> Any:
        with hooks:
            return x.sin()

    for run in (enter, use):
        # CPython 3.11 may fail to shrink the list of hooks where a block is left.
        yield Case(run.__name__, run, [], reset=lambda: saved_hooks.restore(()), watched=[_same])


def _same(thing: Any) -> Any:
    return thing


FAMILIES: dict[str, Callable[[], Iterator[Case]]] = {
    function.__name__: function
    for function in (
        pointwise_arrays, recorded, inplace, attached, small_sums, reductions, products, views,
        operators, programs, drawings, large, accumulation, contexts,
    )
}  # fmt: skip
