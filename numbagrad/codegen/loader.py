"""From an object file to the address of its function, with llvmlite alone (no Numba).

Called by ``numbagrad.executor.library``. Loading takes under a millisecond and the code stays in
memory for the life of the process. llvmlite is imported with the first kernel, since that takes
longer than the import of the whole package.
"""

from __future__ import annotations

import functools
import os
import threading
from typing import TYPE_CHECKING, Any

from ..interrupts import uninterrupted

if TYPE_CHECKING:
    import llvmlite.binding as llvm

#: What holds the machine code; a reference to this list keeps all of it in memory.
engines: list[llvm.ExecutionEngine] = []
_lock = threading.RLock()

# A thread that is loading holds the locks of LLVM, which a forked child would inherit as held.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def _binding() -> Any:
    """llvmlite, imported whole even if somebody interrupts the program."""
    with uninterrupted():
        import llvmlite.binding

    return llvmlite.binding


@functools.lru_cache(maxsize=1)
def host_vector_bits() -> int:
    """Width of the widest vector registers of this CPU that kernels use.

    Programs ask for it whenever they are made: LLVM, and the locks it takes, only once.
    """
    llvm = _binding()
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 512
    return 256 if features.get("avx2") else 128


@functools.lru_cache(maxsize=1)
def host_cpu() -> tuple[str, str]:
    """Name and features of this CPU as LLVM spells them; part of every cache key."""
    llvm = _binding()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@functools.lru_cache(maxsize=1)
def _initialise() -> None:
    llvm = _binding()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def target_machine(wide: bool = False) -> llvm.TargetMachine:
    """A new target machine for this CPU (LLVM's are owned by whoever uses them).

    A ``wide`` one makes vectors as wide as there are, where LLVM would rather have half of that.
    """
    llvm = _binding()
    _initialise()
    name, features = host_cpu()
    if wide and host_vector_bits() == 512:
        features += ",-prefer-256-bit"
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=features, opt=3, jit=True, codemodel="jitdefault"
    )


def load(data: bytes, symbol: str) -> int:
    """Load an object file and return the address of ``symbol``.

    Raises ``RuntimeError`` if LLVM cannot read the object or it does not define the symbol.
    """
    llvm = _binding()
    with _lock:
        machine = target_machine()
        file = llvm.ObjectFileRef.from_data(data)
        if not file._ptr:  # llvmlite does not look, and the process would crash below
            file.detach()
            raise RuntimeError("LLVM cannot read the object file")
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(file)
        engine.finalize_object()
        address = engine.get_function_address(symbol)
        if not address:
            raise RuntimeError(f"the object file does not define {symbol!r}")
        engines.append(engine)
        return address
