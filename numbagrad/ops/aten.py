"""The names by which torch's dispatcher knows operators: ``ops.aten.mm.default``.

Policies of selective checkpoints (``utils/checkpoint.py``) are told such names, and compare them.
``name_of`` finds the name of an operator of this package for the arguments of a call. A call of a
name is one of the public function, or of that in ``aten_functions.py``, whose arguments it has.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..tensor import Tensor
from .arguments.check import public_function
from .aten_names import overloads

__all__ = ["OpOverload", "OpOverloadPacket", "name_of", "overload_of", "packet_of", "pending"]


class _Pending(threading.local):
    """The calls of operators that modes of this thread were asked about, the last one at the end.

    A mode computes by calling the operator with the arguments that it was given: then the operator
    of this package runs as it was called, and not the public function for torch's arguments.
    """

    def __init__(self) -> None:
        self._calls: list[tuple[Any, tuple[Any, ...], Callable[[], Any]]] = []

    @contextlib.contextmanager
    def of(
        self, overload: Any, arguments: tuple[Any, ...], compute: Callable[[], Any]
    ) -> Iterator[None]:
        """Let ``overload(*arguments)`` be ``compute()`` in the block."""
        self._calls.append((overload, arguments, compute))
        try:
            yield
        finally:
            self._calls.pop()

    def call(
        self, overload: Any, arguments: tuple[Any, ...], options: dict[str, Any], function: Any
    ) -> Any:
        """The call that is pending, if it is this one; else that of the function."""
        if self._calls:
            known, given, compute = self._calls[-1]
            if known is overload and len(given) == len(arguments):
                if all([x is y for x, y in zip(given, arguments, strict=True)]):
                    return compute()
        return function(*arguments, **options)


pending = _Pending()


class OpOverload:
    """An operator for one kind of arguments. There is one object for each name.

    Attributes:
        overloadpacket: the operator of that name for whatever arguments.
        namespace: ``aten``.
    """

    namespace = "aten"

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = packet
        self._overloadname = overload
        self.__name__ = f"{packet.__name__}.{overload}"

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __copy__(self) -> OpOverload:
        return self

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return pending.call(self, arguments, options, self.overloadpacket)

    @property
    def _overloadpacket(self) -> OpOverloadPacket:
        return self.overloadpacket

    def decompose(self, *arguments: Any, **options: Any) -> Any:
        """NotImplemented: what modes are told of is not composed of others."""
        return NotImplemented

    def name(self) -> str:
        """The name in schemas: ``aten::mm``, ``aten::sum.dim_IntList``."""
        overload = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"aten::{self.overloadpacket.__name__}{overload}"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        packet = self.overloadpacket
        return f"<OpOverload(op='{packet}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """All overloads of an operator; each is an attribute."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def overloads(self) -> list[str]:
        """The names of the overloads, without those that write into ``out``."""
        return sorted(_overloads_of(self.__name__))

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):  # of an instance without a name too, which copies begin with
            raise AttributeError(name)
        if name not in _overloads_of(self.__name__):
            raise AttributeError(
                f"'{self}' has no overload '{name}'; there are {', '.join(self.overloads())}"
            )
        overload = OpOverload(self, name)
        setattr(self, name, overload)
        return overload

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    def __copy__(self) -> OpOverloadPacket:
        return self

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return _function(self.__name__)(*arguments, **options)

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


def _overloads_of(name: str) -> frozenset[str]:
    """The overloads that torch has, and those that ``name_of`` finds."""
    return overloads(name) | _OVERLOADS.get(name, set())


def _is_tensor(arguments: tuple[Any, ...], position: int) -> bool:
    return isinstance(arguments[position], Tensor)


def _other(tensor: str, number: str) -> Callable[[tuple[Any, ...]], str]:
    """The overload by whether the second operand is a Tensor."""
    return lambda arguments: tensor if _is_tensor(arguments, 1) else number


def _dims(all_of_them: str, some: str) -> Callable[[tuple[Any, ...]], str]:
    """The overload by whether all dimensions are reduced: the second argument is a mask then."""
    return lambda arguments: all_of_them if arguments[1] == -1 else some


Rule = Callable[[tuple[Any, ...]], tuple[str, str]]

#: Operators that bear another name than torch's, or have an overload that follows from arguments.
_RULES: dict[str, Rule] = {}
#: By name: what ``name_of`` may find, and the overloads of views, which it is not asked about.
_OVERLOADS: dict[str, set[str]] = {}


def _rule(
    name: str,
    to: str = "",
    overload: Callable[[tuple[Any, ...]], str] | str = "default",
    overloads: Iterable[str] = (),
) -> None:
    """``name`` is torch's ``to``; of a computed overload all ``overloads`` are given."""
    to = to or name
    if isinstance(overload, str):
        _RULES[name] = lambda arguments: (to, overload)
        overloads = (overload,)
    else:
        _RULES[name] = lambda arguments: (to, overload(arguments))
    _OVERLOADS.setdefault(to, set()).update(overloads)


