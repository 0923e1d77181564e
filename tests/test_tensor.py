"""The Tensor itself: what describes it, its flags, conversion, and the ways to Python and NumPy.

Expected texts are what torch 2.13 gave for the same expressions, written out.
"""

import copy
import gc
import math
import pickle
import warnings
import weakref

import numpy as np
import pytest

import numbagrad as torch


def evaluate(expression):
    return eval(expression, {"torch": torch, "np": np})


@pytest.mark.parametrize(
    "expression, text",
    [
        ("torch.ones(2, 3).shape", "torch.Size([2, 3])"),
        ("torch.ones(2, 3).size(-1)", "3"),
        ("torch.ones(2, 3).stride()", "(3, 1)"),
        ("torch.ones(2, 3).stride(0)", "3"),
        ("torch.ones(2, 3).dim(), torch.ones(2, 3).ndimension(), torch.ones(2, 3).ndim",
         "(2, 2, 2)"),
        ("torch.ones(2, 3).numel(), torch.ones(2, 3).nelement()", "(6, 6)"),
        ("torch.ones(2).element_size(), torch.ones(2).itemsize, torch.ones(2).nbytes", "(4, 4, 8)"),
        ("torch.ones(2).dtype", "torch.float32"),
        ("torch.ones(2).device", "device(type='cpu')"),
        ("torch.ones(2).layout", "torch.strided"),
        ("torch.ones(2).is_cuda, torch.ones(2).is_cpu, torch.ones(2).is_sparse",
         "(False, True, False)"),
        ("torch.ones(2).get_device()", "-1"),
        ("torch.ones(2).is_contiguous(), torch.ones(2, 3).t().is_contiguous()", "(True, False)"),
        ("torch.ones(2).is_floating_point(), torch.tensor(1).is_floating_point()", "(True, False)"),
        ("torch.ones(2).is_signed(), torch.tensor(True).is_signed()", "(True, False)"),
        ("torch.ones(2).is_complex()", "False"),
        ("torch.ones(2).is_leaf, torch.ones(2).output_nr, torch.ones(2)._version", "(True, 0, 0)"),
        ("torch.ones(2).type()", "'torch.FloatTensor'"),
        ("torch.ones(2).untyped_storage().nbytes()", "8"),
        ("torch.zeros(0).data_ptr()", "0"),
        # printing
        ("torch.ones(2, requires_grad=True)", "tensor([1., 1.], requires_grad=True)"),
        ("torch.ones(2, requires_grad=True) * 2", "tensor([2., 2.], grad_fn=<MulBackward0>)"),
        ("f'{torch.tensor(1.5):.3f}'", "'1.500'"),
        ("f'{torch.ones(2)}'", "'tensor([1., 1.])'"),
        # to Python
        ("torch.tensor(1.5).item(), torch.tensor([[True]]).item()", "(1.5, True)"),
        ("torch.tensor([[1, 2], [3, 4]]).tolist(), torch.tensor(3).tolist()",
         "([[1, 2], [3, 4]], 3)"),
        ("int(torch.tensor(2.7)), float(torch.tensor(2)), complex(torch.tensor(2.0))",
         "(2, 2.0, (2+0j))"),
        ("bool(torch.tensor([0.0])), bool(torch.tensor(2))", "(False, True)"),
        ("[1, 2, 3][torch.tensor([1])], [1, 2, 3][torch.tensor(True)]", "(2, 2)"),
        ("len(torch.ones(2, 3))", "2"),
        ("1 in torch.tensor([1, 2]), torch.tensor(3) in torch.tensor([1, 2])", "(True, False)"),
        ("list(torch.arange(2))", "[tensor(0), tensor(1)]"),
        ("reversed(torch.arange(3))", "tensor([2, 1, 0])"),
        ("torch.ones(2) == None, torch.ones(2) != 'a'", "(False, True)"),
        # NumPy
        ("torch.ones(2).numpy()", "array([1., 1.], dtype=float32)"),
        ("torch.ones(2, requires_grad=True).numpy(force=True)", "array([1., 1.], dtype=float32)"),
        ("np.array(torch.ones(2), dtype=np.int64)", "array([1, 1])"),
        ("np.sin(torch.zeros(2))", "tensor([0., 0.])"),
        ("np.float64(1) + torch.ones(2)", "tensor([2., 2.])"),
        ("torch.ones(2) * np.ones(2)", "tensor([1., 1.], dtype=torch.float64)"),
        # conversion
        ("torch.tensor([1.5, -2.7, 0.0]).bool()", "tensor([ True,  True, False])"),
        ("torch.tensor([1.5, -2.7]).int()", "tensor([ 1, -2], dtype=torch.int32)"),
        ("torch.tensor([1.5, -2.7]).byte()", "tensor([  1, 254], dtype=torch.uint8)"),
        ("torch.tensor([300, -2]).char()", "tensor([44, -2], dtype=torch.int8)"),
        ("torch.tensor([70000, -2]).short()", "tensor([4464,   -2], dtype=torch.int16)"),
        ("torch.tensor([1e6, 1.0001]).half()", "tensor([inf, 1.], dtype=torch.float16)"),
        ("torch.tensor([True, False]).float()", "tensor([1., 0.])"),
        ("torch.tensor([1.5]).half().long()", "tensor([1])"),
        ("torch.tensor([1]).type_as(torch.ones(1))", "tensor([1.])"),
        ("torch.tensor([1]).to_dense(), torch.tensor([1]).to_dense(torch.float32)",
         "(tensor([1]), tensor([1.]))"),
        ("torch.ones(1).type('torch.DoubleTensor')", "tensor([1.], dtype=torch.float64)"),
        ("torch.ones(1).type(torch.LongTensor)", "tensor([1])"),
        ("torch.ones(1).to('cpu', torch.int64)", "tensor([1])"),
        ("torch.ones(1).to(torch.zeros(1, dtype=torch.int8))", "tensor([1], dtype=torch.int8)"),
        ("torch.ones(1).to(device='cpu', dtype=torch.bool)", "tensor([True])"),
        ("torch.ones(1, requires_grad=True).double()",
         "tensor([1.], dtype=torch.float64, grad_fn=<ToCopyBackward0>)"),
        ("torch.ones(1, requires_grad=True).long()", "tensor([1])"),
    ],
)  # fmt: skip
def test_said(expression, text):
    assert repr(evaluate(expression)) == text


