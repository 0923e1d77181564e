"""Attention: softmax of scores times values, with no matrix of scores in memory.

A block has some queries of a head and walks along the keys: scores of a tile in registers, the
softmax of a query carried on from tile to tile (Milakov and Gimelshein, 2018; Dao et al., 2022).
The backward computes scores again from the logarithm of their sums, once by blocks of keys and
once by blocks of queries, so that no two blocks write to one place. Half precision is summed in
float32. Called by ``cuda/attention.py``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ...formula import exp, log, print_numba, trace
from ..driver.source import Source
from .text import indented, loaded, loaded_as, numba_name, stored
from .warps import within_warp

FORWARD, PRODUCTS, OF_QUERIES = "attend", "attend rows", "attend dquery"
OF_KEYS, OF_VALUES, OF_BOTH = "attend dkey", "attend dvalue", "attend dkey and dvalue"

#: The parameters of all of them: sizes, and strides in elements of the operands (batch, head, row,
#: column), 0 in a mask that repeats.
OPERANDS = ("query", "key", "value", "mask", "grad")
PARAMETERS = (
    *[f"at_{x}" for x in OPERANDS], "at_result", "at_logarithms", "at_products", "at_more",
    "word_scale", "heads", "all_heads", "queries", "keys",
    *[f"{x}_s{d}" for x in OPERANDS for d in range(4)],
)  # fmt: skip

#: Shared memory that a block may have without asking for more.
_ROOM = 48 << 10


@dataclasses.dataclass(frozen=True)
class Signature:
    """The signature of a kernel: a tile is ``block`` queries by ``block`` keys.

    ``side`` squared is the number of threads; ``width`` and ``wide`` are those of keys and values.
    """

    what: str
    dtype: str
    width: int
    wide: int
    causal: bool
    masked: bool
    side: int
    block: int

    @property
    def kind(self) -> str:
        """The dtype that the kernel computes in."""
        return numba_name(loaded_as(self.dtype))

    @property
    def tile(self) -> int:
        """Queries, and keys, of a thread."""
        return self.block // self.side

    def pitch(self, width: int) -> int:
        """Elements from row to row of a tile in shared memory."""
        return _padded(width, self.side) + 1

    def registers(self, width: int) -> int:
        """Registers that a thread needs for sums of rows of a width."""
        size = 2 if self.dtype == "float64" else 1
        return self.tile * _padded(width, self.side) // self.side * size


#: The most registers of a thread for sums of rows; those of keys and values together.
MOST_REGISTERS, MOST_OF_BOTH = 64, 48


def gradients_of_keys(s: Signature) -> tuple[str, ...]:
    """Which kernels make the gradients of keys and of values: one for both if they have room."""
    both = s.registers(s.width) + s.registers(s.wide) <= MOST_OF_BOTH
    return (OF_BOTH,) if both else (OF_KEYS, OF_VALUES)


def _padded(width: int, side: int) -> int:
    return -(-width // side) * side


def block_for(itemsize: int, width: int, wide: int) -> int:
    """The largest tile that fits shared memory in every kernel: 4 tiles of rows and one of scores.

    Raises:
        NotImplementedError: where not even the smallest does.
    """
    for block in (32, 16, 8, 4):
        side = min(block, 16)
        rows = 2 * (_padded(width, side) + 1) + 2 * (_padded(wide, side) + 1)
        if block * (rows + block + 1) * itemsize <= _ROOM:
            return block
    raise NotImplementedError(f"attention of {width} and {wide} columns on the device 'cuda'")


# --- what the texts have in common ----------------------------------------------------------------


def _functions(s: Signature) -> list[str]:
    """The functions ``exponential`` and ``logarithm``, as formulas have them."""
    text: list[str] = []
    for name, function in (("exponential", exp), ("logarithm", log)):
        lines, results = print_numba(trace(function, ("x",)), loaded_as(s.dtype))
        text += [f"def {name}(x):", *indented(1, [*lines, f"return {results[0]}"]), "", ""]
    return text


def _tile(s: Signature, name: str, width: int) -> str:
    """The declaration of rows in shared memory."""
    return f"{name}_tile = cuda.shared.array({s.block * s.pitch(width)}, {s.kind})"


def _fetched(s: Signature, operand: str, width: int, first: str, end: str) -> list[str]:
    """Rows of an operand from ``first`` on to shared memory; zero beyond the end and the width."""
    whole = _padded(width, s.side)
    at = f"from_{operand}, (begin + r) * {operand}_s2 + c * {operand}_s3"
    return [
        f"begin = {first}",
        f"for l in range(thread, {s.block * whole}, {s.side * s.side}):",
        f"    r = l // {whole}",
        f"    c = l - r * {whole}",
        f"    x = {s.kind}(0)",
        f"    if begin + r < {end}{f' and c < {width}' if whole != width else ''}:",
        f"        x = {loaded(at, s.dtype, loaded_as(s.dtype))}",
        f"    {operand}_tile[r * {s.pitch(width)} + c] = x",
    ]


def _multiplied(
    into: str, rows: int, columns: int, depth: int, x: Callable[[int], str], y: Callable[[int], str]
) -> list[str]:
    """``into_i_j += sum over k of x(i) * y(j)``, where these are places in shared memory."""
    body = [
        *[f"x_{i} = {x(i)}" for i in range(rows)],
        *[f"y_{j} = {y(j)}" for j in range(columns)],
        *[f"{into}_{i}_{j} = fma(x_{i}, y_{j}, {into}_{i}_{j})"
          for i in range(rows) for j in range(columns)],
    ]  # fmt: skip
    return [f"for k in range({depth}):", *indented(1, body)]


def _zeros(s: Signature, names: dict[str, int], rows: int) -> list[str]:
    return [f"{x}_{i}_{j} = {s.kind}(0)" for x, columns in names.items()
            for i in range(rows) for j in range(columns)]  # fmt: skip


def _scores(s: Signature, by_keys: bool) -> list[str]:
    """Scores ``s_i_j`` of a tile, from ``first_query`` and ``first_key`` on.

    Thread (down, right) has rows ``down + side * i`` and columns ``right + side * j``; rows are
    queries, or keys.
    """
    rows, columns = ("key", "query") if by_keys else ("query", "key")
    pitch = s.pitch(s.width)
    lines = _zeros(s, {"s": s.tile}, s.tile)
    lines += _multiplied(
        "s", s.tile, s.tile, s.width,
        lambda i: f"{rows}_tile[(down + {i * s.side}) * {pitch} + k]",
        lambda j: f"{columns}_tile[(right + {j * s.side}) * {pitch} + k]",
    )  # fmt: skip
    for i in range(s.tile):
        for j in range(s.tile):
            own = {rows: f"first_{rows} + down + {i * s.side}",
                   columns: f"first_{columns} + right + {j * s.side}"}  # fmt: skip
            lines += [f"q = {own['query']}", f"key = {own['key']}"]
            lines.append(f"s_{i}_{j} = s_{i}_{j} * scale")
            seen = "key < keys" + (" and key <= q" if s.causal else "")
            if s.masked:
                at = "from_mask, q * mask_s2 + key * mask_s3"
                mask = loaded(at, s.dtype, loaded_as(s.dtype))
                lines += ["if q < queries and key < keys:", f"    s_{i}_{j} += {mask}"]
            lines.append(f"s_{i}_{j} = s_{i}_{j} if {seen} else {s.kind}(-math.inf)")
    return lines


def _begin(s: Signature, operands: list[str]) -> list[str]:
    """Where the operands of a head begin."""
    lines = ["batch = head // heads", "own = head - batch * heads"]
    for x in operands:
        size = {"float64": 8, "float32": 4}.get(s.dtype, 2)
        lines.append(f"from_{x} = at_{x} + (batch * {x}_s0 + own * {x}_s1) * {size}")
    return lines


def _source(s: Signature, shared: list[str], units: str, body: list[str]) -> Source:
    """A kernel whose blocks take units of work, each a block of rows of a head."""
    options = f"{s.width} and {s.wide} wide{', causal' * s.causal}{', masked' * s.masked}"
    text = [f"# {s.what} of {s.dtype}: {options}", *_functions(s)]
    text.append(f"def kernel({', '.join(PARAMETERS)}):")
    inside = [
        *shared,
        "thread = int64(cuda.threadIdx.x)",
        f"down = thread // {s.side}",
        f"right = thread - down * {s.side}",
        f"scale = {s.kind}(from_bits(word_scale))",
        f"blocks = ({units} + {s.block - 1}) // {s.block}",
        "for unit in range(cuda.blockIdx.x, all_heads * blocks, cuda.gridDim.x):",
        "    head = unit // blocks",
        f"    first = (unit - head * blocks) * {s.block}",
        *indented(1, body),
    ]
    text += [*indented(1, inside), ""]
    return Source(s.what.replace(" ", "_"), "\n".join(text), s.side * s.side)


def source(s: Signature) -> Source:
    """The kernel of a signature."""
    made = {FORWARD: _forward, PRODUCTS: _products, OF_QUERIES: _of_queries}
    return made.get(s.what, _of_keys)(s)


# --- forward --------------------------------------------------------------------------------------


def _forward(s: Signature) -> Source:
    """Result and logarithm of the sum of each query; 0 and infinity for one that sees no key."""
    tile, wide = range(s.tile), range(_padded(s.wide, s.side) // s.side)
    shared = [_tile(s, "query", s.width), _tile(s, "key", s.width), _tile(s, "value", s.wide)]
    shared.append(_tile(s, "weight", s.block))
    least = f"{s.kind}(-math.inf)"
    step = [
        "cuda.syncthreads()",
        *_fetched(s, "key", s.width, "first_key", "keys"),
        *_fetched(s, "value", s.wide, "first_key", "keys"),
        "cuda.syncthreads()",
        *_scores(s, by_keys=False),
    ]
    for i in tile:
        step += [f"most = {least}", *[f"most = max(most, s_{i}_{j})" for j in tile]]
        step += within_warp("most", "max", s.side)
        step += [
            f"most = max(most, most_{i})",
            f"shift = {s.kind}(0) if most == {least} else most",
            f"factor = exponential(most_{i} - shift)",
            f"most_{i} = most",
            f"total_{i} = total_{i} * factor",
            *[f"o_{i}_{j} = o_{i}_{j} * factor" for j in wide],
        ]
        for j in tile:
            at = f"(down + {i * s.side}) * {s.pitch(s.block)} + right + {j * s.side}"
            step += [
                f"p = exponential(s_{i}_{j} - shift)",
                f"total_{i} = total_{i} + p",
                f"weight_tile[{at}] = p",
            ]
    step += [
        "cuda.syncthreads()",
        *_multiplied(
            "o", s.tile, len(wide), s.block,
            lambda i: f"weight_tile[(down + {i * s.side}) * {s.pitch(s.block)} + k]",
            lambda j: f"value_tile[k * {s.pitch(s.wide)} + right + {j * s.side}]",
        ),
    ]  # fmt: skip
    body = [
        "first_query = first",
        *_begin(s, ["query", "key", "value", *["mask"] * s.masked]),
        "cuda.syncthreads()",
        *_fetched(s, "query", s.width, "first_query", "queries"),
        *[f"most_{i} = {least}" for i in tile],
        *[f"total_{i} = {s.kind}(0)" for i in tile],
        *_zeros(s, {"o": len(wide)}, s.tile),
        f"last = min(keys, first_query + {s.block})" if s.causal else "last = keys",
        f"for first_key in range(0, last, {s.block}):",
        *indented(1, step),
    ]
    for i in tile:
        body += within_warp(f"total_{i}", "add", s.side)
        inside = [
            "row = head * queries + q",
            f"factor = {s.kind}(1) / total_{i} if total_{i} != 0 else {s.kind}(0)",
            "if right == 0:",
            f"    summed = {s.kind}(math.inf)",
            f"    if total_{i} != 0:",
            f"        summed = most_{i} + logarithm(total_{i})",
            f"    store(at_logarithms, row, summed, {s.kind})",
        ]
        inside += _written(s, "at_result", s.wide, f"o_{i}", " * factor")
        body += [f"q = first_query + down + {i * s.side}", "if q < queries:", *indented(1, inside)]
    return _source(s, shared, "queries", body)


def _written(s: Signature, at: str, width: int, value: str, then: str = "") -> list[str]:
    """Write what a thread has of ``row`` of a contiguous result: ``value_j`` of column j."""
    lines = []
    for j in range(_padded(width, s.side) // s.side):
        write = stored(f"{at}, row * {width} + right + {j * s.side}", f"{value}_{j}{then}", s.dtype)
        lines += [f"if right + {j * s.side} < {width}:", f"    {write}"]
    return lines


# --- backward -------------------------------------------------------------------------------------


def _products(s: Signature) -> Source:
    """The dot product of gradient and result of each query, by a thread: ``products``."""
    of_grad = "from_grad, q * grad_s2 + c * grad_s3"
    of_result = f"at_result, (head * queries + q) * {s.wide} + c"
    inside = [
        f"total = {s.kind}(0)",
        f"for c in range({s.wide}):",
        f"    x = {loaded(of_grad, s.dtype, loaded_as(s.dtype))}",
        f"    y = {loaded(of_result, s.dtype, loaded_as(s.dtype))}",
        "    total = fma(x, y, total)",
        f"store(at_products, head * queries + q, total, {s.kind})",
    ]
    text = [f"# {s.what} of {s.dtype}", f"def kernel({', '.join(PARAMETERS)}):"]
    text += ["    for unit in range(cuda.grid(1), all_heads * queries, cuda.gridsize(1)):"]
    text += indented(2, ["head = unit // queries", "q = unit - head * queries"])
    text += indented(2, [*_begin(s, ["grad"]), *inside])
    return Source(s.what.replace(" ", "_"), "\n".join([*text, ""]), s.side * s.side)


def _differentiated(s: Signature, by_keys: bool) -> list[str]:
    """Weights in place of scores, and gradients of scores ``d_i_j``."""
    rows, columns = ("value", "grad") if by_keys else ("grad", "value")
    pitch = s.pitch(s.wide)
    lines = _zeros(s, {"d": s.tile}, s.tile)
    lines += _multiplied(
        "d", s.tile, s.tile, s.wide,
        lambda i: f"{rows}_tile[(down + {i * s.side}) * {pitch} + k]",
        lambda j: f"{columns}_tile[(right + {j * s.side}) * {pitch} + k]",
    )  # fmt: skip
    for number in range(s.tile):
        position = f"{'right' if by_keys else 'down'} + {number * s.side}"
        lines += [
            f"q = first_query + {position}",
            f"logarithm_{number} = {s.kind}(math.inf)",
            f"product_{number} = {s.kind}(0)",
            "if q < queries:",
            f"    logarithm_{number} = load(at_logarithms, head * queries + q, {s.kind})",
            f"    product_{number} = load(at_products, head * queries + q, {s.kind})",
        ]
    for i in range(s.tile):
        for j in range(s.tile):
            own = j if by_keys else i
            lines += [
                f"s_{i}_{j} = exponential(s_{i}_{j} - logarithm_{own})",
                f"d_{i}_{j} = s_{i}_{j} * (d_{i}_{j} - product_{own}) * scale",
            ]
    return lines


def _kept(s: Signature, value: str) -> list[str]:
    """Write a thread's part of a tile to shared memory, for all."""
    return [
        "cuda.syncthreads()",
        *[f"weight_tile[(down + {i * s.side}) * {s.pitch(s.block)} + right + {j * s.side}] = "
          f"{value}_{i}_{j}" for i in range(s.tile) for j in range(s.tile)],
        "cuda.syncthreads()",
    ]  # fmt: skip


