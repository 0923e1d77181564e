"""Writes the table of ``numbagrad/torch_homes.py``: in which module of torch each class is defined.

``python tools/write_torch_homes.py`` needs the torch that the package follows. The table has the
classes that lie at the same path here.
"""

from __future__ import annotations

import importlib.util
import pathlib
import pkgutil
import sys
import textwrap
import warnings

ROOT = pathlib.Path(__file__).parents[1]
TARGET = ROOT / "numbagrad" / "torch_homes.py"
#: Rooms whose classes programs and files name.
_ROOMS = ("amp", "autograd", "distributions", "nn", "optim", "utils")


def entries() -> dict[str, list[str]]:
    """By module of torch, and where its classes are here, the names of those that are there too."""
    for folder in (ROOT, ROOT / "tests"):
        sys.path.insert(0, str(folder))
    from torch_paths import PATHS

    found: dict[str, list[str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        below = importlib.import_module("torch.distributions").__path__
        files = [f"torch.distributions.{each.name}" for each in pkgutil.iter_modules(below)]
        for path in sorted({*PATHS, *files}):
            room = path.split(".")[1:]
            here = path.replace("torch", "numbagrad", 1)
            if not room or room[0] not in _ROOMS or importlib.util.find_spec(here) is None:
                continue
            ours = vars(importlib.import_module(here))
            for name, value in sorted(vars(importlib.import_module(path)).items()):
                defined = isinstance(value, type) and value.__module__ == path
                own = ours.get(name) if defined and value.__qualname__ == name else None
                if isinstance(own, type) and own.__qualname__ == name:
                    if own.__module__.startswith("numbagrad."):
                        home = own.__module__.partition(".")[2]
                        names = found.setdefault(f"{'.'.join(room)} {home}", [])
                        names.append(name)
    return found


def main() -> None:
    """Write the table into the file, behind everything else."""
    lines = [
        textwrap.fill(f"{paths} {' '.join(names)}", 100, subsequent_indent="  ")
        for paths, names in entries().items()
    ]
    before = TARGET.read_text().partition('_TABLE = """')[0]
    TARGET.write_text(before + '_TABLE = """\\\n' + "\n".join(lines) + '\n"""\n')


if __name__ == "__main__":
    main()
