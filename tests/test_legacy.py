"""What programs of 2017 rely on, where printed text does not show it: lifetimes, guards, errors.

The programs themselves are rows of ``compatibility_legacy_*.py``.
"""

import copy
import gc
import threading
import weakref

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.autograd import Variable

pytestmark = [
    pytest.mark.filterwarnings("ignore:volatile"),
    pytest.mark.filterwarnings("ignore:.* before the last operands is deprecated"),
]


class MyReLU(torch.autograd.Function):
    def forward(self, input):
        self.save_for_backward(input)
        return input.clamp(min=0)

    def backward(self, grad_output):
        (input,) = self.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


class Keeper(torch.autograd.Function):
    """Keeps its input and its output as attributes."""

    def forward(self, input):
        self.input = input
        self.output = input.exp()
        self.save_for_backward(self.output)
        return self.output

    def backward(self, grad_output):
        return grad_output * self.saved_tensors[0]


def leaf(*values):
    return Variable(torch.FloatTensor(values), requires_grad=True)


class TestInstances:
    def test_no_warning_is_given(self, recwarn):
        MyReLU()(leaf(1.0))
        assert not recwarn.list

    def test_the_node_is_named_after_the_function(self):
        y = MyReLU()(leaf(1.0))
        assert y.grad_fn.name() == "MyReLUBackward"
        assert y.creator is y.grad_fn

    def test_the_graph_dies_without_the_collector(self):
        x = leaf(1.0, 2.0)
        gc.disable()
        try:
            y = Keeper()(x)
            node = weakref.ref(y.grad_fn)
            y.backward(torch.ones(2))
            del y
            assert node() is None
        finally:
            gc.enable()
        np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0]), rtol=1e-6)

    def test_an_instance_outlives_its_graph(self):
        function = MyReLU()
        function(leaf(1.0))
        with pytest.raises(RuntimeError, match="freed"):
            function.saved_tensors  # noqa: B018 - the property raises
        with pytest.raises(RuntimeError, match=r"called before.*MyReLU\.apply"):
            function(leaf(1.0))

    def test_nothing_is_recorded_without_need(self):
        assert MyReLU()(torch.ones(2)).grad_fn is None
        with torch.no_grad():
            assert not MyReLU()(leaf(1.0)).requires_grad

    def test_an_error_in_forward_restores_recording(self):
        class Broken(torch.autograd.Function):
            def forward(self, input):
                raise ValueError("broken")

        with pytest.raises(ValueError, match="broken"):
            Broken()(leaf(1.0))
        assert torch.is_grad_enabled()

    def test_keywords_are_refused(self):
        with pytest.raises(TypeError, match="input"):
            MyReLU()(input=leaf(1.0))

    def test_the_gradient_says_that_it_has_none(self):
        x = leaf(1.0)
        (first,) = torch.autograd.grad(Keeper()(x).sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match=r"gradient of Keeper has no gradient.*apply"):
            first.sum().backward()

    def test_hooks_and_apply_work_as_for_other_functions(self):
        x = leaf(1.0, -1.0)
        y = MyReLU()(x)
        seen = []
        y.register_hook(seen.append)
        y.sum().backward()
        assert seen[0].tolist() == [1.0, 1.0]
        assert x.grad.tolist() == [1.0, 0.0]

    def test_an_input_that_is_returned_becomes_a_view(self):
        class Same(torch.autograd.Function):
            def forward(self, input):
                return input

            def backward(self, grad_output):
                return grad_output * 3

        h = leaf(1.0) * 1
        y = Same()(h)
        assert y is not h
        assert y.data_ptr() == h.data_ptr()
        with pytest.raises(RuntimeError, match="inside a custom Function"):
            y.add_(1)

    def test_a_view_that_is_returned_may_not_be_written(self):
        class Flat(torch.autograd.Function):
            def forward(self, input):
                return input.view(-1)

            def backward(self, grad_output):
                return grad_output.view(1, 2)

        y = Flat()(Variable(torch.ones(1, 2), requires_grad=True) * 1)
        with pytest.raises(RuntimeError, match="inside a custom Function"):
            y.add_(1)

    def test_a_subclass_inherits_the_form(self):
        class Doubled(MyReLU):
            def backward(self, grad_output):
                return super().backward(grad_output) * 2

        x = leaf(1.0, -1.0)
        Doubled()(x).sum().backward()
        assert x.grad.tolist() == [2.0, 0.0]


