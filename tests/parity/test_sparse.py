"""Sparse tensors beside torch's: text, arithmetic, products, gradients, files and optimisers."""

import io

import numpy as np
import pytest
import torch as pytorch

import numbagrad

BOTH = (pytorch, numbagrad)
pytestmark = pytest.mark.filterwarnings("ignore:Sparse", "ignore:.*sparse")


def matrix(library, dtype="float32", **options):
    """Three rows and four columns, with a place that is there twice."""
    return library.sparse_coo_tensor(
        library.tensor([[0, 1, 1, 2], [2, 0, 0, 1]]),
        library.tensor([3.0, 4.0, 5.0, 0.5], dtype=getattr(library, dtype)),
        (3, 4),
        **options,
    )


def other(library):
    return library.sparse_coo_tensor([[0, 1, 2], [2, 3, 1]], [1.0, -2.0, 7.0], (3, 4))


def rows(library):
    """Two rows of five, each with three numbers."""
    values = library.tensor([[1.0, 2.0, 3.0], [4.0, 0.0, -1.0]])
    return library.sparse_coo_tensor(library.tensor([[3, 1]]), values, (5, 3))


def dense(library, *shape):
    return library.tensor(np.cos(np.arange(np.prod(shape))).reshape(shape).astype(np.float32))


def seen(value):
    """What a value consists of, for a comparison: sparse ones coalesced."""
    if isinstance(value, (tuple, list)):
        return [seen(x) for x in value]
    if not isinstance(value, BOTH_TENSORS):
        return value
    if value.is_sparse:
        value = value.detach().coalesce()
        return [
            tuple(value.shape),
            str(value.dtype),
            value.indices().tolist(),
            flat(value.values()),
        ]
    if str(value.layout) == "torch.sparse_csr":
        parts = value.crow_indices().tolist(), value.col_indices().tolist()
        return [tuple(value.shape), *parts, flat(value.detach().values())]
    return [tuple(value.shape), str(value.dtype), flat(value.detach())]


BOTH_TENSORS = (pytorch.Tensor, numbagrad.Tensor)


def flat(tensor):
    return np.array(tensor.reshape(-1).tolist())


def equal(found, expected):
    """Whether two results of ``seen`` agree, numbers to rounding."""
    if isinstance(expected, np.ndarray):
        near = np.allclose(found, expected, 1e-5, 1e-6, equal_nan=True)
        return found.shape == expected.shape and near
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(equal, found, expected))
    return found == expected


def same(compute):
    """Assert that both libraries compute the same, or raise errors of a kind."""
    found = []
    for library in BOTH:
        try:
            found.append(seen(compute(library)))
        except (RuntimeError, TypeError, IndexError) as error:
            found.append(IndexError if isinstance(error, IndexError) else type(error).__mro__[-3])
    assert equal(found[1], found[0]), found


