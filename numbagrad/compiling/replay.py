"""The compiled way through a recorded call whose reachable are what they were.

``recording.py`` knows, in Python, all that has to hold for a program. What it last found to hold is
written into the tables of ``native/replay.py`` here, whose builtins then see in a microsecond that
nothing has changed. For anything else they say so, and the Python code decides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..executor.builtin import launcher, make_builtin
from ..executor.plan.operations import Array
from ..native import replay_layout as words
from ..ops.native_launchers import described_runtime
from ..program.program import NativeRun, Program
from ..program.recorded_values import root_of
from ..tensor import Tensor

#: A list in the table: the word of its length, and the number of words of an entry.
_LISTS = {
    "arguments": (words.REPLAY_ARGUMENTS, words.ARGUMENT_WORDS),
    "tensors": (words.REPLAY_TENSORS, words.TENSOR_WORDS),
    "roots": (words.REPLAY_ROOTS, 1),
    "kept": (words.REPLAY_KEPT, words.KEPT_WORDS),
    "results": (words.REPLAY_RESULTS, words.RESULT_WORDS),
    "passed": (words.REPLAY_PASSED, words.PASSED_WORDS),
    "versions": (words.REPLAY_VERSIONS, words.VERSION_WORDS),
    "arrays": (words.REPLAY_ARRAYS, 1),
}


@dataclasses.dataclass
class Found:
    """What was found to hold: the tensors that a call reaches, and what its program is given.

    Attributes:
        arguments: the arguments, in order.
        fixed: the numbers of arguments that are told by their identity.
        tensors: the tensors that are no arguments, and whether they have a gradient.
        given: for each array the program is given the array, or the number of an argument.
        kept: gradients of the run before: tensor, gradient, its array, and which result that is.
        versions: tensors written in place: the tensor or the number of an argument, whether it is
            its gradient, and how often.
        flags: by its id, whether a tensor has to require gradients that the run changes in that.
    """

    arguments: Sequence[Any]
    fixed: Sequence[int]
    tensors: Sequence[tuple[Tensor, bool]]
    given: Sequence[Array | int]
    kept: Sequence[tuple[Tensor, Tensor, Array, int]]
    versions: Sequence[tuple[Tensor | int, bool, int]]
    flags: dict[int, bool]


class Replay:
    """A recorded call for compiled code.

    Attributes:
        holds: ``holds(*arguments)`` is None if something has changed since it was learned,
            otherwise whether gradients of the run before may be written again.
        run: ``run(keep, *arguments)`` runs the program and returns its results; None for a program
            with parts in Python.
    """

    def __init__(self, program: Program):
        self._program = program
        self._native: NativeRun | None = program.native
        self._table = np.zeros(words.REPLAY_WORDS, dtype=np.int64)
        self._kept: list[Any] = []
        self._holds: Callable[..., bool | None] | None = None
        self.holds: Callable[..., bool | None] = _never
        self.run: Callable[..., tuple[Array, ...]] | None = None

    def _make_builtins(self) -> Callable[..., bool | None]:
        """Make the builtins; returns ``holds``. Functions called once do not wait for this."""
        self._table[0] = described_runtime().ctypes.data
        if self._native is not None:
            self.run = make_builtin("replay", launcher("replay", "replay"), self._table)
        return make_builtin("holds", launcher("holds", "replay"), self._table)

    def forget(self) -> None:
        """Leave every call to Python."""
        self.holds = _never

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
        own = {id(root_of(found.arguments[k]._array)) for k in free}
        if len(own) < len(free) or not own.isdisjoint(roots):
            return  # compiled code expects arguments that share memory with nothing
        self._kept = [found.arguments[k] for k in found.fixed]
        lists: dict[str, list[Any]] = {
            "arguments": [self._argument(found, k) for k in range(len(found.arguments))],
            "tensors": [_tensor(found, tensor, had) for tensor, had in found.tensors],
            "roots": list(roots),
            "kept": [tuple(map(id, kept[:3])) for kept in found.kept],
            "versions": [
                (-1, id(owner), of_gradient, count)
                if isinstance(owner, Tensor)
                else (owner, 0, of_gradient, count)
                for owner, of_gradient, count in found.versions
            ],
            "results": [],
            "passed": [],
            "arrays": [],
        }
        if self._native is not None:
            lists.update(self._for_program(found, self._native))
        for name, (word, size) in _LISTS.items():
            entries = np.array(lists[name] or [[0] * size], dtype=np.int64)
            self._kept.append(entries)
            self._table[word : word + 2] = len(lists[name]), entries.ctypes.data
        if self._holds is None:
            self._holds = self._make_builtins()
        self.holds = self._holds

    def _argument(self, found: Found, k: int) -> tuple[int, ...]:
        argument = found.arguments[k]
        if k in found.fixed:
            return (id(argument),) + (0,) * (words.ARGUMENT_WORDS - 1)
        array = argument._array
        return (
            0, id(type(argument)), _flag(found, argument),
            (argument._producer is None) + 2 * argument.is_inference(),
            array.ndim, self._form(array), id(array.dtype),
        )  # fmt: skip

    def _form(self, array: Array) -> int:
        """Address of the shape of an array, and then its strides."""
        form = np.array([*array.shape, *array.strides, 0], dtype=np.int64)
        self._kept += form, array.dtype
        return form.ctypes.data

    def _for_program(self, found: Found, native: NativeRun) -> dict[str, list[Any]]:
        """What ``run`` needs: the arrays of the program, and which of them each call makes."""
        kept = {place: array for _, _, array, place in found.kept}
        places = {slot: place for place, slot in enumerate(native.slots)}
        results = []
        for k, memory in enumerate(self._program.results):
            made = np.empty_like(memory.array)
            old = id(kept[k]) if k in kept else 0
            place = places.get(len(found.given) + k, -1)
            results.append((old, made.dtype.num, made.ndim, self._form(made), place))
        arrays, passed = [0] * len(native.slots), []
        for k, array in enumerate(found.given):
            if k not in places:
                continue
            if isinstance(array, int):
                passed.append((array, places[k]))
            else:
                arrays[places[k]] = id(array)
        self._table[words.REPLAY_PROGRAM] = native.address
        self._table[words.REPLAY_PROGRAM_TABLE] = id(native.table)
        return {"results": results, "arrays": arrays, "passed": passed}


def _flag(found: Found, tensor: Tensor) -> int:
    """The object that says whether a tensor requires gradients when a run begins."""
    return id(found.flags.get(id(tensor), tensor._requires_grad))


def _tensor(found: Found, tensor: Tensor, had_gradient: bool) -> tuple[int, ...]:
    state = id(tensor), _flag(found, tensor), id(tensor._array)
    gradient = tensor._accumulated
    if gradient is None or not had_gradient:
        return *state, id(None), 0, 0
    return *state, id(gradient), id(gradient._requires_grad), id(gradient._array)


def _never(*arguments: Any) -> None:
    """In the place of ``holds`` while nothing is known to hold."""


__all__ = ["Found", "Replay"]
