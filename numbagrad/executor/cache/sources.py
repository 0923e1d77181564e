"""Digests of the source files that decide a kernel's machine code, for the keys of the cache.

A kernel is decided by its own file or text, by the files that it imports, by what those import, and
by the whole compiler (``codegen/``). So an edit of one family of kernels leaves the machine code of
the others in the cache. Imports are read from the text, those inside of functions too, as nothing
here may import a kernel: a process that finds all its kernels on disk never loads the compiler.
"""

from __future__ import annotations

import functools
import hashlib
import pathlib
import re
from collections.abc import Iterator

_NAME = "numbagrad"

#: The room of the compiler: part of every key.
COMPILER = "codegen"

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))",
    re.MULTILINE,
)
_COMMENT = re.compile(r"#[^\n]*")
_COMMENT_LINE = re.compile(r"^[ \t]*#[^\n]*\n", re.MULTILINE)


class Sources:
    """The source files of a package folder, and their digests; a file is read once."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self._texts: dict[str, str] = {}
        self._digests: dict[frozenset[str], str] = {}

    @functools.cached_property
    def compiler(self) -> str:
        """Digest of all files of the compiler."""
        digest = hashlib.sha256()
        for path in sorted((self.folder / COMPILER).rglob("*.py")):
            digest.update(path.relative_to(self.folder).as_posix().encode())
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def of_module(self, module: str) -> str:
        """Digest of a module (``kernels.matmul.product``) and all that it imports."""
        return self._digest(frozenset([module]))

    def of_text(self, text: str) -> str:
        """Digest of what a generated text imports; its own text is the caller's."""
        return self._digest(frozenset(self._imports(text, _NAME)))

    def modules(self, module: str) -> set[str]:
        """The modules that the digest of ``module`` covers, without the compiler's."""
        return self._reached(frozenset([module]))

    def _digest(self, modules: frozenset[str]) -> str:
        found = self._digests.get(modules)
        if found is None:
            digest = hashlib.sha256()
            for name in sorted(self._reached(modules)):
                digest.update(f"\0{name}\0{self._text(name)}".encode())
            found = self._digests[modules] = digest.hexdigest()
        return found

    def _reached(self, modules: frozenset[str]) -> set[str]:
        reached: set[str] = set()
        waiting = list(modules)
        while waiting:
            name = waiting.pop()
            if name in reached or name.split(".")[0] == COMPILER:
                continue
            reached.add(name)
            package = name if self._path(name).name == "__init__.py" else name.rpartition(".")[0]
            waiting += self._imports(self._text(name), f"{_NAME}.{package}".rstrip("."))
        return reached

    def _imports(self, text: str, package: str) -> Iterator[str]:
        """The modules of this package that a text imports, for code that lies in ``package``."""
        for match in _IMPORT.finditer(text):
            origin, names, plain = match.groups()
            if plain is not None:
                for part in _COMMENT.sub("", plain).split(","):
                    yield from self._known((part.split() or [""])[0])
                continue
            base = origin.lstrip(".")
            dots = len(origin) - len(base)
            if dots:
                above = package.split(".")
                parts = [*above[: len(above) - dots + 1], *([base] if base else [])]
                base = ".".join(parts)
            yield from self._known(base)
            for part in _COMMENT.sub("", names).strip("() \n").split(","):
                yield from self._known(f"{base}.{(part.split() or ['*'])[0]}")

    def _known(self, name: str) -> Iterator[str]:
        """``name`` without the package's, if it is a module of the package."""
        if name.startswith(f"{_NAME}."):
            module = name[len(_NAME) + 1 :]
            if all(part.isidentifier() for part in module.split(".")) and self._has(module):
                yield module

    def _path(self, module: str) -> pathlib.Path:
        path = self.folder.joinpath(*module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")

    def _has(self, module: str) -> bool:
        return module in self._texts or self._path(module).exists()

    def _text(self, module: str) -> str:
        text = self._texts.get(module)
        if text is None:
            text = self._texts[module] = self._path(module).read_text(encoding="utf-8")
        return text


def without_comments(text: str) -> str:
    """The lines of a generated text that are no comments: those decide what it is compiled to."""
    return _COMMENT_LINE.sub("", text)
