"""``numbagrad.kernel``: loops of a user's as operators, eager, recorded and in programs."""

from __future__ import annotations

import pathlib
import runpy
import warnings

import numba
import numpy as np
import pytest

import numbagrad as torch
from numbagrad.autograd import gradcheck, gradgradcheck
from numbagrad.executor.mode import NATIVE
from numbagrad.executor.plan.operations import Call, Opaque

compiles = pytest.mark.skipif(not NATIVE, reason="compile() runs functions as they are")
EXAMPLE = pathlib.Path(__file__).parent.parent / "examples" / "recurrence.py"


def cube(x, scale, y):
    for i in range(x.size):
        y.flat[i] = scale * x.flat[i] ** 3


def cube_backward(x, scale, grad_y, grad_x):
    for i in range(x.size):
        grad_x.flat[i] = 3 * scale * x.flat[i] ** 2 * grad_y.flat[i]


def cube_backward_twice(x, scale, grad_y, grad2_grad_x, grad2_x, grad2_grad_y):
    for i in range(x.size):
        flow = grad2_grad_x.flat[i]
        grad2_x.flat[i] = 6 * scale * x.flat[i] * grad_y.flat[i] * flow
        grad2_grad_y.flat[i] = 3 * scale * x.flat[i] ** 2 * flow


def rotate(x, y, angle, u, v):
    c, s = np.cos(angle), np.sin(angle)
    for i in range(x.size):
        u[i] = c * x[i] - s * y[i]
        v[i] = s * x[i] + c * y[i]


def rotate_backward(angle, grad_u, grad_v, grad_x, grad_y):
    rotate(grad_u, grad_v, -angle, grad_x, grad_y)


def same_shapes(x, y, angle):
    return [x, y]


def python_and_numba():
    compiled = numba.njit(rotate)

    @numba.njit
    def backward(angle, grad_u, grad_v, grad_x, grad_y):
        compiled(grad_u, grad_v, -angle, grad_x, grad_y)

    return {
        "python": torch.kernel(rotate, rotate_backward, shapes=same_shapes),
        "numba": torch.kernel(compiled, backward, shapes=same_shapes),
    }


KERNELS = python_and_numba()
cubes = torch.kernel(
    numba.njit(cube),
    torch.kernel(numba.njit(cube_backward), numba.njit(cube_backward_twice)),
    shapes=lambda x, scale: x,
)