VALUES = {
    "text": lambda t: repr(matrix(t)),
    "text of coalesced": lambda t: repr(matrix(t).coalesce()),
    "text of gradient": lambda t: repr(matrix(t, requires_grad=True)),
    "text of rows": lambda t: repr(rows(t).double()),
    "text of none": lambda t: repr(t.sparse_coo_tensor((2, 3))),
    "text of csr": lambda t: repr(matrix(t).to_sparse_csr()),
    "attributes": lambda t: [
        matrix(t).is_sparse, matrix(t).layout == t.sparse_coo, matrix(t)._nnz(),
        matrix(t).sparse_dim(), rows(t).dense_dim(), matrix(t).is_coalesced(), matrix(t).type(),
        matrix(t).numel(), len(matrix(t)), matrix(t).dim(), matrix(t).is_contiguous(),
    ],
    "parts": lambda t: [matrix(t)._indices(), matrix(t)._values(), rows(t).coalesce().values()],
    "values of uncoalesced": lambda t: matrix(t).values(),
    "size found": lambda t: t.sparse_coo_tensor([[0, 4], [1, 2]], [1.0, 2.0]),
    "bad size": lambda t: t.sparse_coo_tensor([[0, 4]], [1.0, 2.0], (3,), check_invariants=True),
    "negative index": lambda t: t.sparse_coo_tensor(
        [[0, -1]], [1.0, 2.0], (3,), check_invariants=True
    ),
    "bad count": lambda t: t.sparse_coo_tensor([[0, 1]], [1.0, 2.0, 3.0], (3,)),
    "to dense": lambda t: [matrix(t).to_dense(), rows(t).to_dense()],
    "to sparse": lambda t: [dense(t, 2, 3).relu().to_sparse(), dense(t, 4, 3).to_sparse(1)],
    "to sparse of bools": lambda t: (dense(t, 3, 4) > 0.5).to_sparse(),
    "mask": lambda t: dense(t, 3, 4).sparse_mask(matrix(t).coalesce()),
    "add": lambda t: matrix(t) + other(t),
    "add alpha": lambda t: t.add(matrix(t), other(t), alpha=3),
    "dense add": lambda t: dense(t, 3, 4) + matrix(t),
    "dense add in place": lambda t: dense(t, 3, 4).add_(matrix(t), alpha=2),
    "add dense": lambda t: matrix(t) + dense(t, 3, 4),
    "add number": lambda t: matrix(t) + 1,
    "sub": lambda t: [matrix(t) - other(t), dense(t, 3, 4) - matrix(t)],
    "mul": lambda t: [(matrix(t) * other(t)).to_dense(), matrix(t) * 2, 2 * matrix(t), -matrix(t)],
    "mul dense": lambda t: [matrix(t) * dense(t, 3, 4), dense(t, 3, 4) * matrix(t)],
    "mul tensor": lambda t: matrix(t) * t.tensor(3.0),
    "div": lambda t: [matrix(t) / 4, matrix(t) / t.tensor(4.0)],
    "div dense": lambda t: matrix(t) / dense(t, 3, 4),
    "in place": lambda t: matrix(t).mul_(2).add_(other(t)).div_(4),
    "zero": lambda t: [matrix(t).zero_(), t.zeros_like(matrix(t))],
    "functions": lambda t: [
        getattr(t, name)(matrix(t))
        for name in "abs sqrt sin tanh expm1 log1p relu sign floor neg atan".split()
    ],
    "pow": lambda t: [matrix(t) ** 2, matrix(t).pow(1.5)],
    "exp": lambda t: t.exp(matrix(t)),
    "mean": lambda t: matrix(t).mean(),
    "eq": lambda t: matrix(t) == matrix(t),
    "view": lambda t: matrix(t).view(12),
    "reshape": lambda t: t.reshape(matrix(t), (12,)),
    "numpy": lambda t: matrix(t).numpy(),
    "ones like": lambda t: t.ones_like(matrix(t)),
    "softmax of strided": lambda t: t.softmax(matrix(t), 1),
    "mm": lambda t: [t.mm(matrix(t), dense(t, 4, 5)), matrix(t) @ dense(t, 4, 5)],
    "other mm": lambda t: [f(matrix(t), dense(t, 4, 5)) for f in (t.sparse.mm, t.spmm)],
    "dense mm": lambda t: dense(t, 2, 3) @ matrix(t),
    "mv": lambda t: [matrix(t) @ dense(t, 4), t.mv(matrix(t), dense(t, 4))],
    "mm of sparse": lambda t: matrix(t).t() @ other(t),
    "mm sizes": lambda t: matrix(t) @ dense(t, 3, 2),
    "addmm": lambda t: [
        t.addmm(dense(t, 3, 2), matrix(t), dense(t, 4, 2), beta=2, alpha=3),
        t.sparse.addmm(dense(t, 3, 2), matrix(t), dense(t, 4, 2)),
    ],
    "bmm": lambda t: t.bmm(t.stack([matrix(t), other(t)]), dense(t, 2, 4, 3)),
    "linear": lambda t: t.nn.functional.linear(matrix(t), dense(t, 5, 4)),
    "int mm": lambda t: matrix(t).long() @ dense(t, 4, 2).mul(9).long(),
    "double mm": lambda t: matrix(t, "float64") @ dense(t, 4, 2).double(),
    "complex mm": lambda t: matrix(t, "complex64") @ dense(t, 4, 2).to(t.complex64),
    "sum": lambda t: [t.sparse.sum(matrix(t)), matrix(t).sum(), t.sum(matrix(t))],
    "sum dim": lambda t: [
        t.sparse.sum(matrix(t), 0), t.sparse.sum(matrix(t), 1), t.sparse.sum(rows(t), 0),
        t.sparse.sum(rows(t), 1), t.sum(matrix(t), 1),
    ],
    "softmax": lambda t: [t.sparse.softmax(matrix(t), 0), t.sparse.log_softmax(other(t), 1)],
    "softmax of rows": lambda t: [t.sparse.softmax(rows(t), 0), t.sparse.softmax(rows(t), 1)],
    "norm": lambda t: [matrix(t).norm(), t.norm(matrix(t))],
    "t": lambda t: [matrix(t).t(), t.transpose(matrix(t), 0, 1), matrix(t).T],
    "permute": lambda t: [matrix(t).permute(1, 0), rows(t).permute(0, 1)],
    "permute mixed": lambda t: rows(t).permute(1, 0),
    "index_select": lambda t: [
        matrix(t).index_select(0, t.tensor([1, 0, 1])), t.index_select(rows(t), 1, t.tensor([2])),
    ],
    "select": lambda t: [
        matrix(t)[1], rows(t)[3], rows(t).select(1, 0), matrix(t).coalesce()[1, 0],
    ],
    "index out of range": lambda t: matrix(t)[5],
    "cat": lambda t: [t.cat([matrix(t), other(t)]), t.cat([matrix(t), other(t)], 1)],
    "cat dense": lambda t: t.cat([rows(t), rows(t)], 1),
    "stack": lambda t: t.stack([matrix(t), other(t)], 1),
    "unsqueeze": lambda t: [matrix(t).unsqueeze(0), rows(t).unsqueeze(2)],
    "conversions": lambda t: [
        matrix(t).double(), matrix(t).to(t.float64), matrix(t).int(), matrix(t).to("cpu"),
        matrix(t).cpu(), matrix(t).clone(), matrix(t).detach(), matrix(t).half(),
    ],
    "old classes": lambda t: [
        t.sparse.FloatTensor(t.tensor([[0, 1]]), t.tensor([1.0, 2.0]), t.Size([3])),
        t.sparse.FloatTensor(2, 3),
    ],
    "csr": lambda t: [
        t.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], (2, 3)),
        matrix(t).to_sparse_csr(), matrix(t).to_sparse_csr() @ dense(t, 4, 2),
        matrix(t).to_sparse_csr().to_dense(), dense(t, 3, 4).relu().to_sparse_csr().to_sparse(),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    same(VALUES[name])


