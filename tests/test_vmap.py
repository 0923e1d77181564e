"""``vmap``: dims and structures, nesting, writes, randomness, custom Functions, and its errors."""

import numpy as np
import pytest
from vmap_errors import ERRORS, message

import numbagrad as torch
from numbagrad import vmap


def rows():
    return torch.arange(6.0).reshape(2, 3)


def same(made, wanted):
    assert made.shape == wanted.shape
    np.testing.assert_allclose(made.detach().numpy(), wanted.detach().numpy(), rtol=1e-6)


class TestDims:
    def test_a_sample_has_one_dimension_less(self):
        seen = []
        vmap(lambda a: (seen.append(a.shape), a)[1])(rows())
        assert seen == [(3,)]

    def test_in_dims_and_out_dims(self):
        x = torch.randn(2, 3, 4)
        same(vmap(lambda a: a.t(), in_dims=2, out_dims=1)(x), x.permute(1, 2, 0))
        same(vmap(lambda a: a, in_dims=-1, out_dims=-1)(x), x)

    def test_dims_are_nested_as_the_arguments_are(self):
        x, y = rows(), torch.ones(3)
        made = vmap(lambda d, n: (d["x"] * d["y"][0] * n, {"z": d["x"]}),
                    in_dims=({"x": 0, "y": None}, None), out_dims=(1, {"z": 0}))(
            {"x": x, "y": [y]}, 2
        )  # fmt: skip
        same(made[0], (x * y * 2).t())
        same(made[1]["z"], x)

    def test_keyword_arguments_are_shared(self):
        same(vmap(lambda a, b: a + b.sum())(rows(), b=rows()), rows() + 15)

    def test_what_does_not_depend_on_the_sample_is_repeated(self):
        same(vmap(lambda a: torch.ones(2))(rows()), torch.ones(2, 2))

    def test_a_result_for_all_samples(self):
        made = vmap(lambda a: (a, 3), out_dims=(0, None))(rows())
        assert made[1] == 3

    @pytest.mark.parametrize("chunk_size", [1, 2, 3, 10])
    def test_chunks_do_not_change_the_result(self, chunk_size):
        x = torch.randn(5, 3)
        same(vmap(lambda a: a.cumsum(0), chunk_size=chunk_size)(x), x.cumsum(1))

    def test_no_samples(self):
        assert vmap(lambda a: a.exp() @ torch.ones(3, 2))(torch.ones(0, 3)).shape == (0, 2)

    def test_nested(self):
        x, y = torch.randn(2, 3), torch.randn(4, 3)
        made = vmap(lambda a: vmap(lambda b: a @ b)(y))(x)
        same(made, x @ y.t())


class TestHistory:
    def test_gradients_flow_out_of_vmap(self):
        x = rows().requires_grad_()
        vmap(lambda a: (a * a).sum())(x).sum().backward()
        same(x.grad, 2 * rows())

    def test_gradients_inside_and_outside(self):
        x = torch.randn(4, 3, requires_grad=True)
        slopes = vmap(torch.func.grad(lambda a: (a**3).sum()))(x)
        same(slopes, 3 * x**2)
        slopes.sum().backward()
        same(x.grad, 6 * x)

    def test_gradients_of_samples_have_no_history_of_their_own(self):
        def loss(w, a):
            return (w.t() @ a).sin().sum()

        made = vmap(torch.func.grad(loss), in_dims=(None, 0))(torch.ones(3, 2), rows())
        assert not made.requires_grad
        w = torch.ones(3, 2, requires_grad=True)
        vmap(torch.func.grad(loss), in_dims=(None, 0))(w, rows()).sum().backward()
        single = torch.ones(3, 2, requires_grad=True)
        sum([torch.func.grad(loss)(single, row).sum() for row in rows()]).backward()
        same(w.grad, single.grad)

    def test_a_captured_leaf_gets_the_gradient_of_all_samples(self):
        w = torch.ones(3, requires_grad=True)
        vmap(lambda a: a @ w)(rows()).sum().backward()
        same(w.grad, rows().sum(0))

    def test_the_jacobian_by_batched_gradients(self):
        x = torch.randn(3, requires_grad=True)
        y = x.sin()
        made = vmap(lambda v: torch.autograd.grad(y, x, v)[0])(torch.eye(3))
        same(made, torch.diag(x.cos()))


