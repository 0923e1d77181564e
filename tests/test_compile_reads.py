"""compile(): whatever a call reads or writes outside, calls give what eager calls give.

A matrix: every way to hold or reach state that ``reads_*.py`` names, read while the caller changes
it, written inside of the call, or both; in the code of a user and in an installed package.
"""

from __future__ import annotations

import re

import pytest
import reads_containers
import reads_objects
import reads_process
from reads_tools import check, combinations

KINDS = {**reads_containers.KINDS, **reads_objects.KINDS, **reads_process.KINDS}


@pytest.mark.parametrize(("kind", "role", "place"), combinations(KINDS))
def test_calls_give_what_eager_calls_give(kind, role, place, tmp_path, request):
    name = re.sub(r"\W", "_", request.node.callspec.id)
    check(kind, role, place, tmp_path, f"reads_{name}")
