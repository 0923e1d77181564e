"""Judge every operator by PyTorch's own operator database, beside PyTorch.

The database (``torch.testing._internal.common_methods_invocations.op_db``) has sample inputs for
each operator, what it supports, and inputs that it must refuse. Every sample is computed by both
libraries from the same bits. Compared are the result, the gradient and the gradient of the
gradient, the same from non-contiguous inputs, the method, the operator and the in-place variants,
``out=``, and the class of the exception for inputs that are wrong. An operator passes if nothing
at all differs::

    python tests/parity/operator_database.py [--only NAME ...] [--shard 1/4] [--samples 12]

The verdicts go into a file as they are found (``--record``), so that a run which was ended goes on
where it was; ``--again`` judges those that failed once more. Nearly all of the time goes into
compiling kernels, which the cache on disk keeps for the next run.

pytest does not collect this file: it is run by ``make operators``.
"""

from __future__ import annotations

import argparse
import builtins
import dataclasses
import faulthandler
import functools
import inspect
import json
import pathlib
import signal
import sys
import time
import types
import warnings

import numpy as np
import torch
from torch.testing._internal import common_methods_invocations as database
from torch.utils._pytree import tree_flatten, tree_map

import numbagrad

#: Operators of the database that are about something else than this library: CUDA's run-time
#: compiler, sparse layouts, and fused attention kernels of torch's inside.
ELSEWHERE = ("jiterator_", "sparse.", "torch.ops.aten._flash", "torch.ops.aten._efficient")
#: Where the functions are public whose modules are not.
INSIDE = {
    "torch.functional": "",
    "torch._tensor": "Tensor.",
    "torch._C._nn": "nn.functional.",
    "torch._C._fft": "fft.",
    "torch._C._linalg": "linalg.",
    "torch._C._special": "special.",
    "torch.masked._ops": "masked.",
    "torch.signal.windows.windows": "signal.windows.",
}
#: Results that are unique only up to a sign or a phase are compared by what the sample makes of
#: them for a gradient: products in which these cancel.
AMBIGUOUS = (
    "eig", "eigh", "geqrf", "pca_lowrank", "qr", "svd", "svd_lowrank", "lobpcg",
)  # fmt: skip
#: Which of equal elements is found is not said.
TIES = ("kthvalue", "median", "mode", "nanmedian", "topk")
DTYPES = (torch.float64, torch.float32, torch.int64, torch.complex128)
#: Relative and absolute tolerance, the latter relative to the largest number of a result.
TOLERANCE = {
    torch.float64: (1e-7, 1e-9),
    torch.complex128: (1e-7, 1e-9),
    torch.float32: (1e-4, 2e-5),
    torch.complex64: (1e-4, 2e-5),
}
HALF = (torch.bfloat16, torch.float16)


class Unequal(Exception):
    """What numbagrad gave differs from what torch gave."""


class Slow(Exception):
    """An operator took longer than the limit."""


# From torch's objects to numbagrad's


def tensor_of(given: torch.Tensor):
    """A numbagrad Tensor with the bits and the strides of ``given``, in memory of its own."""
    source = given.detach()
    source = source.resolve_conj().resolve_neg()
    if source._is_zerotensor():
        source = source.clone()
    if source.layout is not torch.strided:
        raise NotImplementedError(f"a sample of layout {source.layout}")
    if source.dim() > 64:
        raise RuntimeError(f"a sample of {source.dim()} dimensions; arrays have at most 64")
    storage = torch.empty(0, dtype=source.dtype).set_(source.untyped_storage().clone())
    if source.dtype is torch.bfloat16:
        memory = numbagrad.from_numpy(storage.view(torch.int16).numpy()).view(numbagrad.bfloat16)
    else:
        memory = numbagrad.from_numpy(storage.numpy())
    made = memory.as_strided(source.size(), source.stride(), source.storage_offset()).detach()
    return made.requires_grad_() if given.requires_grad else made


