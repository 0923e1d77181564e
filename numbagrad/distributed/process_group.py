"""Groups of processes: how they are made, and what they say of themselves.

The default group is all processes of the MPI job, or this process alone where there is no job: that
needs no MPI. Ranks are the numbers of processes in a group; "global" ranks those in the default
one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import failure
from .communicator import Communicator, SingleProcess
from .work import seconds

__all__ = [
    "GroupMember", "ProcessGroup", "destroy_process_group", "get_backend", "get_global_rank",
    "get_group_rank", "get_pg_count", "get_process_group_ranks", "get_rank", "get_world_size",
    "group", "group_of", "init_process_group", "is_initialized", "new_group",
    "new_subgroups", "split_group",
]  # fmt: skip

_NO_GROUP = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)
#: Variables that say that an MPI launcher started this process.
_OF_LAUNCHERS = (
    "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_FD",
)  # fmt: skip
_HOW = (
    "start the processes with `mpiexec -n 2 python script.py` or `python -m "
    "numbagrad.distributed.run --nproc-per-node 2 script.py`"
)


class ProcessGroup:
    """Processes that exchange tensors with each other.

    Attributes:
        ranks: their global ranks, in the order of the group.
        timeout: seconds that an exchange may take, None for any time.
        group_name: a name that is the same on all ranks.
    """

    def __init__(
        self, communicator: Communicator, ranks: Sequence[int], timeout: float | None, name: str
    ) -> None:
        self._communicator: Communicator | None = communicator
        self.ranks = tuple(ranks)
        self.timeout = timeout
        self.group_name = self.group_desc = name
        self._position = communicator.rank
        self._copies: list[Communicator] = []

    @property
    def communicator(self) -> Communicator:
        """The communicator of its exchanges.

        Raises:
            RuntimeError: once the group was destroyed.
        """
        if self._communicator is None:
            raise RuntimeError(f"the process group {self.group_name!r} was destroyed")
        return self._communicator

    def copy(self) -> Communicator:
        """A communicator of the same ranks, whose exchanges do not mix with those of the group.

        All ranks call it. It goes with the group.
        """
        made = self.communicator.part(None)
        assert made is not None
        self._copies.append(made)
        return made

    def rank(self) -> int:
        """The number of this process in the group."""
        return self._position

    def size(self) -> int:
        """How many processes there are."""
        return len(self.ranks)

    def name(self) -> str:
        """The backend."""
        return "mpi"

    def rank_of(self, global_rank: int) -> int:
        """The rank in this group of a process of the default one.

        Raises:
            ValueError: if it is not in the group.
        """
        if global_rank not in self.ranks:
            raise ValueError(f"Global rank {global_rank} is not part of group {self.ranks}")
        return self.ranks.index(global_rank)

    def destroy(self) -> None:
        """Give back what MPI holds for it; all ranks call it."""
        for each in self._copies:
            each.free()
        if self._communicator is not None:
            self._communicator.free()
        self._communicator, self._copies = None, []

    def __repr__(self) -> str:
        return f"ProcessGroup(rank {self._position} of {self.size()}, global ranks {self.ranks})"

    def __reduce__(self) -> Any:
        raise TypeError("a process group cannot be pickled or copied: make it in each process")


class _World:
    """The state of the process: the default group, and all groups."""

    default: ProcessGroup | None = None
    groups: list[ProcessGroup] = []
    count = 0


class _NonMember:
    """The result of ``new_group`` in a process that is not in the group."""

    def __repr__(self) -> str:
        return "GroupMember.NON_GROUP_MEMBER"


class _GroupMeta(type):
    """``group.WORLD``, which changes with ``init_process_group``."""

    @property
    def WORLD(cls) -> ProcessGroup | None:  # noqa: N802 - torch's name
        """The default group, None if there is none."""
        return _World.default


class group(metaclass=_GroupMeta):  # noqa: N801 - torch's name
    """``group.WORLD`` is the default group."""


class GroupMember(metaclass=_GroupMeta):
    """``NON_GROUP_MEMBER`` stands for a group that this process is not in."""

    NON_GROUP_MEMBER: Any = _NonMember()


def group_of(given: Any, function: str) -> ProcessGroup | None:
    """The group that a function is given, or the default one; None where this is no member.

    Raises:
        ValueError: without a default group.
        TypeError: for what is no group.
    """
    if given is GroupMember.NON_GROUP_MEMBER:
        return None
    if given is None:
        if _World.default is None:
            raise ValueError(_NO_GROUP)
        return _World.default
    if not isinstance(given, ProcessGroup):
        raise TypeError(f"{function}(): group has to be a ProcessGroup, got {type(given).__name__}")
    return given


def _check_backend(backend: Any) -> None:
    names = {each.rpartition(":")[2] for each in str(backend or "mpi").lower().split(",")}
    for name in sorted(names):
        if name in ("mpi", "gloo", "undefined"):
            continue
        if name == "nccl":
            raise RuntimeError(
                "Distributed package doesn't have NCCL built in: tensors are exchanged through "
                "MPI; call init_process_group('mpi')"
            )
        raise ValueError(f"Invalid backend: {name!r}; there is 'mpi', and 'gloo' is taken for it")


def _number_of(name: str) -> int | None:
    text = os.environ.get(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"the environment variable {name} is no number: {text!r}") from None


def _ranks_of_job(wanted: int | None) -> Communicator:
    """All processes of the MPI job; this one alone where no launcher started it."""
    if not any([name in os.environ for name in _OF_LAUNCHERS]):
        if wanted is not None and wanted > 1:
            raise RuntimeError(
                f"a group of {wanted} processes was asked for, but this process belongs to no MPI "
                f"job; {_HOW}"
            )
        return SingleProcess()
    try:
        from . import mpi
    except ImportError as error:
        if os.environ.get("OMPI_COMM_WORLD_SIZE", os.environ.get("PMI_SIZE")) == "1":
            return SingleProcess()
        raise ImportError(
            "an MPI launcher started this process, but mpi4py cannot be imported "
            f"({error}); install it with `pip install 'numbagrad[mpi]'`"
        ) from error
    made = mpi.ranks_of_job()
    if made.size == 1:
        made.free()
        return SingleProcess()
    return made


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Make the default group: all processes of the MPI job, or this one alone without one.

    How many processes there are, and which one this is, is decided by MPI; ``world_size`` and
    ``rank``, and the variables WORLD_SIZE and RANK as ``torchrun`` sets them, have to agree with
    it.
    If an exception ends one process of several, its traceback is printed and the job ends.

    Args:
        backend: ``"mpi"``; ``"gloo"`` is taken for it.
        init_method: processes find each other through MPI, so it is not used.
        timeout: a ``timedelta`` that an exchange may take; without one they wait for ever.

    Raises:
        ValueError: if there is a group, for a backend or numbers that are not so.
        RuntimeError: for NCCL, and for several processes without an MPI job.
        ImportError: if mpi4py is missing in a job.
    """
    if _World.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    _check_backend(backend)
    if store is not None:
        raise NotImplementedError("init_process_group(): processes find each other through MPI; "
                                  "leave out store=")  # fmt: skip
    wanted = world_size if world_size > 0 else _number_of("WORLD_SIZE")
    number = rank if rank >= 0 else _number_of("RANK")
    communicator = _ranks_of_job(wanted)
    if wanted is not None and wanted != communicator.size:
        raise ValueError(
            f"a world of {wanted} processes was asked for, and the MPI job has "
            f"{communicator.size}; {_HOW}"
        )
    if number is not None and number != communicator.rank:
        raise ValueError(
            f"rank {number} was asked for, and MPI numbers this process {communicator.rank}"
        )
    _World.default = _add(communicator, range(communicator.size), seconds(timeout), group_name)
    if communicator.size > 1:
        failure.end_job_on_error(communicator.rank)


