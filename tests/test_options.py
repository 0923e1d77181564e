"""Options of public functions are heeded or refused: none is taken and forgotten.

A parameter that a function never reads would change nothing without a word, so each one that is
not read stands in a list with its reason. Layouts, pinned memory and memory formats are tried.
"""

from __future__ import annotations

import dis
import importlib
import inspect
import types

import pytest

import numbagrad as torch

# --- parameters that are not read -----------------------------------------------------------------

SPACES = (
    "", ".amp", ".autograd", ".autograd.functional", ".distributed", ".distributions", ".fft",
    ".func", ".hub", ".jit", ".linalg", ".masked", ".nn", ".nn.functional", ".nn.init",
    ".nn.utils", ".nn.utils.parametrize", ".optim", ".optim.lr_scheduler", ".random", ".special",
    ".signal.windows", ".testing", ".utils.checkpoint", ".utils.data",
)  # fmt: skip

#: What a function need not read, and why.
WITHOUT_EFFECT = {
    "always so": {
        "Tensor.argsort": {"stable"}, "Tensor.sort": {"stable"}, "Tensor.topk": {"sorted"},
        "Tensor.unique": {"sorted"}, "Tensor.to_dense": {"masked_grad"},
        "Tensor.gather": {"sparse_grad"},  # the gradient is dense
        # Indices are always checked.
        "sparse_coo_tensor": {"check_invariants"}, "sparse_csr_tensor": {"check_invariants"},
        "nn.functional.gumbel_softmax": {"eps"},  # nor in torch
        "batch_norm": {"cudnn_enabled"}, "group_norm": {"cudnn_enabled"},
        "instance_norm": {"cudnn_enabled"},
    },
    "how a result is found, which is found in another way": {
        "lobpcg": {
            "n", "iK", "niter", "tol", "ortho_iparams", "ortho_fparams", "ortho_bparams",
        },
        "distributions.Wishart.rsample": {"max_try_correction"},
        "nn.sdpa_kernel": {"set_priority"},
        "nn.utils.clip_grad_value_": {"foreach"}, "nn.utils.get_total_norm": {"foreach"},
        "nn.utils.clip_grads_with_norm_": {"foreach"},
        "utils.checkpoint.set_device_states": {"device_type"},
        "random.fork_rng": {"devices", "device_type"},  # all devices are meant
    },
    "of several devices, or of how processes find each other, which MPI knows": {
        "Future": {"devices"},
        "nn.DataParallel": {"device_ids", "output_device", "dim"},
        "distributed.barrier": {"device_ids"},
        "distributed.broadcast_object_list": {"device"},
        "distributed.init_process_group": {"init_method", "pg_options", "device_id"},
        "distributed.new_group": {"pg_options", "device_id"},
        "distributed.recv_object_list": {"device", "use_batch"},
        "distributed.send_object_list": {"device", "use_batch"},
        "distributed.split_group": {"pg_options"},
    },
    "of what has an interface that others follow": {
        "Generator.fill_elsewhere": {"name", "array", "arguments"},
        "distributions.AffineTransform.log_abs_det_jacobian": {"y"},
        "distributions.CorrCholeskyTransform.log_abs_det_jacobian": {"intermediates"},
        "distributions.CumulativeDistributionTransform.log_abs_det_jacobian": {"y"},
        "distributions.ReshapeTransform.log_abs_det_jacobian": {"y"},
        "distributions.SigmoidTransform.log_abs_det_jacobian": {"y"},
        "distributions.SoftplusTransform.log_abs_det_jacobian": {"y"},
        "distributions.TanhTransform.log_abs_det_jacobian": {"y"},
        "autograd.Function.setup_context": {"ctx", "inputs", "output"},
        "autograd.Function.backward": {"ctx"}, "autograd.Function.jvp": {"ctx"},
        "autograd.Function.vmap": {"info", "in_dims"},
    },
    "of downloads, which there are none of": {
        "hub.download_url_to_file": {"progress"},
        "hub.help": {"force_reload", "skip_validation", "trust_repo"},
        "hub.list": {"force_reload", "skip_validation", "trust_repo", "verbose"},
        "hub.load": {"trust_repo", "force_reload", "verbose", "skip_validation"},
    },
    "of a compiler of programs as text": {
        "ScriptModule.save": {"f"}, "jit.trace": {"optimize", "check_trace"},
        "jit.script": {"optimize", "example_inputs"},
    },
}  # fmt: skip


def not_read(function):
    """Names of the parameters that the code of a Python function never loads."""
    code = function.__code__
    loaded = set(code.co_cellvars)
    for each in dis.get_instructions(code):
        if each.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "STORE_FAST_LOAD", "DELETE_FAST")):
            loaded.update(each.argval if isinstance(each.argval, tuple) else (each.argval,))
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    hidden = {"self", "cls"}
    return {x for x in names if x not in loaded and x not in hidden and not x.startswith("_")}


