"""A function that is captured once a signature and then runs as one program.

The first calls of a signature run as always and are captured (``program/``); later calls
check that everything the function can reach is what it was (``reachable_state.py``), and run the
program. Where a capture ends, subclasses decide: ``CompiledFunction`` (``function.py``) of a whole
function, ``Piece`` (``broken_function.py``) of some of its lines.
"""

from __future__ import annotations

import copy
import functools
import sys
import threading
import types
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..autograd.grad_mode import state as grad_mode
from ..autograd.hooks.watching import seen_here
from ..device import device
from ..dispatch import sparse
from ..dtype import dtype
from ..executor import capture
from ..executor.mode import JIT_DISABLED, NATIVE
from ..executor.threads.forking import new_lock
from ..program import timing
from ..program.input_numbers import NumberInputs
from ..program.trace import Trace
from ..structure import LEAF, flatten, picker
from ..tensor import Tensor
from ..torch_function import contexts
from ..transforms.levels import is_transformed
from .argument_numbers import direct_numbers, is_free
from .awaited_kernels import are_there
from .call_capture import CallCapture, States
from .captured_call import CHANGED, CapturedCall
from .classes import is_a
from .delayed_warnings import warn
from .reachable_state import extras_of
from .rollback import Failed
from .settings import global_settings

#: Captures of one signature that may turn out useless before the function is left alone.
PATIENCE = 8
#: Captures after which it is clear that calls change what they read.
SETTLED = 3
#: Signatures of one function after which compile() asks whether something is wrong.
MANY_SIGNATURES = 64
#: Signatures that differ in sizes alone and are compiled at their first call; others like them are
#: compiled at their second, as in a run whose sizes change from call to call most never return.
SIZES_AT_ONCE = 8
#: Signatures of which is known that they came once.
_MOST_SEEN = 4096


class _Latest(NamedTuple):
    """The program that ran last."""

    settings: tuple[Any, ...]
    captured: CapturedCall
    structure: Any


#: The settings that a program holds for, the program, and what finds the leaves of the arguments;
#: None if they are leaves themselves.
_Quick = tuple[tuple[Any, ...], CapturedCall, Callable[[Any], "tuple[Any, ...] | None"] | None]


def _quick_way(settings: tuple[Any, ...], captured: CapturedCall, structure: Any) -> _Quick | None:
    """The quick way through calls without keywords; None for arguments that are nested otherwise.

    That a leaf is one has not to be looked at: a program does not hold for anything else there.
    """
    _, arguments, _ = structure
    if all([each == LEAF for each in arguments[1:]]):
        return settings, captured, None
    pick = picker(arguments)
    return None if pick is None else (settings, captured, pick)


#: Code that was running, and the line it was at, from the inside out.
Frames = Sequence[tuple[types.CodeType, int]]


class CompileError(RuntimeError):
    """Raised with ``fullgraph=True`` for what cannot be part of a program."""


def runs_uncompiled() -> bool:
    """Whether calls of compiled functions run as always here.

    Inside of another compiled function one is a part of what that does; a selective checkpoint asks
    about each operator, and hooks of saved tensors see each node.
    """
    return not NATIVE or capture.needs_operators() or contexts.here() or seen_here()


