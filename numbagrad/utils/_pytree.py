"""``torch.utils._pytree``: nested containers as a list of leaves and a structure, and back.

What counts as a container is registered by class: tuples, lists, dicts, named tuples, deques, and
what programs add with ``register_pytree_node``. Everything else is a leaf, None as well.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar, Union

from ..structure import REGISTERED

__all__ = [
    "Context", "FlattenFunc", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey",
    "PyTree", "SequenceKey", "TreeSpec", "UnflattenFunc", "is_namedtuple",
    "is_namedtuple_class", "is_namedtuple_instance", "key_get", "keystr", "register_dataclass",
    "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only",
    "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves",
    "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_",
    "tree_map_with_path", "tree_structure", "tree_unflatten",
]  # fmt: skip

T = TypeVar("T")
PyTree = Any
Context = Any
FlattenFunc = Callable[[Any], tuple[list[Any], Context]]
UnflattenFunc = Callable[[Iterable[Any], Context], Any]
IsLeaf = Union[Callable[[Any], bool], None]  # noqa: UP007


# --- paths to leaves ------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """An entry of a list or a tuple, by its place."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The entry."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """An entry of a dict, by its key."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The entry."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """An attribute, by its name."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The attribute."""
        return getattr(obj, self.name)


KeyEntry = Any
KeyPath = tuple[Any, ...]


def keystr(kp: KeyPath) -> str:
    """A path as text: ``['a'][0].b``."""
    return "".join(str(key) for key in kp)


def key_get(obj: Any, kp: KeyPath) -> Any:
    """The object at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# --- what is a container --------------------------------------------------------------------------


class NodeDef(NamedTuple):
    """How containers of a class are taken apart, put together, and how entries are named."""

    type: type
    flatten_fn: Any
    unflatten_fn: Any
    flatten_with_keys_fn: Any


SUPPORTED_NODES: dict[type, NodeDef] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Make instances of a class containers.

    Args:
        cls: the class itself; subclasses stay leaves.
        flatten_fn: from an instance to its entries, and what is needed beside them.
        unflatten_fn: from entries and that to an instance.
        flatten_with_keys_fn: as ``flatten_fn``, with pairs of a key and an entry.
        serialized_type_name, to_dumpable_context, from_dumpable_context: not used.

    Raises:
        ValueError: for a class that is registered already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    REGISTERED[cls] = flatten_fn, unflatten_fn


_register_pytree_node = register_pytree_node


def register_dataclass(cls: Any, *, field_names: Any = None, drop_field_names: Any = None) -> None:
    """Make instances of a dataclass containers of their fields."""
    names = field_names
    if names is None:
        dropped = set(drop_field_names or ())
        names = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in dropped]

    def flatten(value: Any) -> tuple[list[Any], Context]:
        return [getattr(value, name) for name in names], tuple(names)

    def with_keys(value: Any) -> tuple[list[Any], Context]:
        return [(GetAttrKey(name), getattr(value, name)) for name in names], tuple(names)

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        return cls(**dict(zip(context, values, strict=True)))

    register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=with_keys)


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class is one of named tuples."""
    fields = getattr(cls, "_fields", None)
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple)


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether something is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Whether something is a named tuple, or a class of these."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def _sequence(make: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    return (
        lambda x: (list(x), None),
        lambda values, context: make(values),
        lambda x: ([(SequenceKey(i), each) for i, each in enumerate(x)], None),
    )


def _mapping(make: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    return (
        lambda x: (list(x.values()), list(x)),
        lambda values, keys: make(zip(keys, values, strict=True)),
        lambda x: ([(MappingKey(k), v) for k, v in x.items()], list(x)),
    )


def _unflatten_defaultdict(values: Iterable[Any], context: Context) -> Any:
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=True))


for _class, _functions in (
    (tuple, _sequence(tuple)),
    (list, _sequence(list)),
    (dict, _mapping(dict)),
    (OrderedDict, _mapping(OrderedDict)),
    (
        defaultdict,
        (
            lambda x: (list(x.values()), [x.default_factory, list(x)]),
            _unflatten_defaultdict,
            lambda x: ([(MappingKey(k), v) for k, v in x.items()], [x.default_factory, list(x)]),
        ),
    ),
    (
        deque,
        (
            lambda x: (list(x), x.maxlen),
            lambda values, maxlen: deque(values, maxlen=maxlen),
            lambda x: ([(SequenceKey(i), each) for i, each in enumerate(x)], x.maxlen),
        ),
    ),
    (
        NamedTuple,
        (
            lambda x: (list(x), type(x)),
            lambda values, made: made(*values),
            lambda x: ([(GetAttrKey(n), getattr(x, n)) for n in type(x)._fields], type(x)),
        ),
    ),
):
    SUPPORTED_NODES[_class] = NodeDef(_class, *_functions)


def _node_type(tree: Any) -> Any:
    """The class under which a container is registered; None for a leaf."""
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    return NamedTuple if is_namedtuple_class(kind) else None


