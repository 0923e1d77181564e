"""Metadata of a distribution called torch, for libraries that ask which version of it there is.

The finder of ``torch_alias.py`` hands it to ``importlib.metadata`` while this package is torch.
"""

from __future__ import annotations

import importlib.metadata
import os
from typing import Any


class Distribution(importlib.metadata.Distribution):
    """A distribution called torch of a version."""

    def __init__(self, version: str) -> None:
        self._files = {
            "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n",
            "top_level.txt": "torch\n",
        }

    def read_text(self, filename: str) -> str | None:
        """The text of a file of the metadata, or None."""
        return self._files.get(filename)

    def locate_file(self, path: Any) -> Any:
        """Where a file of the distribution lies: in this package."""
        return os.path.join(os.path.dirname(__file__), path)
