"""Messages from one rank to another: send, recv, and both without waiting.

A message is two: a header with dtype and shape, and the elements. So a receiver that expects
another tensor raises, and names both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd import tensor_interface as interface
from ..autograd.writes.inplace import before_write
from ..executor import capture
from ..tensor import Tensor
from .collectives import check_tensor, form, rank_in
from .process_group import ProcessGroup, group_of
from .work import Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]

#: Bytes of a header: the form of a tensor, in letters.
_HEADER = 128
#: Tags that MPI has at least; a message takes two.
_MOST_TAG = 16383


def _check_tag(function: str, tag: int) -> None:
    if not 0 <= tag < _MOST_TAG:
        raise ValueError(f"{function}(): tag has to be from 0 to {_MOST_TAG - 1}, got {tag}")


def _header(tensor: Tensor) -> np.ndarray[Any, Any]:
    made = np.zeros(_HEADER, np.uint8)
    text = form(tensor).encode()[:_HEADER]
    made[: len(text)] = np.frombuffer(text, np.uint8)
    return made


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Send a tensor to a rank; it may not be written before the :class:`Work` is over.

    Args:
        dst: a global rank; ``group_dst`` is one of the group.
        tag: of the message; a message is received by the ``recv`` with its tag.

    Raises:
        ValueError: for this rank itself, and for one that is not in the group.
    """
    return _send("isend", tensor, dst, group, tag, group_dst)


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """``isend``, and wait until the tensor may be written again."""
    work = _send("send", tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def _send(
    name: str, tensor: Tensor, dst: int | None, group: Any, tag: int, group_dst: int | None
) -> Work | None:
    found = group_of(group, name)
    check_tensor(name, "tensor", tensor)
    _check_tag(name, tag)
    if found is None:
        return None
    if dst is None and group_dst is None:
        raise ValueError(f"{name}(): dst is missing")
    to = rank_in(found, name, dst, group_dst)
    if name == "send" and to == found.rank():
        raise ValueError("Invalid destination rank: destination rank should not be the same as "
                         "the rank of the current process.")  # fmt: skip
    capture.refuse(f"distributed.{name}(), which a program cannot repeat")
    ranks = found.communicator
    requests = (
        ranks.send(_header(tensor), to, 2 * tag),
        ranks.send(np.ascontiguousarray(tensor._array), to, 2 * tag + 1),
    )
    return Work(name, requests, None, tensor, found.timeout)


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Receive a tensor from a rank, or from any if none is given.

    Args:
        tensor: is written; of the dtype and the shape of what is sent.
        src: a global rank; ``group_src`` is one of the group.
        tag: of the message.

    Raises:
        RuntimeError: when it is over, if another tensor was sent.
    """
    return _receive("irecv", tensor, src, group, tag, group_src)


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """``irecv``, and wait for the message.

    Returns:
        The global rank that sent it; -1 where this process is not in the group.
    """
    work = _receive("recv", tensor, src, group, tag, group_src)
    found = group_of(group, "recv")
    if work is None or found is None:
        return -1
    work.wait()
    return found.ranks[work.source_rank()]


class _Incoming(Work):
    """A message that is received in two steps: its header, then its elements."""

    def __init__(
        self, name: str, group: ProcessGroup, tensor: Tensor, source: int, tag: int
    ) -> None:
        self._tensor = tensor
        self._tag = tag
        self._ranks = group.communicator
        self._header = np.zeros(_HEADER, np.uint8)
        self._array = np.ascontiguousarray(tensor._array)
        self._has_header = False
        header = self._ranks.receive(self._header, source, 2 * tag)
        super().__init__(name, (header,), self._written, tensor, group.timeout)

    def _advance(self) -> None:
        """Once the header is there, ask for the elements."""
        if self._has_header or not self._requests[0].done():
            return
        sent = bytes(self._header).rstrip(b"\0").decode()
        if sent != form(self._tensor)[:_HEADER]:
            raise RuntimeError(
                f"{self._name}(): rank {self._requests[0].source()} sent {sent} where "
                f"{form(self._tensor)} is received (ranks of the group)"
            )
        self._has_header = True
        elements = self._ranks.receive(self._array, self._requests[0].source(), 2 * self._tag + 1)
        self._requests = (self._requests[0], elements)

    def wait(self, timeout: Any = None) -> bool:
        """Return True when the message is there."""
        if not self._is_over and not self._has_header:
            if self._limit is None and timeout is None:
                self._requests[0].wait()
            else:
                Work(self._name, self._requests, limit=self._limit).wait(timeout)
            self._advance()
        return super().wait(timeout)

    def is_completed(self) -> bool:
        """Whether the message is there."""
        self._advance()
        return self._has_header and super().is_completed()

    def _written(self) -> None:
        if self._array is not self._tensor._array:
            self._tensor._array[...] = self._array.reshape(self._tensor._array.shape)
        interface.bump_version(self._tensor)


def _receive(
    name: str, tensor: Tensor, src: int | None, group: Any, tag: int, group_src: int | None
) -> Work | None:
    found = group_of(group, name)
    check_tensor(name, "tensor", tensor)
    _check_tag(name, tag)
    if found is None:
        return None
    capture.refuse(f"distributed.{name}(), which a program cannot repeat")
    anyone = src is None and group_src is None
    source = -1 if anyone else rank_in(found, name, src, group_src)
    before_write(tensor)
    return _Incoming(name, found, tensor, source, tag)


class P2POp:
    """A message for ``batch_isend_irecv``.

    Args:
        op: ``isend`` or ``irecv``.
        tensor: what is sent or received.
        peer: a global rank; ``group_peer`` is one of the group.
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                f"Invalid ``op`` {op!r}: it has to be torch.distributed.isend or irecv"
            )
        check_tensor("P2POp", "tensor", tensor)
        self.op = op
        self.tensor = tensor
        self.peer = peer
        self.group = group
        self.tag = tag
        self.group_peer = group_peer


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start several messages; returns a :class:`Work` for each.

    Raises:
        ValueError: for an empty list, and for what is no ``P2POp``.
    """
    if not p2p_op_list or not all([isinstance(each, P2POp) for each in p2p_op_list]):
        raise ValueError("batch_isend_irecv(): give a list of P2POp, at least one")
    works = [
        each.op(each.tensor, each.peer, each.group, each.tag, each.group_peer)
        for each in p2p_op_list
    ]
    return [work for work in works if work is not None]
