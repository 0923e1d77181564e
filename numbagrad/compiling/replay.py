"""The compiled way through a captured call whose reachable are what they were.

``call_capture.py`` knows, in Python, all that has to hold for a program. What it last found to
hold is written into the tables of ``native/replay.py`` here, whose launchers then see in a
microsecond that nothing has changed. For anything else they say so, and the Python code decides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..codegen.record import row_of, write_list
from ..executor.builtin import make_launcher
from ..executor.plan.operations import Array
from ..native.compiled_call_layout import CallTable
from ..native.replay_layout import Argument, Kept, Known, Passed, Result, Version
from ..ops.operators.native_launchers import described_runtime
from ..program.compiled_guards import Guards
from ..program.program import NativeRun, Program
from ..program.traced_values import root_of
from ..tensor import Tensor

#: The lists of the table.
_LISTS = ("arguments", "tensors", "roots", "kept", "results", "passed", "versions", "arrays")

#: The entry of an argument that is compared by identity alone.
_ANY_FORM = dict.fromkeys(("type", "flag", "kind", "rank", "sizes", "dtype", "gradient"), 0)


@dataclasses.dataclass
class Found:
    """A check that held: the tensors that a call reaches, and the arrays its program is given.

    Attributes:
        arguments: the arguments, in order.
        fixed: the numbers of arguments that are told by their identity.
        gradients: by the numbers of other arguments, the gradients that they had.
        tensors: the tensors that are no arguments, and whether they have a gradient.
        given: for each array the program is given the array, or the number of an argument.
        kept: gradients of the run before: tensor, gradient, its array, and which result that is.
        versions: tensors written in place: the tensor or the number of an argument, whether it is
            its gradient, and how often.
        flags: by its id, whether a tensor has to require gradients that the run changes in that.
    """

    arguments: Sequence[Any]
    fixed: Sequence[int]
    gradients: dict[int, Tensor]
    tensors: Sequence[tuple[Tensor, bool]]
    given: Sequence[Array | int]
    kept: Sequence[tuple[Tensor, Tensor, Array, int]]
    versions: Sequence[tuple[Tensor | int, bool, int]]
    flags: dict[int, bool]


class Replay:
    """A captured call for compiled code.

    Attributes:
        holds: ``holds(*arguments)`` is None if something has changed since it was learned,
            otherwise whether gradients of the run before may be written again.
        run: ``run(keep, *arguments)`` runs the program and returns its results; None for a program
            with parts in Python.
        table: what was learned, for compiled code.
    """

    def __init__(self, program: Program):
        self._program = program
        self._native: NativeRun | None = program.native
        self.table = CallTable()
        #: Memory that the table leads to, of all times when it was learned: a call makes objects,
        #: that may run code of users, by the collector, and that may have this learn anew.
        self._kept: list[Any] = []
        self._times = 0
        self._guards: Guards | None = None
        self._holds: Callable[..., bool | None] | None = None
        self.holds: Callable[..., bool | None] = _never
        self.run: Callable[..., tuple[Array, ...]] | None = None

    def _make_launchers(self) -> Callable[..., bool | None]:
        """Make the launchers; returns ``holds``. Functions called once do not wait for this."""
        self.table.runtime = described_runtime().address
        if self._native is not None:
            self.run = make_launcher("replay", self.table, "replay", "replay")
        return make_launcher("holds", self.table, "holds", "replay")

    def forget(self) -> None:
        """Leave every call to Python."""
        self.holds = _never
        self.table.known = 0

    def learn(self, found: Found) -> None:
        """Hold for what was found, and for nothing else.

        The caller keeps alive what is found, and forgets it here before it lets go. No reference
        stays here to arrays and gradients, whose owners are counted.
        """
        self.forget()
        known = [tensor._array for tensor, _ in found.tensors]
        known += [tensor._accumulated._array for tensor, had in found.tensors if had]  # type: ignore[union-attr]
        known += [array for array in found.given if not isinstance(array, int)]
        roots = {id(root): root for root in map(root_of, known)}
        free = [k for k in range(len(found.arguments)) if k not in found.fixed]
        if free and not all([root.flags.owndata for root in roots.values()]):
            return  # an argument might share memory with one of them unseen
        tensors = [*[found.arguments[k] for k in free], *found.gradients.values()]
        own = {id(root_of(tensor._array)) for tensor in tensors}
        if len(own) < len(tensors) or not own.isdisjoint(roots):
            return  # compiled code expects arguments that share memory with nothing
        self._kept += [found.arguments[k] for k in found.fixed]
        lists: dict[str, list[Any]] = {
            "arguments": [self._argument(found, k) for k in range(len(found.arguments))],
            "tensors": [_tensor(found, tensor, had) for tensor, had in found.tensors],
            "roots": list(roots),
            "kept": [
                row_of(Kept, tensor=id(tensor), gradient=id(gradient), array=id(array))
                for tensor, gradient, array, _ in found.kept
            ],
            "versions": [_version(*version) for version in found.versions],
            "results": [],
            "passed": [],
            "arrays": [],
        }
        if self._native is not None:
            lists.update(self._for_program(found, self._native))
        for name in _LISTS:
            self._kept.append(write_list(getattr(self.table, name), lists[name]))
        if self._holds is None:
            self._holds = self._make_launchers()
        self.holds = self._holds
        self._times += 1
        self.table.known = self._times  # last: other threads call

    def guard(self, guards: Guards | None) -> None:
        """Have compiled code ask these guards as well; None leaves that to Python."""
        self.table.guards = 0 if guards is None else guards.table.address
        self._guards = guards  # then: those before are asked until now

    def _argument(self, found: Found, k: int) -> tuple[int, ...]:
        argument = found.arguments[k]
        if k in found.fixed:
            return row_of(Argument, object=id(argument), **_ANY_FORM)
        gradient, address = found.gradients.get(k), 0
        if gradient is not None:
            row = np.array(self._alike(found, gradient, 0), dtype=np.int64)
            self._kept.append(row)
            address = row.ctypes.data
        return self._alike(found, argument, address)

    def _alike(self, found: Found, tensor: Tensor, gradient: int) -> tuple[int, ...]:
        """The required layout of a tensor, and the address of the same for its gradient."""
        array = tensor._array
        return row_of(
            Argument,
            object=0,
            type=id(type(tensor)),
            flag=_flag(found, tensor),
            kind=(tensor._producer is None) + 2 * tensor.is_inference(),
            rank=array.ndim,
            sizes=self._form(array),
            dtype=id(array.dtype),
            gradient=gradient,
        )

    def _form(self, array: Array) -> int:
        """Address of the shape of an array, and then its strides."""
        form = np.array([*array.shape, *array.strides, 0], dtype=np.int64)
        self._kept += form, array.dtype
        return form.ctypes.data

    def _for_program(self, found: Found, native: NativeRun) -> dict[str, list[Any]]:
        """The tables of ``run``: the arrays of the program, and which of them each call makes."""
        kept = {position: array for _, _, array, position in found.kept}
        positions = {slot: position for position, slot in enumerate(native.slots)}
        results = []
        for k, memory in enumerate(self._program.results):
            made = np.empty_like(memory.array)
            results.append(
                row_of(
                    Result,
                    kept=id(kept[k]) if k in kept else 0,
                    type=made.dtype.num,
                    rank=made.ndim,
                    sizes=self._form(made),
                    position=positions.get(len(found.given) + k, -1),
                )
            )
        arrays, passed = [0] * len(native.slots), []
        for k, array in enumerate(found.given):
            if k not in positions:
                continue
            if isinstance(array, int):
                passed.append(row_of(Passed, argument=array, position=positions[k]))
            else:
                arrays[positions[k]] = id(array)
        self.table.program = native.address
        self.table.program_table = id(native.owner)
        return {"results": results, "arrays": arrays, "passed": passed}


def _flag(found: Found, tensor: Tensor) -> int:
    """The object that says whether a tensor requires gradients when a run begins."""
    return id(found.flags.get(id(tensor), tensor._requires_grad))


def _tensor(found: Found, tensor: Tensor, had_gradient: bool) -> tuple[int, ...]:
    gradient = tensor._accumulated if had_gradient else None
    return row_of(
        Known,
        object=id(tensor),
        flag=_flag(found, tensor),
        array=id(tensor._array),
        gradient=id(gradient),
        gradient_flag=0 if gradient is None else id(gradient._requires_grad),
        gradient_array=0 if gradient is None else id(gradient._array),
    )


def _version(owner: Tensor | int, of_gradient: bool, count: int) -> tuple[int, ...]:
    argument, tensor = (owner, 0) if isinstance(owner, int) else (-1, id(owner))
    return row_of(Version, argument=argument, tensor=tensor, of_gradient=of_gradient, writes=count)


def _never(*arguments: Any) -> None:
    """In the place of ``holds`` while nothing is known to hold."""


__all__ = ["Found", "Replay"]
