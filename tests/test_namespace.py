"""The public namespace: torch's names are there, and type checkers know what ops installs."""

import importlib
import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.ops.methods import on_demand

ROOT = pathlib.Path(__file__).parent.parent


@pytest.mark.parametrize(
    "name",
    """Tensor Size Generator device dtype layout memory_format finfo iinfo strided
    float16 float32 float64 half float double int8 int16 int32 int64 short int long uint8 bool
    tensor as_tensor asarray from_numpy frombuffer zeros ones empty full zeros_like ones_like
    empty_like full_like arange range linspace logspace eye scalar_tensor empty_strided
    tril_indices triu_indices rand randn randint randperm normal bernoulli multinomial rand_like
    randn_like randint_like manual_seed seed initial_seed get_rng_state set_rng_state
    no_grad enable_grad set_grad_enabled is_grad_enabled inference_mode autograd cuda executor
    random get_num_threads set_num_threads set_printoptions get_printoptions printoptions
    get_default_dtype set_default_dtype set_default_device get_default_device
    is_tensor is_floating_point is_complex is_inference is_signed is_nonzero numel equal allclose
    result_type promote_types can_cast typename set_default_tensor_type
    FloatTensor DoubleTensor HalfTensor LongTensor IntTensor ShortTensor CharTensor ByteTensor
    BoolTensor add sub mul div pow exp log matmul mm bmm where clamp reshape transpose
    threshold celu selu rrelu hardshrink conv2d conv_transpose2d bilinear cosine_similarity
    pairwise_distance pixel_shuffle pdist contiguous_format preserve_format pi e inf nan
    newaxis""".split(),
)
def test_has(name):
    assert hasattr(torch, name)


@pytest.mark.parametrize(
    "name",
    """Function Variable backward grad gradcheck gradgradcheck no_grad enable_grad
    set_grad_enabled inference_mode detect_anomaly set_detect_anomaly torch""".split(),
)
def test_autograd_has(name):
    assert hasattr(torch.autograd, name)


def test_names_that_modules_share_mean_the_torch_object():
    assert isinstance(torch.float32, torch.dtype)
    assert isinstance(torch.device("cpu"), torch.device)
    assert torch.tensor(1).item() == 1
    assert isinstance(torch.strided, torch.layout)
    assert (torch.float, torch.long) == (torch.float32, torch.int64)
    assert torch.zeros(1).bool().dtype is torch.bool


@pytest.mark.parametrize(
    "expression, text",
    [
        ("torch.result_type(torch.tensor([1]), 1.0)", "torch.float32"),
        ("torch.result_type(torch.tensor([1], dtype=torch.int8), torch.tensor(1))", "torch.int8"),
        ("torch.result_type(torch.ones(1), torch.ones(()).double())", "torch.float32"),
        ("torch.promote_types(torch.int32, torch.float16)", "torch.float16"),
        ("torch.can_cast(torch.float32, torch.int64)", "False"),
        ("torch.typename(torch.zeros(2)), torch.typename(3)", "('torch.FloatTensor', 'int')"),
        ("torch.is_tensor(3), torch.is_tensor(torch.ones(1))", "(False, True)"),
        ("torch.is_floating_point(torch.ones(1)), torch.is_complex(torch.ones(1))",
         "(True, False)"),
        ("torch.numel(torch.ones(2, 3))", "6"),
        ("torch.is_nonzero(torch.ones(1))", "True"),
        ("torch.equal(torch.ones(2), torch.ones(3))", "False"),
        ("torch.equal(torch.ones(2), torch.ones(2))", "True"),
        ("torch.allclose(torch.ones(2), torch.ones(2) + 1e-7)", "True"),
        ("torch.allclose(torch.ones(2), torch.ones(2) + 1e-3)", "False"),
        ("torch.allclose(torch.tensor([np.nan]), torch.tensor([np.nan]), equal_nan=True)", "True"),
        ("torch.cuda.is_available(), torch.cuda.device_count()", "(False, 0)"),
        ("isinstance(torch.ones(1), torch.FloatTensor)", "True"),
        ("isinstance(torch.ones(1), torch.LongTensor)", "False"),
        ("isinstance(torch.ones(1), torch.autograd.Variable)", "True"),
    ],
)  # fmt: skip
def test_answers(expression, text):
    assert repr(eval(expression, {"torch": torch, "np": np})) == text


def test_allclose_compares_one_dtype():
    with pytest.raises(RuntimeError, match="did not match"):
        torch.allclose(torch.ones(2), torch.ones(2).double())


def test_the_number_of_threads_can_be_set():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_the_executor_counts():
    before = torch.executor.stats()
    (torch.ones(3, dtype=torch.int16) + torch.ones(3, dtype=torch.int16)).add_(1)
    after = torch.executor.stats()
    assert after.compiled + after.loaded + after.hits >= before.compiled + before.loaded
    assert after.seconds >= before.seconds


def test_the_import_leaves_the_compiler_alone():
    code = "import sys, numbagrad; print([m for m in ('numba', 'llvmlite') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_few_programs_use_is_imported_when_it_is_asked_for():
    code = (
        "import sys, numbagrad, numbagrad.compiling as room; "
        "rooms = ('numbagrad.compiling.call_capture', 'numbagrad.program', 'numbagrad.data');"
        "before = [m for m in rooms if m in sys.modules]; "
        "names = {'CompiledFunction', 'compile'} <= {*dir(room)}, 'data' in dir(numbagrad.utils); "
        "numbagrad.utils.data.DataLoader, room.CompileError, numbagrad.compile(len); "
        "print(before, names, all([m in sys.modules for m in rooms]), hasattr(room, 'nothing'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] (True, True) True False"


def test_the_stubs_are_what_the_tool_writes():
    """In a process of its own: what a test imported is an attribute of its package."""
    program = "import write_stubs as t; print([p.name for p, f in t.STUBS.items() "
    program += "if p.read_text() != f()])"
    made = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "tools", capture_output=True, text=True
    )
    assert made.stdout == "[]\n", f"run python tools/write_stubs.py: {made.stdout}{made.stderr}"


class TestOnDemand:
    """Operators whose files are imported when a program first asks for one."""

    def test_every_function_is_one_of_its_file(self):
        on_demand.load_all()
        for home, names in on_demand.FUNCTIONS.items():
            module = importlib.import_module(home)
            assert sorted(names.split()) == sorted(module.__all__), home
            for name in names.split():
                assert hasattr(torch, name) and name in dir(torch)

    def test_every_method_is_installed_by_its_file(self):
        on_demand.load_all()
        waiting = [name for names in on_demand.METHODS.values() for name in names.split()]
        assert all(getattr(torch.Tensor, name).__module__ != on_demand.__name__ for name in waiting)

    def test_nothing_is_imported_before(self):
        homes = [*on_demand.FUNCTIONS, *on_demand.METHODS]
        program = f"import sys, numbagrad; print([x for x in {homes} if x in sys.modules])"
        made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert made.stdout.strip() == "[]", made.stderr

    def test_a_class_may_override_them(self):
        program = (
            "import numbagrad as torch\n"
            "class Loud(torch.Tensor):\n"
            "    @classmethod\n"
            "    def __torch_function__(cls, func, types, args=(), kwargs=None):\n"
            "        return func.__name__\n"
            "x = torch.ones(2).as_subclass(Loud)\n"
            "print(torch.dropout(x, 0.5, True))\n"
        )
        made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert made.stdout.strip() == "dropout", made.stderr
