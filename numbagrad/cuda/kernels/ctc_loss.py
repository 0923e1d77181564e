"""Connectionist temporal classification (Graves et al., 2006): tables, losses, gradients.

Parameters are those of the kernels of these names in ``numbagrad.kernels.losses.ctc_loss``. A block
makes the table of a sequence: its threads take the states of a step and meet before the next one.
Labels were checked without waiting (``cuda/asserts.py``): one out of bounds counts as the class 0.
"""

from __future__ import annotations

from ..driver.source import Source
from .indexing import INSIDE
from .text import indented, numba_name

_FUNCTIONS = (
    *INSIDE,
    "def joined(a, b):",
    "    most = max(a, b)",
    "    made = float64(-math.inf)",
    "    if most > float64(-math.inf):",
    "        made = math.log(math.exp(a - most) + math.exp(b - most)) + most",
    "    return made",
    "",
    "",
    "def label(labels, state, blank, classes):",
    "    made = int64(blank)",
    "    if state % 2 == 1:",
    "        made = inside(load(labels, state // 2, int64), classes)",
    "    return made",
    "",
    "",
)
_SEQUENCES = (
    "output", "logs", "labels_of_all", "starts", "counts", "lengths", "batch", "steps", "states",
    "classes", "blank",
)  # fmt: skip
_OWN = [
    "labels = labels_of_all + 8 * load(starts, b, int64)",
    "own = 2 * load(counts, b, int64) + 1",
    "length = load(lengths, b, int64)",
]


def _made(
    name: str, dtype: str, parameters: tuple[str, ...], body: list[str], threads: int
) -> Source:
    text = [f"# ctc {name} of {dtype}", *_FUNCTIONS, f"def kernel({', '.join(parameters)}):"]
    return Source(f"ctc_{name}", "\n".join([*text, *indented(1, body), ""]), threads)


def recursion_source(dtype: str, towards: int, threads: int) -> Source:
    """A table over the batch, from the beginning of time (-1) or from its end (1)."""
    kind, back = numba_name(dtype), towards > 0
    step = [
        f"edge = {'own - 1 - s' if back else 's'}",
        "value = float64(-math.inf)",
        "if turn == 0:",
        "    if edge < 2:",
        "        value = float64(0)",
        "else:",
        "    value = load(output, known + s, float64)",
        "    if edge > 0:",
        f"        value = joined(value, load(output, known + s + {towards}, float64))",
        "    if edge > 1 and s % 2 == 1:",
        f"        other = load(labels, (s + {2 * towards}) // 2, int64)",
        "        if load(labels, s // 2, int64) != other:",
        f"            value = joined(value, load(output, known + s + {2 * towards}, float64))",
        "c = label(labels, s, blank, classes)",
        f"value += float64(load(logs, (t * batch + b) * classes + c, {kind}))",
        "store(output, first + t * states + s, value, float64)",
    ]
    body = [
        "thread = int64(cuda.threadIdx.x)",
        "for b in range(cuda.blockIdx.x, batch, cuda.gridDim.x):",
        *indented(1, _OWN),
        "    first = b * steps * states",
        f"    for k in range(first + thread, first + steps * states, {threads}):",
        "        store(output, k, float64(-math.inf), float64)",
        "    cuda.syncthreads()",
        "    for turn in range(length):",
        f"        t = {'length - 1 - turn' if back else 'turn'}",
        f"        known = first + (t + {towards}) * states",
        f"        for s in range(thread, own, {threads}):",
        *indented(3, step),
        "        cuda.syncthreads()",
    ]
    name = "backward" if back else "forward"
    return _made(name, dtype, (*_SEQUENCES, "total"), body, threads)


def losses_source(dtype: str, threads: int) -> Source:
    """Minus the logarithm of the probability of each target."""
    kind = numba_name(dtype)
    body = [
        "for b in range(cuda.grid(1), batch, cuda.gridsize(1)):",
        "    count = load(counts, b, int64)",
        "    length = load(lengths, b, int64)",
        "    value = float64(-math.inf)",
        "    if length == 0:",
        "        if count == 0:",
        "            value = float64(0)",
        "    else:",
        "        last = (b * steps + length - 1) * states + 2 * count",
        "        value = load(table, last, float64)",
        "        if count > 0:",
        "            value = joined(value, load(table, last - 1, float64))",
        f"    store(output, b, {kind}(-value), {kind})",
    ]
    return _made("losses", dtype, (*_SEQUENCES, "table", "total"), body, threads)


def gradient_source(dtype: str, threads: int) -> Source:
    """The gradient of scores: a thread for each class of each step of each sequence."""
    kind = numba_name(dtype)
    body = [
        "for at in range(cuda.grid(1), steps * batch * classes, cuda.gridsize(1)):",
        "    row = at // classes",
        "    c = at - row * classes",
        "    t = row // batch",
        "    b = row - t * batch",
        *indented(1, _OWN),
        f"    loss = float64(load(losses, b, {kind}))",
        "    if loss == float64(math.inf) and zero_infinite != 0:",
        "        length = int64(0)",
        "    value = float64(0)",
        "    if t < length:",
        "        first = (b * steps + t) * states",
        "        joint = float64(-math.inf)",
        "        for s in range(own):",
        "            if label(labels, s, blank, classes) == c:",
        "                both = load(alpha, first + s, float64) + load(beta, first + s, float64)",
        "                joint = joined(joint, both)",
        f"        log = float64(load(logs, at, {kind}))",
        "        value = math.exp(log) - math.exp(joint + loss - log)",
        f"        value *= float64(load(gradients, b, {kind}))",
        f"    store(output, at, {kind}(value), {kind})",
    ]
    parameters = (*_SEQUENCES, "alpha", "beta", "losses", "gradients", "zero_infinite", "total")
    return _made("gradient", dtype, parameters, body, threads)
