"""Saved tensors: what a node keeps between forward and backward, and the checks when it is used.

Operators and ``Function`` pack tensors with ``save`` and ``save_output``; ``Node.unpack`` gives
them back. A saved tensor that was written in place since raises, and so does one that was freed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..dtype import name_of
from . import tensor_interface as interface
from .grad_mode import state as grad_mode
from .hooks.watching import INFERENCE_CELL

if TYPE_CHECKING:
    from .node import Node

__all__ = [
    "FREED", "ProducedOutput", "ProducerLater", "SavedInput", "SavedOutput", "operator_name",
    "save", "save_output", "unpack_entries",
]  # fmt: skip

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)

_TORCH_TYPE_NAMES = {
    "float16": "HalfTensor",
    "bfloat16": "BFloat16Tensor",
    "float32": "FloatTensor",
    "float64": "DoubleTensor",
    "int8": "CharTensor",
    "uint8": "ByteTensor",
    "int16": "ShortTensor",
    "int32": "IntTensor",
    "int64": "LongTensor",
    "bool": "BoolTensor",
    "complex64": "ComplexFloatTensor",
    "complex128": "ComplexDoubleTensor",
}


def type_name(tensor: Any) -> str:
    """Return the name torch's messages use for the dtype of a tensor, as ``torch.FloatTensor``."""
    return name_of_type(tensor._array.dtype)


def name_of_type(dtype: Any) -> str:
    """``type_name`` of a NumPy dtype."""
    name = name_of(dtype)
    return "torch." + _TORCH_TYPE_NAMES.get(name, name)


def operator_name(node: Any) -> str:
    """The name of what a node recorded, as torch's messages have it: of ``SumBackward1`` ``Sum1``,
    but of ``MulBackward0`` ``Mul``."""
    return re.sub(r"Backward(0$|(\d*)$)", r"\2", node.name())


class SavedInput:
    """An input of a node whose memory already has a version count, and the count when saved.

    A tensor without a version count (``_version_cell is None``) is saved as itself: its version
    then is 0, and it must still be 0 when it is used.
    """

    __slots__ = ("_version_cell", "tensor", "version")

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self._version_cell = tensor._version_cell
        self.version = tensor._version_cell[0]

    def unpack(self, node: Node) -> Any:
        tensor = self.tensor
        if self._version_cell[0] != self.version:
            raise _modified(tensor, tensor._producer, self._version_cell[0], self.version)
        return tensor


class SavedOutput:
    """An output of the node that saves it: its array, without the tensor.

    The tensor refers to the node that made it, so keeping it would close a reference cycle. It is
    made anew each time it is used.
    """

    __slots__ = ("_version_cell", "array", "output_nr", "version")

    def __init__(self, tensor: Any, output_nr: int) -> None:
        if tensor._version_cell is None:
            tensor._version_cell = [0]
        self.array = tensor._array
        self._version_cell = tensor._version_cell
        self.version = tensor._version_cell[0]
        self.output_nr = output_nr

    def unpack(self, node: Node) -> Any:
        tensor = interface.new_tensor(self.array, True, node, self.output_nr)
        tensor._version_cell = self._version_cell
        if self._version_cell[0] != self.version:
            raise _modified(tensor, node, self._version_cell[0], self.version)
        return tensor

    def produced(self, later: ProducerLater) -> ProducedOutput:
        """This output with another history."""
        made = ProducedOutput.__new__(ProducedOutput)
        made.array, made.version, made._version_cell = self.array, self.version, self._version_cell
        made.output_nr = 0
        made.later = later
        return made


class ProducerLater:
    """Stands for the node that a saved output seems to come from, which is made when it is used.

    Args:
        make: ``make(node)`` returns it, for the node that saved the output.
    """

    __slots__ = ("make",)

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.make = make


class ProducedOutput(SavedOutput):
    """A saved output that seems to come from another node than the one that saved it."""

    __slots__ = ("later",)

    later: ProducerLater

    def unpack(self, node: Node) -> Any:
        return super().unpack(self.later.make(node))


def save(tensor: Any) -> Any:
    """Pack an input for ``Node.saved``. ``None`` stays ``None``."""
    if tensor is None or tensor._version_cell is None:
        return tensor
    if tensor._version_cell is INFERENCE_CELL:
        if grad_mode.saves_inference:
            saved = SavedInput(tensor)
            saved._version_cell = [saved.version]  # that of all inference tensors says nothing
            return saved
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
            "inference mode in computation tracked by autograd. To work around this, you can make "
            "a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
            "instead of `torch.inference_mode()`."
        )
    return SavedInput(tensor)


def save_output(tensor: Any, output_nr: int = 0) -> SavedOutput:
    """Pack an output of the saving node for ``Node.saved``."""
    return SavedOutput(tensor, output_nr)


def unpack_entries(entries: tuple[Any, ...], node: Node) -> tuple[Any, ...]:
    """Give back the tensors that ``save`` and ``save_output`` packed.

    Raises:
        RuntimeError: if one of them was written in place since.
    """
    unpacked: list[Any] = []
    for entry in entries:
        if entry is None:
            unpacked.append(None)
        elif isinstance(entry, interface.Tensor):
            cell = entry._version_cell
            if cell is not None and cell[0] != 0:
                raise _modified(entry, entry._producer, cell[0], 0)
            unpacked.append(entry)
        else:
            unpacked.append(entry.unpack(node))
    return tuple(unpacked)


def _modified(tensor: Any, producer: Any, version: int, expected: int) -> RuntimeError:
    """The error for a saved tensor that was written in place."""
    shape = ", ".join(str(size) for size in tensor._array.shape)
    origin = ""
    if producer is not None:
        origin = f", which is output {tensor._output_nr} of {operator_name(producer)},"
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{type_name(tensor)} [{shape}]]{origin} is at version {version}; expected "
        f"version {expected} instead. Hint: enable anomaly detection to find the operation that "
        "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
        "check_nan=False)."
    )