class TestWrites:
    def test_a_view_of_a_sample_is_written_through(self):
        def f(a):
            a = a.clone()
            a[1:].mul_(10)
            a[0] = 7
            return a

        same(vmap(f)(rows()), torch.tensor([[7.0, 10, 20], [7, 40, 50]]))

    def test_the_argument_itself_is_written(self):
        x = rows()
        vmap(lambda a: a.add_(1))(x)
        same(x, rows() + 1)

    def test_zeros_like_a_sample_hold_samples(self):
        def f(a):
            made = torch.zeros_like(a)
            made += a
            return made

        same(vmap(f)(rows()), rows())

    def test_tensors_made_for_a_sample_hold_samples(self):
        makers = [
            lambda a: torch.full_like(a, 2.0),
            lambda a: a.new_zeros(3),
            lambda a: a.new_ones((3,)),
            lambda a: a.new_empty(3).fill_(0),
            lambda a: a.new_full([3], 4.0),
        ]
        for make in makers:
            same(vmap(lambda a, make=make: make(a).copy_(a))(rows()), rows())

        def pairs(a, b):
            made = (a * b).new_zeros(2)
            made[0], made[1] = a, b
            return made

        nested = vmap(vmap(pairs, (None, 0)), (0, None))(rows()[0], rows()[1])
        same(nested[1, 2], torch.stack([rows()[0, 1], rows()[1, 2]]))

    def test_writes_at_indices_of_samples(self):
        x, positions = torch.zeros(2, 3), torch.tensor([2, 0])

        def f(a, k):
            a = a.clone()
            a[k] = 1.0
            a.index_add_(0, k.reshape(1), torch.ones(1))
            return a

        same(vmap(f)(x, positions), torch.tensor([[0.0, 0, 2], [2, 0, 0]]))

    def test_gradients_of_writes(self):
        x = rows().requires_grad_()

        def f(a):
            b = a.clone()
            b[0].mul_(a[1])
            return (b * b).sum()

        vmap(f)(x).sum().backward()
        y = rows().requires_grad_()
        sum([f(row) for row in y]).backward()
        same(x.grad, y.grad)


class TestIndexing:
    def test_by_an_index_of_each_sample(self):
        x, k = torch.arange(24.0).reshape(2, 3, 4), torch.tensor([[0, -1], [1, 1]])
        for key in (lambda k: k, lambda k: (slice(None), k), lambda k: (k, 1), lambda k: (k, k)):
            made = vmap(lambda a, i, key=key: a[key(i)])(x, k)
            same(made, torch.stack([x[n][key(k[n])] for n in range(2)]))

    def test_by_a_number_of_each_sample(self):
        x, k = torch.arange(24.0).reshape(2, 3, 4), torch.tensor([2, -1])
        same(vmap(lambda a, i: a[i])(x, k), torch.stack([x[0, 2], x[1, -1]]))
        same(vmap(lambda a, i: a[..., i])(x, k), torch.stack([x[0, :, 2], x[1, :, -1]]))
        same(vmap(lambda i: x[0, i])(k), torch.stack([x[0, 2], x[0, -1]]))

    def test_an_index_out_of_range_raises(self):
        x, k = rows(), torch.tensor([[0], [5]])
        for f in (
            lambda a, i: a[i],
            lambda a, i: a.gather(0, i),
            lambda a, i: a.index_add(0, i, a[:1]),
            lambda a, i: a.scatter_add(0, i, a),
        ):
            with pytest.raises((IndexError, RuntimeError), match="out of (bounds|range)"):
                vmap(f)(x, k)  # fmt: skip