def _subtraction(arguments: tuple[Any, ...]) -> tuple[str, str]:
    """A number minus a Tensor is an operator of its own."""
    return ("sub", "Tensor") if _is_tensor(arguments, 0) else ("rsub", "Scalar")


def _product_of_stacks(arguments: tuple[Any, ...]) -> tuple[str, str]:
    """torch folds a stack times a matrix into one product of matrices."""
    a, b = [argument._array.ndim for argument in arguments]
    if b == 1 or a == 1:
        return "mv", "default"
    return ("mm" if b == 2 else "bmm"), "default"


def _pooling(name: str) -> Callable[[tuple[Any, ...]], tuple[str, str]]:
    """The name of a pooling over one, two or three dimensions behind samples and channels."""
    return lambda arguments: (name.format(arguments[0]._array.ndim - 2), "default")


for _name in ("add", "mul", "div"):
    _rule(_name, overload="Tensor")
_rule("add_scaled", "add", "Tensor")
_rule("rdiv", "mul", "Tensor")
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "fmod", "remainder", "bitwise_and", "bitwise_or",
              "bitwise_xor"):  # fmt: skip
    _rule(_name, overload=_other("Tensor", "Scalar"), overloads=("Tensor", "Scalar"))
for _name in ("bitwise_left_shift", "bitwise_right_shift"):
    _rule(_name, overload=_other("Tensor", "Tensor_Scalar"), overloads=("Tensor", "Tensor_Scalar"))
for _name in ("copysign", "xlogy"):
    _rule(_name, overload="Tensor")
_RULES["sub"] = _RULES["sub_scaled"] = _subtraction
_rule("rsub", "rsub", "Scalar")
_OVERLOADS["sub"] = {"Tensor"}
_rule("div_floor", "div", "Tensor_mode")
_rule("div_trunc", "div", "Tensor_mode")
_rule("pow", "pow", "Tensor_Tensor")
for _name in ("pow_scalar", "pow_2", "pow_3", "pow_half", "pow_minus_1", "pow_minus_2",
              "pow_minus_half"):  # fmt: skip
    _rule(_name, "pow", "Tensor_Scalar")
_rule("rpow", "pow", "Scalar")
for _name in ("clamp", "clamp_min", "clamp_max"):
    _rule(_name)
    _rule(f"{_name}_tensor", _name, "Tensor")
_rule("where", overload="self")
_rule("gelu_tanh", "gelu")
_rule("logit_clamped", "logit")
_rule("log_sigmoid", "log_sigmoid_forward")
_rule("prelu", "_prelu_kernel")
_rule("polygamma_1", "polygamma")
_rule("polygamma_2", "polygamma")
_rule("binary_cross_entropy_with_logits_weighted", "binary_cross_entropy_with_logits")
_rule("masked_fill", overload="Scalar")
_rule("lerp", overload="Scalar")

_rule("sum", overload=_dims("default", "dim_IntList"), overloads=("default", "dim_IntList"))
_rule("mean", overload=_dims("default", "dim"), overloads=("default", "dim"))
for _name in ("any", "all"):
    _rule(_name, overload=_dims("default", "dim"), overloads=("default", "dim"))
for _name in ("var", "std", "var_mean", "std_mean"):
    _rule(_name, overload="correction")
for _name in ("max", "min", "median", "nanmedian"):
    _rule(_name, overload=lambda arguments: "dim" if len(arguments) > 2 else "default",
          overloads=("default", "dim"))  # fmt: skip

_RULES["matmul"] = _product_of_stacks
_rule("index", overload="Tensor")
_rule("index_fill", overload="int_Scalar")
_rule("scatter", overload=lambda arguments: "src" if _is_tensor(arguments, 3) else "value",
      overloads=("src", "value"))  # fmt: skip
_rule("scatter_reduce", overload="two")
_rule("softmax", "_softmax")
_rule("log_softmax", "_log_softmax")
_rule("to_copy", "_to_copy")
_rule("unsafe_view", "_unsafe_view")
_rule("nll_elements", "nll_loss_forward")
_rule("nll_total", "nll_loss_forward")
_rule("cdist", "_cdist_forward")
_RULES["max_pool"] = _pooling("max_pool{}d_with_indices")
_RULES["avg_pool"] = _pooling("avg_pool{}d")
_RULES["adaptive_max_pool"] = _pooling("adaptive_max_pool{}d")
for _dimensions in (1, 2, 3):  # the values, at places that the operator before has found
    _rule(f"MaxPool{_dimensions}DWithIndices", "gather")
    _rule(f"AdaptiveMaxPool{_dimensions}D", "gather")
