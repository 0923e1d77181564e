"""Numba's compilation target of kernels: the typing and lowering rules they need, and no others.

Used by ``compiler.py`` alone. Numba's CPU target knows arrays, strings, containers, ufuncs and
extensions; loading those rules, and trying them on every ``int64 + int64``, took half of the time
that compiling a kernel takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import fastmathpass, types, typing
from numba.core.callconv import RETCODE_OK, BaseCallConv, Status
from numba.core.cgutils import normalize_ir_text
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import Flags, compile_extra
from numba.core.cpu import CPUContext, CPUTargetOptions
from numba.core.cpu_options import FastMathOptions
from numba.core.descriptors import TargetDescriptor
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_registry

from . import alias_scopes
from .pipeline import KernelPipeline

NAME = "numbagrad"


class Kernel(CPU):
    """The target, as Numba's registry of targets knows it."""


class KernelLibrary(JITCodeLibrary):
    """Code of a kernel, or of a function it calls: kept as Numba lowered it.

    Numba would link, optimise and emit machine code for every function on its own, though only the
    kernel, with all of them inlined, is ever run. That took most of the compile time.
    """

    def __init__(self, codegen: Any, name: str):
        CodeLibrary.__init__(self, codegen, name)
        self._modules: list[llvm.ModuleRef] = []
        self._called: list[KernelLibrary] = []

    def add_ir_module(self, ir_module: ir.Module) -> None:
        self._modules.append(llvm.parse_assembly(normalize_ir_text(str(ir_module))))

    def add_linking_library(self, library: KernelLibrary) -> None:
        self._called.append(library)

    def finalize(self) -> None:
        self._finalized = True

    def linked(self) -> llvm.ModuleRef:
        """One module of this code and of all that it calls."""
        module, *more = self._modules
        for part in more:
            module.link_in(part)
        known = {self}
        pending = list(self._called)
        while pending:
            library = pending.pop()
            if library not in known:
                known.add(library)
                pending += library._called
                for part in library._modules:
                    module.link_in(part, preserve=True)
        module.verify()
        return module


class _TypingContext(typing.BaseContext):
    """Numba's typing rules of numbers, ranges, tuples and ``math``; answers are remembered."""

    def init(self) -> None:
        self._answers: dict[Any, Any] = {}
        #: Functions whose rules need the value of a constant among the arguments.
        self._refused: set[Any] = set()

    def load_additional_registries(self) -> None:
        from numba.core.typing import mathdecl

        self.install_registry(mathdecl.registry)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        if kws:
            return super().resolve_function_type(func, args, kws)
        plain = tuple([types.unliteral(argument) for argument in args])
        given = tuple(args)
        answer = self._answers.get((func, plain)) or self._answers.get((func, given))
        if answer is not None:
            return answer
        # Few rules look at the value of a constant: what all the others say is remembered once.
        for types_of_arguments in dict.fromkeys((plain, given)):
            if (func, types_of_arguments) in self._refused:
                continue
            try:
                answer = super().resolve_function_type(func, types_of_arguments, kws)
            except TypingError:
                if types_of_arguments == given:
                    raise
            if answer is not None:
                self._answers[func, types_of_arguments] = answer
                return answer
            if types_of_arguments != given:
                self._refused.add((func, plain))
        return None

    def resolve_value_type(self, val: Any) -> Any:
        known = self._get_global_type(val) if callable(val) else None
        return super().resolve_value_type(val) if known is None else known


class _CallingConvention(BaseCallConv):
    """Functions return their value. Numba's return a status, for exceptions; kernels raise none.

    Where a rule of Numba's does raise (a range with a step of zero), the function returns zero.
    """

    def _make_call_helper(self, builder: Any) -> None:
        return None

    def get_return_type(self, ty: Any) -> Any:
        return self.context.data_model_manager[ty].get_return_type()

    def get_function_type(self, restype: Any, argtypes: Any) -> ir.FunctionType:
        arguments = self._get_arg_packer(argtypes).argument_types
        return ir.FunctionType(self.get_return_type(restype), list(arguments))

    def get_arguments(self, func: ir.Function) -> Any:
        return func.args

    def decorate_function(
        self, fn: ir.Function, args: Any, fe_argtypes: Any, noalias: bool = False
    ) -> None:
        self._get_arg_packer(fe_argtypes).assign_names(fn.args, ["arg." + a for a in args])

    def return_value(self, builder: ir.IRBuilder, retval: Any) -> None:
        builder.ret(retval)

    def _return_errcode_raw(self, builder: ir.IRBuilder, code: Any) -> None:
        builder.ret(ir.Constant(builder.function.function_type.return_type, None))

    def return_user_exc(self, builder: ir.IRBuilder, *description: Any, **rest: Any) -> None:
        self.return_exc(builder)

    def return_status_propagate(self, builder: ir.IRBuilder, status: Any) -> None:
        self.return_exc(builder)

    def call_function(self, builder: Any, callee: Any, resty: Any, argtys: Any, args: Any) -> Any:
        arguments = self._get_arg_packer(argtys).as_arguments(builder, args)
        value = builder.call(callee, list(arguments))
        return _OK, self.context.get_returned_value(builder, resty, value)


