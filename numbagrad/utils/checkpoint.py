"""``checkpoint``: what a function saves for backward is computed again there instead of being kept.

The names of ``torch.utils.checkpoint``. The variant without reentrant backward runs the function
under hooks of saved tensors (``autograd/hooks/saved_hooks.py``) that keep a place holder for each
tensor; when backward asks for the first of them, the function runs again and fills all. The
reentrant variant is a ``Function`` whose backward runs the function again and walks back through
it.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..absent import absent
from ..autocast_state import restored
from ..autocast_state import state as autocast
from ..autograd.grad_mode import enable_grad, is_grad_enabled
from ..autograd.grad_mode import state as grad_mode
from ..autograd.graph import saved_tensors_hooks
from ..autograd.hooks.saved_hooks import default_hooks, pack
from ..autograd.saved import save, unpack_entries
from ..random import Generator, streams_elsewhere
from ..tensor import Tensor, new_tensor
from .checkpoint_log import OperatorLog, report
from .reentrant_checkpoint import (
    CheckpointFunction,
    RandomState,
    check_backward_validity,
    detach_variable,
)
from .selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]

_TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint‑debug mode globally.
"""
_NOT_EXPLICIT = (
    "the use_reentrant parameter should be passed explicitly. {} use_reentrant=False is "
    "recommended, but if you need to preserve the current default behavior, you can pass "
    "use_reentrant=True. Refer to docs for more details on the differences between the two "
    "variants."
)
_SUPPRESSED = (
    "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception "
    "raised during the checkpointed forward. This is not supported because checkpoint cannot "
    "return a value for a failed forward."
)


class CheckpointError(RuntimeError):
    """Raised if a function did something else when it ran again."""


def noop_context_fn() -> Contexts:
    """Two contexts that do nothing: the default of ``context_fn``."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``; what it saves for backward is computed again there.

    Backward then needs the memory of one such function at a time, and runs each twice.

    Args:
        function: computes the same each time it is called with the same arguments.
        args, kwargs: its arguments; ``preserve_rng_state=False`` among the latter says that random
            numbers need not be the same when it runs again. Gradients of tensors in nested
            arguments are only computed with ``use_reentrant=False``.
        use_reentrant: whether backward walks the function in a walk of its own. False is
            recommended: it works with ``autograd.grad`` and with keyword arguments.
        context_fn: returns a context for the first run of the function, and one for the second.
        determinism_check: "default" compares shapes, dtypes and devices of the tensors that are
            computed again, "none" nothing.
        debug: if they differ, show the operators of both runs.
        early_stop: stop the second run as soon as all tensors are there.

    Raises:
        ValueError: for arguments that only the other variant takes, or an unknown check.
        CheckpointError: in backward, if the second run saves other tensors than the first.
        RuntimeError: in backward, if the reentrant variant cannot do what is asked.
    """
    if use_reentrant is None:
        advice = (
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception."
        )
        warnings.warn(
            f"torch.utils.checkpoint: {_NOT_EXPLICIT.format(advice)}", UserWarning, stacklevel=2
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        options = (context_fn, determinism_check, debug, early_stop)
        return _checkpoint(function, args, kwargs, preserve, *options)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        )
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run functions one after the other, in segments of which all but the last are checkpoints.

    Args:
        functions: an ``nn.Sequential`` or a sequence of functions of one argument.
        segments: how many.
        input: the argument of the first function.
        use_reentrant, preserve_rng_state: as in ``checkpoint``.
    """
    if use_reentrant is None:
        advice = "In version 2.9 we will raise an exception if use_reentrant is not passed."
        warnings.warn(
            f"torch.utils.checkpoint.checkpoint_sequential: {_NOT_EXPLICIT.format(advice)}",
            UserWarning,
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if hasattr(functions, "children"):
        functions = functions.children()
    functions = list(functions)
    size = len(functions) // segments
    last = size * (segments - 1)
    for start in range(0, last, size) if size else ():
        segment = _in_sequence(functions[start : start + size])
        input = checkpoint(
            segment, input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )  # fmt: skip
    return _in_sequence(functions[last:])(input)


def _in_sequence(functions: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for function in functions:
            value = function(value)
        return value

    return run


# Settings of the whole program

_early_stop: bool | None = None
_debug: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Decide for all calls of ``checkpoint`` in a block whether their second run stops early.

    Where such blocks are nested, the inner one decides.
    """
    global _early_stop
    previous, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = previous


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Decide for all calls of ``checkpoint`` in a block whether they debug; None leaves it open."""
    global _debug
    previous, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = previous


# Random numbers


# The reentrant variant


# The variant without reentrant backward


class GraphExecGroup:
    """A block whose walks share what was computed again; they may not need the same tensors.

    Raises:
        RuntimeError: if such blocks are nested.
    """

    def __enter__(self) -> GraphExecGroup:
        if _groups.current is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {_groups.current}"
            )
        _groups.current = self
        return self

    def __exit__(self, *exception: object) -> None:
        _groups.current = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return _groups.current


class _Groups(threading.local):
    def __init__(self) -> None:
        self.current: GraphExecGroup | None = None


_groups = _Groups()


def _metadata(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": _metadata, "none": lambda tensor: None}


class _StopRecomputation(BaseException):
    """Ends the second run when all tensors are there; nothing of the user's may catch it."""