def does_nothing(function):
    """Whether a function only has a docstring, or raises what it has made."""
    names = {x.opname for x in dis.get_instructions(function.__code__)}
    return not any(name.startswith("CALL") for name in names)


def public_functions():
    """Functions, and methods of classes, by the first name under which they are found."""
    found = {}

    def add(name, value):
        value = inspect.unwrap(value) if callable(value) else value
        value = getattr(value, "__func__", value)
        if isinstance(value, types.FunctionType) and value.__module__.startswith("numbagrad"):
            found.setdefault(value, name)

    for space in SPACES:
        module = importlib.import_module(f"numbagrad{space}")
        for name in dir(module):
            path = f"{space}.{name}"[1:]
            if name.startswith("_") or name.endswith("load_ipython_extension"):
                continue
            value = getattr(module, name)
            if not inspect.isclass(value):
                add(path, value)
            elif value.__module__.startswith("numbagrad"):
                for method, what in vars(value).items():
                    if method in ("__init__", "__new__"):
                        add(path, what)
                    elif not method.startswith("_"):
                        add(f"{path}.{method}", what)
    return {name: function for function, name in found.items()}


def test_parameters_are_read():
    listed = {name: names for group in WITHOUT_EFFECT.values() for name, names in group.items()}
    functions = public_functions()
    assert len(functions) > 1500
    unread = {
        name: names
        for name, function in functions.items()
        if (names := not_read(function)) and not does_nothing(function)
    }
    assert unread == listed


# --- layouts and pinned memory --------------------------------------------------------------------

MAKERS = {
    "arange": (3,), "empty": (2,), "empty_permuted": ((2, 3), (1, 0)), "eye": (2,),
    "empty_strided": ((2,), (1,)), "full": ((2,), 1.0), "linspace": (0, 1, 3),
    "logspace": (0, 1, 3), "normal": (0.0, 1.0, (2,)), "ones": (2,), "rand": (2,),
    "randint": (3, (2,)), "randn": (2,), "randperm": (3,), "range": (0, 3), "scalar_tensor": (1.0,),
    "tril_indices": (2, 2), "triu_indices": (2, 2), "zeros": (2,), "fft.fftfreq": (3,),
    "fft.rfftfreq": (3,), "hann_window": (3,), "hamming_window": (3,), "blackman_window": (3,),
    "bartlett_window": (3,), "kaiser_window": (3,),
    "empty_like": ("x",), "full_like": ("x", 1.0), "ones_like": ("x",), "rand_like": ("x",),
    "randint_like": ("x", 3), "randn_like": ("x",), "zeros_like": ("x",),
    "Tensor.new_empty": ("x", 2), "Tensor.new_empty_strided": ("x", (2,), (1,)),
    "Tensor.new_full": ("x", (2,), 1.0), "Tensor.new_ones": ("x", 2),
    "Tensor.new_tensor": ("x", [1.0]), "Tensor.new_zeros": ("x", 2),
}  # fmt: skip


def function_of(name):
    found = torch
    for part in name.split("."):
        found = getattr(found, part)
    return found


def test_all_functions_with_a_layout_are_tried():
    taken = {
        name
        for name, function in public_functions().items()
        if "layout" in inspect.signature(function).parameters
    }
    apart = {"from_file"} | {x for x in taken if x.startswith("signal.windows.")}
    assert taken - apart <= MAKERS.keys()


@pytest.mark.filterwarnings("ignore:torch.range")
@pytest.mark.parametrize("name", MAKERS)
def test_other_layouts_and_pinned_memory_are_refused(name):
    make = function_of(name)
    arguments = [torch.ones(2, 2) if x == "x" else x for x in MAKERS[name]]
    assert make(*arguments, layout=torch.strided, pin_memory=False).layout is torch.strided
    for layout in (torch.sparse_coo, torch.sparse_csr, torch.jagged):
        with pytest.raises(NotImplementedError, match=rf"layout={layout} .* all tensors are dense"):
            make(*arguments, layout=layout)
    for layout in ("strided", torch.float32):
        with pytest.raises(TypeError, match="argument 'layout' must be torch.layout, not"):
            make(*arguments, layout=layout)
    with pytest.raises(RuntimeError, match="pin_memory"):
        make(*arguments, pin_memory=True)


def test_a_tensor_of_data_is_not_pinned():
    with pytest.raises(RuntimeError, match=r"tensor\(\): pin_memory=True is not available"):
        torch.tensor([1.0], pin_memory=True)