def _add(
    communicator: Communicator, ranks: Sequence[int], timeout: float | None, name: str | None
) -> ProcessGroup:
    made = ProcessGroup(communicator, ranks, timeout, name or str(_World.count))
    _World.groups.append(made)
    return made


def destroy_process_group(group: Any = None) -> None:
    """Give up a group; the default one, and all others with it, if none is given.

    All ranks of the group call it.

    Raises:
        ValueError: if there is none.
    """
    found = group_of(group, "destroy_process_group")
    if found is None:
        return
    if found is not _World.default:
        found.destroy()
        _World.groups.remove(found)
        return
    for each in reversed(_World.groups):
        each.destroy()
    _World.groups.clear()
    _World.default, _World.count = None, 0


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """A group of some of the processes. All processes of the default group call it, in one order.

    Args:
        ranks: global ranks; all without. The order is that of the numbers, as in torch.
        timeout: as for ``init_process_group``; without one that of the default group.

    Returns:
        The group, or ``GroupMember.NON_GROUP_MEMBER`` where this process is not in it.

    Raises:
        ValueError: without a default group, and for ranks that are not there or come twice.
    """
    world = group_of(None, "new_group")
    assert world is not None
    _check_backend(backend)
    if use_local_synchronization:
        raise NotImplementedError("new_group(): all processes make a group, also those that are "
                                  "not in it; leave out use_local_synchronization=")  # fmt: skip
    chosen = list(range(world.size())) if ranks is None else sorted(ranks)
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"new_group(): ranks come twice in {list(ranks or ())}")
    if chosen and (chosen[0] < 0 or chosen[-1] >= world.size()):
        raise ValueError(
            f"new_group(): ranks {chosen} are not all among the {world.size()} processes"
        )
    from .exchange import check_agreement

    check_agreement(world.communicator, f"new_group({chosen})")
    _World.count += 1
    communicator = world.communicator.part(chosen)
    if communicator is None:
        return GroupMember.NON_GROUP_MEMBER
    limit = world.timeout if timeout is None else seconds(timeout)
    return _add(communicator, chosen, limit, group_desc)


