"""Writes the stubs that tell type checkers what ``numbagrad/ops`` makes at import.

Run ``python tools/write_stubs.py`` after adding a public function or a method; a test compares the
files with what this module would write. The methods that ``ops`` installs on Tensor go to
``tensor_methods.pyi``, a base class of Tensor for type checkers only; the functions derived from
the pointwise definitions go to ``ops/pointwise/derived_functions.pyi``.
"""

from __future__ import annotations

import functools
import inspect
import pathlib
import re
import sys
from collections.abc import Callable
from typing import Any

import numbagrad
from numbagrad.ops.methods import on_demand
from numbagrad.ops.pointwise import functions

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from namespace_stubs import namespace_stub, namespaces, stub_path  # noqa: E402

PACKAGE = pathlib.Path(numbagrad.__file__).parent

#: Builtins that methods of Tensor hide within the class.
_BUILTINS = re.compile(r"\b(?<!\.)(bool|float|int|list|str|tuple|type|dict|object)\b")
_NAMES = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*")
_KNOWN = {
    "Any", "Callable", "DType", "Generator", "Ints", "None", "Number", "Real", "Sequence", "Tensor",
    "bool",
    "dict", "float", "int", "list", "object", "str", "tuple",
}  # fmt: skip
#: Methods whose types Python itself prescribes otherwise.
_IGNORED = {"__eq__": "override", "__ne__": "override"}


def _annotation(annotation: Any, default: str) -> str:
    """The text of an annotation; Any where it names what the stub does not import."""
    if annotation is inspect.Signature.empty:
        return default
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "Any")
    if not set(_NAMES.findall(text)) <= _KNOWN:
        return default
    return _BUILTINS.sub(r"builtins.\1", text)


def _definition(name: str, function: Callable[..., Any], is_method: bool) -> str:
    """The line that declares a function."""
    signature = inspect.signature(function)
    words = []
    starred = False
    for position, parameter in enumerate(signature.parameters.values()):
        if position == 0 and is_method:
            words.append("self")
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            starred = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
        text = f"{stars.get(parameter.kind, '')}{parameter.name}"
        text += f": {_annotation(parameter.annotation, 'Any')}"
        words.append(text if parameter.default is parameter.empty else text + " = ...")
    annotated = signature.return_annotation is not inspect.Signature.empty
    returned = _annotation(signature.return_annotation, "Any" if annotated else "Tensor")
    ignored = f"  # type: ignore[{_IGNORED[name]}]" if name in _IGNORED else ""
    return f"def {name}({', '.join(words)}) -> {returned}: ...{ignored}"


def _heading(purpose: str) -> list[str]:
    return [
        "# Written by tools/write_stubs.py; do not edit.",
        f'"""{purpose}"""',
        "",
        "import builtins",
        "from collections.abc import Callable, Sequence",
        "from typing import Any, NoReturn",
        "",
        "from numbagrad.dtype import dtype as DType",
        "from numbagrad.ops.arguments.kinds import Ints, Real",
        "from numbagrad.random import Generator",
        "from numbagrad.tensor import Tensor",
        "",
        "Number = builtins.bool | builtins.int | builtins.float",
        "",
    ]


def tensor_methods() -> str:
    """The text of ``tensor_methods.pyi``."""
    on_demand.load_all()
    lines = _heading("What ``numbagrad/ops`` installs on Tensor, for type checkers.")
    lines += ["class InstalledMethods:"]
    for name, value in sorted(vars(numbagrad.Tensor).items()):
        function = value.fget if isinstance(value, property) else value
        if not inspect.isfunction(function) or function.__module__.startswith("numbagrad.tensor"):
            continue
        if isinstance(value, property):
            lines.append("    @property")
        lines.append("    " + _definition(name, function, is_method=True))
    return "\n".join(lines) + "\n"


def derived_functions() -> str:
    """The text of ``ops/pointwise/derived_functions.pyi``."""
    lines = _heading("The functions that ``functions.py`` derives from the pointwise definitions.")
    derived = [n for n in functions.__all__ if getattr(functions, n).__module__ == "numbagrad"]
    lines += [_definition(name, getattr(functions, name), False) for name in sorted(derived)]
    return "\n".join(lines) + "\n"


def _namespace(name: str) -> str:
    """The text of the stub of a namespace."""
    return namespace_stub(name, _heading(f"The names of ``{name}``."), _definition)


STUBS = {
    PACKAGE / "tensor_methods.pyi": tensor_methods,
    PACKAGE / "ops" / "pointwise" / "derived_functions.pyi": derived_functions,
    **{stub_path(name): functools.partial(_namespace, name) for name in namespaces()},
}

if __name__ == "__main__":
    for path, text in STUBS.items():
        path.write_text(text())
