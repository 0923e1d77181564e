"""Records in compiled code: an address that knows the names of the fields behind it.

Importing this teaches Numba the classes of ``record.py``; kernels and launchers do so through
``intrinsics.py``, therefore only when compiling. A record is an int64 to LLVM, and wherever a
number is wanted: it is compared with NULL, and passed to C as it is.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.imputils import (
    lower_builtin,
    lower_cast,
    lower_constant,
    lower_getattr_generic,
    lower_setattr_generic,
)
from numba.core.typeconv import Conversion
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import intrinsic, typeof_impl

from .record import (
    WORD_BYTES,
    Byte,
    Half,
    Nested,
    Pointer,
    Record,
    Records,
    Shared,
    Words,
    fields_of,
    size_of,
)  # fmt: skip

_WORD = ir.IntType(64)


class RecordType(types.Type):
    """The address of a record; ``None`` stands for words without names."""

    def __init__(self, record):
        self.record = record
        self.bytes = WORD_BYTES * (1 if record is None else size_of(record))
        name = "words" if record is None else f"{record.__module__}.{record.__name__}"
        super().__init__(name)

    @property
    def key(self):
        return self.record

    def can_convert_to(self, typing_context, other):
        return Conversion.safe if other == types.int64 else None

    def unify(self, typing_context, other):
        return self if isinstance(other, types.Integer) else None


class RecordClass(types.Callable):
    """A class of records: called with an address, or with nothing for a block on the stack."""

    def __init__(self, record):
        self.record = record
        self.instance = RecordType(record)
        super().__init__(f"class of {self.instance.name}")

    @property
    def key(self):
        return self.record

    def get_call_type(self, context, args, kws):
        return signature(self.instance, *[types.int64 for _ in args])

    def get_call_signatures(self):
        return (), False

    def get_impl_key(self, sig):
        return RecordClass, len(sig.args), self.record


_WORDS = RecordType(None)


@register_default(RecordType)
class _RecordModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _WORD)


register_default(RecordClass)(models.OpaqueModel)


@lower_constant(RecordClass)
def _class(context, builder, kind, value):
    return context.get_dummy_value()


@typeof_impl.register(type(Record))
def _type_of_class(value, context):
    kind = RecordClass(value)
    _lower_calls(kind)
    return kind


_lowered: set[RecordClass] = set()


def _lower_calls(kind):
    """The code of calls of a class, once."""
    if kind in _lowered:
        return
    _lowered.add(kind)
    size = size_of(kind.record)

    def at(context, builder, signature, arguments):
        return arguments[0]

    def on_stack(context, builder, signature, arguments):
        with builder.goto_entry_block():
            memory = builder.alloca(ir.ArrayType(_WORD, size))
            memory.align = 64
        return builder.ptrtoint(memory, _WORD)

    lower_builtin((RecordClass, 1, kind.record), types.int64)(at)
    lower_builtin((RecordClass, 0, kind.record))(on_stack)


# --- fields ---------------------------------------------------------------------------------------


#: They lie in the record itself: what is read is their address.
_IN_PLACE = Nested | Records | Shared | Words


def _type_of_field(field):
    if isinstance(field, Nested | Pointer | Records):
        return RecordType(field.record)
    if isinstance(field, Words):
        return _WORDS
    if isinstance(field, Half):
        return types.int32
    return types.int8 if isinstance(field, Byte) else types.int64


@infer_getattr
class _Fields(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, kind, name):
        field = None if kind.record is None else fields_of(kind.record).get(name)
        return None if field is None else _type_of_field(field)


def _pointer(context, builder, address, field):
    pointer = builder.inttoptr(address, context.get_data_type(_type_of_field(field)).as_pointer())
    return builder.gep(pointer, [ir.Constant(_WORD, field.offset // field.bytes)])


@lower_getattr_generic(RecordType)
def _read(context, builder, kind, address, name):
    field = fields_of(kind.record)[name]
    if isinstance(field, _IN_PLACE):
        return builder.add(address, ir.Constant(_WORD, field.offset))
    return builder.load(_pointer(context, builder, address, field))


@lower_setattr_generic(RecordType)
def _write(context, builder, signature, arguments, name):
    address, value = arguments
    field = fields_of(signature.args[0].record)[name]
    if isinstance(field, _IN_PLACE):
        raise TypeError(f"{name} is found by its address")
    builder.store(value, _pointer(context, builder, address, field))


# --- several of them ------------------------------------------------------------------------------


@infer_global(operator.getitem)
class _Item(AbstractTemplate):
    def generic(self, args, kws):
        if isinstance(args[0], RecordType) and isinstance(args[1], types.Integer):
            item = types.int64 if args[0].record is None else args[0]
            return signature(item, args[0], types.int64)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args, kws):
        if args[0] == _WORDS and isinstance(args[1], types.Integer):
            return signature(types.void, args[0], types.int64, types.int64)
        return None


def _address_of(builder, kind, address, index):
    return builder.add(address, builder.mul(index, ir.Constant(_WORD, kind.bytes)))


@lower_builtin(operator.getitem, RecordType, types.int64)
def _item(context, builder, signature, arguments):
    kind = signature.args[0]
    position = _address_of(builder, kind, *arguments)
    if kind.record is not None:
        return position
    return builder.load(builder.inttoptr(position, _WORD.as_pointer()))


@lower_builtin(operator.setitem, RecordType, types.int64, types.int64)
def _set_item(context, builder, signature, arguments):
    address, index, value = arguments
    position = _address_of(builder, signature.args[0], address, index)
    builder.store(value, builder.inttoptr(position, _WORD.as_pointer()))


# --- addresses ------------------------------------------------------------------------------------


@lower_cast(RecordType, types.Integer)
@lower_cast(types.Integer, RecordType)
def _as_address(context, builder, given, wanted, value):
    return value


@intrinsic
def address_of(typing_context, record):
    """The address of a record or of words, as a number and nothing else."""

    def codegen(context, builder, signature, arguments):
        return arguments[0]

    return types.int64(record), codegen
