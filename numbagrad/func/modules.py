"""Modules under transformations: as functions of their parameters, stacked, without averages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ..nn.module import Module
from ..nn.normalization import _BatchNorm
from ..ops.views.join import stack
from ..tensor import Tensor

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]

#: Stands for an attribute that a module does not have.
_ABSENT = object()


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in place of its parameters and buffers.

    Args:
        module: is left as it was.
        parameter_and_buffer_dicts: tensors by their names in the module, or several such dicts.
        args: the arguments of the call, a tuple or a single one.
        kwargs: its keyword arguments.
        tie_weights: use the tensor that is given for one name of a parameter for its other names.
        strict: every parameter and buffer must be given, and nothing else.

    Raises:
        ValueError: if a name is in several dicts, or names of one parameter get different tensors.
        RuntimeError: for what ``strict`` refuses.
    """
    given = _in_one(parameter_and_buffer_dicts)
    wanted = _wanted(module, given, tie_weights, strict)
    replaced: list[tuple[dict[str, Any], str, Any]] = []
    try:
        _replace(module, wanted, replaced)
        return module(*_as_tuple(args), **(kwargs or {}))
    finally:
        updated = _put_back(wanted, replaced)
        if isinstance(parameter_and_buffer_dicts, dict):  # what the module assigned is not lost
            _note_assigned(parameter_and_buffer_dicts, given, updated)


def _wanted(
    module: Module, given: Mapping[str, Tensor], tie_weights: bool, strict: bool
) -> dict[str, Tensor]:
    """The tensors to call a module with, by all of their names."""
    tensors: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
    tensors.update(module.named_buffers(remove_duplicate=False))
    if strict:
        _check_names(module, given, tensors)
    return _tied(given, tensors) if tie_weights else dict(given)


def _replace(
    module: Module,
    wanted: Mapping[str, Tensor],
    replaced: list[tuple[dict[str, Any], str, Any]],
) -> None:
    """Give a module other tensors; adds to ``replaced`` where they are, and what was there."""
    for name, tensor in wanted.items():
        home, last = _home_of(module, name)
        replaced.append((home, last, home.get(last, _ABSENT)))
        home[last] = tensor


def _as_tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else () if args is None else (args,)


def _put_back(
    wanted: Mapping[str, Tensor], replaced: Sequence[tuple[dict[str, Any], str, Any]]
) -> dict[str, Any]:
    """Give a module its own tensors again; returns those that it held until now, by name."""
    homes = zip(wanted, replaced, strict=False)  # fewer, if a name was not found
    updated = {name: home[last] for name, (home, last, _) in homes}
    for home, last, before in reversed(replaced):
        if before is _ABSENT:
            del home[last]
        else:
            home[last] = before
    return updated


def _note_assigned(
    dictionary: dict[str, Any], given: Mapping[str, Tensor], updated: Mapping[str, Any]
) -> None:
    for name in given:
        if name in updated and updated[name] is not given[name]:
            dictionary[name] = updated[name]


def _in_one(given: Any) -> dict[str, Tensor]:
    if isinstance(given, Mapping):
        return dict(given)
    if not isinstance(given, (list, tuple)):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(given)}"
        )
    if not all([isinstance(each, Mapping) for each in given]):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    repeated = [name for name, n in Counter(k for each in given for k in each).items() if n > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {name: tensor for each in given for name, tensor in each.items()}


def _check_names(module: Module, given: Mapping[str, Any], tensors: Mapping[str, Any]) -> None:
    missing = [name for name in tensors if name not in given]
    unexpected = [name for name in given if name not in tensors]
    texts = []
    for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
        if names:
            texts.append(f"{kind} key(s): {', '.join(f'{name!r}' for name in names)}.")
    if texts:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(texts)
        )


def _tied(given: Mapping[str, Tensor], tensors: Mapping[str, Any]) -> dict[str, Tensor]:
    """``given``, with all other names of the same parameters."""
    names_of: dict[int, list[str]] = defaultdict(list)
    for name, tensor in tensors.items():
        names_of[id(tensor)].append(name)
    wanted = dict(given)
    for name, tensor in given.items():
        names = names_of[id(tensors[name])] if name in tensors else []
        for other in names:
            if given.get(other, tensor) is not tensor:
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted(names)}, which are "
                    "tied. Consider using tie_weights=False"
                )
            wanted[other] = tensor
    return wanted


def _home_of(module: Module, name: str) -> tuple[dict[str, Any], str]:
    """The dict of a submodule that holds a parameter or buffer, and its key.

    What is neither becomes an attribute during the call, as in torch.
    """
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    for home in (owner._parameters, owner._buffers):
        if last in home:
            return home, last
    return owner.__dict__, last


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Take the running averages out of every batch norm of a module, in place; ``root`` again.

    Samples of a ``vmap`` cannot share averages that each of them would write.
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.track_running_stats = False
            module.running_mean = module.running_var = module.num_batches_tracked = None
    return root


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and buffers of equal modules, stacked along a new first dimension, for ``vmap``.

    Returns:
        The parameters, which require grad, and the buffers, by name.

    Raises:
        RuntimeError: without a module, or if they differ in class or in training mode.
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return (
        {name: _stacked(name, [each[name] for each in parameters]) for name in parameters[0]},
        {name: _stacked(name, [each[name] for each in buffers]) for name in buffers[0]},
    )


def _stacked(name: str, tensors: list[Tensor]) -> Tensor:
    """The tensors as one of their own, a leaf as they were.

    Raises:
        RuntimeError: if only some of them require grad.
    """
    if len({x.requires_grad for x in tensors}) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return stack([x.detach() for x in tensors]).requires_grad_(tensors[0].requires_grad)
