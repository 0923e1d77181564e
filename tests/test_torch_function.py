"""``__torch_function__``: classes and modes that override what public functions do."""

import copy
import inspect
import subprocess
import sys

import pytest

import numbagrad as torch
from numbagrad.dispatch import layers, public_names


@pytest.fixture(autouse=True)
def _overridable():
    torch.overrides.install()


@pytest.fixture
def seen():
    return []


@pytest.fixture
def logging(seen):
    """A class that notes the name of every function that it is asked about."""

    class Logging(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logging


@pytest.fixture
def x(logging):
    return torch.tensor([[1.0, -2.0], [3.0, -4.0]]).as_subclass(logging)


# --- what is asked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda x: x + 1, ["add"]),
        (lambda x: 1 + x, ["add"]),
        (lambda x: 1 - x, ["__rsub__"]),
        (lambda x: x**2, ["pow"]),
        (lambda x: x @ x, ["matmul"]),
        (lambda x: x > 0, ["gt"]),
        (lambda x: x == 0, ["__eq__"]),
        (lambda x: x[0], ["__getitem__"]),
        (lambda x: x.__setitem__(0, 1.0), ["__setitem__"]),
        (lambda x: torch.add(torch.ones(2, 2), x), ["add"]),
        (lambda x: torch.add(torch.ones(2, 2), other=x), ["add"]),
        (lambda x: torch.cat([torch.ones(1, 2), x]), ["cat"]),
        (lambda x: torch.nn.functional.relu(x), ["relu"]),
        (lambda x: torch.nn.Linear(2, 1)(x), ["linear"]),
        (lambda x: torch.linalg.inv(x), ["inv"]),
        (lambda x: x.softmax(0).sum().item(), ["softmax", "sum", "item"]),
        (lambda x: x.shape, ["__get__"]),
        (lambda x: x.T, ["__get__"]),
        (lambda x: list(x), ["unbind", "__len__"]),
        (lambda x: repr(x), ["__repr__"]),
        (lambda x: torch.tensor(3.0), []),
        (lambda x: torch.is_tensor(x), []),
    ],
)
def test_what_a_program_calls_is_seen_once(call, names, x, seen):
    call(x)
    assert seen == names


def test_the_function_that_is_seen_is_the_public_one():
    seen = []

    class Seeing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2, 2).as_subclass(Seeing)
    x + 1, x.add(1), torch.add(x, 1), torch.nn.functional.relu(x), x.T
    assert seen[:4] == [torch.Tensor.add, torch.Tensor.add, torch.add, torch.nn.functional.relu]
    assert seen[4] == torch.Tensor.T.__get__
    names = [torch.overrides.resolve_name(function) for function in seen[1:]]
    assert names == [
        "torch.Tensor.add", "torch.add", "torch.nn.functional.relu", "torch.Tensor.T.__get__",
    ]  # fmt: skip


def test_a_backward_pass_asks_nobody(x, seen):
    x.requires_grad_()
    loss = ((x * x).sigmoid().sum(0) ** 3).mean()
    seen.clear()
    loss.backward()
    assert seen == ["backward"]
    plain = torch.tensor(x.tolist(), requires_grad=True)
    ((plain * plain).sigmoid().sum(0) ** 3).mean().backward()
    assert type(x.grad) is torch.Tensor and torch.equal(x.grad, plain.grad)


# --- what comes back ------------------------------------------------------------------------------


def test_results_are_of_the_subclass_by_default():
    class Named(torch.Tensor):
        pass

    x = torch.ones(2, 2).as_subclass(Named)
    assert type(x) is Named and repr(x[0]) == "Named([1., 1.])"
    for result in (x + 1, x.sum(), torch.exp(x), x.T, x.detach(), torch.ones(2, 2) * x, x > 0):
        assert type(result) is Named
    values, indices = x.max(0)
    assert type(values) is Named and type(indices) is Named
    assert type(x.max(0)).__name__ == "max" and type(x.split(1)[0]) is Named
    assert type(x.shape) is torch.Size and type(x.tolist()) is list
    assert x.add_(1) is x and type(copy.deepcopy(x)) is Named
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is torch.Tensor


