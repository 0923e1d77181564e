"""Collectives of objects that can be pickled, and the barrier that says who is missing.

Pickles run code when they are read: exchange objects with processes that are trusted.
"""

from __future__ import annotations

import pickle
import time
from typing import Any

import numpy as np

from ..executor import capture
from .collectives import rank_in
from .exchange import check_agreement
from .point_to_point import recv, send
from .process_group import ProcessGroup, group_of
from .work import Work, seconds

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "monitored_barrier",
    "recv_object_list", "scatter_object_list", "send_object_list",
]  # fmt: skip


def _begin(function: str, group: Any, words: str = "") -> ProcessGroup | None:
    found = group_of(group, function)
    capture.refuse(f"distributed.{function}(), which a program cannot repeat")
    if found is not None:
        check_agreement(found.communicator, f"{function}({words})")
    return found


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Put the objects of all ranks into a list that has a place for each.

    Raises:
        ValueError: if the list has not as many places as the group has ranks.
    """
    found = group_of(group, "all_gather_object")
    if found is None:
        return
    if len(object_list) != found.size():
        raise ValueError(f"all_gather_object(): object_list has {len(object_list)} places; a group "
                         f"of {found.size()} ranks needs as many")  # fmt: skip
    _begin("all_gather_object", group)
    object_list[:] = found.communicator.objects(obj)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Put the objects of all ranks into a list of ``dst``, a global rank, 0 without.

    Raises:
        ValueError: if the list is missing on ``dst``, or given on another rank.
    """
    found = group_of(group, "gather_object")
    if found is None:
        return
    given = 0 if dst is None and group_dst is None else dst
    root = rank_in(found, "gather_object", given, group_dst)
    mine = found.rank() == root
    if mine != bool(object_gather_list):
        raise ValueError("gather_object(): object_gather_list has to be given on the destination "
                         "rank, and there alone")  # fmt: skip
    _begin("gather_object", group, f"dst={root}")
    values = found.communicator.gathered(obj, root)
    if object_gather_list:
        object_gather_list[:] = values


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Put the objects of a list of ``src``, a global rank, 0 without, into those of all ranks.

    Raises:
        RuntimeError: on every rank, if the lists are not of one length.
    """
    found = group_of(group, "broadcast_object_list")
    if found is None:
        return
    given = 0 if src is None and group_src is None else src
    root = rank_in(found, "broadcast_object_list", given, group_src)
    _begin("broadcast_object_list", group, f"{len(object_list)} objects, src={root}")
    object_list[:] = found.communicator.object_of(object_list, root)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put the k-th object of a list of ``src`` into the first place of a list of rank k.

    Raises:
        ValueError: if the output list is empty, or the input list has not an object a rank.
    """
    found = group_of(group, "scatter_object_list")
    if found is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at "
                         "least 1.")  # fmt: skip
    given = 0 if src is None and group_src is None else src
    root = rank_in(found, "scatter_object_list", given, group_src)
    if found.rank() == root and len(scatter_object_input_list or ()) != found.size():
        raise ValueError(f"scatter_object_list(): a group of {found.size()} ranks needs as many "
                         "objects")  # fmt: skip
    _begin("scatter_object_list", group, f"src={root}")
    values = found.communicator.object_of(scatter_object_input_list, root)
    scatter_object_output_list[0] = values[found.rank()]


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects of a list to a rank, which calls ``recv_object_list``."""
    from ..ops.creation.from_memory import from_numpy

    content = np.frombuffer(bytearray(pickle.dumps(list(object_list))), np.uint8)
    send(from_numpy(np.array([content.size])), dst, group, group_dst=group_dst)
    send(from_numpy(content), dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive the objects of ``send_object_list`` into the places of a list.

    Returns:
        The global rank that sent them.

    Raises:
        RuntimeError: if another number of objects was sent.
    """
    from ..ops.creation.from_memory import from_numpy

    size = np.zeros(1, np.int64)
    sender = recv(from_numpy(size), src, group, group_src=group_src)
    if sender < 0:
        return sender
    content = np.zeros(int(size[0]), np.uint8)
    recv(from_numpy(content), sender, group)
    found = pickle.loads(content.tobytes())
    if len(found) != len(object_list):
        raise RuntimeError(f"recv_object_list(): rank {sender} sent {len(found)} objects where "
                           f"{len(object_list)} are received")  # fmt: skip
    object_list[:] = found
    return sender


def _wait_for_first(reply: Work, rank: int) -> None:
    try:
        reply.wait()
    except RuntimeError as error:
        raise RuntimeError(f"rank {rank} waited for rank 0: {error}") from None


#: A tag of MPI that no message of users has.
_ARRIVED = 2 * 16383


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """A barrier whose rank 0 says who has not come within a time.

    Args:
        timeout: a ``timedelta``, or seconds; that of the group, or 300 seconds, without.
        wait_all_ranks: name all ranks that are missing, instead of the first.

    Raises:
        RuntimeError: on rank 0 with the ranks that are missing; on others that rank 0 did not
            let go on.
    """
    found = group_of(group, "monitored_barrier")
    capture.refuse("distributed.monitored_barrier(), which a program cannot repeat")
    if found is None or found.size() == 1:
        return
    limit = seconds(timeout) or found.timeout or 300.0
    ranks, word = found.communicator, np.zeros(1, np.uint8)
    if found.rank():
        arrived = ranks.send(word, 0, _ARRIVED)
        reply = ranks.receive(np.zeros(1, np.uint8), 0, _ARRIVED)
        _wait_for_first(Work("monitored_barrier", (arrived, reply), limit=2 * limit), found.rank())
        return
    arrivals = {
        k: ranks.receive(np.zeros(1, np.uint8), k, _ARRIVED) for k in range(1, found.size())
    }
    end = time.monotonic() + limit
    while arrivals and time.monotonic() < end:
        arrivals = {k: each for k, each in arrivals.items() if not each.done()}
        time.sleep(50e-6)
    if arrivals:
        missing = sorted(arrivals)
        names = missing if wait_all_ranks else missing[:1]
        raise RuntimeError(
            f"monitored_barrier(): rank(s) {', '.join(map(str, names))} of {found.size()} did not "
            f"come within {limit:g} seconds"
        )
    for k in range(1, found.size()):
        ranks.send(word, k, _ARRIVED).wait()
