"""Random numbers: Philox 4x32-10 (Salmon et al., 2011), a counter for each four words of 32 bits.

Which words an element has follows from the seed, how many counters were used before, and its place
alone, so blocks and threads change nothing. What a distribution makes of a uniform or normal number
is a formula. Called by ``cuda/philox.py``.
"""

from __future__ import annotations

from ..driver.source import Source
from .pointwise import Body
from .text import indented, stored

WORDS = ("at_out", "total", "seed", "counter", "word_a", "word_b")
UNIFORM, NORMAL = "u", "z"

PHILOX = """
def philox(counter, more, key):
    mask = 0xFFFFFFFF
    c0, c1, c2, c3 = counter & mask, (counter >> 32) & mask, more & mask, (more >> 32) & mask
    k0, k1 = key & mask, (key >> 32) & mask
    for _ in range(10):
        p = c0 * int64(0xD2511F53)
        q = c2 * int64(0xCD9E8D57)
        c0, c1 = ((q >> 32) & mask) ^ c1 ^ k0, q & mask
        c2, c3 = ((p >> 32) & mask) ^ c3 ^ k1, p & mask
        k0 = (k0 + int64(0x9E3779B9)) & mask
        k1 = (k1 + int64(0xBB67AE85)) & mask
    return c0, c1, c2, c3

"""


def elements_of_counter(wide: bool) -> int:
    """How many elements the words of a counter make: one each, or wide ones of two words."""
    return 2 if wide else 4


def _around(name: str, functions: list[str], wide: bool, inside: list[str], threads: int) -> Source:
    """The kernel whose threads take counters: ``w0`` to ``w3``, for elements from ``at`` on."""
    count = elements_of_counter(wide)
    lines = [
        f"counters = (total + {count - 1}) // {count}",
        "for g in range(cuda.grid(1), counters, cuda.gridsize(1)):",
        "    w0, w1, w2, w3 = philox(counter + g, int64(0), seed)",
        f"    at = g * {count}",
        *indented(1, inside),
    ]
    text = [f"# {name}", PHILOX, *functions, f"def kernel({', '.join(WORDS)}):"]
    return Source(name, "\n".join([*text, *indented(1, lines), ""]), threads)


def _uniform(k: int, kind: str) -> str:
    """The k-th number in [0, 1), of 24 or 53 bits."""
    if kind == "float32":
        return f"float32(w{k} >> 8) * float32({2.0**-24!r})"
    return f"float64((w{2 * k} << 21) | (w{2 * k + 1} >> 11)) * float64({2.0**-53!r})"


def real_source(
    name: str, dtype: str, kind: str, normal: Body | None, body: Body, threads: int
) -> Source:
    """A formula of one random number (``u``, or ``z`` with ``normal``) and numbers ``a`` and ``b``.

    Args:
        kind: what it is computed in, float32 or float64; ``dtype`` is that of the elements.
        normal: the formula of two normal numbers of two uniform ones, ``u`` and ``v``.
    """
    wide = kind == "float64"
    count = elements_of_counter(wide)
    given = UNIFORM if normal is None else NORMAL
    text = [f"def element({given}, a, b):",
            *indented(1, [*body.lines, f"return {body.results[0]}"]), "", ""]  # fmt: skip
    inside = [f"a = {kind}(from_bits(word_a))", f"b = {kind}(from_bits(word_b))"]
    inside += [f"x{k} = {_uniform(k, kind)}" for k in range(count)]
    if normal is not None:
        text += ["def pair(u, v):", *indented(1, list(normal.lines)),
                 f"    return {normal.results[0]}, {normal.results[1]}", "", ""]  # fmt: skip
        inside += [f"x{k}, x{k + 1} = pair(x{k}, x{k + 1})" for k in range(0, count, 2)]
    for k in range(count):
        write = stored(f"at_out, at + {k}", f"element(x{k}, a, b)", dtype)
        inside += [f"if at + {k} < total:", f"    {write}"]
    return _around(f"{name} of {dtype} by {kind}", text, wide, inside, threads)


def integers_source(dtype: str, threads: int) -> Source:
    """``word_b`` plus a number of 64 bits modulo ``word_a``, which counts as unsigned; 0 is 2**64.

    The lower bits are a little more likely, as in torch, by the range over 2**63 at most.
    """
    least = "int64(-9223372036854775808)"
    text = [
        "def element(x, number, low):",
        "    made = x",
        "    if number > 0:",
        "        made = low + ((x >> 1) & int64(0x7FFFFFFFFFFFFFFF)) % number",
        "    if number < 0:",
        f"        if (x ^ {least}) >= (number ^ {least}):",
        "            made = x - number",
        "        made = low + made",
        "    return made",
        "", "",
    ]  # fmt: skip
    inside: list[str] = []
    for k in range(2):
        value = f"element((w{2 * k} << 32) | w{2 * k + 1}, word_a, word_b)"
        if dtype == "bool":
            value = f"({value} & 1)"
        inside += [
            f"if at + {k} < total:",
            f"    {stored(f'at_out, at + {k}', value, dtype)}",
        ]
    return _around(f"integers of {dtype}", text, True, inside, threads)
