"""Selective checkpoints: a policy says which results are kept, the others are computed again.

The names of ``torch.utils.checkpoint``, which ``checkpoint.py`` passes on. ``context_fn`` of a
checkpoint makes two contexts: in the first the results of operators are kept, in the second, in
backward, they are given back. Both are interceptors of operators (``dispatch/interception.py``).
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dispatch.interception import Compute, Interceptor
from ..ops.aten import OpOverload, OpOverloadPacket, name_of
from ..ops.operators.user_kernel import UserKernel
from ..random import DefaultStreams

__all__ = [
    "CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts",
]  # fmt: skip


class CheckpointPolicy(enum.Enum):
    """The decision of a policy on a result: ``*_SAVE`` keeps it, all others compute it again.

    There is no memory of another device, so that ``*_CPU_OFFLOAD`` is computed again, as in torch.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """The context that a policy is told beside the operator and its arguments.

    Attributes:
        is_recompute: False: policies are only asked in forward.
        op_output: what the operator returned, without a history.
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


Policy = Callable[..., CheckpointPolicy | bool]

_KEPT = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
_RECOMPUTE = object()
_CONSUMED = object()
_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend "
    "on global state that changed between forward and backward."
)
#: Asks a generator for its state.
_NOW = np.empty(0, np.int64)


class _Kept:
    """The results of one call: arrays, and how often their memory was written then.

    Args:
        arrays: what the operator computed.
        drawn: the states of the generator before and after, if it drew random numbers.
    """

    __slots__ = ("arrays", "cells", "drawn")

    def __init__(self, arrays: Any, results: tuple[Any, ...], drawn: Any) -> None:
        self.arrays = arrays
        self.drawn = drawn
        self.cells: list[Any] = []
        for result in results:
            if result._version_cell is None:
                result._version_cell = [0]
            self.cells.append((result._version_cell, result._version_cell[0]))

    def check(self) -> None:
        """Raise if the memory was written since."""
        if any([cell[0] != version for cell, version in self.cells]):
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated"
            )


Storage = defaultdict[Any, dict[int, Any]]


class _Selecting(Interceptor):
    """State of both contexts: results by operator, and by how many of it ran before."""

    def __init__(self, storage: Storage) -> None:
        super().__init__()
        self.storage = storage
        self._counts: defaultdict[Any, int] = defaultdict(int)

    def __enter__(self) -> Interceptor:
        self._counts.clear()
        return super().__enter__()

    def _count(self, name: Any) -> int:
        number = self._counts[name]
        self._counts[name] += 1
        return number


class _Keeping(_Selecting):
    """The context of the first run."""

    def __init__(self, policy: Policy, storage: Storage) -> None:
        super().__init__(storage)
        self._policy = policy
        self._made: Any = None

    def step(
        self, operator: Any, arguments: tuple[Any, ...], compute: Compute, shown: Any = None
    ) -> Compute:
        """Compute, and note what was made."""
        self._made = None

        def noted() -> Any:
            before = DefaultStreams().rewind(_NOW)
            arrays = compute()
            after = DefaultStreams().rewind(_NOW)
            self._made = arrays, None if np.array_equal(before, after) else (before, after)
            return arrays

        return noted

    def finished(self, operator: Any, arguments: tuple[Any, ...], results: tuple[Any, ...]) -> None:
        """Ask the policy, and keep the results if it says so."""
        if self._made is None:  # an interceptor inside knew the results
            return
        (arrays, drawn), self._made = self._made, None
        name = name_of(operator, arguments)
        outputs = tuple([result.detach() for result in results])
        context = SelectiveCheckpointContext(
            is_recompute=False, op_output=outputs if len(outputs) > 1 else outputs[0]
        )
        policy = self._policy(context, name, *arguments)
        kept = policy if isinstance(policy, bool) else policy in _KEPT
        self.storage[name][self._count(name)] = (
            _Kept(arrays, results, drawn) if kept else _RECOMPUTE
        )


class _Giving(_Selecting):
    """The context of the second run."""

    def __init__(self, storage: Storage, allow_mutation: bool) -> None:
        super().__init__(storage)
        self._allow_mutation = allow_mutation

    def step(
        self, operator: Any, arguments: tuple[Any, ...], compute: Compute, shown: Any = None
    ) -> Compute:
        """Give back what was kept, once; else compute."""
        name = name_of(operator, arguments)

        def given() -> Any:
            kept = self._take(name)
            if kept is _RECOMPUTE:
                return compute()
            if not self._allow_mutation:
                kept.check()
            if kept.drawn is not None:
                self._draw_again(*kept.drawn)
            return kept.arrays

        return given

    def _take(self, name: Any) -> Any:
        number = self._count(name)
        entries = self.storage.get(name)
        if entries is None:
            raise RuntimeError(
                f"{name} encountered during backward but not found in storage. {_MISMATCH}"
            )
        entry = entries.get(number)
        if entry is None:
            raise RuntimeError(
                f"{name} invocation index {number} encountered during backward but not found in "
                f"storage. {_MISMATCH}"
            )
        if entry is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any "
                "region computed under selective activation checkpoint."
            )
        if entry is not _RECOMPUTE:
            entries[number] = _CONSUMED
        return entry

    @staticmethod
    def _draw_again(before: Any, after: Any) -> None:
        """Go on with the random numbers behind those that the operator drew."""
        generator = DefaultStreams()
        if np.array_equal(generator.rewind(_NOW), before):
            generator.rewind(after)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | list[Any], allow_cache_entry_mutation: bool = False
) -> tuple[Interceptor, Interceptor]:
    """Two contexts for ``context_fn`` of ``checkpoint``: some results are kept for backward.

    Views and writes in place are always done again, and no policy is asked about them. Only one
    thread at a time runs inside of such a checkpoint; others wait.

    Args:
        policy_fn_or_list: the operators whose results are kept, as
            ``numbagrad.ops.aten.mm.default``, or kernels of the user; or a policy, called as
            ``policy(context, operator, *arguments)`` for each operator of the forward, which
            returns a ``CheckpointPolicy``.
        allow_cache_entry_mutation: do not raise if a result was written in place after it was kept.

    Raises:
        ValueError: for what is no operator in the list.
        TypeError: for what is neither a list nor a function.
    """
    if isinstance(policy_fn_or_list, list):
        for operator in policy_fn_or_list:
            if not isinstance(operator, (OpOverload, UserKernel)):
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {operator} of type "
                    f"{type(operator)}. {_packet_text(operator)}"
                )
        saved = frozenset(policy_fn_or_list)
        policy: Policy = lambda context, operator, *arguments: operator in saved  # noqa: E731
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: Storage = defaultdict(dict)
    return _Keeping(policy, storage), _Giving(storage, allow_cache_entry_mutation)


def _packet_text(operator: Any) -> str:
    if not isinstance(operator, OpOverloadPacket):
        return ""
    return (
        "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have "
        "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
    )
