"""Operators that libraries of PyTorch bring compiled from C++, which needs torch, written again.

``ops.load_library`` imports the file here of the library whose extension it is asked to load. That
file defines the operators under the library's names (``library.py``); their loops are kernels as
users write them (``numbagrad.kernel``).
"""

from __future__ import annotations

#: The file here that has the operators of an extension, by the folder and the name of its file.
FILES = {
    ("lib", "_torchaudio"): "torchaudio",
    ("lib", "libtorchaudio"): "torchaudio",
    ("torchvision", "_C"): "torchvision",
    ("torchvision", "_C_stable"): "torchvision",
}
