"""`explain` shows the kernels of a call: signature, source and file; `stats` counts them."""

import pytest
from compile_checks import needs_programs

import numbagrad as torch
from numbagrad import executor


def test_an_operator_call_shows_its_signature_source_and_file():
    a, b = torch.ones(4, 5), torch.ones(4, 5)
    explanation = executor.explain(torch.mul, a, b)
    (kernel,) = explanation.kernels
    assert kernel.name == "mul" and kernel.origin in ("compiled", "loaded")
    assert "t0 = x * y" in kernel.source
    assert kernel.path.read_text() == kernel.source
    text = str(explanation)
    assert "x float32 contiguous, y float32 contiguous -> out float32 contiguous" in text
    assert "computed in float32" in text
    assert str(kernel.path) in text
    assert "def kernel(args, lo, hi):" in text
    assert explanation.result.tolist() == [[1.0] * 5] * 4


def test_operands_are_named_by_dtype_and_layout():
    doubles, column = torch.ones(4, 5, dtype=torch.float64), torch.ones(4, 1)
    text = str(executor.explain(torch.add, doubles, column))
    assert "x float64 contiguous, y float32 repeated" in text
    assert "computed in float64" in text
    assert "repeated: one element" in text
    text = str(executor.explain(torch.add, doubles.t(), doubles.t().contiguous()))
    assert "strided" in text


def test_a_kernel_that_was_known_before_is_shown_all_the_same():
    a = torch.ones(3, 3)
    first, second = executor.explain(torch.sub, a, a), executor.explain(torch.sub, a, a)
    assert [kernel.source for kernel in first.kernels] == [k.source for k in second.kernels]
    assert len(second.kernels) == 1


def test_a_graph_and_its_backward_are_shown_in_order():
    a = torch.ones(3, 4, requires_grad=True)
    explanation = executor.explain(lambda: (a * a).sum().backward())
    names = [kernel.name for kernel in explanation.kernels]
    assert names[:2] == ["mul", "sum"] and "mul_backward" in names
    assert a.grad.tolist() == [[2.0] * 4] * 3


def test_hand_written_kernels_are_named_by_module_and_function():
    a = torch.ones(3, 3)
    for _ in range(2):
        explanation = executor.explain(torch.mm, a, a)
        (kernel,) = explanation.kernels
        assert (kernel.module, kernel.name) == (
            "numbagrad.kernels.matmul.product",
            "matmul_tiles_float32",
        )
        assert "numbagrad.kernels.matmul.product.matmul_tiles_float32" in str(explanation)


def test_a_call_without_kernels_says_so():
    assert str(executor.explain(len, [])) == "len ran no kernels"


def test_an_error_passes_through_and_leaves_nothing_behind():
    with pytest.raises(RuntimeError, match="must match the size"):
        executor.explain(torch.add, torch.ones(2), torch.ones(3))
    assert executor.cache.library.listener is None
    assert (torch.ones(2) + torch.ones(2)).tolist() == [2.0, 2.0]


def test_sizes_never_compile_anything():
    torch.ones(3, 4) + torch.ones(3, 4)
    before = executor.stats()
    for rows in range(1, 20):
        torch.ones(rows, 4) + torch.ones(rows, 4)
    after = executor.stats()
    assert (after.compiled, after.loaded) == (before.compiled, before.loaded)


def test_statistics_read_as_a_sentence():
    statistics = executor.Statistics(compiled=2, loaded=3, hits=5, seconds=0.25)
    assert str(statistics) == (
        "2 kernels compiled, 3 loaded from disk, 5 found in memory, in 0.25 s"
    )
    assert executor.stats() is not executor.stats()


# --- the pair of an operator: torch.explain(operator)(*arguments) ---------------------------------

F = torch.nn.functional
X = torch.arange(12.0).reshape(3, 4) - 5
PAIRS = [
    (torch.relu, (X,), ["relu"], ["relu_backward"], ["result float32[3, 4]"]),
    (torch.clamp, (X, 0, 1), ["clamp"], ["clamp_backward"],
     ["self float32[3, 4]", "min=0", "max=1"]),
    (torch.mul, (X, X), ["mul"], ["mul_backward"], ["self float32[3, 4]", "other float32[3, 4]"]),
    (torch.mm, (X, X.t()), ["matmul_tiles_float32"], ["matmul_tiles_float32"],
     ["self float32[3, 4]", "mat2 float32[4, 3]"]),
    (torch.sum, (X,), ["sum"], [], ["self_sym_sizes=(3, 4)"]),
    (torch.stack, ([X, X],), None, ["add"], ["dim=0"]),
    (torch.Tensor.mul, (X, 2.0), ["mul"], ["mul_backward"], ["other=2.0"]),
    (F.layer_norm, (X, (4,)), None, None, ["float32[3, 4]", "float32[3, 1]", "float32[3, 1]"]),
]  # fmt: skip


