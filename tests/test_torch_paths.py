"""What programs import from torch: every path is there, and what is not there says so."""

import importlib
import subprocess
import sys

import pytest
from torch_paths import PATHS

import numbagrad as torch
from numbagrad.absent import absent


@pytest.mark.parametrize("path", PATHS)
def test_a_path(path):
    module = importlib.import_module(path.replace("torch", "numbagrad", 1))
    for name in getattr(module, "__all__", ()):
        assert hasattr(module, name), name
    assert set(dir(module))


def test_all_paths_under_torchs_name():
    program = (
        "import importlib, sys, numbagrad\n"
        "with numbagrad.install_as_torch():\n"
        f"    for path in {PATHS}:\n"
        "        module = importlib.import_module(path)\n"
        "        assert module is sys.modules[path.replace('torch', 'numbagrad', 1)], path\n"
        "    from numbagrad import torch_imports\n"
        "    for path, homes in torch_imports.table().items():\n"
        "        for name, home in homes.items():\n"
        "            found = getattr(sys.modules[path], name)\n"
        "            assert found is torch_imports.at_home(home), (path, name)\n"
        "    from torch.nn.modules.conv import F, Parameter, torch\n"
        "    assert torch is numbagrad and Parameter is torch.nn.Parameter\n"
        "    assert not hasattr(torch.nn.modules.conv, 'Adam')\n"
        "    import torch.nn.quantized.modules.linear\n"
        "    import torch.utils.data.graph_settings as settings\n"
        "    assert isinstance(settings.apply_sharding, type)\n"
        "    assert issubclass(torch._dynamo.exc.Unsupported, RuntimeError)\n"
        "    from torch._functorch.vmap import _add_batch_dim, _maybe_remove_batch_dim\n"
        "    files = [m.__file__ for n, m in sys.modules.items() if n.startswith('numbagrad')\n"
        "             and getattr(m, '__file__', None)]\n"
        "    assert len(files) == len(set(files))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_modules_that_are_absent_can_be_imported_and_say_so():
    program = (
        "import importlib, numbagrad\n"
        "from numbagrad.absent_modules import REASONS\n"
        "numbagrad.install_as_torch()\n"
        "for path, reason in REASONS.items():\n"
        "    module = importlib.import_module(f'torch.{path}')\n"
        "    try:\n"
        "        module.something()\n"
        "    except NotImplementedError as error:\n"
        "        assert str(error).endswith(reason) and f'torch.{path}.something' in str(error)\n"
        "    else:\n"
        "        raise AssertionError(path)\n"
        "from torch.utils.benchmark.utils.valgrind_wrapper.timer_interface import FunctionCounts\n"
        "import torch.xpu.memory, torch.accelerator.memory, torch.mps.profiler\n"
        "assert torch.xpu.memory.empty_cache is torch.xpu.empty_cache\n"
        "from torch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions\n"
        "assert LinearCrossEntropyOptions is numbagrad.nn.modules.LinearCrossEntropyOptions\n"
        "try:\n"
        "    import torch.nosuch\n"
        "except ModuleNotFoundError as error:\n"
        "    assert str(error) == \"No module named 'torch.nosuch'\"\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_layers_at_torchs_paths_are_those_of_nn():
    for name in torch.nn.modules.__all__ if hasattr(torch.nn.modules, "__all__") else dir(torch.nn):
        value = getattr(torch.nn, name)
        if isinstance(value, type) and hasattr(torch.nn.modules, name):
            assert getattr(torch.nn.modules, name) is value
    assert isinstance(torch.nn.BatchNorm2d(3), torch.nn.modules.batchnorm._BatchNorm)
    assert isinstance(torch.nn.Conv1d(1, 1, 1), torch.nn.modules.conv._ConvNd)
    assert isinstance(torch.nn.MSELoss(), torch.nn.modules.loss._Loss)
    assert torch.nn.modules.linear.Linear.__module__ == "numbagrad.nn.linear"


def test_private_names_that_libraries_build_upon():
    from numbagrad.autograd import functional
    from numbagrad.utils._contextlib import _DecoratorContextManager, context_decorator

    x = torch.ones(2, requires_grad=True)
    assert functional._as_tuple(x, "inputs", "f") == (False, (x,))
    assert functional._as_tuple([1, 2]) == (1, 2)
    assert functional._tuple_postprocess(((1,), (2,)), (True, False)) == (1, 2)
    assert functional._tuple_postprocess((3,), False) == 3
    (cut,), (kept,) = [functional._grad_postprocess((x * 2,), flag) for flag in (False, True)]
    assert kept.requires_grad and not cut.requires_grad
    groups = torch._utils._take_tensors([x, x.double(), x, x, x.double()], 16)
    assert [(len(group), group[0].dtype) for group in groups] == [
        (2, torch.float32), (1, torch.float64), (1, torch.float32), (1, torch.float64)
    ]  # fmt: skip
    assert isinstance(torch.nn.Parameter, torch.nn.parameter._ParameterMeta)
    text = torch._tensor_str._add_suffixes("x([1]", ["a=1", "b=2"], 2, force_newline=True)
    assert text == "x([1],\n  a=1, b=2)"
    assert torch._has_compatible_shallow_copy_type(x, x) and not torch.cuda._initialized
    assert torch.nn.init._no_grad_fill_(x, 3.0) is x
    with torch.printoptions(precision=2):
        assert torch._tensor_str.PRINT_OPTS.precision == 2
    assert torch._tensor_str.PRINT_OPTS.precision == 4

    def parabola(x, size, direction):
        return (size - 2.0) ** 2, 2 * (size - 2.0) * torch.ones(1)

    _, _, size, calls = torch.optim.lbfgs._strong_wolfe(
        parabola, None, 0.5, torch.ones(1), 4.0, torch.full((1,), -4.0), -4.0, c2=0.1
    )
    assert abs(size - 2.0) < 0.2 and calls > 1
    assert torch.optim.lbfgs._cubic_interpolate(0.0, 4.0, -4.0, 3.0, 1.0, 2.0) == 2.0

    class Doubles(_DecoratorContextManager):
        def __enter__(self):
            seen.append("in")

        def __exit__(self, *exception):
            seen.append("out")

    def numbers():
        yield 1
        yield 2

    seen = []
    assert Doubles()(lambda: 5)() == 5
    assert list(context_decorator(lambda: Doubles(), numbers)()) == [1, 2]
    assert seen[:2] == ["in", "out"] and seen[2:4] == ["in", "out"]
    with pytest.raises(AssertionError, match="ambiguous which interface"):
        context_decorator(Doubles(), numbers)


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.fx.replace_pattern(None, len, len),
        lambda: torch.SymInt(3),
        lambda: torch.onnx.export(None, None, "file"),
        lambda: torch.export.export(None, ()),
        lambda: torch.jit.save(None, "file"),
        lambda: torch.distributed.init_device_mesh("cpu", (1,)),
        lambda: torch.distributed.fsdp.fully_shard(torch.nn.Linear(1, 1)),
        lambda: torch.library.wrap_triton(len),
        lambda: torch.sparse.solve(None, None),
        lambda: torch.cuda.CUDAGraph(),
        lambda: torch.hub.load("owner/repository", "model"),
        lambda: torch.hub.load_state_dict_from_url("http://127.0.0.1/x"),
        lambda: torch.optim.swap_in_optimizer_params_and_state(None, None, None),
        lambda: torch.ao.quantization.prepare(None),
        lambda: torch.nn.attention.current_flash_attention_impl(),
    ],
)
def test_what_is_not_there_says_so_when_it_is_used(use):
    with pytest.raises(NotImplementedError, match="is not available in numbagrad"):
        use()


