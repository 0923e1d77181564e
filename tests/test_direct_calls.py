"""Calls of compiled functions that compiled code decides, runs and answers, and their backward."""

import gc
import threading

import pytest

import numbagrad as torch
from numbagrad.executor.cache import deferred
from numbagrad.executor.mode import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="without a compiler nothing is recorded")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    """Compile the launchers at the first call that they could save time in."""
    monkeypatch.setattr(deferred, "CALLS_WORTH_COMPILING", 0)


def direct(function, *arguments):
    """A compiled function whose next call is one of compiled code."""
    compiled = torch.compile(function)
    for _ in range(4):
        compiled(*arguments)
    assert compiled._direct is not None
    assert answered(compiled, *arguments)
    return compiled


def answered(compiled, *arguments):
    """Whether compiled code answers a call; the call is made."""
    made = compiled._direct(*arguments)
    return type(made) is not object


def differentiated(function, *arguments):
    """What a function returns, and the gradients of its arguments."""
    leaves = [x.detach().clone().requires_grad_(x.requires_grad) for x in arguments]
    made = function(*leaves)
    made = [made] if isinstance(made, torch.Tensor) else made
    results = [x for x in made if isinstance(x, torch.Tensor) and x.requires_grad]
    torch.autograd.backward([x.sum() for x in results])
    return results, [x.grad for x in leaves if x.requires_grad]


x = torch.linspace(-1.0, 1.0, 12).reshape(3, 4)
w = torch.linspace(0.5, 2.0, 20).reshape(4, 5).requires_grad_()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: x @ w,
        lambda x, w: (x @ w).relu().sum(),
        lambda x, w: ((x @ w).exp(), w.exp().sum(0)),
        lambda x, w: (x @ w, x.detach() * 2),
        lambda x, w: (x, (x @ w).sigmoid(), 3, None),
    ],
)
def test_results_and_gradients_are_those_of_the_function(function):
    own, other = x.clone().requires_grad_(), w.detach().clone().requires_grad_()
    compiled = direct(function, own, other)
    for _ in range(2):  # the second backward is one call as well
        found, gradients = differentiated(compiled, own, other)
    expected, right = differentiated(function, own, other)
    for one, two in zip([*found, *gradients], [*expected, *right], strict=True):
        torch.testing.assert_close(one, two)
        assert one.requires_grad == two.requires_grad
    assert answered(compiled, own.detach().requires_grad_(), other)


def test_a_call_makes_a_node_as_python_does():
    own = x.clone().requires_grad_()
    compiled = direct(lambda x: x.exp() * 2, own)
    made = compiled(own)
    node = made.grad_fn
    assert type(node).__name__ == "CompiledFunctionBackward"
    assert node.next_functions[0][0].variable is own
    assert made._version == 0 and made.is_leaf is False
    made.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        made.sum().backward()


def test_gradients_reach_what_an_argument_was_computed_from():
    leaf = x.clone().requires_grad_()
    compiled = direct(lambda z: (z * z).tanh(), leaf * 2)
    for _ in range(3):
        leaf.grad = None
        compiled(leaf * 2).sum().backward()
    right = x.clone().requires_grad_()
    (right * 2).pow(2).tanh().sum().backward()
    torch.testing.assert_close(leaf.grad, right.grad)


@pytest.mark.parametrize("written", ["argument", "result"])
def test_a_write_between_forward_and_backward_is_noticed(written):
    own = x.clone().requires_grad_()
    other = torch.ones(3, 4)
    compiled = direct(lambda x, y: (x * y).exp(), own, other)
    made = compiled(own, other)
    (other if written == "argument" else made.detach()).add_(1)
    with pytest.raises(RuntimeError, match="modified by an"):
        made.sum().backward()


def test_backward_takes_gradients_that_lie_otherwise():
    own = x.clone().requires_grad_()
    compiled = direct(lambda x: x.exp(), own)
    for gradient in (torch.ones(3, 4), torch.ones(4, 3).t(), torch.ones(1, 1).expand(3, 4)):
        (found,) = torch.autograd.grad(compiled(own), own, gradient)
        torch.testing.assert_close(found, own.exp().detach())


def test_writes_are_counted_and_arguments_returned():
    buffer, one = torch.zeros(3), torch.ones(3)

    def function(a, out):
        out.add_(a)
        return out

    compiled = direct(function, one, buffer)
    version, before = buffer._version, buffer.clone()
    assert compiled(one, buffer) is buffer
    assert buffer._version == version + 1
    assert torch.equal(buffer, before + 1)


@pytest.mark.parametrize(
    "change",
    [
        torch.no_grad,
        torch.inference_mode,
        lambda: torch.autocast("cpu"),
        lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
        lambda: torch.autograd.set_detect_anomaly(False, check_nan=False),
        lambda: torch.profiler.profile(),
    ],
    ids=["no_grad", "inference", "autocast", "saved", "check_nan", "profile"],
)
@pytest.mark.filterwarnings("ignore:compile")
def test_settings_are_noticed(change):
    own, other = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)

    def function(a, b):
        made = a @ b
        return made * (2.0 if torch.is_grad_enabled() else 3.0)

    compiled = direct(function, own, other)
    with change():
        for _ in range(3):
            found, expected = compiled(own, other), function(own, other)
            assert found.dtype is expected.dtype and found.tolist() == expected.tolist()
            assert found.requires_grad == expected.requires_grad
            assert found.is_inference() == expected.is_inference()
    assert compiled(own, other).tolist() == function(own, other).tolist()


