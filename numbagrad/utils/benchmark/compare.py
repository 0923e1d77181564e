"""``Compare``: measurements as a table, statements down and descriptions across."""

from __future__ import annotations

from collections.abc import Iterable

from .timer import Measurement, unit_of

__all__ = ["Compare"]


class Compare:
    """A table of medians.

    Args:
        results: measurements; ``label`` makes a table, ``sub_label`` and environment a row,
            ``description`` a column.
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._digits = 2
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements.

        Raises:
            ValueError: for what is none.
        """
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(
                    f"Expected an instance of `Measurement`, got {type(each)} instead."
                )
            self._results.append(each)

    def trim_significant_figures(self) -> None:
        """Write fewer digits."""
        self._digits = 1

    def colorize(self, rowwise: bool = False) -> None:
        """Accepted for torch's sake: the table has no colours."""

    def highlight_warnings(self) -> None:
        """Accepted for torch's sake: the table has no colours."""

    def _table(self, results: list[Measurement]) -> list[str]:
        unit, name = unit_of(min(each.median for each in results))
        columns = list(dict.fromkeys(each.description or "" for each in results))
        cells: dict[tuple[int, str, str], dict[str, str]] = {}
        for each in results:
            row = cells.setdefault((each.num_threads, each.env or "", each.as_row_name), {})
            row[each.description or ""] = f"{each.median / unit:.{self._digits}f}"
        widths = [max(len(c), *(len(r.get(c, "")) for r in cells.values())) for c in columns]
        names = {key: f"({key[1]}) {key[2]}" if key[1] else key[2] for key in cells}
        left = max(len(text) for text in names.values())
        head = " | ".join(f"{c:>{w}}" for c, w in zip(columns, widths, strict=True))
        lines = [f"[ {results[0].label or results[0].stmt} ]", f"{'':{left}} | {head}"]
        threads = None
        for key, row in cells.items():
            if key[0] != threads:
                threads = key[0]
                lines.append(f"{threads} threads: ".ljust(left + 3 + len(head), "-"))
            values = " | ".join(
                f"{row.get(c, ''):>{w}}" for c, w in zip(columns, widths, strict=True)
            )
            lines.append(f"{names[key]:{left}} | {values}")
        long = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
        return [*lines, "", f"Times are in {long[name]} ({name})."]

    def __str__(self) -> str:
        tables: dict[str, list[Measurement]] = {}
        for each in Measurement.merge(self._results):
            tables.setdefault(each.label or each.stmt, []).append(each)
        return "\n\n".join("\n".join(self._table(each)) for each in tables.values())

    def print(self) -> None:
        """Print the table."""
        print(self)
