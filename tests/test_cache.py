"""The caches of kernels: keys, damaged entries, folders that fail, processes, threads and forks."""

import ast
import ctypes
import errno
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import threading
import time
import warnings

import llvmlite
import pytest

import numbagrad
from numbagrad.codegen import compiler, loader
from numbagrad.codegen.compiler import compile_to_object
from numbagrad.executor import stats
from numbagrad.executor.cache import keys, library
from numbagrad.executor.cache.disk import ObjectCache
from numbagrad.executor.cache.sources import Sources

KEY = "0123456789abcdef"
ENTRY = f"{KEY}.o"


def constant_source(number):
    """Source of a kernel that writes `number` to the address it is given."""
    return (
        f"# answer: {number}\nfrom numbagrad.codegen.intrinsics import *\n\n\n"
        f"def kernel(args, lo, hi):\n    store(args, 0, {number}, int64)\n"
    )


def answer_of(address):
    word = ctypes.c_int64(0)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    signature(address)(ctypes.addressof(word), 0, 1)
    return word.value


def answer(number=42):
    """What a generated kernel computes, wherever it was found."""
    return answer_of(library.generated("answer", constant_source(number)))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An executor with nothing in memory, whose disk cache is a new folder."""
    cache = ObjectCache(tmp_path / "kernels")
    monkeypatch.setattr(library, "cache", lambda: cache)
    monkeypatch.setattr(library, "_statistics", library.Statistics())
    start_again(monkeypatch)
    return cache.directory


def start_again(monkeypatch):
    """Forget what is in memory, as a new process would."""
    monkeypatch.setattr(library, "_addresses", {})


def compiled_and_loaded():
    return stats().compiled, stats().loaded


def run(code, folder, **environment):
    """Start Python on `code` with the given cache folder; it shares nothing with this process."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBAGRAD_CACHE_DIR": str(folder), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process):
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return out.strip()


# --- entries ------------------------------------------------------------------------------------


def test_an_entry_comes_back_as_it_was_stored(tmp_path):
    cache = ObjectCache(tmp_path / "new" / "folder")
    assert cache.read(KEY) is None
    cache.write(KEY, b"machine code")
    assert cache.read(KEY) == b"machine code"
    assert [path.name for path in cache.directory.iterdir()] == [ENTRY]


@pytest.mark.parametrize("length", [0, 1, 18, 40, 55, 62])
def test_a_truncated_entry_is_a_miss(tmp_path, length):
    cache = ObjectCache(tmp_path)
    cache.write(KEY, b"machine code")
    whole = (tmp_path / ENTRY).read_bytes()
    assert length < len(whole)
    (tmp_path / ENTRY).write_bytes(whole[:length])
    assert cache.read(KEY) is None


@pytest.mark.parametrize("position", [0, 30, -1])
def test_an_altered_entry_is_a_miss(tmp_path, position):
    cache = ObjectCache(tmp_path)
    cache.write(KEY, b"machine code")
    data = bytearray((tmp_path / ENTRY).read_bytes())
    data[position] ^= 1
    (tmp_path / ENTRY).write_bytes(data)
    assert cache.read(KEY) is None


def test_an_entry_under_another_name_is_a_miss(tmp_path):
    # A kernel of another CPU, say, has another key; renaming it does not make it fit.
    cache = ObjectCache(tmp_path)
    cache.write(KEY, b"machine code")
    shutil.copy(tmp_path / ENTRY, tmp_path / "fedcba9876543210.o")
    assert cache.read("fedcba9876543210") is None


def test_an_unreadable_entry_is_a_miss(tmp_path, monkeypatch):
    cache = ObjectCache(tmp_path)
    cache.write(KEY, b"machine code")

    def refuse(path, mode):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("numbagrad.executor.cache.disk.open", refuse, raising=False)
    assert cache.read(KEY) is None


def test_a_folder_in_place_of_an_entry_is_survived(tmp_path):
    (tmp_path / ENTRY).mkdir()
    cache = ObjectCache(tmp_path)
    assert cache.read(KEY) is None
    with pytest.warns(RuntimeWarning, match="cannot keep compiled kernels"):
        cache.write(KEY, b"machine code")