_REQUIRES_GRAD = "Can't call numpy() on Tensor that requires grad."


@pytest.mark.parametrize(
    "expression, error, text",
    [
        ("int(torch.tensor([1, 2]))", ValueError,
         "only one element tensors can be converted to Python scalars"),
        ("bool(torch.tensor([1, 2]))", RuntimeError,
         "Boolean value of Tensor with more than one value is ambiguous"),
        ("bool(torch.tensor([]))", RuntimeError,
         "Boolean value of Tensor with no values is ambiguous"),
        ("torch.tensor([1, 2]).item()", RuntimeError,
         "a Tensor with 2 elements cannot be converted to Scalar"),
        ("[1, 2][torch.tensor(1.0)]", TypeError,
         "only integer tensors of a single element can be converted to an index"),
        ("len(torch.tensor(1))", TypeError, "len() of a 0-d tensor"),
        ("list(torch.tensor(1))", TypeError, "iteration over a 0-d tensor"),
        ("'a' in torch.tensor([1, 2])", RuntimeError, "only supports Tensor or scalar"),
        ("torch.ones(2, requires_grad=True).numpy()", RuntimeError, _REQUIRES_GRAD),
        ("np.asarray(torch.ones(2, requires_grad=True))", RuntimeError, _REQUIRES_GRAD),
        ("f'{torch.ones(2):.3f}'", TypeError,
         "unsupported format string passed to Tensor.__format__"),
        ("torch.ones(2, 3).size(5)", IndexError,
         "Dimension out of range (expected to be in range of [-2, 1], but got 5)"),
        ("torch.ones(2) + 'a'", TypeError, "unsupported operand type(s) for +"),
        ("torch.ones(2) < None", TypeError, "not supported between instances"),
        ("torch.tensor([1]).requires_grad_()", RuntimeError,
         "only Tensors of floating point"),
        ("(torch.ones(1, requires_grad=True) * 2).requires_grad_(False)", RuntimeError,
         "you can only change requires_grad flags of leaf variables."),
        ("setattr(torch.ones(2), 'grad', 3)", TypeError,
         "assigned grad expected to be a Tensor or None but got grad of type int"),
        ("setattr(torch.ones(2), 'grad', torch.ones(3))", RuntimeError,
         "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'."),
        ("setattr(torch.ones(2), 'grad', torch.ones(2).double())", RuntimeError,
         "attempting to assign a gradient with dtype"),
        ("(lambda t: setattr(t, 'grad', t))(torch.ones(2))", RuntimeError,
         "can't assign Variable as its own grad"),
        ("setattr(torch.ones(2), 'data', 3)", TypeError,
         "Variable data has to be a tensor, but got int"),
        ("setattr(torch.ones(2, requires_grad=True), 'data', torch.tensor(1))", RuntimeError,
         "data set to a tensor that requires gradients must be floating point"),
        ("setattr(torch.ones(2), 'shape', 3)", AttributeError, "shape"),
        ("torch.ones(2, requires_grad=True).t().detach_()", RuntimeError,
         "Can't detach views in-place. Use detach() instead."),
        ("torch.ones(2).unknown", AttributeError, "'Tensor' object has no attribute 'unknown'"),
        ("torch.ones(2).cuda()", AssertionError, "Torch not compiled with CUDA enabled"),
        ("torch.ones(2).to('cuda')", AssertionError, "Torch not compiled with CUDA enabled"),
        ("torch.ones(2).type('foo')", ValueError, "invalid type: 'foo'"),
        ("torch.ones(2).register_hook(print)", RuntimeError,
         "cannot register a hook on a tensor that doesn't require gradient"),
        ("torch.ones(2).retain_grad()", RuntimeError,
         "can't retain_grad on Tensor that has requires_grad=False"),
    ],
)  # fmt: skip
def test_refused(expression, error, text):
    with pytest.raises(error) as caught:
        evaluate(expression)
    assert text in str(caught.value)


