"""Every public name of torch is there, or in the table of absences with its reason."""

import pytest
from absent_names import ABSENT, NAMESPACES, REASONS
from absent_walk import absent_of


def listed(path):
    return [name for names in ABSENT.values() for name in names.get(path, "").split()]


@pytest.mark.parametrize("path", NAMESPACES)
def test_names(path):
    names = listed(path)
    assert len(names) == len(set(names))
    assert absent_of(path) == set(names)


def test_reasons():
    assert ABSENT.keys() == REASONS.keys()
    assert {path for names in ABSENT.values() for path in names} <= set(NAMESPACES)