def new_subgroups(group_size: int | None = None, group: Any = None, **options: Any) -> Any:
    """Groups of so many processes each, in the order of their ranks.

    Returns:
        The group that this process is in, and a list of all.

    Raises:
        ValueError: if the number of processes is no multiple of ``group_size``.
    """
    found = group_of(group, "new_subgroups")
    assert found is not None
    if group_size is None:
        raise ValueError("new_subgroups(): say group_size=, how many processes a group has")
    if group_size <= 0 or found.size() % group_size:
        raise ValueError(
            f"The world size ({found.size()}) must be divisible by group_size={group_size}"
        )
    starts = range(0, found.size(), group_size)
    made = [new_group(found.ranks[k : k + group_size], **options) for k in starts]
    return made[found.rank() // group_size], made


def split_group(
    parent_pg: Any = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: Any = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> Any:
    """The one of several groups, given by ranks of the parent, that this process is in.

    Returns:
        The group, or None where this process is in none of them.
    """
    parent = group_of(parent_pg, "split_group")
    if parent is None:
        return None
    if not split_ranks:
        raise ValueError("split_group(): split_ranks cannot be empty")
    own = None
    for ranks in split_ranks:
        communicator = parent.communicator.part(sorted(ranks))
        if communicator is not None:
            limit = parent.timeout if timeout is None else seconds(timeout)
            chosen = [parent.ranks[k] for k in sorted(ranks)]
            own = _add(communicator, chosen, limit, group_desc)
    return own


def is_initialized() -> bool:
    """Whether there is a default group."""
    return _World.default is not None


def get_rank(group: Any = None) -> int:
    """The number of this process in a group; -1 if it is not in it.

    Raises:
        ValueError: without a default group.
    """
    found = group_of(group, "get_rank")
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """How many processes a group has; -1 if this one is not in it.

    Raises:
        ValueError: without a default group.
    """
    found = group_of(group, "get_world_size")
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> str:
    """``"mpi"``.

    Raises:
        ValueError: without a default group, and where this process is not in the group.
    """
    if group_of(group, "get_backend") is None:
        raise ValueError("Invalid process group specified")
    return "mpi"


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The global ranks of a group."""
    found = group_of(group, "get_process_group_ranks")
    return [] if found is None else list(found.ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The global rank of a rank of a group.

    Raises:
        ValueError: if the group has no such rank.
    """
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group.ranks}")
    return group.ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in a group of a global rank.

    Raises:
        ValueError: if it is not in the group.
    """
    return group.rank_of(global_rank)


def get_pg_count() -> int:
    """How many groups this process is in."""
    return len(_World.groups)