def _summed(s: Signature, into: str, operand: str, width: int) -> list[str]:
    """Add the tile of weights times rows of an operand."""
    return _multiplied(
        into, s.tile, _padded(width, s.side) // s.side, s.block,
        lambda i: f"weight_tile[(down + {i * s.side}) * {s.pitch(s.block)} + k]",
        lambda j: f"{operand}_tile[k * {s.pitch(width)} + right + {j * s.side}]",
    )  # fmt: skip


def _backward_tiles(s: Signature) -> list[str]:
    widths = {"query": s.width, "key": s.width, "value": s.wide, "grad": s.wide, "weight": s.block}
    return [_tile(s, name, width) for name, width in widths.items()]


def _of_queries(s: Signature) -> Source:
    """The gradient of the queries."""
    columns = _padded(s.width, s.side) // s.side
    step = [
        "cuda.syncthreads()",
        *_fetched(s, "key", s.width, "first_key", "keys"),
        *_fetched(s, "value", s.wide, "first_key", "keys"),
        "cuda.syncthreads()",
        *_scores(s, by_keys=False),
        *_differentiated(s, by_keys=False),
        *_kept(s, "d"),
        *_summed(s, "o", "key", s.width),
    ]
    body = [
        "first_query = first",
        *_begin(s, ["query", "key", "value", "grad", *["mask"] * s.masked]),
        "cuda.syncthreads()",
        *_fetched(s, "query", s.width, "first_query", "queries"),
        *_fetched(s, "grad", s.wide, "first_query", "queries"),
        *_zeros(s, {"o": columns}, s.tile),
        f"last = min(keys, first_query + {s.block})" if s.causal else "last = keys",
        f"for first_key in range(0, last, {s.block}):",
        *indented(1, step),
    ]
    for i in range(s.tile):
        inside = ["row = head * queries + q"]
        inside += _written(s, "at_result", s.width, f"o_{i}")
        body += [f"q = first_query + down + {i * s.side}", "if q < queries:", *indented(1, inside)]
    return _source(s, _backward_tiles(s), "queries", body)


