"""Names and arguments of calls of CUDA's driver are those of the installed cuda-bindings."""

from __future__ import annotations

import ast
import importlib.metadata
import pathlib
import re
import warnings

import pytest
from cuda.bindings import driver

import numbagrad
import numbagrad as torch
from numbagrad.cuda.driver import calls as made_calls
from numbagrad.cuda.driver import chosen
from numbagrad.cuda.driver.offline import Offline

ROOM = pathlib.Path(numbagrad.__file__).parent / "cuda" / "driver"
NODES = [node for name in ("calls.py", "device.py")
         for node in ast.walk(ast.parse((ROOM / name).read_text()))]  # fmt: skip


def names():
    """Every ``cu.name``, and ``cu.name.member``, that the file has."""
    for node in NODES:
        if isinstance(node, ast.Attribute):
            path = ast.unparse(node)
            if re.fullmatch(r"cu\.\w+(\.CU_?\w+)?", path):
                yield path


def calls():
    """Every call of a function of the driver, with the number of its arguments."""
    for node in NODES:
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if re.fullmatch(r"cu\.cu[A-Z]\w+", name):
                starred = any([isinstance(x, ast.Starred) for x in node.args])
                yield name.removeprefix("cu."), None if starred else len(node.args)


@pytest.mark.parametrize("path", sorted(set(names())))
def test_names_are_there(path):
    found = driver
    for part in path.split(".")[1:]:
        found = getattr(found, part)


@pytest.mark.parametrize(("name", "count"), sorted(set(calls()), key=str))
def test_calls_have_the_arguments_that_are_documented(name, count):
    signature = getattr(driver, name).__doc__.partition("\n")[0]
    found = re.fullmatch(rf"{name}\((.*)\)", signature)
    assert found is not None, signature
    documented = len([x for x in found[1].split(",") if x.strip()])
    assert count in (None, documented), signature


def test_flags_and_handles_have_the_documented_forms():
    assert int(driver.CUstream(7)) == 7
    assert int(driver.CUdeviceptr(1 << 40)) == 1 << 40
    assert int(driver.cuuint64_t(2**64 - 1)) == 2**64 - 1
    assert driver.CUresult.CUDA_SUCCESS == 0


class Answers:
    """cuda-bindings whose driver answers so."""

    def __init__(self, **answers):
        self.answers = answers

    def __getattr__(self, name):
        if name in self.answers:
            return lambda *given: self.answers[name]
        return getattr(driver, name)


DONE, FAILED = driver.CUresult.CUDA_SUCCESS, driver.CUresult.CUDA_ERROR_NOT_INITIALIZED


@pytest.mark.parametrize("version", [12080, 13000, 13010])
def test_a_driver_that_is_too_old_is_named(version, monkeypatch):
    told = {"cuInit": (DONE,), "cuDeviceGetCount": (DONE, 2), "cuDriverGetVersion": (DONE, version)}
    monkeypatch.setattr(made_calls, "cu", Answers(**told))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        count = made_calls.count_devices()
    if version < 13000:
        (one,) = found
        assert count == 0 and "too old: it is of CUDA 12.8" in str(one.message)
    else:
        assert count == 2 and not found


def test_a_process_that_was_forked_is_told_to_spawn(monkeypatch):
    monkeypatch.setattr(made_calls, "cu", Answers(cuGetErrorString=(DONE, b"initialization error")))
    with pytest.raises(torch.AcceleratorError, match="initialization error"):
        made_calls.checked((FAILED, None))
    monkeypatch.setattr(made_calls, "_process", made_calls._process + 1)
    with pytest.raises(RuntimeError, match="Cannot re-initialize CUDA in forked subprocess"):
        made_calls.checked((FAILED, None))


#: Packages of CUDA; numba is one where a module of it is that.
PACKAGES = re.compile(r"(cupy|cupyx|cupy_backends|numba_cuda|cuda|numba\.cuda)(\.|$)")


def imported(tree):
    """The names of modules that a file imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from [x.name for x in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module
            yield from [f"{node.module}.{x.name}" for x in node.names]


def test_one_room_talks_to_packages_of_cuda():
    """``numbagrad/cuda/driver`` alone, so that another package can take their place."""
    root = pathlib.Path(numbagrad.__file__).parent
    found = {
        path.relative_to(root).parent.as_posix()
        for path in root.rglob("*.py")
        if any([PACKAGES.match(x) for x in imported(ast.parse(path.read_text()))])
    }
    assert found == {"cuda/driver"}


def test_the_extra_has_what_the_room_imports():
    metadata = importlib.metadata.metadata("numbagrad")
    given = [x for x in metadata.get_all("Requires-Dist") if 'extra == "cuda"' in x]
    names = {re.match(r"[\w-]+", x)[0] for x in given}
    assert names == {"numba-cuda", "cuda-core", "cupy-cuda13x"}
    for package in ("numba-cuda[cu13]", "cupy-cuda13x[ctk]"):  # with CUDA's own libraries
        assert any([x.startswith(package) for x in given])


@pytest.mark.parametrize("stream", [None, 0x50])
def test_launches_of_numba_take_a_tensor_by_dlpack(stream, monkeypatch):
    """They have the host wait for the stream that ``__cuda_array_interface__`` names, if asked."""
    from numba.cuda.cudadrv import devicearray, devices

    class Alone(Offline):
        """A driver that notes which stream waits for the current one, as no kernel is."""

        waiting = ()

        def queue_behind(self, stream, source, index, waiting=None):
            self.waiting += (waiting,)

    def get_context():
        raise AssertionError("a context is what Numba waits with")

    monkeypatch.setattr(devices, "get_context", get_context)
    alone = Alone()
    with chosen(alone):
        x = torch.ones(2, 3, device="cuda").t()
        given = driver.CUstream(stream) if stream else 0
        view, is_copy = devicearray._to_strided_memory_view(x, stream=given)
        assert (view.ptr, view.shape, is_copy) == (x.data_ptr(), (3, 2), False)
        assert alone.waiting == ((stream,) if stream else ())
        assert x.__cuda_array_interface__["stream"] is None
