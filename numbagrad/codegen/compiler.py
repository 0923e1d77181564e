"""From a Python function to a relocatable object file: the one place that owns compiler flags.

Called by ``numbagrad.executor.cache.library`` on a cache miss. The function is typed and lowered by
Numba, then optimised and emitted here with our own pass pipeline, so that the object holds a
single C symbol and no Python symbols, and loads in a process that has not imported Numba.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import compiler, sigutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.target_extension import target_override

from . import instructions, loader
from .loader import target_machine
from .pipeline import KernelPipeline
from .target import NAME, KernelDispatcher, flags_of, target

#: Reordering that never changes what NaN and infinity do: a multiply and an add may become one
#: fused multiply-add. Reductions may ask for "reassoc" as well. Full fastmath is never used.
DEFAULT_FASTMATH = ("contract",)


def subroutine(
    function: Callable[..., Any] | None = None, *, fastmath: Iterable[str] = DEFAULT_FASTMATH
) -> Any:
    """Decorator of functions that kernels call; LLVM inlines them.

    Bare, or with the ``fastmath`` flags of the function, which are otherwise those of kernels.
    """
    if function is None:
        return functools.partial(subroutine, fastmath=fastmath)
    return KernelDispatcher(function, fastmath)


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the cyclic collector out of compiling, which makes objects by the million."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _add_entry(library: Any, result: Any, symbol: str) -> None:
    """Add a function with the C calling convention that calls the compiled one."""
    context = target.target_context
    signature = result.signature
    module = library.create_ir_module("entry")
    arguments = [context.get_value_type(t) for t in signature.args]
    void = signature.return_type == types.void
    returned = ir.VoidType() if void else context.get_value_type(signature.return_type)
    entry = ir.Function(module, ir.FunctionType(returned, arguments), symbol)
    builder = ir.IRBuilder(entry.append_basic_block())
    callee = context.declare_function(module, result.fndesc)
    # The status is dropped: kernels have no statement that can raise.
    _, value = context.call_conv.call_function(
        builder, callee, signature.return_type, signature.args, entry.args
    )
    if void:
        builder.ret_void()
    else:
        builder.ret(value)
    library.add_ir_module(module)


def _link(library: Any, symbol: str) -> llvm.ModuleRef:
    """One module with everything the entry calls, all of it internal but the entry."""
    module = _for_target(library.linked())
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != symbol:
            value.linkage = "internal"
    return module


def _for_target(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """The module as one for :func:`loader.target`, where that is of another architecture."""
    if not loader.target().triple:
        return module
    lines = [
        line
        for line in str(module).splitlines()
        if not line.startswith(("target triple", "target datalayout"))
    ]
    made = llvm.parse_assembly("\n".join(lines))
    made.triple, made.data_layout = loader.target().triple, str(target_machine().target_data)
    return made


def _check_externals(module: llvm.ModuleRef, name: str) -> None:
    """Raise for a symbol that could not be resolved when the object is loaded."""
    for function in module.functions:
        known = function.name.startswith(("llvm.", loader.SHARED)) or not function.is_declaration
        if not known and llvm.address_of_symbol(function.name) is None:
            raise RuntimeError(
                f"kernel {name!r} needs the symbol {function.name!r}, which this process does not "
                "have; a kernel may not allocate, raise or call into Python"
            )


_RUNTIME_CALL = re.compile(rb"(?<=\0)__[a-z]+\d*(?=\0)")


def _check_runtime(data: bytes, name: str) -> None:
    """Raise for a function of a runtime library that LLVM calls and nobody has.

    Their names stand in the object's table of symbols. Loaded all the same, the call would end the
    process.
    """
    for found in set(_RUNTIME_CALL.findall(data)):
        function = found.decode()
        if function not in loader.RUNTIME and llvm.address_of_symbol(function) is None:
            raise RuntimeError(
                f"kernel {name!r} needs {function!r} of a compiler's runtime library, which this "
                "process does not have; compute in another dtype"
            )


#: Operations on floats in the body of a loop from which on arithmetic bounds it rather than memory.
MANY_OPERATIONS = 16

_OPERATION = re.compile(r" = f(?:add|sub|mul|div) | @llvm\.(?:fma|sqrt)\.")


def _is_bound_by_arithmetic(module: llvm.ModuleRef) -> bool:
    """Whether a block of the kernel's own code computes that much."""
    return any(
        [len(_OPERATION.findall(block)) >= MANY_OPERATIONS for block in str(module).split("\n\n")]
    )


#: A number beyond those of other metadata.
_METADATA = 1 << 20

#: Vectors that a loop of "chained" code computes side by side.
_VECTORS = 4

_LABEL = re.compile(r'("?)([-\w.$]+)\1:')
_JUMP = re.compile(r'  br label %("?)([-\w.$]+)\1$')