def with_gradient(value):
    if isinstance(value, list):
        return [with_gradient(value[0])] * len(value)
    return value.clone().requires_grad_() if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize(
    ("operator", "arguments", "forward", "backward", "saved"),
    [
        pytest.param(*row, id=row[0].__name__, marks=[needs_programs] * (row[0] is F.layer_norm))
        for row in PAIRS
    ],
)
def test_the_pair_of_an_operator(operator, arguments, forward, backward, saved):
    arguments = [with_gradient(value) for value in arguments]
    F.layer_norm.composite.forget()  # of many forms, a new one is not fused at its first call
    found = torch.explain(operator)(*arguments)
    node = found.result.grad_fn.name()
    assert found.saved == ((node, tuple(saved)),)
    names = [[kernel.name for kernel in part] for part in (found.kernels, found.backward)]
    assert forward is None or names[0] == forward
    assert backward is None or names[1] == backward
    text = str(found)
    assert f"{node} keeps {', '.join(saved)}" in text and f"backward of {operator.__name__}" in text
    for kernel in (*found.kernels, *found.backward):
        assert kernel.source is None or str(kernel.path) in text
    assert set(found.kernels).isdisjoint(found.backward) or operator.__name__ == "mm"
    assert all(x.grad is None for x in arguments if isinstance(x, torch.Tensor))
    found.result.sum().backward()  # the graph of the result is as it was
    leaf = arguments[0][0] if operator.__name__ == "stack" else arguments[0]
    assert leaf.grad is not None


def test_an_operator_of_several_nodes_shows_what_each_keeps():
    x, weight = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
    found = torch.explain(F.linear)(x, weight)
    assert [node for node, _ in found.saved] == ["MmBackward0", "TBackward0"]
    assert [kernel.name for kernel in found.backward] == ["matmul_tiles_float32"]


def test_without_a_gradient_there_is_a_forward_alone():
    assert not hasattr(torch.explain(torch.relu)(X), "backward")
    with torch.no_grad():
        assert not hasattr(torch.explain(torch.relu)(with_gradient(X)), "backward")


def test_a_pair_knows_its_signature_and_what_it_compiled():
    x, weight = with_gradient(X), torch.ones(4, 5, requires_grad=True)
    pair = torch.explain(torch.mm)(x, weight).pair
    assert pair.signature == "float32[3, 4], float32[4, 5]"
    assert [kernel.name for kernel in pair.forward_kernels] == ["matmul_tiles_float32"]
    assert pair.kept == (("MmBackward0", ("self float32[3, 4]", "mat2 float32[4, 5]")),)
    assert "mat2 float32[4, 5]" in str(torch.functions.Mm.kernels(x, weight))


@needs_programs
def test_the_pair_of_a_composite_operator_is_the_one_that_runs():
    F.layer_norm.composite.forget()
    x = with_gradient(X)
    found = torch.explain(F.layer_norm)(x, (4,))
    assert found.pair is found.result.grad_fn.pair
    assert found.pair in F.layer_norm.composite.pairs
    assert found.pair.signature.startswith("float32[3, 4], [4]")
    assert found.backward == found.pair.backward_kernels != ()


@needs_programs
def test_a_function_of_a_user_with_one_operator_is_explained_as_that():
    x = with_gradient(X)
    F.layer_norm.composite.forget()
    found = torch.explain(lambda x: F.layer_norm(x, (4,)))(x)
    assert [node for node, _ in found.saved] == ["NativeLayerNormBackward0"]


@needs_programs
def test_the_pair_of_a_compiled_function_is_what_runs_it():
    step = torch.compile(lambda x: (x.exp() * 2).sum())
    x = with_gradient(X)
    for _ in range(3):
        step(x).backward()
    found = torch.explain(step)(x)
    assert found.pair.signature == "float32[3, 4]"
    assert found.pair.forward_kernels and found.pair.backward_kernels
    ((node, kept),) = found.pair.kept
    assert node == "CompiledFunctionBackward" and kept


