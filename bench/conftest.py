"""The fixture ``race`` and the option ``--rows`` that writes what was measured to a file."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from collections.abc import Callable

import pytest
import torch

import numbagrad

from .race import Row, in_turns

THREADS = int(os.environ.get("BENCH_THREADS", "1"))
torch.set_num_threads(THREADS)
numbagrad.set_num_threads(THREADS)

_rows: list[Row] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rows", type=pathlib.Path, help="write the measured rows as JSON")


@pytest.fixture
def race(benchmark, request) -> Callable[..., Row]:
    """``race(table, name, bar=..., numbagrad=f, torch=g, ...)``: time the contestants in turns."""

    def run(
        table: str,
        name: str,
        *,
        bar: float | None = None,
        work: float | None = None,
        **contestants: Callable[[], object],
    ) -> Row:
        row = Row(table, name, THREADS, in_turns(contestants), bar, work)
        benchmark.pedantic(contestants["numbagrad"], rounds=3, iterations=1)
        benchmark.extra_info.update(seconds=row.seconds, ratio=row.ratio, bar=bar)
        print(f"{table} | {name} | {row.ratio:.2f}", row.seconds)
        _rows.append(row)
        return row

    return run


@pytest.fixture
def record() -> Callable[..., Row]:
    """``record(table, name, bar, values)``: a row that was measured by other means."""

    def add(table: str, name: str, bar: float | None, values: dict[str, float]) -> Row:
        row = Row(table, name, THREADS, values, bar)
        print(f"{table} | {name} | {row.ratio:.2f}", values)
        _rows.append(row)
        return row

    return add


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = session.config.getoption("--rows")
    if path:
        path.write_text(json.dumps([dataclasses.asdict(row) for row in _rows]))
