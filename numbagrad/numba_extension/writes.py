"""Which tensors a function compiled by Numba may write: their version counts go up when it runs.

Importing this file adds a rewrite to Numba's compiler. It follows the memory of every argument
through a function and has the function count a write of each tensor that it may write, so that
backward notices. Where it cannot know, it assumes a write.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from llvmlite import ir as llvm
from numba.core import cgutils, ir, types
from numba.core.rewrites import Rewrite, register_rewrite
from numba.extending import intrinsic, overload

from .tensor_type import TensorType

__all__ = ["CountWrites", "count_write"]

#: Values of these types hold no memory that another variable could write. Tuples hold what their
#: elements hold; all other types, arrays, lists, iterators and methods among them, may hold any.
_VALUES = (
    types.Number, types.Boolean, types.NoneType, types.UnicodeType, types.Literal, types.Omitted,
    types.SliceType, types.RangeType, types.RangeIteratorType, types.DType, types.NumberClass,
    types.TypeRef, types.Function, types.Dispatcher, types.Module, types.ExceptionClass,
)  # fmt: skip

#: Methods of arrays that write them, of all that Numba knows.
_WRITING_METHODS = frozenset(("fill", "itemset", "partition", "put", "resize", "sort"))

#: Functions of NumPy that write an argument, and the place of ``out`` in those that have one.
_WRITING_FUNCTIONS = frozenset(
    ("copyto", "fill_diagonal", "nan_to_num", "position", "put", "putmask", "shuffle")
)
_POSITION_OF_OUT = {"around": 2, "clip": 3, "dot": 2, "round": 2, "take": 3}

#: Functions that return new arrays; any other may return a view of an argument.
_COPYING_METHODS = frozenset(
    ("argsort", "astype", "copy", "cumprod", "cumsum", "dot", "flatten", "repeat", "take")
)
_COPYING_FUNCTIONS = frozenset(
    ("argsort", "concatenate", "copy", "cumprod", "cumsum", "dot", "empty_like", "full_like")
    + ("hstack", "ones_like", "outer", "repeat", "roll", "sort", "stack", "vstack", "where")
    + ("zeros_like",)
)

#: The module with ``bump_version``.
_INTERFACE = "numbagrad.autograd.tensor_interface"

#: Modules whose functions only read what they are given.
_READING_MODULES = ("builtins", "math")

#: The memory of which arguments a variable may reach.
Sources = frozenset[int]
_NOTHING: Sources = frozenset()


def count_write(value: Any) -> None:
    """Count a write of every tensor in ``value``; callable from compiled functions only."""
    raise NotImplementedError("count_write: called by functions that Numba compiled, not by Python")


@overload(count_write)
def _count_write(value):  # no annotations: Numba compares its signature with those below
    if isinstance(value, TensorType):
        return lambda value: _bump_version(value)
    if isinstance(value, (types.UniTuple, types.List)) and _holds_memory(value.dtype):

        def of_each(value):
            for element in value:
                count_write(element)

        return of_each
    if isinstance(value, types.BaseTuple) and len(value):

        def of_first_and_rest(value):
            count_write(value[0])
            count_write(value[1:])

        return of_first_and_rest
    return lambda value: None


@intrinsic
def _bump_version(typing_context: Any, tensor: Any) -> Any:
    """Call ``bump_version`` with the tensor behind an array header."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        api = context.get_python_api(builder)
        header = context.make_array(signature.args[0])(context, builder, value=arguments[0])
        # A loop shared by threads gets headers without a parent, and Numba's worker threads, which
        # have no state, must not wait for the GIL: the thread that holds it waits for them. For
        # both, the function with the loop has counted.
        thread_state = cgutils.get_or_insert_function(
            builder.module,
            llvm.FunctionType(cgutils.voidptr_t, ()),
            "PyGILState_GetThisThreadState",
        )
        has_state = cgutils.is_not_null(builder, builder.call(thread_state, ()))
        has_parent = cgutils.is_not_null(builder, header.parent)
        with cgutils.if_likely(builder, builder.and_(has_state, has_parent)):
            gil = api.gil_ensure()
            interface = api.import_module(context.insert_const_string(builder.module, _INTERFACE))
            api.decref(api.call_method(interface, "bump_version", (header.parent,)))
            api.decref(interface)
            api.gil_release(gil)
        return context.get_dummy_value()

    return types.void(tensor), generate


