"""What tests of compile() share: running a compiled function beside the function itself."""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.compiling import CompileError
from numbagrad.executor.mode import NATIVE

#: Marks a test of what is fused or recorded, which nothing is without compiled launchers.
needs_programs = pytest.mark.skipif(not NATIVE, reason="functions run as they are written")


def programs(compiled):
    """How many programs a compiled function has."""
    return sum(map(len, compiled._programs.values()))


def assert_compiled(compiled, count=None):
    """Check that a function has programs, and how many; without a compiler there are none."""
    if not NATIVE:
        return
    assert not compiled._given_up
    assert programs(compiled) == count if count is not None else programs(compiled)


def values(result):
    """A result with ndarrays in the place of tensors."""
    if isinstance(result, torch.Tensor):
        return result.detach().numpy().copy()
    if isinstance(result, (tuple, list)):
        return [values(each) for each in result]
    return result


def same(found, expected):
    """Check that two results are equal but for rounding."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    elif isinstance(expected, np.ndarray):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    elif isinstance(expected, float):
        assert type(found) is float
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6, nan_ok=True)
    else:
        assert found == expected


def follow(make, calls, warn=False):
    """Run two of what ``make`` makes in lockstep, one compiled; returns the compiled one.

    ``calls`` yields the arguments of each call, as a function of its number.
    """
    torch.manual_seed(1)
    plain = make()
    torch.manual_seed(1)
    compiled = torch.compile(make())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(6):
            torch.manual_seed(k)
            expected = values(plain(*calls(k)))
            torch.manual_seed(k)
            same(values(compiled(*calls(k))), expected)
    said = breaks_said(caught)
    if NATIVE:
        assert len(said) == (1 if warn else 0), said
        assert warn or programs(compiled)
        if isinstance(warn, str):
            assert warn in said[0], said[0]
    return compiled


def breaks_said(caught):
    """The warnings among those caught that name what no program can hold."""
    texts = [str(each.message) for each in caught]
    return [x for x in texts if "runs uncompiled" in x or "is compiled in pieces" in x]


def left_to_python(step, *arguments, match, line=True):
    """Check that a step runs as always, says why once, and raises with ``fullgraph``."""
    compiled = torch.compile(step)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(12):
            compiled(*arguments)
    if not NATIVE:
        assert not caught
        return
    said = breaks_said(caught)
    assert len(said) == 1 and match in said[0], said
    if line:
        assert os.path.basename(inspect.getsourcefile(step)) + ":" in said[0]
    full = torch.compile(step, fullgraph=True)
    with pytest.raises(CompileError, match="cannot be part of a program"):
        for _ in range(12):
            full(*arguments)


def lockstep(make, calls, count=8, context=contextlib.nullcontext, versions=True):
    """Check call by call that a compiled function does all that the function does.

    Compared are results, exceptions, the arguments afterwards with their gradients, and the state.
    ``make`` returns the function, and may return after it what shows the state, and what is called
    with the result, the number of the call, and the arguments. Returns the compiled function.
    """
    runs = []
    for compiled in (False, True):
        torch.manual_seed(1)
        made = make()
        function, state, after = (
            (*made, None, None)[:3] if isinstance(made, tuple) else (made, *[None] * 2)
        )
        run = torch.compile(function) if compiled else function
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for k in range(count):
                torch.manual_seed(k)
                arguments = calls(k)
                try:
                    with context():
                        result = run(*arguments)
                        then = after(result, k, *arguments) if after else None
                    seen = [result, then, list(arguments)]
                except Exception as error:
                    seen = [type(error), str(error)[:40]]
                grads = [x.grad for x in arguments if isinstance(x, torch.Tensor) and x.is_leaf]
                seen += [
                    [None if x is None else x.clone() for x in grads],
                    state() if state else None,
                ]
                found.append(described(seen, versions))
        runs.append(found)
    for k, (expected, found) in enumerate(zip(*runs, strict=True)):
        check_described(found, expected, f"call {k}")
    return run


def described(value, versions=True):
    """A value with all that there is to see of the tensors in it."""
    if isinstance(value, torch.Tensor):
        flags = (
            value.dtype, tuple(value.shape), value.stride(), value.requires_grad, value.is_leaf,
            value.is_inference(), value.grad_fn is not None, value.storage_offset(),
            value.untyped_storage().nbytes(),
        )  # fmt: skip
        if versions and not value.is_inference():
            flags += (value._version,)
        kind = np.complex128 if value.is_complex() else np.float64
        return flags, np.array(value.tolist(), kind)
    if isinstance(value, (tuple, list)):
        return [described(each, versions) for each in value]
    if isinstance(value, dict):
        return {key: described(each, versions) for key, each in value.items()}
    return value


def check_described(found, expected, where):
    """Check that two values that were described are equal but for rounding."""
    if isinstance(expected, tuple) and len(expected) == 2 and isinstance(expected[1], np.ndarray):
        assert found[0] == expected[0], where
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-6, err_msg=where)
    elif isinstance(expected, (list, dict)):
        assert type(found) is type(expected) and len(found) == len(expected), where
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            check_described(found[key], expected[key], f"{where}, {key}")
    elif isinstance(expected, (float, np.floating)):
        assert type(found) is type(expected), where
        assert found == pytest.approx(expected, rel=1e-5, nan_ok=True), where
    else:
        assert found == expected, where
