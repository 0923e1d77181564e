"""Python objects in launchers: CPython's functions on them, and what holds where memory runs out.

A function that makes an object returns a new reference, or NULL once CPython has set an exception,
nearly always MemoryError. ``fill`` and ``give`` put such a reference into a new object, which then
owns it, and return False if there is none. So an object of several parts is made by a chain of
them, with one place that lets go of it. Imported by the launchers, therefore only when compiling.
"""

from __future__ import annotations

from numba import types

from ..codegen.intrinsics import external, int32, int64, load, store, subroutine
from .object_heads import ListHead, ObjectHead

_WORD = types.int64

let_go = external("Py_DecRef", types.void, _WORD)
allocate = external("PyType_GenericAlloc", _WORD, _WORD, _WORD)
is_subtype = external("PyType_IsSubtype", types.int32, _WORD, _WORD)
next_of = external("PyIter_Next", _WORD, _WORD)
new_weak_reference = external("PyWeakref_NewRef", _WORD, _WORD, _WORD)

error_occurred = external("PyErr_Occurred", _WORD)
error_clear = external("PyErr_Clear", types.void)
error_set_object = external("PyErr_SetObject", types.void, _WORD, _WORD)

float_as_double = external("PyFloat_AsDouble", types.float64, _WORD)
long_as_long = external("PyLong_AsLongLong", _WORD, _WORD)
long_from_long = external("PyLong_FromLongLong", _WORD, _WORD)

tuple_new = external("PyTuple_New", _WORD, _WORD)
tuple_size = external("PyTuple_Size", _WORD, _WORD)
tuple_get_item = external("PyTuple_GetItem", _WORD, _WORD, _WORD)
tuple_set_item = external("PyTuple_SetItem", types.int32, _WORD, _WORD, _WORD)

list_new = external("PyList_New", _WORD, _WORD)
list_size = external("PyList_Size", _WORD, _WORD)
list_get_item = external("PyList_GetItem", _WORD, _WORD, _WORD)
list_set_item = external("PyList_SetItem", types.int32, _WORD, _WORD, _WORD)
list_append = external("PyList_Append", types.int32, _WORD, _WORD)

get_attribute = external("PyObject_GetAttr", _WORD, _WORD, _WORD)
set_attribute = external("PyObject_SetAttr", types.int32, _WORD, _WORD, _WORD)
attributes_of = external("PyObject_GenericGetDict", _WORD, _WORD, _WORD)
dictionary_size = external("PyDict_Size", _WORD, _WORD)
dictionary_has = external("PyDict_Contains", types.int32, _WORD, _WORD)

# Called without keywords; the plainer PyObject_Vectorcall is no symbol of Python 3.10.
_vectorcall = external("PyObject_VectorcallDict", _WORD, _WORD, _WORD, _WORD, _WORD)

NULL = 0


@subroutine
def increment_reference(object):
    """``Py_XINCREF``: CPython's own function takes longer to call than this does.

    Objects that live for ever (from Python 3.12 on) have a count whose lower half is negative.
    """
    if object != NULL:
        count = ObjectHead(object).references
        if count >= 0:
            ObjectHead(object).references = int32(count + 1)


@subroutine
def decrement_reference(object):
    """``Py_XDECREF``."""
    if object != NULL:
        count = ObjectHead(object).references
        if count > 1:
            ObjectHead(object).references = int32(count - 1)
        elif count >= 0:
            let_go(object)


@subroutine
def new_reference(object):
    """The object itself, with one more reference to it."""
    increment_reference(object)
    return object


@subroutine
def has_type(object, kind):
    """Whether it is of that type, and of no subclass; NULL, from a deleted slot, is of none."""
    return object != NULL and ObjectHead(object).type == kind


@subroutine
def call(function, arguments, count):
    """``function(*arguments)`` of a Python object and an array of references."""
    return _vectorcall(function, arguments, count, NULL)


# --- objects of several parts ---------------------------------------------------------------------


@subroutine
def fill(tuple, k, value):
    """Put a new reference into place ``k`` of a new tuple.

    If there is none, returns False, and lets go of the tuple.
    """
    if value == NULL:
        decrement_reference(tuple)
        return False
    tuple_set_item(tuple, k, value)
    return True


@subroutine
def fill_list(items, k, value):
    """``fill`` for a new list."""
    if value == NULL:
        decrement_reference(items)
        return False
    list_set_item(items, k, value)
    return True


@subroutine
def pair(first, second):
    """A tuple of two new references, which it takes over; NULL if one of them is."""
    both = NULL
    if first != NULL and second != NULL:
        both = tuple_new(2)
    if both == NULL:
        decrement_reference(first)
        decrement_reference(second)
        return NULL
    tuple_set_item(both, 0, first)
    tuple_set_item(both, 1, second)
    return both


@subroutine
def let_go_of_all(objects, count):
    """Let go of an array of references; there may be NULL among them."""
    for k in range(count):
        decrement_reference(load(objects, k, int64))


@subroutine
def drop_last(items):
    """Take the last item off a list, which cannot fail: CPython's functions may want memory."""
    count = list_size(items)
    last = list_get_item(items, count - 1)
    ListHead(items).size = count - 1
    decrement_reference(last)


# --- slots ----------------------------------------------------------------------------------------


@subroutine
def field(object, slot):
    """The contents of a slot of an object, so many bytes from its start; a borrowed reference.

    NULL if somebody deleted it: nothing is read of what a slot holds before that is ruled out.
    """
    return load(object + slot, 0, int64)


@subroutine
def held(runtime, object, slot):
    """``field`` where there has to be something: NULL with AttributeError set if it was deleted."""
    value = field(object, slot)
    if value == NULL:
        raise_unusable(runtime)
    return value


@subroutine
def raise_unusable(runtime):
    """Set the AttributeError that says that a slot holds nothing that can be used."""
    text = runtime.deleted_text
    error_set_object(runtime.deleted_error, text)


@subroutine
def give(object, slot, value):
    """Set an empty slot; the reference goes with it. False if there is none."""
    store(object + slot, 0, value, int64)
    return value != NULL


@subroutine
def put(object, slot, value):
    """Set an empty slot to an object that somebody else holds as well."""
    give(object, slot, new_reference(value))


@subroutine
def replace(object, slot, value):
    """Set a slot to another object; the reference to that goes with it."""
    before = field(object, slot)
    give(object, slot, value)
    decrement_reference(before)
