"""Writes the pages of the API reference: one page a module, one entry a public name.

``conf.py`` calls ``write`` before Sphinx reads its sources, so ``docs/reference/`` is an output.
Names are those of the package as it is imported, texts are the docstrings; ``entries`` is what the
tests compare pages with.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import pkgutil
import re
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numbagrad
from numbagrad.ops.methods import on_demand

#: Modules at the top of the package that are rooms of the implementation, not names for users.
ROOMS = frozenset(
    """absent absent_names ao aten_functions autocast_state awake backends codegen compiling data
    device dispatch drawing dtype errors formula functional half_precision interrupts kernels layout
    lazy mps mtia native native_stack numba_extension number_range numpy_twins ops printing program
    random_filling referrers running shared_memory size sobol_numbers storage structure tensor
    thread_settings torch_alias torch_function torch_homes torch_imports torch_metadata
    torch_version transforms type_names types untyped_storage version warming warn_once
    xpu""".split()
)
#: Public modules below those at the top.
BELOW = """autograd.forward_ad autograd.functional autograd.graph
    distributed.algorithms.ddp_comm_hooks.default_hooks distributed.nn.functional nn.attention
    nn.functional nn.init nn.parallel nn.utils nn.utils.parametrizations nn.utils.parametrize
    nn.utils.prune nn.utils.rnn nn.utils.stateless optim.lr_scheduler optim.swa_utils signal.windows
    utils._python_dispatch utils.benchmark utils.checkpoint utils.data utils.deterministic
    utils.dlpack utils.flop_counter utils.hooks utils.module_tracker utils.weak""".split()
#: Modules whose names were imported from elsewhere unless they are listed here.
OWN = {"random": "fork_rng get_rng_state initial_seed manual_seed seed set_rng_state".split()}

#: The families of the namespace ``numbagrad``: where a name is defined, and the page it is on.
FAMILIES = {
    "ops/creation": ("creation", "Making tensors"),
    "random.py": ("creation", "Making tensors"),
    "ops/pointwise": ("pointwise", "Pointwise operators"),
    "ops/complex": ("pointwise", "Pointwise operators"),
    "ops/reductions": ("reductions", "Reductions, scans and sorting"),
    "ops/products": ("products", "Products and linear algebra"),
    "ops/linear_algebra": ("products", "Products and linear algebra"),
    "ops/spectra": ("products", "Products and linear algebra"),
    "ops/views": ("views", "Views, shapes and joining"),
    "ops/indexing": ("indexing", "Indexing, gather and scatter"),
    "ops/writing": ("writing", "Operators in place and over lists"),
    "nn/functional": ("layers", "Layers as functions"),
    "": ("basics", "Programs, switches and dtypes"),
}


class Entry(NamedTuple):
    """A public name: the module, the name in it, and the object."""

    module: str
    name: str
    value: Any

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


def modules() -> list[str]:
    """The modules that the reference has a page for, ``numbagrad`` itself apart."""
    top = [
        module.name
        for module in pkgutil.iter_modules(numbagrad.__path__)
        if not module.name.startswith("_") and module.name not in ROOMS
    ]
    return sorted([*filter(has_names, top), *BELOW])


def has_names(short: str) -> bool:
    """Whether a module has names that work; those of the others are on the page ``absent``."""
    module = importlib.import_module(f"numbagrad.{short}")
    return any(not is_absent(getattr(module, name)) for name in public_names(module))


def is_absent(value: Any) -> bool:
    """Whether ``value`` stands for a name of torch that this library has not."""
    return type(value).__name__ == "_Absent"


def public_names(module: types.ModuleType) -> list[str]:
    """Names of ``module``: its ``__all__``, or else what it holds without an underscore."""
    short = module.__name__.removeprefix("numbagrad.")
    names = OWN.get(short) or getattr(module, "__all__", None)
    if names is None:
        names = [name for name in vars(module) if not name.startswith("_")]
        names = [name for name in names if is_ours(getattr(module, name))]
    found = dict.fromkeys(name for name in names if not name.startswith("_"))
    return sorted(name for name in found if not inspect.ismodule(getattr(module, name)))


def is_ours(value: Any) -> bool:
    """Whether the package defines ``value``, rather than importing it from Python or NumPy."""
    home = getattr(value, "__module__", None) or type(value).__module__
    return home.partition(".")[0] == "numbagrad" or isinstance(value, (int, float, type(None)))


def entries() -> Iterator[Entry]:
    """Every public name of the package, module by module."""
    for short in ["", *modules()]:
        path = f"numbagrad.{short}".rstrip(".")
        module = importlib.import_module(path)
        for name in public_names(module):
            yield Entry(path, name, getattr(module, name))


def members(owner: type) -> Iterator[Entry]:
    """Public methods and properties that a class of the reference defines, with their docstrings.

    A class that overrides a method without saying more is described by its base.
    """
    path = f"{owner.__module__}.{owner.__qualname__}"
    for name in sorted(dir(owner) if owner is numbagrad.Tensor else vars(owner)):
        if name.startswith("_"):
            continue
        value = inspect.getattr_static(owner, name)
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if inspect.isfunction(value) or isinstance(value, property):
            yield Entry(path, name, value)


# --- from a docstring to Markdown -----------------------------------------------------------------

_CODE = re.compile(r"(?::\w+:)?(``?)(?!`)(.+?)\1(?!`)", re.DOTALL)
_HEADINGS = re.compile(
    r"^(Args|Attributes|Example|Examples|Note|Raises|Returns|Warning|Yields):{1,2}$"
)
_NAMED = re.compile(r"^(\*{0,2}[\w.,/* ]{1,60}?): (.*)$", re.DOTALL)


def _plain(text: str) -> str:
    """``text`` so that Markdown reads no markup into it."""
    return re.sub(r"([\\*_\[\]<>#|${}~])", r"\\\1", text)


def _inline(text: str) -> str:
    """A paragraph, its literals as code and everything else as it is."""
    words, end = [], 0
    for code in _CODE.finditer(text):
        literal = " ".join(code[2].lstrip("~").split())
        words += [_plain(text[end : code.start()]), f"`{literal}`"]
        end = code.end()
    return "".join([*words, _plain(text[end:])])


def _indented(lines: list[str], start: int) -> tuple[list[str], int]:
    """The indented lines from ``start`` on, with empty ones among them, and where they end."""
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
        end += 1
    return inspect.cleandoc("\n".join(lines[start:end])).splitlines(), end


def _described(lines: list[str]) -> str:
    """The list below ``Args:`` and its kind: a bullet for each line at the margin."""
    items: list[list[str]] = []
    for line in filter(str.strip, lines):
        if line.startswith(" ") and items:
            items[-1].append(line.strip())
        else:
            items.append([line.strip()])
    texts = []
    for item in items:
        text = " ".join(item)
        named = _NAMED.match(text)
        texts.append(f"- `{named[1]}`: {_inline(named[2])}" if named else f"- {_inline(text)}")
    return "\n".join(texts)


def _code(lines: list[str]) -> str:
    language = "pycon" if lines and lines[0].startswith(">>>") else "python"
    return "\n".join([f"```{language}", *lines, "```"])


def markdown(docstring: str) -> str:
    """``docstring`` as Markdown: sections, examples and literals as what they are."""
    lines = docstring.expandtabs().splitlines()
    parts: list[str] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        heading = _HEADINGS.match(line)
        if heading:
            body, position = _indented(lines, position + 1)
            parts.append(f"**{heading[1]}**")
            if heading[1].startswith("Example"):
                parts.append(_code(body))
            elif heading[1] in ("Note", "Returns", "Warning", "Yields"):
                parts.append(_inline(" ".join(body)))
            else:
                parts.append(_described(body))
            continue
        if line.startswith(">>>"):
            end = position
            while end < len(lines) and lines[end].strip():
                end += 1
            parts.append(_code(lines[position:end]))
            position = end
            continue
        if not line.strip():
            position += 1
            continue
        end = position
        while end < len(lines) and lines[end].strip() and not lines[end].startswith(">>>"):
            if end > position and _HEADINGS.match(lines[end]):
                break
            end += 1
        paragraph, position = lines[position:end], end
        shows = paragraph[-1].endswith("::")
        if shows:
            paragraph[-1] = paragraph[-1][:-2].rstrip()
        if all(line.startswith("    ") for line in paragraph):
            parts.append(_code(inspect.cleandoc("\n".join(paragraph)).splitlines()))
            continue
        # A list keeps its lines, as Markdown and docstrings write lists alike.
        text = _inline("\n".join(line.strip() if line[0] != "-" else line for line in paragraph))
        text = re.sub(r"^([=+-]{2,}|\+ )", r"\\\1", text, flags=re.MULTILINE)
        text = re.sub(r"\n(?=\d+[.)] )", " ", text) if not re.match(r"\d", text) else text
        parts.append(text)
        if shows:
            body, position = _indented(lines, position)
            parts.append(_code(body))
    return "\n\n".join(parts)


# --- pages ----------------------------------------------------------------------------------------


def signature(function: Callable[..., Any], method: bool = False) -> str:
    """The parameters as a reader writes them: no quotes around types, no addresses in defaults."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a class of errors that Python defines
        return "()"
    words, starred, positional = [], False, False
    for parameter in parameters[1 if method else 0 :]:
        if positional and parameter.kind is not parameter.POSITIONAL_ONLY:
            words.append("/")
            positional = False
        positional = positional or parameter.kind is parameter.POSITIONAL_ONLY
        if parameter.kind is parameter.VAR_POSITIONAL:
            starred = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
        word = stars.get(parameter.kind, "") + parameter.name
        hint = parameter.annotation
        hint = hint if isinstance(hint, str) else getattr(hint, "__name__", "Any")
        hint = "" if hint in ("Any", "_empty") else hint.strip("'\"")
        if hint:
            word += f": {hint}"
        if parameter.default is not parameter.empty:
            default = repr(parameter.default)
            default = "..." if "<" in default or "\n" in default else default
            word += f" = {default}" if hint else f"={default}"
        words.append(word)
    if positional:
        words.append("/")
    return f"({', '.join(words)})"


