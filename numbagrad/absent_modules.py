"""Public modules of torch that are not there, by what is missing; programs can import them.

Each is a module whose names are absent (``absent.py``): they stand in annotations and as bases, and
raise NotImplementedError where they are used. ``torch_alias.py`` answers with them under torch's
name, and ``docs/torch-compatibility.md`` lists them.
"""

from __future__ import annotations

__all__ = ["REASONS"]

#: By what is missing, or what to do instead, the modules.
_BY_REASON = {
    "kernels are Numba's, and there is no such library behind them": """
        backends.cudnn.rnn backends.kleidiai backends.miopen backends.python_native backends.xeon
        backends.xnnpack""",
    "tensors are on the CPU; ask torch.mps.is_available() first": "mps.event mps.profiler",
    "programs are recorded by torch.compile, and nothing else runs them": "nativert",
    "nothing is computed in C++, and no extension is built": """
        nn.cpp utils.cpp_backtrace utils.file_baton utils.hipify""",
    "it is an experiment of torch that may change": "contrib nn.attention.experimental",
    "torch.profiler.profile and torch.autograd.profiler record what runs": """
        profiler.itt profiler.python_tracer""",
    "it is a tool for files and memory of torch; torch.load reads the files": """
        utils.debug_log utils.model_dump utils.show_pickle utils.viz""",
    "such warnings of 2017 are not given": "utils.backcompat",
    "torch.utils.benchmark has Timer, Measurement and Compare": """
        utils.benchmark.examples utils.benchmark.op_fuzzers utils.benchmark.utils.compile
        utils.benchmark.utils.cpp_jit utils.benchmark.utils.fuzzer
        utils.benchmark.utils.sparse_fuzzer utils.benchmark.utils.valgrind_wrapper""",
    "a worker takes its share of a dataset by torch.utils.data.get_worker_info()": """
        utils.data.backward_compatibility""",
}
#: The reason by the path of a module below torch; it holds for modules below it as well.
REASONS = {path: reason for reason, paths in _BY_REASON.items() for path in paths.split()}