def _interleaved(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """The module with a note at each loop that several vectors are to be computed at a time."""
    lines: list[str] = []
    loops: list[str] = []
    labels: set[str] = set()
    for line in str(module).splitlines():
        if line.startswith("define "):
            labels = set()
        elif found := _LABEL.match(line):
            labels.add(found[2])
        elif (found := _JUMP.match(line)) and found[2] in labels:  # backwards
            loops.append(f"!{_METADATA + 1 + len(loops)}")
            line += f", !llvm.loop {loops[-1]}"
        lines.append(line)
    lines += [f"{loop} = distinct !{{{loop}, !{_METADATA}}}" for loop in loops]
    count = f'!"llvm.loop.interleave.count", i32 {_VECTORS}'
    return llvm.parse_assembly("\n".join([*lines, f"!{_METADATA} = !{{{count}}}"]))


@functools.cache
def _machine(target: loader.Target, wide: bool) -> llvm.TargetMachine:
    """The one machine that compiles for a target: LLVM takes a millisecond to look at a new one."""
    return target_machine(wide)


_SIMPLIFY = ("sroa", "simplify_cfg", "instruction_combine")
_CLEAN_UP = ("new_gvn", "simplify_cfg", "dead_store_elimination", "aggressive_dce")


def _optimise(module: llvm.ModuleRef, symbol: str, code: str) -> llvm.ModuleRef:
    """Run LLVM's passes over a module, as many as code of this kind is worth; returns it.

    "loops", kernels that somebody wrote: everything LLVM has, callees inlined where it pays.
    "formula", generated kernels: the same, but first every callee becomes part of the one loop,
    which takes 40 % less time to compile. "guarded", those that note whether an element was beyond
    their formula: LLVM would interleave that loop, and its constants would lose their registers.
    "chained", those of them whose operations wait for one another so long that it pays.
    "rows", those that reduce rows of which nothing says that they are long.
    "calls", launchers: no loop that matters, all of it run once a call, so a short list of passes,
    in a third of the time. That also suits kernels whose vector code is written by hand.

    Formulas that are bound by arithmetic, as all that use ``instructions`` are, get the widest
    vectors of the CPU, which LLVM avoids otherwise. In rows it then takes one of them at a time:
    what several leave of a reduction is done one by one, and that may be a whole row.
    """
    instructed = instructions.are_called(module)
    by_rows = code == "rows"
    bound = code in ("formula", "guarded", "chained", "rows")
    wide = bound and (instructed or _is_bound_by_arithmetic(module))
    if instructed:
        module = instructions.declared(module)
    if code == "chained":
        module = _interleaved(module)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.slp_vectorization = True
    options.loop_unrolling = True
    options.loop_interleaving = code not in ("guarded", "chained") and not (by_rows and wide)
    builder = llvm.create_pass_builder(_machine(loader.target(), wide), options)
    if code != "loops":
        for function in module.functions:
            apart = function.is_declaration or b"noinline" in b"".join(function.attributes)
            if not apart and function.name != symbol:
                function.add_function_attribute("alwaysinline")
        passes: tuple[str, ...] = (*_SIMPLIFY, "always_inliner")
        if code == "calls":
            passes = (*passes, *_SIMPLIFY, *_CLEAN_UP)
        manager = llvm.create_new_module_pass_manager()
        for name in passes:
            getattr(manager, f"add_{name}_pass")()
        manager.run(module, builder)
    if code != "calls":
        builder.getModulePassManager().run(module, builder)
    if instructed:
        instructions.defined(module)
        manager = llvm.create_new_module_pass_manager()
        for name in ("always_inliner", "instruction_combine"):
            getattr(manager, f"add_{name}_pass")()
        manager.run(module, builder)
    return module


@global_compiler_lock
def compile_to_module(
    function: Callable[..., Any],
    signature: str,
    symbol: str = "numbagrad_entry",
    fastmath: Iterable[str] = DEFAULT_FASTMATH,
    code: str = "loops",
) -> llvm.ModuleRef:
    """Compile ``function`` for ``signature`` and return the optimised LLVM module.

    ``signature`` is Numba's text, as ``"void(int64, int64, int64)"``. The module defines ``symbol``
    with the C calling convention. ``code`` is "loops", "formula", "guarded", "chained", "rows" or
    "calls" (:func:`_optimise`).
    Raises ``numba.core.errors.TypingError`` where Numba cannot type the function, and
    ``RuntimeError`` where the result depends on Python.
    """
    arguments, returned = sigutils.normalize_signature(signature)
    typing, context = target.typing_context, target.target_context
    with _collector_paused(), target_override(NAME):
        library = context.codegen().create_library(symbol)
        result = compiler.compile_extra(
            typing,
            context,
            function,
            arguments,
            returned,
            flags_of(fastmath),
            {},
            library=library,
            pipeline_class=KernelPipeline,
        )
        _add_entry(library, result, symbol)
        module = _link(library, symbol)
    module = _optimise(module, symbol, code)
    _check_externals(module, function.__name__)
    return module


def compile_to_object(
    function: Callable[..., Any],
    signature: str,
    symbol: str = "numbagrad_entry",
    fastmath: Iterable[str] = DEFAULT_FASTMATH,
    code: str = "loops",
) -> bytes:
    """Compile ``function`` to an object file (see :func:`compile_to_module`)."""
    with global_compiler_lock:
        module = compile_to_module(function, signature, symbol, fastmath, code)
        data: bytes = _machine(loader.target(), False).emit_object(module)
    _check_runtime(data, function.__name__)
    return data


def assembly(function: Callable[..., Any], signature: str, **options: Any) -> str:
    """The machine code of ``function`` as text, for a person to read."""
    return target_machine().emit_assembly(compile_to_module(function, signature, **options))