class TestFlags:
    def test_the_gradient_of_a_non_leaf_is_asked_for_with_a_warning(self):
        product = torch.ones(2, requires_grad=True) * 2
        with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
            assert product.grad is None
        product.retain_grad()
        product.backward(torch.ones(2))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert product.grad.tolist() == [1, 1]

    def test_a_gradient_can_be_set_and_deleted(self):
        leaf = torch.ones(2, requires_grad=True)
        leaf.grad = torch.zeros(2)
        leaf.sum().backward()
        assert leaf.grad.tolist() == [1, 1]
        del leaf.grad
        assert leaf.grad is None

    def test_detach_shares_memory_and_its_version(self):
        leaf = torch.ones(2, requires_grad=True)
        product = leaf * 2
        square = product * product
        alias = product.detach()
        assert alias.data_ptr() == product.data_ptr() and not alias.requires_grad
        alias.zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            square.backward(torch.ones(2))

    def test_data_shares_memory_unseen_by_autograd(self):
        leaf = torch.ones(2, requires_grad=True)
        product = leaf * leaf
        leaf.data.zero_()
        product.backward(torch.ones(2))
        assert leaf.grad.tolist() == [0, 0]

    def test_data_can_be_replaced(self):
        leaf = torch.ones(2, requires_grad=True)
        leaf.data = torch.zeros(3)
        assert leaf.requires_grad and leaf.is_leaf and leaf.shape == (3,)

    def test_detach_in_place_makes_a_leaf(self):
        product = torch.ones(2, requires_grad=True) * 2
        assert product.detach_() is product and product.is_leaf and not product.requires_grad

    def test_storage_is_that_of_the_whole_memory(self):
        base = torch.zeros(4, 2)
        part = base.narrow(0, 2, 2)
        assert part.storage_offset() == 4
        assert part.untyped_storage().data_ptr() == base.data_ptr() != part.data_ptr()
        assert part.untyped_storage().size() == 32
        assert part._is_view() and part._base is base and not base._is_view()


