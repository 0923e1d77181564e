"""Wrong arguments of every public function and method raise what a user understands.

``wrong_inputs.py`` makes the calls. What they raise is of a class that torch has for it, names
nothing from the inside of this library, and for an argument of another kind names the function;
``parity/test_wrong_inputs.py`` compares the classes with torch's. A call that does not come back is
ended by the timeout of the suite.
"""

from __future__ import annotations

import re
import warnings

import pytest
from right_calls import MODULES, OPTIMIZERS
from wrong_inputs import Call, copied, resolve, right_calls, right_calls_by_name, run, wrong_calls

import numbagrad

#: Errors that calls with wrong arguments raise. Those without CUDA are torch's.
ADMITTED = (TypeError, ValueError, RuntimeError, IndexError)

#: What users cannot make sense of: attributes and names of this library, classes, its frames.
INTERNAL = re.compile(
    r"'_\w+'|\b_[a-z]\w+\(|object has no attribute|has no len\(\)|numbagrad\.|<lambda>|<locals>"
    r"|zip\(\)|SystemError|_array\b"
)

#: torch asserts as well.
ASSERTIONS = {
    "embedding": "adding_idx",
    "Embedding": "adding_idx",
    "EmbeddingBag": "adding_idx",
    "Hardtanh": "max_val must be larger",
    "MultiheadAttention": "",
    "TransformerDecoderLayer": "",
    "TransformerEncoderLayer": "",
    "multi_head_attention_forward": "",
    "to": "CUDA",
}

GROUPS = right_calls_by_name()


def complaint(call: Call) -> str:
    """What is wrong with the error of a call; nothing if there is none, or a right one."""
    try:
        run(numbagrad, call, copied)
    except ADMITTED as error:
        text = str(error)
        if not text.strip():
            return f"{type(error).__name__} without a text"
        return f"{type(error).__name__}: {text}" if INTERNAL.search(text) else ""
    except AssertionError as error:
        expected = ASSERTIONS.get(call.path.split(".")[-1])
        return "" if expected is not None and expected in str(error) else f"AssertionError: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("name", GROUPS)
def test_errors_are_in_words_of_the_caller(name):
    complaints = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for right in GROUPS[name]:
            for wrong in wrong_calls(right):
                if said := complaint(wrong.call):
                    complaints.append(f"{right.path} [{wrong.what}]: {said[:200]}")
    assert not complaints, "\n".join(complaints)


def test_every_public_function_has_a_right_call():
    called = {call.path for call in right_calls()}
    missing = []
    for space in ("", "nn.functional.", "linalg.", "fft.", "special."):
        home = resolve(numbagrad, space.rstrip(".")) if space else numbagrad
        for name in dir(home):
            value = getattr(home, name)
            if name.startswith("_") or not hasattr(value, "__code__"):
                continue
            if f"{space}{name}" not in called and name not in NOT_CALLED:
                missing.append(f"{space}{name}")
    assert not missing


def test_every_layer_and_optimizer_has_a_right_call():
    for home, base, made in (
        (numbagrad.nn, numbagrad.nn.Module, MODULES),
        (numbagrad.optim, numbagrad.optim.Optimizer, OPTIMIZERS),
    ):
        kinds = {name: getattr(home, name) for name in dir(home)}
        missing = {
            name
            for name, kind in kinds.items()
            if isinstance(kind, type) and issubclass(kind, base) and not name.startswith("Lazy")
        }
        assert not missing - made.keys() - NOT_MADE


#: Modules without a right call: those of other modules, and the base of all.
NOT_MADE = frozenset(
    """
    LinearCrossEntropyLoss LinearCrossEntropyOptions
    NonDynamicallyQuantizableLinear SyncBatchNorm AdaptiveLogSoftmaxWithLoss Container DataParallel
    Module ModuleDict ModuleList NLLLoss2d Optimizer ParameterDict ParameterList RNNBase RNNCellBase
    Sequential Transformer TransformerDecoder TransformerEncoder
    """.split()
)

#: Public functions without a right call: settings and questions of the library, what takes
#: functions, files or sparse tensors, and those whose every other name or form has one.
NOT_CALLED = frozenset(
    """
    from_dlpack install_as_torch load_ipython_extension to_dlpack uninstall_as_torch
    unload_ipython_extension compiled_with_cxx11_abi cond while_loop get_file_path from_file
    init_num_threads is_vulkan_available sym_sqrt sym_sum eig lstsq matrix_rank solve symeig
    gru lstm rnn_relu rnn_tanh get_device_module sym_float sym_int sym_ite sym_max sym_min sym_not
    are_deterministic_algorithms_enabled autocast_decrement_nesting
    autocast_increment_nesting clear_autocast_cache compile explain get_autocast_cpu_dtype
    get_autocast_dtype get_autocast_gpu_dtype get_default_device get_default_dtype
    get_deterministic_debug_mode get_float32_matmul_precision get_num_interop_threads
    get_num_threads get_printoptions get_rng_state graph initial_seed is_anomaly_check_nan_enabled
    is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
    is_deterministic_algorithms_warn_only_enabled is_grad_enabled is_inference_mode_enabled
    is_storage is_tensor is_warn_always_enabled kernel load manual_seed printoptions profile save
    seed set_anomaly_enabled set_autocast_cache_enabled set_autocast_cpu_dtype
    set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype
    set_default_device set_default_dtype set_default_tensor_type set_deterministic_debug_mode
    set_float32_matmul_precision set_flush_denormal set_num_interop_threads set_num_threads
    set_printoptions set_rng_state set_warn_always typename use_deterministic_algorithms vmap
    lazy_names reduction_name from_numpy frombuffer hsmm hspmm smm sspaddmm
    """.split()
)