def copy_of(given: torch.Tensor):
    """A leaf of torch with the bits and strides of ``given``."""
    source = given.detach()
    if source._is_zerotensor():
        source = source.clone()
    storage = source.untyped_storage().clone()
    copy = torch.empty(0, dtype=source.dtype).set_(
        storage, source.storage_offset(), source.size(), source.stride()
    )
    if source.is_conj():
        copy = copy.conj()
    return copy.requires_grad_() if given.requires_grad else copy


def ours(value):
    """What stands in numbagrad for an object of torch."""
    if isinstance(value, torch.Tensor):
        return tensor_of(value)
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return getattr(numbagrad, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return numbagrad.device(str(value))
    if isinstance(value, torch.Size):
        return numbagrad.Size(value)
    if isinstance(value, torch.nn.LinearCrossEntropyOptions):
        fields = dataclasses.fields(value)
        options = {field.name: ours(getattr(value, field.name)) for field in fields}
        return numbagrad.nn.LinearCrossEntropyOptions(**options)
    if isinstance(value, torch.nn.Module):
        return layer_of(value)
    if isinstance(value, torch.Generator):
        return numbagrad.Generator().manual_seed(value.initial_seed())
    if isinstance(value, types.ModuleType) and value.__name__.split(".")[0] == "torch":
        return module_of(value)
    if getattr(value, "__name__", "") == "wrapper_set_seed":
        return seeded
    if getattr(value, "__name__", "") == "freeze_rng_state":
        return numbagrad.random.fork_rng
    if callable(value) and str(getattr(value, "__module__", "")).split(".")[0] == "torch":
        return rewritten(value)
    return value


def layer_of(value: torch.nn.Module):
    """A layer without parameters, with the same options."""
    made = getattr(numbagrad.nn, type(value).__name__)()
    for name, option in vars(value).items():
        if not name.startswith("_"):
            setattr(made, name, option)
    return made


def input_mask(input, *others, mask=None, **options):
    """The mask of the functions of ``masked``, in the shape of their input."""
    if mask is None:
        return numbagrad.ones(input.shape, dtype=numbagrad.bool)
    return mask.broadcast_to(input.shape).bool()


numbagrad.masked._input_mask = input_mask  # which the database takes from torch


class _TorchLike:
    """The name ``torch`` in functions of the database: numbagrad, but for the tools of tests."""

    testing = torch.testing

    def __getattr__(self, name):
        return getattr(numbagrad, name)


torch_like = _TorchLike()


def seeded(function, *arguments, **options):
    """What the database calls random operators by."""
    numbagrad.manual_seed(42)
    return function(*arguments, **options)


def module_of(value):
    """numbagrad's module for one of torch's, or torch's own where that is a tool of its tests."""
    found = numbagrad
    if "testing" in value.__name__:
        return value
    for name in value.__name__.split(".")[1:]:
        if name.startswith("_") and not hasattr(found, name):
            return value  # a tool of torch's inside
        found = getattr(found, name)
    return found


def by_name(path: str):
    """The public function of numbagrad under a dotted path below ``torch``."""
    found = numbagrad
    for name in path.split("."):
        found = getattr(found, name)
    return found


def rewritten(function):
    """A function of torch's tests whose globals and closure are numbagrad's; others by name."""
    if isinstance(function, functools.partial):
        return functools.partial(
            ours(function.func), *map(ours, function.args), **tree_map(ours, function.keywords)
        )
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__qualname__", getattr(function, "__name__", ""))
    if isinstance(function, types.MethodType):
        return types.MethodType(rewritten(function.__func__), function.__self__)
    if isinstance(function, types.FunctionType) and "testing" in module:
        return _with_globals(function, ours)
    if "testing" in module:
        return function
    if isinstance(function, type):
        return getattr(numbagrad, name, function)
    if isinstance(function, types.MethodDescriptorType | types.WrapperDescriptorType):
        return getattr(numbagrad.Tensor, name.split(".")[-1])
    if module == "torch._tensor":
        return getattr(numbagrad.Tensor, name.split(".")[-1])
    if "torch._ops" in module:
        return by_name("ops." + str(function))
    path = INSIDE.get(module)
    if path is None:
        path = module.removeprefix("torch").lstrip(".") + "." if module != "torch" else ""
    name = name.split(".")[-1]
    prefix = path.split(".")[0]
    return by_name(path + (name.removeprefix(f"{prefix}_") if prefix else name))


def _with_globals(function, change):
    """A copy of a Python function over changed globals, cells and defaults."""
    names = set(function.__code__.co_names)
    for constant in function.__code__.co_consts:
        if isinstance(constant, types.CodeType):
            names |= set(constant.co_names)
    scope = dict(function.__globals__)
    for name in names & scope.keys():
        scope[name] = torch_like if scope[name] is torch and change is ours else change(scope[name])
    cells = tuple(types.CellType(change(c.cell_contents)) for c in function.__closure__ or ())
    made = types.FunctionType(function.__code__, scope, function.__name__, None, cells)
    made.__defaults__ = function.__defaults__ and tuple(map(change, function.__defaults__))
    made.__kwdefaults__ = function.__kwdefaults__ and {
        name: change(value) for name, value in function.__kwdefaults__.items()
    }
    return made


def method_of(theirs):
    """The method of Tensor for one of torch's, or a lambda of the database that calls one."""
    if isinstance(theirs, types.FunctionType) and "testing" in theirs.__module__:
        return _with_globals(theirs, ours)
    if isinstance(theirs, functools.partial):
        return rewritten(theirs)
    return getattr(numbagrad.Tensor, theirs.__name__)


def operator_of(op):
    """numbagrad's callable for an operator of the database."""
    function = op.op
    if isinstance(function, types.FunctionType) and "testing" in function.__module__:
        return _with_globals(function, ours)
    if isinstance(function, types.BuiltinFunctionType | types.FunctionType) and (
        "_ops" not in str(type(function)) and function.__module__ != "torch._tensor"
    ):
        name = op.name.replace("_refs.", "")
        try:
            return by_name(name)
        except AttributeError:
            return rewritten(function)
    if "_ops" in str(type(function)):
        return by_name("ops." + str(function))
    return rewritten(function)


# Comparing


def array_of(tensor):
    """The numbers of a Tensor of either library as a complex or real ndarray."""
    if isinstance(tensor, torch.Tensor):
        tensor = tensor.detach().resolve_conj().resolve_neg()
        if tensor._is_zerotensor():
            tensor = tensor.clone()
        tensor = tensor if tensor.layout is torch.strided else tensor.to_dense()
    else:
        tensor = tensor.detach()
        if str(tensor.layout) != "torch.strided":
            tensor = tensor.to_dense()
        tensor = tensor.resolve_conj().resolve_neg()
    if str(tensor.dtype).endswith(("bfloat16", "float16")):
        tensor = tensor.float()
    return np.array(tensor.numpy())


def leaves_of(value):
    """The leaves of nested results, tuples with names among them."""
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in leaves_of(part)]
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves_of(part)]
    return [value]


