"""Instructions of CPUs with AVX-512 that LLVM does not make of loops: estimates, and ldexp.

``reciprocal_estimate`` and ``rsqrt_estimate`` give 1 / x and 1 / sqrt(x) of float32 to 14 bits;
kernels that refine them (``vector_math/refinement.py``) divide without the divider, which does one
vector in ten cycles. ``multiply_by_power`` gives x * 2**n for a whole n in the dtype of x, rounded
once: zero, a subnormal number or infinity where these are right.

LLVM makes vectors of a call to an unknown function only where the function says what its variants
for whole vectors are called; so a kernel calls functions that ``declared`` adds to its module, and
``defined`` gives them bodies, of one instruction, when its loops have become vectors. Called by
``compiler.py``; generated kernels use the primitives. In Python the estimates are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types

from .primitive import primitive

__all__ = ["multiply_by_power", "reciprocal_estimate", "rsqrt_estimate"]

#: LLVM's name of a dtype, the letter for it in names of instructions, the lanes of 128 bits.
_ELEMENTS = {types.float32: ("float", "s", 4), types.float64: ("double", "d", 2)}
#: The registers that there are variants for, in multiples of 128 bits.
_WIDTHS = (1, 2, 4)


@dataclass(frozen=True)
class _Function:
    """A function of one dtype, and the instruction that it is."""

    name: str
    dtype: types.Float
    instruction: str  # as LLVM's intrinsics have it: before and after the letter of the dtype
    operands: int
    rounds: bool = False  # whether the widest variant takes how to round

    @property
    def symbol(self) -> str:
        """The name of the function on single numbers."""
        return f"numbagrad_{self.name}_{self.element}"

    @property
    def element(self) -> str:
        """The dtype, as LLVM spells it."""
        return _ELEMENTS[self.dtype][0]

    def vector(self, width: int) -> str:
        """The type of vectors of 128 bits times the width."""
        return f"<{self.lanes(width)} x {self.element}>"

    def lanes(self, width: int) -> int:
        """How many numbers such vectors hold."""
        return _ELEMENTS[self.dtype][2] * width

    def declarations(self, number: int) -> list[str]:
        """The function without a body, and what says that it stands for the ones on vectors."""
        pattern = "v" * self.operands
        variants = [
            f"_ZGV_LLVM_N{n}{pattern}_{self.symbol}({self.symbol}_{n})"
            for n in map(self.lanes, _WIDTHS)
        ]
        lines = [
            self._signature("declare", self.element, self.symbol, "") + f" #{number}",
            f"attributes #{number} = {{ nounwind willreturn memory(none) "
            f'"vector-function-abi-variant"="{",".join(variants)}" }}',
        ]
        for width in _WIDTHS:
            name = f"{self.symbol}_{self.lanes(width)}"
            lines.append(self._signature("declare", self.vector(width), name, ""))
        return lines

    def _signature(self, word: str, type_: str, name: str, parameter: str) -> str:
        given = [type_ + (f" %{parameter}{k}" if parameter else "") for k in range(self.operands)]
        return f"{word} {type_} @{name}({', '.join(given)})"

    def definitions(self) -> list[str]:
        """The same functions with bodies."""
        lines = []
        letter = _ELEMENTS[self.dtype][1]
        for width in _WIDTHS:
            n, vector = self.lanes(width), self.vector(width)
            mask = "i16" if n == 16 else "i8"
            called = f"@llvm.x86.avx512.{self.instruction}.p{letter}.{128 * width}"
            operands = [(vector, f"%x{k}") for k in range(self.operands)]
            operands += [(vector, "zeroinitializer"), (mask, "-1")]
            if self.rounds and width == 4:
                operands.append(("i32", "4"))  # as the CPU is set to round
            types_ = ", ".join(type_ for type_, _ in operands)
            given = ", ".join(f"{type_} {value}" for type_, value in operands)
            lines += [
                f"declare {vector} {called}({types_})",
                self._signature("define", vector, f"{self.symbol}_{n}", "x") + " alwaysinline {",
                f"  %y = call {vector} {called}({given})",
                f"  ret {vector} %y",
                "}",
            ]
        vector, lanes = self.vector(1), self.lanes(1)
        lines.append(self._signature("define", self.element, self.symbol, "x") + " alwaysinline {")
        for k in range(self.operands):
            lines.append(
                f"  %v{k} = insertelement {vector} zeroinitializer, {self.element} %x{k}, i32 0"
            )
        given = ", ".join(f"{vector} %v{k}" for k in range(self.operands))
        return [
            *lines,
            f"  %y = call {vector} @{self.symbol}_{lanes}({given})",
            f"  %r = extractelement {vector} %y, i32 0",
            f"  ret {self.element} %r",
            "}",
        ]


_FUNCTIONS = {
    (function.name, function.dtype): function
    for function in (
        _Function("reciprocal_estimate", types.float32, "rcp14", 1),
        _Function("rsqrt_estimate", types.float32, "rsqrt14", 1),
        _Function("multiply_by_power", types.float32, "mask.scalef", 2, rounds=True),
        _Function("multiply_by_power", types.float64, "mask.scalef", 2, rounds=True),
    )
}
_SYMBOLS = frozenset(function.symbol for function in _FUNCTIONS.values())


def _called(name, dtype):
    """The function of a dtype as an intrinsic of Numba: its signature, and what makes the call."""
    function = _FUNCTIONS.get((name, dtype))
    if function is None:
        return None

    def codegen(context, builder, signature, arguments):
        callee = builder.module.globals.get(function.symbol)
        if callee is None:
            number = arguments[0].type
            type_ = ir.FunctionType(number, [number] * function.operands)
            callee = ir.Function(builder.module, type_, function.symbol)
        return builder.call(callee, arguments)

    return dtype(*[dtype] * function.operands), codegen


@primitive(lambda x: np.float32(1) / x)
def reciprocal_estimate(typing_context, x):
    """1 / x to 14 bits, of float32."""
    return _called("reciprocal_estimate", x)


@primitive(lambda x: np.float32(1) / np.sqrt(x))
def rsqrt_estimate(typing_context, x):
    """1 / sqrt(x) to 14 bits, of float32."""
    return _called("rsqrt_estimate", x)


@primitive(lambda x, n: np.ldexp(x, np.int64(n)).astype(x.dtype))
def multiply_by_power(typing_context, x, n):
    """x * 2**n, of float32 or float64."""
    return _called("multiply_by_power", x) if x == n else None


def _declarations() -> str:
    lines, names = [], []
    for number, function in enumerate(_FUNCTIONS.values()):
        lines += function.declarations(number)
        names += [f"ptr @{function.symbol}_{function.lanes(width)}" for width in _WIDTHS]
    # Else LLVM would drop the variants before it looks for them.
    lines.append(
        f"@llvm.compiler.used = appending global [{len(names)} x ptr] [{', '.join(names)}], "
        'section "llvm.metadata"'
    )
    return "\n".join(lines)


def are_called(module: llvm.ModuleRef) -> bool:
    """Whether the code of a module calls one of the functions."""
    return any(function.name in _SYMBOLS for function in module.functions)


def declared(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """A module with the code of ``module``, which is used up, where the functions have variants."""
    made = llvm.parse_assembly(_declarations())
    made.triple, made.data_layout = module.triple, module.data_layout
    made.link_in(module)
    return made


def defined(module: llvm.ModuleRef) -> None:
    """Give the functions bodies, for an inliner to put in their place."""
    definitions = [line for function in _FUNCTIONS.values() for line in function.definitions()]
    bodies = llvm.parse_assembly("\n".join(definitions))
    bodies.triple, bodies.data_layout = module.triple, module.data_layout
    module.link_in(bodies)
    for function in module.functions:
        if function.name.startswith(tuple(_SYMBOLS)):
            function.linkage = "internal"
