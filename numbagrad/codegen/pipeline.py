"""Numba's passes that kernels need, and none for what they do not contain.

Used by ``compiler.py`` and ``target.py``. Kernels have no objects, closures, exceptions, parallel
regions or arrays, and their variables have one type each, so the passes for all of that, and static
single assignment, are left out: the front end takes a third of the time.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from typing import Any

from numba.core import compiler, errors, ir, types
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.interpreter import Interpreter
from numba.core.ir_utils import replace_vars_stmt
from numba.core.lowering import Lower
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import BaseNativeLowering, NoPythonBackend, NopythonTypeInference
from numba.core.untyped_passes import FixupArgs


class KernelPipeline(compiler.CompilerBase):
    """From bytecode to LLVM."""

    def define_pipelines(self) -> list[PassManager]:
        manager = _Passes("kernel")
        manager.add_pass(_TranslateByteCode, "read the bytecode")
        manager.add_pass(FixupArgs, "fix up arguments")
        manager.add_pass(_PrepareBlocks, "order the blocks and tell variables apart")
        manager.add_pass(NopythonTypeInference, "infer types")
        manager.add_pass(_CheckFloats, "check that no variable widens a float")
        manager.add_pass(_Lowering, "lower to LLVM")
        manager.add_pass(NoPythonBackend, "collect the result")
        manager.finalize()
        return [manager]


class _Passes(PassManager):
    """The passes and nothing else: no events, timers, dumps or checks around each."""

    def run(self, state: Any) -> None:
        for kind, _ in self.passes:
            kind().run_pass(state)


class _Pass(FunctionPass):
    def __init__(self) -> None:
        super().__init__()


class _Interpreter(Interpreter):
    def post_process(self, peepholes: Any, func_ir: ir.FunctionIR) -> ir.FunctionIR:
        """Nothing: these steps rewrite ``with``, unpacked arguments, lists and dictionaries."""
        return func_ir


@register_pass(mutates_CFG=True, analysis_only=False)
class _TranslateByteCode(_Pass):
    """Numba's pass of that name."""

    _name = "numbagrad_translate_bytecode"

    def run_pass(self, state: Any) -> bool:
        code = state["bc"]
        _leave_out_caches(code)
        state["func_ir"] = _Interpreter(state["func_id"]).interpret(code)
        return True


def _leave_out_caches(code: Any) -> None:
    """Have each instruction be followed by the next that does something.

    Two thirds of the bytecode of a kernel are places for CPython 3.11 to remember things in.
    """
    table = code.table
    caches = [offset for offset, each in table.items() if each.opname == "CACHE"]
    following = {offset: table[offset].next for offset in reversed(caches)}
    for offset in reversed(caches):
        after = following[offset]
        following[offset] = following.get(after, after)
        if offset not in code.labels:
            del table[offset]
    for each in table.values():
        each.next = following.get(each.next, each.next)


@register_pass(mutates_CFG=True, analysis_only=False)
class _PrepareBlocks(_Pass):
    """The blocks as type inference and lowering need them, where no variable owns a reference."""

    _name = "numbagrad_prepare_blocks"

    def run_pass(self, state: Any) -> bool:
        function = state.func_ir
        function.blocks = canonicalize_cfg(function.blocks)
        blocks = list(function.blocks.values())
        times = collections.Counter(assign.target.name for _, assign in _assignments(blocks))
        repeated = {name for name, count in times.items() if count > 1}
        if repeated:
            _copy_constants(blocks, repeated)
            _split_local_variables(blocks, repeated)
        function.generator_info = None
        return True


def _assignments(blocks: Iterable[ir.Block]) -> Iterator[tuple[ir.Block, ir.Assign]]:
    for block in blocks:
        for assign in block.find_insts(ir.Assign):
            yield block, assign


def _copy_constants(blocks: list[ir.Block], repeated: set[str]) -> None:
    """Let no global constant decide the type of a variable that is assigned elsewhere as well."""
    for block, assign in list(_assignments(blocks)):
        if isinstance(assign.value, ir.Global | ir.FreeVar) and assign.target.name in repeated:
            copy = block.scope.make_temp(assign.loc)
            position = block.body.index(assign)
            block.body.insert(position, ir.Assign(assign.value, copy, assign.loc))
            assign.value = copy