def test_of_a_class_and_its_subclass_the_latter_decides():
    class Base(torch.Tensor):
        pass

    class Derived(Base):
        pass

    base, derived = torch.ones(2).as_subclass(Base), torch.ones(2).as_subclass(Derived)
    assert type(base + derived) is Derived and type(derived + base) is Derived


def test_unrelated_classes_do_not_mix():
    class One(torch.Tensor):
        pass

    class Other(torch.Tensor):
        pass

    with pytest.raises(TypeError):
        torch.ones(2).as_subclass(One) + torch.ones(2).as_subclass(Other)


def test_gradients_flow_through_subclasses(logging):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = w.as_subclass(logging)
    assert x.grad_fn.name() == "AliasBackward0"
    (x * x).sum().backward()
    assert w.grad.tolist() == [2.0, 4.0]
    assert torch.autograd.gradcheck(
        lambda t: t.as_subclass(logging).exp(), torch.ones(3, dtype=torch.float64).requires_grad_()
    )


def test_parameters_are_treated_as_tensors(logging):
    parameter = torch.nn.Parameter(torch.ones(2))
    assert type(parameter * 2) is torch.Tensor
    assert not torch.overrides.has_torch_function((parameter, torch.ones(1), 2.0))


def test_a_function_that_returns_its_input_keeps_the_class(logging):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            return input

        @staticmethod
        def backward(ctx, grad):
            return 3 * grad

    x = torch.ones(2, requires_grad=True).as_subclass(logging)
    y = Same.apply(x)
    assert type(y) is logging and y.grad_fn.name() == "SameBackward"
    y.sum().backward()
    assert type(Same.apply(torch.ones(2).as_subclass(logging))) is logging


def test_the_gradient_of_a_function_that_returns_its_input(logging):
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            return input

        @staticmethod
        def backward(ctx, grad):
            return 3 * grad

    w = torch.ones(2, requires_grad=True)
    (Triple.apply(w.as_subclass(logging)) * 2).sum().backward()
    assert w.grad.tolist() == [6.0, 6.0]


def test_as_subclass_and_make_subclass():
    class Named(torch.Tensor):
        pass

    data = torch.ones(2)
    made = torch.Tensor._make_subclass(Named, data, True)
    assert type(made) is Named and made.is_leaf and made.requires_grad
    assert made.data_ptr() == data.data_ptr()
    with pytest.raises(TypeError, match="derives from Tensor"):
        data.as_subclass(int)


# --- objects that are no Tensors ------------------------------------------------------------------


class Diagonal:
    """The diagonal matrix of one value."""

    def __init__(self, size, value):
        self.size, self.value = size, value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.mean:
            return args[0].value / args[0].size
        if func is torch.add and all(issubclass(kind, (cls, torch.Tensor)) for kind in types):
            dense = [x.value * torch.eye(x.size) if isinstance(x, cls) else x for x in args]
            return func(*dense)
        return NotImplemented


def test_other_objects_take_part():
    assert torch.overrides.is_tensor_like(Diagonal(2, 3.0))
    assert torch.mean(Diagonal(4, 2.0)) == 0.5
    assert torch.add(Diagonal(2, 3.0), torch.ones(2, 2)).tolist() == [[4.0, 1.0], [1.0, 4.0]]
    message = "Multiple dispatch failed for 'torch.mul'; all __torch_function__ handlers returned"
    with pytest.raises(TypeError, match=message):
        torch.mul(Diagonal(2, 3.0), 2)


def test_functions_of_programs_can_be_overridden():
    def dispatcher(a, b=None):
        return (a, b)

    @torch.overrides.wrap_torch_function(dispatcher)
    def twice(a, b=None):
        return 2 * a

    class Zero:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return (func is twice, types, args, kwargs)

    zero = Zero()
    assert twice(3) == 6
    assert twice(zero) == (True, (Zero,), (zero,), {})
    assert torch.overrides.handle_torch_function(twice, (zero,), 1, b=2)[2:] == ((1,), {"b": 2})
    assert torch.overrides.has_torch_function_unary(zero)
    assert torch.overrides.has_torch_function_variadic(1, zero)


# --- modes ----------------------------------------------------------------------------------------