# --- other options --------------------------------------------------------------------------------


def test_memory_formats_of_conversions():
    x = torch.arange(8.0).view(1, 2, 2, 2)
    last = torch.channels_last
    for y in (x.cpu(memory_format=last), x.double(memory_format=last), x.to(memory_format=last)):
        assert y.stride() == (8, 1, 4, 2) and y.tolist() == x.tolist()
    turned = x.transpose(1, 2)
    assert turned.to(memory_format=torch.contiguous_format) is turned  # as in torch
    made = x.to(memory_format=last).to(memory_format=torch.contiguous_format)
    assert made.stride() == (8, 4, 2, 1)


def test_repeats_say_how_large_the_result_is():
    x, counts = torch.arange(3), torch.tensor([1, 2, 3])
    for arguments in ((x, counts), (x, 2), (counts,)):
        assert torch.repeat_interleave(*arguments, output_size=6).shape == (6,)
        with pytest.raises(RuntimeError, match="Invalid output_size, expected 6 but got 5"):
            torch.repeat_interleave(*arguments, output_size=5)
    with pytest.raises(RuntimeError, match="Invalid output_size"):
        x.repeat_interleave(2, output_size=5)


def test_iterations_that_there_are_none_of_are_not_followed():
    with pytest.raises(NotImplementedError, match=r"lobpcg\(\): tracker"):
        torch.lobpcg(torch.eye(5), 1, tracker=print)


class TestResizing:
    def test_elements_stay_in_memory(self):
        x = torch.arange(6.0).view(2, 3).t()
        assert x.resize_(2, 2).tolist() == [[0, 1], [2, 3]] and x.stride() == (2, 1)
        assert x.resize_(6).tolist() == [0, 1, 2, 3, 4, 5]
        assert x.expand(2, 6).resize_(3).tolist() == [0, 1, 2]

    def test_views_show_what_lies_behind_them(self):
        x = torch.arange(10.0)
        y, every = x[2:5], x[::2]
        assert y.resize_(5).tolist() == [2, 3, 4, 5, 6]
        assert every.resize_(3).tolist() == [0, 1, 2]
        y[4] = 99
        assert x[6] == 99
        part = x[3:]
        assert part.resize_(0).shape == (0,) and part.resize_(3).tolist() == [3, 4, 5]

    def test_memory_grows(self):
        x = torch.arange(4.0)
        address = x.data_ptr()
        assert x.resize_(2).resize_(4).tolist() == [0, 1, 2, 3] and x.data_ptr() == address
        assert x.resize_(2, 3).flatten()[:4].tolist() == [0, 1, 2, 3] and x.stride() == (3, 1)
        x.fill_(1)
        assert x.as_strided((6,), (1,), 0).tolist() == [1] * 6

    def test_memory_of_others_does_not_grow(self):
        for use in (lambda x: x[1:], lambda x: x.detach(), lambda x: x.numpy()):
            x = torch.arange(4.0)
            user = use(x)
            with pytest.warns(UserWarning, match="keeps it and shares no element any more"):
                x.resize_(5)
            x.zero_()
            assert x.shape == (5,) and user[-1] == 3
        x = torch.arange(4.0)
        with pytest.warns(UserWarning, match="keeps it and shares no element any more"):
            part = x[1:].resize_(5)
        assert part.tolist()[:3] == [1, 2, 3] and x.tolist() == [0, 1, 2, 3]
        assert part.as_strided((2,), (2,)).tolist() == [1, 3] and part.resize_(2).shape == (2,)
        assert part.resize_(5)[:3].tolist() == [1, 2, 3] and part._base is None

    def test_memory_formats(self):
        x = torch.arange(16.0).resize_(1, 2, 4, 2, memory_format=torch.channels_last)
        assert x.stride() == (16, 1, 4, 2) and x[0, 1].flatten().tolist() == [*range(1, 16, 2)]
        template = torch.ones(1, 2, 2, 2).contiguous(memory_format=torch.channels_last)
        y = torch.arange(8.0)
        assert y.resize_as_(template).stride() == (8, 4, 2, 1)
        y.resize_as_(template, memory_format=torch.preserve_format)
        assert y.stride() == (8, 1, 4, 2)
        with pytest.raises(RuntimeError, match="unsupported memory format"):
            x.resize_(4, memory_format=torch.preserve_format)
        with pytest.raises(TypeError, match="must be torch.memory_format, not int"):
            x.resize_(4, memory_format=1)

    def test_writes_are_counted(self):
        x = torch.arange(8.0)
        versions = [x._version, x.resize_(4)._version, x.resize_(4)._version]
        assert versions == [0, 1, 1]
