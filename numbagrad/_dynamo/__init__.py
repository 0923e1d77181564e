"""``torch._dynamo``: the front end of torch's compiler, as far as programs configure it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..absent import lacking
from ..compiler import allow_in_graph, disable, is_compiling, list_backends, reset
from ..compiling import compile
from ..compiling.module import OptimizedModule
from . import eval_frame

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "numbagrad.explain shows what a compiled function runs",
    """explain export register_backend lookup_backend optimize_assert replay run""",
    {"exc": ".exc", "utils": ".utils"},
)

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable",
    "disallow_in_graph", "eval_frame", "forbid_in_graph", "graph_break", "is_compiling",
    "list_backends", "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic",
    "nonstrict_trace", "optimize", "reset",
]  # fmt: skip


#: A setting that was not made.
_NOT_SET = object()


class _Config:
    """Settings that programs make; they are kept, and change nothing."""

    suppress_errors = False
    verbose = False
    cache_size_limit = recompile_limit = 8
    accumulated_cache_size_limit = accumulated_recompile_limit = 256
    assume_static_by_default = True
    automatic_dynamic_shapes = True
    capture_scalar_outputs = False
    optimize_ddp = True

    @contextlib.contextmanager
    def patch(self, changes: Any = None, /, **more: Any) -> Iterator[None]:
        """Other settings in a block, or in a function: by a dictionary, or by name."""
        given = {**(changes or {}), **more}
        before = {name: getattr(self, name, _NOT_SET) for name in given}
        for name, value in given.items():
            setattr(self, name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is _NOT_SET:
                    delattr(self, name)
                else:
                    setattr(self, name, value)


config = _Config()


def optimize(backend: Any = "numbagrad", **options: Any) -> Any:
    """A decorator: ``compile`` under its old name."""
    return lambda fn: compile(fn, backend=backend)


def mark_dynamic(t: Any, index: Any = None, **options: Any) -> None:
    """Accepted for torch's sake: programs are recorded by shape."""


mark_static = mark_static_address = maybe_mark_dynamic = mark_dynamic


def graph_break(msg: str = "") -> None:
    """Nothing: what no program can hold breaks it by itself."""


def disallow_in_graph(fn: Any) -> Any:
    """The function, which is not compiled."""
    return disable(fn)


forbid_in_graph = disallow_in_graph


def assume_constant_result(fn: Any) -> Any:
    """The function itself, whose results are looked at in every call."""
    return fn


nonstrict_trace = assume_constant_result
