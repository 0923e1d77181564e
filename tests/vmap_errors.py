"""Calls under ``vmap`` that raise, each written once for numbagrad and torch.

``test_vmap.py`` holds what the errors say, ``parity/test_vmap.py`` compares them with torch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _rows(t: Any) -> Any:
    return t.arange(6.0).reshape(2, 3)


def _assign(a: Any, key: Any, value: Any) -> Any:
    a[key] = value
    return a


def _custom(t: Any, **attributes: Any) -> Any:
    """A custom Function with these attributes beside forward and backward."""
    members = {
        "forward": staticmethod(lambda a: a * 2),
        "setup_context": staticmethod(lambda ctx, inputs, output: None),
        "backward": staticmethod(lambda ctx, grad: grad * 2),
        **attributes,
    }
    return type("Double", (t.autograd.Function,), members)


#: By name: a call that raises, and a part of the text.
ERRORS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "no inputs": (lambda t, vmap: vmap(lambda a: a)(), "got no inputs"),
    "structure of in_dims": (
        lambda t, vmap: vmap(lambda a: a[0], in_dims=([0],))((_rows(t),)),
        "in_dims is not compatible with the structure of `inputs`",
    ),
    "in_dims of a dict": (
        lambda t, vmap: vmap(lambda a: a, in_dims={"a": 0})(_rows(t)), "expected `in_dims` to be"
    ),
    "structure of out_dims": (
        lambda t, vmap: vmap(lambda a: (a, {"b": a}), out_dims=(0, {"b": 1, "c": 0}))(_rows(t)),
        "out_dims is not compatible with the structure of `outputs`",
    ),
    "in_dim of a float": (
        lambda t, vmap: vmap(lambda a: a, in_dims=(1.5,))(_rows(t)), "Got in_dim=1.5"
    ),
    "in_dim out of range": (
        lambda t, vmap: vmap(lambda a: a, in_dims=3)(_rows(t)), "-2 <= in_dim < 2"
    ),
    "in_dim of a number": (
        lambda t, vmap: vmap(lambda a: a, in_dims=(0,))(3), "We cannot vmap over non-Tensor"
    ),
    "nothing mapped": (
        lambda t, vmap: vmap(lambda a: a, in_dims=(None,))(3), "at least one Tensor to vmap over"
    ),
    "sizes that differ": (
        lambda t, vmap: vmap(lambda a, b: a)(_rows(t), _rows(t).T), r"got sizes \[2, 3\]"
    ),
    "out_dims of text": (
        lambda t, vmap: vmap(lambda a: a, out_dims="a")(_rows(t)), "`out_dims` must be an int"
    ),
    "out_dim out of range": (
        lambda t, vmap: vmap(lambda a: a, out_dims=5)(_rows(t)), "Dimension out of range"
    ),
    "a result without out_dim": (
        lambda t, vmap: vmap(lambda a: a, out_dims=None)(_rows(t)),
        "can not return a BatchedTensor when out_dim is None",
    ),
    "a number returned": (lambda t, vmap: vmap(lambda a: 3)(_rows(t)), "must only return Tensors"),
    "nothing returned": (
        lambda t, vmap: vmap(lambda a: None)(_rows(t)), "must only return Tensors"
    ),
    "unknown randomness": (
        lambda t, vmap: vmap(lambda a: a, randomness="x")(_rows(t)), "Only allowed values"
    ),
    "no chunk": (lambda t, vmap: vmap(lambda a: a, chunk_size=0)(_rows(t)), "greater than 0"),
    "item": (lambda t, vmap: vmap(lambda a: a.item())(_rows(t)[:, 0]), r"calling \.item\(\)"),
    "float": (lambda t, vmap: vmap(lambda a: float(a))(_rows(t)[:, 0]), r"calling \.item\(\)"),
    "int": (lambda t, vmap: vmap(lambda a: int(a))(_rows(t)[:, 0]), r"calling \.item\(\)"),
    "index": (
        lambda t, vmap: vmap(lambda a: [1, 2, 3][a])(_rows(t)[:, 0].long()), r"calling \.item\(\)"
    ),
    "branch": (
        lambda t, vmap: vmap(lambda a: a if a > 0 else -a)(_rows(t)[:, 0]), "control flow"
    ),
    "numpy": (lambda t, vmap: vmap(lambda a: a.numpy())(_rows(t)), "doesn't have storage"),
    "tolist": (lambda t, vmap: vmap(lambda a: a.tolist())(_rows(t)), "doesn't have storage"),
    "nonzero": (lambda t, vmap: vmap(lambda a: t.nonzero(a))(_rows(t)), "aten::nonzero"),
    "equal": (lambda t, vmap: vmap(lambda a: t.equal(a, a))(_rows(t)), "aten::equal"),
    "allclose": (lambda t, vmap: vmap(lambda a: t.allclose(a, a))(_rows(t)), "torch.allclose"),
    "unique": (lambda t, vmap: vmap(lambda a: t.unique(a))(_rows(t)), "aten::_unique2"),
    "a mask as index": (lambda t, vmap: vmap(lambda a: a[a > 0])(_rows(t)), "boolean mask"),
    "masked_select": (
        lambda t, vmap: vmap(lambda a: t.masked_select(a, a > 0))(_rows(t)), "differently shaped"
    ),
    "one_hot": (
        lambda t, vmap: vmap(lambda a: t.nn.functional.one_hot(a))(_rows(t).long()),
        "explicit positive num_classes",
    ),
    "rand": (lambda t, vmap: vmap(lambda a: t.rand(3) + a)(_rows(t)), "randomness error mode"),
    "rand_like": (
        lambda t, vmap: vmap(lambda a: t.rand_like(a))(_rows(t)), "randomness error mode"
    ),
    "dropout": (
        lambda t, vmap: vmap(lambda a: t.nn.functional.dropout(a))(_rows(t)),
        "randomness error mode",
    ),
    "uniform_": (lambda t, vmap: vmap(lambda a: a.uniform_())(_rows(t)), "randomness error mode"),
    "same bernoulli of samples": (
        lambda t, vmap: vmap(lambda a: t.bernoulli(a / 9), randomness="same")(_rows(t)),
        "same randomness with a batched tensor input",
    ),
    "different numbers in one tensor": (
        lambda t, vmap: vmap(lambda a: t.zeros(3).uniform_() + a, randomness="different")(_rows(t)),
        "different inplace randomness on an unbatched tensor",
    ),
    "samples written into one tensor": (
        lambda t, vmap: vmap(lambda a, b: a.mul_(b), in_dims=(None, 0))(t.ones(3), _rows(t)),
        "vmap: inplace arithmetic",
    ),
    "samples copied into one tensor": (
        lambda t, vmap: vmap(lambda a, b: a.copy_(b), in_dims=(None, 0))(t.ones(3), _rows(t)),
        "vmap: inplace arithmetic",
    ),
    "samples assigned to a part": (
        lambda t, vmap: vmap(lambda a, b: _assign(a, 0, b), in_dims=(None, 0))(
            t.ones(2, 3), _rows(t)
        ),
        "vmap: inplace arithmetic",
    ),
    "a Function without setup_context": (
        lambda t, vmap: vmap(
            type(
                "Double",
                (t.autograd.Function,),
                {
                    "forward": staticmethod(lambda ctx, a: a * 2),
                    "backward": staticmethod(lambda ctx, grad: grad * 2),
                },
            ).apply
        )(_rows(t)),
        "must override the setup_context staticmethod",
    ),
    "a Function without a rule": (
        lambda t, vmap: vmap(_custom(t).apply)(_rows(t)), "does not have vmap support"
    ),
    "a Function with two rules": (
        lambda t, vmap: vmap(
            _custom(
                t, generate_vmap_rule=True, vmap=staticmethod(lambda info, dims, a: (a, 0))
            ).apply
        )(_rows(t)),
        "both generate_vmap_rule=True and an overridden vmap",
    ),
    "a rule with other dims": (
        lambda t, vmap: vmap(
            _custom(t, vmap=staticmethod(lambda info, dims, a: (a, (0, 0)))).apply
        )(_rows(t)),
        "returned an incompatible",
    ),
}  # fmt: skip


def message(call: Callable[[Any, Any], Any], t: Any, vmap: Any) -> str:
    """Class and text of the error that a call raises."""
    try:
        call(t, vmap)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was raised"