def _directive(kind: str, head: str, body: str, ticks: int = 4) -> str:
    fence = "`" * ticks
    return f"{fence}{{py:{kind}}} {head}\n{body}\n{fence}\n"


def _class_body(entry: Entry) -> str:
    """The docstring of a class and an entry for each member that has one."""
    parts = [markdown(inspect.getdoc(entry.value) or "")]
    for member in members(entry.value):
        documented = getattr(entry.value, member.name)
        text = inspect.getdoc(member.value) or inspect.getdoc(documented)
        if not text:
            continue
        head = f"{entry.path}.{member.name}"
        if isinstance(member.value, property):
            parts.append(_directive("property", head, markdown(text)))
        else:
            static = isinstance(inspect.getattr_static(entry.value, member.name), staticmethod)
            head += signature(member.value, method=not static)
            parts.append(_directive("method", head, markdown(text)))
    return "\n\n".join(parts)


def describe(entry: Entry) -> str:
    """The entry of a name, as Markdown."""
    value = entry.value
    if isinstance(value, type):
        head = entry.path + (signature(value) if not is_absent(value) else "")
        body = _class_body(entry) if _shown_whole(entry) else _alias_body(entry)
        return _directive("class", head, body, 6)
    if callable(value) and not isinstance(value, numbagrad.dtype):
        return _directive("function", entry.path + signature(value), markdown(_text(value)), 6)
    text = _plain(f"The value {value!r}.") if not _plain_object(value) else f"`{value!r}`"
    return _directive("data", entry.path, text, 6)