class TestRandomness:
    def test_different_samples_draw_different_numbers(self):
        made = vmap(lambda a: torch.rand(3) + 0 * a, randomness="different")(rows())
        assert (made[0] != made[1]).any()

    def test_the_same_numbers_for_all(self):
        made = vmap(lambda a: torch.rand(3) + 0 * a, randomness="same")(rows())
        assert (made[0] == made[1]).all()

    def test_chunks_draw_the_same_numbers_too(self):
        made = vmap(lambda a: torch.rand(3) + 0 * a, randomness="same", chunk_size=1)(rows())
        assert (made[0] == made[1]).all()

    def test_nested_levels_add_up(self):
        inner = lambda a: torch.rand(2) + 0 * a  # noqa: E731
        made = vmap(vmap(inner, randomness="same"), randomness="different")(rows())
        assert (made[0, 0] == made[0, 1]).all() and (made[0] != made[1]).any()

    @pytest.mark.parametrize("name", ["randn_like", "rand_like", "bernoulli"])
    def test_functions_of_a_sample(self, name):
        x = torch.full((8, 50), 0.5)
        made = vmap(getattr(torch, name), randomness="different")(x)
        assert made.shape == x.shape and (made[0] != made[1]).any()

    def test_permutations(self):
        made = vmap(lambda a: torch.randperm(9) + 0 * a.sum().long(), randomness="different")(
            torch.ones(4, 1)
        )
        same(made.sort(1).values, torch.arange(9).expand(4, 9))

    def test_written_in_place(self):
        made = vmap(lambda a: a.clone().normal_(), randomness="different")(torch.zeros(2, 9))
        assert (made[0] != made[1]).any()

    def test_dropout(self):
        x = torch.ones(2, 50)
        made = vmap(torch.nn.functional.dropout, randomness="same")(x)
        assert (made[0] == made[1]).all() and set(made[0].tolist()) == {0.0, 2.0}


class Product(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(a, b):
        return a * b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, grad * a

    @staticmethod
    def jvp(ctx, of_a, of_b):
        a, b = ctx.saved_tensors
        return of_a * b + a * of_b


class WithRule(Product):
    generate_vmap_rule = False
    called = None

    @staticmethod
    def vmap(info, in_dims, a, b):
        WithRule.called = (info.batch_size, info.randomness, in_dims)
        return WithRule.apply(a, b), 0


@pytest.mark.parametrize("function", [Product, WithRule])
class TestFunctions:
    def test_values_and_gradients_outside(self, function):
        x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
        w = torch.randn(4, dtype=torch.float64, requires_grad=True)

        def slopes(f):
            y = vmap(f, in_dims=(0, None))(x, w)
            return torch.autograd.grad((y**3).sum(), (x, w), create_graph=True)

        for made, wanted in zip(slopes(function.apply), slopes(torch.mul), strict=True):
            same(made, wanted)
            again = [torch.autograd.grad(g.sum(), x, retain_graph=True)[0] for g in (made, wanted)]
            same(*again)

    def test_gradients_inside(self, function):
        x, w = torch.randn(3, 4), torch.randn(4)

        def slope(f):
            return vmap(torch.func.grad(lambda a, b: f(a, b).sin().sum(), (0, 1)), (0, None))

        for made, wanted in zip(slope(function.apply)(x, w), slope(torch.mul)(x, w), strict=True):
            same(made, wanted)

    def test_forward_mode_around(self, function):
        x, w = torch.randn(3, 4), torch.randn(4)

        def tangent(f):
            g = lambda a: vmap(f, (0, None))(a, w)  # noqa: E731
            return torch.func.jvp(g, (x,), (torch.ones_like(x),))[1]

        same(tangent(function.apply), tangent(torch.mul))


def test_a_rule_is_told_of_the_batch():
    vmap(WithRule.apply, in_dims=(0, None), randomness="same")(rows(), torch.ones(3))
    assert WithRule.called == (2, "same", (0, None))


def test_a_kernel_of_the_user_runs_for_each_sample():
    def double(x, out):
        for i in range(x.shape[0]):
            out[i] = 2 * x[i]

    def double_backward(grad_out, grad_x):
        for i in range(grad_out.shape[0]):
            grad_x[i] = 2 * grad_out[i]

    kernel = torch.kernel(double, double_backward)
    x = rows().requires_grad_()
    made = vmap(lambda a: kernel(a).sum())(x)
    same(made, 2 * rows().sum(1))
    made.sum().backward()
    same(x.grad, torch.full((2, 3), 2.0))
    same(vmap(torch.func.grad(lambda a: kernel(a).sum()))(rows()), torch.full((2, 3), 2.0))


def test_the_text_of_a_sample_shows_all():
    seen = []
    vmap(lambda a: (seen.append(repr(a)), a)[1])(torch.tensor([1.0, 2.0]))
    assert seen == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([1., 2.])\n)"]


