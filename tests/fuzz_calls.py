"""The calls of the operator table as source text, for programs that are written down and run.

``fuzz_programs.py`` makes statements of them. An entry's call is made once with stand-ins that
write down what is done with them, so that a new row of the table is part of random programs by
itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from operator_entry import Entry
from operator_table import ENTRIES, POINTWISE_ENTRIES


def written(value: Any) -> str:
    """The source of an argument: a stand-in's text, or the literal."""
    if isinstance(value, Written):
        return value._text
    if isinstance(value, (list, tuple)):
        inside = ", ".join([written(each) for each in value])
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, slice):
        ends = ["" if x is None else written(x) for x in (value.start, value.stop)]
        return ":".join(ends) + ("" if value.step is None else f":{written(value.step)}")
    if isinstance(value, float) and value - value != 0:
        return f'float("{value}")'
    return "..." if value is Ellipsis else repr(value)


def _arguments(given: tuple[Any, ...], options: dict[str, Any]) -> str:
    return ", ".join([*map(written, given), *[f"{k}={written(v)}" for k, v in options.items()]])


def _infix(sign: str, reflected: bool = False) -> Any:
    def method(self: Written, other: Any) -> Written:
        left, right = (other, self) if reflected else (self, other)
        return self._made(f"({written(left)} {sign} {written(right)})")

    return method


class Written:
    """Stands for a module, a tensor or a result, and writes down what is done with it."""

    def __init__(self, text: str, dtype: str = "", parts: int = 0) -> None:
        self._text = text
        self._dtype = dtype
        self._parts = parts

    def _made(self, text: str) -> Written:
        return Written(text, self._dtype, self._parts)

    def __getattr__(self, name: str) -> Written:
        if name.startswith("__"):  # what Python asks for itself
            raise AttributeError(name)
        return self._made(f"{self._text}.{name}")

    def __call__(self, *given: Any, **options: Any) -> Written:
        return self._made(f"{self._text}({_arguments(given, options)})")

    def __getitem__(self, index: Any) -> Written:
        parts = ", ".join(map(written, index)) if isinstance(index, tuple) else written(index)
        return self._made(f"{self._text}[{parts}]")

    def __str__(self) -> str:
        return self._dtype

    def __abs__(self) -> Written:
        return self._made(f"abs({self._text})")

    def __neg__(self) -> Written:
        return self._made(f"(-{self._text})")

    def __invert__(self) -> Written:
        return self._made(f"(~{self._text})")

    def __iter__(self) -> Any:
        return iter([self[k] for k in range(self._parts)])

    __add__, __radd__ = _infix("+"), _infix("+", True)
    __sub__, __rsub__ = _infix("-"), _infix("-", True)
    __mul__, __rmul__ = _infix("*"), _infix("*", True)
    __truediv__, __rtruediv__ = _infix("/"), _infix("/", True)
    __floordiv__, __rfloordiv__ = _infix("//"), _infix("//", True)
    __mod__, __rmod__ = _infix("%"), _infix("%", True)
    __pow__, __rpow__ = _infix("**"), _infix("**", True)
    __matmul__, __rmatmul__ = _infix("@"), _infix("@", True)
    __and__, __or__, __xor__ = _infix("&"), _infix("|"), _infix("^")
    __lshift__, __rshift__ = _infix("<<"), _infix(">>")
    __lt__, __le__, __gt__, __ge__ = _infix("<"), _infix("<="), _infix(">"), _infix(">=")


@dataclass(frozen=True)
class Call:
    """A call of the table: its texts for floats and for integers, with ``{0}``, ... for tensors."""

    entry: Entry
    float_text: str
    whole_text: str

    @property
    def name(self) -> str:
        """The public function's name, if the call is ``t.<name>({0}, ...)``, else an empty one."""
        found = re.match(r"t\.(\w+)\(\{0\}[,)]", self.float_text)
        return found[1] if found else ""

    def as_method(self, whole: bool, suffix: str = "") -> str:
        """The call as one of a method of the first tensor; ``suffix`` "_" is the one in place."""
        text = self.whole_text if whole else self.float_text
        return re.sub(r"t\.(\w+)\(\{0\}(?:, )?", rf"{{0}}.\1{suffix}(", text, count=1)


#: Operators whose rows call what has no public name here, or that are called where torch is exact.
OTHER_TEXTS = {
    "i0": "t.i0({0}.clamp(-20, 20))",  # torch: NaN at infinity
    "elu": "t.nn.functional.elu({0}, 1.25)",
    "kl_div": "t.nn.functional.kl_div({0}, {1}.abs() + 0.25, reduction='none')",
}


#: Operators whose gradients are other ones in torch, and why.
NOT_COMPARED = {
    "ormqr": "torch's gradient of the gradient takes no account of hooks of the result",
    "hardsigmoid": "torch has the sixth as a float32",
    **dict.fromkeys(
        ("polygamma", "polygamma_1", "polygamma_2", "digamma", "lgamma"),
        "series of more terms than torch's",
    ),
    **dict.fromkeys(
        [
            f"special_{name}"
            for name in (
                "airy_ai",
                "bessel_j0",
                "bessel_j1",
                "bessel_y0",
                "bessel_y1",
                "modified_bessel_i0",
                "modified_bessel_i1",
                "modified_bessel_k0",
                "modified_bessel_k1",
                "scaled_modified_bessel_k0",
                "scaled_modified_bessel_k1",
                "spherical_bessel_j0",
            )
        ],
        "torch's results are detached, where a backward here says that there is no gradient",
    ),
    "gradient": "torch does not ask whether there are as many places as elements",
    "matrix_exp": "of large matrices another series, with other rounding errors",
    "logcumsumexp": "torch's gradients of gradients take logarithms of negative numbers",
}


#: Modules of rows whose results torch lays out in an order of its own, which views show.
OTHER_ORDER = ("operators_decompositions", "operators_fourier")


def _text(entry: Entry, dtype: str) -> str:
    if entry.name in OTHER_TEXTS:
        return OTHER_TEXTS[entry.name]
    for parts in (2, 3, 4):
        tensors = [Written(f"{{{k}}}", f"torch.{dtype}", parts) for k in range(len(entry.inputs))]
        try:
            text = written(entry.call(Written("t", parts=parts), *tensors))
            other_order = entry.call.__module__ in OTHER_ORDER and not text.startswith("(")
            return f"{text}.contiguous()" if other_order else text
        except (TypeError, ValueError) as error:
            if not re.search("to unpack|positional argument", str(error)):
                raise
    raise ValueError(f"{entry.name} takes a result of more than four parts apart")


#: Every call of the table, in its order.
CALLS = [
    Call(x, _text(x, "float32"), _text(x, "int64"))
    for x in POINTWISE_ENTRIES + ENTRIES
    if x.covers[0] not in NOT_COMPARED
]