def test_a_folder_that_cannot_be_made_warns_once(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    cache = ObjectCache(tmp_path / "file" / "kernels")
    with pytest.warns(RuntimeWarning, match="NUMBAGRAD_CACHE_DIR") as caught:
        cache.write(KEY, b"machine code")
        cache.write(KEY, b"machine code")
        cache.write_source(KEY, "text")
    assert len(caught) == 1
    assert cache.read(KEY) is None


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), PermissionError(errno.EROFS, "Read-only")]
)
def test_a_full_or_read_only_disk_leaves_no_pieces(tmp_path, monkeypatch, error):
    def refuse(source, target):
        raise error

    monkeypatch.setattr(os, "replace", refuse)
    cache = ObjectCache(tmp_path)
    with pytest.warns(RuntimeWarning, match="compiled again in the next process"):
        cache.write(KEY, b"machine code")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_the_one_of_the_environment(tmp_path, monkeypatch):
    from numbagrad.executor.cache.disk import default_directory

    monkeypatch.setenv("NUMBAGRAD_CACHE_DIR", str(tmp_path))
    assert default_directory() == tmp_path
    monkeypatch.delenv("NUMBAGRAD_CACHE_DIR")
    assert default_directory().name == "numbagrad"


@pytest.mark.parametrize("chosen", ["relative/folder", "", ".", None])
def test_a_relative_folder_of_the_platform_is_ignored(tmp_path, monkeypatch, chosen):
    from numbagrad.executor.cache.disk import default_directory

    monkeypatch.delenv("NUMBAGRAD_CACHE_DIR", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(pathlib.Path, "home", lambda: tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if chosen is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", chosen)
    assert default_directory() == tmp_path / ".cache" / "numbagrad"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    assert default_directory() == tmp_path / "own" / "numbagrad"


# --- other users --------------------------------------------------------------------------------


def _let_belong(monkeypatch, cache, owner, *paths):
    """Let the file system say that files and folders belong to that user."""

    def is_ours(path, state):
        if path in paths:
            fields = list(state)
            fields[stat.ST_UID] = owner
            state = os.stat_result(fields)
        return ObjectCache._is_ours(cache, path, state)

    monkeypatch.setattr(cache, "_is_ours", is_ours)


@pytest.mark.parametrize("what", ["folder", "entry"])
@pytest.mark.parametrize("how", ["owner", "group", "others"])
def test_what_another_user_may_have_written_is_not_used(tmp_path, monkeypatch, what, how):
    cache = ObjectCache(tmp_path / "kernels")
    cache.write(KEY, b"machine code")
    assert cache.read(KEY) == b"machine code"
    path = cache.directory if what == "folder" else cache.directory / ENTRY
    if how == "owner":
        _let_belong(monkeypatch, cache, os.geteuid() + 1, path)
        reason = "belongs to another user"
    else:
        path.chmod(path.stat().st_mode | (0o020 if how == "group" else 0o002))
        reason = "can be written by other users"
    with pytest.warns(RuntimeWarning, match=f"{path}, which {reason}") as caught:
        assert cache.read(KEY) is None
        assert cache.read(KEY) is None
        if what == "folder":
            cache.write("fedcba9876543210", b"machine code")
            cache.write_source(KEY, "text")
    assert len(caught) == 1
    assert [each.name for each in cache.directory.iterdir()] == [ENTRY]


def test_an_entry_of_another_user_is_replaced(folder, monkeypatch):
    assert answer() == 42
    (entry,) = folder.glob("*.o")
    entry.chmod(0o666)
    start_again(monkeypatch)
    with pytest.warns(RuntimeWarning, match="does not use compiled kernels"):
        assert answer() == 42
    assert compiled_and_loaded() == (2, 0)
    start_again(monkeypatch)
    assert answer() == 42 and compiled_and_loaded() == (2, 1)


def test_what_belongs_to_root_is_used(tmp_path, monkeypatch):
    cache = ObjectCache(tmp_path)
    cache.write(KEY, b"machine code")
    _let_belong(monkeypatch, cache, 0, tmp_path, tmp_path / ENTRY)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert cache.read(KEY) == b"machine code"


def test_folders_are_made_for_this_user_alone(tmp_path):
    before = os.umask(0)
    try:
        cache = ObjectCache(tmp_path / "new" / "kernels")
        cache.write(KEY, b"machine code")
        assert cache.read(KEY) == b"machine code"
    finally:
        os.umask(before)


# --- keys ---------------------------------------------------------------------------------------


def test_keys_tell_apart_what_is_compiled():
    source = constant_source(1)
    found = [
        library.source_key("answer", source),
        library.source_key("question", source),
        library.source_key("answer", constant_source(2)),
        library.source_key("answer", source, "void(int64)"),
        library.source_key("answer", source, fastmath=()),
        library.source_key("answer", source, code="rows"),
        library.source_key("answer", source, fastmath=("contract", "reassoc")),
    ]
    assert len(set(found)) == len(found)
    assert library.source_key("answer", source) == found[0]


def test_comments_of_a_generated_kernel_are_no_part_of_its_key():
    source = constant_source(1)
    told = "# printed for float32\n" + source.replace("\n", "\n    # a comment\n", 1)
    assert library.source_key("answer", told) == library.source_key("answer", source)


def test_keys_tell_apart_where_it_is_compiled(monkeypatch):
    def environment():
        return keys.environment_of.__wrapped__(loader.target())

    found = [environment()]
    assert environment() == found[0]
    for target, name, value in (
        (loader, "target", lambda: loader.LEVELS["x86-64-v3"]),
        (keys, "__version__", "0.0.0"),
        (keys, "_numba_version", lambda: b"0.0.0"),
        (llvmlite, "__version__", "0.0.0"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, value)
            found.append(environment())
    assert len(set(found)) == len(found)


KERNEL_ROOMS = ("codegen", "kernels", "native", "formula")


def changed_keys(tmp_path, file):
    """Which of some sources have another digest once ``file`` of a copy of them was edited."""
    folder = tmp_path / file.replace("/", "_")
    for room in KERNEL_ROOMS:
        shutil.copytree(keys.sources.folder / room, folder / room)
    texts = {
        "pointwise": "from numbagrad.codegen.intrinsics import *\n",
        "reduction": (
            "from numbagrad.kernels.reduction.combine import add as combine\n"
            "from numbagrad.kernels.reduction.source import *\n"
        ),
        "rows": "def kernel():\n    from numbagrad.kernels.reduction import combine\n",
    }
    modules = ("kernels.matmul.product", "kernels.pooling.windows", "native.threads")

    def digests():
        sources = Sources(folder)
        found = {name: sources.of_text(text) for name, text in texts.items()}
        found.update((module, sources.of_module(module)) for module in modules)
        return {"compiler": sources.compiler, **found}

    before = digests()
    assert digests() == before
    with open(folder / file, "a") as text:
        text.write("\n")
    after = digests()
    return {name for name in before if after[name] != before[name]}


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("codegen/compiler.py", {"compiler"}),
        ("kernels/matmul/blocks.py", {"kernels.matmul.product"}),
        ("kernels/matmul/product.py", {"kernels.matmul.product"}),
        ("kernels/pooling/windows.py", {"kernels.pooling.windows"}),
        ("kernels/reduction/combine.py", {"reduction", "rows"}),
        ("kernels/reduction/source.py", {"reduction"}),
        ("kernels/generated/activation.py", set()),
        ("native/thread_layout.py", {"native.threads"}),
    ],
)
def test_a_key_covers_the_files_that_the_kernel_imports_and_no_others(tmp_path, file, changed):
    assert changed_keys(tmp_path, file) == changed


def test_the_files_of_a_key_are_those_that_python_imports():
    """What a fresh process has loaded of the rooms of kernels once it imported one, and no more."""
    code = (
        "import importlib, sys\n"
        "import numbagrad\n"
        "before = set(sys.modules)\n"
        "importlib.import_module('numbagrad.' + sys.argv[1])\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    sources = Sources(keys.sources.folder)
    for module in ("kernels.matmul.product", "kernels.pooling.windows", "native.tensor_operator"):
        ran = subprocess.run(
            [sys.executable, "-c", code, module], capture_output=True, text=True, check=True
        )
        loaded = {
            name.removeprefix("numbagrad.")
            for name in ran.stdout.split()
            if name.startswith(("numbagrad.kernels", "numbagrad.native", "numbagrad.formula"))
        }
        assert f"{module}" in loaded
        # Packages have a docstring and no code.
        rooms = {name for name in loaded if (keys.sources.folder / name.replace(".", "/")).is_dir()}
        assert loaded <= sources.modules(module) | rooms
        for room in rooms - sources.modules(module):
            text = (keys.sources.folder / room.replace(".", "/") / "__init__.py").read_text()
            assert len(ast.parse(text).body) == 1, room


def test_kernels_import_nothing_of_the_launchers():
    """The key of a kernel does not cover ``native``, so nothing that it calls may lie there."""
    for room in ("kernels", "codegen"):
        for path in (keys.sources.folder / room).rglob("*.py"):
            assert not re.search(r"(from|import) [.\w]*native\b", path.read_text()), path


def test_keys_are_the_same_in_every_process(tmp_path):
    code = (
        "from numbagrad.executor.cache import library\n"
        f"print(library.source_key('answer', {constant_source(1)!r}))\n"
    )
    processes = [run(code, tmp_path, PYTHONHASHSEED=seed) for seed in ("1", "2")]
    first, second = map(output, processes)
    assert first == second and len(first) == 40


# --- kernels ------------------------------------------------------------------------------------


def test_a_kernel_is_compiled_once_then_found_in_memory_then_on_disk(folder, monkeypatch):
    assert answer() == 42 and compiled_and_loaded() == (1, 0)
    assert answer() == 42 and compiled_and_loaded() == (1, 0) and stats().hits == 1
    start_again(monkeypatch)
    assert answer() == 42 and compiled_and_loaded() == (1, 1)
    assert "1 kernels compiled, 1 loaded from disk" in str(stats())


def test_another_constant_is_another_kernel(folder):
    assert answer(1) == 1
    assert answer(2) == 2
    assert compiled_and_loaded() == (2, 0)


def test_the_generated_source_lies_beside_its_object(folder):
    answer()
    (path,) = folder.glob("*.py")
    assert path.read_text() == constant_source(42)
    assert path.with_suffix(".o").exists()


def test_damaged_entries_are_compiled_again(folder, monkeypatch):
    answer()
    (entry,) = folder.glob("*.o")
    whole = entry.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:-1] + b"?"):
        entry.write_bytes(damaged)
        start_again(monkeypatch)
        before = stats().compiled
        assert answer() == 42 and stats().compiled == before + 1
        assert len(entry.read_bytes()) == len(whole)