class CapturedFunction:
    """A function that runs as a compiled program where it can."""

    #: Whether it is a part of a function.
    _is_piece = False

    def __init__(self, function: Callable[..., Any], fullgraph: bool = False):
        if isinstance(function, types.FunctionType):
            functools.update_wrapper(self, function)
        self._function = function
        self._fullgraph = fullgraph
        self._programs: dict[Any, list[CapturedCall]] = {}
        #: The program that ran last, and the settings it ran with.
        self._latest: _Latest | None = None
        #: The same, where the arguments are leaves themselves: no list, tuple, dict or keyword.
        self._quick: _Quick | None = None
        #: The same in compiled code; it returns CHANGED if it cannot tell that the program holds.
        self._direct: Callable[..., Any] | None = None
        self._useless = 0
        #: By signature the kernels that other processes compile; until then calls run uncompiled.
        self._awaited: dict[Any, frozenset[str]] = {}
        self._states = States()
        #: How many signatures have programs, by what they have but for sizes.
        self._forms: Counter[Any] = Counter()
        #: Signatures that came once and are compiled if they come again.
        self._seen: set[Any] = set()
        #: Whether it was said that there are many of these.
        self._said_seen = False
        #: The places of numbers among the arguments whose values calls looked at.
        self._looked_at: dict[Any, set[int]] = {}
        #: Whether a call was seen to record a walk of a graph, to differentiate its gradients.
        self._records_walks = False
        self._given_up = False
        self._reason = "it has not been called yet"
        self._lock = new_lock(self, threading.RLock)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        """A copy, or what is unpickled, is compiled anew; decorated functions go by their name."""
        found: Any = sys.modules.get(getattr(self, "__module__", None) or "")
        name = getattr(self, "__qualname__", "")
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return name
        return type(self), (self._function, self._fullgraph)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(copy.deepcopy(self._function, memo), self._fullgraph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # The quick ways, for most calls: written for speed, since a small step takes microseconds.
        try:
            if capture.active is None and not kwargs and not contexts.count:
                direct = self._direct
                if direct is not None and timing.active is None:
                    result = direct(*args)
                    if result is not CHANGED:
                        return result
                result = self._replay_quickly(args)
                if result is not CHANGED:
                    return result
            return self._call(args, kwargs)
        except Failed:
            pass  # the function raises as well, or does something else then
        return self._function(*args, **kwargs)

    def _replay_quickly(self, args: tuple[Any, ...]) -> Any:
        """The result of the program that ran last, if that holds; else CHANGED."""
        quick = self._quick
        if quick is None or global_settings() != quick[0]:
            return CHANGED
        leaves = args if quick[2] is None else quick[2](args)
        if leaves is None:
            return CHANGED
        with self._lock:
            result = quick[1].replay(leaves)
            if self._direct is None and quick[2] is None and quick[1].direct is not None:
                self._direct = quick[1].direct.of(quick[0])
        return result

    def _be_quick(self, latest: _Latest, with_keywords: bool) -> None:
        """Have the next calls try the program that runs now, in compiled code if that is there."""
        self._latest = latest
        self._quick = quick = None if with_keywords else _quick_way(*latest)
        direct = latest.captured.direct
        flat = quick is not None and quick[2] is None
        self._direct = direct.of(latest.settings) if flat and direct is not None else None

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that the quick way does not take."""
        if self._given_up or runs_uncompiled():
            return self._function(*args, **kwargs)
        settings = global_settings()
        latest = self._latest
        leaves, structure = flatten((args, kwargs))
        if is_transformed(leaves):
            return self._function(*args, **kwargs)
        if sparse.are_among(leaves):
            self._reason = "a sparse tensor among the arguments"
            if self._fullgraph:
                _raise(self._reason)
            return self._function(*args, **kwargs)
        if latest is not None and settings == latest.settings and structure == latest.structure:
            result = self._replay(latest.captured, leaves)
            if result is not CHANGED:
                return result
        result = self._run_or_capture(settings, structure, leaves, args, kwargs)
        return self._function(*args, **kwargs) if result is CHANGED else result

    @property
    def reason(self) -> str:
        """Why the last call that could not be captured could not."""
        if JIT_DISABLED:
            return "NUMBAGRAD_DISABLE_JIT is set"
        return self._reason if NATIVE else "compiled launchers are off (NUMBAGRAD_NATIVE)"

    @property
    def _name(self) -> str:
        return getattr(self._function, "__qualname__", type(self._function).__name__)

    def _replay(self, captured: CapturedCall, leaves: list[Any]) -> Any:
        with self._lock:
            return captured.replay(tuple(leaves))

    def _run_or_capture(
        self,
        settings: Any,
        structure: Any,
        leaves: list[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Run a program that holds, or capture one; CHANGED if the function has to be called."""
        key = (structure, settings, *_signatures(leaves))
        with self._lock:
            result = self._run_known(key, settings, structure, leaves, bool(kwargs))
            if result is not CHANGED:
                return result
            if not self._may_capture(key, leaves):
                return CHANGED
            if self._awaits(key):
                return self._call_meanwhile(args, kwargs)
            return self._capture_call(key, structure, leaves, args, kwargs)

    def _run_known(
        self, key: Any, settings: Any, structure: Any, leaves: list[Any], with_keywords: bool
    ) -> Any:
        """Run a program that holds; CHANGED if there is none."""
        for captured in self._programs.get(key, ()):
            result = captured.replay(tuple(leaves))  # it may be one that ran before the latest
            if result is CHANGED and captured.holds(leaves):
                result = captured.run(leaves)
            if result is not CHANGED:
                self._be_quick(_Latest(settings, captured, structure), with_keywords)
                return result
        return CHANGED

    def _capture_call(
        self,
        key: Any,
        structure: Any,
        leaves: list[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        inputs, earlier = self._numbers_of(key, leaves, args, kwargs)
        call_capture = CallCapture(
            self._function, leaves, args, kwargs, structure, inputs, earlier,
            self._is_piece, self._states,
        )  # fmt: skip
        try:
            return self._record(key, call_capture)
        finally:
            if self._given_up:
                self._quick = self._direct = None

    def _may_capture(self, key: Any, leaves: list[Any]) -> bool:
        """Whether another program would be worth its memory."""
        known = self._programs.get(key)
        if known is None:
            return len(self._programs) < MANY_SIGNATURES and self._returns(key)
        same = [each for each in known if each.numbers.hold(leaves)]
        return len(same) < PATIENCE and len(known) < MANY_SIGNATURES

    def _returns(self, key: Any) -> bool:
        """Whether a new signature came before, or need not have, as few differ from it in sizes."""
        if self._forms[_form_of(key)] < SIZES_AT_ONCE:
            return True
        if key in self._seen:
            self._seen.remove(key)
            return True
        if len(self._seen) == _MOST_SEEN:
            self._seen.clear()
        self._seen.add(key)
        if len(self._seen) == MANY_SIGNATURES and not self._said_seen:
            self._said_seen = True
            warn(
                f"compile: {self._name} was called with {MANY_SIGNATURES} sizes that came once. "
                "Such calls run uncompiled; inputs of a few sizes, padded if need be, are compiled."
            )
        return False

    def _awaits(self, key: Any) -> bool:
        """Whether kernels of the next program are still being compiled by other processes."""
        keys = self._awaited.get(key)
        if keys is None:
            return False
        if not are_there(keys):
            return True
        del self._awaited[key]
        return False

    def _call_meanwhile(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call that no program is made of.

        It runs as captured calls do, whose kernels are there: composite operators have others.
        """
        trace = Trace()
        try:
            with trace.capturing():
                return self._function(*args, **kwargs)
        finally:
            trace.let_go()

    def _numbers_of(
        self, key: Any, leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[NumberInputs, CapturedCall | None]:
        """The numbers that have changed, and the latest program that holds but for them.

        What never changed is taken for a constant; what was looked at once is not tried again.
        """
        for earlier in reversed(self._programs.get(key, [])):
            if earlier.holds_but_for_numbers(leaves):
                numbers = direct_numbers(args, kwargs)
                changed = earlier.numbers.changed(leaves) - self._looked_at.get(key, set())
                return NumberInputs({k: x for k, x in numbers.items() if k in changed}), earlier
        return NumberInputs({}), None

    def _record(self, key: Any, call_capture: CallCapture) -> Any:
        """Call the function, and keep its program if it has one."""
        if self._fullgraph:
            call_capture.trace.when_failed = _raise
        elif self._useless >= SETTLED:
            call_capture.code = self._code()
        walks = grad_mode.recorded_walks
        result, captured, reason = call_capture.run()
        self._records_walks |= grad_mode.recorded_walks != walks
        if captured is not None and not self._pays(captured):
            self._given_up, self._reason = True, "too few operators to be worth a program"
            return result
        if captured is not None:
            if key not in self._programs:
                self._forms[_form_of(key)] += 1
            programs = self._programs.setdefault(key, [])
            programs.append(captured)
            self._looked_at.setdefault(key, set()).update(captured.numbers.inputs.pinned)
            same = [each for each in programs if each.numbers.hold(call_capture.leaves)]
            if MANY_SIGNATURES in (len(self._programs), len(programs)) or len(same) == PATIENCE:
                changing = call_capture.difference(programs, [*self._programs])
                warn(
                    f"compile: {self._name} was compiled for {len(self._programs)} signatures, "
                    f"{len(programs)} times for this one; what changes is: {changing}. No more of "
                    "these are compiled."
                )
            return result
        self._reason = reason
        if call_capture.awaits:
            self._awaited[key] = call_capture.awaits
            return result
        self._useless += 1
        if self._fullgraph and not (call_capture.may_settle and self._useless < PATIENCE):
            _raise(reason)
        if call_capture.changed_at:
            (_, line), *_ = call_capture.changed_at
            self._stop_capture(f"{reason}, at line {line}", call_capture.changed_at)
        elif not call_capture.may_settle or self._useless >= PATIENCE:
            self._stop_capture(reason, call_capture.trace.failed_at)
        elif self._useless == SETTLED and not self._fullgraph:
            self._cut_at_changes(reason)
        return result

    def _pays(self, captured: CapturedCall) -> bool:
        """Whether a program is worth being called."""
        return True

    def _code(self) -> types.CodeType | None:
        """The code of the function, if it is written in Python."""
        return getattr(self._function, "__code__", None)

    def _cut_at_changes(self, reason: str) -> None:
        """Run in pieces around the statements that write state of Python, if there are any."""
        raise NotImplementedError

    def _stop_capture(self, reason: str, frames: Frames) -> None:
        """Run in pieces around the line where a capture ended, or uncompiled."""
        raise NotImplementedError

    def call_and_find(self, *args: Any, **kwargs: Any) -> tuple[Any, CapturedCall | None]:
        """The result of a call, and the program that it ran, or that was captured from it."""
        leaves, structure = flatten((args, kwargs))
        key = (structure, global_settings(), *_signatures(leaves))
        with self._lock:
            known = list(self._programs.get(key, ()))
            found = next((each for each in known if each.holds(leaves)), None)
            result = self(*args, **kwargs)
            new = [each for each in self._programs.get(key, ()) if each not in known]
        return result, found or next(iter(new), None)


def _raise(reason: str) -> None:
    raise CompileError(f"compile(fullgraph=True): {reason} cannot be part of a program")


def _signatures(leaves: list[Any]) -> list[Any]:
    """The signature of the arguments; one tensor given twice is not two tensors."""
    tensors = [id(leaf) for leaf in leaves if is_a(leaf, Tensor)]
    found = [_signature(leaf) for leaf in leaves]
    if len(set(tensors)) < len(tensors):
        found.append(tuple([tensors.index(each) for each in tensors]))
    return found


def _form_of(key: Any) -> tuple[Any, ...]:
    """The parts of a key, without the sizes of tensors."""
    return tuple(
        [
            (len(part.shape), *part[2:]) if isinstance(part, _TensorSignature) else part
            for part in key
        ]
    )


#: Types of which equal values are the same.
_EQUAL = frozenset(map(id, (bool, int, str, bytes, dtype, device)))


class Identity:
    """An object in a key, told from all others: its address is taken while the key is there."""

    __slots__ = ("_value",)

    def __init__(self, value: Any):
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


class _TensorSignature(NamedTuple):
    """The properties of a tensor that a program holds for."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kind: type
    dtype: Any
    requires_grad: bool
    is_leaf: bool
    is_inference: bool
    extras: tuple[Identity, ...]


def _signature(leaf: Any) -> Any:
    """The signature of an argument."""
    if is_a(leaf, Tensor):
        array = leaf._array
        extras = extras_of(leaf)
        return _TensorSignature(
            array.shape, array.strides, type(leaf), array.dtype, leaf._requires_grad,
            leaf._producer is None, leaf.is_inference(), tuple(map(Identity, extras)),
        )  # fmt: skip
    if is_free(leaf):
        return type(leaf)
    value = _value_of(leaf)
    return Identity(leaf) if value is None else (type(leaf), value)


def _value_of(leaf: Any) -> Any:
    """A key that two arguments of one type share if they are equal; None for other objects.

    Subclasses of these types may have attributes, and are told by their identity.
    """
    kind = type(leaf)
    if id(kind) in _EQUAL:
        return leaf
    if kind is complex:  # 0.0 and -0.0 are equal, but not the same; NaN is not equal to itself
        return repr(leaf)
    if kind is slice:
        parts = leaf.start, leaf.stop, leaf.step
        return parts if all([each is None or type(each) is int for each in parts]) else None
    if kind is range:
        return leaf.start, leaf.stop, leaf.step
    if is_a(leaf, np.generic) and not is_a(leaf, (np.void, np.object_)):
        return leaf.dtype.str, leaf.tobytes()
    return (leaf,) if leaf is None else None


__all__ = ["CapturedFunction", "CompileError"]
