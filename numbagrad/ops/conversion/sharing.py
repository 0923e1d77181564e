"""Tensors in memory that several processes see: ``share_memory_``, and their way to others.

``multiprocessing`` sends what its pickler is told to, by descriptors of files; ``share_memory_``
tells it of the class of the tensor.
"""

from __future__ import annotations

import os
import threading
from multiprocessing import context, reduction
from typing import Any

import numpy as np

from ...autograd.node import has_no_history
from ...backend import foreign
from ...dtype import dtype as DType
from ...executor.capture import outside_programs
from ...shared_memory import SharedBlock, block_of, new_block, opened
from ...tensor import Tensor
from ...tensor.copies import rebuilt
from ...tensor.state import new_version_cell
from ...untyped_storage import owner_of
from ...warn_once import warn_once
from ..methods.registry import method
from ..writing.sole_user import is_sole_user

__all__ = ["reduced_for_process", "send_shared"]


@method()
def is_shared(self: Tensor) -> bool:
    """Whether other processes can see the memory; on a GPU they can, as torch says it."""
    if self._array.__class__ is not np.ndarray:
        return foreign(self._array) is not None
    return block_of(self._array) is not None


@method()
def share_memory_(self: Tensor) -> Tensor:
    """Move the elements into memory that other processes see, and return the tensor.

    Processes that are forked afterwards, and those that it is sent to (arguments of
    ``torch.multiprocessing.Process``, queues), write into the same elements. Views of it that are
    made later share as well. Nothing on a GPU.

    Raises:
        RuntimeError: if another tensor or array uses the memory, which would be left behind: share
            it before there are views of it, or share a ``clone()``.
    """
    array = self._array
    if array.__class__ is not np.ndarray:
        if foreign(array) is None:
            raise RuntimeError("share_memory_: not inside of vmap, grad or jvp")
        return self
    if block_of(array) is not None:
        return self
    del array
    if not is_sole_user(self):
        raise RuntimeError(
            "share_memory_: another tensor or array uses the memory of this one, and would not "
            "follow it; share it before there are views of it, or share a clone() or detach()ed "
            "copy"
        )
    _move(self)
    send_shared(type(self))
    return self


# --- to other processes ---------------------------------------------------------------------------


def send_shared(kind: type[Tensor]) -> None:
    """Let pickles of ``multiprocessing`` share the memory of tensors of this class."""
    reduction.ForkingPickler.register(kind, reduced_for_process)


def reduced_for_process(tensor: Tensor) -> tuple[Any, ...]:
    """A tensor as ``multiprocessing`` sends it: where its elements are, if that can be shared.

    Of a tensor that is no view, an argument of a process that starts, the memory is moved to where
    both see it, as torch does. Other tensors that are not shared are copied.

    Raises:
        RuntimeError: for a shared tensor with a history.
    """
    array = tensor._array
    if array.__class__ is not np.ndarray:
        return tensor.__reduce_ex__(reduction.pickle.HIGHEST_PROTOCOL)  # type: ignore[attr-defined]
    block = block_of(array)
    del array
    if block is None and context.get_spawning_popen() is not None:
        if has_no_history(tensor) and is_sole_user(tensor):
            block = block_of(tensor.share_memory_()._array)
        else:
            warn_once(
                "a tensor that a new process is given is copied, since other tensors or arrays use "
                "its memory, or since it has a history; torch shares it. Give the process a clone "
                "that share_memory_() was called for, or detach() it"
            )
    if block is None:
        return tensor.__reduce_ex__(reduction.pickle.HIGHEST_PROTOCOL)  # type: ignore[attr-defined]
    if not has_no_history(tensor):
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries. If you just want to transfer the data, "
            "call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    array = tensor._array
    first = np.frombuffer(block, np.uint8).ctypes.data
    offset = array.ctypes.data - first
    return _received, (
        None if type(tensor) is Tensor else type(tensor),
        block, offset, array.shape, array.strides, tensor.dtype,
        tensor._requires_grad,
    )  # fmt: skip


def _received(
    kind: type[Tensor] | None,
    block: SharedBlock,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: DType,
    requires_grad: bool,
) -> Tensor:
    """A tensor in the memory of another process."""
    array = np.ndarray(shape, dtype.numpy, block, offset, strides)
    return rebuilt(kind or Tensor, array, new_version_cell(), requires_grad, {})


# The thread of a queue sends while the program goes on, and the first descriptor that a process
# sends takes locks of the standard library (a folder for temporary files, a server of descriptors).
# A fork waits for it: the child would wait for ever for a lock that no thread of it holds.
_sending = threading.RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_sending.acquire, after_in_parent=_sending.release, after_in_child=_sending.release
    )


def _sent_block(block: SharedBlock) -> tuple[Any, ...]:
    with _sending:
        return _received_block, (reduction.DupFd(block.descriptor), len(block))


def _received_block(descriptor: Any, size: int) -> SharedBlock:
    return opened(descriptor.detach(), size)


reduction.ForkingPickler.register(SharedBlock, _sent_block)


# --- to shared memory ----------------------------------------------------------------------------


@outside_programs("share_memory_()")
def _move(tensor: Tensor) -> None:
    array = tensor._array
    owner = owner_of(array)
    offset = array.ctypes.data - owner.ctypes.data
    block = new_block(owner.nbytes)
    memory = np.ndarray(owner.shape, owner.dtype, block, 0, owner.strides)
    memory[...] = owner
    tensor._array = np.ndarray(array.shape, array.dtype, block, offset, array.strides)
