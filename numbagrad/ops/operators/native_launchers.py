"""The compiled way from Tensors to Tensors, for programs whose tensors are small.

``pointwise_operator.py`` and the families ask here for the launchers of ``native/``, which make
Tensors and nodes by themselves. This file tells them where the slots of those objects are, keeps
the recipes for the nodes of an operator, and decides when compiling them pays. Until then, and
without a compiler, Python code does the same.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...autograd.hooks import watching
from ...autograd.node import UNRECORDED, Node, edge_of, new_node, next_sequence_nr, produce
from ...autograd.saved import SavedInput, SavedOutput, save
from ...autograd.writes import inplace
from ...codegen.record import array_of
from ...executor.builtin import launcher_address, make_launcher, runtime
from ...executor.cache.deferred import Deferred
from ...executor.families.pointwise import PointwiseProgram
from ...native import layout
from ...native.c_structures import slot_offset
from ...native.layout import NodeRecipe, OperatorTable, Recipe
from ...tensor import Tensor, TensorState, new_tensor

_new = object.__new__


class PointwiseState(Node):
    """The slots of the node of a pointwise operator: launchers fill them."""

    __slots__ = ("rule", "numbers", "restore")

    rule: Any
    numbers: tuple[Any, ...] | None
    restore: Sequence[Any] | None


class OperatorState(Node):
    """The slots of the node of a ``TensorOperator``."""

    __slots__ = ("plan", "values", "_output_count")

    plan: Any
    values: tuple[Any, ...]


def ready() -> bool:
    """Whether the launchers of pointwise operators, ``attach`` and ``repeated`` are to be used."""
    return _of_formulas.ready()


def operators_ready() -> bool:
    """Whether the launchers of views and of operators that are no formula are to be used."""
    return _of_operators.ready()


# --- what launchers must know of objects ----------------------------------------------------------

#: For each record of slots in the runtime block: a class, and what its slots are called there.
_SLOTS: dict[str, tuple[type, dict[str, str]]] = {
    "tensor": (
        TensorState,
        {
            "array": "_array",
            "requires_grad": "_requires_grad",
            "grad_fn": "_producer",
            "output_nr": "_output_nr",
            "version_cell": "_version_cell",
            "grad": "_accumulated",
            "base": "_viewed",
        },
    ),
    "node": (
        Node,
        {
            "next_edges": "next_edges",
            "hooks": "_hooks",
            "saved": "saved",
            "sequence_nr": "sequence_nr",
        },
    ),
    "pointwise_node": (
        PointwiseState,
        {"rule": "rule", "numbers": "numbers", "restore": "restore"},
    ),
    "operator_node": (
        OperatorState,
        {"plan": "plan", "values": "values", "output_count": "_output_count"},
    ),
    "saved_input": (
        SavedInput,
        {"tensor": "tensor", "cell": "_version_cell", "version": "version"},
    ),
    "saved_output": (
        SavedOutput,
        {
            "array": "array",
            "cell": "_version_cell",
            "version": "version",
            "output_nr": "output_nr",
        },
    ),
}


_DELETED = (
    "an attribute that autograd needs was deleted from a Tensor, a node or a saved tensor, or set "
    "to something else"
)


@functools.lru_cache(maxsize=1)
def described_runtime() -> layout.Runtime:
    """The runtime block, with what compiled code must know of Tensors and nodes."""
    block = runtime()
    for kind, (cls, names) in _SLOTS.items():
        record = getattr(block, kind)
        for field, name in names.items():
            setattr(record, field, slot_offset(cls, name))
    block.tensor_type = id(Tensor)
    block.saved_input_type = id(SavedInput)
    block.saved_output_type = id(SavedOutput)
    block.zero = id(0)
    block.deleted_error = id(AttributeError)
    block.deleted_text = id(_DELETED)
    block.sequence = id(next_sequence_nr.__self__)  # type: ignore[attr-defined]
    block.list_type = id(list)
    block.tuple_type = id(tuple)
    block.grad_mode = id(grad_mode)
    block.name_enabled = id(sys.intern("enabled"))
    block.name_view_origin = id(sys.intern("_view_origin"))
    block.name_unrecorded_at = id(sys.intern("_unrecorded_at"))
    block.unrecorded = id(UNRECORDED)
    block.no_grad = id(inplace.NO_GRAD)
    block.multiple = id(inplace.MULTIPLE)
    block.prune = id(inplace.prune)
    block.prune_from = inplace.PRUNE_FROM
    block.name_inference = id(sys.intern("inference"))
    block.inference_cell = id(watching.INFERENCE_CELL)
    block.inference_origin = id(inplace.INFERENCE)
    block.attach = id(_attached)
    return block


def _install() -> None:
    """Have launchers take the places of Python in ``calls``."""
    block = described_runtime()
    calls.attach = make_launcher("attach", block, "attach", "pointwise_operator")
    calls.repeated = make_launcher("repeated", block, "repeated", "pointwise_operator")


_of_formulas = Deferred(
    {
        "pointwise": "launch",  # which the others call
        **dict.fromkeys(
            ("pointwise_recorded", "pointwise_gradients", "pointwise_into", "attach", "repeated"),
            "pointwise_operator",
        ),
    },
    _install,
)
_of_operators = Deferred(
    dict.fromkeys(("view", "views", "operator"), "tensor_operator"), lambda: None
)


# --- Tensors and nodes of any operator ------------------------------------------------------------


def _attached(
    array: np.ndarray[Any, Any],
    node_class: type[Node],
    inputs: tuple[Any, ...],
    saved: tuple[Tensor | None, ...],
) -> Tensor:
    edges = tuple([edge_of(x) if isinstance(x, Tensor) else None for x in inputs])
    result = new_tensor(array)
    produce(new_node(node_class, edges, tuple([save(x) for x in saved])), result)
    return result


def _attach_in_python(*arguments: Any) -> Tensor:
    ready()
    return _attached(*arguments)


def _repeated_in_python(array: np.ndarray[Any, Any], shape: tuple[int, ...]) -> Tensor:
    strides = (0,) * len(shape)
    return new_tensor(np.ndarray.__new__(np.ndarray, shape, array.dtype, array, 0, strides))


class _Calls:
    """An object that gets a launcher once that is compiled; until then Python does the same."""

    __slots__ = ("attach", "repeated")

    def __init__(self) -> None:
        #: ``attach(array, node_class, inputs, saved)``: a Tensor made by a new node with edges to
        #: those ``inputs`` that are Tensors, and keeps the Tensors ``saved``, which may have None
        #: among them. The other slots of the node are not set.
        self.attach: Callable[..., Tensor] = _attach_in_python
        #: ``repeated(array, shape)``: a Tensor of that shape, all of it the element of a 0-dim
        #: array.
        self.repeated: Callable[..., Tensor] = _repeated_in_python


calls = _Calls()


# --- pointwise operators --------------------------------------------------------------------------


def operator_launcher(program: PointwiseProgram, recorded: bool) -> Callable[..., Tensor] | None:
    """``launch(*operands, recording)`` of an operator; None if it is left to Python.

    Results require grad only if they are ``recorded``.
    """
    launch = _native(program, "pointwise_recorded")
    if launch is not None:
        program.table().record.recorded = recorded  # type: ignore[union-attr]
    return launch


def gradient_launcher(
    program: PointwiseProgram, positions: Sequence[int]
) -> Callable[..., Any] | None:
    """``launch(node, grad)`` of a gradient whose inputs get what ``positions`` says."""
    launch = _native(program, "pointwise_gradients")
    if launch is not None:
        table = program.table().record  # type: ignore[union-attr]
        table.inputs = len(positions)
        table.positions = _packed(positions)
    return launch


def writing_launcher(program: PointwiseProgram) -> Callable[..., None] | None:
    """``launch_into(output, *operands)`` of an operator; None if it is left to Python."""
    return _native(program, "pointwise_into", into=True)


def _native(
    program: PointwiseProgram, function: str, into: bool = False
) -> Callable[..., Any] | None:
    table = program.table(into)
    if table is None:
        return None
    table.record.launcher = launcher_address("pointwise")
    return make_launcher(program.name, table.record, function, "pointwise_operator")


def _packed(positions: Sequence[int], bits: int = layout.POSITION_BITS) -> int:
    return sum(position << (bits * k) for k, position in enumerate(positions))


class Recipes:
    """How the nodes of one operator are made, for every choice of operands that came up."""

    __slots__ = ("_known", "_words")

    def __init__(self, program: PointwiseProgram) -> None:
        self._known: set[tuple[int | None, ...]] = set()
        self._words = array_of(Recipe, layout.RECIPES)
        table = program.table()
        assert table is not None
        table.record.recipes = self._words.ctypes.data

    def add(self, needed: tuple[int | None, ...], rule: Any, node_class: type[Node]) -> None:
        """Let nodes for this choice (see ``GradientRule``) be made natively from now on."""
        if needed in self._known or len(needed) > layout.RECIPE_OPERANDS:
            return
        self._known.add(needed)
        which = 0
        for position, group in enumerate(needed):
            if group is not None:
                which |= 1 << position
                if group == 0:  # the first operand, or the same Tensor again
                    which |= 1 << (position + layout.RECIPE_OPERANDS)
        recipe = Recipe(self._words[which])
        recipe.node_type = id(node_class)
        recipe.uses = _packed([position + 1 for position in rule.uses])
        recipe.uses_result = rule.uses_result
        recipe.rule = id(rule)  # last: another thread may look


# --- other operators ------------------------------------------------------------------------------

#: Functions whose addresses are in tables: operators live as long as the program does.
_KEPT_ALIVE: list[Callable[..., Any]] = []


def _write_recipe(recipe: NodeRecipe, plan: Any, node_class: type[Node]) -> bool:
    """Say how the nodes of a plan are made; False if a word does not hold what it keeps."""
    positions = [*plan.inputs, *plan.saves, *[position for position, _ in plan.keeps]]
    counts = (len(plan.inputs), len(plan.saves), len(plan.keeps))
    if max(positions, default=0) >= layout.KEPT_POSITION or max(counts) * layout.KEPT_BITS >= 63:
        return False
    recipe.runtime = described_runtime().address
    recipe.node_type = id(node_class)
    recipe.inputs = _packed([position + 1 for position in plan.inputs])
    recipe.saves = _packed([position + 1 for position in plan.saves])
    recipe.keeps = _packed(
        [(position + 1) | (layout.KEPT_AS_SHAPE if shape else 0) for position, shape in plan.keeps],
        layout.KEPT_BITS,
    )
    recipe.results = _packed([number + 1 for number in plan.results])
    recipe.plan = id(plan)  # last: another thread may look
    return True


def view_launcher(
    name: str,
    plan: Any,
    node_class: type[Node],
    several: bool = False,
    *,
    python: Callable[..., Any],
) -> Callable[..., Any]:
    """``launch(made, input, values)`` of a view operator, whose nodes all have one plan.

    An operator of ``several`` views takes and returns a tuple. ``python`` does the same; it gets
    inputs under a transformation, and those whose nodes are watched. It is kept alive from here on.
    """
    recipe = NodeRecipe()
    if not _write_recipe(recipe, plan, node_class):
        raise ValueError(f"{name}: a view that keeps so many values has no compiled node")
    _KEPT_ALIVE.append(python)
    recipe.python = id(python)
    return make_launcher(name, recipe, "views" if several else "view", "tensor_operator")


@functools.lru_cache(maxsize=1)
def _without_nodes() -> np.ndarray[Any, Any]:
    """Recipes that name no node, for every choice of arguments that need a gradient."""
    recipes = array_of(NodeRecipe, 1 << layout.OPERATOR_ARGUMENTS)
    for words in recipes:
        NodeRecipe(words).plan = id(_without_nodes)
    return recipes


class OperatorLauncher:
    """``launch(*arguments)`` of a ``TensorOperator``, and how its nodes are made."""

    __slots__ = ("launch", "_recipes", "_table")

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        python: Callable[..., Any],
        finish: Callable[..., Any],
        variadic: bool,
        takes_half: bool = True,
        has_gradients: bool = True,
    ) -> None:
        """``python(*arguments)`` is the operator; ``finish(made, arguments)`` its last part.

        What is not known to take half precision gets it from Python, and so does a result of floats
        of an operator that has no gradients: others have no node.
        """
        self._table = OperatorTable()
        self._table.runtime = described_runtime().address
        self._table.forward = id(forward)
        self._table.python = id(python)
        self._table.finish = id(finish)
        self._table.variadic = variadic
        self._table.takes_half = takes_half
        self._recipes: np.ndarray[Any, Any] | None = None
        if not has_gradients:
            self._recipes = _without_nodes()
            self._table.recipes = self._recipes.ctypes.data
        self.launch = make_launcher(name, self._table, "operator", "tensor_operator")

    def add(self, needed: Sequence[bool], plan: Any, node_class: type[Node]) -> None:
        """Let nodes for these arguments that need a gradient be made natively from now on."""
        if len(needed) > layout.OPERATOR_ARGUMENTS:
            return
        if self._recipes is None:
            self._recipes = array_of(NodeRecipe, 1 << layout.OPERATOR_ARGUMENTS)
            self._table.recipes = self._recipes.ctypes.data
        which = sum([need << position for position, need in enumerate(needed)])
        recipe = NodeRecipe(self._recipes[which])
        if recipe.plan == 0:  # else the launcher left a call to Python for another reason
            _write_recipe(recipe, plan, node_class)
