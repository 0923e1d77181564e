"""compile(): gradients of inputs that are those of results, or views of them.

Each function is compiled beside itself; its results are differentiated outside, one by one and
together, with gradients of several layouts, and their graphs walked again where nothing was kept.
"""

import itertools

import pytest
from compile_checks import assert_compiled, lockstep

import numbagrad as torch

#: Functions of a matrix and of the vector ``w``. Nothing is computed for some of the gradients.
FUNCTIONS = {
    "sum": lambda x, w: x.sum(),
    "sum of a dimension": lambda x, w: x.sum(0),
    "mean": lambda x, w: x.mean(1),
    "number added": lambda x, w: x + 1,
    "two operands": lambda x, w: x + w,
    "reshape": lambda x, w: (x + 1).reshape(2, 6),
    "transpose": lambda x, w: (x + 1).t(),
    "permuted sum": lambda x, w: (x + 1).unsqueeze(0).permute(2, 0, 1).sum(1),
    "dimensions": lambda x, w: (x + 1)[None, :, None],
    "same operand twice": lambda x, w: x + x.clone(),
    "one that is computed": lambda x, w: x + (w * w),
    "two results": lambda x, w: (x + 1, x.sum()),
    "results of one input each": lambda x, w: (x.sum(0), w.sum()),
    "one result computed": lambda x, w: (x.sum(0), x * w),
    "conversion": lambda x, w: x.double().sum(),
    "stacked": lambda x, w: torch.stack([x + 1, x + 2]),
    "concatenated": lambda x, w: torch.cat([x, w[None]]),
}


def _ones(result):
    return torch.ones_like(result)


def _expanded(result):
    return torch.full((), 2.0, dtype=result.dtype).expand(result.shape)


def _strided(result):
    made = torch.arange(1.0, 2 * result.numel() + 1, dtype=result.dtype)[::2]
    return made.reshape(result.shape[::-1]).permute(*range(result.dim())[::-1])


@pytest.mark.parametrize("gradient", [_ones, _expanded, _strided])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_the_function(name, gradient):
    wants = list(itertools.product((True, False), repeat=2))[:3]

    def step(x, w):
        return FUNCTIONS[name](x, w)

    def inputs(k):
        flags = wants[k // 4] if k < 12 else (True, True)
        shapes = (3, 4), (4,)
        return [torch.randn(s).requires_grad_(f) for s, f in zip(shapes, flags, strict=True)]

    def after(results, k, x, w):
        results = results if isinstance(results, tuple) else (results,)
        results = [each for each in results if each.requires_grad]
        chosen = results if k % 2 else results[-1:]
        given = [gradient(each) for each in chosen]
        torch.autograd.backward(chosen, given)
        for each in given:
            if each.stride() == torch.empty(each.shape).stride():
                each.zero_()  # which is not what the inputs have as their gradient
        leaves = [leaf for leaf in (x, w) if leaf.requires_grad]
        if len(results) == 1:
            try:  # which may be walked once more if nothing was kept
                found = torch.autograd.grad(results, leaves, given, allow_unused=True)
            except RuntimeError as error:
                return str(error)[:30]
            same = [each is given[0] for each in found]
            return [None if each is None else each.clone().contiguous() for each in found], same
        return None

    compiled = lockstep(lambda: (step, None, after), inputs, 16, versions=False)
    assert_compiled(compiled)


def test_the_gradient_of_a_result_is_that_of_the_input_as_without_compile():
    for function in (lambda x: x + 1, torch.compile(lambda x: x + 1)):
        for _ in range(5):
            x, gradient = torch.ones(3, requires_grad=True), torch.ones(3)
            result = function(x)
            assert torch.autograd.grad(result, x, gradient)[0] is gradient
            result.backward(gradient)
            assert x.grad.data_ptr() != gradient.data_ptr()