#: torch's names of these, which libraries import.
_get_node_type = _node_type
_list_flatten, _list_unflatten, _list_flatten_with_keys = _sequence(list)
_tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys = _sequence(tuple)
_dict_flatten, _dict_unflatten, _dict_flatten_with_keys = _mapping(dict)


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether something is a leaf: of no class that is registered, or ``is_leaf`` says so."""
    return (is_leaf is not None and is_leaf(tree)) or _node_type(tree) is None


# --- structures -----------------------------------------------------------------------------------


@dataclasses.dataclass(init=True, eq=True, repr=False)
class TreeSpec:
    """The structure around leaves."""

    type: Any
    context: Context
    children_specs: list[TreeSpec]

    def __post_init__(self) -> None:
        below = self.children_specs
        self.num_nodes: int = 1 + sum([spec.num_nodes for spec in below])
        self.num_leaves: int = sum([spec.num_leaves for spec in below])
        self.num_children: int = len(below)

    def is_leaf(self) -> bool:
        """Whether it is the structure of a single leaf."""
        return False

    def children(self) -> list[TreeSpec]:
        """The structures of the entries."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """The structure of one entry."""
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """``tree_unflatten(leaves, self)``."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of ``tree`` where this structure has leaves.

        Raises:
            ValueError: if ``tree`` has another structure above these.
        """
        if self.is_leaf():
            return [tree]
        kind = _node_type(tree)
        if kind is not self.type:
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(
                f"Node arity mismatch; expected {self.num_children}, but got {len(children)}."
            )
        if kind in (dict, OrderedDict):
            if set(context) != set(self.context):
                raise ValueError("Node keys mismatch; they differ from those of the first tree.")
            children = [tree[key] for key in self.context]
        elif context != self.context:
            raise ValueError(
                f"Node context mismatch for node type {self.type!r}; expected {self.context!r}, "
                f"but got {context!r}."
            )
        found = []
        for spec, child in zip(self.children_specs, children, strict=True):
            found += spec.flatten_up_to(child)
        return found

    def __repr__(self) -> str:
        name = getattr(self.type, "__name__", repr(self.type))
        inner = ", ".join([repr(spec) for spec in self.children_specs])
        return f"TreeSpec({name}, {self.context}, [{inner}])"

    def __hash__(self) -> int:
        return hash((self.type, repr(self.context), tuple(self.children_specs)))


class LeafSpec(TreeSpec):
    """The structure of a single leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])

    def __post_init__(self) -> None:
        self.num_nodes = self.num_leaves = 1
        self.num_children = 0

    def is_leaf(self) -> bool:
        """True."""
        return True

    def __repr__(self) -> str:
        return "*"

    __hash__ = TreeSpec.__hash__


_LEAF_SPEC = LeafSpec()


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF_SPEC
    kind = _node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree from left to right, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of a structure with these leaves.

    Raises:
        TypeError: for what is no structure.
        ValueError: for another number of leaves.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but "
            f"got item of type {type(treespec)}."
        )
    values = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
    if len(values) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(values)} but the spec "
            f"refers to a pytree that holds {treespec.num_leaves} items ({treespec})."
        )
    return _unflatten(iter(values), treespec)


def _unflatten(leaves: Iterator[Any], spec: TreeSpec) -> PyTree:
    if spec.is_leaf():
        return next(leaves)
    children = [_unflatten(leaves, child) for child in spec.children_specs]
    return SUPPORTED_NODES[spec.type].unflatten_fn(children, spec.context)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves of a tree, one after the other."""
    yield from tree_leaves(tree, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


# --- functions of all leaves ----------------------------------------------------------------------


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """``func`` of every leaf, and of what lies at its place in the other trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return tree_unflatten([func(*each) for each in zip(leaves, *others, strict=True)], spec)


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call ``func`` as ``tree_map`` does, and return the first tree."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function for leaves of a class, and leaves as they are for all others."""
    chosen = _chooser(type_or_types_or_pred)
    return lambda func: lambda leaf: func(leaf) if chosen(leaf) else leaf


def _chooser(types: Any) -> Callable[[Any], bool]:
    if isinstance(types, (type, tuple)) or not callable(types):
        return lambda leaf: isinstance(leaf, types)
    return types


def tree_map_only(
    type_or_types_or_pred: Any,
    /,
    func: Callable[..., Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """``func`` of leaves of a class, or of those that a function chooses; others as they are."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any,
    /,
    func: Callable[..., Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """Call ``func`` as ``tree_map_only`` does, and return the tree."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether ``pred`` holds for all leaves of a class."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether ``pred`` holds for a leaf of a class."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _with_paths(tree: PyTree, path: KeyPath, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    with_keys = SUPPORTED_NODES[_node_type(tree)].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {type(tree)}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in with_keys(tree)[0]:
        yield from _with_paths(child, (*path, key), is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each behind the path to it."""
    return list(_with_paths(tree, (), is_leaf))


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves of a tree with their paths, and its structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """As ``tree_map``, with the path to the leaf as first argument of ``func``."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    made = [func(path, leaf, *rest) for (path, leaf), *rest in zip(found, *others, strict=True)]
    return tree_unflatten(made, spec)


def _broadcast_to_and_flatten(
    tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None
) -> list[Any] | None:
    """The leaves of ``tree``, each as often as leaves of ``treespec`` lie below; None if unlike."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or _node_type(tree) is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[treespec.type].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    found: list[Any] = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        found += part
    return found