def compare(got, expected, values=True):
    """Raise ``Unequal`` unless both results have the same structure, dtypes, shapes and numbers."""
    mine, theirs = leaves_of(got), leaves_of(expected)
    if len(mine) != len(theirs):
        raise Unequal(f"{len(mine)} results instead of {len(theirs)}")
    for left, right in zip(mine, theirs, strict=True):
        if not isinstance(right, torch.Tensor):
            _compare_objects(left, right, values)
            continue
        if not isinstance(left, numbagrad.Tensor):
            raise Unequal(f"{type(left).__name__} instead of a Tensor")
        if str(left.dtype) != str(right.dtype):
            raise Unequal(f"dtype {left.dtype} instead of {right.dtype}")
        if str(left.layout) != str(right.layout):
            raise Unequal(f"layout {left.layout} instead of {right.layout}")
        if tuple(left.shape) != tuple(right.shape):
            raise Unequal(f"shape {tuple(left.shape)} instead of {tuple(right.shape)}")
        if values:
            _compare_numbers(array_of(left), array_of(right), right.dtype)


def _compare_objects(left, right, values):
    if isinstance(right, torch.dtype | torch.device | torch.Size):
        if str(left) != str(right):
            raise Unequal(f"{left} instead of {right}")
    elif isinstance(right, float | complex):
        if values:
            _compare_numbers(np.asarray(left), np.asarray(right), torch.float64)
    elif values and left != right:
        raise Unequal(f"{left!r} instead of {right!r}")


