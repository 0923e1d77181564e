"""After a second of compiling a terminal is told of it; a file is not."""

import io
import re
import threading

import pytest

from numbagrad import executor
from numbagrad.executor.cache import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def compile_on(monkeypatch):
    """``compile_on(stream)``: what a stream shows after two kernels, without the delay."""
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 0.001)
    monkeypatch.setattr(progress, "PAUSE", 0.01)

    def run(stream):
        monkeypatch.setattr("sys.stderr", stream)
        for name in ("first", "second"):
            with progress.compiling(name):
                while progress._state.thread and name not in stream.getvalue():
                    threading.Event().wait(0.001)
        if progress._state.thread:
            progress._state.thread.join()
            progress._state.thread = None
        return stream.getvalue()

    return run


def test_a_terminal_sees_the_line_and_then_none(compile_on):
    shown = compile_on(Terminal())
    assert re.search(r"\rnumbagrad compiles: 1 kernels in \d+ s, now second", shown)
    assert shown.endswith("\r" + " " * 79 + "\r")


def test_a_file_sees_nothing(compile_on):
    assert compile_on(io.StringIO()) == ""


def test_the_switch(compile_on):
    executor.set_progress(False)
    try:
        assert compile_on(Terminal()) == ""
    finally:
        executor.set_progress(True)
    with pytest.raises(TypeError, match="must be bool, not int"):
        executor.set_progress(1)


def test_stats_are_a_table_in_notebooks():
    assert "<th>compiled</th>" in executor.stats()._repr_html_()
