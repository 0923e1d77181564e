"""From an object file to the address of its function, with llvmlite alone (no Numba).

Called by ``numbagrad.executor.cache.library``. Loading takes under a millisecond and the code
stays in memory for the life of the process. llvmlite is imported with the first kernel, since that
takes longer than the import of the whole package. No call of llvmlite is interrupted: it takes a
lock in Python that it would never release, and frees its objects where an interrupt would be lost.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..interrupts import uninterrupted

if TYPE_CHECKING:
    import llvmlite.binding as llvm

#: Owners of the machine code; a reference to this list keeps all of it in memory.
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


class Target(NamedTuple):
    """The CPU that kernels are compiled for.

    Attributes:
        name: LLVM's name of it; with `features` (LLVM's spelling) part of every cache key.
        triple: LLVM's target triple; "" is this process's.
        vector_bits: width of the widest vector registers that kernels use.
        has_many_registers: whether it has 32 vector registers; otherwise 16.
        is_fused: whether it multiplies and adds with one rounding.
    """

    name: str
    features: str
    triple: str
    vector_bits: int
    has_many_registers: bool
    is_fused: bool

    @property
    def multiplies_bfloat16(self) -> bool:
        """Whether it adds products of pairs of bfloat16 to float32 in one instruction."""
        return self.vector_bits == 512 and "+avx512bf16" in self.features.split(",")


#: CPUs that kernels are compiled for ahead, the newest first: microarchitecture levels of the
#: x86-64 psABI, and Armv8 with its vector unit.
LEVELS = {
    "x86-64-v4": Target("x86-64-v4", "", "", 512, True, True),
    "x86-64-v3": Target("x86-64-v3", "", "", 256, False, True),
    "aarch64": Target("generic", "+neon", "aarch64-unknown-linux-gnu", 128, True, True),
}

#: Features that a CPU needs to run kernels of an x86 level, beside those that come with these.
_NEEDED = {
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "bmi2", "f16c", "fma"),
    "x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
}


@functools.lru_cache(maxsize=1)
def host() -> Target:
    """This CPU."""
    llvm = _binding()
    with uninterrupted():
        name, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features()
    arm = "neon" in features
    bits = 512 if features.get("avx512f") else 256 if features.get("avx2") else 128
    return Target(
        name,
        features.flatten(),
        "",
        bits,
        bits == 512 or arm,
        bool(arm or features.get("fma") or bits == 512),
    )


@functools.lru_cache(maxsize=1)
def host_level() -> str | None:
    """The name of the newest of :data:`LEVELS` whose kernels this CPU runs, or None."""
    llvm = _binding()
    with uninterrupted():
        features = llvm.get_host_cpu_features()
    for level, needed in _NEEDED.items():
        if all([features.get(name) for name in needed]):
            return level
    return "aarch64" if features.get("neon") and sys.platform == "linux" else None


@functools.lru_cache(maxsize=1)
def target() -> Target:
    """The target of this process: this CPU, or the level that NUMBAGRAD_TARGET names.

    Programs ask for it whenever they are made: LLVM, and the locks it takes, only once.
    """
    name = os.environ.get("NUMBAGRAD_TARGET")
    if not name:
        return host()
    if name not in LEVELS:
        raise ValueError(f"NUMBAGRAD_TARGET is {name!r}, and has to be one of {', '.join(LEVELS)}")
    return LEVELS[name]


@functools.lru_cache(maxsize=1)
def _initialise() -> None:
    llvm = _binding()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@functools.lru_cache(maxsize=1)
def _runs_here() -> bool:
    here, level = target(), host_level()
    if here is host() or level is None:
        return here is host()
    return here is LEVELS[level] or (level == "x86-64-v4" and here is LEVELS["x86-64-v3"])


def target_machine(wide: bool = False) -> llvm.TargetMachine:
    """A new target machine for :func:`target` (LLVM's are owned by whoever uses them).

    A ``wide`` one makes vectors as wide as there are, where LLVM would rather have half of that.
    """
    llvm = _binding()
    _initialise()
    chosen = target()
    features = chosen.features
    if wide and chosen.vector_bits == 512:
        features = f"{features},-prefer-256-bit".lstrip(",")
    if chosen.triple:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    triple = chosen.triple or llvm.get_default_triple()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=chosen.name, features=features, opt=3, jit=True, codemodel="jitdefault"
    )


#: How the names of functions begin that kernels share: room and name of the kernel that one is.
SHARED = "numbagrad_shared."
#: The signature of every such kernel: int64 from int64.
SHARED_SIGNATURE = "int64(int64, int64, int64, int64)"

_SHARED = re.compile(rb"numbagrad_shared\.([\w.]+)\.(\w+)")

#: Finds the machine code of a shared kernel by room and name; ``executor`` sets it.
find_shared: Callable[[str, str], int] | None = None

_resolved: set[tuple[bytes, bytes]] = set()


def _resolve_shared(data: bytes) -> None:
    """Tell LLVM where the shared functions are that an object calls by name."""
    for found in set(_SHARED.findall(data)) - _resolved:
        room, name = (part.decode() for part in found)
        if find_shared is None:
            raise RuntimeError(f"{name} is shared by kernels, and numbagrad.executor finds those")
        address = find_shared(room, name)
        with uninterrupted():
            _binding().add_symbol(f"{SHARED}{room}.{name}", address)
        _resolved.add(found)


#: Functions of compilers' runtime libraries that LLVM calls though a kernel does not, and that this
#: process need not have. A double becomes a half by way of a float, as in the rest of a kernel:
#: LLVM takes the two steps for one where a sign is copied between them.
RUNTIME = {
    "__truncdfhf2": """
        define half @__truncdfhf2(double %x) {
            %y = fptrunc double %x to float
            %z = fptrunc float %y to half
            ret half %z
        }"""
}


def _resolve_runtime(data: bytes) -> None:
    """Tell LLVM where the functions of ``RUNTIME`` are that an object calls."""
    for name, code in RUNTIME.items():
        key = (b"", name.encode())
        if key[1] in data and key not in _resolved:
            llvm, machine = _binding(), target_machine()
            with _lock, uninterrupted():
                engine = llvm.create_mcjit_compiler(llvm.parse_assembly(code), machine)
                engine.finalize_object()
                llvm.add_symbol(name, engine.get_function_address(name))
                engines.append(engine)
            _resolved.add(key)


def load(data: bytes, symbol: str) -> int:
    """Load an object file and return the address of ``symbol``.

    Raises ``RuntimeError`` if LLVM cannot read the object, if it does not define the symbol, or if
    NUMBAGRAD_TARGET names a CPU whose kernels this one does not run.
    """
    if not _runs_here():
        raise RuntimeError(
            f"kernels for {os.environ.get('NUMBAGRAD_TARGET')} do not run on this CPU; unset "
            "NUMBAGRAD_TARGET"
        )
    _resolve_shared(data)
    _resolve_runtime(data)
    with _lock, uninterrupted():
        return _loaded(data, symbol)


def _loaded(data: bytes, symbol: str) -> int:
    """``load``, whose objects are freed where it returns."""
    llvm, machine = _binding(), target_machine()
    file = llvm.ObjectFileRef.from_data(data)
    if not file._ptr:  # llvmlite does not look, and the process would crash below
        file.detach()
        raise RuntimeError("LLVM cannot read the object file")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(file)
    engine.finalize_object()
    address: int = engine.get_function_address(symbol)
    if not address:
        raise RuntimeError(f"the object file does not define {symbol!r}")
    engines.append(engine)
    return address
