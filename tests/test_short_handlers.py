"""No endless loop where memory runs out: CPython may allocate where it enters a handler.

In a function with exception handlers beyond instruction 256 CPython (3.11 and later) needs an int
for the number of the instruction, and tries for ever to enter the handler if there is no memory for
it. No function that runs in a step has its handlers there: ``LATE`` lists all that have, and why
they may.
"""

from __future__ import annotations

import dis
import pathlib
import sys
from collections.abc import Iterator
from types import CodeType

from allocation_faults import called

import numbagrad as torch
from numbagrad.nn import functional as F

PACKAGE = pathlib.Path(torch.__file__).parent

#: Functions with late handlers, in one version of CPython at least, by what they are for.
LATE = {
    "makes a kernel or a program, once for each: Numba and LLVM end a process without memory": """
        codegen/loader.py:_resolve_runtime codegen/loader.py:load
        executor/cache/background.py:request
        executor/cache/library.py:_address executor/cache/library.py:_shared
        executor/user_kernels/numba_function.py:_compiled
        executor/user_kernels/numba_function.py:_trampoline
        executor/families/pointwise.py:PointwiseProgram._set_up executor/threads/pool.py:_make_pool
        executor/cache/deferred.py:Deferred.ready executor/plan/result_forms.py:pointwise_outputs
        numba_extension/tensor_type.py:_box_tensor numba_extension/tensor_type.py:_unbox_tensor
        numba_extension/writes.py:_bump_version.<locals>.generate
        ops/operators/composite.py:Composite._pair_of
        ops/operators/composite_pair.py:Pair.differentiate
        ops/operators/composite_pair.py:_Trace.__init__ ops/operators/composite_pair.py:_Trace.walk
        compiling/verification.py:Previous.agrees compiling/verification.py:RandomStates.repeated
        compiling/verification.py:Rounding._agree
    """,
    "reads or writes files": """
        executor/cache/disk.py:ObjectCache._replace executor/cache/disk.py:ObjectCache.read
        serialization/replacement.py:_open_temporary serialization/replacement.py:write_file
        serialization/unpickler.py:ClosedUnpickler.load serialization/locations.py:restore
        serialization/__init__.py:load
        serialization/reading.py:_named untyped_storage.py:UntypedStorage.from_file
        utils/tensorboard/summary.py:audio utils/tensorboard/writer.py:SummaryWriter.add_embedding
        utils/tensorboard/writer.py:SummaryWriter.add_hparams
    """,
    "looks at a program for its user": """
        fx/_symbolic_trace.py:Tracer.trace fx/_symbolic_trace.py:Tracer._wrapping
        fx/interpreter.py:Interpreter.run
        autograd/gradcheck/__init__.py:gradcheck autograd/gradcheck/jacobians.py:_push_forward
        autograd/gradcheck/properties.py:_compare_batched
        autograd/gradcheck/properties.py:_tangents
        autograd/gradcheck/properties.py:check_undefined_gradients
        program/profiling.py:Profile._table program/profiling.py:_Observer.pause
        program/drawing.py:_memory program/drawing.py:_operations
        program/explanation.py:_text program/explanation.py:describe
        testing/comparison.py:_Comparison._values
    """,
    "changes a module before training": """
        nn/module_state.py:ModuleState._load_tensor
        nn/utils/parametrize.py:ParametrizationList.__init__
        nn/utils/parametrize.py:remove_parametrizations nn/utils/spectral_norm.py:SpectralNorm.apply
    """,
    "is the loop of a process of its own, or waits for one": """
        data/loader.py:_Workers.batches data/worker.py:run executor/cache/background.py:_talk
    """,
    "sets a generator of random numbers to a state": """
        cuda/philox.py:Generator.set_state
    """,
    "runs to have kernels compiled, before anything depends on it": """
        warming.py:precisions warming.py:transformer warming.py:two_layer
    """,
}


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """A code and all that is defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)


def with_late_handlers(code: CodeType) -> bool:
    """Whether a handler, or what a handler runs, lies beyond instruction 256."""
    if sys.version_info < (3, 11):
        return False  # handlers need no memory
    entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    return any(entry.lasti and entry.end // 2 > 256 for entry in entries)


def eager_step() -> None:
    """Operators of every kind that an eager step is made of."""
    x, w = torch.ones(4, 3), torch.ones(5, 3, requires_grad=True)
    bias = torch.zeros(5, requires_grad=True)
    y = F.linear(x, w, bias).relu() * 2 - w[0].sum() + w.mean()
    z = torch.cat([y[1:], y[:1, :]]).view(5, 4).t() @ w
    w.detach()[0].mul_(2)
    z.softmax(-1).log().sum(1).amax().sqrt().unsqueeze(0)
    with torch.no_grad():
        w.add_(bias.sum()).clone()


def step_and_backward() -> None:
    """An eager step and a walk through operators of every kind."""
    eager_step()
    x = torch.ones(4, 4, requires_grad=True)
    y = (x @ x).relu().view(16)[1:]
    (torch.cat([y, y]).softmax(0).log().sum() + x.std()).backward()


def test_handlers_of_an_eager_step_lie_early() -> None:
    for _ in range(2):
        eager_step()
    ours = [code for code in called(eager_step)[1] if str(PACKAGE) in code.co_filename]
    late = {code.co_name for code in ours if with_late_handlers(code)}
    assert not late


def test_an_eager_step_makes_no_functions() -> None:
    """CPython 3.12 and 3.13 free constants once too often where they cannot make a function."""
    if sys.version_info < (3, 12):
        return  # comprehensions are functions there, which may fail
    makes = set()
    for _ in range(2):
        step_and_backward()
    for code in called(step_and_backward)[1]:
        if str(PACKAGE) in code.co_filename:
            if any(each.opname == "MAKE_FUNCTION" for each in dis.get_instructions(code)):
                makes.add(f"{code.co_filename}:{code.co_firstlineno}")
    assert not makes


def test_only_functions_beside_the_steps_have_late_handlers() -> None:
    if sys.version_info < (3, 11):
        return
    late = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("kernels/"):  # runs compiled, or to compile
            continue
        for code in codes_of(compile(path.read_text(), str(path), "exec")):
            if with_late_handlers(code):
                late.add(f"{name}:{code.co_qualname}")  # type: ignore[attr-defined]
    listed = " ".join(LATE.values()).split()
    assert len(listed) == len(set(listed))
    assert late <= set(listed), late - set(listed)


def test_functions_with_late_handlers_are_still_there() -> None:
    for entry in " ".join(LATE.values()).split():
        name, _, function = entry.partition(":")
        last = function.rpartition(".")[2]
        assert f"def {last}(" in (PACKAGE / name).read_text(), entry