def leaf(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


# --- eager ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KERNELS)
def test_several_outputs_numbers_and_gradients(kind):
    operator = KERNELS[kind]
    x, y = leaf(5), leaf(5)
    u, v = operator(x, y, 0.3)
    np.testing.assert_allclose(
        u.detach().numpy(), np.cos(0.3) * x.detach().numpy() - np.sin(0.3) * y.detach().numpy()
    )
    assert u.grad_fn is v.grad_fn and u.grad_fn.name() == "RotateBackward"
    assert gradcheck(lambda x, y: operator(x, y, 0.3), (x, y))
    assert gradcheck(lambda x: operator(x, y.detach(), 0.3)[1], (x,))  # the other gradient is None
    assert "rotate(x, y, angle) -> u, v" in repr(operator)


def test_a_backward_that_is_a_kernel_is_differentiated_again():
    x = leaf(2, 3)
    assert gradcheck(lambda x: cubes(x, 0.5), (x,))
    assert gradgradcheck(lambda x: cubes(x, 0.5), (x,))
    assert cubes(x, scale=2.0).grad_fn.name() == "CubeBackward"


def test_a_backward_without_a_backward_raises_only_when_asked():
    x, y = leaf(3), leaf(3)
    (gradient,) = torch.autograd.grad(KERNELS["numba"](x, y, 1.0)[0].sum(), x, create_graph=True)
    np.testing.assert_allclose(gradient.detach().numpy(), np.full(3, np.cos(1.0)))
    seen = torch.ones(3, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(KERNELS["numba"](x, y, 1.0)[0], x, seen, create_graph=True)
    with pytest.raises(RuntimeError, match="rotate_backward: there is no gradient with respect to"):
        gradient.sum().backward()


def test_a_kernel_without_backward_computes_and_raises_in_backward():
    @torch.kernel(shapes=lambda x: x[:1])
    def row_sums(x, total):
        total[:] = x.sum(1)

    x = leaf(3, 4)
    total = row_sums(x)
    np.testing.assert_allclose(total.detach().numpy(), x.detach().numpy().sum(1))
    with pytest.raises(RuntimeError, match="backward that writes grad_x, or pass the input"):
        total.sum().backward()


def test_backwards_run_only_for_gradients_that_are_needed():
    calls = []

    def weigh(x, w, y):
        y[:] = x * w

    def to_x(w, grad_y, grad_x):
        calls.append("x")
        grad_x[:] = w * grad_y

    def to_w(x, grad_y, grad_w):
        calls.append("w")
        grad_w[:] = x * grad_y

    operator = torch.kernel(weigh, (to_x, to_w))
    x, w = leaf(4), leaf(4)
    operator(x, w.detach()).sum().backward()
    assert calls == ["x"] and w.grad is None
    assert gradcheck(operator, (x, w))


def test_arrays_are_given_in_c_order_and_dtypes_can_be_chosen():
    seen = []

    def look(x, n, floats, counts):
        seen.append((x.flags.c_contiguous, x.shape))
        floats[...] = x.sum() * n
        counts[...] = x.size

    operator = torch.kernel(
        look, shapes=lambda x, n: [(), (n,)], dtypes=lambda x, n: [x, torch.int64]
    )
    floats, counts = operator(torch.ones(3, 2).t().expand(4, 2, 3), 2)
    assert seen == [(True, (4, 2, 3))]
    assert floats.shape == () and floats.item() == 48 and floats.dtype is torch.float32
    assert counts.tolist() == [24, 24] and counts.dtype is torch.int64


def test_a_saved_tensor_that_is_overwritten_raises():
    x = leaf(3)
    y = cubes(x * 1, 1.0)
    z = cubes(y, 1.0)
    with torch.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_hooks_see_what_a_kernel_saves():
    kernel = torch.kernel(cube, cube_backward)
    packed = []

    def pack(tensor):
        packed.append(tuple(tensor.shape))
        return tensor * 2

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda twice: twice / 2):
        y = kernel(x, 0.5)
    y.sum().backward()
    assert packed == [(2,)]
    np.testing.assert_allclose(x.grad.numpy(), [1.5, 6.0])


def test_errors_name_kernel_shapes_and_dtypes():
    def fails(x, y):
        raise ValueError("no such thing")

    with pytest.raises(RuntimeError, match=r"fails\(x: float32 \(2, 3\), y: .*no such thing"):
        torch.kernel(fails)(torch.ones(2, 3))
    with pytest.raises(TypeError, match=r"returned a ndarray; it has to write its outputs \(y\)"):
        torch.kernel(lambda x, y: x + 1, name="adds")(torch.ones(2))
    with pytest.raises(TypeError, match="takes 3 inputs"):
        KERNELS["numba"](torch.ones(2))
    with pytest.raises(TypeError, match="x is a NumPy ndarray; pass a Tensor"):
        KERNELS["numba"](np.ones(2), torch.ones(2), 1.0)
    with pytest.raises(TypeError, match=r"shapes\(\) returned .* for its outputs u, v"):
        torch.kernel(rotate, shapes=lambda x, y, angle: x)(torch.ones(2), torch.ones(2), 1.0)
    with pytest.raises(TypeError, match="which leaves no output"):
        torch.kernel(cube, shapes=lambda a, b, c: a)
    with pytest.raises(TypeError, match="has a parameter 'gradient'; it may read x, scale, y"):
        torch.kernel(cube, lambda x, gradient: None)
    with pytest.raises(TypeError, match="writes no gradient; name one grad_x or grad_scale"):
        torch.kernel(cube, lambda x, grad_y: None)
    with pytest.raises(TypeError, match="cannot have the parameter"):
        torch.kernel(lambda *arrays: None)


# --- compiled -------------------------------------------------------------------------------------


def programs(compiled):
    return [recorded.program for found in compiled._programs.values() for recorded in found]


def trained(operator):
    torch.manual_seed(1)
    x, y = leaf(6, dtype=torch.float32), leaf(6, dtype=torch.float32)
    update = torch.optim.Adam([x, y], lr=0.05)

    def step(angle):
        update.zero_grad()
        u, v = operator(x, y, angle)
        loss = (u * u - v).pow(2).sum() + x.tanh().sum()
        loss.backward()
        update.step()
        return loss

    return step


@compiles
@pytest.mark.parametrize("kind", KERNELS)
def test_a_compiled_step_holds_the_kernel(kind):
    plain, compiled = trained(KERNELS[kind]), torch.compile(trained(KERNELS[kind]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(8):
            angle = 0.3 if step < 4 else 0.4
            assert compiled(angle).item() == pytest.approx(plain(angle).item(), rel=1e-5)
    for program in programs(compiled):
        expected = Opaque if kind == "numba" else Call
        found = [x.name for x in program.operations if isinstance(x, expected)]
        assert found == ["rotate", "rotate_backward"]
        assert (len(program._parts) == 1) == (kind == "numba")


@compiles
def test_second_derivatives_compile():
    x = leaf(5)

    def step():
        x.grad = None
        (gradient,) = torch.autograd.grad(cubes(x, 2.0).sum(), x, create_graph=True)
        gradient.pow(2).sum().backward()
        return x.grad * 1

    compiled = torch.compile(step)
    expected = 2 * 6 * 12 * x.detach().numpy() ** 3
    for _ in range(4):
        np.testing.assert_allclose(compiled().numpy(), expected)
    assert all([len(program._parts) == 1 for program in programs(compiled)])


@compiles
def test_a_kernel_that_raises_in_a_program_stops_it():
    @numba.njit
    def checked(x, y):
        if x[0] < 0:
            raise ValueError("negative")
        y[:] = x

    operator = torch.kernel(checked)
    total = torch.zeros(2)

    @torch.compile
    def step(x):
        total.add_(operator(x))

    for _ in range(3):
        step(torch.ones(2))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="kernel checked.*negative"):
            step(-torch.ones(2))
        step(torch.ones(2))
    assert total.tolist() == [5.0, 5.0]


@compiles
def test_a_function_with_signatures_of_its_own_runs_in_python():
    @numba.njit("void(f4[:], f4[:])")
    def double(x, y):
        for i in range(x.size):
            y[i] = 2 * x[i]

    compiled = torch.compile(lambda x: torch.kernel(double)(x) + 1)
    for _ in range(3):
        assert compiled(torch.ones(2)).tolist() == [3.0, 3.0]


def test_the_example_finds_the_decays(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["recurrence.py"])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    printed = capsys.readouterr().out
    assert "gradcheck: True" in printed
    assert "decays found: 0.200 0.500 0.800 0.950" in printed


def test_the_gradient_of_an_output_that_the_backward_does_not_read_is_an_error():
    def halve(x, half, rest):
        half[:] = x / 2
        rest[:] = x - x / 2

    def backward(grad_half, grad_x):
        grad_x[:] = grad_half / 2

    kernel = torch.kernel(halve, backward, shapes=lambda x: [x, x])
    x = leaf(3)
    half, rest = kernel(x)
    half.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(3, 0.5))
    half, rest = kernel(x)
    with pytest.raises(RuntimeError, match=r"output rest.*parameter grad_rest, or pass rest"):
        (half + rest).sum().backward()
    assert x.grad.tolist() == [0.5] * 3
    half, rest = kernel(x)
    (half + rest.detach()).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(3, 1.0))


