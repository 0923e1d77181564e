"""Products of all steps of a recurrence in one launch, in compiled programs."""

import pytest

import numbagrad as torch
from numbagrad.executor.mode import NATIVE
from numbagrad.executor.plan import cost

STEPS, BATCH, WIDTH = 7, 3, 5


@pytest.fixture(autouse=True)
def small_products_are_worth_it(monkeypatch):
    monkeypatch.setattr(cost, "model", cost.dataclasses.replace(cost.model, group_flops=1))


def parameters():
    torch.manual_seed(0)
    return [torch.randn(WIDTH, WIDTH, dtype=torch.float64).requires_grad_() for _ in range(2)]


def outcomes(step, *arguments):
    """What a step returns and the gradients it leaves, eager and compiled, and the program."""
    found = []
    run = torch.compile(step, fullgraph=True)
    for function, calls in ((step, 1), (run, 4)):
        given = parameters()
        for _ in range(calls):
            for weight in given:
                weight.grad = None
            made = function(*given, *arguments)
        found.append([*made, *[weight.grad.clone() for weight in given]])
    return (*found, torch.explain(run)(*given, *arguments))


def assert_products(program, text, count):
    """Check how often a program has a product; without launchers a function runs as it is."""
    if NATIVE:
        assert str(program).count(text) == count
    else:
        assert "NUMBAGRAD_NATIVE" in str(program) or "NUMBAGRAD_DISABLE_JIT" in str(program)


def recurrence(of_input, of_state, sequence, gather=False):
    state = torch.zeros(BATCH, WIDTH, dtype=torch.float64)
    states = []
    for x in sequence.unbind(0):
        state = ((x @ of_input) * (state @ of_state + 1)).tanh()
        states.append(state)
    loss = state.square().mean()
    loss.backward()
    return (loss.detach(), *[x.detach() for x in states if gather])


@pytest.mark.parametrize("gather", [False, True])
def test_gradients_of_all_steps_are_one_product(gather):
    sequence = torch.randn(STEPS, BATCH, WIDTH, dtype=torch.float64)
    eager, compiled, program = outcomes(lambda *given: recurrence(*given, sequence, gather=gather))
    for one, two in zip(eager, compiled, strict=True):
        torch.testing.assert_close(one, two)
    text = f"{WIDTH}×{STEPS * BATCH}, {STEPS * BATCH}×{WIDTH} -> {WIDTH}×{WIDTH}"
    # States that are results lie in blocks of their own.
    assert_products(program, text, 1 + (not gather))


def test_what_inputs_contribute_is_one_product():
    sequence = torch.randn(STEPS, BATCH, WIDTH, dtype=torch.float64)
    of_input, of_state = [x.detach() for x in parameters()]

    def step(sequence):
        state = torch.zeros(BATCH, WIDTH, dtype=torch.float64)
        for x in sequence.unbind(0):
            state = ((x @ of_input) * (state @ of_state + 1)).tanh()
        return state

    run = torch.compile(step, fullgraph=True)
    for _ in range(4):
        made = run(sequence)
    torch.testing.assert_close(made, step(sequence))
    text = f"{STEPS * BATCH}×{WIDTH}, {WIDTH}×{WIDTH} -> {STEPS * BATCH}×{WIDTH}"
    assert_products(torch.explain(run)(sequence), text, 1)


def test_rows_that_are_written_in_between_stay_apart():
    sequence = torch.randn(2, BATCH, WIDTH, dtype=torch.float64)

    def step(of_input, of_state):
        given = sequence * 1.0
        first = given[0] @ of_input
        with torch.no_grad():
            given[1].copy_(first.detach())
        loss = (first + given[1] @ of_input).square().sum() + of_state.sum()
        return (loss.detach(),)

    run = torch.compile(step, fullgraph=True)
    given = parameters()
    for _ in range(4):
        made = run(*given)
    torch.testing.assert_close(made[0], step(*given)[0])


def test_a_sum_that_is_read_in_between_stays_in_parts():
    x = torch.randn(4, BATCH, WIDTH, dtype=torch.float64)

    def step(of_input, of_state):
        total = x[0].t() @ x[1]
        half = total * 2
        total = total + x[2].t() @ x[3]
        return half, total

    run = torch.compile(step, fullgraph=True)
    given = parameters()
    for _ in range(4):
        made = run(*given)
    for one, two in zip(made, step(*given), strict=True):
        torch.testing.assert_close(one, two)
