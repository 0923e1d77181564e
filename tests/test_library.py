"""``torch.library``: operators that users put together, their gradients and names."""

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import library


def _sine():
    @library.custom_op("mine::sine", mutates_args=())
    def sine(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        """A sine."""
        return torch.from_numpy(np.sin(x.numpy())) * scale

    return sine


def test_an_operator_with_a_gradient():
    sine = _sine()
    assert repr(sine) == "<CustomOpDef(mine::sine)>" and sine.__doc__ == "A sine."

    def setup_context(ctx, inputs, output):
        (x, ctx.scale) = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].cos() * ctx.scale, None

    sine.register_autograd(backward, setup_context=setup_context)
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: torch.ops.mine.sine(x, 2.0), (x,))
    assert torch.ops.mine.sine.default(x).equal(sine(x))
    assert not sine(x.detach()).requires_grad


def test_without_a_gradient_backward_says_so():
    x = torch.randn(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="backward through mine::sine but no autograd formula"):
        _sine()(x).sum().backward()


def test_keyword_only_arguments_reach_the_context():
    seen = {}

    @library.custom_op("mine::scaled", mutates_args=())
    def scaled(x: torch.Tensor, *, by: float) -> torch.Tensor:
        return x * by

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        seen.update(keyword_only_inputs)
        ctx.by = keyword_only_inputs["by"]

    scaled.register_autograd(lambda ctx, grad: grad * ctx.by, setup_context=setup_context)
    x = torch.ones(2, requires_grad=True)
    scaled(x, by=3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and seen == {"by": 3.0}


def test_a_library():
    with library._scoped_library("yours", "DEF") as yours:
        yours.define("twice(Tensor x) -> Tensor")
        x = torch.ones(2, requires_grad=True)
        with pytest.raises(NotImplementedError, match="yours::twice: there is no function for"):
            torch.ops.yours.twice(x)
        yours.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
        torch.ops.yours.twice(x).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
        with pytest.raises(NotImplementedError, match="there is no dispatcher with a key 'Sparse'"):
            yours.impl("twice", len, "Sparse")
    assert not hasattr(torch.ops, "yours")


def test_a_function_may_come_before_its_operator():
    torch.library.impl("early::twice", "CPU", lambda x: x * 2)
    torch.library.define("early::twice", "(Tensor x) -> Tensor")
    assert torch.ops.early.twice(torch.ones(2)).tolist() == [2.0, 2.0]


def test_functions_above_and_below_autograd():
    """As spikingjelly registers its neurons: the one above is recorded, and calls the one below."""
    seen = []

    def above(x):
        seen.append("above")
        with torch._C._AutoDispatchBelowAutograd():
            assert not torch.ops.layered.twice(x).requires_grad
        return x * 2

    def below(x):
        seen.append("below")
        return x * 2

    with library._scoped_library("layered", "DEF") as layered:
        layered.define("twice(Tensor x) -> Tensor")
        layered.impl("twice", below, "CPU")
        layered.impl("twice", above, "AutogradCPU")
        x = torch.ones(2, requires_grad=True)
        torch.ops.layered.twice(x).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
        assert seen == ["above", "below"]


def test_what_is_refused():
    with pytest.raises(ValueError, match="'space::name', but got 'sine'"):
        library.custom_op("sine", len, mutates_args=())
    with pytest.raises(RuntimeError, match="there is no operator 'mine::nosuch'"):
        library.register_autograd("mine::nosuch", len)
    with pytest.raises(NotImplementedError, match="operators of 'aten' are those of numbagrad"):
        library.Library("aten", "IMPL")
    with pytest.raises(OSError, match="written in C\\+\\+"):
        torch.ops.load_library("lib.so")


def test_checks_of_programs():
    torch._check(True)
    torch._check_is_size(3, max=4)
    torch._assert_async(torch.tensor(1))
    for check, error in (
        (torch._check, RuntimeError), (torch._check_index, IndexError),
        (torch._check_value, ValueError), (torch._check_type, TypeError),
    ):  # fmt: skip
        with pytest.raises(error, match="the reason"):
            check(False, lambda: "the reason")
    with pytest.raises(RuntimeError, match="single nonzero"):
        torch._assert_async(torch.tensor(0))
    with pytest.raises(AssertionError, match="the reason"):
        torch._assert(False, "the reason")
    assert torch.sym_max(3, 4.5) == 4.5 and torch.sym_min(3, 2) == 2 and torch.sym_int(2.7) == 2
    assert torch._shape_as_tensor(torch.ones(2, 3)).tolist() == [2, 3]
    assert torch.get_device_module() is torch.cpu and torch.torch is torch


def test_states_of_devices():
    from numbagrad.utils import checkpoint

    assert checkpoint.get_device_states(torch.ones(1)) == ([], [])
    checkpoint.set_device_states([], [])
    with pytest.raises(RuntimeError, match="no device but the CPU"):
        checkpoint.set_device_states([0], [torch.ones(1)])