class TestVolatile:
    def test_the_guard_changes_no_names(self):
        before = torch.Tensor.mm, torch.mm, torch.Tensor.shape
        Variable(torch.ones(1), volatile=True)
        assert before == (torch.Tensor.mm, torch.mm, torch.Tensor.shape)
        assert torch.mm.__name__ == "mm"
        assert (leaf(1.0) * 2).requires_grad

    @pytest.mark.parametrize(
        "call",
        [
            lambda v, w: v + w,
            lambda v, w: w - v,
            lambda v, w: 2 * v * w,
            lambda v, w: torch.mul(input=w, other=v),
            lambda v, w: torch.stack([w, v])[1],
            lambda v, w: torch.where(w > 0, w, v),
            lambda v, w: (v.view(1, 2).mm(w.view(2, 1)) ** 2).sum(),
            lambda v, w: torch.nn.functional.linear(v.view(1, 2), w.view(1, 2)),
            lambda v, w: v[0] * w[1],
            lambda v, w: v.t() * w,
            lambda v, w: v.detach() * w,
            lambda v, w: v.unsqueeze(0).mT.sum() * w,
            lambda v, w: MyReLU()(v) * w,
            lambda v, w: copy.deepcopy(v) * w,
            lambda v, w: torch.max(v.view(1, 2) * w, 1)[0],
        ],
    )
    def test_what_it_touches_is_not_recorded(self, call):
        v = Variable(torch.ones(2), volatile=True)
        w = leaf(2.0, 3.0)
        result = call(v, w)
        assert result.volatile
        assert not result.requires_grad
        assert result.grad_fn is None
        assert not w.volatile

    def test_the_flag_warns(self):
        x = torch.ones(2)
        with pytest.warns(UserWarning, match="volatile is what torch had before 0.4"):
            assert not x.volatile
        with pytest.warns(UserWarning, match="no_grad"):
            x.volatile = True

    def test_data_is_not_volatile(self):
        v = Variable(torch.ones(2), volatile=True)
        assert not v.data.volatile
        assert (v.data * leaf(1.0, 1.0)).requires_grad

    def test_writing_keeps_it(self):
        v = Variable(torch.ones(2), volatile=True)
        v.add_(leaf(1.0, 2.0))
        v *= leaf(2.0, 2.0)
        assert v.volatile
        assert v.tolist() == [4.0, 6.0]

    def test_the_flag_can_be_set(self):
        x = torch.ones(2)
        x.volatile = True
        assert not (x * leaf(1.0, 1.0)).requires_grad
        x.volatile = False
        assert (x * leaf(1.0, 1.0)).requires_grad
        with pytest.raises(ValueError, match="volatile and require_grad"):
            leaf(1.0).volatile = True

    def test_recording_is_as_before_after_an_error(self):
        v = Variable(torch.ones(2), volatile=True)
        with pytest.raises(RuntimeError):
            v.mm(v)
        assert torch.is_grad_enabled()

    def test_other_threads_record(self):
        v = Variable(torch.ones(2), volatile=True)
        results = []

        def work():
            results.append((leaf(1.0) * 2).requires_grad)
            results.append((v * leaf(1.0, 1.0)).requires_grad)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert results == [True, False]


class TestVariable:
    def test_without_data(self):
        assert Variable().shape == (0,)

    def test_of_a_parameter(self):
        p = torch.nn.Parameter(torch.ones(2))
        assert isinstance(p, Variable)
        assert not Variable(p).requires_grad

    def test_register_grad_is_no_attribute(self):
        assert not hasattr(torch.ones(1), "register_grad")
        with pytest.raises(AttributeError, match="register_post_accumulate_grad_hook"):
            getattr(torch.ones(1), "register_" + "grad")


