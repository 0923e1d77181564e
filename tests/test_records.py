"""Records: one declaration says where fields lie, to Python and to compiled code."""

import ctypes

import numpy as np
import pytest

from numbagrad.codegen.record import (
    Byte,
    Half,
    Nested,
    Pointer,
    Record,
    Records,
    Shared,
    Word,
    Words,
    array_of,
    fields_of,
    list_of,
    row_of,
    size_of,
    write_list,
)  # fmt: skip
from numbagrad.executor import mode

W = "int64(int64, int64, int64)"


class Pair(Record):
    first = Word()
    second = Word()


class Head(Record):
    count = Half()
    kind = Byte()
    flag = Byte()
    number = Half()


class Block(Record):
    size = Word()  # a name that records use for nothing else
    pair = Nested(Pair)
    row = Words(3)
    pairs = list_of(Pair)
    more = Pointer(Pair)


class Longer(Block):
    last = Word()


def test_fields_lie_where_c_puts_them():
    assert {name: field.offset for name, field in fields_of(Block).items()} == {
        "size": 0, "pair": 8, "row": 24, "pairs": 48, "more": 64,
    }  # fmt: skip
    assert [field.offset for field in fields_of(Head).values()] == [0, 4, 5, 8]
    assert (size_of(Block), size_of(Head)) == (9, 2)


def test_a_record_begins_as_its_base():
    assert Longer.last.offset == 8 * size_of(Block)
    assert list(fields_of(Longer)) == [*fields_of(Block), "last"]


def test_python_reads_and_writes_fields_by_name():
    block = Longer()
    block.size, block.last = 5, 6
    block.pair.second = 7
    block.row = [1, 2, 3]
    block.row[1] = -2
    rows = [row_of(Pair, first=8, second=9), row_of(Pair, second=11, first=10)]
    kept = write_list(block.pairs, rows)
    assert (block.size, block.pair.first, block.pair.second, block.last) == (5, 0, 7, 6)
    assert block.row.tolist() == [1, -2, 3]
    assert (block.pairs.count, block.pairs.first.address) == (2, kept.ctypes.data)
    assert block.words.tolist()[:7] == [5, 0, 7, 1, -2, 3, 2]
    assert Pair(kept[1]).first == 10


def test_python_reads_a_record_at_an_address_as_compiled_code_does():
    block = Block()
    kept = write_list(block.pairs, [(1, 2), (3, 4)])
    same = Block(block.address)
    assert same.pairs.first[1].second == 4 and same.more == 0
    same.pairs.first[1].second = 5
    same.size = 6
    assert kept[1, 1] == 5 and block.size == 6
    assert (block.address, same.address) == (block.words.ctypes.data,) * 2


class Other(Block):
    size = Pointer(Pair)


def test_a_field_may_be_of_another_kind_than_that_of_the_base():
    assert Other.size.offset == Block.size.offset and size_of(Other) == size_of(Block)
    pair = Pair()
    pair.second = 7
    other = Other()
    other.size = pair.address
    assert other.size.second == 7
    with pytest.raises(TypeError, match="pair is as long as in the base"):
        type(Record)("Wrong", (Block,), {"pair": Word()})


def test_an_empty_list_has_an_address():
    block = Block()
    kept = write_list(block.pairs, [])
    assert (block.pairs.count, block.pairs.first.address) == (0, kept.ctypes.data)
    assert array_of(Pair, 0).shape == (1, 2)


def test_what_is_no_field_is_refused():
    with pytest.raises(AttributeError):
        Block().sise = 1
    with pytest.raises(TypeError, match="first, second"):
        row_of(Pair, first=1)
    with pytest.raises(TypeError, match="may not be called words"):
        type(Record)("Wrong", (Record,), {"words": Word()})


@pytest.fixture(scope="module")
def compiled():
    """Compile a function of three words."""
    if mode.JIT_DISABLED:
        pytest.skip("nothing is compiled")
    from numbagrad.codegen import record_types  # noqa: F401
    from numbagrad.codegen.compiler import compile_to_object
    from numbagrad.codegen.loader import load

    def compile(function):
        address = load(compile_to_object(function, W, code="calls"), "numbagrad_entry")
        return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(address)

    return compile


def of_block(address, k, value):
    block = Longer(address)
    block.pair.first = block.row[k]
    block.row[k] = value
    block.last += block.pairs.first[k].second
    pair = block.more[1]
    if pair == 0 or block.size == 0:
        return -1
    pair.second = block.pairs.count
    return pair.first


def test_compiled_code_finds_the_same_fields(compiled):
    block = Longer()
    block.size, block.last, block.row = 1, 100, [4, 5, 6]
    listed = write_list(block.pairs, [(0, 1), (2, 3)])
    more = np.array([(20, 21), (22, 23)])
    block.more = more.ctypes.data
    assert compiled(of_block)(block.address, 1, 50) == 22
    assert (block.pair.first, block.row.tolist(), block.last) == (5, [4, 50, 6], 103)
    assert more.tolist() == [[20, 21], [22, 2]] and listed.tolist() == [[0, 1], [2, 3]]


def of_stack(first, second, _):
    block = Block()
    block.size = first
    block.pair.second = second
    return block.size - block.pair.second


def test_a_record_without_an_address_is_on_the_stack(compiled):
    assert compiled(of_stack)(50, 8, 0) == 42


def of_head(address, number, _):
    head = Head(address)
    head.number = head.count
    return 1000 * head.flag + head.count


def test_parts_of_words(compiled):
    words = np.array([7 | 3 << 40, -1], np.int64)
    assert compiled(of_head)(words.ctypes.data, 0, 0) == 3007
    assert words.view(np.int32).tolist() == [7, 3 << 8, 7, -1]


class Line(Record):
    turn = Shared(aligned=128)
    own = Word()


class Lines(Record):
    busy = Shared()
    lines = Records(Line, 3)


def of_lines(address, k, value):
    block = Lines(address)
    block.lines[k].own = value
    return block.lines[k].turn - address


def test_what_threads_write_lies_apart_and_is_found_by_its_address(compiled):
    assert Lines.lines.offset == 128 and size_of(Line) == 16 and size_of(Lines) == 64
    block = Lines()
    block.busy = 4
    assert compiled(of_lines)(block.address, 2, 9) == 128 * 3
    assert Line(block.lines[2]).own == 9 and block.busy == 4
