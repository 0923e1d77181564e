"""``DistributedDataParallel``: a module whose gradients are averaged over the ranks of a group."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from ..autograd.grad_mode import state as grad_mode
from ..nn.module import Module
from ..tensor import Tensor
from . import collectives
from .exchange import check_agreement
from .process_group import group_of
from .reducer import Reducer

__all__ = ["DistributedDataParallel"]

_MIB = 1 << 20


class DistributedDataParallel(Module):
    """A module that is trained by several processes, each with its part of a batch.

    Parameters and buffers begin as those of rank 0. Each backward leaves in ``grad`` the mean of
    the gradients of all ranks: with a loss that is a mean over the batch, and parts of one size,
    that is the gradient of the whole batch. Sums of gradients are under way while
    the backward goes on.

    Args:
        module: with at least one parameter that requires grad.
        device_ids, output_device: None, as for all modules of the CPU.
        dim: not used, as in torch for the CPU.
        broadcast_buffers: whether each forward begins with the buffers of rank 0.
        init_sync: whether parameters and buffers begin as those of rank 0.
        process_group: the ranks; all without.
        bucket_cap_mb: size in MiB of the buckets in which gradients are summed, 25 without; the
            first holds 1 MiB.
        find_unused_parameters: whether losses may leave out parameters, not the same on all ranks.
            A compiled function with it runs uncompiled.
        check_reduction: not used, as in torch.
        gradient_as_bucket_view: whether gradients are views of the buckets, which spares a copy.
        static_graph: taken for ``find_unused_parameters=True``; what else torch does for it is
            not needed here.

    Raises:
        ValueError: without a process group.
        RuntimeError: if no parameter requires grad; on every rank, if modules are not of one form.
            In a backward, if parameters have no gradient and ``find_unused_parameters`` is False.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
    ) -> None:
        super().__init__()
        group = group_of(process_group, "DistributedDataParallel")
        if group is None:
            raise ValueError("DistributedDataParallel: this process is not in the group")
        _refuse(device_ids=device_ids, output_device=output_device, mixed_precision=mixed_precision,
                delay_all_reduce_named_params=delay_all_reduce_named_params,
                param_to_hook_all_reduce=param_to_hook_all_reduce,
                device_mesh=device_mesh)  # fmt: skip
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = [(n, p) for n, p in module.named_parameters() if n not in ignored]
        trained = [(name, each) for name, each in named if each.requires_grad]
        if not trained:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters "
                "that require a gradient."
            )
        self.module = module
        self.process_group = group
        self.device_ids, self.output_device, self.dim = None, None, dim
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * _MIB)
        self._ignored = frozenset(ignored)
        buffers = self._buffers_of_module()
        forms = [f"{n}: {collectives.form(each)}" for n, each in (*named, *buffers)]
        check_agreement(group.communicator, f"DistributedDataParallel({', '.join(forms)})")
        if init_sync:
            self._take_from_first([each for _, each in (*named, *buffers)])
        self.reducer = Reducer(
            trained, group, self.bucket_bytes_cap, find_unused_parameters or static_graph,
            gradient_as_bucket_view,
        )  # fmt: skip

    def _buffers_of_module(self) -> list[tuple[str, Tensor]]:
        return [(n, each) for n, each in self.module.named_buffers() if n not in self._ignored]

    def _take_from_first(self, tensors: list[Tensor]) -> None:
        """Write the tensors of rank 0 into those of all ranks, in one exchange a dtype."""
        if self.process_group.size() == 1:
            return
        by_dtype: dict[Any, list[Tensor]] = {}
        for each in tensors:
            by_dtype.setdefault(each.dtype, []).append(each)
        for same in by_dtype.values():
            self._take_together(same)

    def _take_together(self, tensors: list[Tensor]) -> None:
        """Write the tensors of rank 0, of one dtype, into those of all ranks."""
        flat = collectives.joined(tensors)
        collectives.broadcast(flat, group=self.process_group, group_src=0)
        collectives.copied_out(flat, tensors)

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """Call the module."""
        syncs = self.require_backward_grad_sync
        if syncs and self.broadcast_buffers:
            buffers = self._buffers_of_module()
            if buffers:
                self._take_from_first([each for _, each in buffers])
        outputs = self.module(*inputs, **keywords)
        if grad_mode.enabled:
            self.reducer.prepare(syncs, outputs)
        return outputs

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Leave gradients of forwards inside the ``with`` block to the next backward outside."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Have ``hook(state, bucket)`` exchange the gradients of each :class:`GradBucket`.

        Args:
            state: what the hook is given; for hooks of this library a process group or None.
            hook: returns a future of the flat tensor that becomes the gradients; it divides by the
                number of ranks itself.

        Raises:
            TypeError: if it cannot be called.
            RuntimeError: if there is a hook.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook can only be called once.")
        self.reducer.hook = state, hook

    def join(self, *arguments: Any, **keywords: Any) -> NoReturn:
        """Uneven numbers of batches: not there.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "DistributedDataParallel.join() is not available in numbagrad: give all ranks as many "
            "batches, as DistributedSampler does"
        )


def _refuse(**options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise ValueError(
                f"DistributedDataParallel: {name}={value!r} is for modules on other devices, and "
                "for what is not there; tensors of all ranks are on the CPU, so leave it out"
            )