@register_rewrite("after-inference")
class CountWrites(Rewrite):
    """Has a function call ``count_write`` with each argument of tensors that it may write."""

    def __init__(self, state: Any) -> None:
        super().__init__(state)
        self._typing_context = state.typingctx
        self._parallel = bool(state.flags.auto_parallel.enabled)
        # What Numba itself made of NumPy's functions is known by name, see below.
        known = state.func_id.modname.startswith("numba.") or state.func_id.modname == __name__
        self._is_analysed = known or not any(map(_holds_tensors, state.args))
        self._pending: frozenset[int] = _NOTHING  # written arguments without a call yet

    def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
        """Whether ``block`` is where an argument that may be written becomes a variable."""
        if not self._is_analysed:
            self._is_analysed = True
            self._pending = _Flow(func_ir, typemap, calltypes, self._parallel).written()
        self._function, self._types, self._calls = func_ir, typemap, calltypes
        self._block = block
        return any(self._is_pending(statement) for statement in block.body)

    def apply(self) -> Any:
        """The block with a call behind each such argument."""
        block = self._block.copy()
        block.clear()
        for statement in self._block.body:
            block.append(statement)
            if self._is_pending(statement):
                for added in self._call(block, statement.target):
                    block.append(added)
        self._pending = _NOTHING
        return block

    def _is_pending(self, statement: Any) -> bool:
        return (
            isinstance(statement, ir.Assign)
            and isinstance(statement.value, ir.Arg)
            and statement.value.index in self._pending
            and _holds_tensors(self._types[statement.target.name])
        )

    def _call(self, block: Any, argument: Any) -> list[Any]:
        """The typed statements of ``count_write(argument)``."""
        function_type = self._typing_context.resolve_value_type(count_write)
        signature = function_type.get_call_type(
            self._typing_context, (self._types[argument.name],), {}
        )
        function = block.scope.redefine("$count_write", argument.loc)
        result = block.scope.redefine("$counted", argument.loc)
        call = ir.Expr.call(function, [argument], (), argument.loc)
        self._types[function.name] = function_type
        self._types[result.name] = signature.return_type
        self._calls[call] = signature
        values = {function: ir.Global("count_write", count_write, argument.loc), result: call}
        for variable, value in values.items():
            self._function._definitions[variable.name].append(value)
        return [ir.Assign(value, variable, argument.loc) for variable, value in values.items()]


