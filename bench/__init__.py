"""Benchmarks: every row races numbagrad against its rivals in one process and reports the ratio."""
