"""Pages for those who work on the library, and the code itself, name what is there."""

from __future__ import annotations

import ast
import pathlib
import re

import pytest

from numbagrad.autograd import tensor_interface

ROOT = pathlib.Path(__file__).parents[1]
PAGES = ("docs/design.md", "docs/contributing.md", "README.md")
#: Where paths begin, beside the root of the repository.
ROOMS = ("numbagrad", "tests")


def files():
    return [p for room in (*ROOMS, "tools", "bench", "examples") for p in (ROOT / room).rglob("*")]


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page):
    text = (ROOT / page).read_text()
    named = set(re.findall(r"`([\w/]+\.py)`", text))
    names = {path.name for path in files()}
    missing = [
        path for path in sorted(named)
        if not any((ROOT / room / path).exists() for room in ("", *ROOMS))
        and ("/" in path or path not in names)
    ]  # fmt: skip
    assert not missing


#: A path between grave accents.
NAMED = re.compile(r"`([\w./]+\.(?:py|md))`")


def is_there(named, folder, paths):
    """Whether a path is one from a folder or from a folder around it, or the end of just one."""
    around = [folder, *folder.parents][: len(folder.relative_to(ROOT).parts) + 1]
    if any(str(room / named) in paths for room in (*around, ROOT / "numbagrad")):
        return True
    return "/" in named and sum(path.endswith(f"/{named}") for path in paths) == 1


def test_every_file_that_the_code_names_exists():
    """In docstrings and comments, seen from the file that names it."""
    #: A file of users.
    of_users = {"hubconf.py"}
    found = [*files(), *ROOT.glob("*.py"), *(ROOT / "docs").glob("*.md")]
    paths = {str(path) for path in found}
    missing = [
        f"{path.relative_to(ROOT)}: {named}"
        for path in found
        if path.suffix == ".py"
        for named in NAMED.findall(path.read_text())
        if named not in of_users and not is_there(named, path.parent, paths)
    ]
    assert not missing


def test_every_room_is_in_the_table():
    """Each file and folder of the package, but those that are torch's paths by their first line."""
    text = (ROOT / "docs" / "design.md").read_text()
    table = text[text.index("## The rooms") : text.index("## A family in three rooms")]
    named = {name.rstrip("/") for name in re.findall(r"`([\w/.]+)`", table)}
    missing = []
    for path in (ROOT / "numbagrad").iterdir():
        head = path / "__init__.py" if path.is_dir() else path
        if path.suffix not in ("", ".py") or not head.exists() or path.name == "__init__.py":
            continue
        of_torch = head.read_text().startswith('"""``torch.')
        if path.name not in named and not of_torch:
            missing.append(path.name)
    assert not missing


def test_every_name_of_the_tour_is_in_its_file():
    """What the first sections say stands in a file, as ``name`` in ``file``."""
    text = (ROOT / "docs" / "design.md").read_text()
    text = text[text.index("## Where to look") : text.index("## Kernels are objects")]
    found = re.findall(r"`(\w+)` (?:and `(\w+)` )?in\s+`([\w/]+\.py)`", text)
    assert len(found) >= 8
    for first, second, path in found:
        code = (ROOT / "numbagrad" / path).read_text()
        for name in filter(None, (first, second)):
            assert re.search(rf"\b(def|class) {name}\b", code), (name, path)


#: Pronouns that leave the reader to find the subject.
HIDDEN_SUBJECT = re.compile(
    r'^[ \t]*(?:r?"""|#: )((?:What|Who|Whom|Whose|That of|Those|Of)\b.*)', re.MULTILINE
)


def test_docstrings_begin_with_their_subject():
    """With a noun or a verb: "the kernel", "returns", not "what there is of it"."""
    found = [
        f"{path.relative_to(ROOT)}: {head}"
        for path in (ROOT / "numbagrad").rglob("*.py")
        for head in HIDDEN_SUBJECT.findall(path.read_text())
    ]
    assert not found