class Noting(torch.overrides.TorchFunctionMode):
    def __init__(self, seen, label=""):
        self.seen, self.label = seen, label

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(self.label + func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_every_call(seen):
    with Noting(seen):
        x = torch.ones(2)
        torch.nn.functional.relu(x + torch.rand(2)).sum()
        torch.tensor(1.0)
    x.sum()
    assert seen == ["ones", "rand", "add", "relu", "sum", "tensor"]


def test_the_last_mode_is_asked_first_and_passes_on(seen):
    with Noting(seen, "outer "), Noting(seen, "inner "):
        torch.ones(1)
    assert seen == ["inner ones", "outer ones"]


def test_a_mode_may_replace_the_call():
    class Doubling(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return result * 2 if func is torch.ones else result

    with Doubling():
        assert torch.ones(1).item() == 2.0
        with torch._C.DisableTorchFunction():
            assert torch.ones(1).item() == 1.0
    assert torch.ones(1).item() == 1.0


def test_a_mode_comes_before_classes(seen, x):
    with Noting(seen, "mode "):
        x.exp()
    assert seen == ["mode exp", "exp"]


# --- the layer ------------------------------------------------------------------------------------


def _right_number(function, x):
    """As many arguments as a function must be given by position, at least a Tensor."""
    kinds = inspect.signature(function, follow_wrapped=False).parameters.values()
    needed = [p for p in kinds if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    return (x, *(1,) * (len(needed) - 1))


def test_every_public_name_is_seen_as_itself():
    """A mode sees what a program names, with the name by which errors call it."""
    seen = []

    class Seeing(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            raise InterruptedError

    x = torch.ones(2, 2)
    wrong = []
    for owner, name, value in public_names.positions():
        functions = [value]
        if isinstance(value, property):
            functions = [f for f in (value.fget, value.fset, value.fdel) if f is not None]
        for function in functions:
            seen.clear()
            with pytest.raises(InterruptedError), Seeing():
                function(*_right_number(function, x))
            right = len(seen) == 1
            if right and owner is not torch.Tensor:
                right = seen[0] is getattr(owner, name) and seen[0].__name__ == name
            if not right:
                wrong.append(name)
    assert wrong == []


def test_what_was_named_before_the_first_class_is_overridden():
    code = (
        "from numbagrad import cat, linalg, ones, overrides, Tensor\n"
        "norm = linalg.vector_norm\n"
        "class Named(Tensor): pass\n"
        "x = ones(2, 2).as_subclass(Named)\n"
        "assert type(cat([x, x])) is Named and type(norm(x)) is Named\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_layer_sleeps_when_no_class_is_asked():
    bit = layers.BITS["overriding"]
    assert layers.active & bit
    torch.overrides.uninstall()
    try:
        assert not layers.active & bit
        assert layers.everywhere == bool(layers.active & layers.PUBLIC)  # others may be active
    finally:
        torch.overrides.install()


def test_autocast_casts_below_a_class(x, seen):
    with torch.autocast("cpu"):
        made = x @ x
    assert seen == ["matmul"]
    assert type(made) is type(x) and made._array.dtype == torch.bfloat16.numpy


# --- programs without such classes ----------------------------------------------------------------


def test_nothing_is_replaced_when_the_first_class_comes():
    code = (
        "import sys, numbagrad as torch\n"
        "from numbagrad.dispatch import layers\n"
        "class Own(torch.nn.Parameter): pass\n"
        "assert not layers.active and 'numbagrad.overrides' not in sys.modules\n"
        "names = [n for n in vars(torch.Tensor) if not n.startswith('_abc')]\n"
        "before = {n: vars(torch.Tensor)[n] for n in names}, torch.add, torch.relu, torch.mm\n"
        "class Other(torch.Tensor): pass\n"
        "assert layers.everywhere\n"
        "assert (torch.add, torch.relu, torch.mm) == before[1:]\n"
        "changed = {n for n in names if vars(torch.Tensor)[n] is not before[0][n]}\n"
        "from numbagrad.ops.methods import on_demand\n"
        "assert changed <= {n for x in on_demand.METHODS.values() for n in x.split()}, changed\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_class_that_is_no_tensor_is_asked_everywhere():
    class Scalar:
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return self, func

    x = Scalar()
    for function in (torch.exp, torch.fft.rfft, torch.special.erf, torch.special.ndtr):
        assert function(x) == (x, function)
