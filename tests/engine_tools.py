"""What the tests of the engine and of Functions share: leaves, their values, and threads."""

from __future__ import annotations

import threading

import numbagrad as nb
from numbagrad.autograd.function import Function

FREED = "Trying to backward through the graph a second time"


def leaf(*values, dtype=None):
    return nb.tensor(values, dtype=dtype or nb.float32, requires_grad=True)


def values(tensor):
    return None if tensor is None else tensor.detach().numpy().tolist()


class Spy(Function):
    """Twice its input; counts how often its backward ran."""

    runs = 0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        Spy.runs += 1
        return grad * 2


class Undefined(Function):
    """The identity, without a gradient."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return None


class Failing(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("no gradient today")


def run_threads(count, work):
    errors = []

    def guarded(index):
        try:
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
