"""Kernels of connectionist temporal classification (Graves et al., 2006): tables and gradients.

``executor/families/ctc_loss.py`` compiles them by name. A target of n labels has 2 n + 1 states:
its labels, with blanks between and around them. Tables are float64, (batch, time, states),
contiguous; logarithms of probabilities are (time, batch, classes). Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import external, float64, int64, load, store, subroutine
from ...codegen.kernel import element, kernel, real, variable
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements

_exp = external("exp", float64, float64)
_log = external("log", float64, float64)

_NEVER = float("-inf")

_FLOATS = dtypes("float32 float64")


class Sequences(Arguments):
    """Arguments of the recursions, and the first ones of all other kernels."""

    output = Elements(float64)
    probabilities = Elements(element)
    labels = Elements(int64)  # of all targets in a row
    starts = Elements(int64)  # where those of each begin
    counts = Elements(int64)  # and how many they are
    lengths = Elements(int64)  # steps of each
    batch = Word()  # sizes of arrays, up to ``classes``
    steps = Word()
    states = Word()
    classes = Word()
    blank = Word()


class Losses(Sequences):
    output = Elements(element)
    table = Elements(float64)


class Gradient(Sequences):
    output = Elements(element)
    alpha = Elements(float64)
    beta = Elements(float64)
    losses = Elements(element)
    gradients = Elements(element)
    zero_infinite = Word()


@subroutine
def _joined(a, b):
    """log(exp(a) + exp(b))"""
    most = max(a, b)
    if most == _NEVER:
        return _NEVER
    return _log(_exp(a - most) + _exp(b - most)) + most


@subroutine
def _label(labels, state, blank):
    """The class of a state; ``labels`` is the address of those of its target."""
    if state & 1:
        return load(labels, state >> 1, int64)
    return blank


@subroutine
def _skips(labels, state, other):
    """Whether a state may follow, or be followed by, one that is two away: both are labels."""
    return (state & 1) == 1 and load(labels, state >> 1, int64) != load(labels, other >> 1, int64)


#: Which neighbours of a state come before it in a recursion: -1 from the beginning, 1 from the end.
towards = variable("towards")


@kernel(
    variants={
        f"{name}_{dtype}": {"towards": step, **values}
        for name, step in (("forward", -1), ("backward", 1))
        for dtype, values in _FLOATS.items()
    },
    named="{variant}",
    takes=Sequences,
)
def recursion(args, lo, hi):
    """A table over the batch, written from one end of time to the other.

    From the beginning (``towards`` -1: a state follows itself, the one before, or the one before
    that) come the logarithms of the probabilities to be in a state at a time; from the end (1)
    those of what follows a state, that state included.
    """
    given = Sequences(args)
    table, row = given.output, given.probabilities
    batch, steps, states = given.batch, given.steps, given.states
    classes, blank = given.classes, given.blank
    for b in range(lo, hi):
        labels = given.labels + 8 * load(given.starts, b, int64)
        own = 2 * load(given.counts, b, int64) + 1
        length = load(given.lengths, b, int64)
        first = b * steps * states
        for k in range(first, first + steps * states):
            store(table, k, _NEVER, float64)
        for turn in range(length):
            t = turn if towards < 0 else length - 1 - turn
            position = (t * batch + b) * classes
            known = first + (t + towards) * states
            for s in range(own):
                edge = s if towards < 0 else own - 1 - s  # states up to where it begins
                value = _NEVER
                if turn == 0:
                    if edge < 2:
                        value = 0.0
                else:
                    value = load(table, known + s, float64)
                    if edge > 0:
                        value = _joined(value, load(table, known + s + towards, float64))
                    if edge > 1 and _skips(labels, s, s + 2 * towards):
                        other = load(table, known + s + 2 * towards, float64)
                        value = _joined(value, other)
                value += float64(load(row, position + _label(labels, s, blank), element))
                store(table, first + t * states + s, value, float64)


@kernel(variants=_FLOATS, takes=Losses)
def losses(args, lo, hi):
    """output[b] = minus the logarithm of the probability of a target."""
    given = Losses(args)
    output, table = given.output, given.table
    steps, states = given.steps, given.states
    for b in range(lo, hi):
        count = load(given.counts, b, int64)
        length = load(given.lengths, b, int64)
        value = _NEVER
        if length == 0:
            if count == 0:
                value = 0.0
        else:
            last = (b * steps + length - 1) * states + 2 * count
            value = load(table, last, float64)
            if count > 0:
                value = _joined(value, load(table, last - 1, float64))
        store(output, b, real(-value), element)


@kernel(variants=_FLOATS, takes=Gradient)
def gradient(args, lo, hi):
    """The gradient of scores whose log_softmax the log probabilities are, over the batch.

    ``alpha`` and ``beta`` are the tables of both recursions. With ``zero_infinite`` the gradients
    of infinite losses are zero.
    """
    given = Gradient(args)
    output, row = given.output, given.probabilities
    batch, steps, states = given.batch, given.steps, given.states
    classes, blank = given.classes, given.blank
    alpha, beta = given.alpha, given.beta
    for b in range(lo, hi):
        labels = given.labels + 8 * load(given.starts, b, int64)
        own = 2 * load(given.counts, b, int64) + 1
        length = load(given.lengths, b, int64)
        loss = float64(load(given.losses, b, element))
        factor = float64(load(given.gradients, b, element))
        if loss == -_NEVER and given.zero_infinite != 0:
            length = 0
        for t in range(steps):
            position = (t * batch + b) * classes
            if t >= length:
                for c in range(classes):
                    store(output, position + c, real(0), element)
                continue
            for c in range(classes):
                store(output, position + c, real(_NEVER), element)
            first = (b * steps + t) * states
            for s in range(own):
                c = position + _label(labels, s, blank)
                value = load(alpha, first + s, float64) + load(beta, first + s, float64)
                so_far = float64(load(output, c, element))
                store(output, c, real(_joined(so_far, value)), element)
            for c in range(classes):
                own_log = float64(load(row, position + c, element))
                joint = float64(load(output, position + c, element))
                value = _exp(own_log) - _exp(joint + loss - own_log)
                store(output, position + c, real(value * factor), element)
