"""Every public name of torch is there, or in the table of absences with its reason."""

import pytest
import torch as pytorch
from absent_names import ABSENT, NAMESPACES, REASONS
from absent_walk import absent_of

import numbagrad


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


OF_SPARSE_TENSORS = """
    ccol_indices coalesce col_indices crow_indices indices row_indices smm sspaddmm values
""".split()


@pytest.mark.parametrize("name", OF_SPARSE_TENSORS)
def test_methods_of_sparse_tensors_refuse_strided_ones(name):
    texts = []
    for library in (pytorch, numbagrad):
        x = library.ones(2, 2)
        arguments = {"smm": [x], "sspaddmm": [x, x]}.get(name, [])
        with pytest.raises(RuntimeError) as caught:
            getattr(x, name)(*arguments)
        texts.append(str(caught.value).splitlines()[0])
    assert texts[0] == texts[1]


def test_other_sparse_layouts_are_not_made():
    with pytest.raises(NotImplementedError, match=r"Tensor\.to_sparse_bsr .* COO and CSR"):
        numbagrad.ones(2, 2).to_sparse_bsr(1)
