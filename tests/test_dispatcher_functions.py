"""Calls of the dispatcher's names, bins of a space, segments, and losses of linear layers."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.autograd import gradcheck, gradgradcheck
from numbagrad.nn import functional as F

aten = torch.ops.aten


def numbers(*shape):
    return torch.tensor(np.random.default_rng(0).normal(size=shape))


class TestNames:
    """``torch.ops.aten.name`` and its overloads can be called."""

    def test_public_functions(self):
        x = numbers(3, 4)
        assert aten.mm.default(x, x.mT).equal(x @ x.mT)
        assert aten.sum.dim_IntList(x, [1]).equal(x.sum(1))
        assert aten.special_ndtri(x.sigmoid()).equal(torch.special.ndtri(x.sigmoid()))
        assert aten.view.default(x, [4, 3]).shape == (4, 3)
        assert aten.add_(x.clone(), 1).equal(x + 1)
        assert aten.leaky_relu(x, 0.1).equal(F.leaky_relu(x, 0.1))

    def test_reads(self):
        x = numbers(4, 5).requires_grad_()
        assert aten.slice.Tensor(x, 1, 1, 5, 2).equal(x[:, 1:5:2])
        assert aten.index(x, [None, torch.tensor([0, 3])]).equal(x[:, [0, 3]])
        mask = torch.tensor([True, False, True])
        positions = [torch.tensor([0, 99, 2])]
        made = torch._unsafe_masked_index(x[:, 0], mask, positions, 7.0)
        assert made.tolist() == [x[0, 0].item(), 7.0, x[2, 0].item()]
        added = torch._unsafe_masked_index_put_accumulate(
            x[:, 0], mask, positions, torch.ones(3, dtype=x.dtype)
        )
        assert torch.equal(added, x[:, 0] + torch.tensor([1.0, 0, 1, 0], dtype=x.dtype))

    def test_backwards(self):
        x = numbers(3, 4).requires_grad_()
        grad = numbers(4, 3).mT
        for name, function in (
            ("_softmax_backward_data", torch.softmax),
            ("_log_softmax_backward_data", torch.log_softmax),
        ):
            result = function(x, 1)
            (expected,) = torch.autograd.grad(result, x, grad)
            found = getattr(aten, name)(grad, result, 1, x.dtype)
            np.testing.assert_allclose(found.detach(), expected, atol=1e-12)
        image = numbers(1, 2, 6, 6).requires_grad_()
        pooled, positions = F.max_pool2d(image, 2, return_indices=True)
        (expected,) = torch.autograd.grad(pooled.sum(), image)
        found = aten.max_pool2d_with_indices_backward(
            torch.ones_like(pooled), image, [2, 2], [2, 2], [0, 0], [1, 1], False, positions
        )
        assert found.equal(expected)

    def test_rows_of_minus_infinity(self):
        x = torch.tensor([[0.0, 0.0], [-math.inf, -math.inf]], requires_grad=True)
        made = aten._safe_softmax.default(x, 1)
        assert made.tolist() == [[0.5, 0.5], [0, 0]]
        made.sum().backward()
        assert x.grad.tolist() == [[0, 0], [0, 0]]

    def test_batch_norm(self):
        x = numbers(3, 4, 5)
        expected = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
        found = torch._native_batch_norm_legit(x, None, None, True, 0.1, 1e-5)
        assert all(a.equal(b) for a, b in zip(found, expected, strict=True))
        mean, variance = torch.zeros(4, dtype=x.dtype), torch.ones(4, dtype=x.dtype)
        *rest, memory = aten._batch_norm_with_update(x, None, None, mean, variance, 1.0, 1e-5)
        assert rest[0].equal(expected[0]) and memory.numel() == 0
        np.testing.assert_allclose(mean, x.mean((0, 2)))

    def test_resampling(self):
        image = numbers(1, 1, 5, 6)
        expected = F.interpolate(image, (3, 4), mode="bilinear", antialias=True)
        assert aten._upsample_bilinear2d_aa(image, [3, 4], False).equal(expected)
        made = aten._upsample_bicubic2d_aa(image, None, False, [0.5, 0.5])
        expected = F.interpolate(image, scale_factor=0.5, mode="bicubic", antialias=True)
        assert made.equal(expected)

    def test_names_of_policies_cannot_be_called(self):
        with pytest.raises(NotImplementedError, match="name for policies"):
            aten._prelu_kernel(numbers(2), numbers(1))
        with pytest.raises(AttributeError, match="no operator"):
            aten.nosuch  # noqa: B018


class TestChunks:
    def test_side_by_side(self):
        made = torch._chunk_cat([torch.arange(6.0).reshape(3, 2), torch.ones(1, 3)], 0, 2)
        assert made.tolist() == [[0, 1, 2, 3, 1, 1, 1], [4, 5, 0, 0, 0, 0, 0]]

    @pytest.mark.parametrize(
        ("tensors", "dim", "chunks", "message"),
        [
            ([], 0, 2, "non-empty input tensor list"),
            ([(2,)], 0, 0, "positive num_chunks"),
            ([(2,), (2, 2)], -1, 2, "non-negative dim"),
            ([(2,), (2, 2)], 1, 2, "dim < ndim"),
            ([(2, 2), (3, 2)], 1, 2, "same sizes"),
            ([(0,)], 0, 2, "non-empty tensor"),
        ],
    )
    def test_refused(self, tensors, dim, chunks, message):
        with pytest.raises(RuntimeError, match=message):
            torch._chunk_cat([torch.ones(shape) for shape in tensors], dim, chunks)


class TestBins:
    def test_as_numpy(self):
        points, weights = numbers(50, 3), numbers(50).abs()
        for options in ({}, {"weights": weights.numpy()}, {"density": True}):
            hist, edges = np.histogramdd(points.numpy(), (2, 3, 4), **options)
            given = {"weight": weights} if "weights" in options else options
            made = torch.histogramdd(points, [2, 3, 4], **given)
            np.testing.assert_allclose(made.hist, hist)
            for mine, theirs in zip(made.bin_edges, edges, strict=True):
                np.testing.assert_allclose(mine, theirs)

    def test_given_edges(self):
        points = torch.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, 0.5]])
        edges = [torch.tensor([0.0, 1.0, 3.0]), torch.tensor([0.0, 2.0])]
        assert torch.histogramdd(points, edges).hist.tolist() == [[1], [2]]

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: torch.histogramdd(numbers(4), 2), "at least 2 dimensions"),
            (lambda: torch.histogramdd(numbers(4, 2), [2]), "innermost dimension"),
            (lambda: torch.histogramdd(numbers(4, 2), 2, range=(0.0, 1.0)), "4 elements"),
            (lambda: torch.histogramdd(numbers(4, 2), 2, weight=numbers(3)), "same shape"),
            (lambda: torch.histogramdd(numbers(4, 1), 0), "bins must be > 0"),
            (lambda: torch.histogram(numbers(4), torch.tensor([2.0, 1.0]).double()), "decrease"),
        ],
    )
    def test_refused(self, call, message):
        with pytest.raises(RuntimeError, match=message):
            call()


class TestSegments:
    @pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
    @pytest.mark.parametrize("initial", [None, 0.5])
    def test_along_a_dimension(self, reduce, initial):
        data, lengths = numbers(2, 5, 3), [[2, 3], [1, 4]]
        made = torch.segment_reduce(
            data, reduce, lengths=torch.tensor(lengths), axis=1, initial=initial
        )
        compute = {"max": np.max, "min": np.min}.get(reduce, getattr(np, reduce))
        start = {} if initial is None or reduce == "mean" else {"initial": initial}
        for row, (first, second) in enumerate(lengths):
            for k, part in enumerate((slice(0, first), slice(first, first + second))):
                expected = compute(data.numpy()[row, part], axis=0, **start)
                if reduce == "mean" and initial is not None:
                    expected = expected + initial / (part.stop - part.start)
                np.testing.assert_allclose(made[row, k], expected)

    def test_empty_segments_and_offsets(self):
        data = torch.tensor([1.0, 2.0, 4.0])
        lengths, offsets = torch.tensor([2, 0, 1]), torch.tensor([0, 2, 2, 3])
        for given in ({"lengths": lengths}, {"offsets": offsets}):
            assert torch.segment_reduce(data, "sum", **given).tolist() == [3, 0, 4]
            assert torch.segment_reduce(data, "max", **given).tolist() == [2, -math.inf, 4]
            mean = torch.segment_reduce(data, "mean", **given)
            assert mean.isnan().tolist() == [False, True, False]

    @pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
    def test_gradient(self, reduce):
        data, lengths = numbers(6, 2).requires_grad_(), torch.tensor([2, 1, 3])
        assert gradcheck(lambda x: torch.segment_reduce(x, reduce, lengths=lengths), (data,))

    def test_refused(self):
        data = numbers(5)
        with pytest.raises(RuntimeError, match="sum to"):
            torch.segment_reduce(data, "sum", lengths=torch.tensor([2, 2]))
        made = torch.segment_reduce(data, "sum", lengths=torch.tensor([2, 2]), unsafe=True)
        assert made.shape == (2,)
        with pytest.raises(RuntimeError, match="negative"):
            torch.segment_reduce(data, "sum", lengths=torch.tensor([6, -1]))
        with pytest.raises(RuntimeError, match="Either lengths or offsets"):
            torch.segment_reduce(data, "sum")
        with pytest.raises(RuntimeError, match="must be one of"):
            torch.segment_reduce(data, "sums", lengths=torch.tensor([5]))


class TestLinearCrossEntropy:
    @pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_chunks_are_the_whole(self, reduction, weighted):
        x, w, b = numbers(7, 3), numbers(4, 3), numbers(4)
        target = torch.tensor([0, 1, 2, 3, -100, 1, 0])
        weight = numbers(4).abs() if weighted else None
        found = []
        for size in (None, 2, 7):
            options = None if size is None else torch.nn.LinearCrossEntropyOptions(
                batch_chunk_size=size
            )  # fmt: skip
            leaves = [t.clone().requires_grad_() for t in (x, w, b)]
            loss = F.linear_cross_entropy(
                leaves[0], leaves[1], target, linear_bias=leaves[2], weight=weight,
                reduction=reduction, options=options,
            )  # fmt: skip
            found.append([loss, *torch.autograd.grad(loss.sum(), leaves)])
        for other in found[1:]:
            for left, right in zip(other, found[0], strict=True):
                np.testing.assert_allclose(left.detach(), right.detach(), rtol=1e-10)

    def test_gradients_of_chunks_have_gradients(self):
        x, w = numbers(4, 2).requires_grad_(), numbers(3, 2).requires_grad_()
        options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=2)
        target = torch.tensor([0, 2, 1, 1])
        assert gradgradcheck(
            lambda x, w: F.linear_cross_entropy(x, w, target, options=options), (x, w)
        )

    def test_losses_at_positions(self):
        x, w = numbers(5, 3), numbers(4, 2, 3)
        target = torch.tensor([[0, 1], [2, 3], [1, 1], [0, 0], [3, 2]])
        scores = torch.einsum("ni,cki->nck", x, w)
        found = F.linear_cross_entropy(x, w, target)
        assert found.item() == pytest.approx(F.cross_entropy(scores, target).item())
        options = torch.nn.LinearCrossEntropyOptions()
        with pytest.warns(UserWarning, match="options are ignored"):
            F.linear_cross_entropy(x, w, target, options=options)

    def test_sizes_of_chunks(self):
        options = torch.nn.LinearCrossEntropyOptions
        assert options().chunk_size(1024, 64, 64 * 16) == 32
        assert options(chunking_method="aspect_ratio").chunk_size(1024, 64, 64 * 16) == 64
        assert options(chunking_method=None).chunk_size(100, 64, 10) == 100
        with pytest.raises(ValueError, match="different"):
            options(batch_chunk_size=3, chunking_method="aspect_ratio").chunk_size(64, 4, 16)
        for wrong in ({"acc_policy": "fast"}, {"chunking_method": "x"}, {"batch_chunk_size": 0}):
            with pytest.raises(ValueError, match="must be|invalid"):
                options(**wrong)

    def test_layer(self):
        layer = torch.nn.LinearCrossEntropyLoss(5, 10, out_features=(4,), bias=True)
        assert layer.linear.weight.shape == (40, 5)
        loss = layer(torch.randn(2, 5), torch.zeros(2, 4, dtype=torch.int64))
        loss.backward()
        assert layer.linear.bias.grad.shape == (40,)
        again = pickle.loads(pickle.dumps(layer))
        assert again.num_classes == 10 and "num_classes=10" in repr(layer)

    @pytest.mark.parametrize(
        ("x", "w", "message"),
        [
            ((2, 2, 3), (4, 3), "dimensionality 1 or 2"),
            ((2, 3), (3,), "at least 2"),
            ((2, 3), (4, 5), "in_features"),
            ((3,), (4, 2, 3), "batched input"),
        ],
    )
    def test_refused(self, x, w, message):
        with pytest.raises(RuntimeError, match=message):
            F.linear_cross_entropy(torch.ones(x), torch.ones(w), torch.tensor(0))


class TestPlaces:
    def test_of_a_given_number(self):
        x = torch.tensor([[0, 1], [2, 0]])
        assert torch.nonzero_static(x, size=1).tolist() == [[0, 1]]
        assert x.nonzero_static(size=3, fill_value=-7).tolist() == [[0, 1], [1, 0], [-7, -7]]
        with pytest.raises(RuntimeError, match="non-negative"):
            torch.nonzero_static(x, size=-1)

    def test_orders_of_memory(self):
        made = torch.empty_permuted((2, 3, 4), (2, 0, 1))
        assert made.shape == (2, 3, 4) and made.stride() == (3, 1, 6)
        for layout, message in (((0,), "length"), ((0, 0, 1), "Duplicate"), ((0, 1, 3), "range")):
            with pytest.raises(RuntimeError, match=message):
                torch.empty_permuted((2, 3, 4), layout)

    def test_scatter_into_memory_with_gaps(self):
        """Strides and offsets are those of the memory, as ``as_strided`` has them."""
        x = torch.arange(10.0)[1::2]
        source = torch.tensor([9.0, 8.0])
        assert x.as_strided_scatter(source, (2,), (2,), 3).tolist() == [1, 9, 8, 7, 9]
        assert x.as_strided_scatter(source, (2,), (4,)).tolist() == [9, 3, 8, 7, 9]
        assert x.as_strided_scatter(source, (2,), (4,)).stride() == (2,)

    def test_gradients_by_frequency(self):
        table = numbers(4, 2).requires_grad_()
        positions = torch.tensor([[1, 2], [1, 1]])
        F.embedding(positions, table, scale_grad_by_freq=True).sum().backward()
        assert table.grad[:, 0].tolist() == pytest.approx([0, 1, 1, 0])
        still = F.embedding(positions, table.detach(), sparse=True)
        assert still.equal(table[positions])


class TestComplex:
    @pytest.mark.parametrize("name", ["logsumexp", "logcumsumexp"])
    def test_sums_of_exponentials(self, name):
        z = torch.complex(numbers(3, 4), numbers(4, 3).mT)
        made = torch.exp(getattr(torch, name)(z, 1))
        expected = getattr(np.exp(z.numpy()), {"logsumexp": "sum"}.get(name, "cumsum"))(1)
        np.testing.assert_allclose(made.numpy(), expected, rtol=1e-10)
        assert gradcheck(lambda x: getattr(torch, name)(x, 1), (z.requires_grad_(),))

    def test_absolute_differences(self):
        a, b = torch.complex(numbers(5), numbers(5).flip(0)), torch.complex(numbers(5), numbers(5))
        expected = np.abs(a.numpy() - b.numpy())
        for reduction, wanted in (("none", expected), ("mean", expected.mean())):
            np.testing.assert_allclose(F.l1_loss(a, b, reduction=reduction), wanted)

    def test_padding_and_uniform_numbers(self):
        z = torch.ones(2, dtype=torch.complex128)
        assert F.pad(z, (1, 0), value=2j).tolist() == [2j, 1, 1]
        z.uniform_(2, 3)
        assert (z.real >= 2).all() and (z.imag < 3).all()


def test_reflected_operators_are_methods():
    """They are called with the Tensor first, whatever the other operand is."""
    x = torch.tensor([1, 2])
    for name in ("__radd__", "__rmul__", "__rand__", "__ror__", "__rxor__"):
        with pytest.raises(TypeError, match="reflected"):
            getattr(torch.Tensor, name)(2, x)
        assert getattr(x, name)(2).shape == (2,)
    with pytest.raises(AttributeError):
        torch.Tensor.__rdiv__(2, x)


def test_outputs_of_layers():
    x, w, out = numbers(2, 3), numbers(4, 3), torch.empty(0, dtype=torch.float64)
    assert F.linear(x, w, out=out) is out and out.equal(F.linear(x, w))
    out = torch.empty_like(x)
    assert F.softplus(x, out=out) is out and out.equal(F.softplus(x))


def test_windows_are_strided():
    with pytest.raises(ValueError, match="strided tensors only"):
        torch.signal.windows.hann(4, layout=torch.sparse_coo)
    with pytest.raises(ValueError, match="Center"):
        torch.signal.windows.exponential(4, center=1.0)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_names_of_operators_are_copied_as_themselves(copied) -> None:
    packet = torch.ops.aten.mm
    assert copied(packet) is packet
    assert copied(packet.default) is packet.default