def test_a_sample_that_is_kept_cannot_be_used_later():
    kept = []
    vmap(lambda a: (kept.append(a), a)[1])(rows())
    with pytest.raises(RuntimeError, match="after the vmap that made it had returned"):
        kept[0] + 1


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, text = ERRORS[name]
    assert message(call, torch, vmap) != "nothing was raised"
    with pytest.raises((RuntimeError, ValueError, IndexError), match=text):
        call(torch, vmap)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "draw",
    [
        lambda t, **options: torch.bernoulli(t / 3, **options),
        lambda t, **options: torch.bernoulli(t, 0.5, **options),
        lambda t, **options: t.clone().bernoulli_(0.5, **options),
        lambda t, **options: t.clone().bernoulli_(t / 3, **options),
    ],
)
def test_bernoulli_draws_for_samples_what_it_draws_without_them(draw, dtype, own):
    x = torch.ones(4, 30, dtype=dtype)

    def numbers(function, *arguments):
        torch.manual_seed(1)
        options = {"generator": torch.Generator().manual_seed(2)} if own else {}
        return function(lambda *given: draw(*given, **options))(*arguments)

    each = numbers(lambda f: torch.vmap(f, randomness="different"), x)
    assert torch.equal(each, numbers(lambda f: f, x)) and 20 < each.sum() < 100
    same = numbers(lambda f: torch.vmap(lambda _: f(x[0]), randomness="same"), torch.ones(3))
    assert torch.equal(same, numbers(lambda f: f, x[0]).expand(3, 30))


class Pair:
    """Two tensors; a container as programs register them."""

    def __init__(self, a, b):
        self.a, self.b = a, b


class Rows:
    """A container that adds and removes the dimension of the samples itself, as ``TensorDict``."""

    def __init__(self, table):
        self.table = table

    def dim(self):
        return self.table.dim()

    def size(self, dim):
        return self.table.size(dim)

    def _add_batch_dim(self, *, in_dim, vmap_level):
        return Rows(torch._C._functorch._add_batch_dim(self.table, in_dim, vmap_level))

    def _maybe_remove_batch_dim(self, name, vmap_level, batch_size, out_dim):
        remove = torch._C._functorch._remove_batch_dim
        return Rows(remove(self.table, vmap_level, batch_size, out_dim))


def test_registered_containers():
    torch.utils._pytree.register_pytree_node(
        Pair, lambda pair: ([pair.a, pair.b], None), lambda leaves, context: Pair(*leaves)
    )
    table, row = torch.ones(3, 2), torch.arange(2.0)

    def twisted(pair):
        return Pair(pair.a * 2, pair.a @ pair.b)

    made = torch.vmap(twisted, in_dims=0, out_dims=-1)(Pair(table, row.expand(3, 2)))
    assert made.a.shape == (2, 3) and made.b.tolist() == [1.0, 1.0, 1.0]
    gradient = torch.func.grad(lambda pair: (pair.a * pair.b).sum())(Pair(table[0], row))
    assert gradient.a.tolist() == [0.0, 1.0] and gradient.b.tolist() == [1.0, 1.0]
    jacobian = torch.func.jacrev(lambda pair: Pair(pair.a * pair.b, pair.a.sum()))(Pair(row, row))
    assert jacobian.a.b.tolist() == [[0.0, 0.0], [0.0, 1.0]] and jacobian.b.a.tolist() == [1.0, 1.0]


def test_containers_that_are_leaves():
    rows = Rows(torch.arange(6.0).reshape(2, 3))
    made = torch.vmap(lambda rows, x: Rows(rows.table * x), (1, 0), 1)(rows, torch.arange(3.0))
    assert made.table.tolist() == [[0.0, 1.0, 4.0], [0.0, 4.0, 10.0]]
