"""Lists and dictionaries that do not change: the arguments of nodes, which note their uses."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["immutable_dict", "immutable_list"]


def _refuses(name: str) -> Any:
    def refuse(self: Any, *arguments: Any, **keywords: Any) -> NoReturn:
        raise NotImplementedError(
            f"'{type(self).__name__}' object does not support mutation ({name}). If you are "
            "attempting to modify the kwargs or args of a torch.fx.Node object, instead create a "
            "new copy of it and assign the copy to the node: new_args = ...; node.args = new_args"
        )

    return refuse


class immutable_list(list[Any]):  # noqa: N801
    """A list that cannot be changed, and is hashed by its elements."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)


class immutable_dict(dict[Any, Any]):  # noqa: N801
    """A dictionary that cannot be changed, and is hashed by its items."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (tuple(self.items()),)


for _kind, _names in (
    (
        immutable_list,
        "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove "
        "reverse sort",
    ),
    (immutable_dict, "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update"),
):
    for _name in _names.split():
        setattr(_kind, _name, _refuses(_name))