def _text(value: Any) -> str:
    return inspect.getdoc(value) or ""


def _plain_object(value: Any) -> bool:
    return "<" not in repr(value) and "`" not in repr(value)


def home(value: type) -> str:
    """The module under which a class is described with its members: the shortest that offers it."""
    return _homes().get(value, "")


_HOMES: dict[type, str] = {}


def _homes() -> dict[type, str]:
    if not _HOMES:
        for entry in entries():
            if isinstance(entry.value, type):
                before = _HOMES.get(entry.value)
                if before is None or len(entry.path) < len(before):
                    _HOMES[entry.value] = entry.path
    return _HOMES


def _shown_whole(entry: Entry) -> bool:
    return home(entry.value) == entry.path


def _alias_body(entry: Entry) -> str:
    target = home(entry.value)
    return f"{markdown(_text(entry.value))}\n\nThe same class as {{py:class}}`{target}`."


def family(entry: Entry) -> tuple[str, str]:
    """The page of a name of the namespace itself."""
    function = inspect.unwrap(entry.value) if callable(entry.value) else entry.value
    if inspect.isfunction(function):
        path = function.__code__.co_filename.replace("\\", "/").rpartition("/numbagrad/")[2]
        for start, page in FAMILIES.items():
            if start and path.startswith(start):
                return page
    return FAMILIES[""]


def _page(title: str, lead: str, page: list[Entry]) -> str:
    links = " · ".join(f"{{py:obj}}`{entry.name} <{entry.path}>`" for entry in page)
    index = f":::{{container}} names\n{links}\n:::\n" if len(page) > 3 else ""
    return "\n\n".join([f"# {title}", lead, index, *map(describe, page)]) + "\n"


#: What the kinds of operators are called on the page that lists them.
KINDS = {
    "PointwiseOperator": "formula",
    "ComplexOperator": "formula",
    "Composite": "composite",
    "LinearReduction": "reduction",
}