class _Holder:
    """Stands for a tensor that was not kept; ``number`` is its place in the order of saving."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int) -> None:
        self.number = number


class _Run:
    """Tensors that the second run of a function has saved so far.

    A tensor is handed out once: then nothing here keeps it any longer.
    """

    def __init__(self) -> None:
        self.tensors: dict[int, Any] = {}
        self.count = 0
        self.complete = False


class _NoWalk:
    """Stands for the walk of somebody who looks at one saved tensor outside of any."""


class _Frame:
    """One call of a checkpointed function: how to run it again, and what it saved.

    Args:
        run: runs the function again.
        arguments: its positional arguments. Tensors among them are saved as those of a node are,
            so that writing them in between is found out, and hooks around the call see them.
        early_stop: end the second run as soon as possible.
        describe: gives what must be the same of a tensor in both runs.
    """

    def __init__(
        self,
        run: Callable[..., Any],
        arguments: Sequence[Any],
        early_stop: bool,
        describe: Callable[[Tensor], Any],
    ) -> None:
        self._run = run
        self._early_stop = early_stop
        self._describe = describe
        self._is_tensor = [isinstance(value, Tensor) for value in arguments]
        hooks = default_hooks()
        self._arguments = tuple(
            [
                pack(save(value), None, hooks) if is_tensor else value
                for value, is_tensor in zip(arguments, self._is_tensor, strict=True)
            ]
        )
        self._holders: list[weakref.ref[_Holder]] = []
        self._descriptions: list[Any] = []
        #: by walk, or group of walks: gone with it
        self._runs: weakref.WeakKeyDictionary[Any, _Run] = weakref.WeakKeyDictionary()
        self.forward_completed = False
        self._ignores_mismatch = False

    # The first run

    def pack(self, tensor: Tensor) -> _Holder:
        """Note a tensor that the function saves; keep nothing of it."""
        holder = _Holder(len(self._holders))
        self._holders.append(weakref.ref(holder))
        self._descriptions.append(self._describe(tensor))
        return holder

    # Backward

    def unpack(self, holder: _Holder) -> Tensor:
        """The tensor that a holder stands for; runs the function again if that was not done yet."""
        group: Any = _groups.current or grad_mode.walk or _NoWalk()
        run = self._runs.get(group)
        if run is None or not run.complete:
            run = self._runs[group] = _Run()
            self._run_again(run)
        tensor = run.tensors.pop(holder.number, None)
        if tensor is None:
            raise CheckpointError(_UNPACKED_TWICE.format(_OVERLAP if _groups.current else ""))
        return tensor

    def _run_again(self, run: _Run) -> None:
        arguments = self._unpacked_arguments()
        with saved_tensors_hooks(lambda tensor: self._keep(run, tensor), _identity), enable_grad():
            with contextlib.suppress(_StopRecomputation):
                self._run(*arguments)
        run.complete = True
        self._check(run)

    def _unpacked_arguments(self) -> list[Any]:
        saved = [
            v for v, is_tensor in zip(self._arguments, self._is_tensor, strict=True) if is_tensor
        ]
        no_node: Any = None
        entries = iter(unpack_entries(tuple(saved), no_node))
        return [
            next(entries) if is_tensor else value
            for value, is_tensor in zip(self._arguments, self._is_tensor, strict=True)
        ]

    def _keep(self, run: _Run, tensor: Tensor) -> Tensor:
        """Keep a tensor that the second run saves, if somebody still waits for it."""
        tensor = tensor.detach() if tensor.requires_grad else tensor
        number = run.count
        run.count += 1
        if number >= len(self._holders):
            # A walk inside of the function itself may need what the first run saved so far.
            if not self.forward_completed:
                self._ignores_mismatch = True
                return tensor
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than "
                f"during the original forward pass.\n{_TIP}"
            )
        if self._holders[number]() is not None:
            run.tensors[number] = tensor
        if self._early_stop and run.count == len(self._holders):
            raise _StopRecomputation
        return tensor

    def _check(self, run: _Run) -> None:
        """Raise unless the second run saved as many tensors as the first, and the like."""
        if self._ignores_mismatch:
            return
        if run.count != len(self._holders):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self._holders)}\n"
                f"Number of tensors saved during recomputation: {run.count}.\n{_TIP}"
            )
        differing = ""
        for number, tensor in run.tensors.items():
            before, after = self._descriptions[number], self._describe(tensor)
            if before != after:
                differing += (
                    f"tensor at position {number}:\nsaved metadata: {before}\n"
                    f"recomputed metadata: {after}\n"
                )
        if differing:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                f"different metadata than during the forward pass.\n{differing}.\n{_TIP}"
            )


_UNPACKED_TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
    "once. {}If you are calling ctx.saved_tensors in backward, make sure to do so only once. "
    "Otherwise please open an issue with details on your use case."
)
_OVERLAP = (
    "Performing two backward calls that overlap (i.e. require the same saved activation in order "
    "to compute gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup "
    "context. "
)


def _identity(value: Any) -> Any:
    return value


def _checkpoint(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    preserve_rng_state: bool,
    context_fn: Callable[[], Contexts],
    determinism_check: str,
    debug: bool,
    early_stop: bool,
) -> Any:
    """``checkpoint`` without reentrant backward."""
    logs: tuple[OperatorLog, OperatorLog] | None = None
    if debug if _debug is None else _debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        logs = OperatorLog(), OperatorLog()
    if determinism_check not in _CHECKS:
        raise ValueError(
            f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}"
        )
    first_context, second_context = context_fn() if logs is None else logs
    if not is_grad_enabled():
        return function(*args, **kwargs)
    random_state = RandomState(preserve_rng_state)

    settings = autocast.settings

    def run_again(*arguments: Any) -> None:
        with random_state.again(), restored(settings), second_context:
            function(*arguments, **kwargs)

    stop = early_stop if _early_stop is None else _early_stop
    frame = _Frame(run_again, args, stop, _CHECKS[determinism_check])
    unpack = frame.unpack if logs is None else _reporting(frame.unpack, logs)
    hooks = saved_tensors_hooks(frame.pack, unpack)
    result = _first_run(hooks, first_context, lambda: function(*args, **kwargs))
    random_state.settle()
    frame.forward_completed = True
    return result


def _first_run(hooks: Any, context: Any, call: Callable[[], Any]) -> Any:
    completed = False
    with hooks, context:
        result = call()
        completed = True
    if not completed:
        raise RuntimeError(_SUPPRESSED)
    return result


def _reporting(
    unpack: Callable[[_Holder], Tensor], logs: tuple[OperatorLog, OperatorLog]
) -> Callable[[_Holder], Tensor]:
    """``unpack`` that shows the operators of both runs if they differ."""

    def unpack_or_report(holder: _Holder) -> Tensor:
        try:
            return unpack(holder)
        except CheckpointError as error:
            raise CheckpointError(report(*logs)) from error

    return unpack_or_report


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The numbers of the devices of tensors, and the states of their random numbers.

    The CPU is none of them.
    """
    tensors = [x for x in args if isinstance(x, Tensor) and not x.is_cpu]
    devices = sorted({x.get_device() for x in tensors})
    return devices, [new_tensor(_stream_of(index).get_state()) for index in devices]


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Set the states that ``get_device_states`` returned.

    Raises:
        RuntimeError: for states of a device that draws no random numbers.
    """
    for index, state in zip(devices, states, strict=True):
        _stream_of(index).set_state(state._array)


def _stream_of(index: int) -> Generator:
    """The default generator of a device other than the CPU."""
    found = [x for x in streams_elsewhere if getattr(x, "index", None) == index]
    if not found:
        raise RuntimeError(f"no device but the CPU has random numbers here: not device {index}")
    return found[0]


_REASON = "tensors are on the CPU, and calls that compute nothing are not recorded"
DefaultDeviceType = absent("torch.utils.checkpoint.DefaultDeviceType", _REASON)
SAC_IGNORED_OPS = absent("torch.utils.checkpoint.SAC_IGNORED_OPS", _REASON)