def _compare_numbers(left, right, dtype):
    relative, absolute = TOLERANCE.get(dtype, (0, 0) if dtype not in HALF else (2e-2, 1e-2))
    finite = np.abs(right[np.isfinite(right)]) if right.size else right
    scale = max(1.0, float(finite.max())) if finite.size else 1.0
    if not np.allclose(left, right, rtol=relative, atol=absolute * scale, equal_nan=True):
        wrong = ~np.isclose(left, right, rtol=relative, atol=absolute * scale, equal_nan=True)
        first = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise Unequal(
            f"{int(wrong.sum())} of {wrong.size} numbers differ, at {first} "
            f"{left[first]} instead of {right[first]}"
        )


# One operator


class Case:
    """An operator of the database under both libraries, and what failed so far."""

    def __init__(self, op, samples):
        self.op = op
        self.samples = samples
        self.failures: dict[str, str] = {}
        self.mine = None
        self.random = self._is_random()

    def _is_random(self):
        """Whether torch's results change with its generator: then only dtypes and shapes count."""
        if not isinstance(self.op.op, types.BuiltinFunctionType | types.FunctionType):
            return False
        function = self.op.op

        def unseeded(value):
            if getattr(value, "__name__", "") == "wrapper_set_seed":
                return lambda f, *a, **k: f(*a, **k)
            return value

        if isinstance(function, types.FunctionType) and "testing" in function.__module__:
            function = _with_globals(function, unseeded)
        dtype = next((d for d in DTYPES if d in self.op.supported_dtypes("cpu")), None)
        if dtype is None:
            return False
        for sample in list(self.op.sample_inputs("cpu", dtype))[:8]:
            results = []
            for seed in (1, 2, 3):
                torch.manual_seed(seed)
                state = torch.get_rng_state()
                result = function(copied(sample.input), *copied(sample.args), **sample.kwargs)
                results.append([r for r in leaves_of(result) if isinstance(r, torch.Tensor)])
            if self.op.name.startswith(("empty", "new_empty")):
                return True
            drawn = not torch.equal(state, torch.get_rng_state())
            if drawn and not all(
                torch.equal(a.detach(), b.detach())
                for a, b in zip(results[0], results[1], strict=True)
            ):
                return True
        return False

    def check(self, mode, function, *arguments):
        """Run one comparison; what it raises is a failure of ``mode``, the first one is kept."""
        if mode in self.failures:
            return
        try:
            function(*arguments)
        except Slow:
            raise
        except Exception as error:
            self.failures[mode] = f"{type(error).__name__}: {str(error).strip()[:300]}"

    def run(self):
        self.check("function", self._find)
        if self.mine is None:
            return
        supported = self.op.supported_dtypes("cpu")
        dtypes = [dtype for dtype in DTYPES if dtype in supported]
        for dtype in dtypes or supported:  # an operator of other dtypes alone is judged by these
            self._run_dtype(dtype)
        if self.op.error_inputs_func is not None:
            for wrong in self._asked(self.op.error_inputs("cpu")):
                self.check("error", self._refuse, wrong)

    def _find(self):
        self.mine = operator_of(self.op)

    def _asked(self, samples):
        """Samples evenly taken from all there are."""
        every = list(samples)
        step = max(1, -(-len(every) // self.samples)) if self.samples else 1
        return every[::step]

    def _run_dtype(self, dtype):
        name = str(dtype).removeprefix("torch.")
        op = self.op
        derived = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
        with_grad = derived and dtype in (torch.float64, torch.complex128)
        for sample in self._asked(op.sample_inputs("cpu", dtype, requires_grad=with_grad)):
            self.check(f"forward {name}", self._forward, sample)
            self.check(f"variants {name}", self._variants, sample)
            if op.supports_out and dtype in (torch.float64, torch.int64):
                self.check(f"out {name}", self._out, sample)
            if with_grad:
                self.check(f"gradient {name}", self._gradient, sample)
            if dtype is torch.float64:
                apart = sample.noncontiguous()
                self.check(f"non-contiguous {name}", self._apart, apart)
                if with_grad:
                    self.check(f"non-contiguous gradient {name}", self._gradient, apart)

    def _theirs(self, sample, function=None):
        call = function or self.op.op
        return call(copied(sample.input), *copied(sample.args), **copied(sample.kwargs))

    def _call(self, sample, function=None):
        call = function or self.mine
        given = tree_map(ours, (sample.input, tuple(sample.args), sample.kwargs))
        return call(given[0], *given[1], **given[2])

    def _forward(self, sample):
        self._same_outcome(sample, self.mine, self.op.op)

    def _apart(self, sample):
        """The forward of other strides, where torch takes them."""
        try:
            expected = self._theirs(sample)
        except Exception:
            return
        self._compare_results(sample, self._call(sample), expected)

    def _compare_results(self, sample, got, expected):
        if self.op.name in TIES and isinstance(expected, tuple):
            got, expected = got[0], expected[0]
        try:
            compare(got, expected, not self.random)
        except Unequal:
            if self._is_exact(sample, got, expected):
                return
            if self.op.name.removeprefix("linalg.") not in AMBIGUOUS:
                raise
            process = rewritten_process(sample.output_process_fn_grad)
            compare(process(got), sample.output_process_fn_grad(expected), not self.random)

    def _is_exact(self, sample, got, expected):
        """Whether what differs from torch is what the database's own reference gives.

        Some of torch's special functions have eight digits of sixteen.
        """
        if not self.op.name.startswith("special.") or getattr(self.op, "ref", None) is None:
            return False
        operands = [sample.input, *sample.args]
        found = self.op.ref(*[array_of(x) if isinstance(x, torch.Tensor) else x for x in operands])
        _compare_numbers(array_of(got), np.asarray(found), expected.dtype)
        return got.shape == tuple(expected.shape)

    def _variants(self, sample):
        """The method, the operator, and both in place."""
        op = self.op
        for theirs in (op.method_variant, op.operator_variant):
            if theirs is None or not isinstance(sample.input, torch.Tensor):
                continue
            mine = theirs if theirs is op.operator_variant else method_of(theirs)
            self._same_outcome(sample, mine, theirs)
        for theirs in (op.inplace_variant, op.inplace_operator_variant):
            if theirs is None or not isinstance(sample.input, torch.Tensor):
                continue
            in_place = detached(sample)
            mine = method_of(theirs) if theirs is op.inplace_variant else theirs
            try:
                self._same_outcome(in_place, mine, theirs)
            except Unequal:
                raise
            except RuntimeError:
                # torch writes some results that are larger than what they are written to.
                if not sample.broadcasts_input:
                    raise

    def _same_outcome(self, sample, mine, theirs):
        """Both give the same, or both raise an exception of one class."""
        try:
            expected = self._theirs(sample, theirs)
        except Exception as error:
            self._raises(type(error), lambda: self._call(sample, mine))
        else:
            self._compare_results(sample, self._call(sample, mine), expected)

    def _raises(self, kind, call):
        wanted = [c.__name__ for c in kind.__mro__ if hasattr(builtins, c.__name__)][0]
        try:
            call()
        except getattr(builtins, wanted):
            return
        except Slow:
            raise
        except Exception as error:
            raise Unequal(
                f"{type(error).__name__} ({str(error)[:120]}) instead of {wanted}"
            ) from error
        raise Unequal(f"no error instead of {wanted}")

    def _out(self, sample):
        plain = detached(sample)
        expected = self._theirs(plain)
        results = leaves_of(expected)
        if not all(isinstance(r, torch.Tensor) for r in results):
            return
        empty = [torch.full_like(r, 3) for r in results]
        one = isinstance(expected, torch.Tensor)
        try:
            outputs = [copy_of(e) for e in empty]
            self._theirs(plain, functools.partial(self.op.op, out=outputs[0] if one else outputs))
        except TypeError:
            return  # torch has none for these arguments
        except Exception:
            pass  # its own error of what it has is seen below
        mine = tuple(ours(e) for e in empty)
        given = tree_map(ours, (plain.input, tuple(plain.args), plain.kwargs))
        got = self.mine(given[0], *given[1], **given[2], out=mine[0] if one else mine)
        if got is not None:  # some return nothing where they write
            self._compare_results(plain, got if one else tuple(got), expected)
        self._compare_results(plain, mine[0] if one else mine, expected)

    def _gradient(self, sample):
        """The gradient of a random weighting of the results, and the gradient of its own."""
        op = self.op
        theirs = tree_map(_leaf, (sample.input, tuple(sample.args), dict(sample.kwargs)))
        mine = tree_map(ours, theirs)
        wrapper = op.gradcheck_wrapper
        try:
            expected = wrapper(op.op, theirs[0], *theirs[1], **theirs[2])
        except Exception:
            return  # the comparison of forwards has it
        got = _with_globals(wrapper, ours)(self.mine, mine[0], *mine[1], **mine[2])
        process = sample.output_process_fn_grad
        expected = leaves_of(process(expected))
        got = leaves_of(rewritten_process(process)(got))
        leaves = [t for t in tree_flatten(theirs)[0] if _wants_grad(t)]
        own = [t for t in tree_flatten(mine)[0] if _wants_grad(t)]
        pairs = [(g, e) for g, e in zip(got, expected, strict=True) if _wants_grad(e)]
        if not pairs or not leaves:
            return
        for g, e in pairs:
            if not g.requires_grad:
                raise Unequal("a result without requires_grad")
            compare(g, e, not self.random)
        weights = [_weights(e) for _, e in pairs]
        twice = op.supports_gradgrad and not self._torch_fails("test_fn_gradgrad")
        if twice:
            weights = [w.requires_grad_() for w in weights]
        own_weights = [ours(w) for w in weights]
        first = torch.autograd.grad(
            [e for _, e in pairs], leaves, weights, create_graph=twice, allow_unused=True
        )
        own_first = numbagrad.autograd.grad(
            [g for g, _ in pairs], own, own_weights, create_graph=twice, allow_unused=True
        )
        try:
            self._compare_gradients(own_first, first)
        except Unequal:
            if not self._torch_fails("test_fn_grad"):
                raise
            assert self._is_derivative(mine, own)
            return
        if not twice:
            return
        chosen = [i for i, f in enumerate(first) if f is not None and f.requires_grad]
        if not chosen:
            return
        second_weights = [_weights(first[i]) for i in chosen]
        second = torch.autograd.grad(
            [first[i] for i in chosen], leaves + weights, second_weights, allow_unused=True
        )
        own_second = numbagrad.autograd.grad(
            [own_first[i] for i in chosen],
            own + own_weights,
            [ours(w) for w in second_weights],
            allow_unused=True,
        )
        try:
            self._compare_gradients(own_second, second)
        except Unequal as error:
            raise Unequal(f"second order: {error}") from None

    def _torch_fails(self, test):
        """Whether the database says that torch's own derivative does not pass this test."""
        return any(
            getattr(entry, "cls_name", None) == "TestBwdGradients"
            and entry.test_name == test
            and entry.device_type in (None, "cpu")
            for entry in (*self.op.skips, *self.op.decorators)
        )

    def _is_derivative(self, given, leaves):
        """Whether the gradient is what small differences give."""
        return numbagrad.autograd.gradcheck(
            lambda *_: self.mine(given[0], *given[1], **given[2]), tuple(leaves)
        )

    def _compare_gradients(self, got, expected):
        """Gradients that one library leaves out are zeros in the other."""
        for mine, theirs in zip(got, expected, strict=True):
            if mine is None and theirs is None:
                continue
            if theirs is None:
                theirs = torch.zeros(tuple(mine.shape), dtype=getattr(torch, str(mine.dtype)[6:]))
            if mine is None:
                mine = ours(torch.zeros_like(theirs))
            compare(mine, theirs, not self.random)

    def _refuse(self, wrong):
        sample = wrong.sample_input
        error = wrong.error_type
        # The database may name a wider class than what is raised.
        try:
            self._theirs(sample)
        except Exception as raised:
            kinds = error if isinstance(error, tuple) else (error,)
            if not isinstance(raised, kinds):
                return
            error = type(raised)
        else:
            return
        self._raises(error, lambda: self._call(sample))


def copied(value):
    return tree_map(lambda v: copy_of(v) if isinstance(v, torch.Tensor) else v, value)


def _leaf(value):
    return copy_of(value) if isinstance(value, torch.Tensor) else value


def _wants_grad(value):
    return getattr(value, "requires_grad", False) is True


def _weights(result):
    """Numbers of both signs, the same for both libraries, in the shape of a result."""
    count = max(1, result.numel())
    numbers = torch.linspace(-1.0, 1.5, count, dtype=torch.float64)[: result.numel()]
    if result.is_complex():
        numbers = torch.complex(numbers, numbers.flip(0) * 0.5)
    return numbers.reshape(result.shape).to(result.dtype)


def detached(sample):
    """The sample without gradients, as writes in place need it."""
    return sample.transform(lambda t: t.detach() if isinstance(t, torch.Tensor) else t)


def rewritten_process(process):
    """What the sample does to results before their gradient, on numbagrad's results."""
    if isinstance(process, types.FunctionType):
        return _with_globals(process, ours)
    return process


# All of them


def chosen(arguments):
    every = [op for op in database.op_db if not op.name.startswith(ELSEWHERE)]
    if arguments.only:
        return [
            op for op in every if op.name in arguments.only or op.formatted_name in arguments.only
        ]
    part, parts = map(int, arguments.shard.split("/"))
    return every[part - 1 :: parts]


def _late(number, frame):
    raise Slow


def judge(op, arguments):
    """The failures of one operator, by mode."""
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(arguments.limit)
    failures = {}
    try:
        case = Case(op, arguments.samples)
        failures = case.failures
        case.run()
    except Slow:
        failures["time"] = f"not done after {arguments.limit} seconds"
    except Exception as error:
        failures["samples"] = f"{type(error).__name__}: {str(error)[:300]}"
    finally:
        signal.alarm(0)
    return failures


class Record:
    """The verdicts of a run in a file, a line of JSON each, so that a run can be taken up again.

    A line is written before an operator is judged and another one after it: an operator with the
    first line only has ended the process, which is its verdict.
    """

    def __init__(self, path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.verdicts: dict[str, dict] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                verdict = json.loads(line)
                self.verdicts[verdict["operator"]] = verdict

    def begin(self, name):
        self._write(name, {"process": "ended while it was judged"}, 0.0)

    def end(self, name, failures, seconds):
        self._write(name, failures, seconds)

    def _write(self, name, failures, seconds):
        verdict = {"operator": name, "seconds": round(seconds, 1), "failures": failures}
        self.verdicts[name] = verdict
        with self.path.open("a") as file:
            file.write(json.dumps(verdict) + "\n")

    def is_due(self, name, again):
        """Whether an operator has no verdict, or one that is asked for again."""
        verdict = self.verdicts.get(name)
        return verdict is None or (again and bool(verdict["failures"]))


def parsed():
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="operators by their names")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="every Nth from the Ith on")
    parser.add_argument("--samples", type=int, default=12, help="at most so many; 0 for all")
    parser.add_argument("--limit", type=int, default=300, help="seconds for one operator")
    parser.add_argument(
        "--record", type=pathlib.Path, default=pathlib.Path("build/operators.jsonl"), metavar="FILE"
    )
    parser.add_argument("--again", action="store_true", help="judge those that failed once more")
    return parser.parse_args()


def main():
    arguments = parsed()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    operators = chosen(arguments)
    record = Record(arguments.record)
    for op in operators:
        name = op.formatted_name
        if not arguments.only and not record.is_due(name, arguments.again):
            continue
        record.begin(name)
        began = time.perf_counter()
        failures = judge(op, arguments)
        record.end(name, failures, time.perf_counter() - began)
        for mode, message in failures.items():
            print(f"{name} | {mode} | {' '.join(message.split())}", flush=True)
    failed = [
        op.formatted_name for op in operators if record.verdicts[op.formatted_name]["failures"]
    ]
    print(f"{len(operators) - len(failed)} of {len(operators)} operators pass", flush=True)
    if failed:
        print("These do not:", *failed, flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