def test_an_object_that_llvm_refuses_is_compiled_again(folder, monkeypatch):
    # Whole by its checksum, yet no object file, or one without the function.
    key = library.source_key("answer", constant_source(42))
    stranger = library.generated("stranger", constant_source(1))
    assert stranger
    (entry,) = folder.glob("*.o")
    for payload in (b"", b"no object file" * 100, library.cache().read(entry.stem)):
        library.cache().write(key, payload)
        start_again(monkeypatch)
        before = stats().compiled
        with pytest.warns(RuntimeWarning, match="compiles numbagrad_answer again"):
            assert answer() == 42
        assert stats().compiled == before + 1


def test_a_cache_that_cannot_be_written_does_not_keep_kernels_from_running(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    cache = ObjectCache(tmp_path / "file")
    monkeypatch.setattr(library, "cache", lambda: cache)
    start_again(monkeypatch)
    with pytest.warns(RuntimeWarning, match="cannot keep compiled kernels") as caught:
        assert [answer(number) for number in (5, 6, 7)] == [5, 6, 7]
    assert len(caught) == 1


def test_a_read_only_cache_is_used(folder, monkeypatch):
    answer()
    start_again(monkeypatch)

    def refuse(*arguments, **rest):
        raise PermissionError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert answer() == 42 and stats().loaded == 1


def test_nobody_hears_of_the_calls_of_the_compiler(folder, monkeypatch):
    heard = []

    def compiled(*arguments):
        heard.append(sys.getprofile())
        return compile_to_object(*arguments)

    monkeypatch.setattr(compiler, "compile_to_object", compiled)

    def step(x):
        heard.append(sys.getprofile())
        found = answer()
        heard.append(sys.getprofile())
        return x * found

    numbagrad.compile(step)(numbagrad.ones(3))
    before, inside, after, *_ = heard
    assert before is after is not None and inside is None
    sys.setprofile(before)  # a profiler of the user's is left alone
    try:
        answer(43)
    finally:
        sys.setprofile(None)
    assert heard[-1] is before


def test_threads_that_want_one_kernel_compile_it_once(folder):
    found = []
    threads = [threading.Thread(target=lambda: found.append(answer())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [42] * 8
    assert compiled_and_loaded() == (1, 0)


def test_a_program_that_never_stops_making_kernels_is_told(folder, monkeypatch):
    monkeypatch.setattr(library, "KERNEL_BOUND", 10)
    monkeypatch.setattr(library, "_addresses", {str(number): 0 for number in range(8)})
    with pytest.warns(RuntimeWarning, match="holds 9 compiled kernels, which are never freed"):
        answer()


# --- processes ----------------------------------------------------------------------------------

_COUNT = (
    "import ctypes, sys\n"
    "from numbagrad.executor import stats\n"
    "from numbagrad.executor.cache import library\n"
    "def answer(number):\n"
    "    source = 'from numbagrad.codegen.intrinsics import *\\ndef kernel(args, lo, hi):\\n'\n"
    "    source += f'    store(args, 0, {number}, int64)\\n'\n"
    "    address = library.generated('answer', source)\n"
    "    word = ctypes.c_int64(0)\n"
    "    ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(address)(ctypes.addressof(word), 0, 1)\n"
    "    return word.value\n"
    "print(*[answer(number) for number in range(6)])\n"
    "print(stats().compiled, stats().loaded, 'numba' in sys.modules)\n"
)


def test_two_processes_that_start_with_one_empty_folder_agree(tmp_path):
    together = [run(_COUNT, tmp_path), run(_COUNT, tmp_path)]
    for process in together:
        answers, counts = output(process).splitlines()
        compiled, loaded, _ = counts.split()
        assert answers == "0 1 2 3 4 5"
        assert int(compiled) + int(loaded) == 6
    assert output(run(_COUNT, tmp_path)).splitlines() == ["0 1 2 3 4 5", "0 6 False"]


_TRAIN = (
    "import sys\n"
    "import numbagrad as torch\n"
    "from numbagrad.executor import stats\n"
    "w = torch.ones(4, 4, requires_grad=True)\n"
    "((w.mm(w) - w) * w).sum().backward()\n"
    "print(w.grad.tolist() == [[10.0] * 4] * 4, stats().compiled, 'numba' in sys.modules)\n"
)


def test_a_process_with_a_warm_cache_compiles_nothing_and_does_not_import_numba():
    folder = library.cache().directory
    output(run(_TRAIN, folder))
    assert output(run(_TRAIN, folder)) == "True 0 False"


_STEP = (
    "import numpy\n"
    "import numbagrad as torch\n"
    "from numbagrad.executor.builtin import launcher_address\n"
    "w = torch.ones(4, 4, requires_grad=True)\n"
    "@torch.compile\n"
    "def step(x):\n"
    "    loss = ((w.mm(x) - x.t()) * w + x[0]).softmax(1)\n"
    "    loss = (loss * x).sum(0).exp().sum()\n"
    "    loss.backward()\n"
    "    with torch.no_grad():\n"
    "        w.sub_(0.5 * w.grad)\n"
    "    return loss\n"
    "x = numpy.arange(16.0, dtype='float32').reshape(4, 4)\n"
    "print(*[step(torch.from_numpy(x / (k + 20))).item() for k in range(3)])\n"
    "names = [('pointwise', 'launch'), ('pointwise_general', 'broadcast'), "
    "('matmul', 'matmul_launch'), ('reduce_all', 'reduction_launch'), "
    "('reduce', 'reduction_launch'), ('along', 'rowwise_launch')]\n"
    "print([name for name, module in names if launcher_address(name, module, compiling=False)])\n"
)


def test_a_recorded_call_compiles_no_launchers(tmp_path):
    losses, found = output(run(_STEP, tmp_path)).splitlines()
    assert len(set(losses.split())) > 1 and found == "[]"


def test_importing_the_package_imports_no_compiler(tmp_path):
    code = "import numbagrad, sys; print('numba' in sys.modules, 'llvmlite' in sys.modules)"
    assert output(run(code, tmp_path)) == "False False"


def test_a_child_forked_while_another_thread_compiles_can_compile(folder):
    stop = threading.Event()
    made = []

    def compile_on_and_on():
        while not stop.is_set():
            made.append(answer(1000 + len(made)))

    thread = threading.Thread(target=compile_on_and_on)
    thread.start()
    try:
        for attempt in range(5):
            time.sleep(0.01 * attempt)
            assert child_exit_code(lambda: 0 if [answer(7), answer(8)] == [7, 8] else 1) == 0
    finally:
        stop.set()
        thread.join()
    assert made == list(range(1000, 1000 + len(made)))


def child_exit_code(function, seconds=120):
    """Fork, run `function` in the child, and return its result, the exit code of the child."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads
        child = os.fork()
    if child == 0:
        code = 99
        try:
            code = function()
        finally:
            os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise AssertionError(f"the child did not finish within {seconds} s")