class TestConversion:
    DTYPES = [
        torch.float16, torch.float32, torch.float64, torch.int8, torch.int16, torch.int32,
        torch.int64, torch.uint8, torch.bool,
    ]  # fmt: skip

    @pytest.mark.parametrize("target", DTYPES, ids=repr)
    @pytest.mark.parametrize("source", DTYPES, ids=repr)
    def test_every_pair_agrees_with_numpy(self, source, target):
        values = np.array([[0, 1, 2, 100], [3, 0, 127, 5], [1, 64, 17, 90]]).astype(source.numpy)
        expected = values.astype(target.numpy)
        for tensor, array in (
            (torch.tensor(values), expected),
            (torch.from_numpy(values.T), expected.T),
            (torch.from_numpy(values[:, ::2]), expected[:, ::2]),
            (torch.from_numpy(values[:0]), expected[:0]),
            (torch.tensor(values[0, 1]), expected[0, 1]),
        ):
            converted = tensor.to(target)
            assert converted.dtype is target
            np.testing.assert_array_equal(converted.numpy(), array)

    def test_the_order_in_memory_is_kept(self):
        transposed = torch.zeros(2, 3).t()
        assert transposed.double().stride() == (1, 3)
        contiguous = transposed.to(torch.float64, memory_format=torch.contiguous_format)
        assert contiguous.stride() == (2, 1)

    def test_nothing_to_do_gives_the_tensor_itself(self):
        tensor = torch.ones(2)
        same = [tensor.to(torch.float32), tensor.float(), tensor.to("cpu"), tensor.cpu(),
                tensor.to(tensor), tensor.type(torch.float32), tensor.to(None)]  # fmt: skip
        assert all(other is tensor for other in same)
        copied = tensor.to(torch.float32, copy=True)
        assert copied is not tensor and copied.data_ptr() != tensor.data_ptr()

    def test_gradients_come_back_in_the_dtype_of_the_input(self):
        leaf = torch.ones(2, requires_grad=True)
        (leaf.double() * torch.tensor([2.0, 3.0], dtype=torch.float64)).sum().backward()
        assert leaf.grad.dtype is torch.float32 and leaf.grad.tolist() == [2, 3]

    def test_gradients_of_gradients_pass_through(self):
        leaf = torch.tensor([2.0, 3.0], requires_grad=True)
        (slope,) = torch.autograd.grad((leaf.double() ** 3).sum(), leaf, create_graph=True)
        (curvature,) = torch.autograd.grad(slope.sum(), leaf)
        assert curvature.dtype is torch.float32 and curvature.tolist() == [12, 18]

    def test_gradcheck(self):
        leaf = torch.rand(3, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda x: x.to(torch.float64, copy=True) * x, (leaf,))


