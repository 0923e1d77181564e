"""Writes ``numbagrad/ops/aten_names.py``: torch's operators and their overloads, by name.

``python tools/write_aten_names.py`` needs the torch that the package follows. A line of the table
has names as ``add:Scalar,Tensor``; overloads that write into ``out`` are left out.
"""

from __future__ import annotations

import pathlib
import textwrap

TARGET = pathlib.Path(__file__).parents[1] / "numbagrad" / "ops" / "aten_names.py"

HEAD = '''\
"""The operators of torch's dispatcher and their overloads, for ``torch.ops.aten.name.overload``.

Written by ``tools/write_aten_names.py``: ``name:overload,overload``, or ``name`` alone where the
only overload is ``default``. Overloads that write into ``out`` are left out.
"""

from __future__ import annotations

import functools

__all__ = ["overloads"]


@functools.cache
def _table() -> dict[str, frozenset[str]]:
    table = {}
    for entry in _NAMES.split():
        name, _, listed = entry.partition(":")
        table[name] = frozenset(listed.split(",") if listed else ("default",))
    return table


def overloads(name: str) -> frozenset[str]:
    """The overloads that torch has of an operator; none if it has no such operator."""
    return _table().get(name, frozenset())


'''


def names() -> dict[str, set[str]]:
    """The overloads of each operator, without those that write into ``out``."""
    import torch

    known = list(torch._C._dispatch_get_all_op_names())
    for schema in torch._C._jit_get_all_schemas():  # beside the dispatcher's, as `to.dtype_layout`
        if any("Tensor" in str(argument.type) for argument in schema.arguments):
            known.append(f"{schema.name}.{schema.overload_name}")
    found: dict[str, set[str]] = {}
    for full in known:
        space, _, rest = full.partition("::")
        name, _, overload = rest.partition(".")
        if space == "aten" and not overload.endswith("out") and not name.startswith("__"):
            found.setdefault(name, set()).add(overload or "default")
    return found


def text() -> str:
    """The file."""
    entries = [
        name if listed == {"default"} else f"{name}:{','.join(sorted(listed))}"
        for name, listed in sorted(names().items())
    ]
    lines = textwrap.wrap(
        " ".join(entries), 96, initial_indent="    ", subsequent_indent="    ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return HEAD + '_NAMES = """\n' + "\n".join(lines) + '\n"""\n'


if __name__ == "__main__":
    TARGET.write_text(text())
