"""Estimates of 1 / x and 1 / sqrt(x) to 14 bits, which CPUs with AVX-512 have as instructions.

Kernels that refine them (``vector_math/refinement.py``) divide without the divider, which does one
vector in ten cycles. LLVM makes vectors of a call to an unknown function only where the function
says what its variants for whole vectors are called; so a kernel calls functions that ``declared``
adds to its module, and ``defined`` gives them bodies, of one instruction, when its loops have
become vectors. Called by ``compiler.py``; the intrinsics are used by generated kernels.
"""

from __future__ import annotations

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["reciprocal_estimate", "rsqrt_estimate"]

#: The functions and the instructions that they are.
_INSTRUCTIONS = {"reciprocal_estimate": "rcp14", "rsqrt_estimate": "rsqrt14"}
_LANES = (4, 8, 16)


def _estimate(name):
    """A Numba intrinsic that calls the function ``numbagrad_<name>`` on float32."""

    def estimate(typing_context, x):
        if x != types.float32:
            return None

        def codegen(context, builder, signature, arguments):
            function = builder.module.globals.get(f"numbagrad_{name}")
            if function is None:
                function_type = ir.FunctionType(ir.FloatType(), [ir.FloatType()])
                function = ir.Function(builder.module, function_type, f"numbagrad_{name}")
            return builder.call(function, arguments)

        return x(x), codegen

    estimate.__name__ = name
    return intrinsic(estimate)


reciprocal_estimate = _estimate("reciprocal_estimate")
rsqrt_estimate = _estimate("rsqrt_estimate")


def _declarations() -> str:
    """The functions without bodies, and what says that each stands for the ones on vectors."""
    lines, names = [], []
    for k, name in enumerate(_INSTRUCTIONS):
        scalar = f"numbagrad_{name}"
        variants = [f"_ZGV_LLVM_N{n}v_{scalar}({scalar}_{n})" for n in _LANES]
        lines.append(f"declare float @{scalar}(float) #{k}")
        lines.append(
            f"attributes #{k} = {{ nounwind willreturn memory(none) "
            f'"vector-function-abi-variant"="{",".join(variants)}" }}'
        )
        for n in _LANES:
            lines.append(f"declare <{n} x float> @{scalar}_{n}(<{n} x float>)")
            names.append(f"ptr @{scalar}_{n}")
    # Else LLVM would drop the variants before it looks for them.
    lines.append(
        f"@llvm.compiler.used = appending global [{len(names)} x ptr] [{', '.join(names)}], "
        'section "llvm.metadata"'
    )
    return "\n".join(lines)


def _definitions() -> str:
    """The same functions with bodies."""
    lines = []
    for name, instruction in _INSTRUCTIONS.items():
        for n in _LANES:
            vector, mask = f"<{n} x float>", "i16" if n == 16 else "i8"
            called = f"@llvm.x86.avx512.{instruction}.ps.{32 * n}"
            lines.append(f"declare {vector} {called}({vector}, {vector}, {mask})")
            lines.append(
                f"define {vector} @numbagrad_{name}_{n}({vector} %x) alwaysinline {{\n"
                f"  %y = call {vector} {called}({vector} %x, {vector} zeroinitializer, {mask} -1)\n"
                f"  ret {vector} %y\n}}"
            )
        lines.append(
            f"define float @numbagrad_{name}(float %x) alwaysinline {{\n"
            "  %v = insertelement <4 x float> zeroinitializer, float %x, i32 0\n"
            f"  %y = call <4 x float> @numbagrad_{name}_4(<4 x float> %v)\n"
            "  %r = extractelement <4 x float> %y, i32 0\n"
            "  ret float %r\n}"
        )
    return "\n".join(lines)


def are_called(module: llvm.ModuleRef) -> bool:
    """Whether the code of a module calls one of them."""
    names = {f"numbagrad_{name}" for name in _INSTRUCTIONS}
    return any(function.name in names for function in module.functions)


def declared(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """A module with the code of ``module``, which is used up, where the functions have variants."""
    made = llvm.parse_assembly(_declarations())
    made.triple, made.data_layout = module.triple, module.data_layout
    made.link_in(module)
    return made


def defined(module: llvm.ModuleRef) -> None:
    """Give the functions bodies, for an inliner to put in their place."""
    bodies = llvm.parse_assembly(_definitions())
    bodies.triple, bodies.data_layout = module.triple, module.data_layout
    module.link_in(bodies)
    for function in module.functions:
        if function.name.startswith(tuple(f"numbagrad_{name}" for name in _INSTRUCTIONS)):
            function.linkage = "internal"
