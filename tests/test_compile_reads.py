"""compile(): whatever a call reads or writes outside, calls give what eager calls give.

A matrix: every way to hold or reach state that the files in ``reads/`` name, read while the caller
changes it, written inside of the call, or both; in the code of a user and in an installed package.
"""

from __future__ import annotations

import re

import pytest
from reads_tools import all_kinds, check, combinations


@pytest.mark.parametrize(("kind", "role", "position"), combinations(all_kinds()))
def test_calls_give_what_eager_calls_give(kind, role, position, tmp_path, request):
    name = re.sub(r"\W", "_", request.node.callspec.id)
    check(kind, role, position, tmp_path, f"reads_{name}")
