"""``torch.utils.flop_counter``: arithmetic counted by operator and by module.

Products and convolutions are counted, by the operators of torch's dispatcher that a mode sees
(``_python_dispatch.py``), two for each multiplication and addition. Other operators count as
nothing, attention by a kernel of the CPU among them, as in torch.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ..ops.aten import OpOverloadPacket, packet_of
from ..tensor import Tensor
from ..warn_once import warn_caller
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map, tree_map_
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Shape = Sequence[int]
Formula = Callable[..., int]

#: Formulas of operators, by the ``OpOverloadPacket``.
flop_registry: dict[Any, Formula] = {}


def get_shape(value: Any) -> Any:
    """The shape of a Tensor; all else as it is."""
    return value.shape if isinstance(value, Tensor) else value


def shape_wrapper(formula: Formula) -> Formula:
    """A formula that is given Tensors, for one that is given shapes, the results' as out_shape."""

    @functools.wraps(formula)
    def of_tensors(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        shapes, options, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return formula(*shapes, out_shape=out_shape, **options)

    return of_tensors


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """A decorator: a function counts the calls of operators.

    Args:
        targets: packets such as ``torch.ops.aten.mm``, one or a list of them.
        get_raw: whether the function is given Tensors, and the results as ``out_val``; else their
            shapes, and those of the results as ``out_shape``.

    Raises:
        ValueError: for targets that are no packets.
        RuntimeError: for one that is counted already.
    """

    def register_all(formula: Formula) -> Formula:
        counted = formula if get_raw else shape_wrapper(formula)

        def register(target: Any) -> None:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket "
                    f"(i.e. torch.ops.mylib.foo), got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = counted

        tree_map_(register, targets)
        return counted

    return register_all


# --- products -------------------------------------------------------------------------------------


@register_flop_formula(packet_of("mm"))
def mm_flop(a_shape: Shape, b_shape: Shape, *_: Any, out_shape: Any = None, **__: Any) -> int:
    """Two for each of m · k · n products of elements."""
    (m, k), n = a_shape, b_shape[1]
    return 2 * m * k * n


@register_flop_formula(packet_of("addmm"))
def addmm_flop(
    self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **_: Any
) -> int:
    """The product alone."""
    return 2 * math.prod(a_shape) * b_shape[1]


@register_flop_formula(packet_of("bmm"))
def bmm_flop(a_shape: Shape, b_shape: Shape, out_shape: Any = None, **_: Any) -> int:
    """Two for each of b · m · k · n products of elements."""
    return 2 * math.prod(a_shape) * b_shape[2]


@register_flop_formula(packet_of("baddbmm"))
def baddbmm_flop(
    self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **_: Any
) -> int:
    """The product alone."""
    return 2 * math.prod(a_shape) * b_shape[2]


# --- convolutions ---------------------------------------------------------------------------------


def conv_flop_count(
    x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False
) -> int:
    """Two for each element of the weight, at each place it is put: padding and bias count nothing.

    The places are those of the results (N, C, ...), of the inputs if it is transposed.
    """
    places = math.prod((x_shape if transposed else out_shape)[2:])
    return 2 * x_shape[0] * places * math.prod(w_shape)


@register_flop_formula([packet_of("convolution"), packet_of("_convolution")])
def conv_flop(
    x_shape: Shape, w_shape: Shape, _bias: Any, _stride: Any, _padding: Any, _dilation: Any,
    transposed: bool, *_: Any, out_shape: Any = None, **__: Any,
) -> int:  # fmt: skip
    """``conv_flop_count``."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


def _swapped(shape: Shape) -> list[int]:
    return [shape[1], shape[0], *shape[2:]]


@register_flop_formula(packet_of("convolution_backward"))
def conv_backward_flop(
    grad_out_shape: Shape, x_shape: Shape, w_shape: Shape, _bias: Any, _stride: Any, _padding: Any,
    _dilation: Any, transposed: bool, _output_padding: Any, _groups: Any,
    output_mask: Sequence[bool], out_shape: Any, **_: Any,
) -> int:  # fmt: skip
    """The gradients as convolutions: that of the input with the weight, that of the weight of both.

    With groups the second one counts as if there were none, as in torch.
    """
    total = 0
    if output_mask[0]:
        total += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        grad, input, weight = _swapped(grad_out_shape), _swapped(x_shape), _swapped(out_shape[1])
        if transposed:
            total += conv_flop_count(grad, x_shape, weight, False)
        else:
            total += conv_flop_count(input, grad_out_shape, weight, False)
    return total


# --- attention ------------------------------------------------------------------------------------


def sdpa_flop_count(query_shape: Shape, key_shape: Shape, value_shape: Shape) -> int:
    """The two products of attention: of (b, h, q, d) with (b, h, k, d), and with (b, h, k, v)."""
    b, h, q, d = query_shape
    keys, width = value_shape[-2:]
    return 2 * b * h * q * keys * (d + width)


def sdpa_backward_flop_count(
    grad_out_shape: Shape, query_shape: Shape, key_shape: Shape, value_shape: Shape
) -> int:
    """Five products: the scores again, those for them and for each of the three operands."""
    b, h, q, d = query_shape
    keys, width = value_shape[-2:]
    return 2 * b * h * q * keys * (3 * d + 2 * width)


_KINDS = ("efficient", "flash", "cudnn")


@register_flop_formula([packet_of(f"_scaled_dot_product_{kind}_attention") for kind in _KINDS])
def sdpa_flop(
    query_shape: Shape, key_shape: Shape, value_shape: Shape, *_: Any, out_shape: Any = None,
    **__: Any,
) -> int:  # fmt: skip
    """``sdpa_flop_count``."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


@register_flop_formula(
    [packet_of(f"_scaled_dot_product_{kind}_attention_backward") for kind in _KINDS]
)
def sdpa_backward_flop(
    grad_out_shape: Shape, query_shape: Shape, key_shape: Shape, value_shape: Shape, *_: Any,
    out_shape: Any = None, **__: Any,
) -> int:  # fmt: skip
    """``sdpa_backward_flop_count``."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


# --- the counter ----------------------------------------------------------------------------------

_SUFFIXES = ("", "K", "M", "B", "T")


def get_suffix_str(number: int) -> str:
    """The unit in which a number has two to four digits before the point."""
    return _SUFFIXES[max(0, min(len(_SUFFIXES) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """A number in units of 1, K, M, B or T, with three digits behind the point."""
    return f"{number / 1000 ** _SUFFIXES.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: int, denom: int) -> str:
    """A share as text; 0 % of nothing."""
    return f"{num / denom:.2%}" if denom else "0%"


class FlopCounterMode:
    """A context that counts the arithmetic of products and convolutions, by operator and module.

    Args:
        mods: not used.
        depth: of modules in the table, which is printed at the end.
        display: whether it is.
        custom_mapping: formulas by packet, beside the registered ones.

    Attributes:
        flop_counts: by the name of a module (as ``ModuleTracker`` has them) and by packet.
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth = depth
        self.display = display
        self.mode: _Counting | None = None
        if mods is not None:
            warn_caller("mods argument is not needed anymore, you can stop passing it")
        own = {
            packet: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
            for packet, formula in (custom_mapping or {}).items()
        }
        self.flop_registry = {**flop_registry, **own}
        self.mod_tracker = ModuleTracker()

    def get_total_flops(self) -> int:
        """The sum of all that was counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """The counts by the name of a module and by packet."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text, with modules down to ``depth``.

        Raises:
            ModuleNotFoundError: without the package ``tabulate``.
        """
        tabulate: Any = importlib.import_module("tabulate")
        tabulate.PRESERVE_WHITESPACE = True
        depth = self.depth if depth is None else depth
        names = [
            name
            for name in sorted(self.flop_counts)
            if name != "Global" and (depth is None or name.count(".") < depth)
        ]
        total = self.get_total_flops()
        rows = [row for name in names for row in self._rows(name, name.count("."))]
        subsumed = any([sum(self.flop_counts[name].values()) >= total for name in names])
        if "Global" in self.flop_counts and not subsumed:
            inner = [[f" {first}", *others] for first, *others in rows]
            rows = self._rows("Global", 0) + inner
        return str(
            tabulate.tabulate(
                rows or [["Global", "0", "0%"]],
                headers=["Module", "FLOP", "% Total"],
                colalign=("left", "right", "right"),
            )
        )

    def _rows(self, name: str, depth: int) -> list[list[str]]:
        counts, total = self.flop_counts[name], self.get_total_flops()
        named = [(name, sum(counts.values())), *[(f" - {k}", n) for k, n in counts.items()]]
        return [
            [
                " " * depth + text,
                convert_num_with_suffix(number, get_suffix_str(total)),
                convert_to_percent_str(number, total),
            ]
            for text, number in named
        ]

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counting(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        assert self.mode is not None
        self.mode.__exit__(*exception)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _count_flops(self, packet: Any, out: Any, args: Any, kwargs: Any) -> Any:
        formula = self.flop_registry.get(packet)
        if formula is not None:
            number = formula(*args, **kwargs, out_val=out)
            for name in set(self.mod_tracker.parents):
                self.flop_counts[name][packet] += number
        return out


class _Counting(TorchDispatchMode):
    """The mode of a counter."""

    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        return self.counter._count_flops(func._overloadpacket, func(*args, **kwargs), args, kwargs)
