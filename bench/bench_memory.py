"""Operators that are bound by memory, on 4096×1024 float32."""

import torch

import numbagrad

TABLE = "Memory-bound operators, 4096×1024 float32"


def pair(*shape: int):
    """The same numbers in tensors of each library: where these lie is part of what it does."""
    for library in (numbagrad, torch):
        library.manual_seed(0)
    return numbagrad.randn(*shape), torch.randn(*shape)


def test_sum(race):
    a, x = pair(4096, 1024)
    race(TABLE, "sum()", bar=1.0, numbagrad=lambda: a.sum(), torch=lambda: x.sum())


def test_sum_of_rows(race):
    a, x = pair(4096, 1024)
    race(TABLE, "sum(1)", bar=1.0, numbagrad=lambda: a.sum(1), torch=lambda: x.sum(1))


def test_sum_of_columns(race):
    a, x = pair(4096, 1024)
    race(TABLE, "sum(0)", bar=1.0, numbagrad=lambda: a.sum(0), torch=lambda: x.sum(0))


def test_softmax(race):
    a, x = pair(4096, 1024)
    race(
        TABLE, "softmax(1)", bar=1.0,
        numbagrad=lambda: a.softmax(1), torch=lambda: x.softmax(1),
    )  # fmt: skip


def test_broadcast_add(race):
    (a, x), (b, y) = pair(4096, 1024), pair(1024)
    race(TABLE, "a + row", bar=1.0, numbagrad=lambda: a + b, torch=lambda: x + y)


def test_full_add(race):
    (a, x), (b, y) = pair(4096, 1024), pair(4096, 1024)
    race(TABLE, "a + b", numbagrad=lambda: a + b, torch=lambda: x + y)


def test_chain(race):
    """Five operators with four temporaries that live at the same time as others."""
    a, x = pair(4096, 1024)

    def chain(value):
        shifted = value + 1
        difference = shifted * 2 - value
        return difference * difference + shifted

    race(TABLE, "five operators", numbagrad=lambda: chain(a), torch=lambda: chain(x))


def test_accumulate(race):
    (a, x), (b, y) = pair(4096, 1024), pair(4096, 1024)
    race(TABLE, "a.add_(b)", bar=1.0, numbagrad=lambda: a.add_(b), torch=lambda: x.add_(y))
