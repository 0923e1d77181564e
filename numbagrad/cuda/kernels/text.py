"""Shared parts of texts of kernels: elements in memory, and positions of strided operands."""

from __future__ import annotations

from ...kernels.pointwise.source import ITEM_SIZES, loaded_as, numba_name

__all__ = ["ITEM_SIZES", "decoded", "indented", "loaded", "loaded_as", "numba_name", "stored"]


def loaded(element: str, dtype: str, wanted: str, rounded: str = "") -> str:
    """The value of an element (``"address, index"``) of a dtype, as one of the dtype ``wanted``."""
    return converted(f"load({element}, {numba_name(dtype)})", dtype, wanted, rounded)


def converted(value: str, dtype: str, wanted: str, rounded: str = "") -> str:
    """A loaded element of a dtype as a value of the dtype ``wanted``."""
    if rounded:
        return f"rounded(float32({value}), {rounded})"
    if loaded_as(dtype) == wanted:
        return value
    if wanted == "bool":
        return f"({value} != 0)"
    return f"{numba_name(wanted)}({value})"


def passed(value: str, dtype: str) -> str:
    """A computed value as ``store`` takes it for memory of a dtype."""
    return f"({value} != 0)" if dtype == "bool" else f"{numba_name(loaded_as(dtype))}({value})"


def stored(element: str, value: str, dtype: str) -> str:
    """The statement that writes a value to an element (``"address, index"``) of a dtype."""
    return f"store({element}, {passed(value, dtype)}, {numba_name(dtype)})"


def decoded(index: str, sizes: list[str], small: bool) -> list[str]:
    """Statements that take an index apart into ``c0``, ``c1``, ... of dimensions, outermost first.

    ``small`` says that the index is below 2**31, where division is several times faster.
    """
    lines = [f"rest = {index}"]
    for d in reversed(range(1, len(sizes))):
        whole = f"quotient(rest, {sizes[d]})" if small else f"rest // {sizes[d]}"
        lines += [f"outer = {whole}", f"c{d} = rest - outer * {sizes[d]}", "rest = outer"]
    return [*lines, "c0 = rest"] if sizes else []


def indented(depth: int, lines: list[str]) -> list[str]:
    """Lines so many levels further in."""
    return ["    " * depth + line for line in lines]
