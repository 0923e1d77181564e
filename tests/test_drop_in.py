"""Programs that say ``import torch`` run on this package, unchanged."""

import subprocess
import sys
import types

import pytest

import numbagrad
from numbagrad.torch_version import TorchVersion

PROGRAM = """
import sys
import torch
import torch.nn as nn, torch.nn.functional as F, torch.optim
from torch import Tensor, optim
from torch.nn.utils.weight_norm import weight_norm
from torch.utils.data import DataLoader, TensorDataset
import importlib.metadata, importlib.util
import numbagrad

assert torch is numbagrad and nn is numbagrad.nn and F is numbagrad.nn.functional
assert sys.modules["torch.optim"] is numbagrad.optim is optim
assert DataLoader is numbagrad.data.DataLoader
assert weight_norm is nn.utils.weight_norm
names = [name for name in sys.modules if name.startswith("torch.")]
assert all(sys.modules[name].__name__.startswith("numbagrad") for name in names), names
assert torch.__version__ == "2.13.0+numbagrad" and torch.__version__ >= (2, 13)
assert importlib.metadata.version("torch") == "2.13.0+numbagrad"
assert importlib.util.find_spec("torch") is not None
assert importlib.util.find_spec("torch.optim.adam") is not None
assert importlib.util.find_spec("torch.no_such_module") is None
net = nn.Linear(3, 1)
optimizer = optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(TensorDataset(torch.randn(8, 3), torch.randn(8, 1)), batch_size=4):
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    optimizer.step()
print(__name__, sys.argv[1:])
"""
BY_HAND = "import sys, numbagrad\nsys.modules['torch'] = numbagrad\n"


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=300, **options
    )


def succeeded(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"import beside\n{PROGRAM}")
    (tmp_path / "beside.py").write_text("import torch.fft\n")
    assert succeeded(run("-m", "numbagrad", str(script), "a", "--b")) == ["__main__ ['a', '--b']"]