def test_names_that_are_not_there_stand_where_classes_do():
    Mesh = torch.distributed.DeviceMesh
    assert not isinstance(1, Mesh) and Mesh is torch.distributed.DeviceMesh
    assert "numbagrad does not have" in repr(Mesh)
    assert (Mesh | None) is not None

    class Traced(Mesh):
        pass

    with pytest.raises(NotImplementedError, match="DeviceMesh is not available"):
        Traced()
    with pytest.raises(AttributeError):
        torch.fx.no_such_name  # noqa: B018
    assert absent("torch.x.y", "why").__module__ == "torch.x"
    assert torch._C.Graph is torch.Graph
    with pytest.raises(NotImplementedError, match="torch.Graph is not available in numbagrad"):
        torch._C.Graph()


def test_questions_that_programs_ask_before_they_use_a_device():
    assert torch.distributed.is_available() and not torch.distributed.is_initialized()
    assert not torch.distributed.is_nccl_available()
    for device in (torch.cuda, torch.mps, torch.xpu, torch.mtia, torch.accelerator):
        assert not device.is_available() and device.device_count() == 0
    assert torch.cpu.is_available() and torch.cpu.device_count() == 1
    assert not torch.backends.mps.is_available() and not torch.backends.cudnn.is_available()
    assert torch.cuda.memory_allocated() == 0 and torch.cuda.get_rng_state_all() == []
    torch.cuda.empty_cache()
    with pytest.raises(AssertionError, match="ask torch.cuda.is_available"):
        torch.cuda.Stream()
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        torch.cuda.set_device(0)
    with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
        torch.accelerator.synchronize()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        torch.distributed.get_rank()