class _Flow:
    """Where the memory of the arguments of a function goes, in whatever order it runs."""

    def __init__(self, func_ir: Any, typemap: Any, calltypes: Any, parallel: bool) -> None:
        self._statements = [s for block in func_ir.blocks.values() for s in block.body]
        self._types = typemap
        self._calls = calltypes
        self._parallel = parallel
        self._sources: dict[str, Sources] = defaultdict(frozenset)
        self._written: Sources = _NOTHING

    def written(self) -> Sources:
        """The arguments that may be written, by index."""
        before = None
        while before != (before := (dict(self._sources), self._written)):
            for statement in self._statements:
                self._visit(statement)
        return self._written

    def _of(self, variables: Iterable[Any]) -> Sources:
        """The arrays that any of the variables may reach."""
        return _NOTHING.union(*[self._sources[variable.name] for variable in variables])

    def _visit(self, statement: Any) -> None:
        if isinstance(statement, ir.Assign):
            self._assign(statement.target.name, statement.value)
        elif isinstance(statement, (ir.SetItem, ir.StaticSetItem, ir.SetAttr)):
            self._written |= self._of([statement.target])
            if not isinstance(self._types[statement.target.name], types.Array):  # it copies
                self._sources[statement.target.name] |= self._of([statement.value])
        elif isinstance(statement, ir.StoreMap):
            self._written |= self._of([statement.dct])
            self._sources[statement.dct.name] |= self._of([statement.key, statement.value])
        elif isinstance(statement, (ir.DelItem, ir.DelAttr)):
            self._written |= self._of([statement.target])

    def _assign(self, name: str, value: Any) -> None:
        if isinstance(value, ir.Arg):
            self._sources[name] |= {value.index}
        elif isinstance(value, ir.Var):
            self._sources[name] |= self._of([value])
        elif isinstance(value, ir.Expr):
            if value.op == "call":
                self._written |= self._written_by_call(value)
            elif value.op == "inplace_binop":
                self._written |= self._of([value.lhs])
            elif value.op == "getattr" and value.attr == "ctypes":  # an address leaves no trace
                self._written |= self._of([value.value])
            if _holds_memory(self._types[name]) and not self._makes_memory(name, value):
                self._sources[name] |= self._of(value.list_vars())

    def _makes_memory(self, name: str, value: Any) -> bool:
        """Whether the result is a new array, so that a write to it is none of an argument."""
        if not isinstance(self._types[name], types.Array):
            return False
        if value.op in ("arrayexpr", "binop", "unary"):
            return True
        if value.op != "call":
            return False
        function = self._types[value.func.name]
        if isinstance(function, types.BoundFunction):
            return _name_of_method(function) in _COPYING_METHODS
        key: Any = getattr(function, "typing_key", None)
        return hasattr(key, "nin") or _is_numpy(key) and key.__name__ in _COPYING_FUNCTIONS

    def _written_by_call(self, call: Any) -> Sources:
        """Which arguments of the function a call of another one may write."""
        arguments = [*call.args, *[variable for _, variable in call.kws]]
        if call.vararg is not None:
            arguments.append(call.vararg)
        reached = self._of(arguments)
        function = self._types[call.func.name]
        if isinstance(function, types.BoundFunction):
            if not isinstance(function.this, types.Array):
                return reached | self._of([call.func])
            out = self._of([variable for name, variable in call.kws if name == "out"])
            writes = _name_of_method(function) in _WRITING_METHODS
            return out | self._of([call.func]) if writes else out
        if isinstance(function, types.NumberClass):
            return _NOTHING
        if isinstance(function, types.Dispatcher):
            return reached if self._parallel or not self._counts_itself(call) else _NOTHING
        return self._written_by_function(getattr(function, "typing_key", None), call, reached)

    def _counts_itself(self, call: Any) -> bool:
        """Whether a compiled function takes all memory as tensors, so that it counts its writes."""
        return all([_is_tensors(t) or not _holds_memory(t) for t in self._calls[call].args])

    def _written_by_function(self, key: Any, call: Any, reached: Sources) -> Sources:
        """The same for a function of a library; what NumPy's functions write is known by name."""
        out = self._of([variable for name, variable in call.kws if name == "out"])
        if hasattr(key, "nin"):  # a ufunc
            return out | self._of(call.args[key.nin :])
        if _is_numpy(key):
            if key.__name__ in _WRITING_FUNCTIONS:
                return reached
            return out | self._of(call.args[_POSITION_OF_OUT.get(key.__name__, len(call.args)) :])
        return _NOTHING if getattr(key, "__module__", None) in _READING_MODULES else reached


def _is_numpy(key: Any) -> bool:
    """Whether the key of a function is a function of NumPy."""
    return hasattr(key, "__name__") and str(getattr(key, "__module__", "")).startswith("numpy")


def _name_of_method(function: Any) -> str:
    """The name in Numba's key of a method: ``"array.sort"``, or a type with a name."""
    key = function.typing_key
    return key.rpartition(".")[2] if isinstance(key, str) else str(key[-1])


def _holds_memory(typ: Any) -> bool:
    """Whether a value may hold memory that another variable can write."""
    if isinstance(typ, types.BaseTuple):
        return any(map(_holds_memory, typ))
    if isinstance(typ, types.Optional):
        return _holds_memory(typ.type)
    return not isinstance(typ, _VALUES)


def _holds_tensors(typ: Any) -> bool:
    """Whether a value is a tensor, or a tuple or list with tensors in it."""
    if isinstance(typ, types.BaseTuple):
        return any(map(_holds_tensors, typ))
    return isinstance(typ, TensorType) or (
        isinstance(typ, types.List) and _holds_tensors(typ.dtype)
    )


def _is_tensors(typ: Any) -> bool:
    """Whether all memory of a value is that of tensors."""
    if isinstance(typ, types.BaseTuple):
        return all([_is_tensors(t) or not _holds_memory(t) for t in typ])
    return isinstance(typ, TensorType)
