"""Arguments of ``backward`` and ``grad``, and assignments to tensors, that torch takes or refuses.

Every call is made for tensors of many kinds. Where torch has a result, this library has it too;
where torch raises, an error of the same class is raised.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import numbagrad

MADE = {
    "leaf": lambda t: t.ones(3, requires_grad=True),
    "inner": lambda t: t.ones(3, requires_grad=True) * 2,
    "plain": lambda t: t.ones(3),
    "int": lambda t: t.ones(3, dtype=t.int64),
    "bool": lambda t: t.ones(3, dtype=t.bool),
    "complex": lambda t: t.ones(3, dtype=t.complex64),
    "view": lambda t: (t.ones(3, requires_grad=True) * 2).view(3),
    "view of a leaf": lambda t: t.ones(3, requires_grad=True).view(3),
    "view of a plain one": lambda t: t.ones(3).view(3),
    "number": lambda t: (t.ones(3, requires_grad=True) * 2).sum(),
    "leaf without dimensions": lambda t: t.tensor(2.0, requires_grad=True),
    "complex number": lambda t: (t.ones(3, dtype=t.complex64, requires_grad=True) * 2).sum(),
    "detached": lambda t: t.ones(3, requires_grad=True).detach(),
    "half": lambda t: t.ones(3, dtype=t.float16, requires_grad=True) * 2,
    "one of several": lambda t: (t.ones(3, 3, requires_grad=True) * 2).unbind(0)[0],
}

#: Gradients, by what they are.
GRADIENTS = {
    "ones": lambda t: t.ones(3), "another size": lambda t: t.ones(2),
    "a column": lambda t: t.ones(3, 1), "a row": lambda t: t.ones(1, 3),
    "no dimensions": lambda t: t.tensor(1.0), "double": lambda t: t.ones(3).double(),
    "int": lambda t: t.ones(3, dtype=t.int64), "bool": lambda t: t.ones(3, dtype=t.bool),
    "complex": lambda t: t.ones(3, dtype=t.complex64), "nothing": lambda t: None,
    "a number": lambda t: 1, "a list of numbers": lambda t: [1, 1, 1], "text": lambda t: "a",
    "a list": lambda t: [t.ones(3)], "a tuple": lambda t: (t.ones(3),), "a flag": lambda t: True,
    "an array": lambda t: np.ones(3), "None in a list": lambda t: [None], "empty": lambda t: [],
    "one too many": lambda t: [t.ones(3), t.ones(3)], "a generator": lambda t: iter([t.ones(3)]),
    "a set": lambda t: {t.ones(3)},
}  # fmt: skip

#: What may be given for inputs, of a tensor and the library.
INPUTS = {
    "itself": lambda x, t: x, "in a list": lambda x, t: [x], "twice": lambda x, t: [x, x],
    "another leaf": lambda x, t: t.ones(3, requires_grad=True),
    "a plain one": lambda x, t: t.ones(3), "an array": lambda x, t: np.ones(3),
    "an int tensor": lambda x, t: t.ones(3, dtype=t.int64), "None in a list": lambda x, t: [None],
    "an int": lambda x, t: 3, "an int in a list": lambda x, t: [3], "nothing": lambda x, t: [],
    "no tuple": lambda x, t: (), "text": lambda x, t: "a", "a generator": lambda x, t: iter([x]),
    "a set": lambda x, t: {x}, "an empty dict": lambda x, t: {},
}  # fmt: skip


def _calls():
    """Calls of one tensor, by name."""
    for name, gradient in GRADIENTS.items():
        yield f"backward {name}", lambda x, t, g=gradient: x.backward(g(t))
        yield f"autograd.backward {name}", lambda x, t, g=gradient: t.autograd.backward([x], g(t))
        yield f"grad {name}", lambda x, t, g=gradient: t.autograd.grad(x, x, g(t))
        yield f"two roots {name}", lambda x, t, g=gradient: t.autograd.backward([x, x], g(t))
        if name != "one too many":
            yield f".grad {name}", lambda x, t, g=gradient: (setattr(x, "grad", g(t)), x.grad)
    for name, inputs in INPUTS.items():
        yield f"inputs {name}", lambda x, t, i=inputs: x.backward(t.ones(3), inputs=i(x, t))
        for options in (
            {}, {"allow_unused": True}, {"materialize_grads": True},
            {"allow_unused": False, "materialize_grads": True},
        ):  # fmt: skip
            yield (
                f"grad {name} {options}",
                lambda x, t, i=inputs, o=options: t.autograd.grad(x, i(x, t), t.ones(3), **o),
            )
    for name, roots in INPUTS.items():
        if name not in ("an int in a list", "None in a list", "an array", "text", "an empty dict"):
            yield f"roots {name}", lambda x, t, r=roots: t.autograd.backward(r(x, t), [t.ones(3)])
    for flag in ("retain_graph", "create_graph"):
        for value in (None, True, 1, "text", 1.5):
            if (flag, value) != ("retain_graph", None):
                yield (
                    f"{flag} {value}",
                    lambda x, t, f=flag, v=value: t.autograd.grad(
                        x, x, t.ones(x.shape, dtype=x.dtype), **{f: v}
                    ),
                )
    for value in (True, False):
        yield f"requires_grad_ {value}", lambda x, t, v=value: x.requires_grad_(v).requires_grad
        yield f"requires_grad = {value}", lambda x, t, v=value: setattr(x, "requires_grad", v)
    for value in (None, 1, "a"):
        yield f"requires_grad_ {value}", lambda x, t, v=value: x.requires_grad_(v)
        yield f"requires_grad = {value}", lambda x, t, v=value: setattr(x, "requires_grad", v)
    yield "detach_", lambda x, t: (x.detach_(), x.is_leaf, x.requires_grad)
    yield "retain_grad", lambda x, t: (x.retain_grad(), x.retains_grad)
    for name, data in GRADIENTS.items():
        if not name.startswith(("a list", "one too many", "None in", "empty")):
            yield f".data {name}", lambda x, t, d=data: (setattr(x, "data", d(t)), x, x.is_leaf)
            yield f".data {name}, then backward", lambda x, t, d=data: _used(x, d(t))
    yield ".data, then requires_grad_", lambda x, t: _later(x, t.ones(3) * 2)


def _used(x, data):
    x.data = data
    (x * x).sum().backward()
    return x.grad if x.is_leaf else None


def _later(x, data):
    """The gradient of a tensor that got memory of floats before it was made to require grad."""
    x.data = data
    x.requires_grad_()
    (x * x).sum().backward()
    return x.grad if x.is_leaf else None


def described(value):
    """Values as both libraries show them."""
    if hasattr(value, "requires_grad"):
        return str(value.dtype), value.tolist(), value.requires_grad
    if isinstance(value, (tuple, list)):
        return [described(x) for x in value]
    return value


def outcome(library, make, call):
    """The result of a call, or the class of its error."""
    try:
        return described(call(make(library), library))
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("made", MADE)
def test_arguments_are_taken_and_refused_as_by_torch(made):
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in _calls():
            expected = outcome(torch, MADE[made], call)
            ours = outcome(numbagrad, MADE[made], call)
            if ours != expected:
                found.append((name, expected, ours))
    assert not found


@pytest.mark.parametrize("library", [torch, numbagrad])
def test_gradients_of_replaced_data_fit_what_the_node_made(library):
    for shape, expected in (((3,), [4.0] * 3), ((2, 3), [8.0] * 3)):
        leaf = library.ones(3, requires_grad=True)
        inner = leaf * 2
        inner.data = library.ones(shape).double()
        (inner * inner).sum().backward()
        assert leaf.grad.tolist() == expected
        assert leaf.grad.dtype is library.float32
    leaf = library.ones(4, requires_grad=True)
    first, second = (leaf * 2).split(2)
    first.data = library.ones(3)
    (second * second).sum().backward()
    assert leaf.grad.tolist() == [0.0, 0.0, 8.0, 8.0]
    leaf = library.ones(3, requires_grad=True)
    inner = leaf * 2
    inner.data = library.ones(2)
    with pytest.raises(RuntimeError, match=r"invalid gradient .*expected shape compatible with"):
        (inner * inner).sum().backward()


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4), (2, 4, 3)])
def test_all_outputs_of_least_squares_are_of_one_kind_of_node(shape, driver):
    generator = np.random.default_rng(3)
    left, right = generator.normal(size=shape), generator.normal(size=(*shape[:-1], 2))

    def found(library):
        leaves = [library.tensor(x.tolist(), requires_grad=True) for x in (left, right)]
        made = library.linalg.lstsq(*leaves, driver=driver)
        names = [None if x.grad_fn is None else x.grad_fn.name() for x in made]
        total = made.solution.sum() + (made.residuals * 3).sum()
        gradients = library.autograd.grad(total, leaves)
        return names, [x.detach().numpy() for x in gradients]

    (names, gradients), (expected_names, expected) = found(numbagrad), found(torch)
    assert names == expected_names
    for gradient, torchs in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient, torchs, rtol=2e-3, atol=2e-3)
