"""compile(): hooks that change gradients, in first and second derivatives, beside eager calls.

Rows of the operator table have a hook on their inputs, on their results and on what is computed of
those. The second walk goes through what the hooks computed in the first one.
"""

from __future__ import annotations

import pytest
from operator_entry import Entry, as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES
from test_compile_operators import Namespace, follow, inputs_of

import numbagrad

#: A share of the rows: all of them, a program for each, take minutes with an empty kernel cache.
ROWS = [x for x in POINTWISE_ENTRIES + ENTRIES if x.differentiable and x.admits("float64")][::20]


def hooked_step(entry: Entry):
    """A function that returns the first and second derivatives of a row, with hooks."""
    call, is_pointwise = entry.call, entry.definition is not None

    def step(made, *leaves):
        answers = iter(made)
        namespace = Namespace(lambda data, **options: next(answers))
        namespace = numbagrad if is_pointwise else namespace
        inputs = [x * 0.5 if x.requires_grad else x for x in leaves]
        results = [x for x in as_tuple(call(namespace, *inputs)) if x.requires_grad]
        for x in inputs:
            if x.requires_grad:
                x.register_hook(lambda grad: None if grad is None else grad.sin())
        total = numbagrad.zeros((), dtype=numbagrad.float64)
        for result in results:
            result.register_hook(lambda grad: grad * 0.5)
            real = numbagrad.view_as_real(result) if result.is_complex() else result
            between = real * 1.5
            between.register_hook(lambda grad: grad * grad * 0.5)
            total = total + (between * between).sum()
        wanted = [x for x in leaves if x.requires_grad]
        options = {"allow_unused": True, "materialize_grads": True}
        first = numbagrad.autograd.grad(total, wanted, create_graph=True, **options)
        again = sum([x.sin().sum() for x in first])
        second = numbagrad.autograd.grad(again, wanted, **options) if again.requires_grad else ()
        return [x.detach() for x in (*first, *second)]

    return step


@pytest.mark.parametrize("entry", ROWS, ids=lambda entry: entry.name)
def test_hooks_change_gradients_in_programs_as_in_eager_calls(entry):
    said = follow(hooked_step(entry), lambda seed: inputs_of(entry, "float64", seed, True),
                  entry.name, calls=5)  # fmt: skip
    assert "a difference between the program" not in said