class TestPythonAndNumPy:
    def test_numbers_of_python(self):
        assert math.floor(torch.tensor(2.5)) == 2 and math.sqrt(torch.tensor(4.0)) == 2

    def test_numpy_shares_memory(self):
        tensor = torch.zeros(2, 3).t()
        tensor.numpy()[0, 1] = 1
        assert tensor.tolist() == [[0, 1], [0, 0], [0, 0]]
        assert np.shares_memory(np.asarray(tensor), tensor.numpy())

    def test_numpy_refuses_what_autograd_would_miss(self):
        tensor = torch.zeros(2, requires_grad=True)
        with pytest.raises(RuntimeError, match=r"Use tensor.detach\(\).numpy\(\) instead"):
            tensor.numpy()
        assert tensor.numpy(force=True).tolist() == [0, 0]
        with torch.no_grad():
            assert tensor.numpy().tolist() == [0, 0]
            with pytest.raises(BufferError, match="tensors that require gradient"):
                np.from_dlpack(tensor)

    def test_a_copy_for_numpy_is_made_as_told(self):
        tensor = torch.zeros(2)
        assert not np.shares_memory(np.array(tensor, copy=True), tensor.numpy())
        with pytest.raises(ValueError, match="without a copy"):
            np.array(tensor, dtype=np.int64, copy=False)

    def test_dlpack(self):
        tensor = torch.zeros(2)
        shared = np.from_dlpack(tensor)
        tensor.fill_(3)
        assert shared.tolist() == [3, 3]

    def test_equality_is_by_element_and_hashing_by_object(self):
        first, second = torch.ones(2), torch.ones(2)
        assert (first == second).tolist() == [True, True]
        assert len({first, second, first}) == 2

    def test_tensors_are_freed_at_once(self):
        gc.disable()
        try:
            product = torch.ones(2, requires_grad=True) * 2
            gone = weakref.ref(product)
            del product
            assert gone() is None
        finally:
            gc.enable()


class TestCopies:
    def test_copy_shares_memory(self):
        leaf = torch.ones(2, requires_grad=True)
        other = copy.copy(leaf)
        assert other is not leaf and other.data_ptr() == leaf.data_ptr() and other.requires_grad

    def test_deepcopy_does_not(self):
        leaf = torch.ones(2, 3).t().requires_grad_()
        leaf.grad = torch.ones(2, 3).t() * 2
        first, second = copy.deepcopy([leaf, leaf])
        assert first is second and first.requires_grad and first.stride() == (1, 3)
        assert first.grad.tolist() == leaf.grad.tolist() and first.grad is not leaf.grad
        assert first.data_ptr() != leaf.data_ptr()

    def test_deepcopy_of_a_result_is_refused(self):
        with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
            copy.deepcopy(torch.ones(2, requires_grad=True) * 2)

    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
    def test_pickle_keeps_values_strides_and_flags(self, order):
        tensor = torch.arange(24.0).reshape(2, 3, 4).permute(*order)
        other = pickle.loads(pickle.dumps(tensor))
        assert torch.equal(other, tensor) and other.stride() == tensor.stride()
        leaf = pickle.loads(pickle.dumps(torch.ones(2, requires_grad=True)))
        assert leaf.requires_grad and leaf.is_leaf

    def test_subclasses_and_their_attributes_are_kept(self):
        made = pickle.loads(pickle.dumps(_labelled()))
        again = copy.deepcopy(made)
        for each in (made, again, copy.copy(made)):
            assert type(each) is Labelled and each.label == "x" and each.tolist() == [1, 2]


class Labelled(torch.Tensor):
    """A subclass with an attribute."""


def _labelled():
    tensor = Labelled([1, 2])
    tensor.label = "x"
    return tensor


@pytest.mark.parametrize(
    "read, error",
    [
        (lambda x: x.sum().item(), "calling .item\\(\\) on a Tensor"),
        (lambda x: float(x.sum()), "calling .item\\(\\) on a Tensor"),
        (lambda x: 1.0 in x, "calling .item\\(\\) on a Tensor"),
        (lambda x: [1, 2][x.sum().long()], "calling .item\\(\\) on a Tensor"),
        (lambda x: bool(x.sum()), "data-dependent control flow"),
        (lambda x: x.tolist(), "Cannot access data pointer of Tensor that doesn't have storage"),
    ],
)
def test_elements_of_one_of_many_samples_cannot_be_read(read, error):
    with pytest.raises(RuntimeError, match=error):
        torch.func.vmap(lambda x: x * read(x))(torch.rand(3, 2))


def test_dir_lists_attributes_that_tensors_have():
    x = torch.ones(2, 2)
    names = dir(x)
    assert {"shape", "grad_fn", "T", "sum"} <= set(names)
    names.remove("imag")  # of complex tensors: asking a real one for it raises
    assert [name for name in names if not hasattr(x, name)] == []
