"""Imports of this package that an interrupt ends, for test_interrupts.py, in their own processes.

``package LINE`` ends the import of the package at the given one of the lines that it runs, and
``files`` the imports of the files that wait until a program asks for what they define, at the last
line of each.
"""

import ast
import importlib
import importlib.util
import pathlib
import sys


def interrupted(module, at):
    """Import a module; the line for which ``at`` holds is not reached. Whether there was one."""

    def trace(frame, event, argument):
        if not frame.f_globals.get("__name__", "").startswith("numbagrad"):
            return None
        if event == "line" and at(frame):
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        importlib.import_module(module)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def package(line):
    lines = iter(range(line))
    assert interrupted("numbagrad", lambda frame: next(lines, None) is None)
    import numbagrad

    x = numbagrad.ones(3, 4, requires_grad=True)
    (numbagrad.nn.Linear(4, 2)(x).relu().exp() @ numbagrad.ones(2, 2)).sum().backward()
    assert x.grad.shape == (3, 4)


def last_line(home):
    """A predicate of frames: whether one is at the last statement of a file."""
    last = ast.parse(pathlib.Path(importlib.util.find_spec(home).origin).read_text()).body[-1]
    line = min([last.lineno, *(x.lineno for x in getattr(last, "decorator_list", ()))])
    return lambda frame: frame.f_globals["__name__"] == home and frame.f_lineno >= line


def files():
    for home in dict.fromkeys([*on_demand.FUNCTIONS, *on_demand.METHODS]):
        if home not in sys.modules:  # else another one of them imported it
            assert interrupted(home, last_line(home))
        module = importlib.import_module(home)
        assert all(hasattr(module, name) for name in on_demand.FUNCTIONS.get(home, "").split())
        for name in on_demand.METHODS.get(home, "").split():
            assert getattr(Tensor, name).__module__ != on_demand.__name__, name


if __name__ == "__main__":
    if sys.argv[1] == "package":
        package(int(sys.argv[2]))
    else:
        from numbagrad import Tensor
        from numbagrad.ops.methods import on_demand

        files()
