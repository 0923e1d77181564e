"""The reachable state of a call: tensors it may use, and Python values it may branch on.

A program is valid as long as all of that is what it was while the call was captured. Found by
walking (``walk.py``) from the function, and from every function of an installed package that runs
in the call; checked before every run by comparing identities. What cannot be watched refuses the
capture if code that ran names it. Called by ``call_capture.py``; the argument why nothing is left
out is in ``docs/design.md``.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from ..native.frames import functions_of, is_told
from ..nn.module_hooks import EVERY_MODULE
from ..optim.optimizer import Optimizer
from ..program.compiled_guards import Guards
from ..random import Generator, default_generator
from ..tensor import Tensor
from .classes import is_a
from .code_names import line_with, names_of
from .guarded_parts import extras_of
from .walk import ALWAYS, Walk
from .watched import Assigned, Watched, form_of


class ReachableState(Walk):
    """Everything that a function and its arguments can reach.

    Args:
        roots: what to begin with, under the names that messages have for it.
        arguments: the leaves of the arguments.
        idle: optimizers whose state is not looked at.
        ran: functions of installed packages that calls before were found to run.

    Attributes:
        executed: the code that ran, if a capture reports it.
        found_late: functions of packages that ran, and were not known to before the call.
        shared: code of such functions, of which others may run as well.
    """

    def __init__(
        self,
        roots: dict[str, Any],
        arguments: Sequence[Any] = (),
        idle: Collection[Optimizer] = (),
        ran: Iterable[types.FunctionType] = (),
    ):
        super().__init__(arguments, idle)
        self.executed: set[types.CodeType] = set()
        self.found_late: list[types.FunctionType] = []
        self.shared: set[types.CodeType] = set()
        self._tensors_found_late = False
        #: A native check that is True only if everything is what it was.
        self.unchanged: Callable[[], Any] = _unknown
        self._guards: Guards | None = None
        self._rest: list[Watched] = []
        self._pending += [(path, value, ALWAYS) for path, value in roots.items()]
        if EVERY_MODULE.any:
            self._pending.append(("the hooks of every module", EVERY_MODULE, ALWAYS))
        self._follow("an argument", [x for x in arguments if not is_a(x, Tensor)])
        self._walk()
        for function in ran:
            self._run(function)
        self._walk()
        self._methods_of_tensors()
        #: Ids of the tensors that the function knows, whatever its arguments are.
        self.known = {id(tensor) for tensor in self.tensors}
        self._at_arguments = True
        self._follow("an argument", arguments)
        self._walk()

    @property
    def generators(self) -> list[Generator]:
        """The generators of random numbers among it, the default one included."""
        found = [each for each in self.reached.values() if is_a(each, Generator)]
        return list({id(each): each for each in (default_generator(), *found)}.values())

    @property
    def optimizers(self) -> list[Optimizer]:
        """The optimizers among it."""
        return [each for each in self.reached.values() if is_a(each, Optimizer)]

    # --- whether it is what it was ----------------------------------------------------------------

    def hold(self) -> bool:
        """Whether everything is what it was: natively if no number was replaced by an equal one."""
        guards = self._guards
        if guards is not None and guards.unchanged():
            if all([watched.holds() for watched in self._rest]):
                return True
        if self.changed() is not None:
            return False
        # Equal values: from now on these very objects are looked for.
        self._guards = Guards(
            [(w.container, w.expected()) for w in self.watched if w.container is not None]
        )
        self._rest = [w for w in self.watched if w.container is None or w.moves]
        self.unchanged = _unknown if self._rest else self._guards.unchanged
        return True

    @property
    def guards(self) -> Guards | None:
        """The native check of everything; None while some of it is left to Python."""
        return None if self._rest else self._guards

    def changed(self) -> str | None:
        """Which container is not what it was, or None."""
        for watched in self.watched:
            if not watched.holds():
                return watched.what
        return None

    def assigned(self) -> list[Assigned]:
        """The entries of dictionaries where a call put tensors in the place of others.

        From now on any tensors of the new form may be there.
        """
        found = []
        for dictionary, watched in self._dictionaries.values():
            watched.forms, watched.moves = {}, False  # of a look while the call was under way
            before, now = watched.values, watched.read()
            if len(now) != len(before) or all([a is b for a, b in zip(now, before, strict=True)]):
                continue
            for position, (old, new) in enumerate(zip(before, now, strict=True)):
                form = form_of(new)
                if old is new or form is None or not form_of(old) or id(new) in self.reached:
                    continue
                watched.forms[position], watched.moves = form, True
                key = now[position - len(dictionary)]
                found.append(Assigned(dictionary, key, old, new, watched, position))
        return found

    def ignore(
        self,
        dictionary: dict[Any, Any],
        key: Any,
        positive: bool,
        read: dict[int, set[Any]],
    ) -> None:
        """Let an option of an optimizer be anything, or anything ``positive``: runs read it anew.

        Not so if code of users reads the option as well, as a number that the program then holds.
        ``read`` says who does for groups that an optimizer made; of one that a user made nothing
        is known where the user's code has it, or asks the optimizer for it.
        """
        found = self._dictionaries.get(id(dictionary))
        if found is None:
            return
        if id(dictionary) in read:
            is_read = key in read[id(dictionary)]
        else:
            is_read = id(dictionary) in self._exposed or any(
                [names_of(code).mentions(way) for code in self.executed for way in _WAYS_TO_GROUPS]
            )
        positions = found[1].positive if positive else found[1].ignored
        position = len(dictionary) + list(dictionary).index(key)
        if is_read:
            positions.discard(position)
        else:
            positions.add(position)

    @property
    def always_refused(self) -> str | None:
        """An unwatchable object that every call reads; None if there is none."""
        return next((each.what for each in self._refusals if each.name == ALWAYS), None)

    def refused_by(self, code: types.CodeType) -> tuple[str, int] | None:
        """An unwatchable object that code names, and the line that does."""
        names = names_of(code)
        for part in _PARTS_OF_FUNCTIONS:
            if names.mentions(part):
                return f"the {part} of a function, which nobody watches", line_with(code, part)
        for name, what, as_value in self._refusals:
            if name != ALWAYS and (name in names.values if as_value else names.mentions(name)):
                return what, line_with(code, name)
        if self._any_name and self._refusals:
            return self._refusals[0].what, code.co_firstlineno
        return None

    # --- what runs --------------------------------------------------------------------------------

    def entered(self, frame: types.FrameType) -> None:
        """Note that code runs; what it names of its globals is watched from now on."""
        code = frame.f_code
        self.executed.add(code)
        if code in self._walked:
            return
        found = self._functions.get(code)
        if found is None and (code.co_freevars or code.co_argcount or code.co_kwonlyargcount):
            found = functions_of(frame)
            if is_told():  # else all of them were found
                self.shared.add(code)
        if found:
            self._found_late(found)
        else:
            self._found_late([], frame)

    def entered_again(self, frame: types.FrameType) -> None:
        """Note that ``shared`` code runs, perhaps as a function that was not seen yet."""
        new = [x for x in functions_of(frame) if id(x) not in self.reached]
        if new:
            self._found_late(new)

    def _found_late(
        self, functions: list[types.FunctionType], frame: types.FrameType | None = None
    ) -> None:
        before = len(self.tensors)
        self.found_late += functions
        for function in functions:
            self._run(function)
        if frame is not None:
            self._globals(frame.f_globals, frame.f_code)
        self._walk()
        if len(self.tensors) > before:
            self._tensors_found_late = True

    @property
    def is_complete(self) -> bool:
        """Whether all tensors were known before the call."""
        return not self._tensors_found_late


#: Dictionaries of functions in which anything may be read by keys.
_PARTS_OF_FUNCTIONS = ("__globals__", "__annotations__")

#: How code gets at the options of an optimizer.
_WAYS_TO_GROUPS = frozenset((
    "param_groups", "state_dict", "defaults", "__dict__", "__getstate__", "vars", "deepcopy",
))  # fmt: skip


def _unknown() -> None:
    """In the place of a native check while there is none."""


__all__ = ["ReachableState", "extras_of"]