for _name in ("max_pool{}d_with_indices", "avg_pool{}d", "adaptive_max_pool{}d"):
    for _dimensions in (1, 2, 3):
        _OVERLOADS[_name.format(_dimensions)] = {"default"}

_rule("layer_norm", "native_layer_norm")
_rule("group_norm", "native_group_norm")
_rule("rms_norm", "_fused_rms_norm")
_rule("_standardised_by_batch", "native_batch_norm")
_rule("_by_channels", "native_batch_norm")
_rule("_cross_entropy", "cross_entropy_loss")
_rule("mul_backward", "mul", "Tensor")
_rule("relu_backward", "threshold_backward")
_rule("transposed_convolution", "convolution")
_rule("softmax_backward_data", "_softmax_backward_data")
_rule("log_softmax_backward_data", "_log_softmax_backward_data")
_rule("lstm_layer", "mkldnn_rnn_layer")
for _name in ("_attention", "scaled_dot_product_attention"):
    _rule(_name, "_scaled_dot_product_flash_attention_for_cpu")

# Names of views: policies that list them need not be changed.
for _name in ("view", "t", "permute", "expand", "unsqueeze", "diagonal", "as_strided", "unfold",
              "alias", "detach", "split_with_sizes", "reshape"):  # fmt: skip
    _OVERLOADS[_name] = {"default"}
_OVERLOADS |= {
    "transpose": {"int"}, "select": {"int"}, "slice": {"Tensor"}, "split": {"Tensor"},
    "unbind": {"int"}, "squeeze": {"default", "dim", "dims"},
}  # fmt: skip


@functools.cache
def packet_of(name: str) -> OpOverloadPacket:
    """``aten.name``, one object for each name."""
    return OpOverloadPacket(name)


def overload_of(name: str, overload: str = "default") -> OpOverload:
    """``aten.name.overload``, whether or not torch has it."""
    if overload not in _overloads_of(name):
        _OVERLOADS.setdefault(name, set()).add(overload)
    made: OpOverload = getattr(packet_of(name), overload)
    return made


def name_of(operator: Any, arguments: tuple[Any, ...]) -> Any:
    """The operator that policies are told of: an ``OpOverload``, or the object that is no name."""
    if not isinstance(operator, str):
        return operator
    rule = _RULES.get(operator)
    if rule is None and operator.endswith("_") and operator[:-1] in _RULES:  # written in place
        name, overload = _RULES[operator[:-1]](arguments)
        return overload_of(f"{name}_", overload)
    name, overload = (operator, "default") if rule is None else rule(arguments)
    return overload_of(name, overload)


#: Functions of ``nn.functional`` whose arguments stand as the dispatcher's.
_LAYERS = frozenset(
    """adaptive_avg_pool2d adaptive_avg_pool3d avg_pool2d avg_pool3d elu gelu glu hardsigmoid
    hardswish hardtanh leaky_relu linear max_pool2d_with_indices max_pool3d_with_indices mish
    one_hot relu6 silu softplus softshrink""".split()
)
#: Rooms of the namespace by the beginnings of names.
_ROOMS = ("special", "linalg", "fft")


@functools.cache
def _found(name: str) -> Any:
    """The function that computes what the dispatcher's ``name`` does, or None."""
    import numbagrad

    from .. import aten_functions

    if name in aten_functions.__all__:
        public = getattr(aten_functions, name)
        return public_function(public, numbagrad.__name__, numbagrad.__name__, name)
    if name in _LAYERS:
        return getattr(numbagrad.nn.functional, name)
    room, _, rest = name.partition("_")
    if room in _ROOMS and hasattr(getattr(numbagrad, room), rest):
        return getattr(getattr(numbagrad, room), rest)
    if not name.endswith("_") and callable(getattr(numbagrad, name, None)):
        return getattr(numbagrad, name)
    method = getattr(Tensor, name, None)
    return method if callable(method) else None


def _function(name: str) -> Any:
    found = _found(name)
    if found is None:
        raise NotImplementedError(
            f"torch.ops.aten.{name} is a name for policies here and cannot be called; use the "
            "public function of torch or torch.nn.functional"
        )
    return found


def _is_known(name: str) -> bool:
    """Whether there is an operator of this name, as far as anybody could ask for it."""
    if _overloads_of(name) or _found(name) is not None:
        return True
    import numbagrad

    return callable(getattr(numbagrad.nn.functional, name, None))


def __getattr__(name: str) -> OpOverloadPacket:
    if name.startswith("__") or not _is_known(name):
        raise AttributeError(f"there is no operator 'aten.{name}'")
    if not _overloads_of(name):
        _OVERLOADS[name] = {"default"}
    return packet_of(name)