def _split_local_variables(blocks: list[ir.Block], repeated: set[str]) -> None:
    """Give a name that means something else in every block (``t0`` of two loops) a variable each.

    Such a name is always assigned before it is used in a block. Others keep one type throughout.
    """
    crossing: set[str] = set()
    for block in blocks:
        assigned: set[str] = set()
        for statement in block.body:
            is_assign = isinstance(statement, ir.Assign)
            for name in _used(statement.value if is_assign else statement):
                if name in repeated and name not in assigned:
                    crossing.add(name)
            if is_assign:
                assigned.add(statement.target.name)
    split = repeated - crossing
    for block in blocks if split else ():
        current: dict[str, ir.Var] = {}
        for statement in block.body:
            assigned_to = statement.target if isinstance(statement, ir.Assign) else None
            if current:
                replace_vars_stmt(statement, current)
            if assigned_to is not None and assigned_to.name in split:
                statement.target = block.scope.redefine(assigned_to.name, statement.loc)
                current[assigned_to.name] = statement.target


def _used(statement: Any) -> list[str]:
    """Names of the variables that a statement, or the value of an assignment, reads."""
    if isinstance(statement, ir.Var):
        return [statement.name]
    if not isinstance(statement, ir.Inst):
        return []  # a constant, a global or an argument
    return [variable.name for variable in statement.list_vars()]


@register_pass(mutates_CFG=False, analysis_only=True)
class _CheckFloats(_Pass):
    """Raise where one name holds a float32 here and a float64 there: it would become a float64."""

    _name = "numbagrad_check_floats"

    def run_pass(self, state: Any) -> bool:
        for _, assign in _assignments(state.func_ir.blocks.values()):
            target = state.typemap[assign.target.name]
            if isinstance(target, types.Float):
                given = _type_of(assign.value, state)
                if isinstance(given, types.Float) and given != target:
                    raise errors.TypingError(
                        f"{assign.target.name!r} holds a {given} here and a {target} elsewhere; "
                        "give the two different names, or convert one",
                        loc=assign.loc,
                    )
        return False


class _Lower(Lower):
    """Numba's lowering, less what serves its debugging and its Python environments."""

    def emit_environment_object(self) -> None:
        pass

    def _find_singly_assigned_variable(self) -> None:
        """Variables that need no memory: assigned once, and used in that block alone."""
        times: collections.Counter[str] = collections.Counter()
        crossing: set[str] = set()
        for block in self.blocks.values():
            assigned: set[str] = set()
            for statement in block.body:
                is_assign = isinstance(statement, ir.Assign)
                crossing.update(
                    name
                    for name in _used(statement.value if is_assign else statement)
                    if name not in assigned
                )
                if is_assign:
                    assigned.add(statement.target.name)
                    times[statement.target.name] += 1
        once = {name for name, count in times.items() if count == 1}
        self._singly_assigned_vars = once - crossing
        self._blk_local_varmap: dict[str, Any] = {}

    def lower_block(self, block: ir.Block) -> None:
        self.pre_block(block)
        for statement in block.body:
            self.loc = statement.loc
            try:
                self.lower_inst(statement)
            except Exception:
                with errors.new_error_context(f'lowering "{statement}" at {self.loc}'):
                    raise
        self.post_block(block)

    def lower_inst(self, inst: Any) -> None:
        if isinstance(inst, ir.Assign):
            name = inst.target.name
            self.storevar(self.lower_assign(self.typeof(name), inst), name)
        else:
            super().lower_inst(inst)

    def lower_binop(self, resty: Any, expr: ir.Expr, op: Any) -> Any:
        """Numba's, with the typing of operators that the context remembers."""
        context, typing = self.context, self.context.typing_context
        op = typing.resolve_value_type(op)
        signature = self.fndesc.calltypes[expr]
        operands = [
            context.cast(self.builder, self.loadvar(v.name), self.typeof(v.name), kind)
            for v, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        ]
        rule = context.get_function(op, typing.resolve_function_type(op, signature.args, {}))
        result = rule(self.builder, operands)
        return context.cast(self.builder, result, signature.return_type, resty)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(BaseNativeLowering):
    _name = "numbagrad_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return _Lower


def _type_of(value: Any, state: Any) -> types.Type | None:
    if isinstance(value, ir.Var):
        return state.typemap[value.name]
    signature = state.calltypes.get(value) if isinstance(value, ir.Expr) else None
    return signature.return_type if signature is not None else None