def _of_keys(s: Signature) -> Source:
    """The gradients of the keys (``result``), of the values (``more``), or of both."""
    of_keys, of_values = s.what != OF_VALUES, s.what != OF_KEYS
    columns = {}
    if of_keys:
        columns["o"] = _padded(s.width, s.side) // s.side
    if of_values:
        columns["v"] = _padded(s.wide, s.side) // s.side
    step = [
        "cuda.syncthreads()",
        *_fetched(s, "query", s.width, "first_query", "queries"),
        *_fetched(s, "grad", s.wide, "first_query", "queries"),
        "cuda.syncthreads()",
        *_scores(s, by_keys=True),
        *_differentiated(s, by_keys=True),
    ]
    if of_values:
        step += [*_kept(s, "s"), *_summed(s, "v", "grad", s.wide)]
    if of_keys:
        step += [*_kept(s, "d"), *_summed(s, "o", "query", s.width)]
    body = [
        "first_key = first",
        *_begin(s, ["query", "key", "value", "grad", *["mask"] * s.masked]),
        "cuda.syncthreads()",
        *_fetched(s, "key", s.width, "first_key", "keys"),
        *_fetched(s, "value", s.wide, "first_key", "keys"),
        *_zeros(s, columns, s.tile),
        f"for first_query in range({'first_key' if s.causal else '0'}, queries, {s.block}):",
        *indented(1, step),
    ]
    for i in range(s.tile):
        inside = ["row = head * keys + key"]
        if of_keys:
            inside += _written(s, "at_result", s.width, f"o_{i}")
        if of_values:
            inside += _written(s, "at_more", s.wide, f"v_{i}")
        body += [f"key = first_key + down + {i * s.side}", "if key < keys:", *indented(1, inside)]
    return _source(s, _backward_tiles(s), "keys", body)
