"""Programs written for torch, run as they are: ``python -m numbagrad script.py``.

``install_as_torch`` gives the package torch's name (``torch_alias.py`` finds its modules under it);
``main`` does so and then runs a script, a module or a command, as Python itself would.
"""

from __future__ import annotations

import os
import runpy
import sys
from types import ModuleType, TracebackType
from typing import Any

from . import torch_alias
from .torch_alias import is_torch
from .torch_homes import forget_homes, show_homes

__all__ = ["install_as_torch", "load_ipython_extension", "main", "uninstall_as_torch",
           "unload_ipython_extension"]  # fmt: skip

_USAGE = """usage: python -m numbagrad [-c command | -m module | script] [arguments]
       python -m numbagrad warm [script] [arguments]

Runs a program in which `import torch` finds numbagrad, or compiles kernels ahead of their use."""

#: How often the name was installed and not taken away again.
_depth = 0


class _Installed:
    """The result of ``install_as_torch``: leaving it as a context takes the name away again."""

    def __enter__(self) -> ModuleType:
        return _package()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        uninstall_as_torch()


class _Arguments(list[str]):
    """``sys.argv`` of a program under torch's name.

    A process that starts as a new interpreter is sent them before it imports the program again,
    and takes the name with them: nothing else of what it is sent comes that early. Programs that
    put a part of them into ``sys.argv``, as launchers do, keep the class; what they store elsewhere
    is a list.
    """

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        from multiprocessing.context import get_spawning_popen  # which few programs need

        starting = get_spawning_popen() is not None
        return _taken_over if starting else list, (list(self),)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return _Arguments(found) if isinstance(index, slice) else found

    def copy(self) -> _Arguments:
        """The same arguments."""
        return self[:]

    def __add__(self, more: Any) -> Any:
        return _Arguments(super().__add__(more))

    def __radd__(self, first: list[str]) -> Any:
        return _Arguments([*first, *self])


def _taken_over(arguments: list[str]) -> list[str]:
    """Arguments that arrived in a process whose parent runs under torch's name."""
    if "torch" not in sys.modules:
        install_as_torch()
    return _Arguments(arguments)


def _package() -> ModuleType:
    return sys.modules[__package__ or "numbagrad"]


def install_as_torch() -> _Installed:
    """Let ``import torch``, and imports of ``torch.nn`` and all other paths, find this package.

    The modules are those of the package, under a second name: ``torch.nn is numbagrad.nn``.
    ``torch.__version__`` and ``importlib.metadata.version("torch")`` say which torch that stands
    for. As a context (``with numbagrad.install_as_torch():``) the name is taken away at the end;
    what was imported by then stays what it is.

    Raises:
        ImportError: if another torch has been imported in this process.
    """
    global _depth
    other = sys.modules.get("torch")
    if other is not None and not is_torch():
        raise ImportError(
            "numbagrad cannot take the name 'torch': another module of that name has been imported "
            f"already, from {getattr(other, '__file__', None)!r}. Call install_as_torch() before "
            "anything imports torch, or run the program as `python -m numbagrad script.py`",
            name="torch",
        )
    torch_alias.register()
    sys.modules["torch"] = package = _package()
    package.__name__ = "torch"  # which libraries compare with the head of a dotted path
    show_homes()
    _depth += 1
    sys.argv = _Arguments(getattr(sys, "argv", []))
    return _Installed()


def uninstall_as_torch() -> None:
    """Take torch's name away again, once for each ``install_as_torch``; nothing if it has none."""
    global _depth
    _depth = max(_depth - 1, 0)
    if _depth or not is_torch():
        return
    _package().__name__ = _package().__package__ or "numbagrad"
    forget_homes()
    sys.argv = list(sys.argv)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("torch", "functorch")]:
        del sys.modules[name]


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext numbagrad``: from here on ``import torch`` finds this package."""
    install_as_torch()


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext numbagrad``: takes torch's name away again."""
    uninstall_as_torch()


def main(arguments: list[str]) -> int | None:
    """Run what the command line names, with torch's name installed.

    Args:
        arguments: as behind ``python -m numbagrad``: ``script.py ...``, ``-m module ...`` or
            ``-c command ...``; or ``warm ...`` (see ``warming.py``).
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE)
        return 0 if arguments else 2
    first, rest = arguments[0], arguments[1:]
    if first in ("-m", "-c") and not rest:
        print(f"Argument expected for the {first} option", file=sys.stderr)
        return 2
    if first.startswith("-") and first not in ("-m", "-c"):
        print(f"unknown option {first}\n{_USAGE}", file=sys.stderr)
        return 2
    if first == "warm":
        from . import warming  # which only this command needs

        return warming.main(rest)
    install_as_torch()
    # Python has put the current folder in front of the path, as it does for -m.
    if first == "-m":
        sys.argv = _Arguments(rest)
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = _Arguments(["-c", *rest[1:]])
        sys.path[0] = ""
        sys.modules["__main__"] = program = ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), program.__dict__)
    else:
        sys.argv = _Arguments([first, *rest])
        if os.path.isfile(first):
            sys.path[0] = os.path.dirname(os.path.realpath(first))
        runpy.run_path(first, run_name="__main__")
    return None