def test_switches_are_kept():
    cudnn = torch.backends.cudnn
    cudnn.benchmark, cudnn.deterministic = True, True
    with cudnn.flags(enabled=False, benchmark=False):
        assert not cudnn.enabled and not cudnn.benchmark
    assert cudnn.enabled and cudnn.benchmark and cudnn.deterministic
    cudnn.benchmark = cudnn.deterministic = False
    torch.backends.cuda.matmul.allow_tf32 = True
    assert torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    with pytest.raises(AttributeError):
        torch.backends.cuda.matmul.no_such_switch = 1
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        pass


def test_internal_modules_of_torch():
    """Their names can be imported, are missing to ``hasattr``, and say so when they are called."""
    program = (
        "import numbagrad\n"
        "with numbagrad.install_as_torch():\n"
        "    from torch.distributed.checkpoint.state_dict import get_model_state_dict\n"
        "    from torch._dynamo.utils import counters\n"
        "    from torch._dynamo import nothing_of_the_kind\n"
        "    from torch.fx.operator_schemas import normalize_function\n"
        "    assert not hasattr(normalize_function, 'graph')\n"
        "    for call in (get_model_state_dict, normalize_function, nothing_of_the_kind):\n"
        "        try:\n"
        "            call(None)\n"
        "        except NotImplementedError as error:\n"
        "            print(error)\n"
        "    try:\n"
        "        import torch.nosuch\n"
        "    except ModuleNotFoundError as error:\n"
        "        print(error)\n"
        "import numbagrad.fx\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0].startswith("torch.distributed.checkpoint.state_dict.get_model_state_dict is not")
    assert len(said) == 4 and "No module named 'torch.nosuch'" in said[3]


def test_helpers_of_layers_that_programs_import():
    assert torch.nn.modules.module._addindent("a\nb", 2) == "a\n  b"
    first, second = torch.nn.modules.transformer._get_clones(torch.nn.Linear(2, 2), 2)
    assert first.weight.equal(second.weight) and first.weight is not second.weight


def test_classes_that_annotations_give_elements():
    class Loader(torch.utils.data.DataLoader[int]):
        pass

    assert issubclass(Loader, torch.utils.data.DataLoader) and len(list(Loader([1, 2]))) == 2
    assert torch.utils.data.distributed.DistributedSampler[int] is not None
    assert torch.nn.DataParallel[torch.nn.Linear] is not None