def test_hooks_of_every_module_are_noticed_and_forgotten():
    layer, own = torch.nn.Linear(2, 2), torch.ones(2, 2)
    seen = []
    compiled = direct(layer.forward, own)
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *given: seen.append(given))
    assert not answered(compiled, own)
    handle.remove()
    assert compiled(own).tolist() == layer(own).tolist()
    direct(lambda a: a.exp(), own)  # whatever there has been


def test_modes_take_turns():
    compiled = direct(lambda a: a.exp(), torch.ones(2))
    for _ in range(4):
        with torch.no_grad():
            compiled(torch.ones(2))
        compiled(torch.ones(2))
    with torch.no_grad():
        compiled(torch.ones(2))
        assert answered(compiled, torch.ones(2))
    assert not answered(compiled, torch.ones(2))
    compiled(torch.ones(2))
    assert answered(compiled, torch.ones(2))


def test_the_default_dtype_and_autocast_dtype_are_noticed():
    compiled = direct(lambda: torch.ones(2))
    torch.set_default_dtype(torch.float64)
    try:
        assert not answered(compiled)
        assert compiled().dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert compiled().dtype is torch.float32

    compiled = direct(lambda x: x * (1 + (torch.get_autocast_dtype("cpu") is torch.float16)), x)
    before = torch.get_autocast_dtype("cpu")
    torch.set_autocast_dtype("cpu", torch.float16)
    try:
        assert not answered(compiled, x)
        assert torch.equal(compiled(x), x * 2)
    finally:
        torch.set_autocast_dtype("cpu", before)
    assert torch.equal(compiled(x), x)


def test_settings_of_another_thread_change_nothing():
    compiled = direct(lambda a: a @ a, torch.ones(2, 2))
    inside, leave = threading.Event(), threading.Event()

    def other():
        with torch.autocast("cpu"):
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    try:
        assert compiled(torch.ones(2, 2)).dtype is torch.float32
    finally:
        leave.set()
        thread.join()
    assert answered(compiled, torch.ones(2, 2))


@pytest.mark.parametrize(
    "argument",
    [
        torch.ones(2, 3), torch.ones(3, 2).t(), torch.ones(2, 2, dtype=torch.float64),
        torch.ones(2, 2, requires_grad=True), torch.nn.Parameter(torch.ones(2, 2)), 2.0, None,
    ],
)  # fmt: skip
def test_arguments_of_another_form_are_left_to_python(argument):
    compiled = direct(lambda a: 1 if a is None else a * 2, torch.ones(2, 2))
    assert not answered(compiled, argument)


def test_what_the_function_reads_is_compared():
    state = {"factor": 2.0}
    weight = torch.ones(2)
    holder = [weight]
    compiled = direct(lambda a: a * state["factor"] + holder[0], torch.ones(2))
    state["factor"] = 5.0
    assert compiled(torch.ones(2)).tolist() == [6.0, 6.0]
    holder[0] = torch.full((2,), 10.0)
    assert compiled(torch.ones(2)).tolist() == [15.0, 15.0]
    holder[0].mul_(2)
    assert compiled(torch.ones(2)).tolist() == [25.0, 25.0]


def test_code_of_users_may_run_while_a_call_makes_its_objects():
    own = torch.ones(4, requires_grad=True)
    compiled = direct(lambda a: (a * 2).exp(), own)
    expected, seen = (own * 2).exp().tolist(), []

    def look(phase, information):
        if phase == "start" and not seen.append(1):
            gc.disable()
            assert compiled(own).tolist() == expected
            gc.enable()

    before = gc.get_threshold()
    gc.callbacks.append(look)
    gc.set_threshold(1)
    try:
        results = [compiled(own) for _ in range(20)]
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(look)
    assert seen
    assert all([made.tolist() == expected for made in results])


def test_a_capture_in_another_thread_does_not_see_it():
    compiled = direct(lambda a: a + 1, torch.ones(2))
    outer = torch.compile(lambda a: compiled(a) * 2)
    for k in range(4):
        assert outer(torch.full((2,), float(k))).tolist() == [2.0 * (k + 1)] * 2


@pytest.mark.parametrize(
    "context",
    [
        lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
        torch.autograd.graph.save_on_cpu,
        torch.autograd.graph.allow_mutation_on_saved_tensors,
        torch.autograd.detect_anomaly,
    ],
    ids=["hooks", "on_cpu", "mutation", "anomaly"],
)
@pytest.mark.filterwarnings("ignore:Anomaly")
def test_nodes_that_somebody_looks_at_are_those_of_the_function(context):
    own = torch.ones(2, 2, requires_grad=True)

    def function(a):
        return (a @ own).tanh()

    compiled = torch.compile(function)
    for _ in range(2):  # before it has a program, and behind that
        with context():
            result = compiled(torch.ones(2, 2))
            assert result.grad_fn.name() == "TanhBackward0"
            result.sum().backward()
        results = [compiled(torch.ones(2, 2)) for _ in range(3)]
        assert results[-1].grad_fn.name() == "CompiledFunctionBackward"


def test_hooks_that_are_written_into_the_tables_of_every_module_are_noticed():
    tables, layer = torch.nn.modules.module, torch.nn.Linear(2, 2)
    own, names = torch.ones(2, 2), []
    compiled = direct(layer.forward, own)
    whole = torch.compile(lambda a: layer(a))
    before = whole(own)
    tables._global_forward_hooks[-1] = lambda module, given, result: result * 2
    try:
        assert torch.equal(layer(own), before * 2)
        assert torch.equal(whole(own), before * 2)
        assert not answered(compiled, own)
    finally:
        tables._global_forward_hooks.clear()
    assert torch.equal(whole(own), before)
    table = tables._global_module_registration_hooks
    table.update({-1: lambda module, name, part: names.append(name)})
    try:
        torch.nn.Sequential(layer)
    finally:
        table.clear()
    assert names == ["0"]