def test_half_precision_and_strides_leave_one_node():
    x = torch.ones(3, 2, dtype=torch.bfloat16).requires_grad_()
    y = torch.kernel(_double, _double_backward)(x.t())
    assert y.dtype is torch.bfloat16 and y.tolist() == [[2.0] * 3] * 2
    assert y.grad_fn.next_functions[0][0].name() == "TBackward0"
    y.sum().backward()
    assert x.grad.dtype is torch.bfloat16 and (x.grad == 2).all()


def test_an_output_of_half_precision_needs_no_input_of_it():
    y = torch.kernel(_double, _double_backward, dtypes=torch.float16)(torch.ones(3))
    assert y.dtype is torch.float16 and y.tolist() == [2.0] * 3


def _double(x, y):
    assert x.dtype == y.dtype == np.float32 and x.flags.c_contiguous
    y[:] = 2 * x


def _double_backward(grad_y, grad_x):
    assert grad_y.dtype == grad_x.dtype == np.float32
    grad_x[:] = 2 * grad_y


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_computed_in_float32_and_rounded_once(dtype):
    seen = []

    def backward(grad_y, x, grad_x):
        grad_x[:] = 3 * x * x * grad_y

    @torch.kernel(backward=backward)
    def cube(x, y):
        seen.append((x.dtype, y.dtype))
        y[:] = x * x * x

    x = torch.tensor([1.25, -2.5], dtype=dtype, requires_grad=True)
    y = cube(x)
    assert seen == [(np.float32, np.float32)]
    assert (y.dtype, y.tolist()) == (dtype, (x * x * x).detach().tolist())
    y.sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (dtype, [4.6875, 18.75])