def test_no_file_of_the_package_is_long():
    """A file is for one thing: of those above 600 lines, two could be made."""
    long = {}
    for path in (ROOT / "numbagrad").rglob("*.py"):
        lines = path.read_text().count("\n")
        if lines > 600:
            long[str(path.relative_to(ROOT))] = lines
    assert not long


# --- the planner ----------------------------------------------------------------------------------

#: Sizes around one dimension; the two names are the shape and the dimension.
AROUND = re.compile(r"\(\*([\w.]*(?:shape|sizes|strides|rest|first))\[:(\w+)\],.*\*\1\[\2 \+ 1 :\]")
#: The common leading dimensions of two stacks of matrices.
OF_STACKS = re.compile(r"broadcast\(\[\w+\.shape\[:-2\], \w+\.shape\[:-2\]\]\)")
#: The form of a copy in the order of the strides.
OF_COPY = re.compile(r"\bdense\((\w+)\.shape, .*, \[\1\]\)")


@pytest.mark.parametrize("rule", [AROUND, OF_STACKS, OF_COPY])
def test_forms_are_worked_out_by_the_planner_alone(rule):
    forms = "numbagrad/executor/plan/forms.py"
    assert rule.search((ROOT / forms).read_text())
    planner = {forms, "numbagrad/executor/plan/result_forms.py"}
    planning = ("executor", "program", "cuda", "ops", "sparse", "nn")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for room in planning
        for path in (ROOT / "numbagrad" / room).rglob("*.py")
        if str(path.relative_to(ROOT)) not in planner
        for line in path.read_text().splitlines()
        if rule.search(line)
    ]
    assert not found


@pytest.mark.parametrize(
    "path",
    [
        "executor/plan/direct.py", "executor/planned_backend.py", "program/trace.py",
        "program/abstract_trace.py", "program/run_single.py",
        "executor/families/complex_pointwise.py",
    ],
)  # fmt: skip
def test_calls_become_operations_in_one_place(path):
    """Eager calls, other backends and traces ask ``of_call`` of the operation."""
    code = (ROOT / "numbagrad" / path).read_text()
    assert "of_call(" in code
    assert not re.search(r"\b(Pointwise|Reduce|Rowwise|Product)\(", code)


# --- imports --------------------------------------------------------------------------------------


def modules_of_the_package():
    paths = (ROOT / "numbagrad").rglob("*.py")
    return {".".join(p.relative_to(ROOT).with_suffix("").parts): p for p in paths}


def imported_by(node, package):
    """Dotted names that are imported, in functions too; what is for annotations alone is not."""
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (each.name.split(".") for each in node.names)
    elif isinstance(node, ast.ImportFrom):
        start = package[: len(package) + 1 - node.level] if node.level else []
        base = start + (node.module.split(".") if node.module else [])
        yield from (base + [each.name] for each in node.names)
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield from imported_by(child, package)


def test_no_files_import_each_other_in_a_circle():
    modules = modules_of_the_package()

    def found(name):
        """The file of a dotted name, which may end in what a file defines."""
        for parts in (name, name[:-1]):
            for tail in ([], ["__init__"]):
                if (module := ".".join(parts + tail)) in modules:
                    return module
        return None

    imports = {}
    for module, path in modules.items():
        package = module.split(".")[:-1]
        names = {found(x) for x in imported_by(ast.parse(path.read_text()), package)}
        above = {".".join([*package[:k], "__init__"]) for k in range(len(package) + 1)}
        imports[module] = names - above - {None, module}
    # Files that import none of those left belong to no circle.
    while done := {module for module, names in imports.items() if not names}:
        imports = {module: names - done for module, names in imports.items() if module not in done}
    assert not imports


def test_entries_of_the_table_between_rooms_are_filled_once():
    empty = [name for name in tensor_interface._ENTRIES if getattr(tensor_interface, name) is None]
    assert set(empty) <= {"aten_calls"}  # once a mode sees calls
    with pytest.raises(TypeError, match="'add' is registered already"):
        tensor_interface.register(add=print)
    with pytest.raises(TypeError, match="unknown entry 'subtract'"):
        tensor_interface.register(subtract=print)