def _operator(function: type) -> str:
    """The line of an operator: its function, kind, definition, and where its gradient is from."""
    operator = function.operators()[0]
    kind = KINDS.get(type(operator).__name__, "view" if operator.is_view else "forward")
    gradient = "in one rule"
    if kind == "formula":
        definition = operator.definition
        text = str(operator.formula).removeprefix("Formula(").removesuffix(")")
        given = ", ".join(f"`{name}`" for name in definition.gradient)
        gradient = "none"
        if definition.differentiable:
            gradient = f"given for {given}" if given else "derived"
    else:
        text = f"({', '.join(operator.parameters)})"
        rules = getattr(operator, "gradient", None)
        if kind == "composite":
            gradient = "of its parts"
        elif isinstance(rules, dict):
            gradient = ", ".join(f"`{name}`" for name in rules) or "none"
    module, name = function.position
    text = text.replace("|", "\\|")
    return f"| {{py:obj}}`{name} <{module.__name__}.{name}>` | {kind} | `{text}` | {gradient} |"


def operators() -> str:
    """The page of operators: what each is defined by, from the definitions themselves."""
    functions = [getattr(numbagrad.functions, name) for name in dir(numbagrad.functions)]
    functions = [
        value
        for value in functions
        if isinstance(value, type)
        and issubclass(value, numbagrad.functions.OperatorFunction)
        and value is not numbagrad.functions.OperatorFunction
        and value.operators()
    ]
    lead = (
        "Functions that stand for one operator, with its definition. A *formula* is the expression "
        "that its kernel, its gradient and its tests follow from; of a *forward*, a *view* or a "
        "*reduction* the parameters are given, of a *composite* those of the fused function. "
        "The last column says which inputs have a gradient rule of their own."
    )
    head = "| function | kind | definition | gradient |\n| --- | --- | --- | --- |"
    rows = "\n".join(map(_operator, sorted(functions, key=lambda value: value.position[1])))
    return f"# Operators\n\n{lead}\n\n{head}\n{rows}\n"


def absent() -> str:
    """The page of names of torch that can be imported, and raise when they are used."""
    parts = [
        "# Names of torch that are not there\n\nPrograms import more than they run. These names "
        "can be imported, stand in annotations and in `isinstance`; a call raises "
        "`NotImplementedError`, which says what to do instead."
    ]
    for module in sorted(pkgutil.iter_modules(numbagrad.__path__)):
        if module.name.startswith("_") or module.name == "absent_names":
            continue
        found = importlib.import_module(f"numbagrad.{module.name}")
        missing = [
            getattr(found, name)
            for name in sorted({*getattr(found, "__all__", ()), *dir(found)})
            if not name.startswith("_") and is_absent(getattr(found, name, None))
        ]
        if missing:
            reason = _plain((missing[0].__doc__ or "").partition(": ")[2])
            names = ", ".join(f"`{value.__name__}`" for value in missing)
            parts.append(f"## torch.{module.name}\n\n{reason}\n\n{names}")
    return "\n\n".join(parts) + "\n"


def write(folder: pathlib.Path) -> None:
    """Write the pages into ``folder``; files that are as they should be are left alone."""
    on_demand.load_all()
    folder.mkdir(exist_ok=True)
    by_module: dict[str, list[Entry]] = {}
    for entry in entries():
        by_module.setdefault(entry.module, []).append(entry)
    pages: dict[str, str] = {}

    namespace = by_module.pop("numbagrad")
    families: dict[tuple[str, str], list[Entry]] = {}
    for entry in namespace:
        if entry.value is not numbagrad.Tensor:
            families.setdefault(family(entry), []).append(entry)
    order = dict.fromkeys(FAMILIES.values())
    for name, title in order:
        page = families.get((name, title), [])
        lead = "Names of the namespace `numbagrad`."
        pages[f"numbagrad-{name}"] = _page(title, lead, page)
    tensor = next(entry for entry in namespace if entry.value is numbagrad.Tensor)
    pages["tensor"] = f"# Tensor\n\n{describe(tensor)}"

    for path, page in by_module.items():
        lead = markdown(_text(importlib.import_module(path)))
        pages[path.removeprefix("numbagrad.")] = _page(path.removeprefix("numbagrad."), lead, page)

    pages["operators"] = operators()
    pages["absent"] = absent()
    listed = ["tensor", "operators", "absent", *(f"numbagrad-{name}" for name, _ in order), *sorted(
        path.removeprefix("numbagrad.") for path in by_module)]  # fmt: skip
    toctree = "\n".join(["```{toctree}", ":maxdepth: 1", "", *listed, "```"])
    pages["index"] = (
        "# API reference\n\nEvery public name, by module; the texts are the docstrings. Names have "
        "torch's meaning, and where a docstring says less than torch's manual, that holds too;\n"
        "[what was compared](../torch-compatibility.md) is listed row by row.\n\n" + toctree + "\n"
    )
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.glob("*.md"):
        if path.stem not in pages:
            path.unlink()