def test_a_module(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{MAIN}", "-m", "program")
    assert succeeded(done) == ["__main__ []"]


def test_arguments_take_the_name_to_new_processes_and_are_a_list_where_they_are_stored():
    import copy
    import pickle

    from numbagrad.running import _Arguments

    given = _Arguments(["launch", "script.py", "-x"])
    for part in (given[1:], given.copy(), ["a", *given[1:]][:1] + given, given + ["b"]):
        assert type(part) is _Arguments
    assert given[1:] == ["script.py", "-x"] and given[0] == "launch"
    assert ["a"] + given[2:] == ["a", "-x"]
    assert type(pickle.loads(pickle.dumps(given))) is type(copy.deepcopy(given)) is list


MAIN = "from numbagrad.running import main; sys.exit(main(sys.argv[1:]))"


def test_a_command():
    assert succeeded(run("-m", "numbagrad", "-c", PROGRAM, "x")) == ["__main__ ['x']"]


def test_the_exit_status_and_the_traceback_are_those_of_the_program(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import torch, sys\nsys.exit(7)\n")
    assert run("-m", "numbagrad", str(script)).returncode == 7
    script.write_text("import torch\ntorch.ones(2) @ torch.ones(3)\n")
    done = run("-m", "numbagrad", str(script))
    assert done.returncode == 1 and "RuntimeError" in done.stderr
    assert run("-m", "numbagrad").returncode == 2
    assert run("-m", "numbagrad", "-x").returncode == 2
    assert "usage" in succeeded(run("-m", "numbagrad", "--help"))[0]


def test_the_name_by_hand():
    succeeded(run("-c", BY_HAND + PROGRAM))


def test_pytest_finds_it(tmp_path):
    (tmp_path / "test_program.py").write_text(
        "import torch\ndef test():\n    assert torch.__version__.endswith('numbagrad')\n"
    )
    done = run("-m", "numbagrad", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path)
    assert "1 passed" in "".join(succeeded(done))


def test_another_torch_that_was_imported_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    with pytest.raises(ImportError, match="another module of that name has been imported"):
        numbagrad.install_as_torch()
    assert sys.modules["torch"].__name__ == "torch"


def test_another_torch_is_left_alone(tmp_path):
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = 'real'\n")
    (package / "nn.py").write_text("real = True\n")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport numbagrad\n"
        "with numbagrad.install_as_torch():\n    import torch.nn as ours\n"
        "import torch.nn\nassert torch.nn.real and torch.__version__ == 'real'\n"
        "assert ours is numbagrad.nn and numbagrad.__version__ != 'real'"
    )
    succeeded(run("-c", program))


@pytest.fixture
def no_torch(monkeypatch):
    for name in [name for name in sys.modules if name == "torch" or name.startswith("torch.")]:
        monkeypatch.delitem(sys.modules, name)


def test_the_name_is_taken_away_when_the_last_context_ends(no_torch):
    own = numbagrad.__version__
    with numbagrad.install_as_torch() as torch:
        assert torch is numbagrad
        with numbagrad.install_as_torch():
            pass
        assert sys.modules["torch"] is numbagrad
        assert isinstance(torch.__version__, TorchVersion) and torch.__version__ != own
    assert "torch" not in sys.modules and numbagrad.__version__ == own


def test_notebooks(no_torch):
    numbagrad.load_ipython_extension(None)
    assert sys.modules["torch"] is numbagrad
    numbagrad.unload_ipython_extension(None)
    assert "torch" not in sys.modules


def test_a_function_is_no_module(no_torch):
    with numbagrad.install_as_torch():
        with pytest.raises(ModuleNotFoundError, match="No module named 'torch.tensor'"):
            import torch.tensor  # noqa: F401
    assert numbagrad.tensor(1).item() == 1


@pytest.mark.parametrize(
    "smaller, larger",
    [
        ("2.12.1", "2.13.0+numbagrad"),
        ("2.13.0", "2.13.0+numbagrad"),
        ("2.13.0+numbagrad", "2.13.1"),
        ("2.9", "2.10"),
        ("2.13.0rc1", "2.13.0"),
        ("2.13.0.dev20250101", "2.13.0a0"),
        ("2.13.0", "2.13.0.post1"),
    ],
)
def test_versions_compare_by_their_numbers(smaller, larger):
    assert TorchVersion(smaller) < larger and TorchVersion(larger) > smaller
    assert TorchVersion(smaller) <= larger and TorchVersion(larger) >= TorchVersion(smaller)
    assert TorchVersion(smaller) != larger


def test_versions_compare_with_tuples():
    version = TorchVersion("2.13.0+numbagrad")
    assert (2, 9) < version < (2, 14) and TorchVersion("2.13.0") == (2, 13)
    assert version == "2.13.0+numbagrad" and version != "something" and hash(version)
    with pytest.raises(ValueError, match="Invalid version"):
        assert version < "something"


def test_tensors_are_torchs_by_name_and_are_pickled_under_either():
    """Libraries ask for the module of a tensor's class; pickles do not depend on the name."""
    program = """
import pickle, io
import numbagrad as ng
def saved(x):
    file = io.BytesIO()
    ng.save(x, file)
    return file.getvalue()
values = [ng.ones(2), ng.nn.Parameter(ng.ones(2))]
before = [pickle.dumps(x) for x in values], saved(values)
assert type(values[0]).__module__ == "numbagrad.tensor"
assert ng.nn.Linear.__module__ == "numbagrad.nn.linear"
with ng.install_as_torch():
    import torch
    assert type(values[0]).__module__ == "torch" and repr(torch.Tensor) == "<class 'torch.Tensor'>"
    inside = [pickle.dumps(x) for x in values], saved(values)
    assert torch.nn.Linear.__module__ == "torch.nn.modules.linear"
    assert torch.nn.LazyLinear.__module__ == "torch.nn.modules.linear"  # imported when asked for
    assert torch.distributions.Normal.__module__ == "torch.distributions.normal"
    assert torch.distributions.Normal(0.0, 1.0).expand((2,)).batch_shape == (2,)
    assert type(pickle.loads(pickle.dumps(torch.nn.ReLU()))) is torch.nn.ReLU
    assert "numbagrad" not in repr(torch.optim.Adam)
    import typing
    assert "training" in typing.get_type_hints(torch.nn.Linear)  # in the names of its own file
    for one in (before, inside):
        assert [type(pickle.loads(x)) for x in one[0]] == [torch.Tensor, torch.nn.Parameter]
        assert torch.load(io.BytesIO(one[1]))[0].tolist() == [1.0, 1.0]
assert type(values[0]).__module__ == "numbagrad.tensor"
assert ng.nn.Linear.__module__ == "numbagrad.nn.linear"
for one in (before, inside):
    assert [type(pickle.loads(x)) for x in one[0]] == [ng.Tensor, ng.nn.Parameter]
    assert ng.load(io.BytesIO(one[1]))[1].tolist() == [1.0, 1.0]
print("done")
"""
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert made.stdout == "done\n", made.stderr


def test_paths_whose_names_stand_in_another_module():
    program = """
import numbagrad
numbagrad.install_as_torch()
import torch.utils.benchmark.utils.common
import torch.signal.windows.windows as windows
from torch.multiprocessing.pool import Pool
from torch.profiler.profiler import profile
from torch.utils.benchmark.utils.timer import Timer
print(windows is torch.signal.windows, profile is torch.profiler.profile, Timer.__name__)
"""
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert made.stdout == "True True Timer\n", made.stderr