_NO = ir.Constant(ir.IntType(1), 0)
_YES = ir.Constant(ir.IntType(1), 1)
_OK = Status(RETCODE_OK, _YES, _NO, _NO, _NO, _NO, _NO, None)


class _Context(CPUContext):
    """The lowering rules that go with them."""

    def init(self) -> None:
        super().init()
        self._internal_codegen._library_class = KernelLibrary
        self._found: dict[Any, Any] = {}
        self._sizes: dict[str, int] = {}

    @cached_property
    def call_conv(self) -> _CallingConvention:
        return _CallingConvention(self)

    def mangler(self, name: str, types: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
        """The symbol of a function: its number tells it apart, where Numba spells out the flags."""
        return f"{name}.{uid}"

    def get_abi_sizeof(self, ty: ir.Type) -> int:
        """Bytes of a type, remembered: LLVM is asked with a module written for the question."""
        text = str(ty)
        size = self._sizes.get(text)
        if size is None:
            size = self._sizes[text] = super().get_abi_sizeof(ty)
        return size

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """The lowering rule; rules are remembered, since Numba inspects each it hands out."""
        key = fn, sig
        rule = self._found.get(key)
        if rule is None:
            rule = self._found[key] = super().get_function(fn, sig, _firstcall)
        return _Rule(rule, self)

    def insert_user_function(self, func: Any, fndesc: Any, libs: Any = ()) -> None:
        """Calls of ``func`` become calls of its code, with no status to look at afterwards."""

        def call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            callee = context.declare_function(builder.module, fndesc)
            _, value = context.call_conv.call_function(
                builder, callee, fndesc.restype, fndesc.argtypes, arguments
            )
            return value

        call.signature = fndesc.argtypes
        call.libs = tuple(libs)
        self._defns[func].append(call, call.signature)

    def load_additional_registries(self) -> None:
        # Importing these adds their rules to the registry of builtins.
        from numba.cpython import builtins, mathimpl, numbers, rangeobj, tupleobj  # noqa: F401

        self.install_registry(mathimpl.registry)

    def post_lowering(self, mod: Any, library: Any) -> None:
        """As the CPU target does, but without Numba's runtime: kernels own no objects."""
        alias_scopes.write(mod)
        if self.fastmath:
            fastmathpass.rewrite_module(mod, self.fastmath)

    def get_executable(self, library: Any, fndesc: Any, env: Any) -> Any:
        """No machine code for Python to call: only other compiled code calls kernels.

        Numba wants some builtin as the identity of each function; a method of a new list is one.
        """
        return [].append


class _Rule:
    """A lowering rule, applied for the context of the function that is being lowered."""

    __slots__ = ("_rule", "_context")

    def __init__(self, rule: Any, context: _Context):
        self._rule = rule
        self._context = context

    def __call__(self, builder: Any, args: Any, loc: Any = None) -> Any:
        value = self._rule._imp(self._context, builder, self._rule._sig, args, loc=loc)
        self._context.add_linking_libs(getattr(self._rule, "libs", ()))
        return value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rule, name)


class _Target(TargetDescriptor):
    options = CPUTargetOptions

    @cached_property
    def typing_context(self) -> _TypingContext:
        return _TypingContext()

    @cached_property
    def target_context(self) -> _Context:
        return _Context(self.typing_context, NAME)


target = _Target(NAME)


class _Flags(Flags):
    def get_mangle_string(self) -> str:
        return ""  # our symbols do not spell them out


def flags_of(fastmath: Iterable[str]) -> Flags:
    """How Numba is to lower a kernel and what it calls; we optimise and emit the code ourselves."""
    flags = _Flags()
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    flags.boundscheck = False
    flags.nrt = False
    flags.release_gil = True
    flags.fastmath = FastMathOptions(set(fastmath))
    return flags


class KernelDispatcher(Dispatcher):
    """A function that kernels call."""

    targetdescr = target

    def __init__(self, function: Callable[..., Any], fastmath: Iterable[str]):
        super().__init__(function, targetoptions={"nopython": True})
        self._fastmath = tuple(fastmath)

    def __call__(self, *args: Any) -> Any:
        """Run it as Python; there is machine code only where a kernel calls it."""
        return self.py_func(*args)

    def compile(self, sig: Any) -> Any:
        """Compile for the given types of arguments, if need be.

        Numba's own way times every lock that LLVM takes, once for every function that is being
        compiled.
        """
        known = self.overloads.get(tuple(sig))
        if known is None:
            known = compile_extra(
                target.typing_context, target.target_context, self.py_func, tuple(sig), None,
                flags_of(self._fastmath), {}, pipeline_class=KernelPipeline,
            )  # fmt: skip
            self.add_overload(known)
        return known.entry_point

    def get_call_template(self, args: Any, kws: Any) -> Any:
        # A constant argument is passed as its type: Numba would compile the function once more for
        # every constant it is called with.
        return super().get_call_template([types.unliteral(argument) for argument in args], kws)


def _jit(*signature: Any, **options: Any) -> Callable[..., Any]:
    """The decorator for those of Numba's rules that are Python functions, like ``min``."""
    return lambda function: KernelDispatcher(function, ())


target_registry[NAME] = Kernel
dispatcher_registry[Kernel] = KernelDispatcher
jit_registry[Kernel] = _jit
