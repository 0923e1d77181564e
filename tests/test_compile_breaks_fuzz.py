"""compile(): random functions full of breaks, loops, handlers and views, beside uncompiled ones."""

from __future__ import annotations

import importlib.util
import random
import sys
import warnings

import numpy as np
import pytest

import numbagrad as torch

HEADER = """
import contextlib
import numbagrad as torch


def work(x):
    return ((x * 1.5).sin() + x.cos()).tanh() * 0.5


def function(x, w, flag, s):
    a, b, c, log = work(x), x * w, x + w, []
"""


class Writer:
    """Writes the body of a random function; ``d`` may turn out not to be bound."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        return self.random.choice(choices)

    def name(self):
        return self.pick(*"abcabcabcabcabcabcd")

    def value(self):
        n, m = self.name(), self.name()
        return self.pick(
            f"work({n})", f"{n} + {m}", f"work({n} * {m})", f"{n} * w", f"work(work({n}))",
            f"{n} * s + 0.25", f"torch.cat([{n}, {m}])[:2]", f"{n}.view(2, 3)", f"{n}.detach()",
            f"sum([{n} * k for k in range(3)])", f"work({n}).clone()", f"{n} * {m}.mean().item()",
        )  # fmt: skip

    def simple(self):
        n, m = self.name(), self.name()
        return self.pick(
            f"{n} = {self.value()}", f"{n} = {self.value()}", f"{n} = {self.value()}",
            f"{n} = {self.value()}", f"{n}, {m} = {self.value()}, {self.value()}",
            f"{n} = {n} * {m}.sum().item()", f"log.append({m}.sum().item())", f"{n} = {m}",
            f"s = s + float({n}.mean())", f"{n} = work({m}); log.append({n}.max().item())",
            f"{n} += 0.125", f"{n} = {m} * 2 if s > 3 else {m}", "d = work(a); del d",
            f"log.append(len(str({n}.shape)))", f"{n} = (lambda: {m} * 2)()", "pass",
            f"row = {m}[0]; {n} = {m} * 1; {n}[0] = row * w[0]", f"s = s * 0.5 + {n}.shape[0]",
            f"{n} = work({m}.view(7) if s > 4 else {m})", f"{n} = {m}.clone().mul_(w[0])",
        )  # fmt: skip

    def block(self, depth, loop=False):
        lines = []
        for _ in range(self.random.randint(1, 4)):
            lines += self.statement(depth, loop)
        return lines

    def statement(self, depth, loop):
        kind = self.random.random()
        if depth >= 3 or kind < 0.6:
            if loop and kind < 0.05:
                return [self.pick("break", "continue")]
            if kind < 0.08:
                return [f"return {self.name()}, s, log"]
            return [self.simple()]
        inside = ["    " + line for line in self.block(depth + 1, loop)]
        other = ["    " + line for line in self.block(depth + 1, loop)]
        looped = ["    " + line for line in self.block(depth + 1, True)]
        n = self.name()
        return self.pick(
            [f"if {self.pick('flag', 's > 1', f'{n}.sum() > 0', f'{n}.mean().item() > 0')}:",
             *inside, *self.pick([], ["else:", *other])],
            [f"for k in range({self.pick(2, 3)}):", *looped, *self.pick([], ["else:", *other])],
            [f"with {self.pick('torch.no_grad()', 'contextlib.suppress(RuntimeError)')}:", *inside],
            ["try:", *inside, f"except {self.pick('RuntimeError', 'Exception')}:", *other,
             *self.pick([], ["finally:", f"    s = s + {self.pick('1.0', f'{n}.shape[0]')}"])],
            [f"def {self.pick('inner', 'other')}(y, z={n}):", f"    return y * z + {self.name()}",
             f"{self.name()} = work({self.pick('inner', 'other')}({n}))"],
        )  # fmt: skip

    def source(self):
        lines = self.block(0) + self.block(0) + self.block(0) + ["return a + b * c, s, log"]
        return HEADER + "\n".join("    " + line for line in lines) + "\n"


def outcome(function, k):
    """What a call returns or raises, and the gradients it leaves to be computed."""
    random_numbers = np.random.default_rng(k)
    x = torch.tensor(random_numbers.standard_normal((2, 3)).astype(np.float32))
    w = torch.tensor(random_numbers.standard_normal(3).astype(np.float32), requires_grad=True)
    try:
        result, s, log = function(x, w, k % 2 == 0, float(k % 3))
        found = [result.detach().numpy().copy(), np.float64(s), np.float64(log)]
        if result.requires_grad:
            result.pow(2).sum().backward()
            found.append(np.zeros(3) if w.grad is None else w.grad.numpy().copy())
    except Exception as error:  # whatever the function raises, both have to
        return [type(error).__name__]
    return found


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.filterwarnings("ignore")
def test_a_random_function_with_breaks(seed, tmp_path):
    path = tmp_path / f"function_with_breaks_{seed}.py"
    path.write_text(Writer(seed).source())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
        compiled = torch.compile(module.function)
        for k in range(7):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected, found = outcome(module.function, k), outcome(compiled, k)
            assert len(expected) == len(found), (expected, found)
            for a, b in zip(expected, found, strict=True):
                if isinstance(a, str):
                    assert a == b
                else:
                    np.testing.assert_allclose(b, a, rtol=2e-4, atol=2e-5)
    finally:
        del sys.modules[path.stem]