GRADIENTS = {
    "mm": lambda s, d: (s @ d).square(),
    "sparse mm": lambda s, d: (s.t() @ d[:3]).square(),
    "to dense": lambda s, d: s.to_dense().square(),
    "coalesce": lambda s, d: s.coalesce().values().square(),
    "arithmetic": lambda s, d: ((s * 2 - s.t().t() / 3) @ d).square(),
    "functions": lambda s, d: s.abs().to_dense().square(),
    "mask": lambda s, d: (d @ d.t())[:3].sparse_mask(s.detach().coalesce()).to_dense().square(),
    "dense add": lambda s, d: (d.t()[:, :3].t() @ d.t() + s).square(),
    "product of sparse": lambda s, d: (s @ s.t()).to_dense().square(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_values(name):
    """Those of the values that a tensor is made of, and of the dense factor."""

    def compute(library):
        values = library.tensor([3.0, 4.0, 5.0, 0.5], requires_grad=True)
        places = library.tensor([[0, 1, 1, 2], [2, 0, 0, 1]])
        factor = dense(library, 4, 2).requires_grad_()
        sparse = library.sparse_coo_tensor(places, values, (3, 4))
        GRADIENTS[name](sparse, factor).sum().backward()
        return [values.grad, factor.grad]

    same(compute)


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16", "int16", "uint8", "bool"])
def test_indices_of_any_dtype_are_cast(kind):
    def compute(library):
        index = library.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(library, kind))
        return library.sparse_coo_tensor(index, library.ones(3))

    same(compute)


@pytest.mark.parametrize("new", ["dense", "coo", "csr"])
@pytest.mark.parametrize("old", ["dense", "coo", "csr"])
def test_data_keep_their_layout(old, new):
    def made(library, layout):
        if layout == "dense":
            return dense(library, 3, 4)
        return matrix(library) if layout == "coo" else matrix(library).to_sparse_csr()

    def assigned(library):
        tensor = made(library, old)
        try:
            tensor.data = made(library, new)
        except RuntimeError as error:
            return str(error)
        return seen(tensor)

    expected, found = [assigned(library) for library in BOTH]
    assert equal(found, expected), found


def test_gradient_of_a_leaf_is_sparse():
    def compute(library):
        leaf = matrix(library).coalesce().detach().requires_grad_()
        for _ in range(2):
            library.sparse.mm(leaf, dense(library, 4, 2)).square().sum().backward()
        softmax = library.sparse.softmax(leaf, 1)
        library.sparse.sum(softmax * dense(library, 3, 4)).backward()
        return leaf.grad

    same(compute)


@pytest.mark.parametrize("options", [{}, {"padding_idx": 2}], ids=["all", "padding"])
def test_gradient_of_embedding(options):
    def compute(library):
        table = dense(library, 5, 3).requires_grad_()
        found = []
        for index in ([[1, 2], [1, 4]], [[1, 2], [1, 4]], [[0, 0], [2, 1]]):
            index = library.tensor(index)
            made = library.nn.functional.embedding(index, table, sparse=True, **options)
            made.square().sum().backward()
            found.append(table.grad.clone())
        made = library.nn.functional.embedding_bag(index, table, mode="mean", sparse=True)
        made.square().sum().backward()
        return [*found, table.grad]

    same(compute)


@pytest.mark.parametrize("order", ["sd", "ds", "b", "c"])
def test_gradients_of_both_layouts_add_up(order):
    def compute(library):
        table = library.ones(3, 2, requires_grad=True)

        def loss(kind):
            if kind in "bc":  # in one backward, in both orders
                one, other = [loss(layout) for layout in ("sd" if kind == "b" else "ds")]
                return one + other
            if kind == "d":
                return (table * 2).sum()
            return library.nn.functional.embedding(library.tensor([1, 1]), table, sparse=True).sum()

        for kind in order:
            loss(kind).backward()
        return table.grad

    same(compute)


OPTIMIZERS = {
    "SGD": lambda t, p: t.optim.SGD(p, 0.1),
    "SGD, momentum": lambda t, p: t.optim.SGD(p, 0.1, momentum=0.9),
    "SGD, Nesterov": lambda t, p: t.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
    "SGD, maximize": lambda t, p: t.optim.SGD(p, 0.1, maximize=True),
    "SGD, weight decay": lambda t, p: t.optim.SGD(p, 0.1, weight_decay=0.1),
    "SparseAdam": lambda t, p: t.optim.SparseAdam(p, 0.1),
    "SparseAdam, maximize": lambda t, p: t.optim.SparseAdam(
        p, 0.1, (0.8, 0.9), 1e-3, maximize=True
    ),
    "Adagrad": lambda t, p: t.optim.Adagrad(p, 0.1, lr_decay=0.1),
    "Adam": lambda t, p: t.optim.Adam(p, 0.1),
    "RMSprop": lambda t, p: t.optim.RMSprop(p, 0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_optimizers(name):
    def compute(library):
        table = dense(library, 5, 3).requires_grad_()
        optimizer = OPTIMIZERS[name](library, [table])
        for step in range(4):
            optimizer.zero_grad()
            index = library.tensor([1, 3, 1, step])
            library.nn.functional.embedding(index, table, sparse=True).square().sum().backward()
            optimizer.step()
        return [table, *[x for x in optimizer.state[table].values()]]

    same(compute)


def test_files():
    """Sparse tensors of a file by either library are read by the other."""
    for writes, reads in (BOTH, BOTH[::-1]):
        file = io.BytesIO()
        made = {
            "a": matrix(writes),
            "b": rows(writes).coalesce(),
            "c": matrix(writes).to_sparse_csr(),
        }
        writes.save(made, file)
        file.seek(0)
        found = reads.load(file, weights_only=True)
        for name, each in made.items():
            assert repr(found[name]) == repr(each)
            assert equal(seen(found[name]), seen(each))


def test_errors_are_torchs():
    for use in (lambda t: t.exp(matrix(t)), lambda t: matrix(t).mean(), lambda t: matrix(t).exp()):
        texts = []
        for library in BOTH:
            with pytest.raises(NotImplementedError) as caught:
                use(library)
            texts.append(str(caught.value).partition("backend")[0].replace(".dim", ""))
        assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["ASGD", "Rprop", "LBFGS"])
def test_optimizers_that_are_not_made_for_them(name):
    def run(library):
        weight = library.arange(6.0).reshape(3, 2).requires_grad_()
        optimizer = getattr(library.optim, name)([weight], lr=0.1)

        def loss():
            optimizer.zero_grad()
            rows = library.nn.functional.embedding(library.tensor([1, 1]), weight, sparse=True)
            value = (rows * rows).sum()
            value.backward()
            return value

        try:
            optimizer.step(loss)
        except RuntimeError as error:
            return str(error)
        return np.round(weight.detach().numpy(), 4).tolist()

    assert run(numbagrad) == run(pytorch)


def test_gradients_are_unscaled():
    def run(library):
        weight = library.arange(6.0).reshape(3, 2).requires_grad_()
        optimizer = library.optim.SGD([weight], lr=0.1)
        scaler = library.amp.GradScaler("cpu", init_scale=4.0)
        steps = []
        for value in (1.0, float("inf"), 2.0):
            optimizer.zero_grad()
            rows = library.nn.functional.embedding(library.tensor([1, 1]), weight, sparse=True)
            scaler.scale((rows * value).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            steps.append((weight.tolist(), scaler.get_scale()))
        return steps

    assert run(numbagrad) == run(pytorch)