class TestNodes:
    def test_a_node_has_the_pair_of_the_call_that_left_it(self):
        a, b = [torch.ones(4, 5, requires_grad=True) for _ in range(2)]
        result = a * b
        explanation = torch.explain(result.grad_fn)
        assert [kernel.name for kernel in explanation.kernels] == ["mul"]
        assert [kernel.name for kernel in explanation.backward] == ["mul_backward"]
        assert explanation.saved == (
            ("MulBackward0", ("self float32[4, 5]", "other float32[4, 5]")),
        )
        assert explanation.pair is torch.explain(torch.mul)(a, b).pair
        assert str(explanation).startswith("MulBackward0 ran 1 kernel")

    @needs_programs
    def test_of_a_product_and_a_composite_operator(self):
        a, b = torch.ones(4, 5, requires_grad=True), torch.ones(5, 3, requires_grad=True)
        assert torch.explain(a.mm(b).grad_fn).pair is torch.explain(torch.mm)(a, b).pair
        normal = torch.nn.functional.layer_norm(a, (5,))
        pair = torch.explain(normal.grad_fn).pair
        assert pair is normal.grad_fn.pair and pair.forward_kernels and pair.backward_kernels

    @needs_programs
    def test_of_a_compiled_function(self):
        step = torch.compile(lambda x: (x * x).sum().exp())
        x = torch.full((3,), 0.1, requires_grad=True)
        for _ in range(3):
            result = step(x)
        assert torch.explain(result.grad_fn).pair is torch.explain(step)(x).pair

    def test_within_a_graph_whose_tensors_are_gone(self):
        x = torch.ones(3, requires_grad=True)
        loss = x.sin().exp()
        sine = torch.explain(loss.grad_fn.next_functions[0][0])
        assert [kernel.name for kernel in sine.kernels] == ["sin"]
        assert [kernel.name for kernel in sine.backward] == ["sin_backward"]

    @needs_programs
    def test_of_an_operand_that_nothing_keeps(self):
        x = torch.ones(3, 7, requires_grad=True)
        explanation = torch.explain((x + 1).grad_fn)
        assert {kernel.name for kernel in explanation.kernels} == {"add"}
        assert explanation.saved == (("AddBackward0", ("alpha=1",)),)
        found = explanation.pair.signature.split(" or ")
        assert "float32[3, 7], int" in found and 1 <= explanation.calls <= len(found)
        (kernel,) = torch.explain(torch.add)(x, 1).kernels
        assert kernel in explanation.kernels
        assert (explanation.calls > 1) == ("was one of" in str(explanation))

    def test_of_sums_and_of_layers(self):
        x = torch.ones(4, 5, requires_grad=True)
        for total in (x.sum(), x.mean(1)):
            explanation = torch.explain(total.grad_fn)
            assert [k.name for k in explanation.kernels] == [total.grad_fn.name()[:-9].lower()]
            assert explanation.pair.signature.startswith("float32[4, 5]")
        pair = torch.explain(torch.sum)(x).pair
        assert torch.explain(x.sum().grad_fn).pair is pair
        layer = torch.nn.Linear(5, 3)
        explanation = torch.explain(layer(x.sin()).grad_fn)
        assert explanation.pair.signature == "float32[3], float32[4, 5], float32[3, 5]"
        assert [kernel.name for kernel in explanation.kernels] == ["matmul_tiles_float32", "add"]

    def test_of_a_view(self):
        x = torch.ones(4, 5, requires_grad=True)
        explanation = torch.explain(x.t().grad_fn)
        assert explanation.kernels == () and explanation.pair.signature == "float32[4, 5]"

    def test_after_a_backward_that_freed_the_node(self):
        x = torch.ones(3, requires_grad=True)
        result = x.sin()
        result.sum().backward()
        with pytest.raises(RuntimeError):
            torch.explain(result.grad_fn)


def test_a_module_whose_parameters_alone_require_grad():
    layer = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    pair = torch.explain(layer)(torch.ones(4, 3))
    assert pair.kernels and pair.backward
    assert layer[0].weight.grad is None