class TestOlderSignatures:
    def test_retain_variables_stood_where_inputs_stand(self):
        x = leaf(3.0)
        y = (x * x).sum()
        y.backward(None, False, False, True)
        y.backward(torch.tensor(1.0), None, None, True)
        y.backward(None, True, False, False)
        assert x.grad.tolist() == [18.0]
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()

    def test_an_output_by_position_is_resized(self):
        result = torch.Tensor()
        assert torch.add(torch.ones(2), torch.ones(2), result) is result
        assert torch.sub(torch.ones(2), 2, torch.ones(2), result) is result
        assert result.tolist() == [-1.0, -1.0]

    def test_scalars_in_the_middle_are_differentiated(self):
        a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
        torch.add(a, 2, b).sum().backward()
        assert (a.grad.tolist(), b.grad.tolist()) == ([1.0, 1.0], [2.0, 2.0])

    def test_a_tensor_without_dimensions_is_such_a_scalar(self):
        a, b, factor = torch.ones(2), torch.full((2,), 3.0), torch.tensor(2.0)
        assert torch.add(a, factor, b).tolist() == [7.0, 7.0]
        assert torch.addcmul(a, factor, b, b).tolist() == [19.0, 19.0]
        assert a.add_(-factor * factor, b) is a and a.tolist() == [-11.0, -11.0]
        with pytest.raises(TypeError):  # a number has no gradient
            a.add_(factor.requires_grad_(), b)

    def test_a_scalar_in_the_middle_warns(self):
        with pytest.warns(UserWarning, match=r"pass them by keyword: addcdiv_\(..., value=-0.5\)"):
            torch.ones(2).addcdiv_(-0.5, torch.ones(2), torch.ones(2))

    @pytest.mark.parametrize(
        "call",
        [
            lambda a: torch.add(a, a, 2),
            lambda a: torch.add(a, 2, 3),
            lambda a: torch.add(a, a, a, a),
            lambda a: a.add_(a, a),
            lambda a: a.addcmul_(2, a, 3),
        ],
    )
    def test_other_positions_are_refused(self, call):
        with pytest.raises(TypeError):
            call(torch.ones(2))

    def test_an_old_adam_step(self):
        """The update as optimizers of 2017 spelled it."""
        p, grad = torch.ones(3), torch.FloatTensor([1, 2, 3])
        average, square = torch.zeros(3), torch.zeros(3)
        average.mul_(0.9).add_(1 - 0.9, grad)
        square.mul_(0.999).addcmul_(1 - 0.999, grad, grad)
        p.addcdiv_(-0.1, average, square.sqrt().add_(1e-8))
        np.testing.assert_allclose(p.numpy(), np.full(3, 1 - 0.1 * 0.1 / 0.001**0.5), rtol=1e-5)

    def test_only_data_without_dimensions_has_a_number_at_0(self):
        loss = leaf(1.0, 2.0).sum()
        assert loss.data[0] == 3.0
        assert type(loss.data[0]) is float
        for refused in (lambda: loss[0], lambda: loss.data[1], lambda: loss.detach()[0]):
            with pytest.raises(IndexError, match="0-dim"):
                refused()


class TestTypes:
    def test_types_of_a_gpu_that_is_not_there(self):
        for name in ("Float", "Double", "Half", "Long", "Int", "Short", "Char", "Byte", "Bool"):
            kind = getattr(torch.cuda, f"{name}Tensor")
            assert kind.is_cuda
            assert kind.__name__ == f"{name}Tensor"
            with pytest.raises(TypeError, match=rf"torch\.cuda\.{name}Tensor not available"):
                kind([1])
            with pytest.raises(AssertionError, match="not compiled with CUDA"):
                torch.ones(1).type(kind)
            with pytest.raises(AssertionError, match="not compiled with CUDA"):
                torch.ones(1).type(f"torch.cuda.{name}Tensor")

    def test_a_type_made_from_a_tensor_shares_its_memory(self):
        x = torch.ones(2)
        torch.FloatTensor(x).zero_()
        assert x.tolist() == [0.0, 0.0]
        with pytest.raises(TypeError, match=r"\.to\(dtype\)"):
            torch.LongTensor(x)

    def test_sizes_may_be_integers_of_numpy(self):
        assert torch.Tensor(np.int64(3)).shape == (3,)
        assert torch.LongTensor(np.int32(2), 3).shape == (2, 3)

    @pytest.mark.parametrize("data", [None, 1.5, {}, np.float32(3)])
    def test_other_data_is_refused(self, data):
        with pytest.raises(TypeError, match="data must be a sequence"):
            torch.FloatTensor(data)

    def test_keywords(self):
        assert torch.FloatTensor([1], device="cpu").tolist() == [1.0]
        assert torch.ones(1).long().type(torch.Tensor).dtype is torch.float32
        with pytest.raises(AssertionError, match="not compiled with CUDA"):
            torch.Tensor(2, device="cuda")
        with pytest.raises(TypeError, match="dtype"):
            torch.Tensor([1], dtype=torch.int)
