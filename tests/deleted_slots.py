"""Slots that somebody changed: all that compiled launchers read, and uses of what has them.

``test_deleted_slots.py`` runs this file as a program, since what is wrong ends the process. Its
argument says what becomes of the slots: ``deleted``, or one of ``VALUES`` that they are set to. It
prints each combination, and what came of it. Those of forward mode run in forks, since they leave
levels open.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import numbagrad as torch
from numbagrad import func
from numbagrad.autograd import forward_ad
from numbagrad.executor.cache import deferred
from numbagrad.ops.operators import native_launchers
from numbagrad.tensor import TensorState

Use = Callable[[Any], Any]


def leaf(*shape: int) -> Any:
    return torch.ones(*shape, requires_grad=True)


# --- Tensors --------------------------------------------------------------------------------------


def _into(t: Any) -> Any:
    with torch.no_grad():
        return torch.ones(4, 4).add_(t)


def _in_place(t: Any) -> Any:
    with torch.no_grad():
        return t.mul_(2)


def _written_view(t: Any) -> Any:
    with torch.no_grad():
        t.t().mul_(2)
    return t * 2


def _backward(t: Any) -> Any:
    (t * t.exp()).sum().backward()
    return t.grad


def _twice(t: Any) -> Any:
    (g,) = torch.autograd.grad((t * t).sum(), t, create_graph=True)
    return torch.autograd.grad(g.sum(), t)


def _jvp(t: Any) -> Any:
    return func.jvp(lambda x: x * x + x @ x, (t.detach(),), (torch.ones(4, 4),))


def _tangent(t: Any) -> Any:
    return func.jvp(lambda x: x * x, (torch.ones(4, 4),), (t,))


def _dual(t: Any) -> Any:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(t, torch.ones(4, 4))
        return forward_ad.unpack_dual(dual * dual + dual.t())


def _captured(t: Any) -> Any:
    return func.jvp(lambda x: x * t, (torch.ones(4, 4),), (torch.ones(4, 4),))


_compiled = torch.compile(lambda x: (x * 2).sum())
_saved_by: dict[int, Any] = {}

TENSOR_USES: dict[str, Use] = {
    "with a number": lambda t: t * 2.0,
    "with itself": lambda t: t * t,
    "with another": lambda t: torch.ones(4, 4) + t,
    "broadcast": lambda t: torch.ones(2, 4, 4) * t,
    "exp": lambda t: t.exp(),
    "comparison": lambda t: t > 0.5,
    "into another": _into,
    "in place": _in_place,
    "view": lambda t: t.view(16),
    "transposed": lambda t: t.t() * 2,
    "element": lambda t: t[0] + 1,
    "elements": lambda t: t[1:, :2] + 1,
    "rows": lambda t: t[torch.tensor([0, 1])],
    "unbind": lambda t: t.unbind(0),
    "split": lambda t: t.split(2),
    "detach": lambda t: t.detach() + 1,
    "view written": _written_view,
    "sum": lambda t: t.sum(),
    "sum of rows": lambda t: t.sum(1),
    "product": lambda t: t @ torch.ones(4, 4),
    "product behind": lambda t: leaf(4, 4) @ t,
    "linear": lambda t: torch.nn.functional.linear(t, leaf(4, 4), leaf(4)),
    "weight": lambda t: torch.nn.functional.linear(torch.ones(2, 4), t, leaf(4)),
    "softmax": lambda t: t.softmax(0),
    "layer norm": lambda t: torch.nn.functional.layer_norm(t, (4,)),
    "cat": lambda t: torch.cat([t, t]),
    "cat behind": lambda t: torch.cat([leaf(4, 4), t]),
    "stack": lambda t: torch.stack([t, leaf(4, 4)]),
    "where": lambda t: torch.where(t > 0, t, 0.0),
    "cumsum": lambda t: t.cumsum(0),
    "gather": lambda t: t.gather(0, torch.zeros(1, 4, dtype=torch.int64)),
    "clone": lambda t: t.clone(),
    "expand": lambda t: t.expand(3, 4, 4) * 2,
    "to": lambda t: t.to(torch.float64),
    "half": lambda t: t.half() * 2,
    "walk": _backward,
    "walk twice": _twice,
    "as a gradient": lambda t: (leaf(4, 4) * 2).backward(t),
    "compiled": lambda t: _compiled(t),
    "jvp": _jvp,
    "tangent": _tangent,
    "dual": _dual,
    "captured in jvp": _captured,
    "vmap": lambda t: func.vmap(lambda x: x * 2)(t),
    "text": repr,
    "number": lambda t: t[0, 0].item(),
    "array": lambda t: t.detach().numpy(),
    "version": lambda t: t._version,
    "new grad": lambda t: setattr(t, "grad", torch.ones(4, 4)),
    "requires_grad_": lambda t: t.requires_grad_(),
}  # fmt: skip


def leaves() -> Any:
    return leaf(4, 4)


def inner() -> Any:
    return leaf(4, 4) * 2


def plain() -> Any:
    return torch.ones(4, 4)


def view() -> Any:
    return (leaf(4, 4) * 2).t()


def written() -> Any:
    return plain().add_(1)


def with_grad() -> Any:
    t = leaf(4, 4)
    (t * 3).sum().backward()
    return t


MADE = (leaves, inner, plain, view, written, with_grad)


# --- nodes and what they save ---------------------------------------------------------------------


def _product_of_inputs() -> Any:
    x, w = leaf(4, 4), (leaf(4, 4) * 2)
    w.detach().add_(1)  # has a version count
    return w * x


RESULTS: dict[str, Callable[[], Any]] = {
    "mul": _product_of_inputs,
    "exp": lambda: inner().exp(),
    "number": lambda: leaf(4, 4) * 2.5,
    "mm": lambda: inner() @ leaf(4, 4),
    "sum": lambda: inner().sum(1),
    "view": lambda: inner().t(),
    "select": lambda: inner()[0],
    "cat": lambda: torch.cat([inner(), leaf(4, 4)]),
    "unbind": lambda: inner().unbind(0)[1],
    "softmax": lambda: inner().softmax(0),
    "linear": lambda: torch.nn.functional.linear(inner(), leaf(4, 4), leaf(4)),
    "layer norm": lambda: torch.nn.functional.layer_norm(inner(), (4,)),
}


def _walk_with_gradient(y: Any) -> Any:
    x = [y.grad_fn.next_functions]
    y.backward(torch.ones_like(y), retain_graph=True)
    return x


NODE_USES: dict[str, Use] = {
    "walk": lambda y: y.sum().backward(),
    "walk from it": _walk_with_gradient,
    "create_graph": lambda y: y.backward(torch.ones_like(y), create_graph=True),
    "next": lambda y: (y * 2).sum().backward(),
    "view": lambda y: y.t() if y.ndim == 2 else y.view(-1),
    "in place": lambda y: y.mul_(2).sum().backward(),
    "node": lambda y: (y.grad_fn.next_functions, y.grad_fn.name(), y.grad_fn.metadata),
    "hook": lambda y: (y.grad_fn.register_hook(lambda *_: None), y.sum().backward()),
    "called": lambda y: y.grad_fn(torch.ones_like(y)),
    "graph": lambda y: torch.autograd.graph.get_gradient_edge(y),
}  # fmt: skip


# --- all of them ----------------------------------------------------------------------------------

#: What slots are set to: of a type that none of them has, and of the right one with other contents.
VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "number": lambda: 3,
    "text": lambda: "x",
    "list": list,
    "texts": lambda: ["x"],
    "tuple": tuple,
    "numbers": lambda: (3,),
    "objects": lambda: np.full((4, 4), object()),
}


def change(holder: Any, slot: str) -> None:
    """Do with a slot what the argument of the program says."""
    if sys.argv[1] == "deleted":
        delattr(holder, slot)
    else:
        setattr(holder, slot, VALUES[sys.argv[1]]())


def slots_of(cls: type) -> list[str]:
    """The slots of a class that launchers read."""
    known = native_launchers._SLOTS.values()
    return [name for kind, names in known if issubclass(cls, kind) for name in names.values()]


def of_tensor(make: Any, slot: str, use: Use) -> Any:
    tensor = make()
    change(tensor, slot)
    return use(tensor)


def of_result(make: Any, holder: Any, slot: str, use: Use) -> Any:
    result = make()
    for held in holder(result.grad_fn):
        if slot in all_slots(type(held)):
            change(held, slot)
    return use(result)


def all_slots(cls: type) -> set[str]:
    """The slots of a class and its bases."""
    return {slot for base in cls.__mro__ for slot in getattr(base, "__slots__", ())}


def inputs_of(node: Any) -> list[Any]:
    """The nodes behind a node."""
    targets = [edge[0] for edge in node.next_edges if edge is not None]
    return [target for target in targets if isinstance(target, torch.autograd.graph.Node)]


def combinations() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """Each slot of each object, changed, and each use."""
    for make in MADE:
        for slot in slots_of(TensorState):
            for name, use in TENSOR_USES.items():
                yield f"{make.__name__} {slot}, {name}", of_tensor, (make, slot, use)
    nodes = {*slots_of(native_launchers.PointwiseState), *slots_of(native_launchers.OperatorState)}
    saved = {*slots_of(native_launchers.SavedInput), *slots_of(native_launchers.SavedOutput)}
    holders: tuple[tuple[str, set[str], Callable[[Any], Any]], ...] = (
        ("node", nodes, lambda node: [node]),
        ("saved", saved, lambda node: node.saved),
        ("input", nodes, inputs_of),
    )
    for kind, slots, holder in holders:
        for slot in sorted(slots):
            for result, make in RESULTS.items():
                for name, use in NODE_USES.items():
                    where = f"{kind} of {result} {slot}, {name}"
                    yield where, of_result, (make, holder, slot, use)


def found_by(run: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """What a combination ends in."""
    try:
        run(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return "nothing"


def say(text: str) -> None:
    """Tell the parent at once."""
    os.write(1, text.encode())


def main() -> None:
    """Have all launchers be compiled, then run each combination."""
    warnings.simplefilter("ignore")
    deferred.CALLS_WORTH_COMPILING = 0
    for _ in range(3):
        for makes, uses in ((MADE, TENSOR_USES), (RESULTS.values(), NODE_USES)):
            for make in makes:
                for use in uses.values():
                    found_by(lambda make=make, use=use: use(make()), ())
    for name, run, arguments in combinations():
        say(f"{name} | ")
        say(found_by(run, arguments) + "\n")


if __name__ == "__main__":
    main()
    os._exit(0)  # at once: objects without their slots are left
